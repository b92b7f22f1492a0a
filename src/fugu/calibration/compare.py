"""`compare`: all methods side by side."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.calibration.calibrate import check_budget
from fugu.calibration.comparison import Comparison, Row, refused
from fugu.calibration.exact import exact_with
from fugu.calibration.method import AnyBudget, find_method, methods
from fugu.calibration.problem import Problem, problem
from fugu.calibration.prove import proved_noise
from fugu.calibration.renyi.target import plain
from fugu.errors import NotProvable
from fugu.exact import decimal_up
from fugu.guarantee import Approx, Renyi, RenyiCurve
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.laws.multinormal import MultivariateNormal
from fugu.laws.pair import LawPair, PairsLike, as_pairs
from fugu.loss.bounds import Noise, pure_bounds
from fugu.loss.fast import pure_loss
from fugu.noise.laplace import Laplace


def compare(
    scenario_or_pairs: PairsLike, budget: AnyBudget, *, declared_exact: bool = False, floor: float | None = None
) -> Comparison:
    """Every method on the same lattice, with the tight epsilon that its scale really gives.

    The exact scale is proved in balls; a larger scale is a post-processing of it (theory F1), so its proof carries
    over. `declared_exact` and `floor` are for MultivariateNormal laws, as in `calibrate`.

    >>> import fugu
    >>> p, q = fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35])
    >>> [(row.method, round(row.scale, 8)) for row in compare(fugu.LawPair(p, q), fugu.Pure(0.1)).rows[3:]]
    [('relaxed-paper', 3.39072263), ('relaxed', 2.69096818), ('exact', 1.57445711)]
    """
    budget = plain(budget)
    check_budget(budget)
    pairs = as_pairs(scenario_or_pairs)
    if any(isinstance(pair.p, MultivariateNormal) for pair in pairs):
        from fugu.calibration.property.calibrate import normal_pairs
        from fugu.calibration.property.compare import compare_normal
        from fugu.calibration.property.wishes import Wishes

        model = getattr(scenario_or_pairs, "property", None)
        wishes = Wishes.of("best", "auto", declared_exact=declared_exact, floor=floor, model=model)
        return compare_normal(normal_pairs(pairs), budget, wishes)
    if pairs[0].dimension > 1:
        from fugu.calibration.vectors.compare import compare_vectors

        return compare_vectors(pairs, budget)
    if isinstance(budget, Renyi | RenyiCurve):
        from fugu.calibration.renyi.compare import compare_renyi

        return compare_renyi(pairs, budget)
    asked = problem(pairs, budget)
    grid = asked.lattice.grid
    proposals = {m.name: m.propose(asked.items, budget) for m in methods(asked.items)}
    least, _ = proved_noise(asked.items, grid, proposals["exact"].steps, budget)
    rows = []
    for method in methods(asked.items):
        proposal = proposals[method.name]
        if math.isinf(proposal.steps):
            rows.append(refused(method.name, "laplace", proposal.note or "no finite scale"))
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


def _gaussian_row(pairs: tuple[LawPair, ...], budget: Approx) -> Row:
    """The exact discrete Gaussian beside the Laplace methods, on the lattice that suits it."""
    try:
        asked = problem(pairs, budget, kind="gaussian")
        steps = max(exact_with("gaussian", item, budget).steps for item in asked.items)
        noise, _ = proved_noise(asked.items, asked.lattice.grid, steps, budget, "gaussian")
    except NotProvable as error:
        return refused("exact", "gaussian", str(error))
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
