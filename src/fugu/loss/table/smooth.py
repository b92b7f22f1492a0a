"""Laplace, Gaussian and Cauchy noise on laws with Gaussian components."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, final

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Ratio
from fugu.laws.normal import Analytic
from fugu.loss import search
from fugu.loss.divergence import renyi_bounds
from fugu.loss.integrals import gaussian_renyi, laplace_renyi, rows
from fugu.loss.lattice_gaussian import prove_gaussian_delta
from fugu.loss.leakage import NO_NOISE, Leakage, PairLoss, ProvedFast, largest
from fugu.loss.rounded import prove_delta_analytic, prove_pure_analytic, prove_rounding
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import Real, as_fraction, float_up


class SmoothLeakage(Leakage[Analytic, Any]):
    """Rounded laws on the lattice of the noise; continuous noise by closed forms, certified cells or integrals."""

    def divergence(self, item: Analytic, noise: Laplace | Gaussian, alpha: Fraction) -> list[PairLoss]:
        """Summed over a window, with a bound for the tails."""
        return renyi_bounds(item, noise, alpha)

    def fast_divergence(self, item: Analytic, steps: float, alpha: Fraction) -> float:
        """Sums of logarithms."""
        return search.fast_renyi(item, self.noise, steps, float(alpha))

    def leak(self, item: Analytic, noise: Laplace | Gaussian) -> float:
        """As proved."""
        return largest(self.pure(item, noise, Fraction(0)))

    def delta_at(self, item: Analytic, noise: Laplace | Gaussian, epsilon: Real) -> float:
        """Continuous noise: a closed form or certified cells. Lattice noise: of the rounded laws."""
        from fugu.loss.smooth import hockey_stick

        if noise.grid is not None and not noise.silent:
            return largest(self.delta(item.on(Lattice(noise.grid)), noise, as_fraction(epsilon), Fraction(0)))
        return min(1.0, hockey_stick(item.p.law, item.q.law, self.noise, noise.scale, epsilon))

    def renyi(self, item: Analytic, noise: Laplace | Gaussian, alpha: Fraction) -> float:
        """Continuous noise in closed form or by rigorous integration, both orders. Lattice noise: of the rounded
        laws."""
        if noise.grid is not None:
            return largest(renyi_bounds(item.on(Lattice(noise.grid)), noise, alpha))
        if item.same:
            return 0.0
        p, q, scale = rows(item.p), rows(item.q), as_fraction(noise.scale)
        if scale and isinstance(noise, Laplace):
            return max(laplace_renyi(p, q, scale, alpha), laplace_renyi(q, p, scale, alpha))
        if scale == 0 and any(r[2] == 0 for r in p + q):
            raise NotProvable("a law with atoms against one without: the divergence needs noise, or a grid")
        return max(gaussian_renyi(p, q, scale * scale, alpha), gaussian_renyi(q, p, scale * scale, alpha))


@final
class SmoothLaplace(SmoothLeakage):
    """Cells of the rounded laws, in balls (docs/proofs/laplace.md). Translates by whole steps stay so after rounding:
    there everything is exact."""

    def pure(self, item: Analytic, noise: Laplace, epsilon: Fraction) -> list[PairLoss]:
        """shift x rate for translates by whole steps; otherwise balls."""
        if item.same:
            return [PairLoss(item.label, 0.0)]
        if noise.silent:
            return [PairLoss(item.label, math.inf)]
        shift = item.shift()
        if shift is not None and shift.denominator == 1:
            loss = abs(shift) * noise.rate
            return [PairLoss(item.label, float_up(loss), met=loss <= epsilon)]
        return [PairLoss(item.label, prove_pure_analytic(item, noise.rate))]

    def delta(self, item: Analytic, noise: Laplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts over the cells, and the tails."""
        if noise.silent:
            return [PairLoss(item.label, prove_rounding(item, epsilon))]
        return [PairLoss(item.label, prove_delta_analytic(item, noise.rate, epsilon))]

    def fast_pure(self, item: Analytic, steps: float) -> float:
        """The cells in doubles, or in balls where those do not settle it."""
        if steps == 0:
            return math.inf
        found = search.fast_pure(item, steps)
        return prove_pure_analytic(item, 1 / Fraction(steps)) if found is None else found

    def fast_delta(self, item: Analytic, steps: float, ask: Ratio) -> float:
        """The cells in doubles."""
        return search.fast_delta(item, steps, float(ask.epsilon))

    def require(self, item: Analytic, ask: Ask) -> None:
        """Equal outputs of different laws are impossible."""
        if ask.pure and ask.impossible:
            raise NotProvable(NO_NOISE)

    def known(self, item: Analytic, ask: Ask) -> float | None:
        """Translates by whole steps: the plain Laplace scale is exact."""
        shift = item.shift()
        if not ask.pure or shift is None or shift.denominator != 1:
            return None
        return float_up(abs(shift) / ask.epsilon)

    def start(self, item: Analytic, ask: Ask) -> float:
        """Twice the range, over epsilon."""
        return search.first_guess(search.smooth_range(item), ask)

    def epsilon(self, item: Analytic, noise: Laplace) -> float:
        """Continuous noise: the tails and the largest ratio. Lattice noise: of the rounded laws."""
        from fugu.loss.smooth import pure_epsilon

        if noise.grid is None:
            return pure_epsilon(item.p.law, item.q.law, noise.scale)
        return self.leak(item.on(Lattice(noise.grid)), noise)


@final
class SmoothGaussian(SmoothLeakage):
    """Every lattice point is summed, by convolutions in integers (docs/proofs/gaussian.md)."""

    def pure(self, item: Analytic, noise: Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """Infinite unless the laws are equal."""
        return [PairLoss(item.label, 0.0 if item.same else math.inf)]

    def delta(self, item: Analytic, noise: Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts over all lattice points."""
        if noise.silent:
            return [PairLoss(item.label, prove_rounding(item, epsilon))]
        return prove_gaussian_delta(item, noise.precision, epsilon)

    def fast_delta(self, item: Analytic, steps: float, ask: Ratio) -> float:
        """By convolution in doubles."""
        if steps == 0:
            return search.fast_delta(item, 0.0, float(ask.epsilon))
        return search.fast_lattice_delta(item, steps, ask)

    def start(self, item: Analytic, ask: Ask) -> float:
        """What continuous noise needs for a shift by the whole range, if it is within reach."""
        distance = search.smooth_range(item)
        return search.first_guess(distance, ask) if ask.finite else search.lattice_start(item, distance, ask)

    def sure(self, item: Analytic, ask: Ask) -> float:
        """Translates by whole steps stay so after rounding."""
        shift = item.shift()
        known = shift is not None and shift.denominator == 1
        return search.gaussian_scale(float(abs(shift)), ask) if known and shift is not None else math.inf


@final
class SmoothCauchy(ProvedFast[Analytic, GeneralizedCauchy]):
    """Nothing is proved but that equal laws lose nothing: others are refused."""

    def divergence(self, item: Analytic, noise: GeneralizedCauchy, alpha: Fraction) -> list[PairLoss]:
        """0 for equal laws."""
        if item.same:
            return [PairLoss(item.label, 0.0)]
        raise NotProvable("the Rényi divergence of Cauchy noise on normal laws has no proof; use Laplace or Gaussian")

    def start(self, item: Analytic, ask: Ask) -> float:
        """Any scale."""
        return search.first_guess(search.smooth_range(item), ask)

    def epsilon(self, item: Analytic, noise: GeneralizedCauchy) -> float:
        """0 for equal laws."""
        return self.renyi(item, noise, Fraction(2))
