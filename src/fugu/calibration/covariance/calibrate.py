"""`calibrate` for normal laws of vectors: find a covariance, make noise of it that can be drawn, prove that."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.calibration.covariance.methods import WAYS, Plan, Way, propose
from fugu.calibration.covariance.prove import prove_normal
from fugu.calibration.covariance.realise import realise
from fugu.calibration.covariance.scaling import enough
from fugu.calibration.covariance.wishes import Wishes
from fugu.calibration.method import AnyBudget
from fugu.calibration.proof import Proof
from fugu.errors import NotProvable, UnknownName, UsageError
from fugu.guarantee.encoding import budget_json
from fugu.laws.multinormal import MultivariateNormal, NormalPair
from fugu.laws.pair import LawPair
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.context import ONE_RELEASE, Context
from fugu.mechanism.correlated import CorrelatedAdditive
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.lattice import MAX_INDEX, Lattice
from fugu.numbers.exact import as_fraction
from fugu.scenario.property_model import MOVED

GAUSSIAN_MODEL = "Gaussian model: given each secret the published vector is normal, with the mean and covariance stated"
DECLARED = "the laws are declared exactly normal: noise of deficient rank hides nothing of a statistic that is not"
_STRETCH = (1.0, 1.0005, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2)


def normal_pairs(pairs: tuple[LawPair, ...]) -> tuple[NormalPair, ...]:
    """Law pairs of normal vectors; all laws must be `MultivariateNormal`, of one dimension."""
    found = []
    for pair in pairs:
        if not isinstance(pair.p, MultivariateNormal) or not isinstance(pair.q, MultivariateNormal):
            raise NotProvable("MultivariateNormal laws pair only with each other; give all laws of one kind")
        found.append(NormalPair(pair.p, pair.q, pair.label))
    if len({pair.p.dimension for pair in found}) > 1:
        raise UsageError("all pairs must speak of vectors of one dimension")
    return tuple(found)


def calibrate_normal(
    pairs: tuple[NormalPair, ...], budget: AnyBudget, wishes: Wishes, context: Context
) -> CorrelatedAdditive:
    """The released noise of least expected error whose guarantee is proved in the Gaussian model."""
    if wishes.method != "best" and wishes.method not in WAYS:
        raise UnknownName("method for normal vectors", wishes.method, ("best", *WAYS))
    if wishes.declared_exact:
        context = _unbounded(context, wishes)
    plans = propose(pairs, budget, wishes)
    chosen = {m: p for m, p in plans.items() if wishes.method in ("best", m)}
    refusals = [f"{m}: {p.refusal}" for m, p in chosen.items() if p.covariance is None]
    ready = sorted((p for p in chosen.values() if p.covariance is not None), key=lambda p: p.error(wishes.objective))
    for plan in ready:
        try:
            noise, proof = realised(plan, pairs, budget, wishes.grid)
        except NotProvable as error:
            refusals.append(f"{plan.way.name}: {error}")
            continue
        return _sealed(pairs, budget, plans, plan.way, noise, proof, wishes, context)
    raise NotProvable(f"no noise could be proved for {budget!r}: " + "; ".join(refusals))


def _unbounded(context: Context, wishes: Wishes) -> Context:
    """Laws declared exactly normal have no ends: nothing is clipped, and bounds contradict the declaration."""
    if getattr(wishes.model, "bounds", None):
        raise UsageError(
            "bounds= clips the records, so the statistics are not exactly normal: leave out bounds, or declared_exact"
        )
    if context.shares is None:
        return context
    stated = tuple(a for a in context.assumptions if a != MOVED)
    free = {**context.shares, "limits": [None] * len(context.shares["limits"])}
    return replace(context, assumptions=stated, shares=free)


def realised(
    plan: Plan, pairs: tuple[NormalPair, ...], budget: AnyBudget, grid: Fraction | None = None
) -> tuple[CorrelatedGaussian, Proof]:
    """Noise that can be drawn, a little larger than asked for where rounding its directions needs it, and its proof."""
    assert plan.covariance is not None
    laws = [law.cov_array for pair in pairs for law in (pair.p, pair.q)]
    covariance = enough(plan.covariance, pairs, budget)
    for stretch in _STRETCH:
        noise = realise(covariance * stretch, laws, grid)
        _check_range(noise, pairs)
        proof = prove_normal(pairs, noise, budget)
        if proof.holds:
            return noise, proof
    raise NotProvable(f"the bound is {proof.epsilon:.6g}, delta {proof.delta:.3g} for pair {proof.worst_pair!r}")


def _check_range(noise: CorrelatedGaussian, pairs: tuple[NormalPair, ...]) -> None:
    """Lattice indices of the means well within 2^50, widths within the 2^52 steps that can be drawn."""
    widths = [as_fraction(noise.base) / noise.grid, *map(as_fraction, noise.scales)]
    means = [abs(x) for pair in pairs for law in (pair.p, pair.q) for x in law.mean]
    if max(widths) > 2**52 or max(means) / noise.grid > MAX_INDEX // 4:
        raise NotProvable(
            "the grid is too fine for means or noise this large, so nothing could be released; subtract a public "
            "constant from the values, or give a coarser grid"
        )


def _sealed(
    pairs: tuple[NormalPair, ...],
    budget: AnyBudget,
    plans: dict[str, Plan],
    way: Way,
    noise: CorrelatedGaussian,
    proof: Proof,
    wishes: Wishes,
    context: Context,
) -> CorrelatedAdditive:
    stated = [a for a in context.assumptions if a != GAUSSIAN_MODEL]
    assumptions = [GAUSSIAN_MODEL, *([DECLARED] if wishes.declared_exact else []), *stated, ONE_RELEASE]
    silent = noise.base == 0 and not any(noise.scales)
    if silent:
        assumptions.append("no noise is added: the guarantee rests on the beliefs alone")
    body: dict[str, Any] = {
        "kind": "correlated",
        "dimension": noise.dimension,
        "budget": budget_json(budget),
        "proved": {"epsilon": proof.epsilon, "delta": proof.delta},
        "worst_pair": proof.worst_pair,
        "method": way.name,
        "theorem": way.theorem,
        "noise": {
            "kind": "correlated",
            "base": str(as_fraction(noise.base)),
            "columns": [list(column) for column in noise.columns],
            "scales": [str(as_fraction(s)) for s in noise.scales],
            "grid": str(noise.grid),
        },
        "lattice": {"grid": str(noise.grid), "origin": "0"},
        "support": None,
        "expected_error": {o: noise.expected_error(o) for o in ("absolute", "squared")},
        "scales": {
            m: None if p.covariance is None else math.sqrt(float(np.trace(p.covariance))) for m, p in plans.items()
        },
        "assumptions": assumptions,
        "unit": context.unit,
        "query": context.query,
        "recipe": context.recipe,
        "reading": context.schema,
        "beliefs": _digest(pairs),
        "empirical": None,
        **context.parts(),
    }
    sealed = Certificate.seal(body, pairs)
    return CorrelatedAdditive(certificate=sealed, context=context, noise=noise, lattice=Lattice(noise.grid))


def _digest(pairs: tuple[NormalPair, ...]) -> str:
    """SHA-256 of the laws as stated."""
    text = repr([(pair.p.mean, pair.p.cov, pair.q.mean, pair.q.cov) for pair in pairs])
    return hashlib.sha256(text.encode()).hexdigest()
