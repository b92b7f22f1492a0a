"""`Comparison`: all methods side by side, as rows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from fugu.errors import NotProvable
from fugu.guarantee.curve import Guarantee
from fugu.visible import Json


@dataclass(frozen=True, repr=False)
class Row:
    """One method: the scale it asks for, what that costs, what it truly leaks, and whether it is proved."""

    method: str
    noise: str
    scale: float
    expected_absolute: float
    expected_squared: float
    epsilon: float
    proven: bool
    why: str
    note: str
    released: bool = True
    """Whether this noise can be released; analysis only otherwise."""

    def __repr__(self) -> str:
        shown = f"scale={self.scale:.9g}, expected_absolute={self.expected_absolute:.9g}, proven={self.proven}"
        return f"Row({self.method!r}, {self.noise!r}, {shown})"


@dataclass(frozen=True, repr=False)
class Comparison:
    """All methods side by side, what `compare` returns; prints as a table.

    `rows`: one `Row` per noise and method, from the crudest method to the exact one. `budget`: what they were asked to
    meet. `best`: the row that `calibrate` would take."""

    rows: tuple[Row, ...]
    budget: Guarantee

    def __repr__(self) -> str:
        return f"Comparison({len(self.rows)} rows for {self.budget!r})"

    @property
    def best(self) -> Row:
        """The proven row of least expected error among the noises that can be released; `NotProvable` if there is
        none."""
        proven = [r for r in self.rows if r.proven and r.released]
        if not proven:
            reasons = dict.fromkeys(f"{r.method} ({r.noise}): {r.why}" for r in self.rows if not r.proven)
            raise NotProvable(f"no method is proved for {self.budget!r}: " + "; ".join(reasons))
        return min(proven, key=lambda r: (r.expected_absolute, r.method != "exact"))

    def to_json(self) -> Json:
        """Rows as plain data; infinite numbers as null."""
        rows = [
            {k: None if isinstance(v, float) and math.isinf(v) else v for k, v in asdict(r).items()} for r in self.rows
        ]
        return {"budget": str(self.budget), "best": self.best.method, "rows": rows}

    def __str__(self) -> str:
        names = ("scale", "E|error|", "E error^2", "true epsilon")
        lines = [f"{'method':<24}{'noise':<9}" + "".join(f"{name:>14}" for name in names) + "  proven  note"]
        for r in self.rows:
            numbers = (r.scale, r.expected_absolute, r.expected_squared, r.epsilon)
            row = f"{r.method:<24}{r.noise:<9}" + "".join(f"{x:>14.8g}" for x in numbers)
            lines.append(f"{row}  {'yes' if r.proven else 'no':<6}  {r.note if r.proven else r.note or r.why}".rstrip())
        return "\n".join(lines)


def above(epsilon: float, delta: float) -> str:
    """Why a scale is not proved: the bounds that were proved are above the budget."""
    return f"the proved bound, epsilon {epsilon:.12g} and delta {delta:.3g}, is above the budget"


def refused(method: str, noise: str, why: str) -> Row:
    """The row of a method that has nothing to offer here, and why."""
    return Row(method, noise, math.inf, math.inf, math.inf, math.inf, False, why, "")
