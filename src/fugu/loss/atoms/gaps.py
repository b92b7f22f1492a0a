"""The running sum behind a proved delta: atoms, gaps between them, and the two tails, in ball arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from fugu.errors import NotProvable
from fugu.numbers import balls

_UNCERTAIN = 64


class GapSum:
    """delta of one ordered pair, accumulated atom by atom from the left; alpha and beta are exact upper ends."""

    def __init__(self, rate: Fraction | None) -> None:
        self._noisy = rate is not None
        self._rate = balls.of(rate or Fraction(0))
        self._sum = arb(0)
        self._tails = arb(0)
        self._before: tuple[arb, int] | None = None
        if self._noisy:
            self._q = (-self._rate).exp()
            self._ratio = self._q / (1 - self._q)

    def atom(self, alpha: arb, beta: arb, here: arb, gap: int) -> None:
        """The next atom: [S_i - e S_j]_+ <= max(here, 0), and the gap from the atom before it."""
        if here > 0:
            self._sum += here
        if not self._noisy:
            return
        if self._before is None:
            if beta > 0:
                self._tails = beta
        else:
            self._gap(self._before[0], beta, self._before[1])
        self._before = (alpha, gap)

    def delta(self) -> arb:
        """The bound, once every atom has been seen."""
        if not self._noisy:
            return self._sum
        assert self._before is not None
        tails = self._tails + (self._before[0] if self._before[0] > 0 else 0)
        return (1 - self._q) / (1 + self._q) * (self._sum + self._ratio * tails)

    def _gap(self, a: arb, c: arb, steps: int) -> None:
        """Add sum_{t=1}^{G-1} [a q^t + c q^{G-t}]_+; a and c are exact, so their signs are certain."""
        if steps < 2 or (not a > 0 and not c > 0):
            return
        if a >= 0 and c >= 0:
            self._sum += (a + c) * self._ratio * (1 - self._power(steps - 1))
            return
        if c > 0:
            a, c = c, a
        guess = self._guess(a, c, steps)
        low = guess
        while low >= 1 and not self._term(a, c, low, steps) >= 0:
            low -= 1
        high = guess + 1
        while high < steps and not self._term(a, c, high, steps) <= 0:
            high += 1
        if high - low > _UNCERTAIN:
            raise NotProvable(
                "the sign change between two atoms cannot be located; the scale is too large for the lattice"
            )
        if low >= 1:
            self._sum += (a + c * self._power(steps - low - 1)) * self._ratio * (1 - self._power(low))
        for t in range(low + 1, high):
            term = self._term(a, c, t, steps).upper()
            if term > 0:
                self._sum += term

    def _guess(self, a: arb, c: arb, steps: int) -> int:
        """Where the sign changes, from midpoints; only a starting point for the certified search."""
        change = float((steps + (a / -c).log() / self._rate).mid()) / 2
        if not math.isfinite(change):
            return 0
        return int(min(max(math.ceil(change) - 1, 0), steps - 1))

    def _term(self, a: arb, c: arb, t: int, steps: int) -> arb:
        return a * self._power(t) + c * self._power(steps - t)

    def _power(self, t: int) -> arb:
        """q^t."""
        return (-self._rate * t).exp()
