"""From a proposal to a mechanism: prove the scale, write the certificate, seal it."""

from __future__ import annotations

import hashlib
import math
from typing import Any, Protocol

import numpy as np

from fugu.calibration.method import AnyBudget, Proposal
from fugu.calibration.proof import Proof
from fugu.calibration.prove import prove, proved_noise
from fugu.calibration.reach import MOST_STEPS, Problem
from fugu.errors import OutOfReach
from fugu.guarantee.encoding import budget_json
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item, items
from fugu.loss.bounds import Noise
from fugu.mechanism.additive import Additive
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.context import ONE_RELEASE, Context
from fugu.noise.kind import OBJECTIVES
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import as_fraction


class Way(Protocol):
    """The method that found a scale, by name and theorem."""

    @property
    def name(self) -> str: ...
    @property
    def theorem(self) -> str: ...


def mechanism(
    asked: Problem, budget: AnyBudget, way: Way, proposals: dict[str, Proposal], kind: str, context: Context
) -> Additive:
    """Prove the chosen scale and seal the certificate; a scale that is not proved becomes nothing."""
    steps = proposals[way.name].steps
    lattice: Lattice | None = asked.lattice
    proved: tuple[Item, ...] = asked.items
    unrounded = asked.unrounded()
    if steps == 0 and unrounded is not None and prove(unrounded, Laplace(0, asked.lattice.grid), budget).holds:
        lattice, proved = None, unrounded  # even the unrounded value may go out
    require_drawn(steps)
    drawn, proof = proved_noise(proved, asked.lattice.grid, steps, budget, kind)
    body = _body(asked, budget, way, proposals, proof, drawn, lattice, context)
    sealed = Certificate.seal(body, proved)
    return Additive(certificate=sealed, context=context, noise=drawn, lattice=lattice, support=asked.support)


def require_drawn(steps: float) -> None:
    """Refuse a scale of more lattice steps than the samplers draw exactly."""
    if steps > MOST_STEPS:
        raise OutOfReach(
            f"noise of {steps:.3g} lattice steps cannot be drawn, at most {MOST_STEPS:.3g} can: choose a coarser grid, "
            "or a larger epsilon",
            points=steps,
            limit=MOST_STEPS,
        )


def _body(
    asked: Problem,
    budget: AnyBudget,
    way: Way,
    proposals: dict[str, Proposal],
    proof: Proof,
    noise: Noise,
    lattice: Lattice | None,
    context: Context,
) -> dict[str, Any]:
    """What the certificate says, apart from the laws."""
    grid = float(asked.lattice.grid)
    assumptions = [*context.assumptions, ONE_RELEASE]
    if lattice is not None and asked.rounding is not None:
        assumptions.append(asked.rounding)
    if noise.scale == 0:
        assumptions.append("no noise is added: the guarantee rests on the beliefs alone")
    return {
        "kind": "additive",
        "budget": budget_json(budget),
        "proved": {"epsilon": proof.epsilon, "delta": proof.delta},
        "worst_pair": proof.worst_pair,
        "method": way.name,
        "theorem": way.theorem,
        "noise": {"kind": kind_of(noise), "scale": str(as_fraction(noise.scale)), "grid": str(asked.lattice.grid)},
        "lattice": None if lattice is None else {"grid": str(lattice.grid), "origin": str(lattice.origin)},
        "support": _support(asked, lattice),
        "expected_error": {o: e if math.isfinite(e := noise.expected_error(o)) else None for o in OBJECTIVES},
        "scales": {m: None if math.isinf(p.steps) else p.steps * grid for m, p in proposals.items()},
        "assumptions": assumptions,
        "unit": context.unit,
        "query": context.query,
        "recipe": context.recipe,
        "reading": context.schema,
        "beliefs": beliefs_of(asked.given),
        "empirical": _under_empirical(asked, noise, budget, context),
        **context.parts(),
    }


def _under_empirical(
    asked: Problem, noise: Noise, budget: AnyBudget, context: Context
) -> dict[str, float | None] | None:
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


def beliefs_of(given: tuple[Item, ...]) -> str:
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
