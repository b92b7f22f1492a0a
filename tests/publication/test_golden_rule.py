"""The golden rule: what was released through files holds for whoever gets the folder, and not one character of its
document can be changed."""

from __future__ import annotations

import json
import random
import string

import pytest

from hunting import search
from release_files import RELEASES, beside, command, document_of, prepared, released

KINDS = (*RELEASES, "model")
DECLARED = """[schema.columns]
g = {kind = "category", values = ["x", "y", "z"]}
s = {kind = "category", values = ["a", "b"]}
v = {kind = "ordered", values = [0, 1, 2, 3, 4]}
"""
LETTERS = string.ascii_letters + string.digits + '".,:-{}[]/ '


def edited(rng, text):
    """One character replaced, removed or added, so that the document says something else."""
    while True:
        at, new = rng.randrange(len(text)), rng.choice(LETTERS)
        found = text[:at] + rng.choice((new, "", new + text[at])) + text[at + 1 :]
        try:
            same = json.loads(found) == json.loads(text)  # such as 1e-5 for 1e-05, or a blank
        except ValueError:
            same = False
        if not same:
            return found


def rule(seed, folder, edits=6):
    rng = random.Random(seed)
    prepared(folder, seed)
    kind = KINDS[seed % len(KINDS)]
    own = kind not in ("model", "many") and rng.random() < 0.25
    more = ("--epsilon", str(rng.choice((0.3, 1, 2.5)))) if kind != "model" else ()
    if own and kind in ("histogram", "histograms"):  # cells that nobody declared are refused there
        more += ("--bins", "0,2,4,6")
    if own and kind == "crosstab":
        (folder / "schema.toml").write_text(DECLARED)
        more += ("--schema", folder / "schema.toml")
    out = released(folder, kind, *more, **({"source": ("--public-prior",)} if own else {}))
    code, said = command("verify", out.parent, "--data", folder / "today.csv")
    assert code == 0, (kind, said)
    assert document_of(out).withheld == own
    path = beside(out)
    text = path.read_text()
    for _ in range(edits):
        path.write_text(edited(rng, text))
        code, said = command("verify", path)
        assert code == 4, (kind, said)
    return edits


@search("releases of every kind through files, and one character of the document", quick=10)
def test_what_was_released_holds_and_no_character_can_be_changed(seed, tmp_path):
    return rule(seed, tmp_path)


def test_the_rule_sees_a_reader_that_believes_the_digest_it_finds(tmp_path, monkeypatch):
    """A wrong version: a document is taken for whole whatever its digest, so edits of dates and names pass."""
    monkeypatch.setattr("fugu.documents.document.digest_of", lambda content: "0" * 64)
    monkeypatch.setattr("fugu.documents.certificate.digest_of", lambda content: "0" * 64, raising=False)
    with pytest.raises(AssertionError):
        rule(4, tmp_path, edits=300)
