"""`shapes`: law pairs sorted into what a loss can be computed on: atoms, sets, Gaussian components, normal vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from fugu.errors import NotProvable, UsageError
from fugu.laws.analytic import Analytic
from fugu.laws.cells import CellFamily, CellLaw, cell_family
from fugu.laws.family import Family, families, require_one_dimension
from fugu.laws.multinormal import MultivariateNormal, NormalPair
from fugu.laws.pair import LawPair
from fugu.laws.set_family import SetFamily, set_family
from fugu.laws.sets.law_set import LawSet

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
