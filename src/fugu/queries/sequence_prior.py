"""The belief about sequences as a certificate writes it: one chain, or all chains between limits; and read back.

Limits that a reference gave come with what was counted in it, so that whoever reads the document works them out again:
limits that are not those of the counts are refused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from fugu.errors import CertificateError
from fugu.numbers.exact import read_number, read_whole
from fugu.priors.chain import MarkovChain
from fugu.priors.gapped import GapChains
from fugu.priors.interval_chain import GIVEN, IntervalChain, beginning
from fugu.priors.interval_counts import Counted, read_confidence
from fugu.priors.interval_fit import limited
from fugu.priors.interval_limits import Limits

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


@singledispatch
def chain_json(chain: Any) -> dict[str, Any]:
    """The belief in words and numbers; without its transitions, or limits, if they are too many."""
    raise TypeError(f"a {type(chain).__name__} is no belief about sequences that a certificate writes")


@chain_json.register
def _(chain: MarkovChain) -> dict[str, Any]:
    begins = "any" if chain.free else "stationary" if chain.stationary else "given"
    return {
        "class": f"independent users, each one Markov chain, {BEGINS[begins]}",
        "initial": begins if begins != "given" else chain.marginal(1).tolist(),
        "states": list(chain.states),
        "length": chain.length,
        "forbidden transitions": int((chain.transition(1) == 0).sum()),
        **({"transition": chain.transition(1).tolist()} if chain.size <= _MOST_SHOWN else {}),
    }


@chain_json.register
def _(chain: GapChains) -> dict[str, Any]:
    begins = "any" if chain.free else "given"
    shown = chain.size <= _MOST_SHOWN
    return {
        "class": "independent users, each one Markov chain on a regular grid of times that is seen at some of its "
        f"points, {BEGINS[begins]}",
        "initial": begins if begins != "given" else chain.chains[0].marginal(1).tolist(),
        "states": list(chain.states),
        "length": chain.length,
        "forbidden transitions": int((chain.step.transition(1) == 0).sum()),
        "steps": [list(pattern) for pattern in chain.steps],
        **({"transition": chain.step.transition(1).tolist()} if shown else {}),
    }


@chain_json.register
def _(chain: IntervalChain) -> dict[str, Any]:
    shown = chain.size <= _MOST_SHOWN
    return {
        "class": "independent users, each a Markov chain whose every step lies between limits, and may differ from "
        f"entry to entry, {BETWEEN[chain.start]}",
        "initial": chain.start if chain.first is None else _written(chain.first),
        "states": list(chain.states),
        "length": chain.length,
        "forbidden transitions": int((chain.upper == 0).sum()),
        **({"limits": _written(Limits(chain.lower, chain.upper))} if shown else {}),
        **({} if chain.counted is None else {"confidence": _evidence(chain.counted, shown)}),
    }


def _written(limits: Limits) -> dict[str, Any]:
    return {"lower": limits.lower.tolist(), "upper": limits.upper.tolist()}


def _evidence(counted: Counted, shown: bool) -> dict[str, Any]:
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


def _counted(stated: Mapping[str, Any]) -> Counted:
    """What the reference held; whole numbers, not negative."""
    first = stated["first entries"]
    rows = tuple(_whole(row) for row in stated["transitions"])
    found = Counted(rows, None if first is None else _whole(first), read_confidence(read_number(stated["confidence"])))
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
