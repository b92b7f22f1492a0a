"""`compare`: all methods side by side."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from fugu.calibration.calibrate import check_budget
from fugu.calibration.exact import exact_with
from fugu.calibration.method import Budget, find_method, methods
from fugu.calibration.problem import Problem, problem
from fugu.calibration.prove import proved_noise
from fugu.errors import NotProvable
from fugu.exact import decimal_up
from fugu.guarantee import Approx
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.laws.pair import LawPair, PairsLike, as_pairs
from fugu.loss.bounds import Noise, pure_bounds
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
        return min((r for r in self.rows if r.proven), key=lambda r: (r.expected_absolute, r.method != "exact"))

    def to_json(self) -> dict[str, Any]:
        """Rows as plain data; infinite numbers as null."""
        rows = [
            {k: None if isinstance(v, float) and math.isinf(v) else v for k, v in asdict(r).items()} for r in self.rows
        ]
        return {"budget": repr(self.budget), "best": self.best.method, "rows": rows}

    def __str__(self) -> str:
        names = ("scale", "E|error|", "E error^2", "true epsilon")
        lines = [f"{'method':<24}{'noise':<9}" + "".join(f"{name:>14}" for name in names) + "  proven  note"]
        for r in self.rows:
            numbers = (r.scale, r.expected_absolute, r.expected_squared, r.epsilon)
            row = f"{r.method:<24}{r.noise:<9}" + "".join(f"{x:>14.8g}" for x in numbers)
            lines.append(f"{row}  {'yes' if r.proven else 'no':<6}  {r.note if r.proven else r.note or r.why}".rstrip())
        return "\n".join(lines)


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
    pairs = as_pairs(scenario_or_pairs)
    asked = problem(pairs, budget)
    grid = asked.lattice.grid
    proposals = {m.name: m.propose(asked.items, budget) for m in methods(asked.items)}
    least, _ = proved_noise(asked.items, grid, proposals["exact"].steps, budget)
    rows = []
    for method in methods(asked.items):
        proposal = proposals[method.name]
        if math.isinf(proposal.steps):
            rows.append(_refused(method.name, "laplace", proposal.note or "no finite scale"))
            continue
        scale = float(least.scale) if method.name == "exact" else float(decimal_up(proposal.steps * float(grid)))
        rows.append(_row(asked, method.name, Laplace(scale, grid), scale >= least.scale, method.theorem, proposal.note))
    if isinstance(budget, Approx) and budget.delta > 0:
        rows.append(_gaussian_row(pairs, budget))
    return Comparison(tuple(rows), budget)


def _row(asked: Problem, method: str, noise: Noise, proven: bool, why: str, note: str) -> Row:
    return Row(
        method=method,
        noise="laplace" if isinstance(noise, Laplace) else "gaussian",
        scale=float(noise.scale),
        expected_absolute=noise.expected_error(),
        expected_squared=noise.expected_error("squared"),
        epsilon=max(_leak(item, noise) for item in asked.items),
        proven=proven,
        why=why,
        note=note,
    )


def _refused(method: str, noise: str, why: str) -> Row:
    return Row(method, noise, math.inf, math.inf, math.inf, 0.0, False, why, "")


def _gaussian_row(pairs: tuple[LawPair, ...], budget: Approx) -> Row:
    """The exact discrete Gaussian beside the Laplace methods, on the lattice that suits it."""
    try:
        asked = problem(pairs, budget, kind="gaussian")
        steps = max(exact_with("gaussian", item, budget).steps for item in asked.items)
        noise, _ = proved_noise(asked.items, asked.lattice.grid, steps, budget, "gaussian")
    except NotProvable as error:
        return _refused("exact", "gaussian", str(error))
    return _row(asked, "exact", noise, True, find_method("exact").theorem, "")


def _leak(item: Item, noise: Noise) -> float:
    """The tight pure epsilon that a noise really gives, from above; inf where none is finite."""
    if isinstance(item, Family):
        if isinstance(noise, Laplace) or noise.scale == 0 or not item.different:
            return pure_loss(item, float(noise.scale) / float(noise.grid or 1)).value
        return math.inf
    if isinstance(noise, Laplace) and noise.scale > 0:
        return pure_bounds(item, noise, Fraction(0))[0].value
    return 0.0 if item.same else math.inf
