"""`compare` for published vectors: every noise and method, with the loss that its scale is proved to have."""

from __future__ import annotations

import math

from fugu.calibration.comparison import Comparison, Row, above, refused
from fugu.calibration.method import ARITHMETIC, OUT_OF_RANGE, AnyBudget, Proposal
from fugu.calibration.prove import with_scale
from fugu.calibration.vectors.calibrate import kinds_for, lattice_for
from fugu.calibration.vectors.propose import WAYS, propose
from fugu.calibration.vectors.prove import prove_vectors
from fugu.errors import NotProvable
from fugu.laws.pair import LawPair
from fugu.laws.vectors import VectorFamily, vector_families
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import Real, decimal_up


def compare_vectors(pairs: tuple[LawPair, ...], budget: AnyBudget, grid: Real | str = "auto") -> Comparison:
    """One row a noise and method; errors are sums over the coordinates."""
    given = vector_families(pairs)
    rows: list[Row] = []
    for kind in kinds_for(budget):
        try:
            lattice = lattice_for(given, budget, kind, grid)
            families = tuple(family.on(lattice) for family in given)
            found = propose(families, budget, kind)
        except (NotProvable, *ARITHMETIC) as error:
            rows.append(refused("wasserstein", kind, str(error) if isinstance(error, NotProvable) else OUT_OF_RANGE))
            continue
        rows += [_row(families, lattice, kind, name, proposal, budget) for name, proposal in found.items()]
    return Comparison(tuple(rows), budget)


def _row(
    families: tuple[VectorFamily, ...], lattice: Lattice, kind: str, name: str, proposal: Proposal, budget: AnyBudget
) -> Row:
    if math.isinf(proposal.steps):
        return refused(name, kind, proposal.note or "no finite scale, or too many vertices")
    try:
        scale = float(decimal_up(proposal.steps * float(lattice.grid) * (1 + 1e-9))) if proposal.steps else 0.0
        noise = with_scale(kind, scale, lattice.grid)
        proof = prove_vectors(families, noise, budget)
    except (NotProvable, *ARITHMETIC) as error:
        return refused(name, kind, str(error) if isinstance(error, NotProvable) else OUT_OF_RANGE)
    d = families[0].dimension
    return Row(
        method=name,
        noise=kind,
        scale=scale,
        expected_absolute=d * noise.expected_error(),
        expected_squared=d * noise.expected_error("squared"),
        epsilon=proof.epsilon,
        proven=proof.holds,
        why=WAYS[name].theorem if proof.holds else above(proof.epsilon, proof.delta),
        note=proposal.note,
    )
