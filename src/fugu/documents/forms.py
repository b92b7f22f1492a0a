"""Forms of parts that are objects of their own: guarantees, chains, trainings, what is said of a mechanism.

They say which parts there are and of which type each is; what the numbers mean is read where they are used."""

from __future__ import annotations

from typing import Any

from fugu.documents.fields import (
    TEXTS,
    Form,
    each,
    either,
    exact,
    figure,
    maybe,
    named,
    one_of,
    parts,
    text,
    thing,
    truth,
    whole,
)

GUARANTEE = parts(
    {"kind": one_of("Pure", "Approx", "Renyi", "RenyiCurve", "ZCDP")},
    {"epsilon": exact, "delta": exact, "alpha": exact, "rho": exact, "epsilons": text},
)
SCHEMA = parts(
    {"columns": named(thing)},
    {
        "separator": maybe(text),
        "decimal": text,
        "encoding": text,
        "header": either(truth, TEXTS),
        "absent": TEXTS,
        "sequence": thing,
    },
)
"""How cells are read; what a column may say is for `Schema`."""
SAMPLED = parts(
    {
        "level": exact,
        "values": each(figure),
        "counts": named(each(whole)),
        "ordered": truth,
        "disjoint": truth,
        "shift": exact,
        "declared": text,
    }
)
"""The counts that confidence sets come from."""
_TABLE = each(each(figure))
_LIMITS = parts({"lower": either(_TABLE, each(figure)), "upper": either(_TABLE, each(figure))})
_COUNTED = parts(
    {"confidence": exact, "means": text, "intervals": whole, "kind": text, "first entries": maybe(each(whole))},
    {"transitions": each(each(whole))},
)
CHAIN = parts(
    {
        "class": text,
        "initial": either(text, each(figure), _LIMITS),
        "states": each(either(text, figure)),
        "length": whole,
        "forbidden transitions": whole,
        "smoothing": figure,
        "fitted on": text,
        "digest": maybe(text),
    },
    {"transition": _TABLE, "limits": _LIMITS, "steps": each(each(whole)), "confidence": _COUNTED},
)
"""A belief about sequences, and where it comes from."""
OBJECTIVE = parts(
    {
        "loss": parts({"kind": text}, {"clip": figure, "width": figure}),
        **dict.fromkeys(("clip", "penalty", "radius", "width"), figure),
        "private": text,
    }
)
_MAYBE = ("lipschitz", "smoothness", "strong_convexity", "domain", "sensitivity")
ACCOUNTANT = parts(
    {
        **dict.fromkeys(("steps", "records", "batch_size"), whole),
        **dict.fromkeys(("learning_rate", "noise"), exact),
        **dict.fromkeys(_MAYBE, maybe(exact)),
    }
)
BELIEF = parts({"words": text, "parameters": thing})
"""What is believed of the records of a training."""


def with_words(also: dict[str, Form] | None = None) -> Form:
    """An object that says itself in words, and perhaps has these parts; others are compared, and not read."""

    def read(content: Any, name: str) -> None:
        thing(content, name)
        text(content.get("words"), f"{name}/words")
        for key, form in (also or {}).items():
            if key in content:
                form(content[key], f"{name}/{key}")

    return read


_NUMBER = maybe(exact)
_ASKED = with_words({"query": text, "own": exact, "groups": whole})
_NOISE = with_words(
    {
        "kind": maybe(text),
        "questions": each(_ASKED),
        "post": TEXTS,
        **dict.fromkeys(("scale", "step", "sensitivity", "epsilon per entry", "noise", "share"), _NUMBER),
    }
)
MECHANISM = parts(
    {
        **dict.fromkeys(("group", "method", "theorem", "proof"), text),
        "about": maybe(thing),
        "noise": _NOISE,
        "proved": maybe(thing),
        "worst pair": maybe(text),
    }
)
"""What a release document says of one certificate."""
