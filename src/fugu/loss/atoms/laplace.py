"""Upper bounds on the losses of lattice Laplace noise, proved in ball arithmetic. This is what a certificate states.

Fast floats find a scale; nothing becomes a mechanism before these functions have bounded its loss, from the exact
masses and the exact rate alone, in both orders and for every pair."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from flint import arb

from fugu.laws.family import Family
from fugu.loss.atoms.decay import Block, blocks
from fugu.loss.atoms.gaps import GapSum
from fugu.loss.atoms.slack import slack
from fugu.loss.leakage import PairLoss
from fugu.numbers import balls
from fugu.transport.wasserstein import w_inf_index

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
        for block in _walk(family, rate, "proving epsilon"):
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
        share = _shares(family)
        e = balls.of(epsilon).exp()
        sums = [GapSum(rate) for _ in orders]
        for block in _walk(family, rate, "proving delta"):
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
    i, j = pair
    return not family.blurred(pair) and w_inf_index(family.points, family.laws[i], family.laws[j]) * rate <= epsilon


def _walk(family: Family, rate: Fraction | None, what: str) -> Iterator[Block]:
    """The atoms of the family, block by block; none if no two laws differ."""
    return blocks(family, rate, what) if family.different else iter(())


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


def _shares(family: Family) -> list[arb]:
    """1 / total of every law."""
    return [balls.of(1 / law.total) for law in family.laws]


def _same(family: Family) -> list[str]:
    """Labels of pairs whose laws are exactly equal: they lose nothing."""
    different = {pair for pair, _ in family.different}
    return [label for pair, label in zip(family.pairs, family.labels, strict=True) if pair not in different]
