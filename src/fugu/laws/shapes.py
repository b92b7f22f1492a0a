"""Law pairs sorted into the shapes that a loss can be computed on, and their mean law."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.laws.cells import CellFamily, CellLaw, Counts
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family, SetFamily, distinct
from fugu.laws.masses import Masses
from fugu.laws.multinormal import NormalPair
from fugu.laws.normal import Analytic
from fugu.laws.pair import Law, LawPair, Shifted
from fugu.laws.sets.law_set import LawSet
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import as_fraction

Item = Family | Analytic
Number = Item | SetFamily
"""Laws of one number, or sets of them."""
Shape = Number | NormalPair | CellFamily


def shapes(pairs: Sequence[LawPair]) -> tuple[Shape, ...]:
    """The shapes behind law pairs of one dimension; normal laws of vectors, and laws of one record's
    cell, pair only with each other."""
    if any(law.normal_vector for pair in pairs for law in (pair.p, pair.q)):
        for pair in pairs:
            if not (pair.p.normal_vector and pair.q.normal_vector):
                raise NotProvable("MultivariateNormal laws pair only with each other; give all laws of one kind")
            if pair.dimension != pairs[0].dimension:
                raise UsageError("all pairs must speak of vectors of one dimension")
        normal = cast(Sequence[Any], pairs)
        return tuple(NormalPair(pair.p, pair.q, pair.label) for pair in normal)
    if any(isinstance(law, CellLaw) for pair in pairs for law in (pair.p, pair.q)):
        require_one_dimension(pairs)
        return (CellFamily(*_numbered(pairs, _counts)),)
    return items(pairs)


def items(pairs: Sequence[LawPair]) -> tuple[Number, ...]:
    """Families for pairs of laws with atoms only, one `Analytic` for every pair with a Gaussian component; one
    `SetFamily` of all pairs as soon as one law is a set.

    A normal law without spread is a point mass, and a mixture of such is a discrete law: they are read as what they
    are."""
    require_one_dimension(pairs)
    sets = [law for pair in pairs for law in (pair.p, pair.q) if isinstance(law, LawSet)]
    if sets:
        return (SetFamily(sets[0].values, *_numbered(pairs, lambda law, label: _set_of(law, sets[0].values, label))),)
    read: dict[int, Any] = {}
    atoms, smooth = [], []
    for pair in pairs:
        p, q = (read.setdefault(id(law), law.read()) for law in (pair.p, pair.q))
        if p.smooth or q.smooth:
            smooth.append(Analytic(p.components(), q.components(), pair.label))
        else:
            atoms.append(LawPair(p, q, pair.label))
    return (*(families(atoms) if atoms else ()), *smooth)


_CELLS = 20_000_000
"""Above this many (law, point) cells the pairs are treated one by one instead of on a common support."""


def families(pairs: Sequence[LawPair]) -> tuple[Family, ...]:
    """Group law pairs into families: one for all laws on a common support, one for each pair of translates."""
    require_one_dimension(pairs)
    shifted = [pair for pair in pairs if pair.p.shifted]
    discrete = [pair for pair in pairs if not pair.p.shifted]
    made = [replace(_family([_points(pair)]), translates=True) for pair in shifted]
    if not discrete:
        return tuple(made)
    laws = list({id(law): _with_atoms(law) for pair in discrete for law in (pair.p, pair.q)}.values())
    union = _union(laws)
    if len(union) * len(laws) <= _CELLS or len(discrete) == 1 or union.ndim > 1:
        return (*made, _family(discrete, union))
    return (*made, *(_family([pair]) for pair in discrete))


def _with_atoms(law: Law) -> Discrete:
    if not isinstance(law, Discrete):
        raise NotProvable("laws of vectors must be Discrete or Shifted here")
    return law


def require_one_dimension(pairs: Sequence[LawPair]) -> None:
    """Refuse laws of numbers and of vectors, or of vectors of several lengths, side by side."""
    if len(dimensions := sorted({pair.dimension for pair in pairs})) > 1:
        raise BadLaw(f"the laws have several dimensions: {dimensions}; publish vectors of one length")


def _points(pair: LawPair) -> LawPair:
    """Translates as the two point masses that are their worst case."""
    gap = [b - a for a, b in zip(*(cast(Shifted, law).exact for law in (pair.p, pair.q)), strict=True)]
    if any(as_fraction(float(x)) != x for x in gap):
        raise BadLaw(f"the shift of pair {pair.label!r} is not a short decimal; rescale the values so that it is")
    if len(gap) == 1:
        return LawPair(Discrete([0.0]), Discrete([float(gap[0])]), pair.label)
    return LawPair(Discrete([[0.0] * len(gap)]), Discrete([[float(x) for x in gap]]), pair.label)


def _union(laws: Sequence[Discrete]) -> NDArray[np.float64]:
    first = laws[0].values
    if first.ndim > 1:
        return distinct(np.concatenate([law.values for law in laws]))[0]
    if all(law.values is first or np.array_equal(law.values, first) for law in laws[1:]):
        return first
    merged = np.concatenate([law.values for law in laws])
    merged.sort(kind="stable")  # merges runs that are sorted already
    return merged[np.concatenate(([True], merged[1:] != merged[:-1]))]


def _places(support: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Where values that are in the support stand in it."""
    if support.ndim == 1:
        return np.searchsorted(support, values)
    return distinct(np.concatenate([support, values]))[1][len(support) :]


Held = TypeVar("Held")


def _numbered(
    pairs: Sequence[LawPair], read: Callable[[Law, str], Held]
) -> tuple[tuple[Held, ...], tuple[tuple[int, int], ...], tuple[str, ...]]:
    """Each law once as it is read, however many pairs it is in; one that is paired with itself once more, as the second
    secret's. The numbers of the laws of every pair, and the labels."""
    laws: dict[tuple[int, bool], Held] = {}
    places = {}
    for pair in pairs:
        for law, key in ((pair.p, (id(pair.p), False)), (pair.q, (id(pair.q), pair.q is pair.p))):
            if key not in laws:
                places[key] = len(laws)
                laws[key] = read(law, pair.label)
    numbers = tuple((places[id(p.p), False], places[id(p.q), p.q is p.p]) for p in pairs)
    return tuple(laws.values()), numbers, tuple(p.label for p in pairs)


def _family(pairs: Sequence[LawPair], union: NDArray[np.float64] | None = None) -> Family:
    laws, numbers, labels = _numbered(pairs, lambda law, _: _with_atoms(law))
    support = _union(laws) if union is None else union
    rows = tuple(
        law.masses if law.values is support else law.masses.scatter(_places(support, law.values), len(support))
        for law in laws
    )
    return Family(support, rows, numbers, labels, errors=tuple(law.error for law in laws))


def _counts(law: Law, _: str) -> Counts:
    if not isinstance(law, CellLaw):
        raise BadLaw(f"a law of cells pairs only with laws of cells, and {type(law).__name__} is not one")
    return law.counts


def _set_of(law: Law, values: NDArray[np.float64], label: str) -> LawSet:
    """A set that declares just these values; a `Discrete` law on some of them is the set of itself."""
    where = f" (pair {label!r})" if label else ""
    if isinstance(law, LawSet):
        if not np.array_equal(law.values, values):
            raise BadLaw(f"sets of laws must declare the same values, and two of them do not{where}")
        return law
    if not isinstance(law, Discrete) or law.dimension > 1:
        raise BadLaw(f"beside a set of laws a law must be Discrete on its values, got {type(law).__name__}{where}")
    if law.error:
        raise BadLaw(f"a law known up to an error cannot stand beside a set of laws{where}; give the set around it")
    place = np.searchsorted(values, law.values)
    if np.any(place == len(values)) or not np.array_equal(values[place], law.values):
        raise BadLaw(f"a law has values that the sets of laws do not declare{where}; declare them in every set")
    from fugu.laws.sets.ball import Hull

    return Hull([law], values)


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
    laws = []
    for family in families:
        if isinstance(family, SetFamily):
            laws += [(law.masses, law.values) for law in (one.centre() for one in family.sets)]
        else:
            laws += [(law, family.points) for law in family.laws]
    return points, averaged([law.scatter(np.searchsorted(points, at), len(points)) for law, at in laws])


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


def item_from(found: dict[str, Any], lattice: Lattice | None) -> Number:
    """What `to_json` of laws of numbers wrote: a family of numbers does not say what it is."""
    if found.get("kind") == "sets":
        return SetFamily.from_json(found)
    return Analytic.from_json(found, lattice) if found.get("kind") == "analytic" else Family.from_json(found)
