"""How good a reported top-k list is, and the baselines it is compared with."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction

from fugu.documents.per_entry import positive_epsilon
from fugu.errors import UsageError
from fugu.numbers.checks import is_count
from fugu.numbers.exact import Real, as_fraction
from fugu.sequences import Histogram, SequenceMechanism, States, TopK

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
