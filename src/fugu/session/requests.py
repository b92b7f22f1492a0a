"""The names of requests, and the questions of a list."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction

from fugu.documents.document import canonical_json
from fugu.errors import BadBudget, UsageError
from fugu.numbers.exact import Real, number
from fugu.queries.asking import Options, Plan
from fugu.queries.statistic import Question

_OPTIONS = {"query", "bounds", "step", "bins", "grid"}


def request_of(what: str, plans: Sequence[Plan], epsilon: Fraction | None, more: object = None) -> str:
    """One name for one question with its options: asked again, it is the same request."""
    told = [[str(p.question), [f.to_json() for f in p.features], p.law, [str(s) for s in p.shares]] for p in plans]
    text = canonical_json([what, told, None if epsilon is None else str(epsilon), more])
    return f"{what} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def allowance(epsilon: Real | None) -> Fraction | None:
    """How far a question may raise what is spent; None for what is usual."""
    found = None if epsilon is None else number(epsilon, "epsilon")
    if found is not None and found <= 0:
        raise BadBudget("a question costs something, so its epsilon is a number above 0")
    return found


def items_of(questions: object) -> list[tuple[Question, Options]]:
    """The questions of a list; a text alone is a list of one."""
    listed = [questions] if isinstance(questions, str | Question) else questions
    if not isinstance(listed, Sequence) or not listed:
        raise UsageError("questions is a list of at least one question")
    return [item_of(item) for item in listed]


def item_of(item: object) -> tuple[Question, Options]:
    """A question of a list: its text, or a dict with "query" and options."""
    if isinstance(item, str | Question):
        return item if isinstance(item, Question) else Question.parse(item), Options()
    if not isinstance(item, Mapping) or "query" not in item or not set(item) <= _OPTIONS:
        raise UsageError(f"a question of a list is a text, or a dict with query and {', '.join(sorted(_OPTIONS))}")
    options = {name: value for name, value in item.items() if name != "query"}
    return Question.parse(item["query"]), Options(**options)
