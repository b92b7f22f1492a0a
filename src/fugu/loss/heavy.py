"""Noise with heavy tails on laws of one number: all outputs of a window, and a ratio that no output beyond it is above
(`Noise.far`). Proved in balls, searched in doubles (docs/proofs/heavy.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, fmpz

from fugu.guarantee.asks import Ask, Divergences, PairLoss
from fugu.laws.family import Family
from fugu.loss.lattice_gaussian import BITS, ball_rows, check_size, enclosed, product, width_of
from fugu.noise.kind import Floats, Noise
from fugu.noised import convolved
from fugu.numbers import balls

_PRECISION = 192
_POWERS = 2**13
"""Sums of powers go at least so far, where four spreads are less: each point takes four powers of balls."""
_FARTHEST = 2**14
"""Ratios beyond four spreads are looked for no further than here."""
Pair = tuple[int, int]


@dataclass(frozen=True)
class _Ends:
    """Whole numbers below and above 2^(2 BITS) times the mass of every output of a window, and what is beyond it."""

    below: list[fmpz]
    above: list[fmpz]

    @property
    def beyond(self) -> arb:
        """A ball that holds the mass of all other outputs."""
        unit = arb(2) ** (2 * BITS)
        return (1 - arb(sum(self.above, fmpz(0))) / unit).union(1 - arb(sum(self.below, fmpz(0))) / unit)


@lru_cache(maxsize=2)
def _window(item: Family, noise: Noise, reach: int) -> tuple[list[_Ends], arb]:
    """Every law at all outputs within `reach` steps of its points, and the largest ratio beyond."""
    width = width_of(item) - 1
    check_size(width + 2 * reach, len(item.laws), f"{noise.name} noise")
    kernel = enclosed(noise.masses_within(reach + width))
    rows, length = ball_rows(item, 0)[0], 3 * width + 2 * reach + 1
    inside = slice(width, 2 * width + 2 * reach + 1)
    found = [_Ends(*(product(row, ends, length)[inside] for row, ends in zip(enclosed(law), kernel, strict=True)))
             for law in rows]  # fmt: skip
    return found, noise.far(reach + 1, width)


def _reach(item: Family, noise: Noise, enough: arb) -> int:
    """The least number of steps beyond which no ratio is above `enough`, up to `_FARTHEST`."""
    width = width_of(item) - 1
    low, high = 0, max(_FARTHEST, _start(item, noise))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if noise.far(middle + 1, width) <= enough else (middle, high)
    return high


def _start(item: Family, noise: Noise) -> int:
    return 4 * (width_of(item) + math.ceil(noise.spread_in_steps))


def prove_ratio(item: Family, pair: Pair, noise: Noise) -> arb:
    """The largest ratio of both orders: that of the window, which grows until none beyond is larger."""
    with balls.precision(_PRECISION):
        reach = _start(item, noise)
        for _ in range(2):
            ends, far = _window(item, noise, reach)
            worst = arb(1)
            for p, q in ((ends[pair[0]], ends[pair[1]]), (ends[pair[1]], ends[pair[0]])):
                most, over = fmpz(1), fmpz(1)
                for a, b in zip(p.above, q.below, strict=True):
                    if a * over > most * b:
                        most, over = a, b
                found = arb(most) / arb(over) if over else arb("inf")
                worst = found if found.upper() > worst.upper() else worst
            if far.upper() <= worst.upper():
                return worst
            reach = max(reach, _reach(item, noise, worst))
        return far if far.upper() > worst.upper() else worst


def prove_delta(item: Family, noise: Noise, epsilon: Fraction) -> list[PairLoss]:
    """sum (P - e^epsilon Q)+ over a window; beyond it nothing where no ratio is above e^epsilon, else at most
    1 - e^epsilon / ratio of what P has there."""
    with balls.precision(_PRECISION):
        e = balls.of(epsilon).exp()
        ends, far = _window(item, noise, _reach(item, noise, e))
        (least,), unit = enclosed([e])[0], balls.of(Fraction(1, 2 ** (3 * BITS)))
        losses = []
        for label, (a, b) in ((label, pair) for pair, label in item.different):
            deltas = []
            for i, j in ((a, b), (b, a)):
                p, q = ends[i], ends[j]
                terms = zip(p.above, q.below, strict=True)
                total = sum((max(fmpz(0), (x << BITS) - y * least) for x, y in terms), fmpz(0)) * unit
                rest = arb(0) if far <= e else p.beyond * (1 - e / far)
                deltas.append(balls.upper(total + balls.upper(rest) + balls.upper(item.slack((i, j), e))))
            losses.append(PairLoss(label, min(1.0, max(deltas)), (a, b)))
        return losses


def prove_power(item: Family, pair: Pair, noise: Noise, alpha: Fraction) -> float:
    """ln(sum P^alpha Q^(1 - alpha)) / (alpha - 1), the larger order: term by term in the window, by a chord beyond."""
    with balls.precision(_PRECISION):
        ends, far = _window(item, noise, max(_POWERS, _start(item, noise)))
        power: int | arb = int(alpha) if alpha.denominator == 1 else balls.of(alpha)
        flat, slope = _chord(far, power)
        unit, worst = arb(2) ** (2 * BITS), 0.0
        for p, q in ((ends[pair[0]], ends[pair[1]]), (ends[pair[1]], ends[pair[0]])):
            total = arb(0)
            for a, b in zip(p.above, q.below, strict=True):
                if a:
                    total += (arb(a) / arb(b)) ** power * arb(b) if b else arb("inf")
            total = total / unit + (flat * q.beyond + slope * p.beyond).abs_upper()
            worst = max(worst, balls.divergence(total, alpha))
        return worst


def _chord(far: arb, power: int | arb) -> tuple[arb, arb]:
    """a, b with L^alpha <= a + b L for L in [1 / far, far]: the chord of a convex function."""
    high, low = far**power, (1 / far) ** power
    slope = (high - low) / (far - 1 / far) if far > 1 else arb(0)
    return high - slope * far, slope


# Searches, in doubles: the same sums.


def guess(item: Family, noise: Noise, ask: Ask) -> float:
    """The largest loss of any pair, in the unit of `ask.target`."""
    width = width_of(item) - 1
    with balls.precision(64):
        reach, bound = _start(item, noise), float(ask.epsilon)
        if isinstance(ask, Divergences):
            reach = max(_POWERS, reach)
        elif ask.delta:
            reach = _reach(item, noise, balls.of(ask.epsilon).exp())
        else:
            reach = max(reach, _reach(item, noise, balls.of(ask.epsilon).exp()))
        far = float(noise.far(reach + 1, width).upper())
    check_size(width + 2 * reach, len(item.laws), f"{noise.name} noise")
    kernel = np.exp(noise.log_mass(np.arange(-reach - width, reach + width + 1)))
    laws = []
    for law in item.laws:
        row = np.zeros(width + 1)
        row[item.points - item.points[0]] = law.floats()
        laws.append(convolved(row, kernel)[width : 2 * width + 2 * reach + 1])
    if isinstance(ask, Divergences):
        return ask.excess(lambda alpha: _worst(item, laws, lambda p, q: _power(p, q, far, float(alpha))))
    if ask.delta:
        e = math.exp(bound)
        return _worst(item, laws, lambda p, q: float(
            np.maximum(p - e * q, 0.0).sum() + max(0.0, 1 - e / far) * max(0.0, 1 - p.sum())))  # fmt: skip
    inside = _worst(item, laws, lambda p, q: float(np.log((p / q).max())))
    return max(inside, math.log(far)) if math.log(far) > max(bound, inside) else inside


def _worst(item: Family, laws: list[Floats], loss: Callable[[Floats, Floats], float]) -> float:
    return max((max(loss(laws[i], laws[j]), loss(laws[j], laws[i])) for (i, j), _ in item.different), default=0.0)


def _power(p: Floats, q: Floats, far: float, alpha: float) -> float:
    with balls.precision(64):
        flat, slope = (float(x.mid()) for x in _chord(arb(far), arb(alpha)))
    inside = float((np.exp(alpha * np.log(p / q)) * q).sum())
    total = inside + flat * max(0.0, 1 - q.sum()) + slope * max(0.0, 1 - p.sum())
    return math.log(max(total, 1.0)) / (alpha - 1)
