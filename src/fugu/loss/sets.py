"""Losses over sets of laws: the pure one exactly, sums over outputs bounded by an envelope and a dual."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, final

from flint import arb

from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee.asks import Ask, Divergences, PairLoss
from fugu.laws.family import SetFamily, value_range
from fugu.laws.sets.law_set import LawSet
from fugu.loss import search
from fugu.loss.leakage import NO_NOISE, Leakage, in_units, on_grid
from fugu.loss.search.sets import dual as guessed_dual
from fugu.loss.search.sets import noised
from fugu.loss.sets_extremes import PRECISION, DecayKernel
from fugu.loss.sets_outputs import (
    Bounded,
    Excess,
    Measure,
    Point,
    RenyiMeasure,
    bounded,
    outputs,
    outside,
    prove_pure,
    reach,
    spreads,
)
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, decimal_step, float_up
from fugu.progress import report

# Bounds on the sum of f(P, Q) over all outputs and all laws of two sets: the least of two.
#
# The envelope: f(P, Q) <= P psi at each output, and P is the noise on one law of the first set, so the sum is at most
# the largest mean of psi spread by the noise, one support function. It is the truth where one law attains N, and one D,
# wherever psi > 0.
#
# The dual: sums of P and of Q are 1, so for every tau and tau' the sum is at most tau - tau' + sum over outputs of the
# largest f - tau P + tau' Q for P in [D, N] of the first set and Q in [D, N] of the second, which is at one of the four
# corners, f being convex. A convex problem in two numbers, of which any answer is a proof.


def envelope(law_set: LawSet, found: Bounded, order: tuple[int, int], measure: Measure) -> arb:
    """The first bound, proved."""
    i, j = order
    psi = [measure.proved_psi(n, d) for n, d in zip(found.most[i], found.least[j], strict=True)]
    return law_set.top_ball(spreads(found.where, psi))


def dual(found: Bounded, order: tuple[int, int], measure: Measure, at: Point) -> arb:
    """The second bound at tau and tau' >= 0, proved. What the noise puts beyond the outputs is not in the sum of Q."""
    (i, j), (tau, other) = order, map(arb, at)
    total = tau - other * (1 - arb(found.where.tail()))
    for k, times in enumerate(found.where.times()):
        corners = [
            (measure.proved_f(p, q) - tau * p + other * q).upper()
            for p in (found.least[i][k], found.most[i][k])
            for q in (found.least[j][k], found.most[j][k])
        ]
        if not all(x.is_finite() for x in corners):
            return arb("inf")
        total += times * max(corners)
    return total


class SetsDecay(Leakage[SetFamily, Any]):
    """Noise whose mass falls by one factor in every step: the pure loss exactly, at every declared value. Windows of
    the nearest and the farthest mass do not depend on the scale."""

    def kernel(self, steps: float) -> DecayKernel:
        """Of the noise of a scale in lattice steps."""
        return DecayKernel.laplace(steps)

    def pure(self, item: SetFamily, noise: Any, epsilon: Fraction) -> list[PairLoss]:
        """The largest N / D; what is above `epsilon` by rounding alone may meet it by coupling, exactly: no mass need
        move farther than the range."""
        far = None if noise.silent else int(item.points[-1] - item.points[0]) * noise.rate
        covered = far is not None and far <= epsilon
        try:
            found = prove_pure(item, DecayKernel.of(noise))
        except OutOfReach:
            if far is None or not covered:
                raise
            return [PairLoss(label, float_up(far), pair, met=True) for pair, label in item.different]
        return [
            PairLoss(loss.label, float_up(epsilon), loss.pair, met=True)
            if covered and not loss.within(epsilon)
            else loss
            for loss in found
        ]

    def guess(self, item: SetFamily, steps: float, ask: Ask) -> float:
        """In doubles, O(n) for every scale."""
        return search.sets_pure_loss(item, self.kernel(steps))

    def known(self, item: SetFamily, ask: Ask) -> float | None:
        """Equal outputs of different laws are impossible."""
        super().known(item, ask)
        if ask.impossible:
            raise NotProvable(NO_NOISE)
        return None

    def start(self, item: SetFamily, ask: Ask) -> tuple[float, float]:
        """range / epsilon, or range / delta when epsilon is tiny; where no delta is allowed range / epsilon suffices:
        if every law is possible it is the exact root."""
        distance = value_range(item)
        if isinstance(ask, Divergences):
            return ask.start(distance), math.inf
        by_epsilon = distance / float(ask.epsilon) if ask.epsilon else math.inf
        by_delta = distance / float(ask.delta) if ask.delta else math.inf
        return _finite(min(by_epsilon, by_delta)), search.over(distance, ask.epsilon) if ask.pure else math.inf


class SetsLaplace(SetsDecay):
    """Added noise: losses that are sums over outputs, by the envelope and the dual of `fugu.loss.sets`; bounds, not
    exact."""

    def delta(self, item: SetFamily, noise: Laplace | Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """A bound on delta, not exact."""
        return prove_loss(item, DecayKernel.of(noise), Excess(epsilon), delta)

    def divergence(self, item: SetFamily, noise: Laplace | Gaussian, alpha: Fraction) -> list[PairLoss]:
        """A bound on the divergence, not exact."""
        return prove_loss(item, DecayKernel.of(noise), RenyiMeasure(alpha), Fraction(0))

    def guess(self, item: SetFamily, steps: float, ask: Ask) -> float:
        """In doubles."""
        kernel = self.kernel(steps)
        if isinstance(ask, Divergences):
            return ask.excess(lambda alpha: search.fast_loss(item, kernel, RenyiMeasure(alpha), 0.0))
        return (
            search.fast_loss(item, kernel, Excess(ask.epsilon), ask.target)
            if ask.delta
            else super().guess(item, steps, ask)
        )

    def given(self, item: SetFamily, noise: Laplace | Gaussian) -> tuple[SetFamily, Laplace | Gaussian]:
        """Both in steps; the pure losses of lattice and continuous noise agree."""
        if decimal_step(item.points) is None:
            raise NotProvable(
                "sets of laws with declared values that are not short decimals: round the values onto a grid"
            )
        whole, unit = in_units(item)
        if noise.silent:
            return whole, noise
        if noise.grid is not None:
            whole, unit = on_grid(item, noise.grid), noise.grid
        return whole, type(noise)(as_fraction(noise.scale) / unit, grid=1)

    def delta_at(self, item: SetFamily, noise: Laplace | Gaussian, epsilon: Real) -> float:
        """A bound on delta, of lattice noise."""
        return super().delta_at(item, self._lattice(noise), epsilon)

    def renyi(self, item: SetFamily, noise: Laplace | Gaussian, alpha: Fraction) -> float:
        """A bound on the divergence, of lattice noise."""
        return super().renyi(item, self._lattice(noise), alpha)

    def _lattice(self, noise: Laplace | Gaussian) -> Laplace | Gaussian:
        if noise.grid is None and not noise.silent:
            raise NotProvable(
                f"{self.about}: give the noise a grid; what continuous noise loses is known for pure budgets"
            )
        return noise


@final
class SetsGaussian(SetsLaplace):
    """Gaussian noise: every lattice point up to where it has vanished."""

    def kernel(self, steps: float) -> DecayKernel:
        """Of the noise of a scale in lattice steps."""
        return DecayKernel.gaussian(steps)

    def pure(self, item: SetFamily, noise: Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """It bounds no ratio by itself, but what the laws do not lose, they do not lose after noise either."""
        return prove_pure(item, DecayKernel(None))

    def start(self, item: SetFamily, ask: Ask) -> tuple[float, float]:
        """What continuous noise needs for a shift by the whole range, and a step for the lattice; halved until its
        outputs are few enough to be visited: the search may go on there. For divergences range sqrt(alpha / (2
        epsilon)) suffices."""
        distance, measures = value_range(item), list[Measure]()
        if isinstance(ask, Divergences):
            steps, measures = ask.start(distance), [RenyiMeasure(alpha) for alpha, _ in ask.orders]
        elif ask.target <= search.LEAST:
            raise NotProvable(f"a delta of {ask.target:g} is below what the search for Gaussian noise can tell from 0")
        else:
            steps = _finite(1.001 * distance / float(search.fast_gaussian_mu(float(ask.epsilon), ask.target)) + 1)
            measures = [Excess(ask.epsilon)]
        for _ in range(60):
            try:
                for measure in measures:
                    outputs(item, self.kernel(steps), reach(item, self.kernel(steps), measure))
                return steps, search.gaussian_scale(distance, ask)
            except OutOfReach as error:
                steps, first = steps / 2, error
        raise first

    def epsilon(self, item: SetFamily, noise: Gaussian) -> float:
        """Infinite, unless nothing is added."""
        return super().epsilon(item, noise) if noise.silent else math.inf


def _finite(x: float) -> float:
    """A scale to begin with: positive and finite, where it is known."""
    return x if math.isinf(x) else max(1e-280, x) * (1 + 1e-9)


def prove_loss(family: SetFamily, kernel: DecayKernel, measure: Measure, enough: Fraction) -> list[PairLoss]:
    """For each pair a proved bound, both orders; the dual where a search says, if the envelope is not `enough`."""
    where = outputs(family, kernel, reach(family, kernel, measure))
    found, guessed = bounded(family, where), noised(family, where)

    def proved(order: tuple[int, int]) -> float:
        with balls.precision(PRECISION):
            more = outside(family.sets[order[1]], found.where, measure)
            first = measure.proved_loss(envelope(family.sets[order[0]], found, order, measure) + more)
            if first <= enough:
                return first
            value, at = guessed_dual(guessed, order, measure)
            return (
                first if math.isinf(value) else min(first, measure.proved_loss(dual(found, order, measure, at) + more))
            )

    losses = []
    for done, ((i, j), label) in enumerate(family.different):
        losses.append(PairLoss(label, max(proved(order) for order in ((i, j), (j, i))), (i, j)))
        report("proving bounds over sets of laws", done + 1, family.differing)
    return losses
