"""Damaged documents of every kind end every door in a verdict or a typed error: `verify`, both proofs, page, commands.

One reader by types and limits refuses what cannot be read (`documents.fields`); nothing is caught at the doors that a
reader should have refused, which `Unexpected` would show."""

from __future__ import annotations

import contextlib
import json

import pytest
from word_changes import resealed

import fugu
from auditing.document_fuzz import judged, originals, sealed, search
from fugu.auditing.beside import find
from fugu.errors import FuguError
from fugu.report import page
from honest import NAMES, OLD, honest
from hunting import note
from hunting import search as hunted
from release_files import command

DOORS = (
    fugu.verify,
    lambda path: fugu.examine(path, twice=True),
    lambda path: page(find(path).document),
    lambda path: command("verify", path, "--twice"),
    lambda path: command("report", path, "-o", path.with_suffix(".html"), "--force"),
)


@hunted("damaged documents at every door", quick=6, limit=2000)
def test_damaged_documents_end_in_a_verdict_or_a_typed_error(seed, tmp_path):
    """Wrong version: 0.3, which ended `recipe: 1`, `query: 1` and a missing `public_prior` in a traceback."""
    known = {**originals(), **{name: json.loads(honest(name)) for name in (*NAMES, OLD)}}
    found = search(seed, 10, tmp_path, DOORS, known, resealed)
    note("damaged", 0, {"documents": 10, "wrong": len(found)})
    assert found == []
    return 10


@pytest.mark.parametrize("name", ["fitted column", "release of persons"])
@pytest.mark.parametrize("part", ["recipe", "query", "assumptions", "reading"])
@pytest.mark.parametrize("value", [1, "x", [], {}, [[1]]])
def test_parts_of_another_type_are_refused_by_name(name, part, value, tmp_path):
    """Each of them ended 0.3 in a traceback."""
    body = json.loads(honest(name))
    inner = body["certificates"][0]["certificate"] if "certificates" in body else body
    inner[part] = value
    (tmp_path / "c.json").write_text(json.dumps(sealed(body)))
    assert not any(judged(tmp_path / "c.json", door)[0] for door in DOORS)
    with contextlib.suppress(FuguError):
        assert not fugu.verify(tmp_path / "c.json").holds
