"""`calibrate`: the least noise that provably meets a budget."""

from __future__ import annotations

import hashlib
import math
from typing import Any

from fugu.calibration.method import Budget, Proposal, find_method, methods
from fugu.calibration.problem import Problem, problem
from fugu.calibration.prove import Proof, proved_noise
from fugu.errors import BadBudget, NotProvable, UnknownName
from fugu.exact import Real, as_fraction
from fugu.guarantee import Approx, Pure, Renyi
from fugu.laws.family import Family
from fugu.laws.pair import PairsLike, as_pairs
from fugu.mechanism.additive import Additive
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.context import ONE_RELEASE, Context
from fugu.mechanism.encoding import budget_json
from fugu.noise.laplace import OBJECTIVES, Laplace
from fugu.noise.lattice import Lattice

NOISES = ("best", "laplace")
_MANY = 200_000


def calibrate(
    scenario_or_pairs: PairsLike,
    budget: Budget,
    noise: str = "best",
    method: str = "best",
    grid: Real | str = "auto",
    objective: str = "absolute",
) -> Additive:
    """The mechanism of least expected error among the methods, its guarantee proved in ball arithmetic.

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
    chosen = None if method == "best" else find_method(method)
    asked = problem(as_pairs(scenario_or_pairs), budget, grid)
    proposals = propose_all(asked, budget) if chosen is None else {chosen.name: chosen.propose(asked.families, budget)}
    # The expected error grows with the scale whatever the objective: the least scale is the best one.
    name = chosen.name if chosen else min(proposals, key=lambda m: (proposals[m].steps, m != "exact"))
    proposal = proposals[name]
    if math.isinf(proposal.steps):
        raise NotProvable(f"method {name!r} finds no finite scale for this budget; use method='exact'")
    lattice: Lattice | None = asked.lattice
    families = asked.families
    if proposal.steps == 0 and _silent_as_stated(asked, budget):
        lattice, families = None, asked.unrounded()
    drawn, proof = proved_noise(families, asked.lattice.grid, proposal.steps, budget)
    context = Context.of(scenario_or_pairs)
    body = _body(asked, budget, name, proposals, proof, drawn, lattice, context)
    sealed = Certificate.seal(body, families)
    return Additive(certificate=sealed, context=context, noise=drawn, lattice=lattice, support=asked.support)


def propose_all(asked: Problem, budget: Budget) -> dict[str, Proposal]:
    """Every method's scale on one problem; on very large ones only the exact scale, which none can beat."""
    cells = sum(len(family.points) * len(family.pairs) for family in asked.families)
    wanted = methods() if cells <= _MANY else (find_method("exact"),)
    return {m.name: m.propose(asked.families, budget) for m in wanted}


def check_budget(budget: object) -> None:
    """A finite Pure or Approx budget, or an error that says what is possible."""
    if isinstance(budget, Renyi):
        raise NotProvable("Renyi budgets cannot be calibrated yet; convert with budget.to_approx(delta)")
    if not isinstance(budget, Pure | Approx):
        raise BadBudget(f"a budget is fugu.Pure(epsilon) or fugu.Approx(epsilon, delta), got {type(budget).__name__}")
    if math.isinf(budget.epsilon):
        raise BadBudget("an infinite epsilon promises nothing; give a finite one")


def _check_noise(noise: str) -> None:
    if noise in ("gaussian", "cauchy"):
        raise NotProvable(f"noise {noise!r} is not available yet; use noise='laplace'")
    if noise not in NOISES:
        raise UnknownName("noise", noise, NOISES)


def _silent_as_stated(asked: Problem, budget: Budget) -> bool:
    """Whether even the unrounded value may go out: no noise and no rounding."""
    from fugu.calibration.prove import prove

    return prove(asked.unrounded(), Laplace(0, asked.lattice.grid), budget).holds


def _body(
    asked: Problem,
    budget: Budget,
    name: str,
    proposals: dict[str, Proposal],
    proof: Proof,
    noise: Laplace,
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
        "noise": {"kind": "laplace", "scale": str(as_fraction(noise.scale)), "grid": str(asked.lattice.grid)},
        "lattice": None if lattice is None else {"grid": str(lattice.grid), "origin": str(lattice.origin)},
        "expected_error": {o: noise.expected_error(o) for o in OBJECTIVES},
        "scales": {m: None if math.isinf(p.steps) else p.steps * grid for m, p in proposals.items()},
        "assumptions": assumptions,
        "unit": context.unit,
        "query": context.query,
        "recipe": context.recipe,
        "beliefs": _beliefs(asked.given),
    }


def _beliefs(given: tuple[Family, ...]) -> str:
    """SHA-256 of the laws as stated, before any rounding: equal for two calibrations on the same beliefs."""
    digest = hashlib.sha256()
    for family in given:
        digest.update(family.points.tobytes())
        digest.update(repr((family.pairs, family.translates)).encode())
        for law in family.laws:
            digest.update(str(law.total).encode())
            digest.update(repr(law.parts.tolist()).encode() if law.parts.dtype == object else law.parts.tobytes())
    return digest.hexdigest()
