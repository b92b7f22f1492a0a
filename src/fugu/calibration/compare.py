"""`compare`: all methods side by side."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.calibration.calibrate import check_budget, gaussian_proposal, propose
from fugu.calibration.comparison import Comparison, Row, refused
from fugu.calibration.method import ARITHMETIC, OUT_OF_RANGE, AnyBudget, Budget, Proposal, find_method, methods
from fugu.calibration.problem import problem
from fugu.calibration.prove import proved_noise
from fugu.calibration.reach import Problem
from fugu.calibration.renyi.target import plain
from fugu.errors import NotProvable
from fugu.guarantee import Approx, Renyi, RenyiCurve
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.laws.multinormal import MultivariateNormal
from fugu.laws.pair import LawPair, PairsLike, as_pairs
from fugu.loss.bounds import Noise, pure_bounds
from fugu.loss.search.laplace import pure_loss
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, decimal_up


def compare(
    scenario_or_pairs: PairsLike,
    budget: AnyBudget,
    *,
    grid: Real | str = "auto",
    declared_exact: bool = False,
    floor: float | None = None,
) -> Comparison:
    """Every method on the same lattice, with the tight epsilon that its scale really gives.

    The exact scale is proved in balls; a larger scale is a post-processing of it (theory F1), so its proof carries
    over. A method that fails is a row that says why, and hides no other. `grid` is the lattice step, as in `calibrate`;
    `declared_exact` and `floor` are for MultivariateNormal laws, as there.

    >>> import fugu
    >>> p, q = fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35])
    >>> [(row.method, round(row.scale, 8)) for row in compare(fugu.LawPair(p, q), fugu.Pure(0.1)).rows[3:]]
    [('relaxed-paper', 3.39072263), ('relaxed', 2.69096818), ('exact', 1.57445711)]
    """
    budget = plain(budget)
    check_budget(budget)
    pairs = as_pairs(scenario_or_pairs)
    if any(isinstance(pair.p, MultivariateNormal) for pair in pairs):
        from fugu.calibration.covariance.calibrate import normal_pairs
        from fugu.calibration.covariance.compare import compare_normal
        from fugu.calibration.covariance.wishes import Wishes

        model = getattr(scenario_or_pairs, "property", None)
        wishes = Wishes.of("best", grid, declared_exact=declared_exact, floor=floor, model=model)
        return compare_normal(normal_pairs(pairs), budget, wishes)
    if pairs[0].dimension > 1:
        from fugu.calibration.vectors.compare import compare_vectors

        return compare_vectors(pairs, budget, grid)
    if isinstance(budget, Renyi | RenyiCurve):
        from fugu.calibration.renyi.compare import compare_renyi

        return compare_renyi(pairs, budget, grid)
    rows = _laplace_rows(pairs, budget, grid)
    if isinstance(budget, Approx) and budget.delta > 0:
        rows.append(_gaussian_row(pairs, budget, grid))
    return Comparison(tuple(rows), budget)


def _laplace_rows(pairs: tuple[LawPair, ...], budget: Budget, grid: Real | str) -> list[Row]:
    """Every method for Laplace noise, on one lattice. What is at or above a proved scale is proved; where the exact
    scale is not, each is proved by itself."""
    try:
        asked = problem(pairs, budget, grid)
    except NotProvable as error:
        return [refused("exact", "laplace", str(error))]
    except ARITHMETIC:
        return [refused("exact", "laplace", OUT_OF_RANGE)]
    wanted = methods(asked.items)
    proposals = {m.name: propose(m, asked, budget) for m in wanted}
    least = _scale(asked, proposals["exact"], budget)
    rows = []
    for method in wanted:
        proposal, own = proposals[method.name], least
        if math.isinf(proposal.steps):
            rows.append(refused(method.name, "laplace", proposal.note or "no finite scale"))
            continue
        if method.name != "exact":
            own = _proposed(asked, proposal) if isinstance(least, float) else _scale(asked, proposal, budget)
        if isinstance(own, str):
            rows.append(refused(method.name, "laplace", own))
            continue
        proven = not isinstance(least, float) or own >= least
        rows.append(_row(asked, method.name, Laplace(own, asked.lattice.grid), proven, method.theorem, proposal.note))
    return rows


def _proposed(asked: Problem, proposal: Proposal) -> float | str:
    """The scale of a proposal, rounded up to ten digits."""
    try:
        return float(decimal_up(proposal.steps * float(asked.lattice.grid)))
    except ARITHMETIC:
        return OUT_OF_RANGE


def _scale(asked: Problem, proposal: Proposal, budget: Budget) -> float | str:
    """The least scale at or above a proposal that is proved, or why there is none."""
    if math.isinf(proposal.steps):
        return proposal.note or "no finite scale"
    try:
        noise, _ = proved_noise(asked.items, asked.lattice.grid, proposal.steps, budget)
    except NotProvable as error:
        return str(error)
    except ARITHMETIC:
        return OUT_OF_RANGE
    return float(noise.scale)


def _row(asked: Problem, method: str, noise: Noise, proven: bool, why: str, note: str) -> Row:
    return Row(
        method=method,
        noise="laplace" if isinstance(noise, Laplace) else "gaussian",
        scale=float(noise.scale),
        expected_absolute=noise.expected_error(),
        expected_squared=noise.expected_error("squared"),
        epsilon=_leak_of(asked, noise),
        proven=proven,
        why=why,
        note=note,
    )


def _gaussian_row(pairs: tuple[LawPair, ...], budget: Approx, grid: Real | str) -> Row:
    """The exact discrete Gaussian beside the Laplace methods, on the lattice that suits it."""
    try:
        asked, proposal = gaussian_proposal(pairs, budget, grid)
        noise, _ = proved_noise(asked.items, asked.lattice.grid, proposal.steps, budget, "gaussian")
    except NotProvable as error:
        return refused("exact", "gaussian", str(error))
    except ARITHMETIC:
        return refused("exact", "gaussian", OUT_OF_RANGE)
    return _row(asked, "exact", noise, True, find_method("exact").theorem, proposal.note)


def _leak_of(asked: Problem, noise: Noise) -> float:
    """The largest of any item; inf where it cannot be computed."""
    try:
        return max(_leak(item, noise) for item in asked.items)
    except (NotProvable, *ARITHMETIC):
        return math.inf


def _leak(item: Item, noise: Noise) -> float:
    """The tight pure epsilon that a noise really gives, from above; inf where none is finite."""
    if isinstance(item, Family):
        if isinstance(noise, Laplace) or noise.scale == 0 or not item.different:
            return pure_loss(item, float(noise.scale) / float(noise.grid or 1)).value
        return math.inf
    if isinstance(noise, Laplace) and noise.scale > 0:
        return pure_bounds(item, noise, Fraction(0))[0].value
    return 0.0 if item.same else math.inf
