"""What a column may publish, as it was declared before anything was counted.

A confidence set speaks of every value that may come, seen or not. Values, ranges and edges that were read off the
reference make no such statement: boxes around bins laid on the reference covered 62.5 % where 95 % was said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.bins import day_bins, equal_bins, middles
from fugu.data.field import TRUTH, Field
from fugu.data.moments import days_text
from fugu.data.schema import Schema
from fugu.errors import UsageError
from fugu.numbers.exact import as_fraction, is_whole
from fugu.scenario.query import Query

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
        from fugu.laws.places import nearest

        known = ~np.isnan(published)
        moved = published.copy()
        moved[known] = nearest(self.values, published[known])
        return moved


def declared_bins(bins: Any, publish: str, schema: Schema | None) -> Any:
    """Bins as edges that the reference has no part in: a number of bins is laid over the declared bounds."""
    if not is_whole(bins):
        return bins
    known = _field(publish, schema)
    if known is None or known.bounds is None:
        raise UsageError(
            f"with confidence, {bins} bins are laid over the bounds that a schema declares for column {publish!r}, not "
            "over the reference: bins that follow the counts break the confidence. Declare bounds, or give the edges"
        )
    if bins < 1:
        raise UsageError(f"the number of bins must be at least 1, got {bins}")
    return list((day_bins if known.dated else equal_bins)(*known.bounds, int(bins)))


def declared_values(query: Query, schema: Schema | None) -> Declared:
    """Every value that the query may publish; UsageError with what to declare where that is not known."""
    known = _field(query.publish, schema)
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
    return Declared(_lattice(query.publish, known), ordered=True, words=_range(known))


def settled(schema: Schema, publish: str) -> Schema:
    """The schema with no rule of the published column taken from the reference: a missing cell without a meaning
    becomes the middle of the declared domain, not the reference's median."""
    return schema.with_field(publish, replace(schema.fields[publish], typical=None))


def _field(publish: str, schema: Schema | None) -> Field | None:
    return None if schema is None else schema.fields.get(publish)


def _range(known: Field) -> str:
    low, high = known.bounds or (0.0, 0.0)
    if known.origin is not None:
        first, last = (days_text(known.origin, end) for end in (low, high))
        return f"dates from {first} to {last} in steps of {known.step} days"
    return f"numbers from {low:g} to {high:g} in steps of {known.step}"


def _lattice(publish: str, known: Field) -> NDArray[np.float64]:
    """low, low + step, ..., the numbers that reading through the field may give."""
    assert known.bounds is not None
    assert known.step is not None
    low, high = (as_fraction(x) for x in known.bounds)
    count = int((high - low) / known.step) + 1
    if count > _MOST_VALUES:
        raise UsageError(
            f"column {publish!r} has {count} declared values, more than {_MOST_VALUES}: declare a larger step, or give "
            "bins by their edges"
        )
    return np.array([float(low + k * known.step) for k in range(count)])
