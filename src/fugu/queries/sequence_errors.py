"""The expected error of a question about sequences, worked out on reference sequences only.

Numbers have closed forms: lattice Laplace noise of rate r steps is 1 / sinh(r) large on average, and the rate is
epsilon / S for the sensitivity S. Of the k most frequent states the loss is sum over ranks of |count of the state
reported - count of the true one|: simulated on the counts of the reference, which stand in for the private ones, with
doubles, a few thousand fresh draws. These are estimates for planning, never guarantees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.queries.sequence_counts import Count, Histogram, Transitions
from fugu.queries.sequence_query import SequenceQuery
from fugu.queries.sequence_selection import TopK
from fugu.queries.sequence_sums import Mean, Sum

SPLIT = "split"
"""Epsilon split over the counts, as if each of them cost by itself: the baseline of Bai et al., section 7."""
_DRAWS, _LEAST_DRAWS, _MOST_GROUPS = 4000, 200, 60
_MOST_RATE = 700.0
Entries = tuple[tuple[int | Fraction, ...], ...]
"""Reference sequences as a domain read them, one item for each user."""
Floats = NDArray[np.float64]
Ranker = Callable[[Floats, int, float, np.random.Generator, int], NDArray[np.intp]]


def average_size(rate: float) -> float:
    """E|N| = 1 / sinh(rate) in steps, for P(N = k) ~ exp(-rate |k|).

    >>> round(average_size(0.01), 3)
    99.998
    """
    return 1 / math.sinh(min(rate, _MOST_RATE))


def grouped_users(data: Entries, users: int | None) -> list[Entries]:
    """The reference in groups of so many users, as a table to be released has them; all of them if None."""
    if users is None:
        return [data]
    if users < 1 or users > len(data):
        raise UsageError(f"--users must be in 1 .. {len(data)}, the number of users of the reference, got {users}")
    whole = [data[k : k + users] for k in range(0, len(data) - users + 1, users)]
    return whole[:_MOST_GROUPS]


@singledispatch
def expected_error(query: SequenceQuery, epsilon: float, way: str, groups: Sequence[Entries]) -> float:  # noqa: ARG001
    """The expected absolute error of one number, or the expected loss of a ranking.

    Parameters: `query`; `epsilon` for each entry; `way`: how it is answered, a method of `TopK`, "laplace" for one
    vector, or `SPLIT`; `groups`: reference sequences as the query's domain read them, one item for each table."""
    raise UsageError(f"no expected error is known for {query.name}")


@expected_error.register
def _(query: Count, epsilon: float, way: str, groups: Sequence[Entries]) -> float:  # noqa: ARG001
    return average_size(epsilon)


@expected_error.register
def _(query: Histogram, epsilon: float, way: str, groups: Sequence[Entries]) -> float:  # noqa: ARG001
    return average_size(epsilon / (len(query.domain) if way == SPLIT else 2))


@expected_error.register
def _(query: Transitions, epsilon: float, way: str, groups: Sequence[Entries]) -> float:  # noqa: ARG001
    return average_size(epsilon / (len(query.domain) ** 2 if way == SPLIT else float(query.sensitivity)))


@expected_error.register
def _(query: Sum, epsilon: float, way: str, groups: Sequence[Entries]) -> float:  # noqa: ARG001
    step = float(query.step or 0)
    return step * average_size(epsilon * step / float(query.sensitivity))


@expected_error.register
def _(query: Mean, epsilon: float, way: str, groups: Sequence[Entries]) -> float:  # noqa: ARG001
    step = float(query.step or 0)
    entries = sum(sum(map(len, group)) for group in groups) / len(groups)
    return step * average_size(epsilon * step / float(query.sensitivity)) / entries


@expected_error.register
def _(query: TopK, epsilon: float, way: str, groups: Sequence[Entries]) -> float:
    m, rng = len(query.domain), np.random.Generator(np.random.PCG64())
    counted = [np.bincount([int(c) for user in group for c in user], minlength=m).astype(float) for group in groups]
    scale = {"laplace": 2.0, SPLIT: float(m)}.get(way, 2.0 * query.rounds) / epsilon
    draws, rank = max(_LEAST_DRAWS, _DRAWS // len(groups)), _RANKERS[way]
    return float(np.mean([_loss(counts, rank(counts, query.k, scale, rng, draws)) for counts in counted]))


def ranked(query: TopK, counts: Floats, scale: float, gaussian: bool) -> tuple[float, float]:
    """(expected loss, how often the most frequent state comes first) of a ranking of these counts: the same draws for
    the same numbers. `scale`: of the noise, epsilon over what one entry moves, or the standard deviation."""
    rng = np.random.Generator(np.random.PCG64(0))
    rank = _NORMAL if gaussian else _RANKERS[query.way]
    draws = rank(counts, query.k, scale * (1 if gaussian or query.way == "laplace" else query.rounds), rng, _DRAWS)
    return _loss(counts, draws), float(np.mean(counts[draws[:, 0]] == counts.max()))


def _loss(counts: Floats, ranked: NDArray[np.intp]) -> float:
    """The mean over simulated rankings, one in each row, of sum |count of the reported - count of the true state|."""
    truth = np.sort(counts)[::-1][: ranked.shape[1]]
    return float(np.abs(counts[ranked] - truth).sum(axis=1).mean())


def _noised(noise: Callable[[np.random.Generator, tuple[int, int]], Floats]) -> Ranker:
    def rank(counts: Floats, k: int, scale: float, rng: np.random.Generator, draws: int) -> NDArray[np.intp]:
        return np.argsort(-(counts + scale * noise(rng, (draws, len(counts)))), axis=1, kind="stable")[:, :k]

    return rank


def _peeled(counts: Floats, k: int, scale: float, rng: np.random.Generator, draws: int) -> NDArray[np.intp]:
    """Permute-and-flip, which has the law of the largest after exponential noise, drawn anew in each round."""
    taken, rows = np.zeros((draws, k), dtype=np.intp), np.arange(draws)
    left = np.tile(counts, (draws, 1))
    for place in range(k):
        taken[:, place] = np.argmax(left + scale * rng.exponential(size=left.shape), axis=1)
        left[rows, taken[:, place]] = -np.inf
    return taken


_LAPLACE = _noised(lambda rng, shape: rng.laplace(size=shape))
_NORMAL = _noised(lambda rng, shape: rng.normal(size=shape))
_GUMBEL = _noised(lambda rng, shape: rng.gumbel(size=shape))
_RANKERS: dict[str, Ranker] = {
    "laplace": _LAPLACE, SPLIT: _LAPLACE, "exponential": _GUMBEL, "gumbel": _GUMBEL, "permute-and-flip": _peeled,
}  # fmt: skip
