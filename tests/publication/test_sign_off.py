"""Who answers for a release: for this plan, for these assumptions, in their own words, and never for anything else.

Wrong versions that are rejected: a plan that is another one after the table is opened, a digest that is believed, a
line that nobody assumes, a sign-off of another plan that is noticed after the charge, names that write on a page."""

from __future__ import annotations

import copy
import json

import pytest

import fugu
from fugu.documents.release import ReleaseDocument
from fugu.documents.sign_off import SignOff, plan_sha256
from fugu.errors import CertificateError, FuguError, UsageError
from fugu_verify.command import main as second
from release_files import beside, checks, command, prepared, resealed, written_table

PLANS = {
    "column": {"publish": "v", "protect": "s", "bins": [0, 2, 4, 6]},
    "records": {"query": ["count", "mean(v) by g"], "protect": "s", "bounds": {"v": (0, 5)}},
    "law": {"query": "mean(v)", "by": "g", "protect": "s", "bounds": (0, 5), "route": "law"},
    "sequences": {"query": "histogram", "by": "u", "order": "t", "state": "g", "smoothing": 1.0},
    "property": {"hide": "g=x", "statistics": "mean(v)", "delta": 0.01, "shares": [0.4, 0.5], "size": 60},
}
WHO = {"name": "Dr. Anna Bérg", "role": "data steward", "note": "for the year book <2026>"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(prepared(tmp_path))
    return tmp_path


def planned(case="column", **more):
    return fugu.Question(**{"reference": "ref.csv", "epsilon": 1, **PLANS[case], **more}, allow_no_noise=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release document with a sign-off, and one whose certificates are withheld."""
    folder = prepared(tmp_path_factory.mktemp("signed"))
    found = {}
    for name, source in (("open", {"reference": folder / "ref.csv"}), ("withheld", {"public_prior": True})):
        plan = fugu.Question(**PLANS["column"], epsilon=1, allow_no_noise=True, **source)
        went = fugu.release(
            plan, folder / "today.csv", folder / f"{name}.csv", False, signed_by=SignOff(**WHO, assumptions="all")
        )
        found[name] = json.loads(went.files.certificate.read_text())
    return found


@pytest.mark.parametrize("case", PLANS)
def test_the_plan_that_was_signed_off_unseen_is_the_plan_that_goes_out(case, folder):
    """Of a dry run, which opens no table, of the release, and of a release of any other table: one digest."""
    seen = fugu.release(planned(case), dry_run=True)
    who = SignOff(**WHO, assumptions=seen.assumptions[:2], plan=seen.plan_sha256)
    written_table(folder / "other.csv", 60, 9)
    for table in ("today.csv", "other.csv"):
        went = fugu.release(planned(case), table, f"of-{table}", f"{table}.db", signed_by=who)
        stated = went.document["sign-off"]
        assert stated == {**WHO, "assumptions": list(seen.assumptions[:2]), "plan": went.plan_sha256}
        assert went.plan_sha256 == seen.plan_sha256 == plan_sha256(went.document.body)
        code, lines = checks(went.files.certificate)
        assert code == 0 and lines["sign-off"][0] == "holds" and "not checked by fugu" in lines["sign-off"][1]
        assert f"2 of its {len(went.assumptions)} assumptions" in lines["sign-off"][1]
        page = went.to_html()
        assert "Dr. Anna Bérg, data steward" in page and "&lt;2026&gt;" in page and "<2026>" not in page
        assert second([str(went.files.certificate)]) in ((0, 4) if case == "property" else (0,))


@pytest.mark.parametrize("change", [{"epsilon": 0.9}, {"bins": [0, 3, 6]}, {"protect": "g"}, {"missing": "drop"}])
def test_another_plan_is_refused_before_the_table_is_opened(change, folder):
    who = SignOff("A. Berg", plan=fugu.release(planned(), dry_run=True).plan_sha256)
    with pytest.raises(UsageError, match="another plan"):
        fugu.release(planned(**change), "no such table.csv", "out.csv", "l.db", signed_by=who)
    assert not (folder / "l.db").exists() and not (folder / "out.csv").exists()
    with pytest.raises(UsageError, match="no assumption of this release: 'all rows"):
        fugu.release(
            planned(), "no such table.csv", "out.csv", "l.db", signed_by=SignOff("A", assumptions=["all rows are mine"])
        )


def test_where_the_noise_alone_differs_the_plan_does_not(folder):
    """What is drawn, and how many rows there are, is no part of the choices."""
    one, other = (fugu.release(planned("records", **more), dry_run=True) for more in ({}, {"rows": 7000}))
    assert one.plan_sha256 == other.plan_sha256 and one.stated["data"]["rows"] != other.stated["data"]["rows"]


def edited(made, which, change):
    body = copy.deepcopy(made[which])
    change(body)
    return resealed(body)


EDITS = {
    "another plan": lambda body: body["sign-off"].update(plan="0" * 64),
    "a line that nobody assumes": lambda body: body["sign-off"]["assumptions"].append("all of it is public"),
    "a line with another word": lambda body: body["sign-off"].update(assumptions=[f"{body['assumptions'][0]}."]),
    "assumptions taken away": lambda body: body.update(assumptions=body["assumptions"][1:]),
    "another budget": lambda body: body["budget"].update(epsilon="2"),
    "another unit": lambda body: body.update(unit="one value of one day"),
    "beliefs from elsewhere": lambda body: body["beliefs"].update(name="other.csv"),
    "other secrets left out": lambda body: body.update(skipped=["nobody"]),
}


@pytest.mark.parametrize("which", ["open", "withheld"])
@pytest.mark.parametrize("edit", EDITS)
def test_a_document_that_was_edited_after_it_was_signed_off_fails_in_both_proofs(edit, which, made, tmp_path, capsys):
    """Although every digest is made to fit. A withheld document has fewer parts that are worked out again."""
    if which == "withheld" and edit in ("beliefs from elsewhere", "other secrets left out"):
        pytest.skip("a document whose certificates are withheld says nothing of these")
    path = tmp_path / "c.certificate.json"
    path.write_text(json.dumps(edited(made, which, EDITS[edit])))
    code, lines = checks(path)
    assert code == 4 and lines["sign-off"][0] == "fails"
    assert second([str(path)]) == 4 and "sign-off" in capsys.readouterr().err
    path.write_text(json.dumps(edited(made, which, lambda body: None)))  # so that the refusals mean something
    assert checks(path)[1]["sign-off"][0] == "holds"
    assert second([str(path)]) == (0 if which == "open" else 4) and "sign-off" not in capsys.readouterr().err


def test_a_name_that_was_edited_breaks_the_seal(made, tmp_path):
    path = tmp_path / "c.certificate.json"
    path.write_text(json.dumps(made["open"]).replace("data steward", "data officer"))
    assert command("verify", path)[0] == 4 and second([str(path)]) == 4


ODD = ["", "a\nb", "a\x1b[2J", "a\u202eb", "a\u2028b", "a\x00", "a\ud800", "a" * 101]


@pytest.mark.parametrize("name", ODD)
def test_a_name_is_one_line_that_can_be_seen(name, made, tmp_path):
    with pytest.raises(UsageError, match="sign-off"):
        SignOff(name)
    if name:
        body = {**made["open"], "sign-off": {**made["open"]["sign-off"], "name": name}}
        body["digest"] = body["digest"] if name == "a\ud800" else resealed(body)["digest"]
        with pytest.raises(CertificateError):
            ReleaseDocument.parse(body)


def test_markup_in_every_text_stays_text(folder):
    said = {"name": "<img src=x onerror=alert(1)>", "role": "</small><script>", "note": "'\"><b>{{ 7*7 }}"}
    went = fugu.release(planned(), "today.csv", "out.csv", False, signed_by=SignOff(**said))
    page = went.to_html()
    assert "<img src=x" not in page and "<script>" not in page and "<b>{{" not in page and "&lt;img src=x" in page
    assert "{{ 7*7 }}" in page and "49" not in page.partition("{{ 7*7 }}")[0].rpartition("<div>")[2]


FILE = """
[data]
reference = "ref.csv"
[question]
publish = "v"
bins = [0, 2, 4, 6]
[secrets]
protect = "s"
[budget]
epsilon = 1
[noise]
allow_no_noise = true
[sign-off]
name = "A. Berg"
note = "seen"
assumptions = "all"
"""


def test_a_scenario_file_says_who_answers_for_it_and_the_command_takes_it(folder):
    (folder / "s.toml").write_text(FILE.replace("allow_no_noise = true\n", "").replace("[noise]\n", ""))
    words = ("release", "today.csv", "--scenario", "s.toml", "--allow-no-noise", "--ledger", "l.db", "-o", "out.csv")
    assert command(*words)[0] == 0
    document = ReleaseDocument.load(beside(folder / "out.csv"))
    assert document["sign-off"]["name"] == "A. Berg" and document["sign-off"]["assumptions"] == document["assumptions"]
    assert command(*words)[0] == 0  # the same release again
    (folder / "t.toml").write_text('[sign-off]\nname = "B"\n')
    code, said = command(*words, "--signed-by", "t.toml")
    assert code == 2 and "another sign-off" in said
    code, said = command("release", "today.csv", "--scenario", "s.toml", "--allow-no-noise", "--dry-run", "--json")
    assert code == 0 and json.loads(said)["plan_sha256"] == document["sign-off"]["plan"]
    assert fugu.release("s.toml", "today.csv", "out.csv", "l.db").repeated


@pytest.mark.parametrize(
    "said", ["[sign-off]", "[sign-off]\nname = 1", '[sign-off]\nnme = "A"', '[sign-off]\nname = "A"\nplan = "1"',
             '[sign-off]\nname = "A"\nassumptions = "some"', '[sign-off]\nname = "A"\nassumptions = [1]',
             'sign-off = "A"']
)  # fmt: skip
def test_a_section_that_says_something_else_is_refused(said, folder):
    (folder / "s.toml").write_text(said)
    for words in (("--scenario", "s.toml"), ("--signed-by", "s.toml", "--reference", "ref.csv", "--publish", "v",
                                              "--protect", "s", "--epsilon", "1")):  # fmt: skip
        assert command("release", "today.csv", *words, "--no-ledger", "-o", "out.csv")[0] == 2
    assert not (folder / "out.csv").exists()


def test_the_page_of_a_dry_run_needs_no_table(folder):
    seen = fugu.release(planned(), dry_run=True, signed_by=SignOff("A. Berg"))
    assert seen.report("page.html").read_text() == seen.to_html()
    assert "A. Berg" in seen.to_html() and "Privacy report, to be signed" in seen.to_html()
    with pytest.raises(FuguError, match="exists"):
        seen.report("page.html")
    seen.report("page.html", force=True)
    with pytest.raises(UsageError, match=r"\.html"):
        seen.report("page.txt")


def test_what_cannot_be_read_of_the_plan_is_found_before_the_private_table_is_opened(folder):
    """A sign-off has to fit what public facts make of the plan; that it does not is never found after a charge."""
    who = SignOff("A. Berg", assumptions=["all of it is public"])
    for case in PLANS:
        with pytest.raises(UsageError, match="no assumption"):
            fugu.release(planned(case), "no such table.csv", "out.csv", "l.db", signed_by=who)
