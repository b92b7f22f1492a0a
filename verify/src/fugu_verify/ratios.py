"""P(S) <= e^epsilon Q(S) + delta for every event S, from the definition: first without delta, by ratios.

The largest ratio of two noised masses over all outputs is e^epsilon for the least epsilon without delta. Both orders of
every pair are taken. Where that is above the epsilon asked for, delta is summed."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu_verify.arithmetic import exp, exp_sum_sign, log
from fugu_verify.deltas import delta_losses
from fugu_verify.losses import Loss, ordered, sign
from fugu_verify.noised import Noised, Outputs, Work, atoms, bits_for, box, corners, distance, noised, size
from fugu_verify.reading import Drawn, Family, Law
from fugu_verify.result import Asked, Bounds, Number

_SPARE = 96
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
    outputs = _looked_at(family, noise)
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
