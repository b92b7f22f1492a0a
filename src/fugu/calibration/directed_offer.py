"""Laplace noise with a scale of its own along every axis, or along the directions in which translates differ.

- "anisotropic-laplace": sum_j |d_j| / b_j <= epsilon for every shift d, of least mean squared error. Sound wherever
  every coordinate moves by at most |d_j|, since each has noise of its own.
- "several-directions": the same along whole vectors that span the shifts and no more. Everything beside them goes out
  as it is, so it is for laws that are declared exact translates.
- "record-group" with a pure budget: k records each move coordinate j by at most r_j, so the shift is (k r_j) at most.

Proved in exact rationals on the lattice (docs/proofs/directed.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.calibration.covariance.feasible import anisotropic_laplace
from fugu.calibration.covariance.methods import Way
from fugu.calibration.lattice import FINER, beliefs_of, on, short_step
from fugu.calibration.offer import Offer, Tried, Wishes
from fugu.calibration.registry import ARITHMETIC, told
from fugu.documents.sentences import TRANSLATES
from fugu.errors import BadBudget, BadNoise, NotProvable
from fugu.guarantee.asks import Ask, Ratio
from fugu.laws import Shifted
from fugu.laws.family import Family
from fugu.laws.pair import LawPair, as_pairs
from fugu.laws.shapes import Shape, shapes
from fugu.loss.door import bound
from fugu.mechanism.intake import Context
from fugu.noise.kind import Objective
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers.exact import decimal_up
from fugu.scenario.moves import SYMMETRIC
from fugu.scenario.property_model import PropertyModel
from fugu.scenario.swap import swap_shift

ANISOTROPIC, SEVERAL, GROUP = "anisotropic-laplace", "several-directions", "record-group"
NAMES = (ANISOTROPIC, SEVERAL)
_WAYS = {
    way.name: way
    for way in (
        Way(ANISOTROPIC, "sum_j |d_j| / b_j <= epsilon, of least mean squared error; exact on the lattice"),
        Way(SEVERAL, "Chen and Ohrimenko 2023, Algorithm 1 for several directions, with the l1 norm"),
        Way(GROUP, "k records each move coordinate j by its range r_j: sum_j k r_j / b_j <= epsilon"),
    )
}
_NOT_DECLARED = (
    "noise along the differences leaves everything beside them as it is; say declared_exact=True if the laws are exact "
    "translates, and not values that move by at most so much"
)


@dataclass(frozen=True, eq=False)
class Found:
    """Noise, the laws as they are stated, and the lattice."""

    noise: DirectedLaplace
    given: tuple[Shape, ...]
    lattice: Lattice


@dataclass(frozen=True, eq=False)
class DirectedOffer(Offer):
    """One way to choose directions and scales, or why there is none."""

    method: str
    ask: Ask
    find: Callable[[], Found]
    context: Context | None = None
    """What is assumed, where it is not the scenario's own."""
    declared: bool = False
    noise = "laplace"

    @property
    def refusal(self) -> str | None:
        """Why there is nothing to prove."""
        try:
            self.find()
        except (NotProvable, BadNoise, *ARITHMETIC) as error:
            return told(error) if not isinstance(error, BadNoise) else str(error)
        return None

    def rank(self, objective: Objective) -> tuple[float, float, bool]:
        """The expected error."""
        noise = self.find().noise
        return noise.expected_error(objective), noise.scale, False

    def tried(self, ask: Ask, context: Context) -> Tried:
        """The noise, and its proof in exact rationals."""
        context = self.context or context
        if self.declared and SYMMETRIC in context.assumptions:
            raise NotProvable(_NOT_DECLARED)
        found = self.find()
        laws = on(found.given, found.lattice).items
        return Tried(
            kind="vector",
            method=self.method,
            theorem=_WAYS[self.method].theorem,
            noise=found.noise,
            proof=bound(laws, found.noise, ask),
            lattice=found.lattice,
            laws=laws,
            beliefs=beliefs_of(found.given),
            context=context,
            scales={self.method: found.noise.scale},
            dimension=found.noise.dimension,
            before=(TRANSLATES,) if self.declared else (),
        )

    def _more(self, tried: Tried, ask: Ask) -> dict[str, Any]:
        del tried, ask
        return {"note": TRANSLATES if self.declared else ""}


def _translates(given: Sequence[Shape]) -> list[Family]:
    families = [item for item in given if isinstance(item, Family) and item.translates]
    if len(families) < len(given) or families[0].dimension < 2:
        raise NotProvable("a scale for every direction is found for translates of vectors (fugu.Shifted)")
    return families


def _epsilon(ask: Ask) -> float:
    if not isinstance(ask, Ratio):
        raise NotProvable("Laplace noise along directions is found for an epsilon, with or without delta")
    if ask.epsilon == 0:
        raise NotProvable("with epsilon 0 no finite noise hides a shift")
    return float(ask.epsilon)


def _axes(given: tuple[Shape, ...], ask: Ask, grid: Fraction | None) -> Found:
    families = _translates(given)
    D = np.array([family.points[-1] - family.points[0] for family in families], dtype=np.float64)
    b = anisotropic_laplace(D, _epsilon(ask))
    if not b.any():
        raise NotProvable("no coordinate differs, so no noise is needed")
    lattice = _lattice(families, grid, float(b[b > 0].min()))
    d = D.shape[1]
    columns = [[int(i == j) for i in range(d)] for j in range(d) if b[j] > 0]
    scales = [float(decimal_up(float(b[j]) / float(lattice.grid))) for j in range(d) if b[j] > 0]
    return Found(DirectedLaplace(columns, scales, lattice.grid), given, lattice)


def _several(given: tuple[Shape, ...], ask: Ask, wishes: Wishes) -> Found:
    if not wishes.declared_exact:
        raise NotProvable(_NOT_DECLARED)
    families, epsilon = _translates(given), _epsilon(ask)
    lattice = _lattice(families, wishes.grid, math.inf)
    moved = [tuple(int(x) for x in f.points[-1] - f.points[0]) for f in on(given, lattice).items]  # type: ignore[union-attr]
    basis = whole_basis(moved)
    if not basis:
        raise NotProvable("no coordinate differs, so no noise is needed")
    ones = DirectedLaplace(basis, [1.0] * len(basis), lattice.grid)
    multiples = [ones.along(m) or () for m in moved]
    lengths = np.array([math.sqrt(sum(x * x for x in b)) for b in basis])
    t = anisotropic_laplace(np.array([[float(abs(z)) for z in row] for row in multiples]) * lengths, epsilon) / lengths
    return Found(DirectedLaplace(basis, [float(decimal_up(float(x))) for x in t], lattice.grid), given, lattice)


def _lattice(families: Sequence[Family], grid: Fraction | None, least: float) -> Lattice:
    """The coarsest that holds every shift, fine enough for the least scale; or the one asked for."""
    if grid is not None:
        return Lattice(grid)
    held = Lattice.holding([family.points for family in families])
    if held is None:
        raise NotProvable("the shifts are no short decimals, so they stand on no lattice; rescale the values")
    parts = 1 if math.isinf(least) else max(1, math.ceil(FINER * float(held.grid) / least))
    return Lattice(held.grid / parts)


def _group(model: PropertyModel, ask: Ask, grid: Fraction | None) -> Found:
    whole = [model.swapped * x for x in model.reach]
    b = anisotropic_laplace([[float(x) for x in whole]], _epsilon(ask))
    if not b.any():
        raise NotProvable("no record can change the statistics, so no noise is needed")
    step = short_step(float(b[b > 0].min()) / 2**10) if grid is None else grid
    moved = tuple(math.ceil(x / step) * step for x in whole)
    pair = LawPair(Shifted((0,) * len(moved)), Shifted(moved), "one share vs another share")
    return _axes(shapes(as_pairs([pair])), ask, step)


@dataclass(frozen=True, eq=False)
class Directions:
    """The search: the methods by name, each tried once."""

    offers: tuple[DirectedOffer, ...]
    wishes: Wishes

    def stages(self, refusals: list[str]) -> Iterator[list[Offer]]:
        """One stage: the method asked for."""
        del refusals
        if self.wishes.noise not in ("best", "laplace"):
            raise NotProvable(f"these methods add Laplace noise, not {self.wishes.noise}; leave out noise=")
        yield [offer for offer in self.offers if self.wishes.method in ("best", offer.method)]

    def everything(self) -> list[DirectedOffer]:
        """Every method."""
        return list(self.offers)


def search(given: tuple[Shape, ...], ask: Ask, wishes: Wishes) -> Directions:
    """For the driver: translates of vectors, or a property of the whole with a pure budget."""
    if given[0].shape == "normal" or (wishes.method == GROUP and isinstance(wishes.model, PropertyModel)):
        return Directions((_of_group(ask, wishes),), wishes)
    return Directions(
        (
            DirectedOffer(ANISOTROPIC, ask, lambda: _axes(given, ask, wishes.grid)),
            DirectedOffer(SEVERAL, ask, lambda: _several(given, ask, wishes), declared=True),
        ),
        wishes,
    )


def _of_group(ask: Ask, wishes: Wishes) -> DirectedOffer:
    model = wishes.model
    if not isinstance(model, PropertyModel):
        raise NotProvable("Gaussian noise gives no pure guarantee; give a delta > 0, or a Renyi budget")
    if wishes.method not in ("best", GROUP):
        raise BadBudget(
            f"method {wishes.method!r} adds Gaussian noise, which has no pure guarantee; give a delta > 0, or "
            "method='record-group'"
        )
    if wishes.only_normal:
        raise NotProvable("floor, weight and declared_exact are for Gaussian noise; leave them out with a pure budget")
    moved = swap_shift(model)
    return DirectedOffer(GROUP, ask, lambda: _group(model, ask, wishes.grid), Context.of(moved))


Vector = tuple[int, ...]


def whole_basis(vectors: Sequence[Sequence[int]]) -> tuple[Vector, ...]:
    """Independent whole vectors of which each of `vectors` is a whole combination: rows of a Hermite form, shortened.

    Row operations with whole factors keep the set of whole combinations. Pairs are then reduced as Gauss did, which
    only makes them shorter.

    >>> whole_basis([(2, 4), (3, 6)]), whole_basis([(2, 0), (0, 3), (2, 3)])
    (((1, 2),), ((2, 0), (0, 3)))
    """
    rows = [list(map(int, v)) for v in vectors if any(v)]
    found: list[list[int]] = []
    for column in range(len(rows[0]) if rows else 0):
        while len(held := [row for row in rows if row[column]]) > 1:
            least = min(held, key=lambda row: abs(row[column]))
            for row in held:
                if row is not least:
                    times = row[column] // least[column]
                    row[:] = [x - times * y for x, y in zip(row, least, strict=True)]
        if held:
            rows.remove(held[0])
            found.append(held[0])
        rows = [row for row in rows if any(row)]
    return tuple(tuple(row if next(x for x in row if x) > 0 else [-x for x in row]) for row in _shortened(found))


def _shortened(rows: list[list[int]]) -> list[list[int]]:
    """Each row less the nearest whole multiple of every other, while that makes it shorter."""
    changed = True
    while changed:
        changed = False
        for one in rows:
            for other in rows:
                if one is other:
                    continue
                dot, size = sum(x * y for x, y in zip(one, other, strict=True)), sum(y * y for y in other)
                times = (2 * dot + size) // (2 * size)
                moved = [x - times * y for x, y in zip(one, other, strict=True)]
                if sum(x * x for x in moved) < sum(x * x for x in one):
                    one[:] = moved
                    changed = True
    return rows
