"""The belief about sequences: fitted on a reference by a recipe, and as a certificate writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np

from fugu.data import Schema
from fugu.data.layout import MODELLED, EntryPlan
from fugu.data.sequences import Sequences, Timed, declared_states, read_timed, unbroken
from fugu.errors import BadTable, CertificateError, UsageError
from fugu.numbers.exact import Real, read_number, read_whole
from fugu.priors.chain import MarkovChain, Start
from fugu.priors.chains import GapChains, covering
from fugu.priors.interval_chain import GIVEN, CountedTransitions, IntervalChain, beginning, limited, read_confidence
from fugu.priors.interval_limits import Limits

# The belief about sequences as a certificate writes it: one chain, or all chains between limits; and read back.
#
# Limits that a reference gave come with what was counted in it, so that whoever reads the document works them out
# again: limits that are not those of the counts are refused.


Chain = MarkovChain | IntervalChain | GapChains
BEGINS = {
    "any": "whatever its first entry is",
    "stationary": "stationary",
    "given": "its first entry as in the reference",
}
"""What is said of the start of the chain."""
BETWEEN = {
    "any": BEGINS["any"],
    "stationary": "that has run for long",
    "given": "the law of its first entry between limits too",
}
_MOST_SHOWN = 128
"""Transition matrices of more states are not written: such a document cannot be translated again."""


def chain_json(chain: Chain) -> dict[str, Any]:
    """The belief in words and numbers; without its transitions, or limits, if they are too many."""
    shown, named = chain.size <= _MOST_SHOWN, {"states": list(chain.states), "length": chain.length}
    if isinstance(chain, IntervalChain):
        counted = chain.counted
        return {
            "class": "independent users, each a Markov chain whose every step lies between limits, and may differ from "
            f"entry to entry, {BETWEEN[chain.start]}",
            "initial": chain.start if chain.first is None else _written(chain.first),
            **named,
            "forbidden transitions": int((chain.upper == 0).sum()),
            **({"limits": _written(Limits(chain.lower, chain.upper))} if shown else {}),
            **({} if counted is None else {"confidence": _evidence(counted, shown)}),
        }
    if not isinstance(chain, MarkovChain | GapChains):
        raise TypeError(f"a {type(chain).__name__} is no belief about sequences that a certificate writes")
    gaps = isinstance(chain, GapChains)
    first, step = (chain.chains[0], chain.step) if isinstance(chain, GapChains) else (chain, chain)
    begins = "any" if chain.free else "stationary" if not gaps and first.stationary else "given"
    seen = " on a regular grid of times that is seen at some of its points" if gaps else ""
    return {
        "class": f"independent users, each one Markov chain{seen}, {BEGINS[begins]}",
        "initial": begins if begins != "given" else first.marginal(1).tolist(),
        **named,
        "forbidden transitions": int((step.transition(1) == 0).sum()),
        **({"steps": [list(pattern) for pattern in chain.steps]} if isinstance(chain, GapChains) else {}),
        **({"transition": step.transition(1).tolist()} if shown else {}),
    }


def _written(limits: Limits) -> dict[str, Any]:
    return {"lower": limits.lower.tolist(), "upper": limits.upper.tolist()}


def _evidence(counted: CountedTransitions, shown: bool) -> dict[str, Any]:
    return {
        "confidence": str(counted.confidence),
        "means": counted.words()[0],
        "intervals": counted.intervals,
        "kind": "mixture intervals, valid for random numbers of visits; the error is shared equally",
        "first entries": None if counted.first is None else list(counted.first),
        **({"transitions": [list(row) for row in counted.transitions]} if shown else {}),
    }


def is_written(stated: Mapping[str, Any]) -> bool:
    """Whether the belief is all in the document."""
    return "transition" in stated or "limits" in stated


def chain_from(stated: Mapping[str, Any]) -> Chain:
    """The belief that `chain_json` wrote: the numbers as they are, those of one chain normalised as always.

    `CertificateError` where limits are not those of the counts beside them."""
    length, states = read_whole(stated["length"]), stated["states"]
    if "steps" in stated:
        return GapChains(stated["transition"], stated["steps"], stated["initial"], states)
    if "limits" not in stated:
        return MarkovChain(stated["transition"], length, stated["initial"], states)
    rows, begins = _limits(stated["limits"]), stated["initial"]
    if "confidence" not in stated:
        known, kind = beginning(begins) if isinstance(begins, str) else (_limits(begins), GIVEN)
        return IntervalChain.between(rows, length, known, kind, states)
    found = limited(_counted(stated["confidence"]), length, begins, states)
    same = np.array_equal(found.lower, rows.lower) and np.array_equal(found.upper, rows.upper)
    fitted = found.counted is not None and found.counted.first is not None
    if not same or (fitted and chain_json(found)["initial"] != begins):
        raise CertificateError("the limits of the belief are not those of the counts beside them")
    return found


def _limits(stated: Mapping[str, Any]) -> Limits:
    return Limits(*(np.array(stated[name], dtype=np.float64) for name in ("lower", "upper")))


def _counted(stated: Mapping[str, Any]) -> CountedTransitions:
    """What the reference held; whole numbers, not negative."""
    first = stated["first entries"]
    rows = tuple(_whole(row) for row in stated["transitions"])
    found = CountedTransitions(
        rows, None if first is None else _whole(first), read_confidence(read_number(stated["confidence"]))
    )
    if any(len(row) != len(rows) for row in (*rows, *([] if found.first is None else [found.first]))):
        raise CertificateError("the counts of the belief are not a square table")
    if read_whole(stated["intervals"]) != found.intervals or stated["means"] != found.words()[0]:
        raise CertificateError("the words about the confidence are not those of its counts")
    return found


def _whole(counts: Any) -> tuple[int, ...]:
    found = tuple(read_whole(count) for count in counts)
    if any(count < 0 for count in found):
        raise CertificateError("a count of the belief is negative")
    return found


# The chain that is believed about sequences: fitted on a reference, again and again the same from the same recipe.


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
    known = read_timed(reference, recipe["by"], recipe["order"], recipe["state"], told)
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
    # Refuse numbers with as many states as values, at once: a chain of them has no transition seen twice
    values = {entry for entries in sequences.values() for entry in entries}
    numbers = sum(isinstance(value, int | float) for value in values)
    if numbers > _MOST_NUMBERS:
        raise UsageError(
            f"column {state!r} has {numbers:,} different numbers, and every one would be a state of the chain; give "
            "--bins (edges, or LOW:HIGH:STEP) to make a few states of them"
        )
    if told.sequence.gaps == MODELLED:
        length = known.plan.span if length is None else length
        if start == "fitted":  # what comes after a gap is no first entry
            start = "any"
        sequences = unbroken(known)
    if confidence is None:
        chain = chain_of(sequences, state, smoothing, length, start, told.sequence.labels)
        if steps is None:
            return chain
        # the same step and start for users who are seen at some points of the grid
        begins: Start = "any" if chain.free else chain.marginal(1)
        said = tuple(line for line in chain.assumptions[1:] if not line.startswith("sequences have length"))
        return GapChains(chain.transition(1), steps, begins, chain.states, said)
    return limits_of(sequences, state, length, start, confidence, told)


def steps_of(plan: EntryPlan, sequences: Sequences) -> tuple[tuple[int, ...], ...] | None:
    """The patterns of users seen at these public times, few enough to be worked through; None for the whole grid.

    `sequences`: those of the reference, whose states the chain has."""
    states = len({entry for entries in sequences.values() for entry in entries})
    return covering((plan.times or {}).values(), states)
