"""Gaussian noise on laws with Gaussian components: every lattice point is summed (docs/proofs/gaussian.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Ratio
from fugu.laws.analytic import Analytic
from fugu.loss.atoms.gaussian import prove_gaussian_delta
from fugu.loss.divergence.integrals import gaussian_renyi, rows
from fugu.loss.divergence.lattice import renyi_bounds
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.search.divergence import fast_renyi
from fugu.loss.search.gaussian import fast_lattice_delta, gaussian_scale, lattice_start, require_delta
from fugu.loss.search.ranges import first_guess, smooth_range
from fugu.loss.search.smooth import fast_delta
from fugu.loss.smooth.laplace import prove_rounding
from fugu.noise.gaussian import Gaussian
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import Real, as_fraction


@final
class SmoothGaussian(Leakage[Analytic, Gaussian]):
    """Convolutions in integers."""

    about = "Gaussian noise on normal laws"

    def pure(self, item: Analytic, noise: Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """Infinite unless the laws are equal."""
        return [PairLoss(item.label, 0.0 if item.same else math.inf)]

    def delta(self, item: Analytic, noise: Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts over all lattice points."""
        if noise.silent:
            return [PairLoss(item.label, prove_rounding(item, epsilon))]
        found = [PairLoss(label, value) for label, value in prove_gaussian_delta(item, noise.precision, epsilon)]
        return found or [PairLoss("", 0.0)]

    def divergence(self, item: Analytic, noise: Gaussian, alpha: Fraction) -> list[PairLoss]:
        """Summed over a window, with a bound for the tails."""
        return renyi_bounds(item, noise, alpha)

    def require(self, item: Analytic, ask: Ask) -> None:
        """Gaussian noise needs a delta, or finite orders."""
        require_delta(ask)

    def fast_delta(self, item: Analytic, steps: float, ask: Ratio) -> float:
        """By convolution in doubles."""
        return fast_lattice_delta(item, steps, ask) if steps else fast_delta(item, 0.0, float(ask.epsilon))

    def fast_divergence(self, item: Analytic, steps: float, alpha: Fraction) -> float:
        """Sums of logarithms."""
        return fast_renyi(item, "gaussian", steps, float(alpha))

    def start(self, item: Analytic, ask: Ask) -> float:
        """What continuous noise needs for a shift by the whole range, if it is within reach."""
        distance = smooth_range(item)
        return first_guess(distance, ask) if ask.finite else lattice_start(item, distance, ask)

    def sure(self, item: Analytic, ask: Ask) -> float:
        """Translates by whole steps stay so after rounding."""
        shift = item.shift()
        known = shift is not None and shift.denominator == 1
        return gaussian_scale(float(abs(shift)), ask) if known and shift is not None else math.inf

    def leak(self, item: Analytic, noise: Gaussian) -> float:
        """Infinite unless the laws are equal."""
        return self.pure(item, noise, Fraction(0))[0].value

    def epsilon(self, item: Analytic, noise: Gaussian) -> float:
        """Infinite unless the laws are equal."""
        return 0.0 if item.same else math.inf

    def delta_at(self, item: Analytic, noise: Gaussian, epsilon: Real) -> float:
        """Continuous noise: a closed form or certified cells. Lattice noise: of the rounded laws."""
        from fugu.loss.smooth.continuous import hockey_stick

        if noise.grid is not None and not noise.silent:
            exact = as_fraction(epsilon)
            return max(x.value for x in self.delta(item.on(Lattice(noise.grid)), noise, exact, Fraction(0)))
        return min(1.0, hockey_stick(item.p.law, item.q.law, "gaussian", noise.scale, epsilon))

    def renyi(self, item: Analytic, noise: Gaussian, alpha: Fraction) -> float:
        """Continuous noise in closed form or by rigorous integration. Lattice noise: of the rounded laws."""
        if noise.grid is not None:
            return renyi_bounds(item.on(Lattice(noise.grid)), noise, alpha)[0].value
        return 0.0 if item.same else gaussian_divergence(item, as_fraction(noise.scale), alpha)


def gaussian_divergence(item: Analytic, scale: Fraction, alpha: Fraction) -> float:
    """D_alpha of both laws with normal noise of that scale added, the larger order."""
    p, q = rows(item.p), rows(item.q)
    if scale == 0 and any(r[2] == 0 for r in p + q):
        raise NotProvable("a law with atoms against one without: the divergence needs noise, or a grid")
    return max(gaussian_renyi(p, q, scale * scale, alpha), gaussian_renyi(q, p, scale * scale, alpha))


LEAKAGE = SmoothGaussian()
