"""The answer to a question about sequences as the columns that are published."""

from __future__ import annotations

from typing import Any

import numpy as np

from fugu.queries.sequences import SequenceAnswer

TOGETHER = ("query", "rank", "state", "to", "value", "low", "high")
"""The columns of several questions in one file; what an answer has not is blank."""


def sequence_columns(answer: SequenceAnswer, query: str) -> dict[str, list[Any]]:
    """The answer as columns: labels, values, and where the exact answer lies with 95 %.

    Parameters:

    - `answer`: what was released.
    - `query`: the question in words, which labels a single number."""
    if "parts" in answer.certificate.body:
        return _together(answer)
    return _alone(answer, query)


def _alone(answer: SequenceAnswer, query: str) -> dict[str, list[Any]]:
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


def _together(answer: SequenceAnswer) -> dict[str, list[Any]]:
    """One row for each number or rank of each question."""
    found: dict[str, list[Any]] = {name: [] for name in TOGETHER}
    for part, claims in zip(answer.parts, answer.certificate["parts"], strict=True):
        columns = _alone(part, claims["query"])
        if "from" in columns:
            columns["state"] = columns.pop("from")
        rows = max(map(len, columns.values()))
        columns["query"] = [claims["query"]] * rows
        for name in TOGETHER:
            found[name] += columns.get(name, [None] * rows)
    return {name: cells for name, cells in found.items() if any(cell is not None for cell in cells)}
