"""The chain that is believed about sequences: fitted on a reference, again and again the same from the same recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from fugu.data import Schema
from fugu.data.sequences import Sequences, read_sequences, sequence_schema
from fugu.errors import BadTable, UsageError
from fugu.priors.chain import MarkovChain


def chain_of(
    sequences: Sequences, state: str, smoothing: float, length: int | None, start: str = "fitted"
) -> MarkovChain:
    """The chain with the transition frequencies of these sequences; those of one entry hold no transition."""
    known = [entries for entries in sequences.values() if len(entries) > 1]
    if length is not None and length < 2:
        raise UsageError(f"--length must be a whole number of at least 2, got {length}")
    if not known:
        raise BadTable(f"no reference user has two rows, so column {state!r} shows no transition")
    try:
        begins = cast(Literal["fitted", "any", "stationary"], start)  # other words are refused
        return MarkovChain.fit(known, smoothing=smoothing, length=length, start=begins)
    except UsageError as error:
        hint = "" if smoothing else "; on the command line, --smoothing 0.5 makes a prior with all transitions"
        raise BadTable(f"column {state!r}: {error}{hint}") from None


def chain_again(reference: str, recipe: Mapping[str, Any]) -> MarkovChain:
    """The chain that the recipe of a release document makes of a reference."""
    told = Schema({}) if recipe["schema"] is None else Schema.from_json(recipe["schema"])
    opened, names = told.open(reference), (recipe["by"], recipe["order"], recipe["state"])
    known = read_sequences(opened, *names, schema=sequence_schema(opened, *names, schema=told))
    return chain_of(known, recipe["state"], recipe["smoothing"], recipe["length"], recipe["start"])
