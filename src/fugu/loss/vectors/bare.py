"""What two laws lose by themselves, without noise: by data processing, bounds for every noise that is added to both."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from fugu.errors import NotProvable
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.loss.atoms.decay import Reader
from fugu.numbers import balls

_PRECISION = 128
Pair = tuple[int, int]


def law_ratio(family: Family, pair: Pair) -> float:
    """The largest |log ratio| of the masses themselves; inf where one law has an atom that the other lacks."""
    p, q = (family.laws[k] for k in pair)
    if np.any((p.parts != 0) != (q.parts != 0)):
        return math.inf
    (a, s), (b, t) = p.whole(), q.whole()
    ratios = [Fraction(x * t, y * s) for x, y in zip(a, b, strict=True) if x]
    with balls.precision(_PRECISION):
        return balls.upper(balls.of(max(*ratios, *(1 / r for r in ratios))).log())


def law_divergence(family: Family, pair: Pair, alpha: Fraction) -> float:
    """The larger D_alpha of the masses themselves, of the two orders."""
    return max(_divergence(family, order, alpha) for order in (pair, pair[::-1]))


def law_excess(family: Family, pair: Pair, epsilon: Fraction) -> float:
    """The larger sum of (p - e^epsilon q)_+ over the atoms, of the two orders."""
    return max(_excess(family, order, epsilon) for order in (pair, pair[::-1]))


def law_weights(law: Masses) -> list[Fraction]:
    """The probabilities as rationals."""
    numerators, total = law.whole()
    return [Fraction(n, total) for n in numerators]


def require_exact(family: Family) -> None:
    """Refuse laws known up to an error."""
    if family.inexact:
        raise NotProvable("laws of vectors that are known up to an error only are not supported; give them exactly")


def _divergence(family: Family, order: Pair, alpha: Fraction) -> float:
    p, q = (family.laws[k] for k in order)
    if np.any((p.parts != 0) & (q.parts == 0)):
        return math.inf
    with balls.precision(_PRECISION):
        read, a = (Reader(p), Reader(q)), balls.of(alpha)
        share = (balls.of(1 / p.total), balls.of(1 / q.total))
        total = arb(0)
        for k in np.flatnonzero(p.parts != 0).tolist():
            total += (read[0](k) * share[0]) ** a * (read[1](k) * share[1]) ** (1 - a)
        return max(0.0, balls.upper(total.log() / (a - 1)))


def _excess(family: Family, order: Pair, epsilon: Fraction) -> float:
    p, q = (family.laws[k] for k in order)
    with balls.precision(_PRECISION):
        e = balls.of(epsilon).exp()
        read, share = (Reader(p), Reader(q)), (balls.of(1 / p.total), balls.of(1 / q.total))
        total = arb(0)
        for k in range(len(family.points)):
            part = (read[0](k) * share[0] - e * read[1](k) * share[1]).upper()
            if part > 0:
                total += part
        return min(1.0, balls.upper(total))
