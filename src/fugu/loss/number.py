"""Laplace, Gaussian and Cauchy noise on laws of one number, with atoms or with Gaussian components."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, final

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences, PairLoss
from fugu.laws.family import Family
from fugu.laws.normal import Analytic
from fugu.loss import search
from fugu.loss.atoms import prove_delta, prove_pure
from fugu.loss.leakage import (
    NO_NOISE,
    Leakage,
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


class NumberLeakage(Leakage[Any, Any]):
    """Divergences are summed over the lattice of the noise, or bounded by a coupling where there are too many points;
    of continuous noise closed forms, certified cells, quadrature and integrals.

    Few promises are of divergences or of continuous noise, so what bounds them is imported where one is asked for."""

    def divergence(self, item: Any, noise: Any, alpha: Fraction) -> list[PairLoss]:
        """Tight where the lattice points can be summed, with a bound for the tails; else by the monotone coupling."""
        from fugu.loss import divergence

        try:
            return divergence.renyi_bounds(item, noise, alpha)
        except NotProvable:
            if not isinstance(item, Family) or item.inexact or noise.silent:
                raise
            return divergence.coupling_bounds(item, noise, alpha)

    def conditioned(self, item: Family, noise: Any, alpha: Fraction, delta: Fraction) -> Family:
        """The margins of one sub-coupling of mass 1 - delta."""
        from fugu.loss import divergence

        return divergence.margins(item, divergence.kept(item, item.pairs[0], noise, alpha, delta), item.labels[0])

    def guess(self, item: Any, steps: float, ask: Ask) -> float:
        """Divergences by sums of logarithms."""
        assert isinstance(ask, Divergences)
        return ask.excess(lambda alpha: search.fast_renyi(item, self.noise, steps, float(alpha)))

    def known(self, item: Any, ask: Ask) -> float | None:
        """Where nothing moves, no noise is needed."""
        super().known(item, ask)
        return 0.0 if ask.finite and isinstance(item, Family) and search.farthest(item) == 0 else None

    def delta_at(self, item: Any, noise: Any, epsilon: Real) -> float:
        """Lattice noise as proved; continuous noise by a closed form or certified cells."""
        from fugu.loss.smooth import hockey_stick

        if noise.grid is not None and not noise.silent:
            return largest(self.delta(on_grid(item, noise.grid), noise, as_fraction(epsilon), Fraction(0)))
        if noise.silent and isinstance(item, Family):
            return search.delta_loss(in_units(item)[0], 0.0, float(epsilon), None).value
        laws = [(item.p.law, item.q.law)] if isinstance(item, Analytic) else discrete_laws(item)
        worst = max(hockey_stick(p, q, self.noise, noise.scale, epsilon) for p, q in laws)
        return min(1.0, worst + largest_slack(item, epsilon))

    def renyi(self, item: Any, noise: Any, alpha: Fraction) -> float:
        """Lattice noise in balls; continuous noise on atoms by quadrature with a proved error, on components in closed
        form or by rigorous integration, both orders."""
        from fugu.loss import continuous_divergence, divergence
        from fugu.loss.continuous_divergence import gaussian_renyi, laplace_renyi

        if noise.grid is not None or (noise.silent and isinstance(item, Family)):
            return largest(divergence.renyi_bounds(on_grid(item, noise.grid), noise, alpha))
        scale, added = as_fraction(noise.scale), isinstance(noise, Laplace)
        if isinstance(item, Family):
            tail, formula = (0.0, continuous_divergence.laplace) if added else (-1.0, continuous_divergence.gaussian)
            return continuous_divergence.divergence_of_atoms(item, scale, tail, alpha, formula)
        if item.same:
            return 0.0
        p, q = (list(zip(*law.exact, strict=True)) for law in (item.p, item.q))
        if scale and added:
            return max(laplace_renyi(p, q, scale, alpha), laplace_renyi(q, p, scale, alpha))
        if scale == 0 and any(r[2] == 0 for r in p + q):
            raise NotProvable("a law with atoms against one without: the divergence needs noise, or a grid")
        return max(gaussian_renyi(p, q, scale * scale, alpha), gaussian_renyi(q, p, scale * scale, alpha))


class LineDecay(NumberLeakage):
    """Noise whose mass falls by one factor in every step, on atoms: suprema and sums over atoms and gaps
    (docs/proofs/laplace.md)."""

    def pure(self, item: Family, noise: Any, epsilon: Fraction) -> list[PairLoss]:
        """The largest ratio at atoms; a pair above `epsilon` by rounding alone may meet it by coupling, exactly."""
        if noise.silent:
            return prove_pure(item, None)
        losses = prove_pure(item, noise.rate)
        for k, loss in enumerate(losses):
            moved = None if loss.within(epsilon) else self.coupled(item, loss.pair, noise)
            if moved is not None and moved <= epsilon:
                losses[k] = PairLoss(loss.label, float_up(epsilon), loss.pair, met=True)
        return losses

    def coupled(self, item: Family, pair: tuple[int, int], noise: Any) -> Fraction | None:
        """W_inf x rate: settles the one case balls cannot, equality, as for two point masses, where the plain Laplace
        scale is exact. Of laws known up to an error no largest distance is known."""
        from fugu.transport.wasserstein import w_inf_index

        i, j = pair
        if noise.silent or i == j or item.blurred(pair):
            return None
        moved: Fraction = w_inf_index(item.points, item.laws[i], item.laws[j]) * noise.rate
        return moved

    def known(self, item: Family, ask: Ask) -> float | None:
        """Errors of the laws must leave room; equal outputs of different laws are impossible."""
        if not ask.finite:
            require_room(item, ask)
            if ask.impossible:
                raise NotProvable(NO_NOISE)
        return super().known(item, ask)

    def start(self, item: Family, ask: Ask) -> tuple[float, float]:
        """l1 / epsilon, or l1 / delta when epsilon is tiny (a shift by D costs delta <= D / 2b); where no delta is
        allowed l1 / epsilon suffices: for two points it is the exact root. Of divergences a scale for a shift by the
        largest W_inf."""
        if isinstance(ask, Divergences):
            return ask.start(float(search.farthest(item))), math.inf
        farthest = search.l1_distance(item)
        by_epsilon = farthest / float(ask.epsilon) if ask.epsilon else math.inf
        by_delta = farthest / float(ask.delta) if ask.delta else math.inf
        sure = search.over(farthest, ask.epsilon) if ask.pure else math.inf
        return max(1e-280, min(by_epsilon, by_delta)) * (1 + 1e-9), sure

    def leak(self, item: Family, noise: Any) -> float:
        """The largest ratio at atoms, at or above the truth by an a-priori error bound."""
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
    """Laplace noise on atoms is added: outputs lie on the whole lattice."""

    def delta(self, item: Family, noise: Laplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts, in balls."""
        return prove_delta(item, None if noise.silent else noise.rate, epsilon)

    def guess(self, item: Family, steps: float, ask: Ask) -> float:
        """At or above the truth by an a-priori error bound; in balls where delta is minute and the problem small."""
        if isinstance(ask, Divergences):
            return super().guess(item, steps, ask)
        if not ask.delta:
            return search.pure_loss(item, steps).value
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
class SmoothLaplace(NumberLeakage):
    """Laplace noise on components: cells of the rounded laws, in balls (docs/proofs/laplace.md). Translates by whole
    steps stay so after rounding: there everything is exact."""

    def pure(self, item: Analytic, noise: Laplace, epsilon: Fraction) -> list[PairLoss]:
        """shift x rate for translates by whole steps; otherwise balls."""
        from fugu.loss.rounded import prove_pure_analytic

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
        from fugu.loss.lattice_gaussian import prove_bare_delta
        from fugu.loss.rounded import prove_delta_analytic

        if noise.silent:
            return prove_bare_delta(item, epsilon)
        return [PairLoss(item.label, prove_delta_analytic(item, noise.rate, epsilon))]

    def guess(self, item: Analytic, steps: float, ask: Ask) -> float:
        """The cells in doubles; a pure loss in balls where those do not settle it."""
        from fugu.loss.rounded import prove_pure_analytic

        if isinstance(ask, Divergences):
            return super().guess(item, steps, ask)
        if ask.delta:
            return search.fast_delta(item, steps, float(ask.epsilon))
        if steps == 0:
            return math.inf
        found = search.fast_pure(item, steps)
        return prove_pure_analytic(item, 1 / Fraction(steps)) if found is None else found

    def known(self, item: Analytic, ask: Ask) -> float | None:
        """Equal outputs of different laws are impossible; of translates by whole steps the plain scale is exact."""
        if ask.pure and ask.impossible:
            raise NotProvable(NO_NOISE)
        shift = item.shift()
        if not ask.pure or shift is None or shift.denominator != 1:
            return None
        return float_up(abs(shift) / ask.epsilon)

    def epsilon(self, item: Analytic, noise: Laplace) -> float:
        """Continuous noise: the tails and the largest ratio. Lattice noise: of the rounded laws."""
        from fugu.loss.smooth import pure_epsilon

        if noise.grid is None:
            return pure_epsilon(item.p.law, item.q.law, noise.scale)
        return largest(self.pure(on_grid(item, noise.grid), noise, Fraction(0)))


@final
class NumberGaussian(NumberLeakage):
    """Gaussian noise, on atoms or on components: every lattice point is summed, by convolutions in integers
    (docs/proofs/gaussian.md)."""

    def pure(self, item: Family | Analytic, noise: Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """It bounds no ratio by itself, but what the laws do not lose, they do not lose after noise either: infinite
        for laws with spread, unless they are equal."""
        if isinstance(item, Analytic):
            return [PairLoss(item.label, 0.0 if item.same else math.inf)]
        return prove_pure(item, None)

    def delta(self, item: Family | Analytic, noise: Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts over all lattice points."""
        from fugu.loss.generic import prove_window_delta
        from fugu.loss.lattice_gaussian import check_size, prove_bare_delta, reach_of, width_of

        if noise.silent:
            return prove_bare_delta(item, epsilon)
        laws = 2 if isinstance(item, Analytic) else len(item.laws)
        check_size(width_of(item) + 2 * reach_of(float(noise.precision)), laws)
        return prove_window_delta(item, noise, epsilon)

    def guess(self, item: Family | Analytic, steps: float, ask: Ask) -> float:
        """By convolution in doubles."""
        if isinstance(ask, Divergences):
            return super().guess(item, steps, ask)
        return search.fast_lattice_delta(item, steps, ask)

    def start(self, item: Family | Analytic, ask: Ask) -> tuple[float, float]:
        """What continuous noise needs for a shift by the whole range, if it is within reach; for divergences of atoms
        W_inf sqrt(alpha / (2 epsilon)) suffices, for translates by whole steps, which stay so after rounding, the
        same of the shift: there it is the exact root."""
        if not isinstance(ask, Divergences):
            return search.lattice_start(item, ask), math.inf
        if isinstance(item, Family):
            far = search.farthest(item)
            return ask.start(float(far)), search.gaussian_scale(far, ask)
        shift = item.shift()
        whole = shift is not None and shift.denominator == 1
        return super().start(item, ask)[0], search.gaussian_scale(float(abs(shift or 0)), ask) if whole else math.inf

    def epsilon(self, item: Family | Analytic, noise: Gaussian) -> float:
        """Infinite unless the laws themselves lose less."""
        require_exact(item)
        if noise.silent and isinstance(item, Family):
            whole, unit = in_units(item)
            return search.pure_loss(whole, steps_below(0, unit)).value
        return largest(self.pure(on_grid(item, noise.grid) if item.atoms else item, noise, Fraction(0)))


@final
class NumberCauchy(Leakage[Any, GeneralizedCauchy]):
    """Generalised Cauchy noise, for analysis only: on atoms divergences of continuous noise, in the unit of the points;
    on components nothing is proved but that equal laws lose nothing."""

    def divergence(self, item: Family | Analytic, noise: GeneralizedCauchy, alpha: Fraction) -> list[PairLoss]:
        """Every pair that differs by itself; the others lose nothing."""
        if isinstance(item, Analytic) and not item.same:
            raise NotProvable(
                "the Rényi divergence of Cauchy noise on normal laws has no proof; use Laplace or Gaussian"
            )
        known = {one.pairs[0]: self.renyi(one, noise, alpha) for one in item.alone()}
        return [
            PairLoss(label, known.get(pair, 0.0), pair) for pair, label in zip(item.pairs, item.labels, strict=True)
        ]

    def guess(self, item: Family | Analytic, steps: float, ask: Ask) -> float:
        """The same; too small a scale for the quadrature counts as too small."""
        assert isinstance(ask, Divergences)
        try:
            return ask.excess(lambda alpha: self.renyi(item, GeneralizedCauchy(steps), alpha))
        except NotProvable:
            if isinstance(item, Family):
                return math.inf
            raise

    def known(self, item: Family | Analytic, ask: Ask) -> float | None:
        """Where nothing moves, no noise is needed."""
        super().known(item, ask)
        return 0.0 if isinstance(item, Family) and search.farthest(item) == 0 else None

    def start(self, item: Family | Analytic, ask: Ask) -> tuple[float, float]:
        """A scale for a shift by the largest W_inf."""
        if not isinstance(ask, Divergences) or isinstance(item, Analytic):
            return super().start(item, ask)
        return ask.start(float(search.farthest(item))), math.inf

    def epsilon(self, item: Family | Analytic, noise: GeneralizedCauchy) -> float:
        """0 for equal laws with spread; else not computed here."""
        if isinstance(item, Analytic):
            return self.renyi(item, noise, Fraction(2))
        raise NotProvable("the pure loss of Cauchy noise is not available here; use a finite alpha")

    def renyi(self, item: Family | Analytic, noise: GeneralizedCauchy, alpha: Fraction) -> float:
        """Quadrature with a proved error, both orders of every pair."""
        from fugu.loss import continuous_divergence as continuous
        from fugu.loss.divergence import renyi_bounds

        if isinstance(item, Analytic):
            return largest(self.divergence(item, noise, alpha))
        if noise.silent:
            return largest(renyi_bounds(item, Laplace(0), alpha))
        tail = as_fraction(noise.tail)
        return continuous.divergence_of_atoms(
            item, as_fraction(noise.scale), float(tail), alpha, lambda p, q, a: continuous.cauchy(p, q, a, tail)
        )
