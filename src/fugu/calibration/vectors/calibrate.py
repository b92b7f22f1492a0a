"""`calibrate` for published vectors: every method and noise, one lattice, one proof."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.calibration.method import ARITHMETIC, OUT_OF_RANGE, AnyBudget, Proposal
from fugu.calibration.problem import short_step
from fugu.calibration.proof import Proof
from fugu.calibration.prove import least_proved, with_scale
from fugu.calibration.reach import std
from fugu.calibration.sealing import kind_of, require_drawn
from fugu.calibration.vectors.propose import WAYS, propose
from fugu.calibration.vectors.prove import prove_vectors
from fugu.errors import NotProvable, UnknownName
from fugu.guarantee import Approx, Renyi, RenyiCurve
from fugu.guarantee.encoding import budget_json
from fugu.laws.pair import LawPair
from fugu.laws.vectors import VectorFamily, vector_families
from fugu.loss.bounds import Noise
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.context import ONE_RELEASE, Context
from fugu.mechanism.vector import VectorAdditive
from fugu.noise.lattice import Lattice, as_grid
from fugu.numbers.exact import Real, as_fraction

_FINER = 16
_COORDINATES = "every coordinate gets independent noise of the same scale; put coordinates into comparable units first"


def calibrate_vectors(
    pairs: tuple[LawPair, ...],
    budget: AnyBudget,
    noise: str,
    method: str,
    grid: Real | str,
    objective: str,
    context: Context,
) -> VectorAdditive:
    """The mechanism of least expected error among the noises and methods whose guarantee is proved."""
    if noise == "cauchy":
        raise NotProvable("Cauchy noise is analysed for one published number only; use laplace or gaussian")
    if method != "best" and method not in WAYS:
        raise UnknownName("method for vectors", method, ("best", *WAYS))
    given = vector_families(pairs)
    offers, refusals = [], []
    for kind in kinds_for(budget) if noise == "best" else (noise,):
        try:
            lattice = lattice_for(given, budget, kind, grid)
            families = tuple(family.on(lattice) for family in given)
            proposals = propose(families, budget, kind)
        except (NotProvable, *ARITHMETIC) as error:
            refusals.append(f"{kind}: {error if isinstance(error, NotProvable) else OUT_OF_RANGE}")
            continue
        for name, proposal in proposals.items():
            if method not in ("best", name):
                continue
            scale = proposal.steps * float(lattice.grid)
            if math.isinf(scale):
                refusals.append(f"{kind}, {name}: {proposal.note or 'no finite scale'}")
                continue
            expected = with_scale(kind, scale, lattice.grid).expected_error(objective)
            offers.append((expected, name != "exact", kind, name, lattice, families, proposals))
    for _, _, kind, name, lattice, families, proposals in sorted(offers, key=lambda offer: offer[:2]):
        try:
            require_drawn(proposals[name].steps)
            drawn, proof = _proved(families, lattice.grid, proposals[name].steps, budget, kind)
        except (NotProvable, *ARITHMETIC) as error:
            refusals.append(f"{kind}, {name}: {error if isinstance(error, NotProvable) else OUT_OF_RANGE}")
            continue
        body = _body(given, budget, name, proposals, proof, drawn, lattice, context)
        support = _support(given)
        body["support"] = None if support is None else support.tolist()
        sealed = Certificate.seal(body, families)
        return VectorAdditive(
            certificate=sealed,
            context=context,
            noise=drawn,
            lattice=lattice,
            dimension=given[0].dimension,
            support=support,
        )
    told = "; ".join(refusals) or "no method asked for knows a finite scale; try noise='best' and method='best'"
    raise NotProvable(f"no scale could be proved for {budget!r} on these vectors; {told}")


def kinds_for(budget: AnyBudget) -> tuple[str, ...]:
    """The noises that can meet a budget: Gaussian noise bounds no ratio, so Pure is for Laplace noise alone."""
    smooth = isinstance(budget, Renyi | RenyiCurve) or (isinstance(budget, Approx) and budget.delta > 0)
    return ("laplace", "gaussian") if smooth else ("laplace",)


def lattice_for(given: tuple[VectorFamily, ...], budget: AnyBudget, kind: str, grid: Real | str) -> Lattice:
    """The coarsest lattice that holds every coordinate; finer for translates, so that rounding is small against the
    noise; where atoms are no decimals, a sixty-fourth of the smallest spread."""
    if grid != "auto":
        return Lattice(as_grid(grid))
    lattice = Lattice.holding([family.points for family in given])
    if lattice is None:
        columns = [column for family in given for column in family.points.T]
        spreads = [std(np.full(len(c), 1 / len(c)), c, np.zeros(len(c))) for c in columns]
        return Lattice(short_step(min((s for s in spreads if s > 0), default=1.0) / 64))
    if any(family.translates for family in given):
        found = propose(tuple(family.on(lattice) for family in given), budget, kind)
        steps = min((p.steps for p in found.values()), default=math.inf)
        if 0 < steps < _FINER:
            lattice = Lattice(lattice.grid / math.ceil(_FINER / steps), lattice.origin)
    return lattice


def _proved(
    families: tuple[VectorFamily, ...], grid: Fraction, steps: float, budget: AnyBudget, kind: str
) -> tuple[Noise, Proof]:
    """The noise of least 10-digit scale at or above the proposal that is proved."""

    def attempt(scale: Fraction) -> tuple[Noise, Proof]:
        noise = with_scale(kind, float(scale), grid)
        return noise, prove_vectors(families, noise, budget)

    return least_proved(steps, grid, kind, attempt)


def _support(given: tuple[VectorFamily, ...]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """All stated atoms; None where some law is an unknown translate."""
    if any(family.translates for family in given):
        return None
    return np.unique(np.concatenate([family.points for family in given]), axis=0)


def _body(
    given: tuple[VectorFamily, ...],
    budget: AnyBudget,
    name: str,
    proposals: dict[str, Proposal],
    proof: Proof,
    noise: Noise,
    lattice: Lattice,
    context: Context,
) -> dict[str, Any]:
    """What the certificate says, apart from the laws and the support."""
    grid, dimension = float(lattice.grid), given[0].dimension
    digest = hashlib.sha256()
    for family in given:
        digest.update(family.points.tobytes())
        digest.update(repr((family.pairs, family.translates)).encode())
        for law in family.laws:
            digest.update(repr(law.whole()).encode())
    silent = ["no noise is added: the guarantee rests on the beliefs alone"] if noise.scale == 0 else []
    return {
        "kind": "vector",
        "dimension": dimension,
        "budget": budget_json(budget),
        "proved": {"epsilon": proof.epsilon, "delta": proof.delta},
        "worst_pair": proof.worst_pair,
        "method": name,
        "theorem": WAYS[name].theorem,
        "noise": {"kind": kind_of(noise), "scale": str(as_fraction(noise.scale)), "grid": str(lattice.grid)},
        "lattice": {"grid": str(lattice.grid), "origin": str(lattice.origin)},
        "expected_error": {o: dimension * noise.expected_error(o) for o in ("absolute", "squared")},
        "scales": {m: None if math.isinf(p.steps) else p.steps * grid for m, p in proposals.items()},
        "assumptions": [*context.assumptions, _COORDINATES, ONE_RELEASE, *silent],
        "unit": context.unit,
        "query": context.query,
        "recipe": context.recipe,
        "reading": context.schema,
        "beliefs": digest.hexdigest(),
        "empirical": None,
        **context.parts(),
    }
