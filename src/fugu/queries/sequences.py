"""Queries on sequences with a guarantee per entry, which adds up and can be translated to Pufferfish once at the end.

    answer = Histogram(States(("home", "work"))).mechanism(epsilon).release(sequences)
    answer.value, answer.interval, answer.epsilon, answer.certificate, answer.charge

Replacing any one entry of any sequence changes the probability of every answer by at most a factor e^epsilon, on the
full product domain (docs/proofs/translation.md#queries-on-sequences). The noise is drawn exactly, on integers or by
exact coins, with the operating system's bits.

| query                                | what one replaced entry changes              | noise                       |
|--------------------------------------|----------------------------------------------|-----------------------------|
| `Count(state, states)`               | 1                                            | Lap(1 / epsilon)            |
| `Histogram(states)`                  | 2 in l1                                      | Lap(2 / epsilon) a count    |
| `Transitions(states)`                | 4 in l1, 2 if no sequence is longer than 2   | Lap(4 / epsilon) a count    |
| `Sum(numbers)`, `Mean(numbers)`      | high - low, and 1/n of it                    | Lap((high - low) / epsilon) |
| `TopK(k, states)`, `ArgMax(states)`  | every count by 1, the histogram by 2 in l1   | see `TopK`                  |
| `RandomisedResponse(states)`         | one published entry                          | exact coins                 |
| `Lipschitz(F, s, domain)`            | s in l1, as the user states                  | Lap(s / epsilon)            |
| `Select(u, candidates, s, domain)`   | every utility by s, as the user states       | permute-and-flip            |
| `Several(queries, shares)`           | as each of them, with its share of epsilon   | that of each                |

Counts, histograms, transitions, sums, means and rankings also with Gaussian noise: `LatticeMechanism`.
"""

from __future__ import annotations

from fugu.queries.sequence_counts import Count, Histogram, Mean, RandomisedResponse, Sum, Transitions
from fugu.queries.sequence_data import Numbers, States
from fugu.queries.sequence_lattice import LatticeMechanism
from fugu.queries.sequence_query import SequenceAnswer, SequenceMechanism, SequenceQuery, Several
from fugu.queries.sequence_selection import ArgMax, Lipschitz, Select, TopK

__all__ = [
    "ArgMax",
    "Count",
    "Histogram",
    "LatticeMechanism",
    "Lipschitz",
    "Mean",
    "Numbers",
    "RandomisedResponse",
    "Select",
    "SequenceAnswer",
    "SequenceMechanism",
    "SequenceQuery",
    "Several",
    "States",
    "Sum",
    "TopK",
    "Transitions",
]
