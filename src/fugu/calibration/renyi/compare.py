"""`compare` for Rényi budgets: every noise and method, with the divergence its scale really has."""

from __future__ import annotations

import math

from fugu.calibration.comparison import Comparison, Row, above, refused
from fugu.calibration.method import ARITHMETIC, OUT_OF_RANGE, Proposal
from fugu.calibration.proof import Proof
from fugu.calibration.prove import prove, with_scale
from fugu.calibration.renyi.analysis import prove_cauchy
from fugu.calibration.renyi.calibrate import Offer, offers
from fugu.calibration.renyi.kinds import AnyNoise
from fugu.calibration.renyi.method import find_renyi_method
from fugu.calibration.renyi.target import Target
from fugu.errors import NotProvable
from fugu.guarantee import Renyi, RenyiCurve
from fugu.laws.pair import LawPair
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.numbers.exact import Real, as_fraction, decimal_up

_NOISES = ("laplace", "gaussian", "cauchy")


def compare_renyi(pairs: tuple[LawPair, ...], budget: Renyi | RenyiCurve, grid: Real | str = "auto") -> Comparison:
    """One row a noise and method; each scale is proved by itself, because lattice Gaussians are not ordered."""
    rows: list[Row] = []
    for noise in _NOISES:
        try:
            found = offers(pairs, budget, noise, grid=grid)
        except NotProvable as error:
            rows.append(refused("exact", noise, str(error)))
        except ARITHMETIC:
            rows.append(refused("exact", noise, OUT_OF_RANGE))
        else:
            rows += [_row(one, name, proposal, budget) for one in found for name, proposal in one.proposals.items()]
    return Comparison(tuple(rows), budget)


def _row(found: Offer, name: str, proposal: Proposal, budget: Renyi | RenyiCurve) -> Row:
    kind, grid = found.kind.name, found.asked.lattice.grid
    if math.isinf(proposal.steps):
        return refused(name, kind, proposal.note or "no finite scale")
    try:
        scale = float(decimal_up(proposal.steps * float(grid) * (1 + 1e-9))) if proposal.steps else 0.0
        noise, proof = _proved(found, kind, scale, budget)
    except NotProvable as error:
        return refused(name, kind, str(error))
    except ARITHMETIC:
        return refused(name, kind, OUT_OF_RANGE)
    note = proposal.note or ("analysis only: no exact sampler is proved for it" if kind == "cauchy" else "")
    return Row(
        method=name,
        noise=kind,
        scale=scale,
        expected_absolute=noise.expected_error(),
        expected_squared=noise.expected_error("squared"),
        epsilon=proof.epsilon,
        proven=proof.holds,
        why=find_renyi_method(name).theorem if proof.holds else above(proof.epsilon, proof.delta),
        note=note,
        released=kind != "cauchy",
    )


def _proved(found: Offer, kind: str, scale: float, budget: Renyi | RenyiCurve) -> tuple[AnyNoise, Proof]:
    """The noise, and the divergence that it really has."""
    grid = found.asked.lattice.grid
    if kind == "cauchy":
        steps = GeneralizedCauchy(as_fraction(scale) / grid)
        return GeneralizedCauchy(scale), prove_cauchy(found.asked.items, steps, Target.of(budget))
    noise = with_scale(kind, scale, grid)
    return noise, prove(found.asked.items, noise, budget)
