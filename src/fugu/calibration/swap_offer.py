"""Gaussian noise from record swaps (`method="record-swap"`): the plan and its cap; the draws are left to the release.

No Gaussian model: two data sets whose numbers of records with the property differ by j share all but j records, and
the draws say how far j swapped records of the reference move the statistics (docs/proofs/record-swap.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fugu.calibration.comparison import Row
from fugu.calibration.covariance.methods import Way
from fugu.calibration.lattice import beliefs_of, on, short_step
from fugu.calibration.offer import Offer, Tried, Wishes
from fugu.documents.sentences import APART, DRAWN_INSIDE, ONE_DATA_SET
from fugu.documents.swap import METHOD, SHARE, SWAP, RecordSwap, cap_delta, longest_steps, planned_draws
from fugu.errors import NotProvable
from fugu.guarantee import Approx
from fugu.guarantee.asks import Ask, Proof, Ratio
from fugu.laws import Shifted
from fugu.laws.pair import LawPair, as_pairs
from fugu.laws.shapes import Shape, shapes
from fugu.loss.shifts import gaussian_mu
from fugu.mechanism.intake import Context, shares_json
from fugu.mechanism.record_swap import Swapped
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Objective
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import decimal_up, float_up
from fugu.scenario.moves import ONCE
from fugu.scenario.property_model import PropertyModel
from fugu.scenario.swap import swap_shift

WAY = Way(METHOD, "record swap: E delta(epsilon, |D| / sigma) from draws inside the release, beta a part of delta")
_FINE = 2**20
"""The cap has about so many lattice steps: the least sigma some 7,000, so rounding costs next to nothing."""
_SHOWN = 200_000
"""Draws behind the line of a comparison."""
_OCTAVES = 11
"""Lengths below 2^-11 of the longest are rounded up to that."""


@dataclass(frozen=True, eq=False)
class SwapOffer(Offer):
    """The plan for a property of the whole, or why there is none."""

    model: PropertyModel | None
    ask: Ask
    wishes: Wishes
    method = METHOD
    noise = "gaussian"

    @property
    def refusal(self) -> str | None:
        """Why there is no plan."""
        if self.model is None:
            return "a record swap needs the records of a reference; make the scenario with Scenario.from_property"
        if not isinstance(self.ask, Ratio) or self.ask.pure:
            return "a record swap adds Gaussian noise, and its draws take a part of delta; give Approx(epsilon, delta)"
        if not any(self.model.reach):
            return "no record can change the statistics, so there is nothing to swap"
        if self.wishes.noise not in ("best", self.noise):
            return f"a record swap adds Gaussian noise, not {self.wishes.noise}; leave out noise="
        return None

    def rank(self, objective: Objective) -> tuple[float, float, bool]:
        """It is asked for by name, so there is nothing to rank."""
        del objective
        return 0.0, 0.0, False

    def tried(self, ask: Ask, context: Context) -> Tried:
        """The plan, and the proof of its cap."""
        del context
        if (why := self.refusal) is not None:
            raise NotProvable(why)
        assert self.model is not None
        assert isinstance(ask, Ratio)
        swap, noise, laws, proof = _plan(self.model, ask, self.wishes.grid)
        lattice = Lattice(noise.grid)  # type: ignore[arg-type]
        dimension = len(self.model.statistics)
        given = on(laws, lattice).items
        return Tried(
            kind="vector" if dimension > 1 else "additive",
            method=METHOD,
            theorem=WAY.theorem,
            noise=Swapped(noise, dimension, self.model),
            proof=proof,
            lattice=lattice,
            laws=given,
            beliefs=beliefs_of(laws),
            context=_context(self.model),
            scales={METHOD: float(swap.cap)},
            dimension=dimension,
            more={SWAP: swap.to_json()},
        )

    def _row(self, ask: Ask) -> Row:
        """An estimate, from draws of its own: what a release uses comes from its own draws."""
        assert isinstance(ask, Ratio)
        made = self.mechanism(Approx(ask.epsilon, ask.delta), ask, Context())
        rng = np.random.Generator(np.random.PCG64())
        found = made.estimate(rng, min(_SHOWN, RecordSwap.of(made.certificate).draws))
        noise = Gaussian(found.sigma, made.noise.grid)
        return Row(
            method=self.method,
            noise=self.noise,
            scale=found.sigma * math.sqrt(made.dimension),
            expected_absolute=noise.total_error("absolute", made.dimension),
            expected_squared=noise.total_error("squared", made.dimension),
            epsilon=float(ask.epsilon),
            proven=True,
            why=WAY.theorem,
            note=f"an estimate from {found.draws} draws; the release makes its own, and uses at most {found.cap:.6g}",
        )


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
    moved = tuple(math.ceil(x / step) * step for x in whole)
    laws = shapes(as_pairs([_pair(moved)]))
    items = on(laws, Lattice(step)).items
    length = math.sqrt(sum(float(x) ** 2 for x in moved))
    for times in (1 + 1e-7, 1 + 1e-5, 1.0005, 1.002, 1.01, 1.05):
        cap = decimal_up(length / gaussian_mu(rest.epsilon, rest.delta) * times)
        noise = Gaussian(float(cap), step)
        capped = cap_delta(longest_steps(items), len(moved), noise, rest.epsilon)
        if Fraction(capped) <= rest.delta:
            proof = Proof(float_up(rest.epsilon), float_up(Fraction(capped) + beta), laws[0].labels[0], holds=True)
            unit = decimal_up(length * 2.0**-_OCTAVES, 6)
            return RecordSwap(beta, cap, planned_draws(k, len(moved)), k, unit), noise, laws, proof
    raise NotProvable(
        f"the cap of the record swap is not proved on a lattice of step {float(step):g}; give a finer grid"
    )


def _pair(moved: tuple[Fraction, ...]) -> LawPair:
    p, q = (Shifted((0,) * len(moved)), Shifted(moved)) if len(moved) > 1 else (Shifted(0), Shifted(moved[0]))
    return LawPair(p, q, "one share vs another share")


def _context(model: PropertyModel) -> Context:
    """What is assumed: fixed numbers, records of the reference's law, and draws that are what the plan says."""
    moved = swap_shift(model)
    kept = tuple(a for a in moved.assumptions if a != ONCE and not a.startswith("noise:"))
    drawn = "independently (with replacement)" if model.replacement else "without replacement"
    return Context(
        assumptions=(
            *kept,
            (
                f"records are drawn {drawn} from the reference's records of their class, {len(model.having)} with "
                f"{model.name} and {len(model.lacking)} without: the reference is the belief, and nothing is taken to "
                "be normal"
            ),
            DRAWN_INSIDE,
            APART,
            "the statistics are published once, together",
        ),
        unit=ONE_DATA_SET,
        shares=shares_json(model),
    )


@dataclass(frozen=True, eq=False)
class Swaps:
    """The search: one plan."""

    offer: SwapOffer

    def stages(self, refusals: list[str]) -> Iterator[list[Offer]]:
        """One stage."""
        del refusals
        yield [self.offer]

    def everything(self) -> list[Offer]:
        """The plan."""
        return [self.offer]


def search(given: tuple[Shape, ...], ask: Ask, wishes: Wishes) -> Swaps:
    """For the driver; the laws are those of the scenario's Gaussian model, and are not used."""
    del given
    model = wishes.model if isinstance(wishes.model, PropertyModel) else None
    return Swaps(SwapOffer(model, ask, wishes))
