"""Confidence as a user asks for it: what must be declared beforehand, what is counted, what a sample would need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.field import TRUTH
from fugu.data.moments import day_bins, days_text, equal_bins, middles
from fugu.data.schema import Schema
from fugu.errors import BadTable, UsageError
from fugu.fixed import Fixed
from fugu.laws import Discrete
from fugu.laws.sets.confidence import Sampled
from fugu.numbers.checks import is_real
from fugu.numbers.exact import as_fraction, is_whole, read_number
from fugu.scenario.query import ColumnQuery
from fugu.scenario.scenario import Scenario

# What a column may publish, as it was declared before anything was counted.
#
# A confidence set speaks of every value that may come, seen or not. Values, ranges and edges that were read off the
# reference make no such statement: boxes around bins laid on the reference covered 62.5 % where 95 % was said.


_MOST_VALUES = 100_000


@final
@dataclass(frozen=True, eq=False)
class Declared:
    """Every value that may be published, in order; whether they are in order of size; and what was declared."""

    values: NDArray[np.float64]
    ordered: bool
    words: str

    def places(self, published: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each published number moved to the nearest declared value, as a release does; NaN stays."""
        from fugu.laws.components import nearest

        known = ~np.isnan(published)
        moved = published.copy()
        moved[known] = nearest(self.values, published[known])
        return moved


def declared_bins(bins: Any, publish: str, schema: Schema | None) -> Any:
    """Bins as edges that the reference has no part in: a number of bins is laid over the declared bounds."""
    if not is_whole(bins):
        return bins
    known = None if schema is None else schema.fields.get(publish)
    if known is None or known.bounds is None:
        raise UsageError(
            f"with confidence, {bins} bins are laid over the bounds that a schema declares for column {publish!r}, not "
            "over the reference: bins that follow the counts break the confidence. Declare bounds, or give the edges"
        )
    if bins < 1:
        raise UsageError(f"the number of bins must be at least 1, got {bins}")
    return list((day_bins if known.dated else equal_bins)(*known.bounds, int(bins)))


def declared_values(query: ColumnQuery, schema: Schema | None) -> Declared:
    """Every value that the query may publish; UsageError with what to declare where that is not known."""
    known = None if schema is None else schema.fields.get(query.publish)
    if query.edges is not None:
        return Declared(middles(query.edges), ordered=True, words=f"{len(query.edges) - 1} bins by their edges")
    if query.categories is not None:
        count = len(query.categories)
        what = f"{count} categories without an order" if query.nominal else f"an ordering of {count} categories"
        return Declared(np.arange(float(count)), ordered=not query.nominal, words=what)
    if known is not None and known.ordered and known.values == TRUTH:
        return Declared(np.array([0.0, 1.0]), ordered=True, words="the truth values 0 and 1")
    if known is None or not known.numeric or known.bounds is None or known.step is None:
        raise UsageError(
            f"confidence needs to know every value that column {query.publish!r} may publish, and nothing declares it: "
            "a value that nobody has seen may come, however many rows were seen. Give bins by their edges, or a schema "
            'with {"kind": "number", "bounds": (low, high), "step": step}'
        )
    low, high = (as_fraction(x) for x in known.bounds)
    count = int((high - low) / known.step) + 1
    if count > _MOST_VALUES:
        raise UsageError(
            f"column {query.publish!r} has {count} declared values, more than {_MOST_VALUES}: declare a larger step, "
            "or give bins by their edges"
        )
    words = f"numbers from {known.bounds[0]:g} to {known.bounds[1]:g} in steps of {known.step}"
    if known.origin is not None:
        first, last = (days_text(known.origin, end) for end in known.bounds)
        words = f"dates from {first} to {last} in steps of {known.step} days"
    values = np.array([float(low + k * known.step) for k in range(count)])  # all that reading by the field may give
    return Declared(values, ordered=True, words=words)


# Confidence as a user asks for it: when it means something, and what is counted for it.


def level_of(confidence: object, prior: str, public_prior: bool, shift: Fraction) -> Fraction | None:
    """The confidence as an exact number in (0, 1); None without one. Refused where it would mean nothing."""
    if confidence is None:
        if shift:
            raise UsageError("shift widens sets of beliefs, and without confidence there are none; give both, or none")
        return None
    if isinstance(confidence, str):  # of a recipe
        confidence = read_number(confidence)
    if not is_real(confidence) or not 0 < confidence < 1:
        raise UsageError(f"confidence must lie strictly between 0 and 1, for instance 0.95, got {confidence!r}")
    if prior != "empirical":
        raise UsageError(f"confidence is for the counts of a reference, prior='empirical'; {prior!r} fits a shape")
    if public_prior:
        raise UsageError(
            "confidence and public_prior exclude each other: a row that is protected is then in the counts, so the "
            "statement about a fresh draw of the reference does not apply, and the counts would be published. Give a "
            "reference that is independent of the table"
        )
    return as_fraction(confidence)


def moved_by(shift: object) -> Fraction:
    """The declared total variation between two populations, as an exact number in [0, 1)."""
    told = read_number(shift) if isinstance(shift, str) else shift
    if not is_real(told) or not 0 <= told < 1:
        raise UsageError(
            "shift is how far the protected rows may be from the reference's population, in total variation: a number "
            f"of at least 0 and below 1, got {shift!r}"
        )
    return as_fraction(told)


def sampled_of_counts(
    level: Fraction, laws: Mapping[str, Discrete], skipped: Sequence[tuple[str, str]], declared: Declared,
    disjoint: bool, shift: Fraction,
) -> Sampled:  # fmt: skip
    """The counts of every secret on the declared values; a secret without rows is refused: it cannot be ruled out."""
    if skipped:
        raise BadTable(
            f"secret {skipped[0][0]!r} has no rows in the reference, so at no confidence is anything known of its law: "
            "add rows, join it with another secret, or leave confidence out"
        )
    counts = {secret: tuple(int(c) for c in law.masses.parts.tolist()) for secret, law in laws.items()}
    values = tuple(declared.values.tolist())
    return Sampled(level, values, Fixed(counts), declared.ordered, disjoint, shift, declared.words)


# The same beliefs, known as well as a sample knows them: what a scenario without confidence would need with it.


USUAL = Fraction(19, 20)
"""The confidence that comparisons and pages show beside beliefs that are taken as they are."""
AS_SEEN = "the values seen, as if they had been declared"
_MOST_SAMPLED = 5_000


def sampled_of(scenario: Scenario, confidence: Fraction = USUAL) -> Sampled | None:
    """The counts behind a scenario at some confidence; None where its beliefs are no counts of a reference.

    Where the scenario has no confidence of its own, the values seen stand in for the declared ones: the figure is for
    comparison, and says too little if other values may come."""
    if scenario.sampled is not None:
        return replace(scenario.sampled, confidence=confidence)
    if scenario.query is None or scenario.empirical is not None or len(scenario.adversaries) != 1:
        return None
    laws = {secret: law for secret, law in scenario.adversaries[0].items() if isinstance(law, Discrete)}
    counted = all(law.masses.parts.dtype == np.int64 and law.dimension == 1 for law in laws.values())
    if len(laws) != len(scenario.adversaries[0]) or not counted:
        return None
    values = np.unique(np.concatenate([law.values for law in laws.values()]))
    if len(values) > _MOST_SAMPLED:
        return None
    counts = {}
    for secret, law in laws.items():
        row = np.zeros(len(values), dtype=np.int64)
        row[np.searchsorted(values, law.values)] = law.masses.parts
        counts[secret] = tuple(row.tolist())
    apart = scenario.report.overlapping == 0
    ordered = not scenario.query.nominal
    return Sampled(confidence, tuple(values.tolist()), Fixed(counts), ordered, apart, Fraction(0), AS_SEEN)


def counts_of_a_table(scenario: Scenario) -> bool:
    """Whether the beliefs are the frequencies of a reference, taken as they are."""
    return scenario.sampled is None and sampled_of(scenario) is not None


def with_sets(scenario: Scenario, sampled: Sampled) -> Scenario:
    """The scenario with the sets of these counts as beliefs."""
    return replace(scenario, laws=sampled.sets, empirical=sampled.laws, sampled=sampled, report=scenario.report)
