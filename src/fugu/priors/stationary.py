"""The stationary law of a chain by elimination without subtraction (Grassmann, Taksar and Heyman 1985), in balls.

Proofs: docs/proofs/influence.md#the-stationary-law.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.numbers.balls import precision

Array = NDArray[np.float64]
UNIT = 2.0**-53
ENTRY = 8 * UNIT  # how far a stored probability may be from the one meant, relatively
_BITS = 128
_BALLS = 128


def reachable(positive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """closure[x, y]: y can be reached from x in zero or more steps of positive probability."""
    found = positive | np.eye(len(positive), dtype=bool)
    for _ in range(max(1, math.ceil(math.log2(len(positive) + 1)))):
        found = (found.astype(np.float32) @ found.astype(np.float32)) > 0
    return found


def closed_class(positive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The states of the only class that is never left; a chain with two has many stationary laws and is refused."""
    reach = reachable(positive)
    recurrent: NDArray[np.bool_] = ~np.asarray((reach & ~reach.T).any(axis=1))
    first = int(np.flatnonzero(recurrent)[0])
    if not np.array_equal(recurrent, reach[first] & recurrent):
        raise BadLaw(
            "the chain has several classes of states that are never left, so its stationary law is not unique; "
            "give initial= a law over the states"
        )
    return recurrent


def stationary_law(transition: Array) -> tuple[Array, float]:
    """The law pi = pi P and a bound on the relative error of each of its entries; 0 exactly on transient states.

    pi(x) is proportional to a sum over spanning trees of products of k - 1 off-diagonal probabilities, so relative
    errors of at most e in those move pi by at most ((1 + e) / (1 - e))^(k-1): here e = 8u. Elimination only adds,
    multiplies and divides numbers >= 0. Up to 128 states it is run in balls of 128 bits. Above, in floats: removing
    the last of n states perturbs the entries of the smaller chain by at most (n + 1)u relatively, hence pi by
    2 n (n + 1)u; back substitution adds 2 n u a state; together less than (k + 2)^3 u.

    >>> law, error = stationary_law(np.array([[0.6, 0.4], [0.2, 0.8]]))
    >>> bool(abs(law[0] - 1 / 3) <= error), error < 1e-14
    (True, True)
    """
    kept = np.flatnonzero(closed_class(transition > 0))
    inner = transition[np.ix_(kept, kept)]
    size = len(kept)
    law = np.zeros(len(transition))
    law[kept] = _in_balls(inner) if size <= _BALLS else _in_floats(inner)
    own = 2 * UNIT if size <= _BALLS else (size + 2) ** 3 * UNIT
    return law, 1.01 * (own + 2 * size * ENTRY)


def _in_balls(inner: Array) -> Array:
    with precision(_BITS):
        law = _eliminate(np.array([[arb(float(x)) for x in row] for row in inner], dtype=object))
        total = sum(law[1:], law[0])
        return np.array([float((x / total).mid()) for x in law])


def _in_floats(inner: Array) -> Array:
    if np.min(inner[inner > 0]) < 1e-100:
        raise BadLaw("a chain of more than 128 states needs probabilities of 0 or at least 1e-100")
    law = np.array(_eliminate(inner.copy()))
    return law / math.fsum(law)


def _eliminate(matrix: NDArray[Any]) -> list[Any]:
    """Remove the states from the last to the second, then substitute back; not yet normalised."""
    size = len(matrix)
    leaves: list[Any] = [None] * size
    for n in range(size - 1, 0, -1):
        leaves[n] = sum(matrix[n, 1:n], matrix[n, 0])
        matrix[:n, :n] += np.outer(matrix[:n, n] / leaves[n], matrix[n, :n])
    law = [matrix[0, 0] * 0 + 1]
    for n in range(1, size):
        law.append(sum((law[i] * matrix[i, n] for i in range(1, n)), law[0] * matrix[0, n]) / leaves[n])
    return law
