"""`RecordSwapAdditive`: Gaussian noise whose size comes from draws of record swaps that are a part of the release.

A release draws the swaps, once, by the operating system's randomness, counts their lengths, goes down from the cap step
by step while the counts allow it, and adds noise of the sigma where it stops. The draws mislead with probability at
most beta, whatever the data: the whole is (epsilon, delta + beta)-private, and beta is a part of the budget's delta
(docs/proofs/record-swap.md). Nothing is drawn before: nobody can try until sigma is small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import final

import numpy as np

from fugu.documents.certificate import Certificate
from fugu.documents.swap import MOST_STEPS, SWAP, Block, RecordSwap, farthest_of, proof_of
from fugu.errors import BadNoise
from fugu.guarantee.asks import Ratio
from fugu.loss.normal.smoothing import TAU
from fugu.loss.search.swapped import steps_down
from fugu.loss.vectors.swapped import length_at, rounded_steps
from fugu.mechanism.intake import as_column, as_rows, is_scalar
from fugu.mechanism.mechanism import Column, Mechanism
from fugu.mechanism.post import Step, moves
from fugu.mechanism.release import Release
from fugu.noise.bits import BitSource, OsBits, RngBits
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import OBJECTIVES, Objective, finite_or_none
from fugu.noise.lattice import Lattice
from fugu.scenario.property_model import PropertyModel
from fugu.scenario.swap_lengths import swap_blocks


@final
@dataclass(frozen=True)
class SwapEstimate:
    """What a release would probably use, from draws of its own: an estimate, not a promise.

    `sigma`: of the noise on every statistic; `error`: E ||N||_2 of all of them; `cap`: the sigma that is never
    exceeded; `draws`: how many the estimate is from."""

    sigma: float
    error: float
    cap: float
    draws: int


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class RecordSwapAdditive(Mechanism):
    """Y = value(index(X) + N), N lattice Gaussian noise of the sigma that the draws of this very release allow.

    `certificate` is the plan: it promises the whole, and its noise is the cap. The certificate of a `Release` holds the
    draws and the noise that was used."""

    noise: Gaussian
    """The cap: noise that is enough without any draw. What is used is never more."""
    lattice: Lattice
    dimension: int
    model: PropertyModel = field(repr=False)

    def expected_error(self, objective: Objective = "absolute") -> float:
        """At most this: that of the cap. `estimate` says what to expect."""
        return self.dimension * self.noise.expected_error(objective)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(-h, h) for the cap: all coordinates lie in it together with at least this probability."""
        return _interval(self.noise, self.lattice, self.dimension, level)

    def estimate(self, rng: np.random.Generator | None = None, draws: int | None = None) -> SwapEstimate:
        """What a release would probably use, from draws of its own that no release ever sees.

        `rng`: where they come from, by default the operating system; `draws`: how many, by default as many as planned.
        """
        plan = RecordSwap.of(self.certificate)
        plan = plan if draws is None else replace(plan, draws=draws)
        swap = self._swapped(plan, OsBits() if rng is None else RngBits(rng))
        sigma = float(swap.sigma(swap.step or 0))
        return SwapEstimate(sigma, sigma * _chi(self.dimension), float(plan.cap), plan.draws)

    def then(self, f: Step, name: str | None = None) -> RecordSwapAdditive:
        """The same noise followed by `f`; the two share one release."""
        return replace(self, **self._with_post(f, name))

    def _silent(self) -> bool:
        return False

    def _released(self, column: Column, scalar: bool, source: BitSource) -> Release:
        """Draw the swaps, then the noise; only draws of a release make a certificate."""
        swap = self._swapped(RecordSwap.of(self.certificate), source)
        noise = Gaussian(float(swap.sigma(swap.step or 0)), self.lattice.grid)
        found = replace(self, noise=noise)
        values = super(RecordSwapAdditive, found)._released(column, scalar, source).values
        low, high = found.interval(0.95)
        further = moves(self.post)
        real = isinstance(source, OsBits)
        certificate = self._sealed(swap, noise) if real else self.certificate
        return Release(values, scalar, certificate, (low - further, high + further))

    def _swapped(self, plan: RecordSwap, source: BitSource) -> RecordSwap:
        """The draws, and the step that they allow."""
        return self.allowed(plan, swap_blocks(self.model, plan.draws, plan.unit, source))

    def allowed(self, plan: RecordSwap, blocks: Sequence[Block]) -> RecordSwap:
        """The step that such draws allow: tests in doubles in a fixed order, then the proof in balls.

        `plan`: as in the certificate; `blocks`: what was drawn. A function of public numbers alone."""
        ask = self.certificate.budget.asks()
        assert isinstance(ask, Ratio)
        grid, d = self.lattice.grid, self.dimension
        rest = ask.delta - plan.beta
        most = max(max(block.places) for block in blocks) + 1
        counts = np.zeros((len(blocks), most), dtype=np.int64)
        for row, block in zip(counts, blocks, strict=True):
            row[list(block.places)] = block.counts
        used = np.flatnonzero(counts.any(axis=0))
        lengths = [rounded_steps(length_at(int(k), plan.unit), grid, d) for k in used]
        farthest = farthest_of(self.certificate)
        longest = [rounded_steps(max(farthest * b.most, length_at(max(b.places), plan.unit)), grid, d) for b in blocks]
        step = steps_down(
            lambda k: math.sqrt(float((plan.sigma(k) / grid) ** 2 - TAU)),
            MOST_STEPS,
            np.array(lengths, dtype=np.float64),
            counts[:, used],
            np.array(longest, dtype=np.float64),
            float(ask.epsilon),
            float(rest),
            float(plan.beta),
        )
        for tried in (step, step - 1):  # doubles and balls agree to nine digits: one step back is ample
            if tried > 0:
                found = plan.drawn(tried, blocks)
                noise = Gaussian(float(found.sigma(tried)), grid)
                if all(Fraction(x) <= rest for _, x in found.bounds(d, noise, ask.epsilon, farthest)):
                    return found
        return plan.drawn(0, blocks)

    def _sealed(self, swap: RecordSwap, noise: Gaussian) -> Certificate:
        """The certificate of the release: the plan, what was drawn, and what that proves."""
        errors = {o: finite_or_none(noise.total_error(o, self.dimension)) for o in OBJECTIVES}
        body = {
            **self.certificate.unsealed,
            "noise": noise.to_json(),
            SWAP: swap.to_json(),
            "expected_error": errors,
        }
        laws = self.certificate.laws
        proof = proof_of(Certificate.seal(body, laws), laws)
        stated = {"proved": {"epsilon": proof.epsilon, "delta": proof.delta}, "worst_pair": proof.worst_pair}
        return Certificate.seal({**body, **stated}, laws)

    def _draw(self, column: Column, source: BitSource) -> Column:
        noise = self.noise.sampler.draw(column.size, source).reshape(column.shape)
        return self.lattice.value(self.lattice.index(self.lattice.within(column)) + noise)

    def _column(self, values: object, already_mapped: bool) -> tuple[Column, bool]:
        if self.dimension == 1:
            return as_column(values, self.context, 0.0, already_mapped), is_scalar(values)
        return as_rows(values, self.dimension, [0.0] * self.dimension)

    def __repr__(self) -> str:
        return f"RecordSwapAdditive({self.dimension} statistics, at most {self.noise!r}, {self.guarantee!r})"


def _interval(noise: Gaussian, lattice: Lattice, dimension: int, level: float) -> tuple[float, float]:
    if not 0 <= level < 1:
        raise BadNoise(f"a level must be in [0, 1), got {level!r}")
    each = level ** (1 / dimension) * (1 + 1e-15)
    if not each < 1:
        raise BadNoise(f"the level {level!r} is nearer to 1 than doubles can tell; give a lower one")
    half = noise.quantile(each) + float(lattice.grid) / 2
    return (-half, half)


def _chi(d: int) -> float:
    """E ||Z||_2 of d independent standard normal numbers."""
    return math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))
