"""Noise for translates: Laplace noise of several scales, and Gaussian noise from record swaps.

- "anisotropic-laplace": sum_j |d_j| / b_j <= epsilon for every shift d, of least mean squared error. Sound wherever
  every coordinate moves by at most |d_j|, since each has noise of its own.
- "several-directions": the same along whole vectors that span the shifts and no more. Everything beside them goes out
  as it is, so it is for laws that are declared exact translates.
- "record-group" with a pure budget: k records each move coordinate j by at most r_j, so the shift is (k r_j) at most;
  beside it "record-exchange" (`fugu.calibration.exchange`), which knows the laws of these records.
- "record-swap": two data sets whose numbers of records with the property differ by j share all but j records, and draws
  say how far j swapped records of the reference move the statistics (docs/proofs/record-swap.md). No Gaussian model;
  here are the plan and its cap, and the draws are left to the release.

Laplace noise is proved in exact rationals on the lattice (docs/proofs/directed.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast, final

import numpy as np

from fugu.calibration.covariance.directions import anisotropic_laplace
from fugu.calibration.exchange import THEOREM, record_exchange
from fugu.calibration.lattice import FINER, beliefs_of, on, short_step
from fugu.calibration.offer import ARITHMETIC, Offer, Refused, Stages, Tried, Wishes, told
from fugu.documents.exchange import METHOD as EXCHANGED
from fugu.documents.sentences import APART, DRAWN_INSIDE, ONE_DATA_SET, TRANSLATES
from fugu.documents.swap import METHOD, SHARE, SWAP, RecordSwap, cap_delta, longest_steps, planned_draws
from fugu.errors import BadBudget, BadNoise, NotProvable
from fugu.guarantee import Approx
from fugu.guarantee.asks import Ask, Proof, Ratio
from fugu.laws import Shifted
from fugu.laws.family import Family
from fugu.laws.pair import LawPair, as_pairs
from fugu.laws.shapes import Shape, shapes
from fugu.loss.door import bound
from fugu.loss.shifts import gaussian_mu
from fugu.mechanism.intake import Context, shares_json
from fugu.mechanism.settled import SwappedGaussian
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Kind, Objective
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers.exact import decimal_up, float_up
from fugu.scenario.moves import ONCE, SYMMETRIC
from fugu.scenario.property import TOGETHER, PropertyModel
from fugu.scenario.swap import swap_shift

ANISOTROPIC, SEVERAL, GROUP = "anisotropic-laplace", "several-directions", "record-group"
WAYS = {
    ANISOTROPIC: "sum_j |d_j| / b_j <= epsilon, of least mean squared error; exact on the lattice",
    SEVERAL: "Chen and Ohrimenko 2023, Algorithm 1 for several directions, with the l1 norm",
    GROUP: "k records each move coordinate j by its range r_j: sum_j k r_j / b_j <= epsilon",
    EXCHANGED: THEOREM,
    METHOD: "record swap: E delta(epsilon, |D| / sigma) from draws inside the release, beta a part of delta",
}
"""Each method by its name, and the theorem that it stands on."""
_NOT_DECLARED = (
    "noise along the differences leaves everything beside them as it is; say declared_exact=True if the laws are exact "
    "translates, and not values that move by at most so much"
)
_NOTHING = "no coordinate differs, so no noise is needed"
OF_RECORDS = (GROUP, EXCHANGED)
"""What a pure budget for a property of the whole tries."""
Found = tuple[DirectedLaplace, tuple[Shape, ...], Lattice]
"""Noise, the laws as they are stated, and the lattice."""


@final
@dataclass(frozen=True, eq=False)
class Directed(Offer):
    """Laplace noise along directions, by one way to choose them; what is assumed may not be the scenario's `own`."""

    method: str
    noise: DirectedLaplace
    given: tuple[Shape, ...]
    lattice: Lattice
    own: Context | None = None
    kind: Kind = Laplace

    def rank(self, objective: Objective) -> tuple[float, float, bool]:
        """The expected error."""
        return self.noise.expected_error(objective), self.noise.scale, False

    def told(self, tried: Tried, ask: Ask) -> dict[str, Any]:  # noqa: ARG002
        """What must be declared."""
        return {"note": TRANSLATES} if tried.before else {}

    def tried(self, ask: Ask, context: Context) -> Tried:
        """The noise, and its proof in exact rationals."""
        declared, context = self.method == SEVERAL, self.own or context
        if declared and SYMMETRIC in context.assumptions:
            raise NotProvable(_NOT_DECLARED)
        laws = on(self.given, self.lattice).items
        return Tried(
            kind="vector",
            method=self.method,
            theorem=WAYS[self.method],
            noise=self.noise,
            proof=bound(laws, self.noise, ask),
            lattice=self.lattice,
            laws=laws,
            beliefs=beliefs_of(self.given),
            context=context,
            scales={self.method: self.noise.scale},
            dimension=self.noise.dimension,
            before=(TRANSLATES,) if declared else (),
        )


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
        raise NotProvable(_NOTHING)
    lattice = _lattice(families, grid, float(b[b > 0].min()))
    d = D.shape[1]
    columns = [[int(i == j) for i in range(d)] for j in range(d) if b[j] > 0]
    scales = [float(decimal_up(float(b[j]) / float(lattice.grid))) for j in range(d) if b[j] > 0]
    return DirectedLaplace(columns, scales, lattice.grid), given, lattice


def _several(given: tuple[Shape, ...], ask: Ask, wishes: Wishes) -> Found:
    if not wishes.declared_exact:
        raise NotProvable(_NOT_DECLARED)
    families, epsilon = _translates(given), _epsilon(ask)
    lattice = _lattice(families, wishes.grid, math.inf)
    moved = [tuple(int(x) for x in f.points[-1] - f.points[0]) for f in on(given, lattice).items]  # type: ignore[union-attr]
    basis = whole_basis(moved)
    if not basis:
        raise NotProvable(_NOTHING)
    ones = DirectedLaplace(basis, [1.0] * len(basis), lattice.grid)
    multiples = [ones.along(m) or () for m in moved]
    lengths = np.array([math.sqrt(sum(x * x for x in b)) for b in basis])
    t = anisotropic_laplace(np.array([[float(abs(z)) for z in row] for row in multiples]) * lengths, epsilon) / lengths
    return DirectedLaplace(basis, [float(decimal_up(float(x))) for x in t], lattice.grid), given, lattice


def _lattice(families: Sequence[Family], grid: Fraction | None, least: float) -> Lattice:
    """The coarsest that holds every shift, fine enough for the least scale; or the one asked for."""
    if grid is not None:
        return Lattice(grid)
    held = Lattice.holding([family.points for family in families])
    if held is None:
        raise NotProvable("the shifts are not short decimals, so they stand on no lattice; rescale the values")
    parts = 1 if math.isinf(least) else max(1, math.ceil(FINER * float(held.grid) / least))
    return Lattice(held.grid / parts)


def _group(model: PropertyModel, ask: Ask, grid: Fraction | None) -> Found:
    whole = [model.swapped * x for x in model.reach]
    b = anisotropic_laplace([[float(x) for x in whole]], _epsilon(ask))
    if not b.any():
        raise NotProvable("no record can change the statistics, so no noise is needed")
    step = short_step(float(b[b > 0].min()) / 2**10) if grid is None else grid
    return _axes(_moved(whole, step), ask, step)


def _moved(whole: Sequence[Fraction], step: Fraction) -> tuple[Shape, ...]:
    """The laws of one share against another, a shift of whole steps that is at least this long."""
    moved = tuple(math.ceil(x / step) * step for x in whole)
    p, q = (Shifted((0,) * len(moved)), Shifted(moved)) if len(moved) > 1 else (Shifted(0), Shifted(moved[0]))
    return shapes(as_pairs([LawPair(p, q, "one share vs another share")]))


def directions(given: tuple[Shape, ...], ask: Ask, wishes: Wishes, every: bool = False) -> Stages:  # noqa: ARG001
    """The search for translates of vectors, or for a property of the whole with a pure budget."""
    finds: dict[str, Callable[[], Offer]]
    if given[0].shape == "normal" or wishes.method in OF_RECORDS:
        model = wishes.model
        if not isinstance(model, PropertyModel):
            raise NotProvable("Gaussian noise gives no pure guarantee; give a delta > 0, or a Renyi budget")
        if wishes.method not in ("best", *OF_RECORDS):
            raise BadBudget(
                f"method {wishes.method!r} adds Gaussian noise, which has no pure guarantee; give a delta > 0, or "
                "method='record-exchange' or 'record-group'"
            )
        if wishes.only_normal:
            raise NotProvable(
                "floor, weight and declared_exact are for Gaussian noise; leave them out with a pure budget"
            )
        context = Context.of(swap_shift(model))
        finds = {
            GROUP: lambda: Directed(GROUP, *_group(model, ask, wishes.grid), context),
            EXCHANGED: lambda: record_exchange(model, ask, wishes.grid, wishes.objective, wishes.law_error),
        }
    else:
        finds = {
            ANISOTROPIC: lambda: Directed(ANISOTROPIC, *_axes(given, ask, wishes.grid)),
            SEVERAL: lambda: Directed(SEVERAL, *_several(given, ask, wishes)),
        }
    if wishes.noise not in ("best", "laplace"):
        raise NotProvable(f"these methods add Laplace noise, not {wishes.noise}; leave out noise=")
    offers: list[Offer] = []
    for name in [name for name in finds if wishes.method in ("best", name)]:
        try:
            offers.append(finds[name]())
        except (NotProvable, BadNoise, *ARITHMETIC) as error:
            offers.append(Refused(Laplace, str(error) if isinstance(error, BadNoise) else told(error), name))
    yield offers


def whole_basis(vectors: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Independent whole vectors of which each of `vectors` is a whole combination: the Hermite form, whose operations
    on rows keep the set of whole combinations, made short (Lenstra, Lenstra and Lovasz 1982).

    >>> whole_basis([(2, 4), (3, 6)]), whole_basis([(2, 0), (0, 3), (2, 3)])
    (((1, 2),), ((2, 0), (0, 3)))
    """
    from flint import fmpz_mat

    if not any(any(v) for v in vectors):
        return ()
    hermite = fmpz_mat([list(map(int, v)) for v in vectors]).hnf().tolist()
    short = fmpz_mat([row for row in hermite if any(row)]).lll().tolist()
    return tuple(tuple(int(x if next(filter(None, row)) > 0 else -x) for x in row) for row in short)


# The record swap: the plan and its cap.


_FINE = 2**20
"""The cap has about so many lattice steps: the least sigma some 7,000, so rounding costs next to nothing."""
_SHOWN = 200_000
"""Draws behind the line of a comparison."""
_OCTAVES = 11
"""Lengths below 2^-11 of the longest are rounded up to that."""


@final
@dataclass(frozen=True, eq=False)
class Swapped(Offer):
    """The plan of a record swap for a property of the whole."""

    model: PropertyModel
    grid: Fraction | None
    kind: Kind = Gaussian
    method: str = METHOD

    def tried(self, ask: Ask, context: Context) -> Tried:  # noqa: ARG002 - what is assumed is not the scenario's own
        """The plan, and the proof of its cap."""
        assert isinstance(ask, Ratio)
        swap, noise, laws, proof = _plan(self.model, ask, self.grid)
        lattice, dimension, model = Lattice(noise.grid), len(self.model.statistics), self.model  # type: ignore[arg-type]
        moved = swap_shift(model)
        kept = tuple(a for a in moved.assumptions if a != ONCE and not a.startswith("noise:"))
        drawn = "independently (with replacement)" if model.replacement else "without replacement"
        believed = (
            f"records are drawn {drawn} from the reference's records of their class, {len(model.having)} with "
            f"{model.name} and {len(model.lacking)} without: the reference is the belief, and nothing is taken to be "
            "normal"
        )
        # what is assumed: fixed numbers, records of the reference's law, and draws that are what the plan says
        stated = (*kept, believed, DRAWN_INSIDE, APART, TOGETHER)
        return Tried(
            kind="vector" if dimension > 1 else "additive",
            method=METHOD,
            theorem=WAYS[METHOD],
            noise=SwappedGaussian(noise, dimension, self.model),
            proof=proof,
            lattice=lattice,
            laws=on(laws, lattice).items,
            beliefs=beliefs_of(laws),
            context=Context(assumptions=stated, unit=ONE_DATA_SET, shares=shares_json(model)),
            scales={METHOD: float(swap.cap)},
            dimension=dimension,
            more={SWAP: swap.to_json()},
        )

    def told(self, tried: Tried, ask: Ask) -> dict[str, Any]:
        """An estimate, from draws that no release uses."""
        made = tried.mechanism(Approx(ask.epsilon, ask.delta))
        rng = np.random.Generator(np.random.PCG64())
        found = made.estimate(rng, min(_SHOWN, RecordSwap.of(made.certificate).draws))
        noise, d = Gaussian(found.sigma, made.noise.grid), made.dimension
        said = f"an estimate from {found.draws} draws; the release makes its own, and uses at most {found.cap:.6g}"
        return {
            "scale": found.sigma * math.sqrt(d), "expected_absolute": noise.total_error("absolute", d),
            "expected_squared": noise.total_error("squared", d), "epsilon": float(ask.epsilon), "proven": True,
            "note": said,
        }  # fmt: skip


def _plan(
    model: PropertyModel, ask: Ratio, grid: Fraction | None
) -> tuple[RecordSwap, Gaussian, tuple[Shape, ...], Proof]:
    """beta, the number of draws and the least cap that is proved, on a lattice of which every shift is whole steps."""
    beta = ask.delta * SHARE
    rest = Ratio(ask.epsilon, ask.delta - beta)
    k = model.swapped
    whole = [k * x for x in model.reach]
    wide = math.sqrt(sum(float(x) ** 2 for x in whole)) / gaussian_mu(rest.epsilon, rest.delta)
    step = short_step(wide / _FINE) if grid is None else grid
    laws = _moved(whole, step)
    items = on(laws, Lattice(step)).items
    length = math.sqrt(sum(float(math.ceil(x / step) * step) ** 2 for x in whole))
    for times in (1 + 1e-7, 1 + 1e-5, 1.0005, 1.002, 1.01, 1.05):
        cap = decimal_up(length / gaussian_mu(rest.epsilon, rest.delta) * times)
        noise = Gaussian(float(cap), step)
        capped = cap_delta(longest_steps(items), len(whole), noise, rest.epsilon)
        if Fraction(capped) <= rest.delta:
            proof = Proof(float_up(rest.epsilon), float_up(Fraction(capped) + beta), laws[0].labels[0], holds=True)
            unit = decimal_up(length * 2.0**-_OCTAVES, 6)
            return RecordSwap(beta, cap, planned_draws(k, len(whole)), k, unit), noise, laws, proof
    raise NotProvable(
        f"the cap of the record swap is not proved on a lattice of step {float(step):g}; give a finer grid"
    )


def swaps(given: tuple[Shape, ...], ask: Ask, wishes: Wishes, every: bool = False) -> Stages:
    """The search for a record swap; the laws are those of the scenario's Gaussian model, and are not used."""
    del given, every
    model, why = wishes.model, None
    if not isinstance(model, PropertyModel):
        why = "a record swap needs the records of a reference; make the scenario with Scenario.from_property"
    elif not isinstance(ask, Ratio) or ask.pure:
        why = "a record swap adds Gaussian noise, and its draws take a part of delta; give Approx(epsilon, delta)"
    elif not any(model.reach):
        why = "no record can change the statistics, so there is nothing to swap"
    elif wishes.noise not in ("best", "gaussian"):
        why = f"a record swap adds Gaussian noise, not {wishes.noise}; leave out noise="
    yield [Refused(Gaussian, why, METHOD) if why is not None else Swapped(cast(PropertyModel, model), wishes.grid)]
