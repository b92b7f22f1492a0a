"""Losses of Laplace noise on the atoms beyond the pure one, proved in ball arithmetic (docs/proofs/atoms.md).

The output y has mass c_y S(y), S(y) = sum_x p_x e^{-rate |x - y|}, and c_y is the same for every law: so delta is
sum_y c_y [S_p / t_p - e^eps S_q / t_q]_+, and the Rényi sum is sum_y c_y S_p^a S_q^(1-a): finite sums over atoms."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import arb

from fugu.errors import BadNoise
from fugu.laws.family import Family
from fugu.loss.atoms.decay import blocks
from fugu.loss.atoms.slack import require_exact, slack
from fugu.loss.divergence.sums import PowerSum, divergence, working_bits
from fugu.loss.leakage import PairLoss
from fugu.noise.atoms import AtomLaplace
from fugu.numbers import balls

_PRECISION = 128
Cell = tuple[arb, list[arb]]
"""c_y of an output, and S(y) of every law, not divided by its total."""


def spread_out(family: Family, noise: AtomLaplace) -> Family:
    """The same laws on all atoms of the noise, which may be more; BadNoise if a law has an atom that it lacks."""
    atoms = np.array(noise.atoms, dtype=np.int64)
    if np.array_equal(atoms, family.points):
        return family
    where = np.searchsorted(atoms, family.points)
    if not atoms.size or not np.array_equal(atoms[np.minimum(where, atoms.size - 1)], family.points):
        raise BadNoise("a law has values that are none of the atoms of the noise")
    laws = tuple(law.scatter(where, atoms.size) for law in family.laws)
    return Family(atoms, laws, family.pairs, family.labels, family.translates, family.errors)


def prove_delta_on_atoms(family: Family, rate: Fraction | None, epsilon: Fraction) -> list[PairLoss]:
    """For each pair a delta with sup_S P(S) - e^epsilon Q(S) <= delta in both orders; `rate` None means no noise.

    Every term grows with c_y and with the difference, so the upper ends of their balls keep an upper bound. What the
    laws' own errors cost comes on top (`slack`)."""
    orders = [order for pair, _ in family.different for order in (pair, pair[::-1])]
    with balls.precision(_PRECISION):
        share = [balls.of(1 / law.total) for law in family.laws]
        e, zero = balls.of(epsilon).exp(), arb(0)
        sums = [arb(0) for _ in orders]
        for mass, s in _cells(family, rate, "proving delta"):
            for k, (i, j) in enumerate(orders):
                excess = (share[i] * s[i] - e * share[j] * s[j]).upper()
                if not excess <= zero:
                    sums[k] += mass.upper() * excess
        values = [balls.upper(total + slack(family, order, e)) for total, order in zip(sums, orders, strict=True)]
    found = {pair: min(1.0, max(values[2 * k], values[2 * k + 1])) for k, (pair, _) in enumerate(family.different)}
    return _listed(family, found)


def prove_renyi_on_atoms(family: Family, rate: Fraction | None, alpha: Fraction) -> list[PairLoss]:
    """For each pair a bound on D_alpha of the two noised laws, in both orders, for a finite order above 1."""
    require_exact(family)
    with balls.precision(working_bits(alpha)):
        sums, a = PowerSum([pair for pair, _ in family.different], alpha), balls.of(alpha)
        for mass, s in _cells(family, rate, "proving a Rényi divergence"):
            for order, term in sums.terms(s).items():
                sums.sums[order] += mass * term
        logs = [balls.of(law.total).log() for law in family.laws]
        found = {
            (i, j): max(
                divergence(sums.sums[order] * ((a - 1) * logs[order[1]] - a * logs[order[0]]).exp(), alpha)
                for order in ((i, j), (j, i))
            )
            for i, j in sums.pairs
        }
    return _listed(family, found)


def _cells(family: Family, rate: Fraction | None, what: str) -> Iterator[Cell]:
    """Every output with its c_y and sums, in order; none if no two laws differ."""
    before = 0
    for block in blocks(family, rate, what) if family.different else ():
        for k, gap in enumerate(block.gaps):
            sums = [left[k] + beyond[k] for left, beyond in zip(block.left, block.beyond, strict=True)]
            yield _mass(rate, before, gap), sums
            before = gap


def _mass(rate: Fraction | None, before: int, after: int) -> arb:
    """c_y = (1 - r r') / ((1 + r) (1 + r')) from the steps to its neighbours; 0 steps where there is none."""
    if rate is None:
        return arb(1)
    falls = [(-balls.of(rate * steps)).exp() if steps else arb(0) for steps in (before, after)]
    both = -balls.of(-rate * (before + after)).expm1() if before and after else arb(1)
    return both / ((1 + falls[0]) * (1 + falls[1]))


def _listed(family: Family, found: dict[tuple[int, int], float]) -> list[PairLoss]:
    """Every pair in order; those that do not differ lose nothing."""
    return [
        PairLoss(label, found.get(pair, 0.0), pair) for pair, label in zip(family.pairs, family.labels, strict=True)
    ]
