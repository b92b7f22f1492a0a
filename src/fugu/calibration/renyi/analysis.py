"""Generalised Cauchy noise: proved in real arithmetic, sealed, and never released."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from fugu.calibration.method import AnyBudget, Proposal
from fugu.calibration.proof import Proof
from fugu.calibration.prove import least_proved
from fugu.calibration.reach import Problem
from fugu.calibration.renyi.target import Target
from fugu.calibration.sealing import Way, beliefs_of
from fugu.guarantee import Renyi, RenyiCurve
from fugu.guarantee.encoding import budget_json
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item
from fugu.loss.renyi_api import cauchy_divergence
from fugu.mechanism.analysis import Analysis
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.context import ONE_RELEASE, Context
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.noise.kind import OBJECTIVES
from fugu.numbers.exact import as_fraction

_REAL = "analysis only: the noise is a real number of unlimited precision, which no computer draws"


def prove_cauchy(items: tuple[Item, ...], noise: GeneralizedCauchy, target: Target) -> Proof:
    """D_alpha of every pair and order, by quadrature with a proved error; `noise` in steps of the items' lattice."""
    worst, excess = 0.0, -1.0
    holds, label = True, ""
    for alone, name in _pairs(items):
        for alpha, epsilon in target.orders:
            loss = cauchy_divergence(alone, noise, alpha)
            holds = holds and math.isfinite(loss) and Fraction(loss) <= epsilon
            ratio = loss / float(epsilon) if epsilon else loss
            if ratio > excess:
                worst, excess, label = loss, ratio, name
    return Proof(worst, 0.0, label, holds)


def _pairs(items: tuple[Item, ...]) -> Iterator[tuple[Item, str]]:
    """Every pair by itself, with its label."""
    for item in items:
        if isinstance(item, Analytic):
            yield item, item.label
        else:
            for pair, label in zip(item.pairs, item.labels, strict=True):
                yield replace(item, pairs=(pair,), labels=(label,)), label


def analysis(
    asked: Problem, budget: Renyi | RenyiCurve, way: Way, proposals: dict[str, Proposal], context: Context
) -> Analysis:
    """The least 10-digit scale that is proved, and its certificate; `release` is refused."""
    grid, target = asked.lattice.grid, Target.of(budget)

    def attempt(scale: Fraction) -> tuple[GeneralizedCauchy, Proof]:
        return GeneralizedCauchy(float(scale)), prove_cauchy(asked.items, GeneralizedCauchy(scale / grid), target)

    noise, proof = least_proved(proposals[way.name].steps, grid, "cauchy", attempt)
    sealed = _sealed(asked, budget, way, proposals, proof, noise, context)
    return Analysis(certificate=sealed, context=context, noise=noise)


def _sealed(
    asked: Problem,
    budget: AnyBudget,
    way: Way,
    proposals: dict[str, Proposal],
    proof: Proof,
    noise: GeneralizedCauchy,
    context: Context,
) -> Certificate:
    grid = float(asked.lattice.grid)
    errors = {o: noise.expected_error(o) for o in OBJECTIVES}
    body = {
        "kind": "analysis",
        "budget": budget_json(budget),
        "proved": {"epsilon": proof.epsilon, "delta": proof.delta},
        "worst_pair": proof.worst_pair,
        "method": way.name,
        "theorem": way.theorem,
        "noise": {"kind": "cauchy", "scale": str(as_fraction(noise.scale)), "tail": str(as_fraction(noise.tail))},
        "lattice": {"grid": str(asked.lattice.grid), "origin": str(asked.lattice.origin)},
        "support": None,
        "expected_error": {o: e if math.isfinite(e) else None for o, e in errors.items()},
        "scales": {m: None if math.isinf(p.steps) else p.steps * grid for m, p in proposals.items()},
        "assumptions": [*context.assumptions, *([asked.rounding] if asked.rounding else []), ONE_RELEASE, _REAL],
        "unit": context.unit,
        "query": context.query,
        "recipe": context.recipe,
        "reading": context.schema,
        "beliefs": beliefs_of(asked.given),
        "empirical": None,
        **context.parts(),
    }
    return Certificate.seal(body, asked.items)
