"""What a type checker and an IDE see of the public names: wrong words fail, right ones pass, nothing is `Any`."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import fugu
import fugu.iterate
from fugu.lazily import Imported

USES = Path(__file__).with_name("typed_uses.py")
SRC = Path(fugu.__file__).parents[1]
ALIASES = {
    "fugu.data.frame": ("TableLike",),
    "fugu.guarantee.curve": ("Guarantee",),
    "fugu.laws.pair": ("PairsLike", "Law"),
    "fugu.ledger.charge": ("Chargeable",),
    "fugu.ledger.fingerprint": ("Recognised",),
    "fugu.numbers.exact": ("Real", "VectorLike", "MatrixLike", "TensorLike"),
    "fugu.priors.chain": ("Start",),
    "fugu.priors.prior": ("Believed",),
    "fugu.scenario.scenario": ("PairsOfSecrets", "PriorName", "Beliefs"),
    "fugu.data.secrets": ("ProtectLike",),
    "fugu.training.bound": ("StepNoise",),
    "fugu.training.accountant": ("PriorLike",),
}
READ_AGAIN = {("Coupled.of", "_"), ("Coupled.of", "parameters")}
"""Whatever a prior wrote down; each prior has its own, and only (*Any, **Any) may be overridden by them."""
OF_ITS_KIND = {
    ("Certificate.noise", "return"), ("Certificate.in_steps", "return"), ("Certificate.written", "return"),
    ("Noise.index", "return"), ("Noise.move", "places"), ("Noise.move", "return"), ("Noise.value", "places"),
    ("Noise.named", "return"), ("Noise.chosen", "return"),
    ("Noise.estimate", "certificate"), ("Noise.estimate", "return"),
}  # fmt: skip
"""What a certificate of one kind draws, and the places between `index` and `value`: only their own noise reads them."""


def test_right_uses_pass_and_every_wrong_one_fails():
    """With the settings and the cache of `make check`, so that nothing of fugu is looked at a second time."""
    pytest.importorskip("mypy")
    lines = USES.read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, start=1) if line.endswith("# wrong")}
    assert len(wrong) >= 40
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(USES)],
        capture_output=True, text=True, check=False, cwd=SRC.parent,
    )  # fmt: skip
    found = {}
    for line in done.stdout.splitlines():
        place, _, what = line.partition(": error: ")
        if what:
            file, _, number = place.rpartition(":")
            assert file.endswith(USES.name), line
            found.setdefault(int(number), what)
    assert found, done.stdout + done.stderr
    assert {number: what for number, what in found.items() if number not in wrong} == {}
    assert [lines[number - 1] for number in sorted(wrong - set(found))] == []


def signatures():
    """Every function behind a public callable: itself, the constructor of a class, its methods and properties."""
    for module in (fugu, fugu.iterate):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing):
                yield thing.__init__
                for owner in thing.__mro__:
                    if owner.__module__.startswith("fugu"):
                        for attribute, held in vars(owner).items():
                            if not attribute.startswith("_"):
                                late = held.__get__(None, owner) if isinstance(held, Imported) else None
                                yield next((f for f in (getattr(held, "__func__", None), getattr(held, "fget", None),
                                                        getattr(held, "func", None), late) if f), held)  # fmt: skip
            elif callable(thing):
                yield inspect.unwrap(thing)


def test_no_public_signature_says_any():
    seen, loose = set(), set()
    for function in filter(inspect.isfunction, signatures()):
        if not function.__module__.startswith("fugu"):
            continue
        seen.add(function.__qualname__)
        for name, annotation in function.__annotations__.items():
            tree = ast.parse(annotation) if isinstance(annotation, str) else ast.parse("object")
            if any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree)):
                loose.add((function.__qualname__, name))
        named = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
        bare = [name for name in named if name not in function.__annotations__]
        assert not bare, f"{function.__qualname__}: {bare} have no type"
    assert len(seen) > 300 and {"from_table", "calibrate", "Ledger.spend", "NoisySGD.renyi"} <= seen
    assert loose == READ_AGAIN | OF_ITS_KIND


def is_loose(hint):
    """Whether a type holds `Any`, but for the parameters of numpy's own types."""
    if hint is typing.Any:
        return True
    if (typing.get_origin(hint) or hint) in (np.ndarray, np.dtype, np.integer, np.floating, typing.Literal):
        return False
    return any(is_loose(part) for part in typing.get_args(hint) if not isinstance(part, list | str | type(...)))


@pytest.mark.parametrize(("module", "name"), [(m, n) for m, names in ALIASES.items() for n in names])
def test_the_aliases_of_public_signatures_are_real_types(module, name):
    alias = getattr(importlib.import_module(module), name)
    assert typing.get_args(alias) and not is_loose(alias)
    assert is_loose(dict[str, typing.Any]) and is_loose(str | list[typing.Any])
