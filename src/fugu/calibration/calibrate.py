"""`calibrate`: the least noise that provably meets a budget."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import ArrayLike

from fugu.calibration.exact import exact_with
from fugu.calibration.method import (
    ARITHMETIC,
    OUT_OF_RANGE,
    AnyBudget,
    Budget,
    Method,
    Proposal,
    attempted,
    find_method,
    methods,
)
from fugu.calibration.problem import problem
from fugu.calibration.reach import FINER, MOST_STEPS, Problem, coarse_note, ladder, reachable
from fugu.calibration.renyi.target import plain
from fugu.calibration.sealing import mechanism
from fugu.errors import BadBudget, NotProvable, UnknownName, UsageError
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
from fugu.noise.kind import OBJECTIVES
from fugu.numbers.exact import Real

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
    except ARITHMETIC as error:
        raise NotProvable(OUT_OF_RANGE) from error


def _normal(
    source: PairsLike, budget: AnyBudget, noise: str, method: str, grid: Real | str, **wishes: Any
) -> CorrelatedAdditive:
    """Normal laws of vectors: correlated Gaussian noise."""
    from fugu.calibration.covariance.calibrate import calibrate_normal, normal_pairs
    from fugu.calibration.covariance.wishes import Wishes

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
    alone = noise == "laplace" or chosen is not None or not isinstance(budget, Approx) or budget.delta == 0
    try:
        laplace = _laplace(pairs, budget, chosen, grid, context)
    except (NotProvable, *ARITHMETIC) as error:
        if alone:
            raise
        return _instead(error, pairs, budget, grid, context)
    return laplace if alone else _better(laplace, pairs, budget, grid, context, objective)


def _laplace(
    pairs: tuple[LawPair, ...], budget: Budget, chosen: Method | None, grid: Real | str, context: Context
) -> Additive:
    """Laplace noise: the expected error grows with the scale whatever the objective, so the least scale is the best;
    where that cannot be proved, the next one is tried."""

    def proposed(on: Problem) -> dict[str, Proposal]:
        return propose_all(on, budget) if chosen is None else {chosen.name: propose(chosen, on, budget)}

    asked = problem(pairs, budget, grid)
    proposals = proposed(asked)
    least = min(p.steps for p in proposals.values())
    if asked.free and MOST_STEPS < least < math.inf:
        coarse = asked.coarser(ladder(least / MOST_STEPS))
        if coarse.spread() >= FINER:
            asked, proposals = coarse, proposed(coarse)
    refusals = []
    for name in sorted(proposals, key=lambda m: (proposals[m].steps, m != "exact")):
        if math.isinf(proposals[name].steps):
            refusals.append(f"{name}: {proposals[name].note or 'no finite scale for this budget'}")
            continue
        try:
            return mechanism(asked, budget, find_method(name), proposals, "laplace", context)
        except NotProvable as error:
            refusals.append(f"{name}: {error}")
    raise NotProvable(f"no Laplace noise could be proved for {budget!r}: " + "; ".join(dict.fromkeys(refusals)))


def _gaussian(pairs: tuple[LawPair, ...], budget: Budget, method: str, grid: Real | str, context: Context) -> Additive:
    """Discrete Gaussian noise: only the exact method is known for it."""
    if method not in ("best", "exact"):
        raise NotProvable(f"method {method!r} is for Laplace noise; Gaussian noise is calibrated by method='exact'")
    asked, proposal = gaussian_proposal(pairs, budget, grid)
    return mechanism(asked, budget, find_method("exact"), {"exact": proposal}, "gaussian", context)


def gaussian_proposal(pairs: tuple[LawPair, ...], budget: Budget, grid: Real | str) -> tuple[Problem, Proposal]:
    """The least discrete Gaussian, on the laws' own lattice or on a coarser one that is within reach."""

    def search(on: Problem) -> float:
        return max(exact_with("gaussian", item, budget).steps for item in on.items)

    asked, steps = reachable(problem(pairs, budget, grid, kind="gaussian"), search)
    return asked, Proposal(steps, "" if asked.finer is None else coarse_note(asked))


def _instead(
    refusal: Exception, pairs: tuple[LawPair, ...], budget: Budget, grid: Real | str, context: Context
) -> Additive:
    """Gaussian noise where no Laplace noise is proved; both refusals where it is not either."""
    try:
        return _gaussian(pairs, budget, "best", grid, context)
    except (NotProvable, *ARITHMETIC) as error:
        told = [str(e) if isinstance(e, NotProvable) else OUT_OF_RANGE for e in (refusal, error)]
        raise NotProvable("; ".join(dict.fromkeys(told))) from error


def _better(
    laplace: Additive, pairs: tuple[LawPair, ...], budget: Budget, grid: Real | str, context: Context, objective: str
) -> Additive:
    """Gaussian noise where it is expected to err less; it is proved only then, because the proof is the costly part."""
    try:
        asked, proposal = gaussian_proposal(pairs, budget, grid)
        noise = Gaussian(proposal.steps * float(asked.lattice.grid), asked.lattice.grid)
        if noise.expected_error(objective) >= laplace.expected_error(objective):
            return laplace
        gaussian = mechanism(asked, budget, find_method("exact"), {"exact": proposal}, "gaussian", context)
    except (NotProvable, *ARITHMETIC):
        return laplace
    return min(laplace, gaussian, key=lambda m: m.expected_error(objective))


def propose_all(asked: Problem, budget: Budget) -> dict[str, Proposal]:
    """Every method's scale on one problem; on very large ones only the exact scale, which none can beat."""
    cells = sum(len(f.points) * len(f.pairs) for f in asked.items if isinstance(f, Family))
    wanted = methods(asked.items) if cells <= _MANY else (find_method("exact"),)
    return {m.name: propose(m, asked, budget) for m in wanted}


def propose(way: Method, asked: Problem, budget: Budget) -> Proposal:
    """One method's scale, or why it has none."""
    return attempted(lambda: way.propose(asked.items, budget))


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
