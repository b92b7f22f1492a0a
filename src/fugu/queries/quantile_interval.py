"""How far a quantile that was chosen by ranks lies from that of the table, where records follow the reference's law.

Permute-and-flip at rate r among m points leaves ranks, not values: how far a rank is from the next in value is the
private table's own spread. So the claim is about tables like the reference, as all figures of use are:

Claim. Let n records be drawn independently from a law G on the points, and let v be the point that is chosen for the
quantile q. Then with probability of at least `LEVEL`, over records and choice, every q-quantile x of the n records has
v - above <= x <= v + below.

Proof. A best point has utility 0, since some point's ranks hold w = n q. A point of utility u is chosen only if it is
visited before that one, which has probability 1/2, and its coin of probability e^(r u) falls. So some point with u <
-t is chosen with probability below (m - 1) e^(-r t) / 2, which is `_CHOICE` at the t taken. Else at most w + t
records lie below v and at least w - t up to it: X_(ceil(w - t)) <= v <= X_(floor(w + t) + 1), and X_(ceil w) <= x <=
X_(floor(w) + 1). With X = G^-1(U) of uniform order statistics, U_(j) - U_(i) is Beta(j - i, n - j + i + 1), which
bounds by how much probability the two lie apart (`_SPACING`), and U_(i) is Beta(i, n - i + 1), which bounds where
that is (`_PLACE`): `above` and `below` are the widest such steps of G^-1. The seven events add up to 1 - LEVEL."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.queries.kinds import LEVEL
from fugu.queries.statistic import NoisedQuestion

Floats = NDArray[np.float64]
HALF = Fraction(1, 2)
_CHOICE, _SPACING, _PLACE = (1 - LEVEL) * 0.6, (1 - LEVEL) * 0.1, (1 - LEVEL) * 0.05
"""Probabilities of: a choice too far off; a spacing too wide, above or below; a place beyond one of four ends."""
_TINY = 1e-12


def reach_of(asked: NoisedQuestion, group: str, rows: int, law: tuple[Floats, Floats]) -> tuple[float, float]:
    """`reach` of a quantile of a group of so many rows; `law`: the codes of one record, in order, and their shares."""
    (feature,), (codes, shares) = asked.features, law
    values = np.array([feature.number(int(code)) for code in codes])
    off = rank_error(feature.top + 1, asked.rates[group][0])
    return reach(values, shares, (feature.number(0), feature.number(feature.top)), asked.at or HALF, off, rows)


def by_chance(asked: NoisedQuestion, rows: int, law: tuple[Floats, Floats]) -> tuple[float, float]:
    """The law's own quantile, and how far those of 95 % of tables of so many rows lie from it, by chance alone."""
    (feature,), (codes, shares), at = asked.features, law, asked.at or HALF
    k, tails = max(math.ceil(rows * at), 1), ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    masses = [float(at), *(_order(k, rows, tail) for tail in tails)]
    places = np.minimum(np.searchsorted(np.cumsum(shares), masses), len(codes) - 1).tolist()
    middle, low, high = (feature.number(int(codes[place])) for place in places)
    return middle, max(middle - low, high - middle)


def rank_error(points: int, rate: Fraction) -> float:
    """t such that the utility of what is chosen among so many points is below -t with probability of at most 3 %."""
    return max(math.log((points - 1) / (2 * _CHOICE)), 0.0) / float(rate) if points > 1 else 0.0


def reach(
    values: Floats, shares: Floats, ends: tuple[float, float], at: Fraction, off: float, rows: int
) -> tuple[float, float]:
    """(above, below): how far the choice lies above and below a quantile of the table, at most, as claimed.

    `values`, `shares`: the law of one record's number, in increasing order; `ends`: the first and last point that can
    be chosen; `at`: which quantile; `off`: by how many ranks the choice may be off; `rows`: of the table."""
    sums, wanted = np.cumsum(shares), rows * at
    first, last = max(math.ceil(wanted), 1), min(math.floor(wanted) + 1, rows)

    def inverse(mass: Floats) -> Floats:
        found: Floats = values[np.minimum(np.searchsorted(sums, mass), len(values) - 1)]
        return found

    def place(k: int) -> tuple[float, float]:
        low, high = (_order(k, rows, share) for share in (_PLACE, 1 - _PLACE))
        return low - _TINY, high + _TINY

    def apart(ranks: int) -> float:
        return _order(ranks, rows, 1 - _SPACING) + _TINY if ranks else 0.0

    least, most = place(first)
    far = math.floor(wanted + Fraction(off)) + 1
    here = (sums >= least) & (sums - shares <= most)  # the points where the quantile may be
    if far > rows:
        above = ends[1] - float(values[here][0])
    else:
        above = float(np.max(inverse(np.minimum(sums[here], most) + apart(far - first)) - values[here]))
    least, most = place(last)
    near, here = math.ceil(wanted - Fraction(off)), (sums >= least) & (sums - shares <= most)
    if near < 1:
        below = float(values[here][-1]) - ends[0]
    else:
        starts = np.maximum(sums[here] - shares[here], least) - apart(last - near)
        below = float(np.max(values[here] - inverse(starts)))
    return max(above, 0.0), max(below, 0.0)


def _order(k: int, rows: int, share: float) -> float:
    """The quantile of U_(k) of so many rows."""
    from scipy.special import betaincinv  # loaded only where the question is a quantile

    return float(betaincinv(k, rows - k + 1, share))
