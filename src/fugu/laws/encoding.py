"""Budgets and laws as JSON, exactly: rationals as "p/q", doubles as hexadecimal, counts as whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import CertificateError
from fugu.laws.analytic import Analytic
from fugu.laws.cells import MOST_ROWS, CellFamily
from fugu.laws.components import Components
from fugu.laws.family import Family, distinct
from fugu.laws.items import Number, Shape
from fugu.laws.masses import Masses
from fugu.laws.multinormal import MultivariateNormal, NormalPair
from fugu.laws.normal import NormalMixture, components
from fugu.laws.set_family import SetFamily
from fugu.laws.sets import law_set_from
from fugu.noise.lattice import MAX_INDEX, Lattice
from fugu.numbers.exact import float_up, read_number, read_whole

_SMOOTH, _VECTORS, _NORMAL, _SETS, _CELLS = "analytic", "vectors", "normal-vectors", "sets", "cells"
"""The kinds of laws that say so; a family of numbers does not."""
_LONG = 10_000
"""Whole numbers of more bits are written in hexadecimal: Python refuses decimals of more than 4300 digits."""


def shape_json(item: Shape) -> dict[str, Any]:
    """Laws of any shape, exactly."""
    return _WRITERS[item.shape](item)


def smooth_json(item: Analytic) -> dict[str, Any]:
    """A pair of laws with Gaussian components."""
    return {"kind": _SMOOTH, "label": item.label, "p": _components_json(item.p), "q": _components_json(item.q)}


def item_from(found: dict[str, Any], lattice: Lattice | None) -> Number:
    """What `item_json` wrote."""
    if found.get("kind") == _SETS:
        return sets_from(found)
    if found.get("kind") != _SMOOTH:
        return family_from(found)
    if lattice is None:
        raise CertificateError("laws without atoms need a lattice")
    return Analytic(_components_from(found["p"]), _components_from(found["q"]), str(found["label"]), lattice)


def _components_json(law: Components) -> dict[str, list[str]]:
    rows = {"weights": law.exact_weights, "means": law.exact_means, "stds": law.exact_stds}
    return {name: [str(x) for x in row] for name, row in rows.items()}


def _components_from(found: dict[str, list[str]]) -> Components:
    """Read exactly; `NormalMixture` refuses weights that do not sum to one and negative spreads."""
    weights, means, stds = ([read_number(x) for x in found[name]] for name in ("weights", "means", "stds"))
    return components(NormalMixture(weights, means, stds))


def vectors_json(family: Family) -> dict[str, Any]:
    """A family of laws of vectors on lattice indices, one row a point."""
    rows = family_json(family)
    return {"kind": _VECTORS, **rows, "translates": family.translates}


def vectors_from(found: dict[str, Any]) -> Family:
    """The family that `vectors_json` wrote, checked: distinct points of one dimension, laws that are laws."""
    points = _points(found["points"])
    if found.get("kind") != _VECTORS or points.ndim != 2 or not np.array_equal(distinct(points)[0], points):
        raise CertificateError("the certificate's laws are not laws of vectors in order")
    errors = tuple(_error_from(law) for law in found["laws"])
    laws, pairs, labels = _laws_and_pairs(found, len(points))
    return Family(points, laws, pairs, labels, bool(found["translates"]), errors)


def cells_json(family: CellFamily) -> dict[str, Any]:
    """Laws of one record's cell, as counts."""
    return {
        "kind": _CELLS,
        "laws": [law.tolist() for law in family.laws],
        "pairs": [list(pair) for pair in family.pairs],
        "labels": list(family.labels),
    }


def cells_from(found: dict[str, Any]) -> CellFamily:
    """The family that `cells_json` wrote, checked: counts on two cells or more, the same for every law."""
    laws = tuple(_cell_counts(law) for law in found["laws"])
    if not laws or len({len(law) for law in laws}) > 1 or len(laws[0]) < 2:
        raise CertificateError("the certificate's laws of cells are not on the same cells")
    return CellFamily(laws, *_pairs(found, len(laws)))


def _cell_counts(parts: list[Any]) -> NDArray[np.int64]:
    whole = [read_whole(part) for part in parts]
    if any(part < 0 for part in whole) or not 0 < sum(whole) < MOST_ROWS:
        raise CertificateError("a law of cells in the certificate is not a probability law")
    return np.array(whole, dtype=np.int64)


def normal_pair_json(pair: NormalPair) -> dict[str, Any]:
    """Two normal laws of a vector, exactly."""
    return {"kind": _NORMAL, "label": pair.label, "p": _normal_json(pair.p), "q": _normal_json(pair.q)}


def normal_pair_from(found: dict[str, Any]) -> NormalPair:
    """The pair that `normal_pair_json` wrote; `MultivariateNormal` refuses what is no covariance."""
    if found.get("kind") != _NORMAL:
        raise CertificateError("the certificate's laws are no normal laws of vectors")
    return NormalPair(_normal_from(found["p"]), _normal_from(found["q"]), str(found["label"]))


def _normal_json(law: MultivariateNormal) -> dict[str, Any]:
    return {"mean": [str(x) for x in law.mean], "cov": [[str(x) for x in row] for row in law.cov]}


def _normal_from(found: dict[str, Any]) -> MultivariateNormal:
    return MultivariateNormal(
        [read_number(x) for x in found["mean"]], [[read_number(x) for x in row] for row in found["cov"]]
    )


def family_json(family: Family) -> dict[str, Any]:
    """A family on lattice indices."""
    return {
        "points": family.points.astype(np.int64).tolist(),
        "laws": [_law_json(law, error) for law, error in zip(family.laws, family.errors, strict=True)],
        "pairs": [list(pair) for pair in family.pairs],
        "labels": list(family.labels),
    }


def family_from(found: dict[str, Any]) -> Family:
    """The family that `family_json` wrote, checked: sorted points, non-negative masses that make up the total."""
    points = _points(found["points"])
    if points.ndim != 1 or not len(points) or not np.all(np.diff(points) > 0):
        raise CertificateError("the certificate's laws are not in order")
    laws, pairs, labels = _laws_and_pairs(found, len(points))
    return Family(points, laws, pairs, labels, errors=tuple(_error_from(law) for law in found["laws"]))


def sets_json(family: SetFamily) -> dict[str, Any]:
    """Sets of laws on lattice indices."""
    return {
        "kind": _SETS,
        "points": family.points.astype(np.int64).tolist(),
        "sets": [one.to_json() for one in family.sets],
        "pairs": [list(pair) for pair in family.pairs],
        "labels": list(family.labels),
    }


def sets_from(found: dict[str, Any]) -> SetFamily:
    """The family that `sets_json` wrote, checked: sorted points, sets that are not empty and declare just them."""
    points = _points(found["points"])
    if points.ndim != 1 or not len(points) or not np.all(np.diff(points) > 0):
        raise CertificateError("the certificate's laws are not in order")
    sets = tuple(law_set_from(one) for one in found["sets"])
    if any(not np.array_equal(one.values, points) for one in sets):
        raise CertificateError("a set of laws in the certificate declares other values than the certificate")
    return SetFamily(points, sets, *_pairs(found, len(sets)))


def _points(rows: Any) -> NDArray[np.int64]:
    """Lattice indices, whole numbers in one list or in rows; numpy alone would read 1.5 and true as 1."""
    flat = [x for row in rows for x in (row if isinstance(row, list) else (row,))]
    if any(type(x) is not int or abs(x) > MAX_INDEX for x in flat):
        raise CertificateError("the certificate's laws are not on a lattice: their points are not whole numbers")
    return np.array(rows, dtype=np.int64)


def _laws_and_pairs(
    found: dict[str, Any], count: int
) -> tuple[tuple[Masses, ...], tuple[tuple[int, int], ...], tuple[str, ...]]:
    """Non-negative masses that make up the total; pairs of laws that are there, one label each."""
    laws = tuple(_law_from(law, count) for law in found["laws"])
    return laws, *_pairs(found, len(laws))


def _pairs(found: dict[str, Any], count: int) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
    """Pairs of laws that are there, one label each."""
    pairs = tuple((read_whole(i), read_whole(j)) for i, j in found["pairs"])
    labels = tuple(str(label) for label in found["labels"])
    if not pairs or len(labels) != len(pairs):
        raise CertificateError("the certificate's laws are not in order")
    if any(not 0 <= k < count for pair in pairs for k in pair):
        raise CertificateError("the certificate names a law that it does not hold")
    if any(i == j for i, j in pairs):
        raise CertificateError("the certificate compares a law with itself, which no noise can tell apart")
    return pairs, labels


def _law_json(law: Masses, error: float) -> dict[str, Any]:
    """Masses over their total; "error", if there is one, is how far in total variation the true law may be."""
    total = str(law.total) if law.total.numerator.bit_length() <= _LONG else hex(law.total.numerator)
    known = {"error": str(Fraction(error))} if error else {}
    if law.parts.dtype.kind == "f":
        return {"kind": "binary", "parts": [float(p).hex() for p in law.parts.tolist()], "total": total, **known}
    parts = [p if p.bit_length() <= _LONG else hex(p) for p in map(int, law.parts.tolist())]
    return {"kind": "counts", "parts": parts, "total": total, **known}


def _error_from(found: dict[str, Any]) -> float:
    error = read_number(found.get("error", "0"))
    if not 0 <= error <= 1:
        raise CertificateError("the error of a law in the certificate is no total variation")
    return float_up(error)


def _binary(texts: list[str]) -> tuple[NDArray[Any], bool]:
    parts = np.array([float.fromhex(p) for p in texts], dtype=np.float64)
    return parts, bool(np.all(np.isfinite(parts)) and np.all(parts >= 0))


def _counts(numbers: list[Any]) -> tuple[NDArray[Any], bool]:
    whole = [read_whole(p) for p in numbers]
    parts = np.array(whole, dtype=np.int64 if sum(map(abs, whole)) < 2**62 else object)
    return parts, all(p >= 0 for p in whole)


_PARTS: dict[str, Callable[[list[Any]], tuple[NDArray[Any], bool]]] = {"binary": _binary}
"""How masses are read, and whether none is negative, by the kind of law; whole numbers otherwise."""


def _law_from(found: dict[str, Any], count: int) -> Masses:
    parts, valid = _PARTS.get(found["kind"], _counts)(found["parts"])
    total = found["total"]
    hexadecimal = isinstance(total, str) and total.startswith("0x")
    law = Masses(parts, Fraction(read_whole(total)) if hexadecimal else read_number(total))
    numerators, total = law.whole()
    if not valid or len(parts) != count or sum(numerators) != total or total <= 0:
        raise CertificateError("a law in the certificate is not a probability law")
    return law


_WRITERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "line": family_json,
    "space": vectors_json,
    "smooth": smooth_json,
    "normal": normal_pair_json,
    "sets": sets_json,
    "cells": cells_json,
}
