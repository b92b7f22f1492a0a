"""What a certificate of sequences says in words, and which parts it has: each once (`documents.fields`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fugu.data.layout import MODELLED, PLAIN, SAID, Layout
from fugu.documents import fields as of
from fugu.documents.per_entry import CLAIMS
from fugu.documents.sentences import PRIVATE_NUMBERS
from fugu.priors.interval_chain import RESTS
from fugu.queries.sequence_prior import Chain
from fugu.translation.translate import FULL_DOMAIN, INDEPENDENT_BLOCKS

REFERENCE = "the reference"
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
_PUFFERFISH = of.parts(
    {"secrets": of.text, "skipped": of.TEXTS, "asked": of.either(of.exact, of.GUARANTEE)},
    {"epsilon": of.exact, "proved": of.GUARANTEE},
)
SEQUENCE = of.listed(
    {**of.SEALED, **CLAIMS},
    proof={"reading": of.SCHEMA, "prior": CHAIN},
    derived={"pufferfish": _PUFFERFISH, "assumptions": of.TEXTS},
    publisher={"odd entries": of.text, "ledger": of.maybe(of.named(of.text))},
    inside={
        "pufferfish": {"asked": of.PROOF},
        "prior": {"smoothing": of.PUBLISHER, "fitted on": of.PUBLISHER, "digest": of.PUBLISHER},
    },
)


def needed_assumptions(
    prior: Mapping[str, Any], ledger: bool, layout: Layout = PLAIN
) -> tuple[Sequence[str], Sequence[str]]:
    """What must be said of a prior: before what the chain says of its own start, and after it."""
    private = (PRIVATE_NUMBERS,) if prior["fitted on"] != REFERENCE else ()
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
    fitted = f"fitted on {prior['fitted on']}, {added}"
    follows = f"Every user follows the chain stated, {fitted}; the guarantee is for this prior."
    return (INDEPENDENT_BLOCKS, follows), behind


def starting(chain: Chain | None) -> list[str]:
    """What a chain says of its own start; nothing of one that is not in the document."""
    return [] if chain is None else [line_of(line) for line in chain.assumptions if "first entry" in line]


def line_of(words: str) -> str:
    return words[0].upper() + words[1:] + "."
