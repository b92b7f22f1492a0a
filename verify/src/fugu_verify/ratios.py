"""P(S) <= e^epsilon Q(S) + delta for every event S, from the definition: first without delta, by ratios.

The largest ratio of two noised masses over all outputs is e^epsilon for the least epsilon without delta. Both orders of
every pair are taken. Where that is above the epsilon asked for, delta is summed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from fugu_verify.arithmetic import exp, exp_sum_sign, log
from fugu_verify.noised import (
    MOST_TERMS,
    Noised,
    Outputs,
    Work,
    atoms,
    bits_for,
    box,
    corners,
    distance,
    far,
    hull,
    margins,
    noised,
    normaliser,
    reach,
    size,
    tail,
)
from fugu_verify.reading import Drawn, Family, Law
from fugu_verify.result import Asked, Bounds, Number

# What is stated of one pair in one order, and how sums of weights become probabilities.


@dataclass(frozen=True)
class Loss:
    """Bounds for one pair in one order; `within` is None where they do not decide."""

    label: str
    epsilon: Bounds
    delta: Bounds
    within: bool | None


def ordered(family: Family) -> list[tuple[int, int, str]]:
    """Every pair in both orders."""
    return [(*pair, label) for (i, j), label in zip(family.pairs, family.labels, strict=True) for pair in
            ((i, j), (j, i))]  # fmt: skip


@dataclass(frozen=True)
class Whole:
    """From sums of weights to probabilities: the weight of ends, the normaliser, and what lies beyond the box."""

    end: tuple[Fraction, Fraction]
    normal: tuple[Fraction, Fraction]
    beyond: Fraction

    @staticmethod
    def of(family: Family, noise: Drawn, outputs: Outputs, bits: int) -> Whole:
        """(1 - r)^-1 for each end and (1 + r) / (1 - r) for each coordinate that differs; Gaussian noise has a tail on
        each side of each coordinate, whatever the others do."""
        one = Fraction(1)
        low, high = normaliser(noise, bits)
        d = len(family.points[0])
        if noise.kind == "laplace":
            r_low, r_high = (Fraction(x, 1 << bits) for x in exp(-noise.decay, bits))
            return Whole((1 / (1 - r_low), 1 / (1 - r_high)), (low**outputs.spread, high**outputs.spread), Fraction(0))
        if noise.silent or noise.power:
            return Whole((one, one), (low, high), Fraction(0))
        margin = hull(family)[0][0] - min(y[0] for y in outputs.points)
        return Whole((one, one), (low**d, high**d), 2 * d * tail(noise.decay, Fraction(margin + 1), bits) / low)


def sign(a: Fraction, b: Fraction, epsilon: Fraction) -> int:
    """The sign of a + b e^epsilon."""
    return exp_sum_sign({Fraction(0): a, epsilon: b}) if epsilon else exp_sum_sign({Fraction(0): a + b})


# delta(epsilon) = sum over outputs y of max(0, P(y) - e^epsilon Q(y)): the largest P(S) - e^epsilon Q(S) of any event,
# attained where the terms are positive.

_SPARE = 96


def delta_losses(family: Family, noise: Drawn, asked: Asked, extra: int, work: Work, pure: list[Loss]) -> list[Loss]:
    """Delta of every ordered pair whose pure loss is above epsilon, with `extra` bits beyond what delta needs."""
    fine = _SPARE + extra + asked.delta.denominator.bit_length() + math.ceil(asked.epsilon * 3 / 2)
    margin = reach(noise.decay, fine) if noise.kind == "gaussian" else 0
    if noise.power:  # beyond it no term is positive
        margin, fine = margins(family, noise, asked.epsilon), fine + 256
    work.take(0 if noise.silent else min(size(family, margin), MOST_TERMS) * len(family.points))
    outputs = atoms(family) if noise.silent else box(family, margin)
    bits = fine + 16 + len(outputs.points).bit_length()
    masses = noised(family, noise, outputs, bits, work)
    work.take(3 * len(pure) * len(outputs.points), bits)
    whole = Whole.of(family, noise, outputs, bits)
    bound = exp(asked.epsilon, bits)
    return [
        loss if loss.within else _delta_loss(family, noise, asked, outputs, masses, bound, whole, loss, pair)
        for loss, pair in zip(pure, ordered(family), strict=True)
    ]


def _delta_loss(
    family: Family, noise: Drawn, asked: Asked, outputs: Outputs, masses: Noised, bound: tuple[int, int],
    whole: Whole, pure: Loss, pair: tuple[int, int, str],
) -> Loss:  # fmt: skip
    i, j, label = pair
    least, most = [0] * (outputs.spread + 1), [0] * (outputs.spread + 1)
    bits = masses.bits
    for n, p_low, p_high, q_low, q_high in zip(
        outputs.ends, masses.low[i], masses.high[i], masses.low[j], masses.high[j], strict=True
    ):
        most[n] += max(0, (p_high << bits) - bound[0] * q_low)
        least[n] += max(0, (p_low << bits) - bound[1] * q_high)
    unit = 1 << 2 * bits
    low_sum = sum((Fraction(a, unit) * whole.end[0] ** n for n, a in enumerate(least)), Fraction(0)) / whole.normal[1]
    high_sum = sum((Fraction(a, unit) * whole.end[1] ** n for n, a in enumerate(most)), Fraction(0)) / whole.normal[0]
    first, second = family.laws[i], family.laws[j]
    slack = first.error + first.outside + Fraction(bound[1], 1 << bits) * second.error
    lost = Fraction(bound[1], 1 << bits) * second.outside
    low, high = max(Fraction(0), low_sum - lost), min(Fraction(1), high_sum + whole.beyond + slack)
    within = True if high <= asked.delta else False if low > asked.delta else None
    if within is None and noise.silent and first.exact and second.exact:
        within = _exact_delta(asked, first, second)
    return Loss(label, pure.epsilon, (low, high), within)


def _exact_delta(asked: Asked, first: Law, second: Law) -> bool:
    """Whether sum max(0, p - e^epsilon q) <= delta, without noise: the sign of rational - rational e^epsilon."""
    kept, weighed = Fraction(0), Fraction(0)
    for a, b in zip(first.low, second.low, strict=True):
        p, q = Fraction(a, first.total), Fraction(b, second.total)
        if sign(p, -q, asked.epsilon) > 0:
            kept, weighed = kept + p, weighed + q
    return sign(kept - asked.delta, -weighed, asked.epsilon) <= 0


_DIRECT = 100_000
"""Of boxes with more outputs only the corners are visited for Laplace ratios."""


def ratio_losses(family: Family, noise: Drawn, asked: Asked, work: Work, known: list[Loss] | None = None) -> list[Loss]:
    """Every pair in both orders: the pure loss (which may be known already), and delta where it is above epsilon."""
    pure = _pure(family, noise, asked, work) if known is None else known
    if asked.delta == 0 or all(loss.within for loss in pure):
        return pure
    for extra in (0, 256):
        found = delta_losses(family, noise, asked, extra, work, pure)
        if all(loss.within is not None for loss in found):
            break
    return found


def _pure(family: Family, noise: Drawn, asked: Asked, work: Work) -> list[Loss]:
    outputs = box(family, margins(family, noise, asked.epsilon)) if noise.power else _looked_at(family, noise)
    masses = noised(family, noise, outputs, bits_for(family, noise, outputs, _SPARE), work)
    pairs = ordered(family)
    work.take(4 * len(pairs) * len(outputs.points), masses.bits)
    bound = exp(asked.epsilon, _SPARE)
    return [_pure_loss(family, noise, asked, outputs, masses, bound, pair) for pair in pairs]


def _looked_at(family: Family, noise: Drawn) -> Outputs:
    if noise.silent:
        return atoms(family)
    if noise.kind == "gaussian":
        return atoms(family)  # for a lower bound; the upper one is that without noise
    return box(family) if size(family) <= _DIRECT else corners(family)


def _pure_loss(
    family: Family, noise: Drawn, asked: Asked, outputs: Outputs, masses: Noised, bound: tuple[int, int],
    pair: tuple[int, int, str],
) -> Loss:  # fmt: skip
    """The largest ratio; what intervals do not decide is decided by the sign of a sum of exponentials."""
    i, j, label = pair
    least, most, over = (0, 1), (0, 1), False
    unit = 1 << _SPARE
    for k, (p_low, p_high, q_low, q_high) in enumerate(
        zip(masses.low[i], masses.high[i], masses.low[j], masses.high[j], strict=True)
    ):
        if p_high == 0:
            continue
        if q_high == 0:
            return Loss(label, (math.inf, math.inf), (Fraction(0), Fraction(1)), within=False)
        if p_low * least[1] > q_high * least[0]:
            least = (p_low, q_high)
        if q_low == 0 or p_high * most[1] > q_low * most[0]:
            most = (p_high, q_low)
            if q_low == 0:
                break
        if p_high * unit > bound[0] * q_low and not over:
            over = p_low * unit > bound[1] * q_high or _above(family, noise, asked, outputs.points[k], pair)
    laws = family.laws[i], family.laws[j]
    if noise.power:  # what is beyond the box is at most e^epsilon, however small the largest ratio inside
        beyond = far(family, noise, hull(family)[0][0] - outputs.points[0][0])
        most = most if Fraction(*most) > beyond else (beyond.numerator, beyond.denominator)
    if noise.kind == "gaussian":
        return _gaussian_pure(family, laws, asked, Fraction(*least), label)
    if not all(law.exact for law in laws):
        return Loss(label, (_log(Fraction(*least))[0], math.inf), (Fraction(0), Fraction(1)), within=None)
    low, high = _log(Fraction(*least))[0], _log(Fraction(*most))[1]
    if over:
        return Loss(label, (max(low, asked.epsilon), high), (Fraction(0), Fraction(1)), within=False)
    return Loss(label, (min(low, asked.epsilon), min(high, asked.epsilon)), (Fraction(0), Fraction(0)), within=True)


def _above(family: Family, noise: Drawn, asked: Asked, y: tuple[int, ...], pair: tuple[int, int, str]) -> bool:
    """Whether P(y) > e^epsilon Q(y): a sum of rationals times exponentials of rationals, whose sign is decided."""
    first, second = family.laws[pair[0]], family.laws[pair[1]]
    if noise.power:
        square = noise.decay**2
        weights = [(1 + square * distance(noise, y, x)) ** -noise.power for x in family.points]
        both = (sum((Fraction(a, law.total) * w for a, w in zip(law.low, weights, strict=True)), Fraction(0))
                for law in (first, second))  # fmt: skip
        return sign(next(both), -next(both), asked.epsilon) > 0
    terms: dict[Fraction, Fraction] = {}
    for x, p, q in zip(family.points, first.low, second.low, strict=True):
        m = distance(noise, y, x)
        if noise.silent and m:
            continue
        near = -noise.decay * m
        for exponent, c in ((near, Fraction(p, first.total)), (near + asked.epsilon, -Fraction(q, second.total))):
            terms[exponent] = terms.get(exponent, Fraction(0)) + c
    return exp_sum_sign(terms) > 0


def _gaussian_pure(family: Family, laws: tuple[Law, Law], asked: Asked, seen: Fraction, label: str) -> Loss:
    """Far out along a coordinate the outermost atoms outweigh all others: the ratio has no bound, in this order, if P
    reaches farther than Q. Else it is at most that without noise (noise only mixes), and at least any that is seen."""
    nothing: Bounds = (Fraction(0), Fraction(1))
    supports = [[x for x, m in zip(family.points, law.high, strict=True) if m] for law in laws]
    for axis in range(len(family.points[0])):
        ends = [(min(x[axis] for x in s), max(x[axis] for x in s)) for s in supports]
        if ends[0][0] < ends[1][0] or ends[0][1] > ends[1][1]:
            return Loss(label, (math.inf, math.inf), nothing, within=False)
    low: Number = max(Fraction(0), _log(seen)[0]) if seen else Fraction(0)
    (p, q), exact = laws, all(law.exact for law in laws)
    if not exact or any(a and not b for a, b in zip(p.low, q.low, strict=True)):
        return Loss(label, (low, math.inf), nothing, within=False if low > asked.epsilon else None)
    ratio = max(Fraction(a * q.total, b * p.total) for a, b in zip(p.low, q.low, strict=True) if a)
    high = _log(ratio)[1]
    if sign(ratio, Fraction(-1), asked.epsilon) <= 0:
        return Loss(label, (min(low, asked.epsilon), min(high, asked.epsilon)), (Fraction(0), Fraction(0)), within=True)
    return Loss(label, (low, high), nothing, within=False if low > asked.epsilon else None)


def _log(x: Fraction) -> tuple[Fraction, Fraction]:
    low, high = log(x, _SPARE) if x else (0, 0)
    return Fraction(low, 1 << _SPARE), Fraction(high, 1 << _SPARE)
