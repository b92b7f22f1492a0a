"""Laplace noise on the atoms, for laws of one number with atoms and for sets of them (docs/proofs/atoms.md).

The output y has mass c_y S(y), S(y) = sum_x p_x e^{-rate |x - y|}, and c_y is the same for every law. So P(y) / Q(y) is
that of Laplace noise of the same scale, and the supremum of the latter is at an atom (docs/proofs/laplace.md): one pure
loss for both. delta is sum_y c_y [S_p / t_p - e^eps S_q / t_q]_+, and the Rényi sum is sum_y c_y S_p^a S_q^(1-a):
finite sums over atoms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import Ask, Divergences, PairLoss
from fugu.laws.family import Family, SetFamily
from fugu.loss.atoms import PowerSum, blocks, working_bits
from fugu.loss.leakage import Leakage, in_units, largest_slack, require_exact
from fugu.loss.number import LineDecay
from fugu.loss.search.laplace import log_decayed_sums, pure_loss
from fugu.loss.search.shapes import worst_divergence
from fugu.loss.sets import SetsDecay
from fugu.noise.atoms import AtomLaplace
from fugu.noise.laplace import Laplace
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction

_PRECISION = 128
_UNKNOWN = "noise on atoms needs laws whose atoms are known; for translates of an unknown law take Laplace noise"


@final
class LineAtoms(LineDecay):
    """Its own delta and divergences; the pure loss of Laplace noise."""

    def pure(self, item: Family, noise: AtomLaplace, epsilon: Fraction) -> list[PairLoss]:
        """The largest ratio at atoms."""
        return super().pure(spread_out(item, noise), noise, epsilon)

    def delta(self, item: Family, noise: AtomLaplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts over all outputs, in balls."""
        return prove_delta_on_atoms(spread_out(item, noise), None if noise.silent else noise.rate, epsilon)

    def divergence(self, item: Family, noise: AtomLaplace, alpha: Fraction) -> list[PairLoss]:
        """The sum over all outputs, or W_inf / scale where that is less: K(y|x) <= e^{|x-x'|/b} K(y|x')."""
        fitting = spread_out(item, noise)
        require_exact(fitting)
        with balls.precision(working_bits(alpha)):
            sums = PowerSum([pair for pair, _ in fitting.different], alpha)
            cells = _cells(fitting, None if noise.silent else noise.rate, "proving a Rényi divergence")
            for mass, s in cells:
                for order, term in sums.terms(s).items():
                    sums.sums[order] += mass * term
            summed = _listed(fitting, dict(zip(sums.pairs, sums.divergences(fitting), strict=True)))
        if noise.silent:
            return summed
        coupled = {loss.pair: loss.value for loss in super().pure(fitting, noise, Fraction(0))}
        return [replace(loss, value=min(loss.value, coupled.get(loss.pair, loss.value))) for loss in summed]

    def conditioned(self, item: Family, noise: AtomLaplace, alpha: Fraction, delta: Fraction) -> Family:
        """As of Laplace noise of the same scale."""
        return super().conditioned(item, Laplace(noise.scale, noise.grid), alpha, delta)

    def guess(self, item: Family, steps: float, ask: Ask) -> float:
        """max over pairs and orders of sum_y [P - e^epsilon Q]_+, or of D_alpha, in doubles, with the family's own
        atoms as outputs; the pure loss of Laplace noise."""
        if isinstance(ask, Divergences):
            logs, more = _log_masses(item, steps), np.zeros(len(item.points))
            pairs = [pair for pair, _ in item.different]
            return ask.excess(lambda alpha: worst_divergence(logs, pairs, float(alpha), more))
        if not ask.delta:
            return pure_loss(item, steps).value
        masses, e, worst = np.exp(_log_masses(item, steps)), math.exp(min(float(ask.epsilon), 700.0)), 0.0
        for (i, j), _ in item.different:
            for p, q in ((masses[i], masses[j]), (masses[j], masses[i])):
                worst = max(worst, float(np.maximum(p - e * q, 0).sum()))
        return min(1.0, worst + (largest_slack(item, as_fraction(float(ask.epsilon))) if item.inexact else 0.0))

    def known(self, item: Family, ask: Ask) -> float | None:
        """Atoms must be known; then as for Laplace noise."""
        if item.translates:
            raise NotProvable(_UNKNOWN)
        return super().known(item, ask)

    def given(self, item: Family, noise: AtomLaplace) -> tuple[Family, AtomLaplace]:
        """On the lattice indices that the atoms of the noise are: multiples of its grid."""
        whole, unit = in_units(item)
        places = [Fraction(x) * unit / (noise.grid or 1) for x in whole.points.tolist()]
        if any(place.denominator != 1 for place in places):
            raise BadNoise("some values are off the lattice of this noise; give atoms as multiples of its grid")
        return replace(item, points=np.array([int(place) for place in places], dtype=np.int64)), noise

    def delta_at(self, item: Family, noise: AtomLaplace, epsilon: Real) -> float:
        """In balls, on the atoms of the noise."""
        return Leakage.delta_at(self, item, noise, epsilon)

    def renyi(self, item: Family, noise: AtomLaplace, alpha: Fraction) -> float:
        """In balls, on the atoms of the noise."""
        return Leakage.renyi(self, item, noise, alpha)


def spread_out(family: Family, noise: AtomLaplace) -> Family:
    """The same laws on all atoms of the noise, which may be more; BadNoise if a law has an atom that it lacks."""
    if family.translates:
        raise NotProvable(_UNKNOWN)
    atoms = np.array(noise.atoms, dtype=np.int64)
    if np.array_equal(atoms, family.points):
        return family
    where = np.searchsorted(atoms, family.points)
    if not atoms.size or not np.array_equal(atoms[np.minimum(where, atoms.size - 1)], family.points):
        raise BadNoise("a law has values that are not atoms of the noise")
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
        values = [balls.upper(total + family.slack(order, e)) for total, order in zip(sums, orders, strict=True)]
    found = {pair: min(1.0, max(values[2 * k], values[2 * k + 1])) for k, (pair, _) in enumerate(family.different)}
    return _listed(family, found)


def _cells(family: Family, rate: Fraction | None, what: str) -> Iterator[tuple[arb, list[arb]]]:
    """Every output in order: c_y = (1 - r r') / ((1 + r) (1 + r')) from the steps to its neighbours, r = 0 where there
    is none; and S(y) of every law, not divided by its total. Nothing if no two laws differ."""
    before = 0
    for _, lefts, beyonds, gaps in blocks(family, rate, what):
        for k, gap in enumerate(gaps):
            sums = [left[k] + beyond[k] for left, beyond in zip(lefts, beyonds, strict=True)]
            mass = arb(1)
            if rate is not None:
                falls = [(-balls.of(rate * steps)).exp() if steps else arb(0) for steps in (before, gap)]
                both = -balls.of(-rate * (before + gap)).expm1() if before and gap else arb(1)
                mass = both / ((1 + falls[0]) * (1 + falls[1]))
            yield mass, sums
            before = gap


def _listed(family: Family, found: dict[tuple[int, int], float]) -> list[PairLoss]:
    """Every pair in order; those that do not differ lose nothing."""
    return [
        PairLoss(label, found.get(pair, 0.0), pair) for pair, label in zip(family.pairs, family.labels, strict=True)
    ]


def _log_masses(family: Family, steps: float) -> NDArray[np.float64]:
    """ln of the mass of every output under every law in doubles, (laws, atoms); `steps` is the scale in lattice
    steps."""
    logs = np.stack([law.logs() for law in family.laws])
    if steps == 0:
        return logs
    with np.errstate(divide="ignore"):
        own = np.log(AtomLaplace(steps, 1, family.points).masses())
    return np.asarray(log_decayed_sums(family.points, logs, steps) + own)


@final
class SetsAtoms(SetsDecay):
    """For every two members the pure loss is that of Laplace noise (docs/proofs/atoms.md#2-losses), so the largest is.

    Its delta and divergences are larger than those of Laplace noise, and no bound over sets is known."""

    def pure(self, item: SetFamily, noise: AtomLaplace, epsilon: Fraction) -> list[PairLoss]:
        """As of Laplace noise; every declared value must be an atom."""
        if not np.isin(item.points, np.array(noise.atoms, dtype=np.int64)).all():
            raise BadNoise("a set of laws has values that are not atoms of the noise")
        return super().pure(item, noise, epsilon)

    def known(self, item: SetFamily, ask: Ask) -> float | None:
        """Equal outputs of different laws are impossible; and only ratios are known."""
        if not ask.pure and super().known(item, ask) is None:
            raise self.unknown("delta or divergence")
        return super().known(item, ask)

    def epsilon(self, item: SetFamily, noise: AtomLaplace) -> NoReturn:
        """Of sets as given nothing is stated."""
        raise self.unknown("pure loss")
