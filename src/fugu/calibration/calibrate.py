"""`calibrate`: the least noise that provably meets a budget."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

from fugu.calibration.exact import exact_with
from fugu.calibration.method import Budget, Method, Proposal, find_method, methods
from fugu.calibration.problem import Problem, problem
from fugu.calibration.prove import Proof, prove, proved_noise
from fugu.errors import BadBudget, NotProvable, UnknownName
from fugu.exact import Real, as_fraction
from fugu.guarantee import Approx, Pure, Renyi
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item, items
from fugu.laws.pair import LawPair, PairsLike, as_pairs
from fugu.loss.bounds import Noise
from fugu.mechanism.additive import Additive
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.context import ONE_RELEASE, Context
from fugu.mechanism.encoding import budget_json
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import OBJECTIVES, Laplace
from fugu.noise.lattice import Lattice

NOISES = ("best", "laplace", "gaussian")
_MANY = 200_000


def calibrate(
    scenario_or_pairs: PairsLike,
    budget: Budget,
    noise: str = "best",
    method: str = "best",
    grid: Real | str = "auto",
    objective: str = "absolute",
) -> Additive:
    """The mechanism of least expected error among the noises and methods, its guarantee proved in ball arithmetic.

    >>> import fugu
    >>> student = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]))
    >>> mechanism = calibrate(student, fugu.Pure(0.1))
    >>> mechanism.noise.scale, mechanism.certificate.method
    (1.574457111, 'exact')
    """
    check_budget(budget)
    _check_noise(noise)
    if objective not in OBJECTIVES:
        raise UnknownName("objective", objective, OBJECTIVES)
    try:
        return _calibrate(scenario_or_pairs, budget, noise, method, grid, objective)
    except (OverflowError, ZeroDivisionError) as error:
        raise NotProvable(
            "the budget, the grid or the values are beyond the range of doubles; rescale the values"
        ) from error


def _calibrate(
    scenario_or_pairs: PairsLike, budget: Budget, noise: str, method: str, grid: Real | str, objective: str
) -> Additive:
    """`calibrate`, once its arguments are known to make sense."""
    chosen = None if method == "best" else find_method(method)
    pairs, context = as_pairs(scenario_or_pairs), Context.of(scenario_or_pairs)
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
    return _mechanism(asked, budget, name, proposals, "laplace", context)


def _gaussian(pairs: tuple[LawPair, ...], budget: Budget, method: str, grid: Real | str, context: Context) -> Additive:
    """Discrete Gaussian noise: only the exact method is known for it."""
    if method not in ("best", "exact"):
        raise NotProvable(f"method {method!r} is for Laplace noise; Gaussian noise is calibrated by method='exact'")
    asked, proposal = _gaussian_proposal(pairs, budget, grid)
    return _mechanism(asked, budget, "exact", {"exact": proposal}, "gaussian", context)


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
        gaussian = _mechanism(asked, budget, "exact", {"exact": proposal}, "gaussian", context)
    except NotProvable:
        return laplace
    return min(laplace, gaussian, key=lambda m: m.expected_error(objective))


def _mechanism(
    asked: Problem, budget: Budget, name: str, proposals: dict[str, Proposal], kind: str, context: Context
) -> Additive:
    """Prove the chosen scale and seal the certificate; a scale that is not proved becomes nothing."""
    steps = proposals[name].steps
    lattice: Lattice | None = asked.lattice
    proved: tuple[Item, ...] = asked.items
    unrounded = asked.unrounded()
    if steps == 0 and unrounded is not None and prove(unrounded, Laplace(0, asked.lattice.grid), budget).holds:
        lattice, proved = None, unrounded  # even the unrounded value may go out
    drawn, proof = proved_noise(proved, asked.lattice.grid, steps, budget, kind)
    body = _body(asked, budget, name, proposals, proof, drawn, lattice, context)
    sealed = Certificate.seal(body, proved)
    return Additive(certificate=sealed, context=context, noise=drawn, lattice=lattice, support=asked.support)


def propose_all(asked: Problem, budget: Budget) -> dict[str, Proposal]:
    """Every method's scale on one problem; on very large ones only the exact scale, which none can beat."""
    cells = sum(len(f.points) * len(f.pairs) for f in asked.items if isinstance(f, Family))
    wanted = methods(asked.items) if cells <= _MANY else (find_method("exact"),)
    return {m.name: m.propose(asked.items, budget) for m in wanted}


def check_budget(budget: object) -> None:
    """A finite Pure or Approx budget, or an error that says what is possible."""
    if isinstance(budget, Renyi):
        raise NotProvable("Renyi budgets cannot be calibrated yet; convert with budget.to_approx(delta)")
    if not isinstance(budget, Pure | Approx):
        raise BadBudget(f"a budget is fugu.Pure(epsilon) or fugu.Approx(epsilon, delta), got {type(budget).__name__}")
    if math.isinf(budget.epsilon):
        raise BadBudget("an infinite epsilon promises nothing; give a finite one")


def _check_noise(noise: str) -> None:
    if noise == "cauchy":
        raise NotProvable("noise 'cauchy' is not available yet; use noise='laplace' or 'gaussian'")
    if noise not in NOISES:
        raise UnknownName("noise", noise, NOISES)


def _body(
    asked: Problem,
    budget: Budget,
    name: str,
    proposals: dict[str, Proposal],
    proof: Proof,
    noise: Noise,
    lattice: Lattice | None,
    context: Context,
) -> dict[str, Any]:
    """What the certificate says, apart from the laws."""
    grid = float(asked.lattice.grid)
    assumptions = [*context.assumptions, ONE_RELEASE]
    if noise.scale == 0:
        assumptions.append("no noise is added: the guarantee rests on the beliefs alone")
    return {
        "kind": "additive",
        "budget": budget_json(budget),
        "proved": {"epsilon": proof.epsilon, "delta": proof.delta},
        "worst_pair": proof.worst_pair,
        "method": name,
        "theorem": find_method(name).theorem,
        "noise": {"kind": kind_of(noise), "scale": str(as_fraction(noise.scale)), "grid": str(asked.lattice.grid)},
        "lattice": None if lattice is None else {"grid": str(lattice.grid), "origin": str(lattice.origin)},
        "support": _support(asked, lattice),
        "expected_error": {o: noise.expected_error(o) for o in OBJECTIVES},
        "scales": {m: None if math.isinf(p.steps) else p.steps * grid for m, p in proposals.items()},
        "assumptions": assumptions,
        "unit": context.unit,
        "query": context.query,
        "recipe": context.recipe,
        "beliefs": _beliefs(asked.given),
        "empirical": _under_empirical(asked, noise, budget, context),
    }


def _under_empirical(asked: Problem, noise: Noise, budget: Budget, context: Context) -> dict[str, float | None] | None:
    """What the noise loses under the laws that fitted beliefs were fitted to: shown beside the guarantee, not part
    of it."""
    if not context.empirical:
        return None
    rounded = tuple(item.on(asked.lattice) for item in items(context.empirical))
    found = prove(rounded, noise, budget)
    return {
        "epsilon": found.epsilon if math.isfinite(found.epsilon) else None,
        "delta": found.delta,
        "holds": found.holds,
    }


def _support(asked: Problem, lattice: Lattice | None) -> list[float] | str | None:
    """Where values are moved before anything else: "lattice" if to the atoms of the laws on the lattice, their values
    if those are elsewhere, None if values are not moved."""
    support = asked.support
    if support is None:
        return None
    on_lattice = lattice is not None and np.array_equal(lattice.value(lattice.index(support)), support)
    return "lattice" if on_lattice else support.tolist()


def kind_of(noise: Noise) -> str:
    """The name of a noise in certificates and tables."""
    return "laplace" if isinstance(noise, Laplace) else "gaussian"


def _beliefs(given: tuple[Item, ...]) -> str:
    """SHA-256 of the laws as stated, before any rounding: equal for two calibrations on the same beliefs."""
    digest = hashlib.sha256()
    for item in given:
        if isinstance(item, Analytic):
            for law in (item.p, item.q):
                digest.update(repr((law.exact_weights, law.exact_means, law.exact_stds)).encode())
            continue
        digest.update(item.points.tobytes())
        digest.update(repr((item.pairs, item.translates)).encode())
        for masses in item.laws:
            digest.update(f"{masses.total.numerator:x}/{masses.total.denominator:x}".encode())
            big = masses.parts.dtype == object
            digest.update(",".join(map(hex, masses.parts.tolist())).encode() if big else masses.parts.tobytes())
        digest.update(repr(item.errors if item.inexact else ()).encode())
    return digest.hexdigest()
