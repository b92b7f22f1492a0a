"""Gaussian noise on laws of one number with atoms: every lattice point is summed (docs/proofs/gaussian.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.laws.family import Family
from fugu.loss.atoms.gaussian import prove_gaussian_delta
from fugu.loss.atoms.laplace import prove_delta, prove_pure
from fugu.loss.atoms.slack import largest_slack, require_exact
from fugu.loss.divergence.lattice import renyi_bounds
from fugu.loss.leakage import PairLoss
from fugu.loss.search.divergence import fast_renyi
from fugu.loss.search.gaussian import fast_lattice_delta, gaussian_scale, lattice_start, require_delta
from fugu.loss.search.laplace import delta_loss, pure_loss
from fugu.loss.search.ranges import farthest, line_range
from fugu.loss.stated import discrete_laws, in_units, on_grid, steps_below
from fugu.loss.table.line import Line, divergence_start
from fugu.noise.gaussian import Gaussian
from fugu.numbers.exact import Real, as_fraction


@final
class LineGaussian(Line[Gaussian]):
    """Convolutions in integers."""

    about = "Gaussian noise on laws with atoms"

    def pure(self, item: Family, noise: Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """It bounds no ratio by itself, but what the laws do not lose, they do not lose after noise either."""
        return prove_pure(item, None)

    def delta(self, item: Family, noise: Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts over all lattice points."""
        if noise.silent:
            return prove_delta(item, None, epsilon)
        found = [PairLoss(label, value) for label, value in prove_gaussian_delta(item, noise.precision, epsilon)]
        return found or [PairLoss("", 0.0)]

    def require(self, item: Family, ask: Ask) -> None:
        """Gaussian noise needs a delta, or finite orders."""
        require_delta(ask)

    def fast_delta(self, item: Family, steps: float, ask: Ratio) -> float:
        """By convolution in doubles."""
        if steps == 0:
            return delta_loss(item, 0.0, float(ask.epsilon), None).value
        return fast_lattice_delta(item, steps, ask)

    def fast_divergence(self, item: Family, steps: float, alpha: Fraction) -> float:
        """Sums of logarithms."""
        return fast_renyi(item, "gaussian", steps, float(alpha))

    def start(self, item: Family, ask: Ask) -> float:
        """What continuous noise needs for a shift by the whole range, if it is within reach."""
        if isinstance(ask, Divergences):
            return divergence_start(item, ask)
        return lattice_start(item, line_range(item), ask)

    def sure(self, item: Family, ask: Ask) -> float:
        """W_inf sqrt(alpha / (2 epsilon)) for divergences: for translates it is the exact root."""
        return gaussian_scale(farthest(item), ask)

    def leak(self, item: Family, noise: Gaussian) -> float:
        """Infinite, unless nothing is added or nothing differs."""
        return pure_loss(item, 0.0).value if noise.silent or item.same else math.inf

    def epsilon(self, item: Family, noise: Gaussian) -> float:
        """Infinite unless the laws themselves lose less."""
        require_exact(item)
        if noise.silent:
            whole, unit = in_units(item)
            return pure_loss(whole, steps_below(0, unit)).value
        return max(loss.value for loss in self.pure(on_grid(item, noise.grid), noise, Fraction(0)))

    def delta_at(self, item: Family, noise: Gaussian, epsilon: Real) -> float:
        """Lattice noise in integers; continuous noise by its closed form or certified cells."""
        from fugu.loss.smooth.continuous import hockey_stick

        if noise.silent:
            whole, _ = in_units(item)
            return delta_loss(whole, 0.0, float(epsilon), None).value
        if noise.grid is not None:
            exact = as_fraction(epsilon)
            return max(loss.value for loss in self.delta(on_grid(item, noise.grid), noise, exact, Fraction(0)))
        worst = max(hockey_stick(p, q, "gaussian", noise.scale, epsilon) for p, q in discrete_laws(item))
        return min(1.0, worst + largest_slack(item, epsilon))

    def renyi(self, item: Family, noise: Gaussian, alpha: Fraction) -> float:
        """Lattice noise in balls, continuous noise by quadrature with a proved error."""
        from fugu.loss.divergence.continuous import divergence_of_atoms, gaussian

        if noise.grid is not None or noise.silent:
            return max(loss.value for loss in renyi_bounds(on_grid(item, noise.grid), noise, alpha))
        return divergence_of_atoms(item, as_fraction(noise.scale), -1.0, alpha, gaussian)


LEAKAGE = LineGaussian()
