"""One small mechanism of every kind, and everything that it answers: draws from fixed bits, errors, words, documents.

`python tests/mechanism/kinds_of_mechanisms.py` writes the answers down; `test_one_mechanism.py` holds them."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

import fugu
from fugu import Approx, Discrete, LawPair, MultivariateNormal, Normal, Pure, Renyi, Scenario, Schema, Shifted
from fugu.documents import swap as swap_document
from fugu.mechanism.post import clip, round_to

ANSWERS = Path(__file__).with_name("kinds_of_mechanisms.json")
X = [0, 1, 4]
PAIR = LawPair(Discrete(X, [97, 2, 1]), Discrete(X, [1, 2, 97]), "a vs b")
NEAR = LawPair(Discrete(X, [4, 3, 3]), Discrete(X, [3, 4, 3]), "near")
FLAT = [[0, 0], [1, 0], [2, 3]]
PLANE = LawPair(Discrete(FLAT, [97, 2, 1]), Discrete(FLAT, [1, 2, 97]), "in the plane")
APART = LawPair(MultivariateNormal([0, 0], [[2, 1], [1, 2]]), MultivariateNormal([1, 0], [[2, 1], [1, 2]]), "apart")
JOBS = {"job": {"kind": "category", "values": ["cook", "clerk", "nurse"]}}
NUMBERS = [0, 1, 4, 9, -3, None, "odd", 0.4] * 2
ROWS = [[0, 0], [1, 0], [2, 3], [7, -7], [None, 1]] * 2
NAMES = ["cook", "nurse", None, "acrobat"] * 3


def _jobs():
    table = {"job": ["cook", "clerk", "nurse", "cook"] * 20 + ["nurse", "nurse", "clerk", "cook"] * 20}
    return Scenario.from_table({**table, "s": ["a"] * 80 + ["b"] * 80}, publish="job", protect="s", schema=Schema(JOBS))


def _days():
    days = [f"2024-01-{k:02d}" for k in (1, 2, 5, 9)]
    table = {"day": days * 20 + days[::-1] * 10 + days[:1] * 40, "s": ["a"] * 80 + ["b"] * 80}
    return Scenario.from_table(table, publish="day", protect="s")


def _swap(statistics=("sum(x)",)):
    swap_document.DRAWS, before = 2_000, swap_document.DRAWS
    try:
        table = {"x": [0, 1, 1, 2, 3, 3], "y": [1, 0, 1, 1, 0, 1], "s": ["a"] * 3 + ["b"] * 3}
        ends = {name: (0, 3) for name in "xy" if f"sum({name})" in statistics}
        scenario = Scenario.from_property(
            table, list(statistics), "s=a", 4, values=[0.25, 0.5], tolerance=1, bounds=ends
        )
        return fugu.calibrate(scenario, Approx(1, 0.1), method="record-swap")
    finally:
        swap_document.DRAWS = before


def _laplace(pair=PAIR, epsilon=1):
    return fugu.calibrate(pair, Pure(epsilon), noise="laplace", grid=1)


def _turned(column):
    return column[::-1]


MAKE = {
    "laplace": (_laplace, NUMBERS),
    "gaussian": (lambda: fugu.calibrate(PAIR, Approx(1, 1e-3), noise="gaussian", grid=1), NUMBERS),
    "no noise": (lambda: fugu.calibrate(NEAR, Pure(1)), NUMBERS),
    "shifted": (lambda: fugu.calibrate(Shifted(3), Pure(1)), NUMBERS),
    "normal": (lambda: fugu.calibrate(LawPair(Normal(0, 1), Normal(1, 1)), Approx(1, 1e-3)), NUMBERS),
    "atoms": (lambda: fugu.calibrate(PAIR, Pure(1), noise="atoms"), NUMBERS),
    "remapped": (lambda: _laplace().remapped("absolute"), NUMBERS),
    "atoms remapped": (lambda: fugu.calibrate(PAIR, Pure(1), noise="atoms").remapped("squared"), NUMBERS),
    "days": (lambda: fugu.calibrate(_days(), Pure(0.2)), ["2024-01-02", "2024-01-09", None, "never"] * 3),
    "vectors": (lambda: fugu.calibrate(PLANE, Pure(1), noise="laplace"), ROWS),
    "gaussian vectors": (lambda: fugu.calibrate(PLANE, Approx(1, 1e-3), noise="gaussian"), ROWS),
    "shifted vectors": (lambda: fugu.calibrate(Shifted((3, 1)), Pure(1), noise="laplace"), ROWS),
    "correlated": (lambda: fugu.calibrate(APART, Approx(1, 1e-3)), ROWS),
    "axes": (lambda: fugu.calibrate(Shifted((3, 1)), Pure(1), method="anisotropic-laplace"), ROWS),
    "directions": (
        lambda: fugu.calibrate(Shifted((2, 1)), Pure(1), method="several-directions", declared_exact=True),
        ROWS,
    ),
    "channel": (lambda: fugu.optimal_channel(PAIR, Pure(1)), NUMBERS),
    "channel of the worst": (lambda: fugu.optimal_channel(PAIR, Pure(1), "squared", weight="worst"), NUMBERS),
    "names": (lambda: fugu.calibrate(_jobs(), Pure(0.5)), NAMES),
    "mixed": (lambda: fugu.mix(0.25, _laplace(), _laplace(epsilon=2)), NUMBERS),
    "mixed after steps": (lambda: fugu.mix(0.5, _laplace().then(clip(0, 4)), _laplace().remapped()), NUMBERS),
    "mixed twice": (lambda: fugu.mix(0.5, fugu.mix(0.5, _laplace(), _laplace()), _laplace()), NUMBERS),
    "mixed vectors": (lambda: fugu.mix(0.5, *(fugu.calibrate(PLANE, Pure(k), grid=1) for k in (1, 2))), ROWS),
    "mixed channels": (lambda: fugu.mix(0.5, *(fugu.optimal_channel(PAIR, Pure(k)) for k in (1, 2))), NUMBERS),
    "swap": (_swap, 5.0),
    "swaps": (lambda: _swap(("sum(x)", "sum(y)")), [5.0, 4.0]),
    "analysis": (lambda: fugu.calibrate(PAIR, Renyi(2, 1), noise="cauchy"), NUMBERS),
    "clipped": (lambda: _laplace().then(clip(0, 4)).then(round_to(2)).then(_turned, "turned"), NUMBERS),
}
"""How each is made, and values to publish with it."""


def _tried(f):
    try:
        return f()
    except fugu.errors.FuguError as error:
        return f"{type(error).__name__}: {error}"


def _drawn(mechanism, values):
    found = mechanism.simulate(values, np.random.default_rng(20))
    return {"values": found.values.tolist(), "scalar": found.scalar, "interval": list(found.interval)}


def answers(name):
    """What one mechanism answers, as JSON."""
    make, values = MAKE[name]
    mechanism = make()
    one = values[1] if isinstance(values, list) and name not in ("swaps",) else values
    after = _tried(lambda: mechanism.then(_turned, "twice"))
    return {
        "repr": repr(mechanism),
        "guarantee": repr(mechanism.guarantee),
        "warnings": list(mechanism.certificate.warnings),
        "expected error": [_tried(lambda o=o: mechanism.expected_error(o)) for o in ("absolute", "squared", "other")],
        "interval": [_tried(lambda k=k: list(mechanism.interval(k))) for k in (0, 0.5, 0.95, 0.999)],
        "draws": _tried(lambda: _drawn(mechanism, values)),
        "draw": _tried(lambda: _drawn(mechanism, one)),
        "noise": _tried(mechanism.require_noise),
        "then": after if isinstance(after, str) else repr(after),
        "then draws": _tried(lambda: _drawn(mechanism.then(_turned), values)),
        "then certificate": None if isinstance(after, str) else after.certificate.body["post"],
        "remapped": _tried(lambda: repr(mechanism.remapped())),
        "sheet": hashlib.sha256(mechanism._repr_html_().encode()).hexdigest(),
    }


def written():
    return json.loads(json.dumps({name: answers(name) for name in MAKE}))


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(said)}" for name, said in written().items())
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{len(MAKE)} mechanisms\n")
