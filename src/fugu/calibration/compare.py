"""`compare`: all methods side by side."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from fugu.calibration.calibrate import check_budget
from fugu.calibration.method import Budget, methods
from fugu.calibration.problem import problem
from fugu.calibration.prove import proved_noise
from fugu.exact import decimal_up
from fugu.laws.pair import PairsLike, as_pairs
from fugu.loss.fast import pure_loss
from fugu.noise.laplace import Laplace


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Comparison:
    """The rows, from the crudest method to the exact one; prints as a table."""

    rows: tuple[Row, ...]
    budget: Budget

    @property
    def best(self) -> Row:
        """The proven row of least expected error."""
        return min((r for r in self.rows if r.proven), key=lambda r: (r.scale, r.method != "exact"))

    def to_json(self) -> dict[str, Any]:
        """Rows as plain data; infinite numbers as null."""
        rows = [
            {k: None if isinstance(v, float) and math.isinf(v) else v for k, v in asdict(r).items()} for r in self.rows
        ]
        return {"budget": repr(self.budget), "best": self.best.method, "rows": rows}

    def __str__(self) -> str:
        head = f"{'method':<14}{'scale':>14}{'E|error|':>14}{'E error^2':>14}{'true epsilon':>14}  proven  note"
        lines = [
            f"{r.method:<14}{r.scale:>14.8g}{r.expected_absolute:>14.6g}{r.expected_squared:>14.6g}{r.epsilon:>14.8g}"
            f"  {'yes' if r.proven else 'no':<6}  {r.note or r.why if not r.proven else r.note}".rstrip()
            for r in self.rows
        ]
        return "\n".join([head, *lines])


def compare(scenario_or_pairs: PairsLike, budget: Budget) -> Comparison:
    """Every method on the same lattice, with the tight epsilon that its scale really gives.

    The exact scale is proved in balls; a larger scale is a post-processing of it (theory F1), so its proof carries
    over.

    >>> import fugu
    >>> p, q = fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35])
    >>> [(row.method, round(row.scale, 8)) for row in compare(fugu.LawPair(p, q), fugu.Pure(0.1)).rows[3:]]
    [('relaxed-paper', 3.39072263), ('relaxed', 2.69096818), ('exact', 1.57445711)]
    """
    check_budget(budget)
    asked = problem(as_pairs(scenario_or_pairs), budget)
    grid = asked.lattice.grid
    proposals = {m.name: m.propose(asked.families, budget) for m in methods()}
    least, _ = proved_noise(asked.families, grid, proposals["exact"].steps, budget)
    rows = []
    for method in methods():
        proposal = proposals[method.name]
        if math.isinf(proposal.steps):
            rows.append(
                Row(method.name, "laplace", math.inf, math.inf, math.inf, 0.0, False, "no finite scale", proposal.note)
            )
            continue
        exact = method.name == "exact"
        scale = float(least.scale) if exact else float(decimal_up(proposal.steps * float(grid)))
        noise = Laplace(scale, grid)
        leak = max(pure_loss(f, scale / float(grid)).value for f in asked.families)
        rows.append(
            Row(method.name, "laplace", scale, noise.expected_error(), noise.expected_error("squared"), leak,
                scale >= least.scale, method.theorem, proposal.note))  # fmt: skip
    return Comparison(tuple(rows), budget)
