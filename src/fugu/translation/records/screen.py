"""Which pairs of secrets can be the worst at all: hockey sticks of all pairs of a law at once, from above, in doubles.

A thousand secrets are a million ordered pairs, and ten thousand groups are as many laws. Almost all of them are proved
to be milder than the worst pair known so far by a sum in doubles with a bound on its error; only the others are proved
one by one. T(epsilon0; p, q) <= epsilon iff HS_epsilon(p || q) <= (e^epsilon - 1) / (e^epsilon0 - 1)
(docs/proofs/records.md#the-inverse).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fugu.laws.cells import Counts
from fugu.priors.record_laws import RecordLaw

Known = Callable[[float], tuple[float, float]]
"""What is known so far -> (epsilon, h): a pair whose hockey stick at epsilon is at most h changes nothing."""
_SAFE = 1e-12
"""Far more than the relative error of two exponentials and a quotient."""
_LARGEST = 700.0


def limit(epsilon: float, epsilon0: float) -> float:
    """(e^epsilon - 1) / (e^epsilon0 - 1), from below; 0 where that is beyond doubles."""
    if not 0 < epsilon0 <= _LARGEST:
        return 0.0
    return math.expm1(min(epsilon, _LARGEST)) / math.expm1(epsilon0) * (1 - _SAFE)


def settled(law: RecordLaw, found: float, known: Known, proved: Callable[[Counts, Counts, float], float]) -> float:
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
    near = min(epsilon, _LARGEST)
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
