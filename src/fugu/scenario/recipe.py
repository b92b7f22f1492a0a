"""What a scenario from a table says of itself: the recipe that makes it again, and how dates are numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fugu.data import Schema
from fugu.data.field import Field
from fugu.data.moments import days_text
from fugu.data.secrets import Protect
from fugu.laws.sets.sampled import Sampled
from fugu.scenario.query import Query


def dates_told(publish: str, known: Field) -> tuple[str, ...]:
    """How dates are numbers, if they are published."""
    if known.origin is None:
        return ()
    step = "" if known.step == 1 else f", in steps of {known.step} days"
    said = (
        f"{publish} is a date: its number is the days since {known.origin.isoformat()}{step}; noise is in days, and "
        "released numbers are written as the nearest date, which is a function of them alone"
    )
    return (said,)


def recipe_of(
    query: Query,
    spec: Protect,
    pairs: str | Sequence[Sequence[str]],
    unit: str | None,
    prior: str,
    public_prior: bool,
    components: int | str | None,
    schema: Schema | None,
    sampled: Sampled | None,
    reading: Schema,
) -> dict[str, Any] | None:
    """What `from_table` was told, in JSON types, so that beliefs can be fitted again; None for a predicate in code."""
    if spec.json is None:
        return None
    bins: Sequence[float | str] | None = query.edges or (None if query.nominal else query.categories)
    origin = reading.fields[query.publish].origin
    if origin is not None and query.edges is not None:
        bins = [days_text(origin, edge) for edge in query.edges]
    return {
        "publish": query.publish,
        "protect": spec.json,
        "pairs": pairs,
        "prior": prior,
        "bins": None if bins is None else list(bins),
        "missing": query.missing,
        "unit": unit,
        "public_prior": bool(public_prior),
        **({} if components is None else {"components": components}),
        **({} if sampled is None else {"confidence": str(sampled.confidence), "shift": str(sampled.shift)}),
        **({} if schema is None else {"schema": schema.to_json()}),
    }
