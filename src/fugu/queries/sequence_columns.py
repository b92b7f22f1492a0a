"""The answer to a question about sequences as the columns that are published."""

from __future__ import annotations

from typing import Any

import numpy as np

from fugu.queries.sequences import SequenceAnswer


def sequence_columns(answer: SequenceAnswer, query: str) -> dict[str, list[Any]]:
    """The answer as columns: labels, values, and where the exact answer lies with 95 %.

    Parameters:

    - `answer`: what was released.
    - `query`: the question in words, which labels a single number."""
    if answer.interval is None:
        chosen = list(answer.value) if isinstance(answer.value, tuple) else [answer.value]
        return {"rank": list(range(1, len(chosen) + 1)), "state": chosen}
    values = np.asarray(answer.value).ravel().tolist()
    ends = {"low": [v + answer.interval[0] for v in values], "high": [v + answer.interval[1] for v in values]}
    if answer.labels is None:
        return {"query": [query], "value": values, **ends}
    if isinstance(answer.labels[0], tuple):
        start, stop = (list(side) for side in zip(*answer.labels, strict=True))
        return {"from": start, "to": stop, "value": values, **ends}
    return {"state": list(answer.labels), "value": values, **ends}
