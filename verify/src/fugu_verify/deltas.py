"""delta(epsilon) = sum over outputs y of max(0, P(y) - e^epsilon Q(y)): the largest P(S) - e^epsilon Q(S) of any event,
attained where the terms are positive."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu_verify.arithmetic import exp
from fugu_verify.losses import Loss, Whole, ordered, sign
from fugu_verify.noised import MOST_TERMS, Noised, Outputs, Work, atoms, box, noised, reach, size
from fugu_verify.reading import Drawn, Family, Law
from fugu_verify.result import Asked

_SPARE = 96


def delta_losses(family: Family, noise: Drawn, asked: Asked, extra: int, work: Work, pure: list[Loss]) -> list[Loss]:
    """Delta of every ordered pair whose pure loss is above epsilon, with `extra` bits beyond what delta needs."""
    fine = _SPARE + extra + asked.delta.denominator.bit_length() + math.ceil(asked.epsilon * 3 / 2)
    margin = reach(noise.decay, fine) if noise.kind == "gaussian" else 0
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
