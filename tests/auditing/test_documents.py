"""Whatever a document says, `verify` answers in seconds with a verdict or a typed error, and believes no promise."""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import fugu
from auditing.document_fuzz import LIES, damaged, judged, originals, sealed, search
from fugu import Certificate
from fugu.documents.reading import Unexpected
from fugu.errors import CertificateError, UsageError
from fugu.numbers.exact import read_number, read_whole

HOSTILE = ("1e100000000", "-1e-100000000", "9" * 200_000, "1/" + "3" * 200_000, "0x" + "f" * 2**21)
NO_NUMBERS = ("1e4301", "1e-999999999999", "9" * 4301, "", "x", "1/0", "0x10", "1_000", "nan", "inf", "٣")
KINDS = ("column", "gaussian", "normal laws", "renyi curve", "analysis", "mixture", "vector", "property",
         "mixture of vectors", "training, independent", "training, chain", "training, joint", "sequences, given",
         "sequences, per entry", "sequences, version 0.1", "release, column", "release, groups")  # fmt: skip


def test_the_originals_hold_so_that_a_refusal_means_something(tmp_path):
    path = tmp_path / "c.json"
    for kind, body in originals().items():
        path.write_text(json.dumps(body))
        assert judged(path) == ("", True), kind


def test_the_search_sees_an_answer_that_is_no_verdict(tmp_path):
    """Wrong versions: a reader that lets an error through, one that catches whatever comes, one that believes it."""
    for error in (ZeroDivisionError("x"), Unexpected("the additive cannot be read: KeyError")):
        assert len(search(3, 5, tmp_path, [lambda path, error=error: (_ for _ in ()).throw(error)])) == 5
    believer = [lambda path: SimpleNamespace(holds=True)]
    assert any("promises more" in failure for failure in search(3, 100, tmp_path, believer))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_no_number_is_worked_out_before_it_is_measured(kind, text, tmp_path):
    """Put in place of numbers written as text, one document for each; 2 kB hang the reader without the bound.

    A number gets one of the texts, and every text comes to every kind."""
    from auditing.document_fuzz import _get, _kind_of, _put, places

    path, start = tmp_path / "c.json", time.monotonic()
    body = originals()[kind]
    ways = [way for way in places(body) if isinstance(_get(body, way), str) and _kind_of(body, way) == "number"]
    for way in ways[HOSTILE.index(text) % len(ways) :: len(HOSTILE)][:6]:
        changed = copy.deepcopy(body)
        _put(changed, way, text)
        path.write_text(json.dumps(sealed(changed)))
        assert judged(path) == ("", False), way
    assert time.monotonic() - start < 30


NESTED = '{"schema": "fugu/certificate/1", "kind": ' + "[" * 300 + "]" * 300 + "}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema": "fugu/certificate/1", "kind": ["additive"]}', "kind"),
        ('{"schema": "fugu/certificate/1", "kind": "additive", "kind": "mixed"}', "two parts of one name"),
        ('{"schema": "fugu/certificate/1", "kind": "additive", "x": NaN}', "NaN"),
        ('{"schema": "fugu/certificate/1", "kind": "additive", "x": 1e999}', "not finite"),
        ('{"schema": "fugu/certificate/1", "kind": "additive", "x": "\\ud800"}', "surrogate"),
        ('{"schema": "fugu/certificate/1", "kind": "additive", "\\udfff": 1}', "surrogate"),
        (NESTED, "nested"),
        ("[" * 100_000, "whole JSON"),
        ('{"x": ' + "9" * 5000 + "}", "whole JSON"),
    ],
)  # fmt: skip
def test_what_is_not_a_document_is_named(text, said, tmp_path):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(CertificateError, match=said):
        Certificate.load(tmp_path / "c.json")


def test_points_and_pairs_are_whole_numbers_and_truth_is_none():
    for way, new in (("points", [False, True, 4]), ("points", [0, 1.5, 4]), ("points", [0, 1, 10**400]),
                     ("pairs", [[False, True]]), ("labels", [])):  # fmt: skip
        body = copy.deepcopy(originals()["column"])
        body["families"][0][way] = new
        with pytest.raises(CertificateError):
            Certificate.parse(sealed(body))


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(CertificateError, match="regular file"):
        Certificate.load(tmp_path / "pipe.json")


def test_the_command_ends_with_4_and_one_line(tmp_path):
    """From outside: no traceback, and what is hidden in the document is spelled out."""
    body = copy.deepcopy(originals()["column"])
    body["noise"]["kind"] = "\x1b[31mred\u202e\nholds: everything"
    (tmp_path / "c.json").write_text(json.dumps(sealed(body)))
    words = [sys.executable, "-c", "from fugu.cli import main; main()", "verify", str(tmp_path / "c.json")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4 and done.stdout == "" and done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr and "\u202e" not in done.stderr and "\\x1b" in done.stderr


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: text[:16])
def test_texts_that_are_no_numbers_or_too_long(text):
    with pytest.raises(UsageError):
        read_number(text)


@pytest.mark.parametrize("odd", [True, None, [], float("nan"), float("inf"), 1j, b"1"])
def test_things_that_are_no_numbers(odd):
    with pytest.raises(UsageError):
        read_number(odd)
    with pytest.raises(UsageError):
        read_whole(odd)


def test_edits_are_seeded():
    assert damaged(random.Random(4), originals()["column"]) == damaged(random.Random(4), originals()["column"])


@pytest.mark.parametrize(
    ("kind", "part", "name", "text"),
    [
        ("gaussian", "noise", "scale", "1e-320"),
        ("gaussian", "noise", "scale", "1e300"),
        ("normal laws", "lattice", "origin", "1e320"),
        ("normal laws", "lattice", "origin", "-1e4000"),
    ],
)
def test_arithmetic_out_of_range_proves_nothing(kind, part, name, text, tmp_path):
    body = copy.deepcopy(originals()[kind])
    body[part][name] = text
    (tmp_path / "c.json").write_text(json.dumps(sealed(body)))
    assert judged(tmp_path / "c.json") == ("", False)


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_a_lie_with_matching_digests_never_holds(lie, tmp_path):
    """Budget, stated figures, noise, laws, epsilon for each entry, secrets: in every kind that has such a part."""
    path, told = tmp_path / "c.json", set()
    for kind, body in originals().items():
        for seed in (1, 2):
            changed = copy.deepcopy(body)
            if body.get("method") == "none" or not (words := lie(changed, random.Random(seed))):
                continue
            told.add(kind)
            path.write_text(json.dumps(sealed(changed)))
            assert judged(path) == ("", False), (kind, words)
    assert len(told) >= LIES[lie], told


def test_every_kind_is_lied_about():
    for kind, body in originals().items():
        lies = [lie for lie in LIES if lie(copy.deepcopy(body), random.Random(1))]
        assert len(lies) >= (1 if kind == "sequences, per entry" else 2), kind


def test_parts_of_another_document_do_not_fit(tmp_path):
    """Each part of one document put in place of the same part of another of its schema, and sealed again."""
    path, tried = tmp_path / "c.json", 0
    known = {kind: body for kind, body in originals().items() if body.get("schema") == "fugu/certificate/1"}
    promises = {kind: verify_of(body, path) for kind, body in known.items()}
    for one, body in known.items():
        for other, donor in known.items():
            for part in ("families", "noise", "lattice", "proved"):
                if one == other or part not in body or part not in donor or body[part] == donor[part]:
                    continue
                path.write_text(json.dumps(sealed({**body, part: donor[part]})))
                tried += 1
                what, held = judged(path)
                assert what == "", (one, other, part)
                if held:  # then what it states is proved: figures and budget are not below what its own laws need
                    now = fugu.verify(path)
                    assert now.epsilon <= float(fugu.Certificate.load(path).proved["epsilon"])
                    assert part != "proved" or donor["proved"]["epsilon"] >= promises[one].epsilon
    assert tried > 300


def verify_of(body, path):
    path.write_text(json.dumps(body))
    return fugu.verify(path)
