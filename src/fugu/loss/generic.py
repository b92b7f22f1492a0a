"""The proof for every noise that states its masses and its tails, on laws of one number (docs/proofs/generic.md).

With p the law of the value, m the masses of the noise and r a number of steps, P(y) >= P_r(y) = sum over |y - x| <= r
of p(x) m(y - x), and all that P has beyond P_r is at most P(|N| > r). Hence

    sup_S P(S) - e^eps Q(S) <= sum over y of (P_r(y) - e^eps Q_r(y))+ + P(|N| > r),

for both orders of every pair. Where the noise has ends, sums over all points also give ratios and divergences; else
what a shift by W_inf costs bounds them, if the noise says so (`Noise.shift`), and so does what the laws lose
without noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, final

from flint import arb, fmpz

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import Ask, Divergences, PairLoss
from fugu.laws.family import Family
from fugu.laws.normal import Analytic
from fugu.loss import heavy
from fugu.loss.atoms import PowerSum, ball_masses, prove_pure
from fugu.loss.divergence import renyi_bounds
from fugu.loss.lattice_gaussian import (
    BITS,
    LARGEST,
    ball_rows,
    check_size,
    enclosed,
    product,
    prove_bare_delta,
    width_of,
)
from fugu.loss.leakage import NO_NOISE, Leakage, on_grid, require_room
from fugu.loss.search.shapes import fast_bare_delta, fast_window_delta
from fugu.noise.kind import Noise, kind_of
from fugu.noise.laplace import Laplace
from fugu.numbers import balls
from fugu.transport.wasserstein import w_inf_index

_PRECISION = 192
_FALL = 100.0
"""A window leaves out less than e^-100 of the noise where it may be so wide."""
_SEEN = 45.0
"""Searches leave out less than e^-45 of it."""
_CELLS = 2_000_000
"""Most (output, atom) cells of sums that must be right relatively."""
_LEANS = 16
"""So many masses are compared with those on the other side of 0."""
_SILENT = Laplace(0, 1)
Pair = tuple[int, int]


@final
class GenericLeakage(Leakage[Any, Noise]):
    """Any noise with `mass` and `beyond`, on a `Family` of atoms or an `Analytic` pair, in lattice indices."""

    # ---- proofs

    def pure(self, item: Family | Analytic, noise: Noise, epsilon: Fraction) -> list[PairLoss]:
        """The least of what the laws lose without noise, of the largest ratio where the noise has ends, and of a shift
        by W_inf."""
        del epsilon
        if isinstance(item, Analytic):
            return [PairLoss(item.label, 0.0 if item.same else math.inf)]
        bare = prove_pure(item, None)[: len(item.different)]
        if noise.silent or not bare:
            return bare or [PairLoss("", 0.0)]
        return [
            loss if item.blurred(loss.pair)
            else PairLoss(loss.label, min(loss.value, self._shifted(item, loss.pair, noise, None),
                                          self._ratio(item, loss.pair, noise)), loss.pair)
            for loss in bare
        ]  # fmt: skip

    def delta(self, item: Family | Analytic, noise: Noise, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts over a window, and what lies beyond it."""
        del delta
        if noise.silent:
            return prove_bare_delta(item, epsilon)
        with balls.precision(_PRECISION):
            if any(
                noise.mass(k) != noise.mass(-k) for k in range(1, _LEANS + 1)
            ):  # surely: balls without a common point
                raise NotProvable(f"{noise.name} noise leans to one side; its errors and audits need symmetric noise")
        if noise.rising and isinstance(item, Family):
            return heavy.prove_delta(item, noise, epsilon) or [PairLoss("", 0.0)]
        return prove_window_delta(item, noise, epsilon) or [PairLoss("", 0.0)]

    def divergence(self, item: Family | Analytic, noise: Noise, alpha: Fraction) -> list[PairLoss]:
        """The least of what the laws lose without noise, of the sum where the noise has ends, and of a shift."""
        if isinstance(item, Analytic):
            if item.same:
                return [PairLoss(item.label, 0.0)]
            raise self.unknown("Rényi divergence")
        losses = renyi_bounds(item, _SILENT, alpha)
        if noise.silent:
            return losses
        least = [
            min(loss.value, self._shifted(item, loss.pair, noise, alpha), self._power(item, loss.pair, noise, alpha))
            for loss in losses
        ]
        return [PairLoss(loss.label, value, loss.pair) for loss, value in zip(losses, least, strict=True)]

    def _shifted(self, item: Family, pair: Pair, noise: Noise, alpha: Fraction | None) -> float:
        """What a shift by W_inf costs: the noised laws are mixtures of shifts, coupled that far apart."""
        steps = w_inf_index(item.points, item.laws[pair[0]], item.laws[pair[1]])
        with balls.precision(_PRECISION):
            return balls.upper(noise.shift(steps, alpha))

    def _ratio(self, item: Family, pair: Pair, noise: Noise) -> float:
        """max |ln P/Q| over all outputs, where the noise has ends, or says what lies beyond a window."""
        if noise.rising:
            return balls.upper(heavy.prove_ratio(item, pair, noise).log())
        if not noise_ends(noise, item):
            return math.inf
        worst = arb(1)
        with balls.precision(_PRECISION):
            for p, q in self._outputs(item, pair, noise):
                worst = balls.raised(balls.raised(worst, p, q), q, p)
            return balls.upper(worst.log())

    def _power(self, item: Family, pair: Pair, noise: Noise, alpha: Fraction) -> float:
        """ln(sum P^alpha Q^(1 - alpha)) / (alpha - 1), the larger order, where the noise has ends, or likewise."""
        if noise.rising:
            return heavy.prove_power(item, pair, noise, alpha)
        if not noise_ends(noise, item):
            return math.inf
        with balls.precision(_PRECISION):
            sums = PowerSum([(0, 1)], alpha)
            for both in self._outputs(item, pair, noise):
                sums.add(both)
            return max(balls.divergence(total, alpha) for total in sums.sums.values())

    def _outputs(self, item: Family, pair: Pair, noise: Noise) -> Iterable[list[arb]]:
        """Both masses of every output that either law can give, each right relatively, of noise that has ends."""
        ends = noise.reach(math.inf)
        masses = {k: noise.mass(k) for k in range(-ends, ends + 1)}
        sums: dict[int, list[arb]] = {}
        for side, law in enumerate(item.laws[k] for k in pair):
            for x, part in zip(item.points.tolist(), ball_masses(law), strict=True):
                if part == 0:
                    continue
                for step, mass in masses.items():
                    if not mass == 0:  # noqa: SIM201, a ball that may be 0 counts
                        both = sums.setdefault(x + step, [arb(0), arb(0)])
                        both[side] += part * mass
        return sums.values()

    # ---- searches, in doubles

    def guess(self, item: Family | Analytic, steps: float, ask: Ask) -> float:
        """delta by convolution, raised by what doubles may hide; of heavy tails every loss likewise."""
        if steps and isinstance(item, Family) and (made := kind_of(self.noise).at(steps, Fraction(1))).rising:
            return heavy.guess(item, made, ask)
        if isinstance(ask, Divergences) or not ask.delta:
            return super().guess(item, steps, ask)
        noise, epsilon = kind_of(self.noise).at(steps, Fraction(1)), float(ask.epsilon)
        if noise.silent:
            return fast_bare_delta(item, epsilon)
        width, count = width_of(item), 2 if isinstance(item, Analytic) else len(item.laws)
        check_size(width, count, self.about)
        reach = min(noise.reach(_SEEN), max(1, int(LARGEST / max(1.0, count / 2) - width) // 2))
        return min(1.0, fast_window_delta(item, noise, reach, epsilon))

    def known(self, item: Family | Analytic, ask: Ask) -> None:
        """None; errors of the laws must leave room, and equal outputs of different laws are impossible."""
        super().known(item, ask)
        if not ask.finite:
            require_room(item, ask)
            if ask.impossible:
                raise NotProvable(NO_NOISE)

    # ---- laws as given

    def given(self, item: Family | Analytic, noise: Noise) -> tuple[Family | Analytic, Noise]:
        """On the lattice of the noise."""
        if noise.grid is None:
            raise BadNoise(f"{noise.name} noise is known on a lattice only; give it a grid")
        return on_grid(item, noise.grid), noise

    def renyi(self, item: Family | Analytic, noise: Noise, alpha: Fraction) -> float:
        """Proved on the lattice of the noise; inf where some output is possible under one law only."""
        worst = super().renyi(item, noise, alpha)
        if math.isinf(worst) and not noise_ends(noise, item):
            raise self.unknown("Rényi divergence")
        return worst


def noise_ends(noise: Noise, item: Family | Analytic) -> bool:
    """Whether nothing lies beyond some number of steps, and all outputs are few enough to be summed."""
    if not isinstance(item, Family) or (
        item.translates and not noise.log_concave
    ):  # there shorter shifts may tell more
        return False
    return (2 * noise.reach(math.inf) + 1) * len(item.points) <= _CELLS


def prove_window_delta(item: Family | Analytic, noise: Noise, epsilon: Fraction) -> list[PairLoss]:
    """For each pair a delta with sup_S P(S) - e^epsilon Q(S) <= delta after noise, the larger of both orders.

    Balls hold the truth, so that upper ends of P_r(y) - e^epsilon Q_r(y) bound every term from above; what the noise
    and the law put beyond the window goes to delta, and so do errors of the laws (`slack`)."""
    count = 2 if isinstance(item, Analytic) else len(item.laws)
    width, limit = width_of(item), LARGEST / max(1.0, count / 2)
    check_size(width, count, f"{noise.name} noise")
    reach = min(noise.reach(_FALL), max(1, int(limit - width) // 2))
    with balls.precision(_PRECISION):
        laws, outside, pairs = ball_rows(item, reach)
        masses = noise.masses_within(reach)
        # Translates stand for every shift up to theirs, and normal laws for those between them (`fugu.scenario.moves`,
        # `attributes`): the ends are the worst for log-concave noise. What a noise says of itself is held against its
        # masses
        if isinstance(item, Analytic) or item.translates:
            if not noise.log_concave:
                raise NotProvable(
                    f"{noise.name} noise does not say that it is log-concave, so a shorter shift may tell more: for "
                    "translates and laws with Gaussian components take another noise"
                )
            if any(b * b < a * c for a, b, c in zip(masses, masses[1:], masses[2:], strict=False)):
                raise NotProvable(f"{noise.name} noise says that it is log-concave, and its masses are not")
        rest, e = noise.beyond(reach), balls.of(epsilon).exp()
        if sum(masses, rest) < 1:  # surely: too little of the noise would be looked at, and delta be too small
            raise NotProvable(f"the masses of {noise.name} noise, with its tails, are less than 1; state all of them")
        kernel, length = enclosed(masses), len(laws[0]) + 2 * reach
        below, above = zip(
            *([product(ends, noise_ends, length) for ends, noise_ends in zip(enclosed(row), kernel, strict=True)]
              for row in laws), strict=True
        )  # fmt: skip
        (least,), unit = enclosed([e])[0], balls.of(Fraction(1, 2 ** (3 * BITS)))
        losses = []
        for label, (a, b) in pairs:
            deltas = []
            for i, j in ((a, b), (b, a)):
                ends = zip(above[i], below[j], strict=True)
                total = sum((max(fmpz(0), (p << BITS) - q * least) for p, q in ends), fmpz(0)) * unit
                deltas.append(balls.upper(total + outside[i] + rest + balls.upper(item.slack((i, j), e))))
            losses.append(PairLoss(label, min(1.0, max(deltas)), (a, b)))
        return losses
