"""The chain that is believed about sequences: fitted on a reference, again and again the same from the same recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from fugu.data import Schema
from fugu.data.gaps import unbroken
from fugu.data.layout import MODELLED
from fugu.data.plan import Plan
from fugu.data.sequences import Sequences, Timed, declared_states, read_timed, sequence_schema
from fugu.errors import BadTable, UsageError
from fugu.numbers.exact import Real, read_number
from fugu.priors.chain import MarkovChain, Start
from fugu.priors.gapped import GapChains, covering
from fugu.priors.interval_chain import IntervalChain
from fugu.queries.sequence_prior import Chain

_MOST_NUMBERS = 1_000
"""Numbers that are states of a chain, at most; more are put into bins first."""


def chain_of(
    sequences: Sequences,
    state: str,
    smoothing: float,
    length: int | None,
    start: str = "fitted",
    order: Sequence[str] = (),
) -> MarkovChain:
    """The chain with the transition frequencies of these sequences; those of one entry hold no transition.

    `order`: in which states are listed, such as bins from low to high; the others after them."""
    known = _usable(sequences, state, length)
    seen = {entry for entries in known for entry in entries}
    names = [*(name for name in order if name in seen), *sorted(seen.difference(order))] if order else None
    try:
        begins = cast(Literal["fitted", "any", "stationary"], start)  # other words are refused
        return MarkovChain.fit(known, names, smoothing, length, begins)
    except UsageError as error:
        hint = "" if smoothing else "; on the command line, --smoothing 0.5 makes a prior with all transitions"
        raise BadTable(f"column {state!r}: {error}{hint}") from None


def limits_of(
    sequences: Sequences, state: str, length: int | None, start: str, confidence: Real, schema: Schema
) -> IntervalChain:
    """All chains that these sequences do not rule out; the states are those that the schema declares."""
    declared = declared_states(schema, state)
    if declared is None:
        raise UsageError(
            f"--confidence needs the states of column {state!r} declared before the reference is looked at: give "
            f'--schema with kind = "category" and values = [...] for {state!r}, or --bins of its numbers'
        )
    known = _usable(sequences, state, length)
    begins = cast(Literal["fitted", "any", "stationary"], start)
    try:
        return MarkovChain.fit(known, declared, length=length, start=begins, confidence=confidence)
    except UsageError as error:
        raise BadTable(f"column {state!r}: {error}") from None


def _usable(sequences: Sequences, state: str, length: int | None) -> list[list[Any]]:
    known = [entries for entries in sequences.values() if len(entries) > 1]
    if length is not None and length < 2:
        raise UsageError(f"--length must be a whole number of at least 2, got {length}")
    if not known:
        raise BadTable(f"no reference user has two rows, so column {state!r} shows no transition")
    return known


def chain_again(reference: str, recipe: Mapping[str, Any]) -> Chain:
    """The chain, or the chains between limits, that the recipe of a release document makes of a reference."""
    told = Schema({}) if recipe["schema"] is None else Schema.from_json(recipe["schema"])
    opened, names = told.open(reference), (recipe["by"], recipe["order"], recipe["state"])
    known = read_timed(opened, *names, schema=sequence_schema(opened, *names, schema=told))
    stated = recipe.get("confidence")
    level = None if stated is None else read_number(stated)
    steps = recipe.get("steps")
    return believed(known, told, recipe["state"], recipe["smoothing"], recipe["length"], recipe["start"], level, steps)


def believed(
    known: Timed,
    told: Schema,
    state: str,
    smoothing: float,
    length: int | None,
    start: str,
    confidence: Real | None,
    steps: Sequence[Sequence[int]] | None = None,
) -> Chain:
    """The chain of public sequences, or the chains between limits; from neighbours without a gap, if gaps are modelled.

    `known`: the reference; `told`: what was declared before; `length`: that of the grid, if gaps are modelled, unless
    `steps` has the patterns at which users are seen (`GapChains`)."""
    sequences = known.sequences
    _few_numbers(sequences, state)
    if told.sequence.gaps == MODELLED:
        length = known.plan.span if length is None else length
        if start == "fitted":  # what comes after a gap is no first entry
            start = "any"
        sequences = unbroken(known)
    if confidence is None:
        chain = chain_of(sequences, state, smoothing, length, start, told.sequence.labels)
        return chain if steps is None else _gapped(chain, steps)
    return limits_of(sequences, state, length, start, confidence, told)


def _few_numbers(sequences: Sequences, state: str) -> None:
    """Refuse numbers with as many states as values, at once: a chain of them has no transition seen twice."""
    values = {entry for entries in sequences.values() for entry in entries}
    numbers = sum(isinstance(value, int | float) for value in values)
    if numbers > _MOST_NUMBERS:
        raise UsageError(
            f"column {state!r} has {numbers:,} different numbers, and every one would be a state of the chain; give "
            "--bins (edges, or LOW:HIGH:STEP) to make a few states of them"
        )


def _gapped(chain: MarkovChain, steps: Sequence[Sequence[int]]) -> GapChains:
    """The same step and start for users who are seen at some points of the grid."""
    start: Start = "any" if chain.free else chain.marginal(1)
    said = tuple(line for line in chain.assumptions[1:] if not line.startswith("sequences have length"))
    return GapChains(chain.transition(1), steps, start, chain.states, said)


def steps_of(plan: Plan, sequences: Sequences) -> tuple[tuple[int, ...], ...] | None:
    """The patterns of users seen at these public times, few enough to be worked through; None for the whole grid.

    `sequences`: those of the reference, whose states the chain has."""
    states = len({entry for entries in sequences.values() for entry in entries})
    return covering((plan.times or {}).values(), states)
