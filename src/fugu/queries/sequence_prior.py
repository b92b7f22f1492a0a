"""The belief about sequences: fitted on a reference by a recipe, as a certificate writes it, and what must be said of
it; and a Gaussian field as a belief about sums."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np

from fugu.data import Schema
from fugu.data.layout import MODELLED, PLAIN, SAID, EntryPlan, Layout
from fugu.data.sequences import Sequences, Timed, declared_states, read_timed, unbroken
from fugu.documents import reading as of
from fugu.documents.sentences import PRIVATE_NUMBERS
from fugu.errors import BadTable, CertificateError, FuguError, UsageError
from fugu.guarantee import Guarantee
from fugu.guarantee.curve import budget_from, budget_json
from fugu.numbers.exact import Real, read_number, read_whole
from fugu.priors.chain import GapChains, MarkovChain, Start, covering
from fugu.priors.fitting import RESTS, CountedTransitions, limited, read_confidence
from fugu.priors.gaussian_field import GaussianField
from fugu.priors.interval_chain import GIVEN, IntervalChain, Limits, beginning
from fugu.translation.translate import FULL_DOMAIN, INDEPENDENT_BLOCKS, translate

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
        evidence = {} if counted is None else {
            "confidence": str(counted.confidence), "means": counted.words()[0], "intervals": counted.intervals,
            "kind": "mixture intervals, valid for random numbers of visits; the error is shared equally",
            "first entries": None if counted.first is None else list(counted.first),
            **({"transitions": [list(row) for row in counted.transitions]} if shown else {}),
        }  # fmt: skip
        return {
            "class": "independent users, each a Markov chain whose every step lies between limits, and may differ from "
            f"entry to entry, {BETWEEN[chain.start]}",
            "initial": chain.start if chain.first is None else _written(chain.first),
            **named,
            "forbidden transitions": int((chain.upper == 0).sum()),
            **({"limits": _written(Limits(chain.lower, chain.upper))} if shown else {}),
            **({"confidence": evidence} if evidence else {}),
        }
    if not isinstance(chain, MarkovChain | GapChains):
        raise TypeError(f"a {type(chain).__name__} is not a belief about sequences that a certificate writes")
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
    rows = tuple(tuple(map(read_whole, row)) for row in stated["transitions"])
    begun = None if first is None else tuple(map(read_whole, first))
    listed = (*rows, *(() if begun is None else (begun,)))
    if any(count < 0 for row in listed for count in row):
        raise CertificateError("a count of the belief is negative")
    found = CountedTransitions(rows, begun, read_confidence(read_number(stated["confidence"])))
    if any(len(row) != len(rows) for row in listed):
        raise CertificateError("the counts of the belief are not a square table")
    if read_whole(stated["intervals"]) != found.intervals or stated["means"] != found.words()[0]:
        raise CertificateError("the words about the confidence are not those of its counts")
    return found


# The chain that is believed about sequences: fitted on a reference, again and again the same from the same recipe.


_MOST_NUMBERS = 1_000
"""Numbers that are states of a chain, at most; more are put into bins first."""


def chain_of(
    sequences: Sequences, state: str, smoothing: float, length: int | None, start: str = "fitted",
    names: Sequence[str] = (), confidence: Real | None = None,
) -> MarkovChain | IntervalChain:  # fmt: skip
    """The chain with the transition frequencies of these sequences, of which those of one entry hold no transition; or
    with a `confidence` all chains that they do not rule out.

    `names`: with a confidence, all states; else the order in which some are listed, such as bins from low to high, the
    others after them."""
    known = [entries for entries in sequences.values() if len(entries) > 1]
    if length is not None and length < 2:
        raise UsageError(f"--length must be a whole number of at least 2, got {length}")
    if not known:
        raise BadTable(f"no reference user has two rows, so column {state!r} shows no transition")
    begins = cast(Literal["fitted", "any", "stationary"], start)  # other words are refused
    hint = ""
    try:
        if confidence is not None:
            return MarkovChain.fit(known, names, length=length, start=begins, confidence=confidence)
        hint = "" if smoothing else "; on the command line, --smoothing 0.5 makes a prior with all transitions"
        seen = {entry for entries in known for entry in entries}
        listed = [*(name for name in names if name in seen), *sorted(seen.difference(names))] if names else None
        return MarkovChain.fit(known, listed, smoothing, length, begins)
    except UsageError as error:
        raise BadTable(f"column {state!r}: {error}{hint}") from None


def chain_by_hand(told: str, length: int | None) -> MarkovChain:
    """The chain that a text of JSON states: its states, transition rows, and start, "any", "stationary" or a law.

    >>> chain_by_hand('{"states": ["a", "b"], "transition": [["2/3", "1/3"], [0.5, 0.5]], "start": "any"}', 9).length
    9
    """
    try:
        given = json.loads(told)
    except (ValueError, RecursionError):
        raise UsageError("the chain is not JSON: a table is expected, as in [sequence.chain] of a file") from None
    if not isinstance(given, Mapping) or set(given) != set(_STATED):
        raise UsageError(f"[sequence.chain] must be a table of {', '.join(_STATED)}, and of nothing else")
    states, rows, start = (given[key] for key in _STATED)
    named = isinstance(states, list) and all(isinstance(x, str | int | float) and x is not True for x in states)
    if not named or len({*states}) < len(states) or len({isinstance(x, str) for x in states}) != 1:
        raise UsageError("states of [sequence.chain] must be a list of different texts, or of different numbers")
    if length is not None and not 0 < length <= _FARTHEST:
        raise UsageError(f"the length of the chain that is stated goes from 1 to {_FARTHEST:,} entries, got {length}")
    tables = [rows, *([] if isinstance(start, str) else [[start]])]
    if not all(isinstance(table, list) and all(isinstance(row, list) for row in table) for table in tables):
        raise UsageError("[sequence.chain]: transition is a list of rows, and start a list, 'any' or 'stationary'")
    try:
        numbers = [[[float(read_number(x)) for x in row] for row in table] for table in tables]
        begins = cast(Start, start if isinstance(start, str) else numbers[1][0])
        return MarkovChain(numbers[0], 2 if length is None else length, begins, states)
    except OverflowError:
        raise UsageError("[sequence.chain]: a number is beyond the range of doubles") from None
    except FuguError as error:
        raise UsageError(f"[sequence.chain]: {error}") from None


_STATED, _FARTHEST = ("states", "transition", "start"), 1_000_000


def chain_again(reference: str, recipe: Mapping[str, Any]) -> Chain:
    """The chain, or the chains between limits, that the recipe of a release document makes of a reference."""
    told = Schema({}) if recipe["schema"] is None else Schema.from_json(recipe["schema"])
    known = read_timed(reference, recipe["by"], recipe["order"], recipe["state"], told)
    stated = recipe.get("confidence")
    level = None if stated is None else read_number(stated)
    steps = recipe.get("steps")
    return believed(known, told, recipe["state"], recipe["smoothing"], recipe["length"], recipe["start"], level, steps)


def believed(
    known: Timed, told: Schema, state: str, smoothing: float, length: int | None, start: str, confidence: Real | None,
    steps: Sequence[Sequence[int]] | None = None,
) -> Chain:  # fmt: skip
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
    names = told.sequence.labels if confidence is None else declared_states(told, state)
    if names is None:
        raise UsageError(
            f"--confidence needs the states of column {state!r} declared before the reference is looked at: give "
            f'--schema with kind = "category" and values = [...] for {state!r}, or --bins of its numbers'
        )
    chain = chain_of(sequences, state, smoothing, length, start, names, confidence)
    if steps is None or not isinstance(chain, MarkovChain):
        return chain
    # the same step and start for users who are seen at some points of the grid
    begins: Start = "any" if chain.free else chain.marginal(1)
    said = tuple(line for line in chain.assumptions[1:] if not line.startswith("sequences have length"))
    return GapChains(chain.transition(1), steps, begins, chain.states, said)


def steps_of(plan: EntryPlan, sequences: Sequences) -> tuple[tuple[int, ...], ...] | None:
    """The patterns of users seen at these public times, few enough to be worked through; None for the whole grid.

    `sequences`: those of the reference, whose states the chain has."""
    states = len({entry for entries in sequences.values() for entry in entries})
    return covering((plan.times or {}).values(), states)


# What a certificate of sequences says in words, and which parts it has: each once (`documents.fields`).


REFERENCE, BY_HAND = "the reference", "no table: stated by hand"
_GAPS = {
    SAID: "The users, the numbers of their entries and the order of these are public; gaps in time are not modelled.",
    MODELLED: "The users and the times of their entries are public; entries that are missing on the grid of times are "
    "entries of the chain that are not published: steps across them are powers of its step.",
}
_LENGTH = "The length of the prior is that of the longest sequence, if not stated: lengths are public."
_ALONE = ("This is the only release.", "All releases of these users together are in one ledger.")
_TABLE = of.each(of.each(of.figure))
_LIMITS = of.parts({"lower": of.either(_TABLE, of.each(of.figure)), "upper": of.either(_TABLE, of.each(of.figure))})
_COUNTED = of.parts(
    {
        "confidence": of.exact,
        "means": of.text,
        "intervals": of.whole,
        "kind": of.text,
        "first entries": of.maybe(of.each(of.whole)),
    },
    {"transitions": of.each(of.each(of.whole))},
)
CHAIN = of.parts(
    {
        "class": of.text,
        "initial": of.either(of.text, of.each(of.figure), _LIMITS),
        "states": of.each(of.either(of.text, of.figure)),
        "length": of.whole,
        "forbidden transitions": of.whole,
        "smoothing": of.figure,
        "fitted on": of.text,
        "digest": of.maybe(of.text),
    },
    {"transition": _TABLE, "limits": _LIMITS, "steps": of.each(of.each(of.whole)), "confidence": _COUNTED},
)
"""A belief about sequences, and where it comes from."""


def needed_assumptions(
    prior: Mapping[str, Any], ledger: bool, layout: Layout = PLAIN
) -> tuple[Sequence[str], Sequence[str]]:
    """What must be said of a prior: before what the chain says of its own start, and after it."""
    stated = prior["fitted on"] == BY_HAND
    private = (PRIVATE_NUMBERS,) if prior["fitted on"] not in (REFERENCE, BY_HAND) else ()
    behind = (FULL_DOMAIN, _GAPS[layout.gaps], _LENGTH, *layout.sentences(), _ALONE[ledger], *private)
    if not {"limits", "confidence"}.isdisjoint(prior):
        source = f"found on {prior['fitted on']}" if "confidence" in prior else "declared"
        follows = f"Every user follows a chain between the limits stated, {source}; the guarantee is for all of them."
        told = prior.get("confidence")
        return (
            INDEPENDENT_BLOCKS,
            follows,
            *(() if told is None else (line_of(told["means"]), line_of(RESTS))),
        ), behind
    added = f"smoothed by {prior['smoothing']:g} for each transition" if prior["smoothing"] else "not smoothed"
    fitted = "by hand: no table was looked at for it" if stated else f"fitted on {prior['fitted on']}, {added}"
    follows = f"Every user follows the chain stated, {fitted}; the guarantee is for this prior."
    return (INDEPENDENT_BLOCKS, follows), behind


def starting(chain: Chain | None) -> list[str]:
    """What a chain says of its own start; nothing of one that is not in the document."""
    return [] if chain is None else [line_of(line) for line in chain.assumptions if "first entry" in line]


def line_of(words: str) -> str:
    return words[0].upper() + words[1:] + "."


# A Gaussian field in a certificate: the belief in numbers, what the release is worth under it, and read back. Whoever
# reads the document translates the guarantee per entry under the field *as written*, and compares.


FIELD_SECRETS = "x_i = u against x_i = v for every entry i of every user and all |u - v| <= width, in both orders"


def belief_claims(field: GaussianField, guarantee: Guarantee) -> dict[str, Any]:
    """The field, what is protected, what `guarantee` per entry is worth under it, and what that takes for granted."""
    return {
        "kind": "gaussian field",
        "covariance": [[str(x) for x in row] for row in field.covariance],
        "width": str(field.wide()),
        "secrets": FIELD_SECRETS,
        "worth": budget_json(translate(field, guarantee)),
        "assumptions": [*field.assumptions, INDEPENDENT_BLOCKS, FULL_DOMAIN],
    }


def check_belief(stated: Mapping[str, Any], guarantee: Guarantee) -> None:
    """CertificateError unless the belief in a document writes itself as the document does, and what is stated as its
    worth is not below what is proved now."""
    if stated["kind"] != "gaussian field":
        raise CertificateError("the certificate's belief is of a kind that this version of fugu does not know")
    rows = [[read_number(x) for x in row] for row in stated["covariance"]]
    own = belief_claims(GaussianField(rows, read_number(stated["width"])), guarantee)
    if any(stated.get(name) != part for name, part in own.items() if name not in ("worth", "assumptions")):
        raise CertificateError("the belief in the certificate is not what its numbers say")
    if not set(own["assumptions"]) <= set(stated["assumptions"]):
        raise CertificateError("the certificate leaves out assumptions that its proof needs")
    if not budget_from(own["worth"]) <= budget_from(dict(stated["worth"])):
        raise CertificateError("what is stated under the belief is below what is proved now")
