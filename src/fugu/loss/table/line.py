"""Laplace, Gaussian and Cauchy noise on laws of one number with atoms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, final

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.laws.family import Family
from fugu.loss import search
from fugu.loss.atoms import coupled_within, prove_delta, prove_pure
from fugu.loss.leakage import (
    NO_NOISE,
    Leakage,
    PairLoss,
    discrete_laws,
    in_units,
    largest,
    largest_slack,
    on_grid,
    require_exact,
    require_lattice,
    require_room,
    steps_below,
)
from fugu.noise import Gaussian, Laplace
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.numbers.exact import Real, as_fraction, float_up

_FINE = 1e-9
"""Below this delta the error bound of the fast loss is no longer negligible: small problems are searched in balls."""
_SMALL = 20_000


class LineLeakage(Leakage[Family, Any]):
    """Lattice noise on atoms: divergences are summed, or bounded by a coupling where there are too many points.

    Few promises are of divergences, so what bounds them is imported where one is asked for."""

    def divergence(self, item: Family, noise: Any, alpha: Fraction) -> list[PairLoss]:
        """Tight where the lattice points can be summed, else by the monotone coupling."""
        from fugu.loss import divergence

        try:
            return divergence.renyi_bounds(item, noise, alpha)
        except NotProvable:
            if item.inexact or noise.silent:
                raise
            return divergence.coupling_bounds(item, noise, alpha)

    def conditioned(self, item: Family, noise: Any, alpha: Fraction, delta: Fraction) -> Family:
        """The margins of one sub-coupling of mass 1 - delta."""
        from fugu.loss import divergence

        return divergence.margins(item, divergence.kept(item, item.pairs[0], noise, alpha, delta), item.labels[0])

    def fast_divergence(self, item: Family, steps: float, alpha: Fraction) -> float:
        """Sums of logarithms."""
        return search.fast_renyi(item, self.noise, steps, float(alpha))

    def known(self, item: Family, ask: Ask) -> float | None:
        """Nothing moves: no noise is needed."""
        return 0.0 if ask.finite and search.farthest(item) == 0 else None

    def renyi(self, item: Family, noise: Any, alpha: Fraction) -> float:
        """Lattice noise in balls, continuous noise by quadrature with a proved error."""
        from fugu.loss import continuous_divergence, divergence

        if noise.grid is not None or noise.silent:
            return largest(divergence.renyi_bounds(on_grid(item, noise.grid), noise, alpha))
        tail, formula = (
            (-1.0, continuous_divergence.gaussian)
            if isinstance(noise, Gaussian)
            else (0.0, continuous_divergence.laplace)
        )
        return continuous_divergence.divergence_of_atoms(item, as_fraction(noise.scale), tail, alpha, formula)


class LineDecay(LineLeakage):
    """Noise whose mass falls by one factor in every step: suprema and sums over atoms and gaps
    (docs/proofs/laplace.md)."""

    def pure(self, item: Family, noise: Any, epsilon: Fraction) -> list[PairLoss]:
        """The largest ratio at atoms; a pair above `epsilon` by rounding alone may meet it by coupling, exactly."""
        if noise.silent:
            return prove_pure(item, None)
        return [
            PairLoss(loss.label, float_up(epsilon), loss.pair, met=True)
            if not loss.within(epsilon) and coupled_within(item, loss.pair, noise.rate, epsilon)
            else loss
            for loss in prove_pure(item, noise.rate)
        ]

    def limit(self, item: Family, noise: Any) -> Fraction | None:
        """W_inf x rate in exact rationals where that is less than the ratio at atoms."""
        if noise.silent:
            return super().limit(item, noise)
        from fugu.transport.wasserstein import w_inf_index

        worst = Fraction(0)
        for loss in self.pure(item, noise, Fraction(0)):
            i, j = loss.pair
            if i != j and not item.blurred((i, j)):
                moved = w_inf_index(item.points, item.laws[i], item.laws[j]) * noise.rate
                worst = max(worst, moved if math.isinf(loss.value) else min(moved, Fraction(loss.value)))
            elif math.isinf(loss.value):
                return None
            else:
                worst = max(worst, Fraction(loss.value))
        return worst

    def fast_pure(self, item: Family, steps: float) -> float:
        """At or above the truth by an a-priori error bound."""
        return search.pure_loss(item, steps).value

    def require(self, item: Family, ask: Ask) -> None:
        """Errors of the laws must leave room; equal outputs of different laws are impossible."""
        if not ask.finite:
            require_room(item, ask)
            if ask.impossible:
                raise NotProvable(NO_NOISE)

    def start(self, item: Family, ask: Ask) -> float:
        """l1 / epsilon, or l1 / delta when epsilon is tiny (a shift by D costs delta <= D / 2b); of divergences a scale
        for a shift by the largest W_inf."""
        if isinstance(ask, Divergences):
            return ask.start(float(search.farthest(item)))
        farthest = search.l1_distance(item)
        by_epsilon = farthest / float(ask.epsilon) if ask.epsilon else math.inf
        by_delta = farthest / float(ask.delta) if ask.delta else math.inf
        return max(1e-280, min(by_epsilon, by_delta)) * (1 + 1e-9)

    def sure(self, item: Family, ask: Ask) -> float:
        """l1 / epsilon where no delta is allowed: for two points it is the exact root."""
        return search.over(search.l1_distance(item), ask.epsilon) if ask.pure else math.inf

    def leak(self, item: Family, noise: Any) -> float:
        """The largest ratio at atoms."""
        return search.pure_loss(item, float(noise.scale) / float(noise.grid or 1)).value

    def epsilon(self, item: Family, noise: Any) -> float:
        """Off the lattice nothing is finite; on it, lattice and continuous noise agree."""
        require_exact(item)
        whole, unit = in_units(item)
        if noise.grid is not None and not noise.silent:
            require_lattice(whole, noise.grid / unit)
        return search.pure_loss(whole, steps_below(noise.scale, unit)).value


@final
class LineLaplace(LineDecay):
    """Laplace noise is added: outputs lie on the whole lattice."""

    def delta(self, item: Family, noise: Laplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts, in balls."""
        return prove_delta(item, None if noise.silent else noise.rate, epsilon)

    def fast_delta(self, item: Family, steps: float, ask: Ratio) -> float:
        """At or above the truth by an a-priori error bound; in balls where delta is minute and the problem small."""
        if float(ask.delta) < _FINE and len(item.points) * len(item.pairs) <= _SMALL:
            return largest(prove_delta(item, 1 / Fraction(steps) if steps else None, ask.epsilon))
        return search.delta_loss(item, steps, float(ask.epsilon), 1.0).value

    def delta_at(self, item: Family, noise: Laplace, epsilon: Real) -> float:
        """Lattice noise has its own, larger, delta."""
        whole, unit = in_units(item)
        grid = None
        if noise.grid is not None and not noise.silent:
            require_lattice(whole, noise.grid / unit)
            grid = float(noise.grid / unit)
        return search.delta_loss(whole, steps_below(noise.scale, unit), float(epsilon), grid).value


@final
class LineGaussian(LineLeakage):
    """Gaussian noise: every lattice point is summed, by convolutions in integers (docs/proofs/gaussian.md)."""

    def pure(self, item: Family, noise: Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """It bounds no ratio by itself, but what the laws do not lose, they do not lose after noise either."""
        return prove_pure(item, None)

    def delta(self, item: Family, noise: Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts over all lattice points."""
        if noise.silent:
            return prove_delta(item, None, epsilon)
        from fugu.loss.lattice_gaussian import prove_gaussian_delta

        return prove_gaussian_delta(item, noise.precision, epsilon)

    def fast_delta(self, item: Family, steps: float, ask: Ratio) -> float:
        """By convolution in doubles."""
        if steps == 0:
            return search.delta_loss(item, 0.0, float(ask.epsilon), None).value
        return search.fast_lattice_delta(item, steps, ask)

    def start(self, item: Family, ask: Ask) -> float:
        """What continuous noise needs for a shift by the whole range, if it is within reach."""
        if isinstance(ask, Divergences):
            return ask.start(float(search.farthest(item)))
        return search.lattice_start(item, search.line_range(item), ask)

    def sure(self, item: Family, ask: Ask) -> float:
        """W_inf sqrt(alpha / (2 epsilon)) for divergences: for translates it is the exact root."""
        return search.gaussian_scale(search.farthest(item), ask)

    def leak(self, item: Family, noise: Gaussian) -> float:
        """Infinite, unless nothing is added or nothing differs."""
        return search.pure_loss(item, 0.0).value if noise.silent or item.same else math.inf

    def epsilon(self, item: Family, noise: Gaussian) -> float:
        """Infinite unless the laws themselves lose less."""
        require_exact(item)
        if noise.silent:
            whole, unit = in_units(item)
            return search.pure_loss(whole, steps_below(0, unit)).value
        return largest(self.pure(on_grid(item, noise.grid), noise, Fraction(0)))

    def delta_at(self, item: Family, noise: Gaussian, epsilon: Real) -> float:
        """Lattice noise in integers; continuous noise by its closed form or certified cells."""
        from fugu.loss.smooth import hockey_stick

        if noise.silent:
            return search.delta_loss(in_units(item)[0], 0.0, float(epsilon), None).value
        if noise.grid is not None:
            return largest(self.delta(on_grid(item, noise.grid), noise, as_fraction(epsilon), Fraction(0)))
        worst = max(hockey_stick(p, q, "gaussian", noise.scale, epsilon) for p, q in discrete_laws(item))
        return min(1.0, worst + largest_slack(item, epsilon))


@final
class LineCauchy(Leakage[Family, GeneralizedCauchy]):
    """Generalised Cauchy noise on laws with atoms, for analysis only: divergences of continuous noise, in the unit of
    the points."""

    def divergence(self, item: Family, noise: GeneralizedCauchy, alpha: Fraction) -> list[PairLoss]:
        """Every pair that differs by itself; the others lose nothing."""
        known = {one.pairs[0]: self.renyi(one, noise, alpha) for one in item.alone()}
        return [
            PairLoss(label, known.get(pair, 0.0), pair) for pair, label in zip(item.pairs, item.labels, strict=True)
        ]

    def fast_divergence(self, item: Family, steps: float, alpha: Fraction) -> float:
        """The same; too small a scale for the quadrature counts as too small."""
        try:
            return self.renyi(item, GeneralizedCauchy(steps), alpha)
        except NotProvable:
            return math.inf

    def known(self, item: Family, ask: Ask) -> float | None:
        """Nothing moves: no noise is needed."""
        return 0.0 if search.farthest(item) == 0 else None

    def start(self, item: Family, ask: Ask) -> float:
        """A scale for a shift by the largest W_inf."""
        return ask.start(float(search.farthest(item)))  # type: ignore[union-attr]

    def epsilon(self, item: Family, noise: GeneralizedCauchy) -> float:
        """Not computed here."""
        raise NotProvable("the pure loss of Cauchy noise is not available here; use a finite alpha")

    def renyi(self, item: Family, noise: GeneralizedCauchy, alpha: Fraction) -> float:
        """Quadrature with a proved error, both orders of every pair."""
        from fugu.loss import continuous_divergence as continuous
        from fugu.loss.divergence import renyi_bounds

        if noise.silent:
            return largest(renyi_bounds(item, Laplace(0), alpha))
        tail = as_fraction(noise.tail)
        return continuous.divergence_of_atoms(
            item, as_fraction(noise.scale), float(tail), alpha, lambda p, q, a: continuous.cauchy(p, q, a, tail)
        )
