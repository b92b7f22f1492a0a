"""Whatever fails while the files of a release are written: no published file without its document, and nothing drawn
stays on disk unless a ledger keeps it."""

from __future__ import annotations

import json

import pytest

from fugu.documents.release import file_sha256
from fugu.errors import UsageError
from fugu.publication import drafts as files
from fugu.publication.drafts import Draft, drafted
from release_files import beside, checks, prepared, released

STEPS = {
    "the document is worked out": "fugu.publication.files.issue",
    "the private part": "fugu.publication.files.writing",
    "the document": "fugu.documents.document.write_text",
    "the page": "fugu.publication.files.write_text",
    "the name": "fugu.publication.drafts.give_name",
}
CUTS = [("column", step) for step in STEPS]
CUTS += [(kind, step) for kind in ("groups", "sequence", "model") for step in STEPS if step != "the page"]


class Cut(BaseException):
    """The power fails; no handler of errors sees it."""


supersede = Draft.supersede


def same(draft):
    """Whether what lies there holds the very values that were drawn."""
    return draft.target.exists() and file_sha256(draft.target) == draft.sha256


def cut(*_, **__):
    raise Cut


def pending(folder):
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def covered(out):
    """Whether the published file, if there is one, is the one of the document beside it."""
    if not out.exists():
        return True
    told = json.loads(beside(out).read_text()) if beside(out).exists() else {"published": [{"sha256": None}]}
    return told["published"][0]["sha256"] == file_sha256(out)


@pytest.mark.parametrize(("kind", "step"), CUTS)
def test_a_release_that_is_cut_short_leaves_no_value_without_its_document(kind, step, tmp_path, monkeypatch):
    folder = prepared(tmp_path)
    for before in (False, True):  # into an empty folder, and over an older release
        if before:
            out = released(folder, kind)
            first = out.read_bytes()
            assert covered(out)
        again = []
        with monkeypatch.context() as patch:
            patch.setattr(STEPS[step], cut)
            patch.setattr(Draft, "supersede", lambda self, again=again: (again.append(same(self)), supersede(self)))
            with pytest.raises(Cut):
                released(folder, kind, "--force")
        out = folder / "made" / ("model.json" if kind == "model" else "out.csv")
        assert covered(out) and pending(out.parent) == []
        if before and step in ("the document is worked out", "the private part"):
            assert out.read_bytes() == first  # what went out before is still there, with its document
        else:
            assert not out.exists() or again == [True]  # a few counts may be drawn alike twice
        assert checks(released(folder, kind, "--force").parent)[0] == 0
        for path in out.parent.iterdir():
            path.unlink()


def test_the_check_of_these_tests_sees_a_file_without_its_document(tmp_path, monkeypatch):
    """Wrong versions: the published file gets its name first; the old file stays; the draft stays."""
    folder = prepared(tmp_path)
    out = released(folder, "groups")
    out.write_text("group,value\n")
    assert not covered(out)
    beside(out).unlink()
    assert not covered(out)
    with monkeypatch.context() as patch:
        patch.setattr(Draft, "discard", lambda self: None)
        patch.setattr(STEPS["the name"], cut)
        with pytest.raises(Cut):
            released(folder, "groups", "--force")
    assert len(pending(out.parent)) == 1


def test_what_a_ledger_keeps_is_published_later_and_never_drawn_again(tmp_path, monkeypatch):
    folder = prepared(tmp_path)
    for kind in ("column", "groups", "sequence"):
        books = ("--ledger", folder / f"{kind}.db", "--request", "r")
        with monkeypatch.context() as patch:
            patch.setattr(STEPS["the document"], cut)
            with pytest.raises(Cut):
                released(folder, kind, out=f"{kind}.csv", books=books)
        out = folder / "made" / f"{kind}.csv"
        kept = pending(out.parent)
        assert not out.exists() and len(kept) == (kind == "column")  # numbers of statistics are in the ledger itself
        drawn = kept[0].read_bytes() if kept else None
        released(folder, kind, "--force", out=f"{kind}.csv", books=books)
        assert drawn in (None, out.read_bytes()) and pending(out.parent) == [] and covered(out)
        again = released(folder, kind, "--force", out=f"{kind}.csv", books=books).read_bytes()
        assert again == out.read_bytes() and covered(out)


def test_a_draft_is_hidden_until_it_has_its_name_and_goes_if_it_gets_none(tmp_path):
    for made in (lambda: drafted(tmp_path / "a.csv", {"v": [1, 2]}), lambda: drafted(tmp_path / "m.json", "{}")):
        draft = made()
        assert draft.file.name.startswith(".") and draft.file.stat().st_mode & 0o777 == 0o600
        assert not draft.target.exists() and draft.sha256 == file_sha256(draft.file)
        draft.discard()
        assert pending(tmp_path) == []
    kept = drafted(tmp_path / "a.csv", {"v": [1, 2]})
    Draft(kept.file, kept.target, kept.sha256, kept=True).discard()
    assert pending(tmp_path) == [kept.file]
    kept.publish()
    kept.discard()  # it has its name: nothing of it is removed
    assert kept.target.read_text().split() == ["v", "1", "2"] and pending(tmp_path) == []


def test_another_file_under_the_name_gives_way_and_the_same_one_stays(tmp_path):
    target = tmp_path / "a.csv"
    draft = drafted(target, {"v": [1, 2]})
    target.write_text("old\n")
    draft.supersede()
    assert not target.exists()
    target.write_bytes(draft.file.read_bytes())
    draft.supersede()
    assert target.exists()
    (tmp_path / "link.csv").symlink_to(target)
    with pytest.raises(UsageError, match="a link"):
        drafted(tmp_path / "link.csv", {"v": [3]}).supersede()
    assert target.exists() and files.holds(target, draft.sha256)
