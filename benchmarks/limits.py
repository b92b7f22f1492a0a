"""Error against epsilon on three real columns, from a constant to the limit; writes docs/limits.json and limits.svg.

All of it is worked out from the counts in `fugu.examples`. Robust channels take minutes, the other curves seconds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import fugu
from benchmarks.limits_svg import Curve, Panel, drawn
from benchmarks.measure import Row, Size
from fugu.calibration.channel import Asked
from fugu.calibration.comparison import Comparison
from fugu.channels.exact import repaired, value
from fugu.channels.find import find
from fugu.laws.sets.confidence import clopper_box, secret_error
from fugu.laws.shapes import shapes

_ROOT = Path(__file__).resolve().parent.parent
COUNTS = resources.files("fugu.examples") / "limits_counts.json"
FIGURES, PICTURE = (_ROOT / "docs" / name for name in ("limits.json", "limits.svg"))
EPSILONS = ("0.1", "0.2", "0.35", "0.5", "0.7", "1", "1.4", "2", "3")
CONFIDENCE = Fraction(95, 100)
CURVES = ("l1", "wasserstein", "relaxed", "exact", "atoms", "constant", "remapped", "robust", "limit")
WORDS = {
    "l1": "sensitivity alone (l1)", "wasserstein": "Wasserstein", "relaxed": "relaxed rule", "exact": "exact Laplace",
    "atoms": "Laplace on the atoms", "constant": "a constant", "remapped": "on the atoms, remapped",
    "robust": "robust channel, 95 %", "limit": "the limit",
}  # fmt: skip


def columns() -> list[dict[str, Any]]:
    """The counts that the repository ships."""
    return json.loads(COUNTS.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def laws(column: dict[str, Any]) -> fugu.LawPair:
    """The two laws of a column, as exact counts."""
    p, q = (fugu.Discrete(column["values"], counts) for counts in column["secrets"].values())
    return fugu.LawPair(p, q)


def points(pair: fugu.LawPair, epsilon: str) -> dict[str, float]:
    """E|error| of every way but the robust channel, for a value of the mean law."""
    found: Comparison = fugu.compare(pair, fugu.Pure(Fraction(epsilon)))
    rows = (*found.rows, *found.beside)
    return {row.method: row.expected_absolute for row in rows if row.method in CURVES and row.proven}


def robust(column: dict[str, Any], epsilon: str) -> float:
    """E|error| of the robust channel: boxes that hold both laws with 95 %, and Laplace's own limit for any belief."""
    pair = laws(column)
    error = secret_error(CONFIDENCE, 2, disjoint=True)
    boxes = tuple(clopper_box(np.array(column["values"], dtype=float), c, error) for c in column["secrets"].values())
    plain = Asked("absolute").problem(shapes([pair]), fugu.Pure(Fraction(epsilon)).asks())
    scale = fugu.calibrate(pair, fugu.Pure(Fraction(epsilon)), noise="laplace").noise.scale
    cap = Fraction(max(column["values"]) - min(column["values"])) / Fraction(scale)
    asked = replace(plain, laws=boxes, cap=cap)
    rows, _ = repaired(asked, find(asked).matrix)
    return float(value(asked, rows))


def figure(size: Size) -> Iterator[Row]:
    """The figures and the picture; and how far the ways are from the limit at epsilon 1."""
    found = []
    for column in columns():
        pair, each = laws(column), {name: dict[str, float]() for name in CURVES}
        for epsilon in EPSILONS:
            for name, error in points(pair, epsilon).items():
                each[name][epsilon] = error
            if not size.quick:
                each["robust"][epsilon] = robust(column, epsilon)
        found.append({"name": column["name"], "words": column["words"], "curves": each})
        for name in ("exact", "remapped"):
            ratio = each[name]["1"] / each["limit"]["1"]
            yield Row("limits", f"{column['name']}: {WORDS[name]} at epsilon 1", ratio, "times the limit")
    if not size.quick:
        text = json.dumps(found, indent=1, sort_keys=False)
        FIGURES.write_text(text + "\n", encoding="utf-8")
    PICTURE.write_text(picture(json.loads(FIGURES.read_text(encoding="utf-8"))), encoding="utf-8")


def picture(found: list[dict[str, Any]]) -> str:
    """Three panels, one scale of errors each."""
    panels = []
    for column in found:
        curves = [
            Curve(WORDS[name], tuple((float(x), y) for x, y in column["curves"][name].items() if y > 0))
            for name in CURVES
            if column["curves"].get(name)
        ]
        panels.append(Panel(f"{column['name']} {column['words']}", tuple(curves)))
    return drawn(
        "Expected error against epsilon, from a constant to the limit",
        "E|error| in the units of the column, on logarithmic axes; lower is better. No mechanism is below the limit.",
        panels,
    )
