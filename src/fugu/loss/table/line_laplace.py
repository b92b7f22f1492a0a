"""Laplace noise on laws of one number with atoms: closed forms at the atoms (docs/proofs/laplace.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.laws.family import Family
from fugu.loss.atoms.laplace import coupled_within, prove_delta, prove_pure
from fugu.loss.atoms.slack import require_exact
from fugu.loss.divergence.lattice import renyi_bounds
from fugu.loss.leakage import PairLoss
from fugu.loss.search.divergence import fast_renyi
from fugu.loss.search.laplace import delta_loss, pure_loss
from fugu.loss.search.ranges import l1_distance, over
from fugu.loss.stated import in_units, on_grid, require_lattice, steps_below
from fugu.loss.table.line import Line, divergence_start
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.transport.wasserstein import w_inf_index

_FINE = 1e-9
"""Below this delta the error bound of the fast loss is no longer negligible: small problems are searched in balls."""
_SMALL = 20_000


@final
class LineLaplace(Line[Laplace]):
    """Suprema over atoms, sums over atoms and gaps."""

    about = "Laplace noise on laws with atoms"

    def pure(self, item: Family, noise: Laplace, epsilon: Fraction) -> list[PairLoss]:
        """The largest ratio at atoms; a pair above `epsilon` by rounding alone may meet it by coupling, exactly."""
        if noise.silent:
            return prove_pure(item, None)
        return [
            PairLoss(loss.label, float_up(epsilon), loss.pair, met=True)
            if not loss.within(epsilon) and coupled_within(item, loss.pair, noise.rate, epsilon)
            else loss
            for loss in prove_pure(item, noise.rate)
        ]

    def delta(self, item: Family, noise: Laplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts, in balls."""
        return prove_delta(item, None if noise.silent else noise.rate, epsilon)

    def limit(self, item: Family, noise: Laplace) -> Fraction | None:
        """W_inf x rate in exact rationals where that is less than the ratio at atoms."""
        if noise.silent:
            return super().limit(item, noise)
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
        return pure_loss(item, steps).value

    def fast_delta(self, item: Family, steps: float, ask: Ratio) -> float:
        """As above; in balls where delta is minute and the problem small."""
        if float(ask.delta) < _FINE and len(item.points) * len(item.pairs) <= _SMALL:
            return max(loss.value for loss in prove_delta(item, 1 / Fraction(steps) if steps else None, ask.epsilon))
        return delta_loss(item, steps, float(ask.epsilon), 1.0).value

    def fast_divergence(self, item: Family, steps: float, alpha: Fraction) -> float:
        """Sums of logarithms."""
        return fast_renyi(item, "laplace", steps, float(alpha))

    def start(self, item: Family, ask: Ask) -> float:
        """l1 / epsilon, or l1 / delta when epsilon is tiny (a shift by D costs delta <= D / 2b)."""
        return divergence_start(item, ask) if isinstance(ask, Divergences) else upper(item, ask)

    def sure(self, item: Family, ask: Ask) -> float:
        """l1 / epsilon where no delta is allowed: for two points it is the exact root."""
        return over(l1_distance(item), ask.epsilon) if ask.pure else math.inf

    def leak(self, item: Family, noise: Laplace) -> float:
        """The largest ratio at atoms."""
        return pure_loss(item, float(noise.scale) / float(noise.grid or 1)).value

    def epsilon(self, item: Family, noise: Laplace) -> float:
        """Off the lattice nothing is finite; on it, lattice and continuous noise agree."""
        require_exact(item)
        whole, unit = in_units(item)
        if noise.grid is not None and not noise.silent:
            require_lattice(whole, noise.grid / unit)
        return pure_loss(whole, steps_below(noise.scale, unit)).value

    def delta_at(self, item: Family, noise: Laplace, epsilon: Real) -> float:
        """Lattice noise has its own, larger, delta."""
        whole, unit = in_units(item)
        grid = None
        if noise.grid is not None and not noise.silent:
            require_lattice(whole, noise.grid / unit)
            grid = float(noise.grid / unit)
        return delta_loss(whole, steps_below(noise.scale, unit), float(epsilon), grid).value

    def renyi(self, item: Family, noise: Laplace, alpha: Fraction) -> float:
        """Lattice noise in balls, continuous noise by quadrature with a proved error."""
        from fugu.loss.divergence.continuous import divergence_of_atoms, laplace

        if noise.grid is not None or noise.silent:
            return max(loss.value for loss in renyi_bounds(on_grid(item, noise.grid), noise, alpha))
        return divergence_of_atoms(item, as_fraction(noise.scale), 0.0, alpha, laplace)


def upper(family: Family, ask: Ratio) -> float:
    """A scale that should suffice for a bound on ratios, up to delta."""
    farthest = l1_distance(family)
    by_epsilon = farthest / float(ask.epsilon) if ask.epsilon else math.inf
    by_delta = farthest / float(ask.delta) if ask.delta else math.inf
    return max(1e-280, min(by_epsilon, by_delta)) * (1 + 1e-9)


LEAKAGE = LineLaplace()
