"""One honest document of every kind and form, as plain content: what tests of readers and verifiers change."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fugu
from auditing.document_fuzz import PAIR, PLANE, originals
from fugu import Approx, MarkovChain, Pure, Scenario, Shifted
from fugu.publication.files import Beliefs, Outgoing, issue, published_file
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.sequence_prior import REFERENCE
from fugu.queries.sequence_promise import entry_budget
from fugu.queries.sequences import Histogram, States

OLD = "sequences, version 0.1"
"""The one kind without a digest, of which edits of words show nowhere."""
_DRAW = random.Random(3)
PAST = {
    "s": [_DRAW.choice("ab") for _ in range(300)],
    "x": [_DRAW.randrange(4) for _ in range(300)],
    "y": [_DRAW.choice("uv") for _ in range(300)],
    "who": [f"p{k}" for k in range(300)],
}
_SCHEMA = fugu.Schema({"x": {"kind": "number", "bounds": (0, 3), "step": 1, "missing": 1}})


def _of(mechanism: Any) -> dict[str, Any]:
    return dict(mechanism.certificate.to_json())


def _column(**more: Any) -> Scenario:
    return Scenario.from_table(PAST, "x", "s", schema=_SCHEMA, **more)


def _shares(**more: Any) -> Scenario:
    return Scenario.from_property(PAST, ["mean(x)", "count(y=u)"], "s=a", 20, tolerance=0.1, **more)


def _budgeted() -> dict[str, Any]:
    """Sequences with a budget that has a delta."""
    chain = MarkovChain([[0.6, 0.4], [0.3, 0.7]], 6, states=["a", "b"])
    schema = fugu.Schema({"u": {"kind": "identifier"}, "t": {"kind": "number"},
                          "g": {"kind": "category", "values": ["a", "b"]}})  # fmt: skip
    mechanism = Histogram(States(["a", "b"])).mechanism(entry_budget(chain, 0.9))
    return dict(
        SequenceCertificate.issue(
            chain,
            mechanism,
            1.0,
            schema,
            "unknown states count as 'a'",
            REFERENCE,
            0.0,
            None,
            None,
            budget=Approx(1, 1e-3),
        ).to_json()
    )


def _release(certificate: Any, recipe: dict[str, Any] | None, rows: int, **more: Any) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "out.csv"
        file.write_text("value\n1\n")
        source = more.pop("beliefs", None) or Beliefs(reference=file)
        going = Outgoing(certificates={"": certificate}, table=file, data="today.csv", rows=rows, recipe=recipe,
                         beliefs=source, **more)  # fmt: skip
        return dict(issue(going, [published_file("out.csv", file, 1, ("value",))])[0].to_json())


def _released_column() -> dict[str, Any]:
    scenario = _column(unit="who")
    return _release(fugu.calibrate(scenario, Pure(0.2)).certificate, {"what": "column", **(scenario.recipe or {})}, 1)


MADE: dict[str, Callable[[], dict[str, Any]]] = {
    "fitted column": lambda: _of(fugu.calibrate(_column(), Pure(0.2))),
    "column of persons": lambda: _of(fugu.calibrate(_column(unit="who"), Pure(0.2))),
    "bins": lambda: _of(fugu.calibrate(_column(bins=[0, 2, 4]), Pure(0.2))),
    "confidence": lambda: _of(fugu.calibrate(_column(confidence=0.95), Pure(1))),
    "confidence, laplace": lambda: _of(fugu.calibrate(_column(confidence=0.95), Pure(1), noise="laplace")),
    "fitted normal": lambda: _of(fugu.calibrate(_column(prior="gaussian"), Approx(0.1, 0.001))),
    "directions": lambda: _of(
        fugu.calibrate(Shifted((2, 1)), Pure(1), method="several-directions", declared_exact=True)
    ),
    "record group": lambda: _of(fugu.calibrate(_shares(bounds={"x": (0, 3)}), Pure(1), method="record-group")),
    "record swap": lambda: _of(fugu.calibrate(_shares(bounds={"x": (0, 3)}), Approx(1, 0.01), method="record-swap")),
    "analysis of the plane": lambda: _of(fugu.calibrate(PLANE, fugu.Renyi(2, 0.4))),
    "coin and no noise": lambda: _of(fugu.mix(0.5, fugu.calibrate(PAIR, Pure(0.4)), fugu.calibrate(PAIR, Pure(3)))),
    "sequences with a delta": _budgeted,
    "release of persons": _released_column,
}
NAMES = (*MADE, *(
    "column", "column with delta", "gaussian", "large masses", "normal laws", "shift", "no noise", "renyi",
    "renyi curve", "analysis", "noise for sets", "noise on atoms", "mixture", "vector", "vector gaussian", "property",
    "channel", "channel with a cap", "channel for sets", "mixture of vectors", "mixture of divergences",
    "many statistics", "training, independent", "training, groups", "training, ar1", "training, chain",
    "training, field", "training, joint", "sequences, any", "sequences, stationary", "sequences, given",
    "sequences, per entry", "release, column", "release, groups",
))  # fmt: skip
"""Every document that has a digest."""


@cache
def honest(name: str) -> str:
    """The document of this name, as text: whoever changes it changes a copy."""
    return json.dumps(MADE[name]() if name in MADE else originals()[name])
