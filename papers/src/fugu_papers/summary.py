"""How many rows came out as printed, how many printed methods keep their promise, and what fugu saves."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from fugu_papers.experiment import Row, Verdict

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Summary:
    """Counts over rows. `ratio`: the median of printed method over fugu's best, where the method keeps its promise;
    infinite if for half of them no noise is needed."""

    rows: int
    verdicts: dict[str, int]
    unsound: int
    ratio: float | None

    def cells(self) -> tuple[str, ...]:
        """For a table: rows, the verdicts in the order of `VERDICTS`, those that are no guarantee, the ratio."""
        ratio = "" if self.ratio is None else "no noise needed" if math.isinf(self.ratio) else f"{self.ratio:.3g}"
        return (str(self.rows), *(str(self.verdicts[name]) for name in VERDICTS), str(self.unsound), ratio)


def summary(rows: Sequence[Row]) -> Summary:
    """Count.

    >>> summary([Row((), "W1", "3.33", 10 / 3, 1.0, 0.5, best=1.0), Row((), "loop", None, 0.1, 1.0, 73.0)]).cells()
    ('2', '1', '0', '0', '1', '1', '3.33')
    """
    verdicts: dict[str, int] = {name: sum(row.verdict == name for row in rows) for name in VERDICTS}
    ratios = [row.ratio for row in rows if row.ratio is not None]
    middle = statistics.median_high(ratios) if ratios else None
    return Summary(len(rows), verdicts, sum(row.sound is False for row in rows), middle)
