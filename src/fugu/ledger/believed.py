"""A prior in a few words, for whoever reads a ledger: the file holds its digest, not the prior itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WORDS = {
    "BayesianNetwork": "a Bayesian network",
    "ChainSet": "any of several Markov chains",
    "DependentGroups": "groups of entries in any dependence",
    "GaussianField": "a Gaussian field",
    "HiddenMarkov": "a hidden Markov chain",
    "IndependentBlocks": "independent blocks",
    "IntervalChain": "every Markov chain between limits",
    "JointTable": "a joint table",
    "MarkovChain": "a Markov chain",
    "Records": "independent records of a known law",
    "TableBelief": "independent records, as a session believes",
}
_MOST = 200


def believed(prior: Any) -> str | None:
    """What kind of prior it is and how large; None for none. Of a class from outside only its name is written."""
    if prior is None:
        return None
    if isinstance(prior, Mapping | list | tuple):
        parts = list(prior.values()) if isinstance(prior, Mapping) else list(prior)
        kinds = dict.fromkeys(found for part in parts if (found := believed(part)) is not None)
        return brief_words(f"{len(parts)} independent blocks: {'; '.join(kinds)}")
    name = type(prior).__name__
    if not type(prior).__module__.startswith("fugu."):
        return brief_words(f"a prior of the class {name}")
    return brief_words(f"{_WORDS.get(name, 'a prior')}: {prior!r}")


def brief_words(words: str) -> str:
    """At most 200 characters."""
    return words if len(words) <= _MOST else f"{words[: _MOST - 3]}..."
