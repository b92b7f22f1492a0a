"""Proved losses of lattice Laplace noise on laws with atoms on a line, also where it lies on the atoms alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from fugu.errors import NotProvable
from fugu.laws.family import Family
from fugu.loss.decay import blocks
from fugu.loss.leakage import PairLoss, slack
from fugu.numbers import balls

if TYPE_CHECKING:
    pass

# Upper bounds on the losses of lattice Laplace noise, proved in ball arithmetic. This is what a certificate states.
#
# Fast floats find a scale; nothing becomes a mechanism before these functions have bounded its loss, from the exact
# masses and the exact rate alone, in both orders and for every pair.


_PRECISION = 128


def prove_pure(family: Family, rate: Fraction | None) -> list[PairLoss]:
    """For each pair an epsilon with S_i <= e^epsilon S_j and S_j <= e^epsilon S_i at every atom, hence everywhere.

    `rate` is grid / scale; None means no noise. Keeps one number M per pair and raises it to the upper end of
    S_i / S_j whenever S_i <= M S_j is not certain; the bound is ln M, rounded up. Laws known up to an error have
    none."""
    same = [PairLoss(label, 0.0) for label in _same(family)]
    with balls.precision(_PRECISION):
        total = [balls.of(law.total) for law in family.laws]
        bounds = [arb(1) for _ in family.different]
        for block in blocks(family, rate, "proving epsilon"):
            s = [[a + b for a, b in zip(*sums, strict=True)] for sums in zip(block.left, block.beyond, strict=True)]
            for number, ((i, j), _) in enumerate(family.different):
                bounds[number] = _bound(bounds[number], s[i], s[j], total[i] / total[j])
        found = [
            PairLoss(label, math.inf if family.blurred(pair) else balls.upper(m.log()), pair)
            for m, (pair, label) in zip(bounds, family.different, strict=True)
        ]
    return found + same


def prove_delta(family: Family, rate: Fraction | None, epsilon: Fraction) -> list[PairLoss]:
    """For each pair a delta with sup_S P(S) - e^epsilon Q(S) <= delta in both orders.

    delta = c0 { sum over atoms [S_i - e S_j]_+ + q/(1-q) ([beta_1]_+ + [alpha_n]_+) + sum over gaps },
    c0 = (1-q)/(1+q), alpha = L_i - e L_j, beta = R_i - e R_j
    (docs/proofs/laplace.md#6-delta-of-lattice-noise). The expression grows with alpha and
    beta, so replacing each by the upper end of its ball keeps an upper bound and makes every sign certain. What the
    laws' own errors cost comes on top (`slack`)."""
    same = [PairLoss(label, 0.0) for label in _same(family)]
    orders = [(order, label) for pair, label in family.different for order in (pair, pair[::-1])]
    with balls.precision(_PRECISION):
        share = [balls.of(1 / law.total) for law in family.laws]
        e = balls.of(epsilon).exp()
        sums = [GapSum(rate) for _ in orders]
        for block in blocks(family, rate, "proving delta"):
            for total, ((i, j), _) in zip(sums, orders, strict=True):
                up, down = share[i], e * share[j]
                laws = (block.mass, block.left, block.beyond)
                cells = zip(*(rows[r] for r in (i, j) for rows in laws), block.gaps, strict=True)
                for p_i, l_i, f_i, p_j, l_j, f_j, gap in cells:
                    alpha, past = up * l_i - down * l_j, up * f_i - down * f_j
                    beta = past + (up * p_i - down * p_j)
                    total.atom(alpha.upper(), beta.upper(), (alpha + past).upper(), gap)
        values = [
            balls.upper(total.delta() + slack(family, order, e)) for total, (order, _) in zip(sums, orders, strict=True)
        ]
    found = [
        PairLoss(label, min(1.0, max(values[2 * k], values[2 * k + 1])))
        for k, (_, label) in enumerate(family.different)
    ]
    return found + same


def coupled_within(family: Family, pair: tuple[int, int], rate: Fraction, epsilon: Fraction) -> bool:
    """Whether W_inf <= epsilon * scale, in exact rationals: then the pair is Pure(epsilon) by coupling.

    Settles the one case balls cannot: equality, as for two point masses, where the plain Laplace scale is exact.
    Of laws known up to an error no largest distance is known."""
    from fugu.transport.wasserstein import w_inf_index

    i, j = pair
    return not family.blurred(pair) and w_inf_index(family.points, family.laws[i], family.laws[j]) * rate <= epsilon


def _bound(m: arb, s_i: list[arb], s_j: list[arb], share: arb) -> arb:
    """`m` raised until S_i / t_i <= m S_j / t_j and the reverse at every atom, with share = t_i / t_j."""
    up, down = m * share, m / share
    for a, b in zip(s_i, s_j, strict=True):
        if not (a <= up * b and b <= down * a):
            m = _raised(_raised(m, a, b * share), b * share, a)
            up, down = m * share, m / share
    return m


def _raised(bound: arb, numerator: arb, denominator: arb) -> arb:
    """max(bound, upper end of the ratio), as an exact number; infinite when the denominator may be zero."""
    if numerator == 0 and denominator == 0:
        return bound
    ratio = (numerator / denominator).upper() if denominator > 0 else arb("inf")
    return ratio if not ratio <= bound else bound


def _same(family: Family) -> list[str]:
    """Labels of pairs whose laws are exactly equal: they lose nothing."""
    different = {pair for pair, _ in family.different}
    return [label for pair, label in zip(family.pairs, family.labels, strict=True) if pair not in different]


# The running sum behind a proved delta: atoms, gaps between them, and the two tails, in ball arithmetic.


_UNCERTAIN = 64


class GapSum:
    """delta of one ordered pair, accumulated atom by atom from the left; alpha and beta are exact upper ends."""

    def __init__(self, rate: Fraction | None) -> None:
        self._noisy = rate is not None
        self._rate = balls.of(rate or Fraction(0))
        self._sum = arb(0)
        self._tails = arb(0)
        self._before: tuple[arb, int] | None = None
        if self._noisy:
            self._q = (-self._rate).exp()
            self._ratio = self._q / (1 - self._q)

    def atom(self, alpha: arb, beta: arb, here: arb, gap: int) -> None:
        """The next atom: [S_i - e S_j]_+ <= max(here, 0), and the gap from the atom before it."""
        if here > 0:
            self._sum += here
        if not self._noisy:
            return
        if self._before is None:
            if beta > 0:
                self._tails = beta
        else:
            self._gap(self._before[0], beta, self._before[1])
        self._before = (alpha, gap)

    def delta(self) -> arb:
        """The bound, once every atom has been seen."""
        if not self._noisy:
            return self._sum
        assert self._before is not None
        tails = self._tails + (self._before[0] if self._before[0] > 0 else 0)
        return (1 - self._q) / (1 + self._q) * (self._sum + self._ratio * tails)

    def _gap(self, a: arb, c: arb, steps: int) -> None:
        """Add sum_{t=1}^{G-1} [a q^t + c q^{G-t}]_+; a and c are exact, so their signs are certain."""
        if steps < 2 or (not a > 0 and not c > 0):
            return
        if a >= 0 and c >= 0:
            self._sum += (a + c) * self._ratio * (1 - self._power(steps - 1))
            return
        if c > 0:
            a, c = c, a
        guess = self._guess(a, c, steps)
        low = guess
        while low >= 1 and not self._term(a, c, low, steps) >= 0:
            low -= 1
        high = guess + 1
        while high < steps and not self._term(a, c, high, steps) <= 0:
            high += 1
        if high - low > _UNCERTAIN:
            raise NotProvable(
                "the sign change between two atoms cannot be located; the scale is too large for the lattice"
            )
        if low >= 1:
            self._sum += (a + c * self._power(steps - low - 1)) * self._ratio * (1 - self._power(low))
        for t in range(low + 1, high):
            term = self._term(a, c, t, steps).upper()
            if term > 0:
                self._sum += term

    def _guess(self, a: arb, c: arb, steps: int) -> int:
        """Where the sign changes, from midpoints; only a starting point for the certified search."""
        change = float((steps + (a / -c).log() / self._rate).mid()) / 2
        if not math.isfinite(change):
            return 0
        return int(min(max(math.ceil(change) - 1, 0), steps - 1))

    def _term(self, a: arb, c: arb, t: int, steps: int) -> arb:
        return a * self._power(t) + c * self._power(steps - t)

    def _power(self, t: int) -> arb:
        """q^t."""
        return (-self._rate * t).exp()
