"""Law pairs sorted into the shapes that a loss can be computed on, their mean law, and each shape as exact JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fugu.errors import CertificateError, NotProvable, UsageError
from fugu.laws.cells import MOST_ROWS, CellFamily, CellLaw, cell_family
from fugu.laws.components import Components
from fugu.laws.family import Family, SetFamily, distinct, families, require_one_dimension, set_family
from fugu.laws.masses import Masses
from fugu.laws.multinormal import MultivariateNormal, NormalPair
from fugu.laws.normal import Analytic, NormalMixture, components
from fugu.laws.pair import LawPair
from fugu.laws.sets.law_set import LawSet
from fugu.noise.lattice import MAX_INDEX, Lattice
from fugu.numbers.exact import float_up, read_number, read_whole

# `shapes`: law pairs sorted into what a loss can be computed on: atoms, sets, Gaussian components, normal vectors.


Item = Family | Analytic
Number = Item | SetFamily
"""Laws of one number, or sets of them."""
Shape = Number | NormalPair | CellFamily


def shapes(pairs: Sequence[LawPair]) -> tuple[Shape, ...]:
    """The shapes behind law pairs of one dimension; normal laws of vectors, and laws of one record's
    cell, pair only with each other."""
    if any(law.normal_vector for pair in pairs for law in (pair.p, pair.q)):
        return tuple(_normal(pair, pairs[0].dimension) for pair in pairs)
    if any(isinstance(law, CellLaw) for pair in pairs for law in (pair.p, pair.q)):
        require_one_dimension(pairs)
        return (cell_family(pairs),)
    return items(pairs)


def _normal(pair: LawPair, dimension: int) -> NormalPair:
    if not (pair.p.normal_vector and pair.q.normal_vector):
        raise NotProvable("MultivariateNormal laws pair only with each other; give all laws of one kind")
    if pair.dimension != dimension:
        raise UsageError("all pairs must speak of vectors of one dimension")
    return NormalPair(cast(MultivariateNormal, pair.p), cast(MultivariateNormal, pair.q), pair.label)


def items(pairs: Sequence[LawPair]) -> tuple[Number, ...]:
    """Families for pairs of laws with atoms only, one `Analytic` for every pair with a Gaussian component; one
    `SetFamily` of all pairs as soon as one law is a set.

    A normal law without spread is a point mass, and a mixture of such is a discrete law: they are read as what they
    are."""
    require_one_dimension(pairs)
    if any(isinstance(law, LawSet) for pair in pairs for law in (pair.p, pair.q)):
        return (set_family(pairs),)
    read: dict[int, Any] = {}
    atoms, smooth = [], []
    for pair in pairs:
        p, q = (read.setdefault(id(law), law.read()) for law in (pair.p, pair.q))
        if p.smooth or q.smooth:
            smooth.append(Analytic(p.components(), q.components(), pair.label))
        else:
            atoms.append(LawPair(p, q, pair.label))
    return (*(families(atoms) if atoms else ()), *smooth)


# The mean law: the average of all laws of a problem, the weight of errors unless one is declared.


_LONGEST = 512
"""Common denominators of more bits than this are not carried: the mean is then rounded to units of 2^-60."""


def mean_law(families: Sequence[Family | SetFamily]) -> tuple[NDArray[np.int64], list[int]]:
    """All points of the families, sorted, and whole numbers in proportion to the average of all their laws; of sets of
    laws, of their centres.

    Exact unless the totals have a common multiple of more than 512 bits; then each is within 2^-60 of it. A weight is
    for errors, never for a guarantee.

    >>> from fugu.laws import Discrete, LawPair, families
    >>> points, weight = mean_law(families([LawPair(Discrete([0, 2], [3, 1]), Discrete([0, 2], [1, 1]))]))
    >>> points.tolist(), weight
    ([0.0, 2.0], [5, 3])
    """
    points = np.unique(np.concatenate([family.points for family in families]))
    return points, averaged([law for family in families for law in _on(points, family)])


def _on(points: NDArray[np.int64], family: Family | SetFamily) -> list[Masses]:
    """The laws of a family, or the centres of its sets, on more points."""
    if isinstance(family, SetFamily):
        centres = [one.centre() for one in family.sets]
        return [law.masses.scatter(np.searchsorted(points, law.values), len(points)) for law in centres]
    return [law.scatter(np.searchsorted(points, family.points), len(points)) for law in family.laws]


def averaged(laws: Sequence[Masses]) -> list[int]:
    """Whole numbers in proportion to the average of laws on the same points."""
    whole = [law.whole() for law in laws]
    common = math.lcm(*(total for _, total in whole))
    if common.bit_length() > _LONGEST:
        mean = np.mean([law.floats() for law in laws], axis=0)
        return [round(Fraction(float(x)) * 2**60) for x in mean]
    sums = [0] * len(whole[0][0])
    for parts, total in whole:
        for k, part in enumerate(parts):
            sums[k] += part * (common // total)
    shared = math.gcd(*sums)
    return [x // shared for x in sums]


# Budgets and laws as JSON, exactly: rationals as "p/q", doubles as hexadecimal, counts as whole numbers.


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
    """What `shape_json` wrote of laws of numbers."""
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
    from fugu.laws.sets.hull import law_set_from

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
