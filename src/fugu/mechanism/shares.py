"""What a mechanism about a property of the whole enforces, and what its certificate says of it.

One release is about one data set: a vector of its statistics. Those lie between ends that follow from the bounds to
which records are clipped (0 and n for a count); a vector outside is moved to the ends before noise is added, which
changes nothing for statistics that were computed as the certificate says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fugu.documents.shares import Stated
from fugu.errors import BadLaw
from fugu.numbers.exact import read_number

if TYPE_CHECKING:
    from fugu.scenario.property_model import PropertyModel

Column = NDArray[np.float64]


def shares_json(model: PropertyModel) -> Stated:
    """The property, the shares and pairs that were proved, the statistics and their ends, in JSON types."""
    found: Stated = {
        "name": model.name,
        "size": model.size,
        "tolerance": str(model.tolerance),
        "statistics": [str(s) for s in model.statistics],
        "limits": [None if ends is None else [str(x) for x in ends] for ends in model.limits],
        "shares": [
            {"name": label, "from": k, "to": k + width}
            for label, k, width in zip(model.labels, model.counts, model.proved.widths, strict=True)
        ],
        "pairs": [[model.labels[i], model.labels[j]] for i, j in model.pairs],
        "every": model.proved.every,
    }
    if model.proved.every and model.replacement and len(model.statistics) > 1:
        found["records"] = [law.to_json() for law in model.records]
    return found


def require_one(column: Column, stated: Stated | None) -> None:
    """Refuse more than one row: the guarantee is for the statistics of one data set, published once."""
    if stated is not None and len(column) > 1:
        raise BadLaw(
            f"this mechanism hides a property of one data set and publishes its statistics once, "
            f"{len(stated['statistics'])} of them; {len(column)} rows were given. Give one row"
        )


def clipped(column: Column, stated: Stated | None) -> Column:
    """Every statistic between its ends; those without ends as they are."""
    if stated is None or not any(stated["limits"]):
        return column
    low, high = (
        np.array([side * math.inf if ends is None else float(read_number(ends[place])) for ends in stated["limits"]])
        for place, side in ((0, -1), (1, 1))
    )
    return np.asarray(np.clip(column, low, high) if column.ndim > 1 else np.clip(column, low[0], high[0]))
