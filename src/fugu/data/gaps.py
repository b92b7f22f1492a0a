"""Gaps in time: what is said of them, and where they cut a sequence; all from times, which are public."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise

from fugu.data.plan import Plan
from fugu.data.sequences import Sequences, Timed
from fugu.data.steps import span_words


def spacing_words(plan: Plan) -> str | None:
    """How far apart the entries of a user are, in a sentence; None where all are equally far, or nothing is known.

    On a grid: the largest gap and the share of entries after one. Else the largest distance and the usual one."""
    found = plan.distances
    if not found or max(found) == min(found):
        return None
    if plan.step is not None:
        after, most = sum(1 for steps in found if steps > 1), max(found) - 1
        share = 100 * after / len(found)
        return (
            f"Gaps in time: {share:.3g} % of the entries with one before them come after a gap; the largest is "
            f"{most:,} missing {'step' if most == 1 else 'steps'} of {plan.step.text} ({plan.step.said(most)})."
        )
    least, middle, most = min(found), sorted(found)[(len(found) - 1) // 2], max(found)
    said = [span_words(x) if plan.timed else f"{float(x):g}" for x in (least, middle, most)]
    apart = f"between {said[0]} and {said[2]} apart, half of them at most {said[1]}"
    return f"Gaps in time: neighbouring entries of a user are {apart}."


def unbroken(timed: Timed) -> Sequences:
    """The parts of sequences on a grid in which no step is missing, by user and number of the part."""
    if timed.plan.times is None:
        return timed.sequences
    found: Sequences = {}
    for user, entries in timed.sequences.items():
        at = timed.plan.times[str(user)]
        cuts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(at)) if b - a > 1), len(entries)]
        for number, (a, b) in enumerate(pairwise(cuts)):
            key: Hashable = (user, number)
            found[key] = entries[a:b]
    return found
