"""What is stated of one pair in one order, and how sums of weights become probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fugu_verify.arithmetic import exp, exp_sum_sign
from fugu_verify.noised import Outputs, hull, normaliser, tail
from fugu_verify.reading import Drawn, Family
from fugu_verify.result import Bounds


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
        if noise.silent:
            return Whole((one, one), (one, one), Fraction(0))
        margin = hull(family)[0][0] - min(y[0] for y in outputs.points)
        return Whole((one, one), (low**d, high**d), 2 * d * tail(noise.decay, Fraction(margin + 1), bits) / low)


def sign(a: Fraction, b: Fraction, epsilon: Fraction) -> int:
    """The sign of a + b e^epsilon."""
    return exp_sum_sign({Fraction(0): a, epsilon: b}) if epsilon else exp_sum_sign({Fraction(0): a + b})
