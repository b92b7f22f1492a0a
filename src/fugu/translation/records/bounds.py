"""Guarantees for each record, translated with all laws of a belief: the worst adversary, pair and order counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.guarantee.asks import exact, outward
from fugu.guarantee.kinds import Approx
from fugu.laws.cells import Counts
from fugu.loss.cells import Ratios, as_meant, hockey_stick, largest, worth
from fugu.numbers import balls
from fugu.numbers.exact import Real, meant_up
from fugu.priors.records import RecordLaw

# Of a record without a law a release says at most its epsilon for each entry, unreduced.
#
# Proofs: docs/proofs/records.md#compose-first, docs/proofs/records.md#epsilon-and-delta.

Laws = Iterable[RecordLaw]
_LARGEST = 74.0
"""Above the logarithm of every finite ratio of two laws."""
_TURNS = 60


def pure(laws: Laws, epsilon0: Real) -> float:
    """max of T(epsilon0; p, q) over the laws; epsilon0 itself where no law is known."""
    own = exact(epsilon0)
    most = math.inf if math.isinf(epsilon0) else as_meant(own, outward(own))
    return _over(laws, 0.0, most, lambda x: (x, limit(x, most)), lambda p, q, x: max(x, worth(p, q, epsilon0)))


def _over(laws: Laws, found: float, plain: float, known: Known, proved: Proved) -> float:
    """`found` once every law is settled; `plain` where no law is known of some records."""
    for law in laws:
        if law.plain:
            return plain
        found = settled(law, found, known, proved)
    return found


def budget(laws: Laws, epsilon: Real) -> float:
    """The largest epsilon0 that is worth at most epsilon, rounded down; inf if the columns may go out as they are."""
    wanted = exact(epsilon)
    least = as_meant(wanted, -outward(-wanted))
    known, less = lambda x: (least, limit(least, x)), lambda p, q, x: min(x, largest(p, q, epsilon))
    return _over(laws, math.inf, least, known, less)


def share(laws: Laws, epsilon: Real) -> float:
    """max of the hockey stick at epsilon: which part of a delta for each record is left; all of it without a law."""
    near = -outward(-exact(epsilon))
    return _over(laws, 0.0, 1.0, lambda x: (near, x), lambda p, q, x: max(x, hockey_stick(p, q, epsilon)))


def approx(laws: tuple[RecordLaw, ...], dp: Approx, most: Real | None = None) -> Approx:
    """(T(epsilon0), E delta0) with E the hockey stick at T; or the least epsilon from there on with E delta0 <= most.

    HS falls with epsilon, and at every epsilon >= T(epsilon0) the pair (epsilon, E delta0) is proved."""
    epsilon, own = pure(laws, dp.epsilon), exact(dp.delta)
    left = _part(laws, epsilon, own)
    if most is None or exact(left) <= exact(most):
        return Approx(epsilon, left)
    low, high = epsilon, _LARGEST
    if high <= low or exact(_part(laws, high, own)) > exact(most):
        raise NotProvable(
            f"no epsilon keeps delta at most {float(most):g}: some values of a record are possible under one secret "
            "only, or no law is known for some records; use a smaller delta for each record"
        )
    for _ in range(_TURNS):
        middle = low + (high - low) / 2
        if exact(_part(laws, middle, own)) <= exact(most):
            high = middle
        else:
            low = middle
    return Approx(high, _part(laws, high, own))


def _part(laws: Laws, epsilon: float, delta0: Fraction) -> float:
    """E delta0, rounded up, never above delta0."""
    left = min(exact(share(laws, epsilon)) * delta0, delta0)
    return as_meant(left, outward(left))


def renyi(laws: Laws, alpha: Fraction, rho: float) -> float:
    """The largest Rényi divergence over the laws, for a release of divergence at most rho for each record."""
    found = 0.0
    for law in laws:
        if law.plain:
            return rho
        found = max(found, *(divergence(p, q, alpha, rho) for _, _, p, q in law.pairs()), 0.0)
    return found


# Rényi divergences for each record against one record's secret: a plan that moves mass from law to law.
#
# If D_a(K_x || K_x') <= rho for all values x, x' of a record, then for every plan pi >= 0 with row sums p
#
#     e^((a - 1) D_a(pK || qK)) <= sum over x' of q(x')^(1 - a) (sum over x of pi(x, x') w(x, x'))^a,
#
# with w = e^((a - 1) rho / a) for x != x' and 1 for x = x'. The best plan levels the ratio r = p / q: it takes mass
# away wherever r is above some l1, and brings it wherever r is below l0 = l1 e^(-rho / a), so that the bound is sum q
# clip(r, l0, l1)^a. Any l0, l1 with w sum (p - l1 q)+ <= sum (l0 q - p)+ are a proof; they are searched in doubles and
# checked in balls.
#
# Proofs: docs/proofs/records.md#renyi.

_BITS = 160
_LARGE = 300.0
_FILLED = 1 + 1e-12
"""How much more mass is brought than is taken, so that the check in balls holds; it costs as much of the bound."""


def divergence(p: Counts, q: Counts, alpha: Fraction, rho: float) -> float:
    """A bound on D_alpha(pK || qK), rounded up, never above rho; one order of the secrets.

    Parameters: `p`, `q` are laws as whole numbers on the same states; `alpha` is a number above 1; `rho` bounds the
    divergence of the release at that order when one record is replaced.

    >>> import numpy as np
    >>> round(divergence(np.array([7, 3]), np.array([4, 6]), Fraction(2), 0.64), 8)
    0.16209675
    """
    if rho == 0:
        return 0.0
    ratios = Ratios(p, q)
    with balls.precision(_BITS):
        kept = _value(ratios, 0.0, None, alpha)
        if rho < _LARGE:
            low = ratios.level(float(alpha), rho) * _FILLED
            high = low * math.exp(rho / float(alpha))
            if balanced(ratios, low, high, alpha, rho):
                kept = min(kept, _value(ratios, low, high, alpha))
        return min(rho, kept)


def _value(ratios: Ratios, low: float, high: float | None, alpha: Fraction) -> float:
    """log (sum of q clip(r, low, high)^alpha) / (alpha - 1), from above; without `high` nothing is taken away."""
    beyond, between, below = ratios.cut(low, math.inf if high is None else high)
    if high is None and beyond != 0:
        return math.inf
    order, least = balls.of(alpha), arb(low)
    total = arb(beyond) * arb(high or 0.0) ** order + arb(below) * least**order
    for ratio, mass in between:
        total += arb(mass) * arb(ratio).max(least) ** order
    return max(0.0, meant_up(balls.upper(total.log() / (order - 1))))


def balanced(ratios: Ratios, low: float, high: float, alpha: Fraction, rho: float) -> bool:
    """Whether the plan that cuts p / q at `high` and fills it up to `low` brings all that it takes, proved.

    w sum (p - high q)+ <= sum (low q - p)+, with w = e^((alpha - 1) rho / alpha)."""
    order = balls.of(alpha)
    weight = ((order - 1) * arb(rho) / order).exp()
    taken, _ = ratios.stick(arb(high) - 1)
    _, spare = ratios.stick(arb(low) - 1)
    return bool(weight * taken <= spare + arb(low) - 1)


# Which pairs of secrets can be the worst at all: hockey sticks of all pairs of a law at once, from above, in doubles.
#
# A thousand secrets are a million ordered pairs, and ten thousand groups are as many laws. Almost all of them are
# proved to be milder than the worst pair known so far by a sum in doubles with a bound on its error; only the others
# are proved one by one. T(epsilon0; p, q) <= epsilon iff HS_epsilon(p || q) <= (e^epsilon - 1) / (e^epsilon0 - 1)
# (docs/proofs/records.md#the-inverse).

Known = Callable[[float], tuple[float, float]]
"""What is known so far -> (epsilon, h): a pair whose hockey stick at epsilon is at most h changes nothing."""
Proved = Callable[[Counts, Counts, float], float]
"""What is known once a pair of laws is proved, too."""
_SAFE = 1e-12
"""Far more than the relative error of two exponentials and a quotient."""
_LARGEST_EXPONENT = 700.0


def limit(epsilon: float, epsilon0: float) -> float:
    """(e^epsilon - 1) / (e^epsilon0 - 1), from below; 0 where that is beyond doubles."""
    if not 0 < epsilon0 <= _LARGEST_EXPONENT:
        return 0.0
    return math.expm1(min(epsilon, _LARGEST_EXPONENT)) / math.expm1(epsilon0) * (1 - _SAFE)


def settled(law: RecordLaw, found: float, known: Known, proved: Proved) -> float:
    """`found` once every ordered pair of a law is proved, or known to change nothing; the most suspect go first."""
    secrets = list(law.given.values())
    rows = np.array(secrets, dtype=np.float64)
    shares = rows / rows.sum(axis=1, keepdims=True)
    done = np.eye(len(secrets), dtype=bool)
    while (pair := suspect(shares, done, *known(found))) is not None:
        done[pair] = True
        found = proved(secrets[pair[0]], secrets[pair[1]], found)
    return found


def suspect(
    shares: NDArray[np.float64], done: NDArray[np.bool_], epsilon: float, most: float
) -> tuple[int, int] | None:
    """The pair with the largest hockey stick at epsilon among those not done; None if all of these are at most `most`.

    A share, e^epsilon (whose exponent may be half a unit off) and their product are within 4 + epsilon roundings, the
    sum of k terms within k roundings of the sum of their sizes: the error is at most (k + 2 epsilon + 8) 2^-52
    (1 + e^epsilon)."""
    near = min(epsilon, _LARGEST_EXPONENT)
    factor = math.exp(near)
    error = (shares.shape[1] + 2 * near + 8) * 2.0**-52 * (1 + factor)
    worst, found = most, None
    for s, row in enumerate(shares):
        sticks = np.maximum(row - factor * shares, 0).sum(axis=1) + error
        sticks[done[s]] = -math.inf
        t = int(np.argmax(sticks))
        if sticks[t] > worst:
            worst, found = float(sticks[t]), (s, t)
    return found
