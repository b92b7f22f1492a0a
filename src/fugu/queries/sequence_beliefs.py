"""The chain that is believed about sequences: fitted on a reference, again and again the same from the same recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from fugu.data import Schema
from fugu.data.sequences import Sequences, read_sequences, sequence_schema
from fugu.errors import BadTable, UsageError
from fugu.numbers.exact import Real, read_number
from fugu.priors.chain import MarkovChain
from fugu.priors.interval_chain import IntervalChain
from fugu.queries.sequence_prior import Chain


def chain_of(
    sequences: Sequences, state: str, smoothing: float, length: int | None, start: str = "fitted"
) -> MarkovChain:
    """The chain with the transition frequencies of these sequences; those of one entry hold no transition."""
    known = _usable(sequences, state, length)
    try:
        begins = cast(Literal["fitted", "any", "stationary"], start)  # other words are refused
        return MarkovChain.fit(known, smoothing=smoothing, length=length, start=begins)
    except UsageError as error:
        hint = "" if smoothing else "; on the command line, --smoothing 0.5 makes a prior with all transitions"
        raise BadTable(f"column {state!r}: {error}{hint}") from None


def limits_of(
    sequences: Sequences, state: str, length: int | None, start: str, confidence: Real, schema: Schema
) -> IntervalChain:
    """All chains that these sequences do not rule out; the states are those that the schema declares."""
    field = schema.fields.get(state)
    if field is None or field.values is None:
        raise UsageError(
            f"--confidence needs the states of column {state!r} declared before the reference is looked at: give "
            f'--schema with kind = "category" and values = [...] for {state!r}'
        )
    known = _usable(sequences, state, length)
    begins = cast(Literal["fitted", "any", "stationary"], start)
    try:
        return MarkovChain.fit(known, field.values, length=length, start=begins, confidence=confidence)
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
    known = read_sequences(opened, *names, schema=sequence_schema(opened, *names, schema=told))
    if (stated := recipe.get("confidence")) is not None:
        return limits_of(known, recipe["state"], recipe["length"], recipe["start"], read_number(stated), told)
    return chain_of(known, recipe["state"], recipe["smoothing"], recipe["length"], recipe["start"])
