"""Noise that is added to one number, on sets of laws: the worst ratio of any two members, from the definition.

For one member p of the first set and one member q of the second, Laplace sums are A r^t + B r^-t between neighbouring
atoms, so their ratio is a Möbius function of r^(2t) and monotone there; beyond the ends it stays. So its largest value
is at an atom, for every pair of members, and the largest of all is at an atom too: the most that any member of the one
set gives it over the least that any of the other does (`channel_sets`), both with weights in whole numbers. Without
noise the outputs are the atoms. A delta is a sum over outputs for *one* pair of members, which is not looked for here;
Gaussian ratios have no largest value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from fugu_verify.channel_sets import is_exact, logs, top
from fugu_verify.lawbased import decide_ratio
from fugu_verify.losses import Loss, sign
from fugu_verify.noised import Weights, Work
from fugu_verify.reading import Drawn, Part, part, rows, whole
from fugu_verify.result import Asked, BadCertificate, NotSummed, Number, Second

_BITS, _WIDTH = 160, 2
"""Bits that every weight keeps; weights are floors, and the truth is at most so many units above."""


def prove_noised_sets(families: Sequence[Part], noise: Drawn, asked: Asked) -> Second:
    """Every pair of sets in both orders, without a delta."""
    if asked.orders or noise.kind == "gaussian":
        raise NotSummed("of noise on sets of laws only the loss without delta is worked out here, of Laplace noise")
    work = Work()
    losses = [loss for found in families for loss in _losses(found, noise, asked, work)]
    return replace(decide_ratio(losses), pairs=len(losses), terms=work.terms, asked=asked)


def _losses(found: Part, noise: Drawn, asked: Asked, work: Work) -> list[Loss]:
    places, sets = [whole(x) for x in rows(found["points"])], [part(one) for one in rows(found["sets"])]
    if not places or sorted(set(places)) != places:
        raise BadCertificate("the values of sets of laws in the certificate are not increasing")
    bits = _BITS + math.ceil(noise.decay * (places[-1] - places[0]) * Fraction(3, 2))  # log2(e) < 3/2
    work.take(4 * len(sets) * len(places) ** 2, bits)
    weigh, width = Weights(noise, bits), 0 if noise.silent else _WIDTH
    low = [[weigh(int(x != y) if noise.silent else abs(x - y)) for x in places] for y in places]
    high = [[weight + width for weight in column] for column in low]
    most = [[(top(one, a), top(one, b)) for a, b in zip(low, high, strict=True)] for one in sets]
    least = [[(_bottom(one, a), _bottom(one, b)) for a, b in zip(low, high, strict=True)] for one in sets]
    losses = []
    for pair, label in zip(rows(found["pairs"]), rows(found["labels"]), strict=True):
        i, j = (whole(x) for x in rows(pair))
        sure = is_exact(sets[i]) and is_exact(sets[j])
        losses += [_loss(str(label), most[a], least[b], asked, sure) for a, b in ((i, j), (j, i))]
    return losses


def _bottom(found: Part, column: Sequence[int]) -> Fraction:
    """min over the set of sum_x p(x) column[x]."""
    return max(Fraction(0), -top(found, [-x for x in column]))


Sums = list[tuple[Fraction, Fraction]]


def _loss(label: str, above: Sums, below: Sums, asked: Asked, exact: bool) -> Loss:
    """The largest ratio, between bounds; where the ends of a set are only bounded (not `exact`), none from below."""
    low = max((_over(p[0], q[1]) for p, q in zip(above, below, strict=True)), default=math.inf)
    high = max((_over(p[1], q[0]) for p, q in zip(above, below, strict=True)), default=math.inf)
    bounds = (_log(low)[0] if exact else Fraction(0), _log(high)[1])
    if isinstance(high, Fraction) and sign(high, Fraction(-1), asked.epsilon) <= 0:
        return Loss(label, bounds, (Fraction(0), Fraction(0)), within=True)
    if asked.delta:
        raise NotSummed(
            "with a delta one member of each set stands for all outputs, which this proof does not look for"
        )
    refuted = exact and (low == math.inf or sign(Fraction(low), Fraction(-1), asked.epsilon) > 0)
    return Loss(label, bounds, (Fraction(0), Fraction(1)), within=False if refuted else None)


def _over(p: Fraction, q: Fraction) -> Number:
    """The ratio; 1 where there is nothing to compare."""
    if q:
        return p / q
    return math.inf if p else Fraction(1)


def _log(ratio: Number) -> tuple[Number, Number]:
    if not isinstance(ratio, Fraction):
        return math.inf, math.inf
    low, high = logs(max(ratio, Fraction(1)))
    return max(low, Fraction(0)), max(high, Fraction(0))
