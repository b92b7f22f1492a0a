"""What a release does to the laws of a value: to the nearest supported one, then onto the lattice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.laws.vectors import VectorFamily, distinct
from fugu.mechanism.additive import nearest
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.vector import nearest_rows


def pushed(given: tuple[Item, ...], certificate: Certificate) -> tuple[Item, ...]:
    """The laws of a value, as the certified mechanism sees it."""
    support, lattice = certificate.support, certificate.lattice
    if support is not None:
        if any(isinstance(item, Analytic) or item.translates for item in given):
            raise BadNoise("it moves every value to its own atoms, and these laws have none")
        given = tuple(moved(item, support) for item in given if isinstance(item, Family))
    if lattice is not None:
        return tuple(item.on(lattice) for item in given)
    if any(isinstance(item, Analytic) for item in given):
        raise BadNoise("laws without atoms need a lattice, and this certificate has none")
    return tuple(numbered(item) for item in given if isinstance(item, Family))


def moved(family: Family, support: NDArray[np.float64]) -> Family:
    """The laws of the nearest supported value; masses that meet are added exactly."""
    points, where = np.unique(nearest(support, family.points), return_inverse=True)
    return replace(family, points=points, laws=tuple(law.scatter(where, len(points)) for law in family.laws))


def numbered(family: Family) -> Family:
    """The same laws on the points 0, 1, 2, ..."""
    return replace(family, points=np.arange(len(family.points)))


def pushed_vectors(given: tuple[VectorFamily, ...], certificate: Certificate) -> tuple[VectorFamily, ...]:
    """The laws of a vector, as the certified mechanism sees it."""
    lattice, stated = certificate.lattice, certificate.body.get("support")
    if stated is not None:
        if any(family.translates for family in given):
            raise BadNoise("it moves every vector to its own atoms, and these laws have none")
        support = np.array(stated, dtype=np.float64)
        given = tuple(moved_rows(family, support) for family in given)
    assert lattice is not None
    return tuple(family.on(lattice) for family in given)


def moved_rows(family: VectorFamily, support: NDArray[np.float64]) -> VectorFamily:
    """The laws of the nearest supported vector; masses that meet are added exactly."""
    points, where = distinct(nearest_rows(support, family.points))
    return replace(family, points=points, laws=tuple(law.scatter(where, len(points)) for law in family.laws))


def halves_agree(whole: Certificate, half: Certificate) -> bool:
    """Whether a half of a mixture is for the laws of the whole: they are what it makes of them.

    p P_1 + (1 - p) P_2 <= e^epsilon (p Q_1 + (1 - p) Q_2) + delta needs both halves proved for one pair of laws. A half
    with another grid, or none, sees the same laws rounded otherwise; a half whose laws are no image of the whole's may
    be for anything. Normal laws of vectors are stated before rounding, so halves with other grids state the same."""
    if whole.runs != half.runs:
        return False
    if whole.body["lattice"] == half.body["lattice"] and whole.fingerprint == half.fingerprint:
        return True
    try:
        return _IMAGES[whole.runs](whole, half)
    except BadNoise:
        return False


def _numbers_agree(whole: Certificate, half: Certificate) -> bool:
    if (stated := _in_values(whole)) is None:  # its atoms have a number only, and those of the half the same
        atoms = half.families
        return len(atoms) == len(half.items) and _same(tuple(numbered(item) for item in atoms), whole.items)
    return _same(pushed(stated, half), half.items)


def _vectors_agree(whole: Certificate, half: Certificate) -> bool:
    lattice = whole.lattice
    assert lattice is not None
    stated = tuple(replace(family, points=lattice.value(family.points)) for family in whole.vectors)
    return _same(pushed_vectors(stated, half), half.vectors)


_IMAGES: dict[str, Callable[[Certificate, Certificate], bool]] = {
    "additive": _numbers_agree,
    "analysis": _numbers_agree,
    "vector": _vectors_agree,
    "correlated": lambda whole, half: whole.fingerprint == half.fingerprint,
}


def _in_values(certificate: Certificate) -> tuple[Item, ...] | None:
    """The laws of a certificate on the values themselves; None if it only says how they are ordered."""
    lattice, support, laws = certificate.lattice, certificate.support, certificate.items
    if lattice is not None:
        return tuple(replace(f, points=lattice.value(f.points)) if isinstance(f, Family) else f for f in laws)
    if support is None or len(laws) != 1 or not isinstance(laws[0], Family) or len(laws[0].points) != len(support):
        return None
    return (replace(laws[0], points=support),)


def _same(one: Sequence[Item | VectorFamily], other: Sequence[Item | VectorFamily]) -> bool:
    return len(one) == len(other) and all(_one_law(a, b) for a, b in zip(one, other, strict=True))


def _one_law(a: Item | VectorFamily, b: Item | VectorFamily) -> bool:
    if isinstance(a, Analytic) and isinstance(b, Analytic):
        return a.label == b.label and a.exact == b.exact
    if isinstance(a, Analytic) or isinstance(b, Analytic) or type(a) is not type(b):
        return False
    alike = (a.pairs, a.labels, a.errors) == (b.pairs, b.labels, b.errors) and len(a.laws) == len(b.laws)
    return (
        alike and np.array_equal(a.points, b.points) and all(p.same_as(q) for p, q in zip(a.laws, b.laws, strict=True))
    )
