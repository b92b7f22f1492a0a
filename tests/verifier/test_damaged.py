"""Damaged documents of every kind end every door in a verdict or a typed error: `verify`, both proofs, page, commands.

One reader by types and limits refuses what cannot be read (`documents.fields`); nothing is caught at the doors that a
reader should have refused, which `Unexpected` would show."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from pathlib import Path

import pytest
from word_changes import resealed

import fugu
from auditing.document_fuzz import TooSlow, _drop, _edit, _get, _put, places, sealed, timed
from fugu.auditing.beside import find
from fugu.auditing.examine import examine
from fugu.documents.reading import Unexpected
from fugu.errors import FuguError
from fugu.report import page
from honest import NAMES, OLD, honest
from hunting import note, search
from release_files import command

SECONDS = 60.0
VALUES = (None, True, False, 0, -1, 1, 0.5, 1e308, -1e-308, 10**30, 10**400, "", "x", "nan", "NaN", "inf", "-Infinity",
          "1e400", "1/0", "0x" + "f" * 3000, [], {}, [[]], [1], ["x"], [None], {"kind": 1}, {"kind": "Pure"},
          {"": None}, [[1, 2], [3]], "\u202e", "a" * 30_000)  # fmt: skip


def damaged(rng: random.Random, body):
    """A copy with one to three nodes replaced, removed, doubled, nested or exchanged, and what was done."""
    body, told = copy.deepcopy(body), []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        ways = places(body)
        way = rng.choice(ways)
        old, draw = _get(body, way), rng.random()
        told.append("/".join(map(str, way)))
        if draw < 0.35:
            _put(body, way, copy.deepcopy(rng.choice(VALUES)))
        elif draw < 0.5:
            _drop(body, way)
        elif draw < 0.6:
            _put(body, way, [old, old] if not isinstance(old, list) else old + old)
        elif draw < 0.68:
            _put(body, way, rng.choice(([old], {"x": old}, {"kind": old})))
        elif draw < 0.8:
            _put(body, way, copy.deepcopy(_get(body, rng.choice(ways))) if len(told) == 1 else None)
        else:
            name, new = _edit(rng, old)
            _put(body, way, None if name == "removed" else new)
    return body, "; ".join(told)


def sealed_somehow(rng: random.Random, body):
    """Digests and marks that fit, digests alone, or nothing."""
    draw = rng.random()
    if draw < 0.45:
        try:
            return resealed(body)
        except Exception:
            return sealed(body)
    return sealed(body) if draw < 0.9 else body


def _report(path: Path) -> object:
    return command("report", path, "-o", path.with_suffix(".html"), "--force")


DOORS = {
    "verify": fugu.verify,
    "twice": lambda path: examine(path, twice=True),
    "page": lambda path: page(find(path).document),
    "fugu verify --twice": lambda path: command("verify", path, "--twice"),
    "fugu report": _report,
}


def wrong(door: str, path: Path) -> str:
    """How a door ended, if not in an answer or a typed error."""
    try:
        with timed(SECONDS):
            found = DOORS[door](path)
    except Unexpected as error:
        return f"{door}: no reader refused it: {error} ({error.__cause__!r})"
    except FuguError as error:
        return "" if error.exit_code in (2, 4) and 0 < len(str(error)) < 3000 else f"{door}: says {str(error)[:200]!r}"
    except TooSlow:
        return f"{door}: not answered within {SECONDS:g} s"
    except Exception as error:
        return f"{door}: {type(error).__name__}: {str(error)[:200]}"
    if isinstance(found, tuple) and "no reader" in str(found[1]):
        return f"{door}: {found[1]}"
    return ""


def _cases(rng: random.Random, folder: Path, names, doors, count: int) -> list[str]:
    """What went wrong with so many damaged documents."""
    path, found = folder / "document.json", []
    for _ in range(count):
        name = rng.choice(names)
        body, told = damaged(rng, json.loads(honest(name)))
        try:
            text = json.dumps(sealed_somehow(rng, body))
        except RecursionError:
            continue
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        found += [f"{name}: {told}: {what}" for door in doors if (what := wrong(door, path))]
        note("damaged", 0, {"documents": 1, "wrong": len(found)})
    return found


@search("damaged documents at every door", quick=4, limit=2000)
def test_damaged_documents_end_in_a_verdict_or_a_typed_error(seed, tmp_path):
    """Wrong version: 0.3, which ended `recipe: 1`, `query: 1` and a missing `public_prior` in a traceback."""
    rng = random.Random(seed)
    assert _cases(rng, tmp_path, (*NAMES, OLD), DOORS, 10) == []
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
    assert not any(wrong(door, tmp_path / "c.json") for door in DOORS)
    with contextlib.suppress(FuguError):
        assert not fugu.verify(tmp_path / "c.json").holds


def test_the_search_sees_a_traceback_and_what_no_reader_refused(tmp_path, monkeypatch):
    """Wrong versions: a door that lets an error through, and one that catches whatever comes."""
    (tmp_path / "c.json").write_text(honest("column"))
    for error in (KeyError("x"), Unexpected("the additive cannot be read: KeyError")):
        monkeypatch.setitem(DOORS, "verify", lambda path, error=error: (_ for _ in ()).throw(error))
        assert wrong("verify", tmp_path / "c.json")
