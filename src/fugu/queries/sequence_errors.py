"""The expected error of a question about sequences on a reference, and how good a reported top-k list is."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.documents.per_entry import positive_epsilon
from fugu.errors import UsageError
from fugu.numbers.checks import is_count
from fugu.numbers.exact import Real, as_fraction
from fugu.queries.sequence_counts import Count, Histogram, Mean, Sum, Transitions
from fugu.queries.sequence_data import States
from fugu.queries.sequence_query import SequenceAnswer, SequenceMechanism, SequenceQuery
from fugu.queries.sequences import TopK

# The expected error of a question about sequences, worked out on reference sequences only.
#
# Numbers have closed forms: lattice Laplace noise of rate r steps is 1 / sinh(r) large on average, and the rate is
# epsilon / S for the sensitivity S. Of the k most frequent states the loss is sum over ranks of |count of the state
# reported - count of the true one|: simulated on the counts of the reference, which stand in for the private ones, with
# doubles, a few thousand fresh draws. These are estimates for planning, never guarantees.


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


def expected_error(query: SequenceQuery, epsilon: float, way: str, groups: Sequence[Entries]) -> float:
    """The expected absolute error of one number, or the expected loss of a ranking.

    Parameters: `query`; `epsilon` for each entry; `way`: how it is answered, a method of `TopK`, "laplace" for one
    vector, or `SPLIT`; `groups`: reference sequences as the query's domain read them, one item for each table."""
    if isinstance(query, TopK):
        m, rng = len(query.domain), np.random.Generator(np.random.PCG64())
        counted = [np.bincount([int(c) for user in group for c in user], minlength=m).astype(float) for group in groups]
        scale = {"laplace": 2.0, SPLIT: float(m)}.get(way, 2.0 * query.rounds) / epsilon
        draws, rank = max(_LEAST_DRAWS, _DRAWS // len(groups)), _RANKERS[way]
        return float(np.mean([_loss(counts, rank(counts, query.k, scale, rng, draws)) for counts in counted]))
    if not isinstance(query, Count | Histogram | Transitions | Sum | Mean):
        raise UsageError(f"no expected error is known for {query.name}")
    if way == SPLIT and query.labels is not None:
        return average_size(epsilon / len(query.labels))
    step = float(query.grid)
    over = sum(sum(map(len, group)) for group in groups) / len(groups) if isinstance(query, Mean) else 1
    return step * average_size(epsilon * step / float(query.sensitivity)) / over


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


# How good a reported top-k list is, and the baselines it is compared with.
#
# Counts are the true ones, a mapping from state to count; the true ranking breaks ties by the order of the mapping.
# All numbers here are computed from private counts: they are for experiments, never for release.


Counts = Mapping[Hashable, int]


def true_ranking(counts: Counts, k: int) -> tuple[Hashable, ...]:
    """The k states of largest count, largest first."""
    if not 1 <= k <= len(counts):
        raise UsageError(f"k must be in 1 .. {len(counts)}, the number of states, got {k}")
    return tuple(sorted(counts, key=lambda state: -counts[state])[:k])


def accuracy_at(rank: int, reported: Sequence[Hashable], counts: Counts) -> float:
    """Acc@k: 1 if the reported state of this rank is the true one of this rank, else 0.

    >>> accuracy_at(2, ["a", "c"], {"a": 5, "b": 3, "c": 1})
    0.0
    """
    _check(reported, counts)
    if not 1 <= rank <= len(reported):
        raise UsageError(f"rank must be in 1 .. {len(reported)}, the length of the report, got {rank}")
    return float(reported[rank - 1] == true_ranking(counts, rank)[-1])


def hit_rate(reported: Sequence[Hashable], counts: Counts) -> float:
    """The share of reported states that are among the true top ones, in any order.

    >>> hit_rate(["b", "c"], {"a": 5, "b": 3, "c": 1})
    0.5
    """
    _check(reported, counts)
    return len(set(reported) & set(true_ranking(counts, len(reported)))) / len(reported)


def ndcg(reported: Sequence[Hashable], counts: Counts) -> float:
    """sum over ranks r of count(reported_r) / log2(r + 1), over the same sum for the true ranking.

    >>> round(ndcg(["b", "a"], {"a": 5, "b": 3, "c": 1}), 6)
    0.892911
    """
    _check(reported, counts)
    best = _gain(true_ranking(counts, len(reported)), counts)
    if best == 0:
        raise UsageError("all counts are zero, so no ranking is better than another")
    return _gain(reported, counts) / best


def count_error(reported: Sequence[Hashable], counts: Counts) -> int:
    """sum over ranks of |true count of the reported state - true count of the true state|.

    >>> count_error(["b", "c"], {"a": 5, "b": 3, "c": 1})
    4
    """
    _check(reported, counts)
    pairs = zip(reported, true_ranking(counts, len(reported)), strict=True)
    return sum(abs(counts[said] - counts[true]) for said, true in pairs)


def group_epsilon(epsilon: Real, entries: int) -> Fraction:
    """epsilon / entries: per-entry DP with it hides a block of that many entries, whatever their dependence."""
    if not is_count(entries):
        raise UsageError(f"entries must be a whole number >= 1, got {entries!r}")
    return positive_epsilon(epsilon) / entries


def group_exponential(k: int, states: States, epsilon: Real, entries: int) -> SequenceMechanism:
    """Baseline: the exponential mechanism, peeled, with the budget of group DP."""
    return TopK(k, states, "exponential").mechanism(group_epsilon(epsilon, entries))


def group_laplace(k: int, states: States, epsilon: Real, entries: int) -> SequenceMechanism:
    """Baseline: the ranking of a histogram with Laplace noise, with the budget of group DP."""
    return TopK(k, states, "laplace").mechanism(group_epsilon(epsilon, entries))


def split_laplace(k: int, states: States, epsilon: Real) -> SequenceMechanism:
    """Baseline: the ranking of counts that each get epsilon / m for m states, as if each of them cost by itself.

    Noise of scale m / epsilon on every count: by the l1 sensitivity 2 it costs 2 epsilon / m in all, which is what
    this mechanism charges."""
    return TopK(k, states, "laplace").mechanism(2 * positive_epsilon(epsilon) / len(states))


def majority(k: int, states: States, reference: object) -> tuple[Hashable, ...]:
    """Baseline: the k most frequent states of public reference sequences; it does not look at the private ones.

    >>> majority(1, States("a b".split()), ["b", "b", "a"])
    ('b',)
    """
    counts = Histogram(states).exact(reference)
    return true_ranking(dict(zip(states.names, counts.tolist(), strict=True)), k)


def _gain(ranked: Sequence[Hashable], counts: Counts) -> float:
    return math.fsum(counts[state] / math.log2(rank + 1) for rank, state in enumerate(ranked, start=1))


def _check(reported: Sequence[Hashable], counts: Counts) -> None:
    if not reported or len(set(reported)) < len(reported) or not set(reported) <= set(counts):
        raise UsageError("the report must name different states, at least one, all of them with a true count")
    if any(as_fraction(count) < 0 for count in counts.values()):
        raise UsageError("counts must be >= 0")


# The answer to a question about sequences as the columns that are published.


TOGETHER = ("query", "rank", "state", "to", "value", "low", "high")
"""The columns of several questions in one file; what an answer has not is blank."""


def sequence_columns(answer: SequenceAnswer, query: str) -> dict[str, list[Any]]:
    """The answer as columns: labels, values, and where the exact answer lies with 95 %.

    Parameters:

    - `answer`: what was released.
    - `query`: the question in words, which labels a single number."""
    if "parts" in answer.certificate.body:
        return _together(answer)
    return _alone(answer, query)


def _alone(answer: SequenceAnswer, query: str) -> dict[str, list[Any]]:
    if answer.interval is None:
        chosen = list(answer.value) if isinstance(answer.value, tuple) else [answer.value]
        return {"rank": list(range(1, len(chosen) + 1)), "state": chosen}
    values = np.asarray(answer.value).ravel().tolist()
    ends = {"low": [v + answer.interval[0] for v in values], "high": [v + answer.interval[1] for v in values]}
    if answer.labels is None:
        return {"query": [query], "value": values, **ends}
    if isinstance(answer.labels[0], tuple):
        start, stop = (list(side) for side in zip(*answer.labels, strict=True))
        return {"from": start, "to": stop, "value": values, **ends}
    return {"state": list(answer.labels), "value": values, **ends}


def _together(answer: SequenceAnswer) -> dict[str, list[Any]]:
    """One row for each number or rank of each question."""
    found: dict[str, list[Any]] = {name: [] for name in TOGETHER}
    for part, claims in zip(answer.parts, answer.certificate["parts"], strict=True):
        columns = _alone(part, claims["query"])
        if "from" in columns:
            columns["state"] = columns.pop("from")
        rows = max(map(len, columns.values()))
        columns["query"] = [claims["query"]] * rows
        for name in TOGETHER:
            found[name] += columns.get(name, [None] * rows)
    return {name: cells for name, cells in found.items() if any(cell is not None for cell in cells)}
