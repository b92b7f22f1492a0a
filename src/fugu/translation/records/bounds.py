"""Guarantees for each record, translated with all laws of a belief: the worst adversary, pair and order counts.

Of a record without a law a release says at most its epsilon for each entry, unreduced.

Proofs: docs/proofs/records.md#compose-first, docs/proofs/records.md#epsilon-and-delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from fugu.errors import NotProvable
from fugu.guarantee.kinds import Approx
from fugu.guarantee.numbers import exact, outward
from fugu.loss.cells.threshold import as_meant, hockey_stick, largest, worth
from fugu.numbers.exact import Real
from fugu.priors.record_laws import RecordLaw
from fugu.translation.records.renyi import divergence
from fugu.translation.records.screen import limit, settled

Laws = Iterable[RecordLaw]
_LARGEST = 74.0
"""Above the logarithm of every finite ratio of two laws."""
_TURNS = 60


def pure(laws: Laws, epsilon0: Real) -> float:
    """max of T(epsilon0; p, q) over the laws; epsilon0 itself where no law is known."""
    own = exact(epsilon0)
    most = math.inf if math.isinf(epsilon0) else as_meant(own, outward(own))
    found = 0.0
    for law in laws:
        if law.plain:
            return most
        known, more = lambda x: (x, limit(x, most)), lambda p, q, x: max(x, worth(p, q, epsilon0))
        found = settled(law, found, known, more)
    return found


def budget(laws: Laws, epsilon: Real) -> float:
    """The largest epsilon0 that is worth at most epsilon, rounded down; inf if the columns may go out as they are."""
    wanted = exact(epsilon)
    least = as_meant(wanted, -outward(-wanted))
    found = math.inf
    for law in laws:
        if law.plain:
            return least
        known, less = lambda x: (least, limit(least, x)), lambda p, q, x: min(x, largest(p, q, epsilon))
        found = settled(law, found, known, less)
    return found


def share(laws: Laws, epsilon: Real) -> float:
    """max of the hockey stick at epsilon: which part of a delta for each record is left; all of it without a law."""
    found, near = 0.0, -outward(-exact(epsilon))
    for law in laws:
        if law.plain:
            return 1.0
        known, more = lambda x: (near, x), lambda p, q, x: max(x, hockey_stick(p, q, epsilon))
        found = settled(law, found, known, more)
    return found


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
