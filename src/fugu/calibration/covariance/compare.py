"""`compare` for normal laws of vectors: every method, with what its noise is proved to lose."""

from __future__ import annotations

import math

import numpy as np

from fugu.calibration.comparison import Comparison, Row, refused
from fugu.calibration.covariance.calibrate import realised
from fugu.calibration.covariance.methods import Plan, propose
from fugu.calibration.covariance.wishes import Wishes
from fugu.calibration.method import AnyBudget
from fugu.errors import NotProvable
from fugu.laws.multinormal import NormalPair


def compare_normal(pairs: tuple[NormalPair, ...], budget: AnyBudget, wishes: Wishes) -> Comparison:
    """One row a method; the scale is the root of the noise's total variance, the errors are those of what is drawn."""
    plans = propose(pairs, budget, wishes)
    return Comparison(tuple(_row(plan, pairs, budget) for plan in plans.values()), budget)


def _row(plan: Plan, pairs: tuple[NormalPair, ...], budget: AnyBudget) -> Row:
    if plan.covariance is None:
        return refused(plan.way.name, "gaussian", plan.refusal)
    try:
        noise, proof = realised(plan, pairs, budget)
    except NotProvable as error:
        return refused(plan.way.name, "gaussian", str(error))
    total = sum(float(row[i]) for i, row in enumerate(noise.covariance()))
    return Row(
        method=plan.way.name,
        noise="gaussian",
        scale=math.sqrt(total),
        expected_absolute=noise.expected_error(),
        expected_squared=noise.expected_error("squared"),
        epsilon=proof.epsilon,
        proven=proof.holds,
        why=plan.way.theorem,
        note=plan.note or _rank(plan),
    )


def _rank(plan: Plan) -> str:
    assert plan.covariance is not None
    values = np.linalg.eigvalsh(plan.covariance)
    return "" if values[0] > 1e-9 * values[-1] else "deficient rank: only for laws that are exactly normal"
