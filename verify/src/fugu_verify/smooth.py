"""Laws with Gaussian components, rounded onto the lattice, with noise or without.

**Delta.** P = P_w + P_o, cells inside and outside a window: with [x]_+ = max(0, x), dropping Q_o raises and dropping
P_o lowers the sum by at most the mass that is dropped:

    sum [P_w - e Q_w]_+ - e |Q_o|  <=  delta  <=  sum [P_w - e Q_w]_+ + |P_o|.

**Laplace ratios.** With S(k) = sum_j p_j r^|k-j|, r^-k S(k) = sum_j p_j r^(|k-j|-k) does not fall as k grows: the
exponent is -j for k >= j and j - 2k before. So right of the window's last cell l

    S_P(k) / S_Q(k)  <=  (sum_{j<=l} p_j r^(l-j) + sum_{j>l} p_j r^-(j-l)) / S_Q(l),

and for N(m, s^2) in steps the last sum is at most e^(rate + t^2/2 - t z) P(Z > z - t), t = rate s, z = (l + 1/2 - m) /
s: cell j > l is reached only from values at least j - l - 1 beyond the edge, and e^(tZ) tilts the normal law by t. The
left end is the mirror image.

**Translates.** If P is Q moved by n whole steps, |k - j| changes by at most n: the ratio is at most e^(n rate), and
tends to it far out, as r^-k S(k) tends to E r^-K and that of the moved law to r^-n times it."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu_verify.arithmetic import exp, log
from fugu_verify.noised import Work, atoms, bits_for, noised, normaliser
from fugu_verify.normals import Components, Smooth, below
from fugu_verify.orders import OrderLoss, Pair, Summed, divergence, logarithms, power_sum
from fugu_verify.ratios import Loss, Whole, ratio_losses
from fugu_verify.reading import Drawn
from fugu_verify.result import Asked, Bounds, NotSummed

_SPARE = 96
_OPEN: Bounds = (Fraction(0), Fraction(1))
_UNIT = 1 << _SPARE


def smooth_ratio_losses(item: Smooth, noise: Drawn, asked: Asked, work: Work) -> list[Loss]:
    """Both orders: the pure loss of Laplace noise, and delta where that is above epsilon."""
    label = item.label
    if noise.kind == "laplace":
        if (moved := item.p.moved_from(item.q)) is not None:
            pure = [_translate(abs(moved) * noise.decay, asked, label)] * 2
        else:
            window = Window(item, noise, work)
            pure = [window.pure(order, asked) for order in (0, 1)]
    elif item.p == item.q:
        pure = [Loss(label, (Fraction(0), Fraction(0)), (Fraction(0), Fraction(0)), within=True)] * 2
    else:
        pure = [Loss(label, (Fraction(0), math.inf), _OPEN, within=None)] * 2
    if asked.delta == 0 or all(loss.within for loss in pure):
        return pure
    return ratio_losses(item.cells, noise, asked, work, pure)


def _translate(loss: Fraction, asked: Asked, label: str) -> Loss:
    within = loss <= asked.epsilon
    return Loss(label, (loss, loss), (Fraction(0), Fraction(0)) if within else _OPEN, within)


def smooth_order_losses(item: Smooth, noise: Drawn, asked: Asked, work: Work) -> list[OrderLoss]:
    """Both orders and every Rényi order, for Laplace noise: beyond an end the ratio is at most rho, so the terms there
    add at most rho^(a-1) times the mass of P beyond it."""
    if noise.kind != "laplace":
        raise NotSummed("Rényi divergences of normal laws are summed under Laplace noise, not under Gaussian or none")
    window = Window(item, noise, work)
    found = []
    for order in (0, 1):
        pair = window.pair(order)
        logs = logarithms(pair)
        for alpha, epsilon in asked.orders:
            low, high = power_sum(window.summed, pair, logs, alpha)
            assert isinstance(high, Fraction)
            high += window.beyond(order, alpha)
            found.append(OrderLoss(item.label, alpha, epsilon, *divergence(low, high, alpha)))
    return found


class Window:
    """Noised masses on the cells of the window, what is outside included in the upper ends, and bounds beyond."""

    def __init__(self, item: Smooth, noise: Drawn, work: Work) -> None:
        family, self.item, self.rate = item.cells, item, noise.decay
        cells = atoms(family)
        self.bits = bits_for(family, noise, cells, _SPARE + 64)
        masses = noised(family, noise, cells, self.bits, work)
        more = [math.ceil(law.outside * (1 << self.bits)) for law in family.laws]
        self.low = masses.low
        self.high = tuple(tuple(x + o for x in row) for row, o in zip(masses.high, more, strict=True))
        one = Fraction(1)
        self.normal = normaliser(noise, self.bits)
        self.summed = Summed(family, noise, cells, self.bits, Whole((one, one), self.normal, Fraction(0)), self.low,
                             self.high)  # fmt: skip

    def pair(self, order: int) -> Pair:
        """P and Q, or Q and P."""
        return self.summed.pair(order, 1 - order)

    def pure(self, order: int, asked: Asked) -> Loss:
        """The largest ratio in the window and beyond both ends."""
        pair = self.pair(order)
        high = max(*(Fraction(p, q) for p, q in zip(pair.p_high, pair.q_low, strict=True)), *self.rho(order))
        low = max(Fraction(p, q) for p, q in zip(pair.p_low, pair.q_high, strict=True))
        bounds = Fraction(log(low, _SPARE)[0], _UNIT), Fraction(log(high, _SPARE)[1], _UNIT)
        within = True if bounds[1] <= asked.epsilon else False if bounds[0] > asked.epsilon else None
        return Loss(self.item.label, bounds, (Fraction(0), Fraction(0)) if within else _OPEN, within)

    def rho(self, order: int) -> tuple[Fraction, Fraction]:
        """At least the ratios left and right of the window."""
        pair, (first, last) = self.pair(order), self._ends()
        law = (self.item.p, self.item.q)[order]
        unit = 1 << self.bits
        left = pair.p_high[0] + math.ceil(self._tilted(law, Fraction(-1), Fraction(first) - Fraction(1, 2)) * unit)
        right = pair.p_high[-1] + math.ceil(self._tilted(law, Fraction(1), Fraction(last) + Fraction(1, 2)) * unit)
        return Fraction(left, pair.q_low[0]), Fraction(right, pair.q_low[-1])

    def beyond(self, order: int, alpha: Fraction) -> Fraction:
        """rho^(a-1) times the mass of P beyond each end: what starts inside and is carried over, L r / (1 - r) / Z at
        most, and what starts outside."""
        pair, outside = self.pair(order), self.item.cells.laws[order].outside
        r = Fraction(exp(-self.rate, self.bits)[1], 1 << self.bits)
        found = Fraction(0)
        for rho, edge in zip(self.rho(order), (pair.p_high[0], pair.p_high[-1]), strict=True):
            carried = Fraction(edge, 1 << self.bits) * r / (1 - r) / self.normal[0]
            power = (alpha - 1) * Fraction(log(rho, _SPARE)[1], _UNIT)
            found += (carried + outside) * Fraction(exp(power, _SPARE)[1], _UNIT)
        return found

    def _ends(self) -> tuple[int, int]:
        points = self.item.cells.points
        return points[0][0], points[-1][0]

    def _tilted(self, law: Components, side: Fraction, edge: Fraction) -> Fraction:
        """At least the sum over cells beyond the edge of mass times e^(rate steps beyond)."""
        found = Fraction(0)
        for weight, mean, std in law.parts():
            if std:
                t, z = self.rate * std, side * (edge - mean) / std
                grown = exp(self.rate + t * t / 2 - t * z, self.bits)[1]
                found += weight * Fraction(grown * below(t - z, self.bits)[1], 1 << 2 * self.bits)
        return found
