"""What a release still needs to be told: all of it at once, with an example of the user's own columns. These are the
reference's: the private table is not looked at, not even at its header."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from fugu.data.uses import Description, describe, suggested
from fugu.errors import FuguError, UsageError
from fugu.question import COLUMN, STATISTICS, Question
from fugu.releasing.scenario_file import Delivery


def require_complete(question: Question, delivery: Delivery, python: bool = False) -> None:
    """UsageError where something is missing, with an example for the command line, or for `python`."""
    missing = list(_missing(question, delivery))
    if not missing:
        return
    said = missing[0][1]
    if len(missing) > 1:
        listed = ", ".join(short for short, _ in missing)
        said = f"a release needs {len(missing)} more things: {listed}. fugu init asks for them and writes a file"
    raise UsageError(f"{said}. For example: {(_called if python else _typed)(*_example(question, delivery))}")


def _missing(question: Question, delivery: Delivery) -> Iterator[tuple[str, str]]:
    """Each thing that nobody said, as one of several and alone: table and reference, what is secret, what to publish,
    how much may be learnt, where it goes. What sequences and a property need beyond it, their routes know."""
    kind, writes = question.kind, not delivery.dry_run
    if question.table is None and (writes or question.public_prior):
        yield (
            "the private TABLE",
            (
                "give the TABLE to release; only --dry-run, which reads public facts alone, goes without it (and not "
                "with --public-prior, which fits beliefs on TABLE)"
            ),
        )
    by_hand = question.by_hand
    if question.reference is None and not question.public_prior and not by_hand:
        yield (
            "a reference (--reference REF, or --public-prior to believe TABLE itself)",
            (
                "beliefs must come from somewhere: give --reference REF (a table that is not the one released), or "
                "--public-prior to fit them on TABLE itself and count them as public; one of the two"
            ),
        )
    if question.chain is not None and question.length is None:
        yield (
            "how long the longest sequence is at most (--length N)",
            ("say how many entries the longest sequence has at most, which is public: --length N"),
        )
    if question.laws is not None and question.rows is None:
        yield (
            "how many rows the TABLE has (--rows N)",
            ("say how many rows TABLE has, which is public: --rows N; laws by hand have no reference that says it"),
        )
    if kind in (COLUMN, STATISTICS) and question.protect is None and not by_hand:
        yield (
            "what is secret (--protect COLUMN)",
            ("say what is secret: --protect COLUMN; or give --order and --state for sequences"),
        )
    if question.laws is not None and question.publish is None:
        yield "which column holds the values (--publish COLUMN)", "say which column holds the values: --publish COLUMN"
    elif kind == COLUMN and question.publish is None:
        yield (
            "what to publish (--query 'count, mean(COLUMN)', or --publish COLUMN)",
            ("say what to publish: --publish COLUMN, or --query 'mean(COLUMN)'; one of the two"),
        )
    if not question.epsilon:
        yield (
            "how much may be learnt (--epsilon 1: odds change by a factor of 2.72 at most)",
            ("say how much may be learnt: --epsilon; with 1 odds change by a factor of 2.72 at most, with 0.5 of 1.65"),
        )
    if delivery.output is None and writes:
        yield (
            "where it goes (-o OUT.csv)",
            ("say where the release goes: -o OUT.csv; only --dry-run, which writes nothing, goes without it"),
        )


_SHORT = 200
"""Laws of so many characters are part of an example."""


def statistics_of(seen: Description, protect: tuple[str, ...]) -> str:
    """Statistics to begin with."""
    found = suggested(seen, protect=protect)
    numbers = [f"mean({name})" for name in found["publish"][:1]]
    return ", ".join(["count", *numbers, *(f"histogram({name})" for name in found["count"][:1])])


def _example(question: Question, delivery: Delivery) -> tuple[dict[str, str], str, str]:
    """Options, table and output: what was given, and what the reference suggests for the rest."""
    protect, asked = question.protect or "COLUMN", "count, mean(COLUMN)"
    if question.reference is not None:
        try:
            seen = describe(question.reference)
        except (FuguError, OSError):  # the reference has its own refusal, when it is read
            seen = None
        if seen is not None:
            protect = question.protect or next(iter(suggested(seen, question.publish)["protect"]), "COLUMN")
            asked = statistics_of(seen, (protect,))
    told = {"public_prior": ""} if question.public_prior else {"reference": question.reference or "REFERENCE.csv"}
    if question.chain is not None:
        chain = question.chain if len(question.chain) < _SHORT else "CHAIN"
        told = {"chain": chain, "length": str(question.length or "N")}
    elif question.laws is not None:
        laws = question.laws if len(question.laws) < _SHORT else "LAWS"
        told = {"laws": laws, "publish": "COLUMN", "rows": str(question.rows or "N")}
    elif question.kind in (COLUMN, STATISTICS):
        told["protect"] = protect
    for name in ("publish", "query", "order", "state", "by", "hide", "statistics", "size", "bounds", "unit"):
        if question.given(name):
            told[name] = str(getattr(question, name))
    if question.kind == COLUMN and question.publish is None and question.laws is None:
        told["query"] = asked
    return {**told, "epsilon": question.epsilon or "1"}, question.table or "TABLE.csv", delivery.output or "OUT.csv"


def _typed(told: dict[str, str], table: str, out: str) -> str:
    words = [part for name, value in told.items() for part in (f"--{name.replace('_', '-')}", value) if part]
    return shlex.join(["fugu", "release", table, *words, "-o", out])


def _called(told: dict[str, str], table: str, out: str) -> str:
    plain = {name: value if name == "epsilon" else repr(value or True) for name, value in told.items()}
    parts = ", ".join(f"{name}={value}" for name, value in plain.items())
    return f"fugu.release(fugu.Question({parts}), {table!r}, {out!r})"
