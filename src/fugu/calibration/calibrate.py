"""`calibrate`: the least noise that provably meets a budget."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import ArrayLike

from fugu.calibration.exact import exact_with
from fugu.calibration.method import AnyBudget, Budget, Method, Proposal, find_method, methods
from fugu.calibration.problem import Problem, problem
from fugu.calibration.renyi.target import plain
from fugu.calibration.sealing import mechanism
from fugu.errors import BadBudget, NotProvable, UnknownName, UsageError
from fugu.exact import Real
from fugu.guarantee import Approx, Pure, Renyi, RenyiCurve
from fugu.laws.family import Family
from fugu.laws.multinormal import MultivariateNormal
from fugu.laws.pair import LawPair, PairsLike, as_pairs
from fugu.mechanism.additive import Additive
from fugu.mechanism.analysis import Analysis
from fugu.mechanism.context import Context
from fugu.mechanism.correlated import CorrelatedAdditive
from fugu.mechanism.vector import VectorAdditive
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import OBJECTIVES

NOISES = ("best", "laplace", "gaussian", "cauchy")
_MANY = 200_000
Calibrated = Additive | VectorAdditive | Analysis | CorrelatedAdditive


def calibrate(
    scenario_or_pairs: PairsLike,
    budget: AnyBudget,
    noise: str = "best",
    method: str = "best",
    grid: Real | str = "auto",
    objective: str = "absolute",
    *,
    declared_exact: bool = False,
    floor: float | None = None,
    weight: ArrayLike | None = None,
) -> Calibrated:
    """The mechanism of least expected error among the noises and methods, its guarantee proved in ball arithmetic.

    For MultivariateNormal laws only: `floor` is the least noise variance in every direction, `weight` the matrix W of
    the error tr(W S), and `declared_exact=True` says that the laws are exactly normal, which allows noise of deficient
    rank and no noise at all.

    >>> import fugu
    >>> student = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]))
    >>> mechanism = calibrate(student, fugu.Pure(0.1))
    >>> mechanism.noise.scale, mechanism.certificate.method
    (1.574457111, 'exact')
    """
    budget = plain(budget)
    check_budget(budget)
    _check_noise(noise)
    if objective not in OBJECTIVES:
        raise UnknownName("objective", objective, OBJECTIVES)
    try:
        if any(isinstance(pair.p, MultivariateNormal) for pair in as_pairs(scenario_or_pairs)):
            wishes = {"declared_exact": declared_exact, "floor": floor, "weight": weight, "objective": objective}
            return _normal(scenario_or_pairs, budget, noise, method, grid, **wishes)
        if declared_exact or floor is not None or weight is not None:
            raise UsageError("declared_exact, floor and weight are for MultivariateNormal laws; leave them out here")
        return _calibrate(scenario_or_pairs, budget, noise, method, grid, objective)
    except (OverflowError, ZeroDivisionError) as error:
        raise NotProvable(
            "the budget, the grid or the values are beyond the range of doubles; rescale the values"
        ) from error


def _normal(
    source: PairsLike, budget: AnyBudget, noise: str, method: str, grid: Real | str, **wishes: Any
) -> CorrelatedAdditive:
    """Normal laws of vectors: correlated Gaussian noise."""
    from fugu.calibration.property.calibrate import calibrate_normal, normal_pairs
    from fugu.calibration.property.wishes import Wishes

    if noise not in ("best", "gaussian"):
        raise NotProvable(f"normal vectors are protected by Gaussian noise here, not by {noise}; leave out noise=")
    asked = Wishes.of(method, grid, model=getattr(source, "property", None), **wishes)
    return calibrate_normal(normal_pairs(as_pairs(source)), budget, asked, Context.of(source))


def _calibrate(
    scenario_or_pairs: PairsLike, budget: AnyBudget, noise: str, method: str, grid: Real | str, objective: str
) -> Calibrated:
    """`calibrate`, once its arguments are known to make sense."""
    pairs, context = as_pairs(scenario_or_pairs), Context.of(scenario_or_pairs)
    if pairs[0].dimension > 1:
        from fugu.calibration.vectors.calibrate import calibrate_vectors

        return calibrate_vectors(pairs, budget, noise, method, grid, objective, context)
    if isinstance(budget, Renyi | RenyiCurve):
        from fugu.calibration.renyi.calibrate import calibrate_renyi

        return calibrate_renyi(pairs, budget, noise, method, grid, objective, context)
    if noise == "cauchy":
        raise NotProvable("Cauchy noise is analysed for Renyi budgets only; use noise='laplace' or 'gaussian'")
    chosen = None if method == "best" else find_method(method)
    if noise == "gaussian":
        return _gaussian(pairs, budget, method, grid, context)
    laplace = _laplace(pairs, budget, chosen, grid, context)
    if noise == "laplace" or chosen is not None or not isinstance(budget, Approx) or budget.delta == 0:
        return laplace
    return _better(laplace, pairs, budget, grid, context, objective)


def _laplace(
    pairs: tuple[LawPair, ...], budget: Budget, chosen: Method | None, grid: Real | str, context: Context
) -> Additive:
    """Laplace noise: the expected error grows with the scale whatever the objective, so the least scale is the best."""
    asked = problem(pairs, budget, grid)
    proposals = propose_all(asked, budget) if chosen is None else {chosen.name: chosen.propose(asked.items, budget)}
    name = chosen.name if chosen else min(proposals, key=lambda m: (proposals[m].steps, m != "exact"))
    if math.isinf(proposals[name].steps):
        raise NotProvable(f"method {name!r} finds no finite scale for this budget; use method='exact'")
    return mechanism(asked, budget, find_method(name), proposals, "laplace", context)


def _gaussian(pairs: tuple[LawPair, ...], budget: Budget, method: str, grid: Real | str, context: Context) -> Additive:
    """Discrete Gaussian noise: only the exact method is known for it."""
    if method not in ("best", "exact"):
        raise NotProvable(f"method {method!r} is for Laplace noise; Gaussian noise is calibrated by method='exact'")
    asked, proposal = _gaussian_proposal(pairs, budget, grid)
    return mechanism(asked, budget, find_method("exact"), {"exact": proposal}, "gaussian", context)


def _gaussian_proposal(pairs: tuple[LawPair, ...], budget: Budget, grid: Real | str) -> tuple[Problem, Proposal]:
    asked = problem(pairs, budget, grid, kind="gaussian")
    return asked, max((exact_with("gaussian", item, budget) for item in asked.items), key=lambda p: p.steps)


def _better(
    laplace: Additive, pairs: tuple[LawPair, ...], budget: Budget, grid: Real | str, context: Context, objective: str
) -> Additive:
    """Gaussian noise where it is expected to err less; it is proved only then, because the proof is the costly part."""
    try:
        asked, proposal = _gaussian_proposal(pairs, budget, grid)
        noise = Gaussian(proposal.steps * float(asked.lattice.grid), asked.lattice.grid)
        if noise.expected_error(objective) >= laplace.expected_error(objective):
            return laplace
        gaussian = mechanism(asked, budget, find_method("exact"), {"exact": proposal}, "gaussian", context)
    except NotProvable:
        return laplace
    return min(laplace, gaussian, key=lambda m: m.expected_error(objective))


def propose_all(asked: Problem, budget: Budget) -> dict[str, Proposal]:
    """Every method's scale on one problem; on very large ones only the exact scale, which none can beat."""
    cells = sum(len(f.points) * len(f.pairs) for f in asked.items if isinstance(f, Family))
    wanted = methods(asked.items) if cells <= _MANY else (find_method("exact"),)
    return {m.name: m.propose(asked.items, budget) for m in wanted}


def check_budget(budget: object) -> None:
    """A finite budget, or an error that says what is possible."""
    if isinstance(budget, RenyiCurve):
        return
    if not isinstance(budget, Pure | Approx | Renyi):
        raise BadBudget(
            "a budget is fugu.Pure(epsilon), Approx(epsilon, delta), Renyi(alpha, epsilon) or RenyiCurve, got "
            f"{type(budget).__name__}"
        )
    if math.isinf(budget.epsilon):
        raise BadBudget("an infinite epsilon promises nothing; give a finite one")


def _check_noise(noise: str) -> None:
    if noise not in NOISES:
        raise UnknownName("noise", noise, NOISES)
