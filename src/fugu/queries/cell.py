"""`Cell`: one released number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """One released number: its group, its value, and an interval for it that holds with 95 %."""

    group: str
    cell: str
    value: float
    low: float
    high: float
    scale: float
