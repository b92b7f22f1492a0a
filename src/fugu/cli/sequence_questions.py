"""The questions about sequences that `--query "top3, histogram, mean(x)"` stands for, with `--weights`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fugu.aliases import own_method
from fugu.cli import options
from fugu.cli.questions import split
from fugu.data.field import Field
from fugu.errors import UnknownName, UsageError
from fugu.numbers.exact import Real, as_fraction
from fugu.queries.sequence_prior import Chain
from fugu.queries.sequence_selection import WAYS
from fugu.queries.sequences import (
    Count,
    Histogram,
    Mean,
    Numbers,
    SequenceQuery,
    Several,
    States,
    Sum,
    TopK,
    Transitions,
)
from fugu.visible import several

_QUERY = re.compile(r"\s*(?P<name>[a-z]+?)\s*(?:(?P<k>\d+)|\(\s*(?P<of>.*?)\s*\))?\s*")


@dataclass(frozen=True)
class Wording:
    """How questions are worded: the texts of `--query`, `--weights`, `--method`, and what they are about.

    `state`: the column; `known`: what is known of it; `bounds` of numbers, if declared; `other`: the state that
    undeclared ones count as, None for the first; `declared`: whether that was given as an option."""

    query: str
    state: str
    known: Field
    weights: str | None = None
    method: str = "best"
    bounds: tuple[Real, Real] | None = None
    other: Any = None
    declared: bool = False

    def made(self, chain: Chain) -> SequenceQuery:
        """The question, or all of them as one; the domain is that of the chain or declared, never the data's."""
        texts = split(self.query)
        parts = [self._one(text, chain) for text in texts]
        if self.bounds is not None and not any(isinstance(part.domain, Numbers) for part in parts):
            raise UsageError("--bounds are for mean(COLUMN) and sum(COLUMN)")
        if self.declared and not any(isinstance(part.domain, States) for part in parts):
            raise UsageError("--other is for states; numbers are clipped to --bounds")
        if self.method != "best" and not any(isinstance(part, TopK) for part in parts):
            raise UsageError("--method: for sequences it says how the top ones are chosen; leave it out, or ask top3")
        if len(parts) == 1:
            if self.weights is not None:
                raise UsageError("--weights: shares of one budget by several questions; leave it out")
            return parts[0]
        return Several.of(parts, weights_of(self.weights, texts))

    def _one(self, text: str, chain: Chain) -> SequenceQuery:
        found = _QUERY.fullmatch(text)
        name, k, of = (found["name"], found["k"], found["of"]) if found else ("", None, None)
        if name in _AVERAGES and k is None and of:
            if of != self.state:
                raise UsageError(
                    f"the prior is about column {self.state!r} and says nothing of {of!r}; give --state {of!r}"
                )
            return _AVERAGES[name](self._numbers(chain))
        made = _OF_STATES.get((name, k is not None, bool(of)))
        if made is not None and (of is None or of):
            return made(States(chain.states, self.other), k or of, chain.length, self.method)
        raise UsageError(
            f"no query {text!r} of sequences; there are top3 (any number), histogram, count(STATE), transitions, "
            "mean(COLUMN) and sum(COLUMN)"
        )

    def _numbers(self, chain: Chain) -> Numbers:
        """The bounds declared, or the reference's; a missing number is what the schema says, or its median there."""
        if not self.known.numeric:
            raise UsageError(f"column {self.state!r} holds text; a mean or sum needs numbers")
        found: list[Any] = list(chain.states)
        low, high = map(as_fraction, self.bounds or (min(found), max(found)))
        return Numbers(low, high, min(max(as_fraction(float(self.known.replacement)), low), high))


def weights_of(text: str | None, questions: list[str]) -> list[Fraction] | None:
    """One positive number for each question; None without any."""
    if text is None:
        return None
    found = [as_fraction(options.positive("--weights", part)) for part in text.split(",")]
    if len(found) != len(questions):
        raise UsageError(
            f"--weights has {several(len(found), 'number')} for {several(len(questions), 'question')}; give one each"
        )
    return found


def method_of(name: str) -> str:
    """A way to choose the top ones, by name."""
    name = own_method(name)
    if name not in WAYS:
        raise UnknownName("method for sequences", name, WAYS)
    return name


_AVERAGES: dict[str, Callable[[Numbers], SequenceQuery]] = {"mean": Mean, "sum": Sum}
_OF_STATES: dict[tuple[str, bool, bool], Callable[[States, Any, int, str], SequenceQuery]] = {
    ("top", True, False): lambda domain, k, _, method: TopK(int(k), domain, method),
    ("count", False, True): lambda domain, of, *_: Count(domain.names[domain.code(of)], domain),
    ("histogram", False, False): lambda domain, *_: Histogram(domain),
    ("transitions", False, False): lambda domain, _, length, __: Transitions(domain, 2 if length == 2 else None),
}
"""Queries of states by name, whether a number follows it, and whether something stands in brackets."""
