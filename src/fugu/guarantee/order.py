"""The partial order of guarantees: `g <= h` reads "g is at least as strong as h".

Every pair of laws that satisfies g, in both orders, satisfies h. It is decided by proved conversions with outward
rounding, so True is a proof and False means "not proved"."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from fugu.guarantee.numbers import exact
from fugu.numbers.exact import Real

if TYPE_CHECKING:
    from flint import arb

    from fugu.guarantee.curve import Guarantee, RenyiCurve
    from fugu.guarantee.kinds import Approx, Pure, Renyi


class Ordered:
    """The partial order and equality shared by all guarantees; equal means each implies the other by definition."""

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    def simplest(self) -> Guarantee:
        """The same guarantee in its simplest form: of infinite order, it is `Pure` or `Approx`."""
        return self  # type: ignore[return-value]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ordered) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __le__(self, other: Ordered) -> bool:
        return implies(self, other) if isinstance(other, Ordered) else NotImplemented

    def __ge__(self, other: Ordered) -> bool:
        return implies(other, self) if isinstance(other, Ordered) else NotImplemented

    def __lt__(self, other: Ordered) -> bool:
        return self <= other and not other <= self

    def __gt__(self, other: Ordered) -> bool:
        return self >= other and not other >= self


def implies(g: object, h: object) -> bool:
    """Whether g provably implies h (both orders, one pair of laws)."""
    from fugu.guarantee.curve import RenyiCurve
    from fugu.guarantee.kinds import Approx, Pure, Renyi

    if not isinstance(g, Pure | Approx | Renyi | RenyiCurve) or not isinstance(h, Pure | Approx | Renyi | RenyiCurve):
        raise TypeError("only guarantees can be compared")
    if g == h:
        return True
    if isinstance(h, RenyiCurve):
        return all(implies(g, Renyi(a, e, h.delta)) for a, e in h.points)
    if math.isinf(h.epsilon) and _delta(g) <= _delta(h):
        return True
    if isinstance(h, Renyi) and not math.isinf(h.alpha):
        return _implies_renyi(g, h)
    if isinstance(g, Renyi) and math.isinf(g.alpha):
        g = Approx(g.epsilon, g.delta)
    if _delta(g) == _delta(h) and isinstance(g, Renyi | RenyiCurve):  # only a pure part says something there
        found: Real = g(math.inf) if isinstance(g, RenyiCurve) else math.inf
    else:
        found = g.to_approx(_delta(h)).epsilon if _delta(g) <= _delta(h) else math.inf
    return not math.isinf(found) and exact(found) <= exact(h.epsilon)


def _implies_renyi(g: Pure | Approx | Renyi | RenyiCurve, h: Renyi) -> bool:
    """D_a grows with a; and a pure e pair has D_a at most that of randomised response."""
    from fugu.guarantee.curve import RenyiCurve
    from fugu.guarantee.kinds import Renyi

    if isinstance(g, RenyiCurve):
        return _delta(g) <= _delta(h) and exact(g(h.alpha)) <= exact(h.epsilon)
    if math.isinf(g.epsilon):
        return False
    if isinstance(g, Renyi):
        larger = math.isinf(g.alpha) or exact(g.alpha) >= exact(h.alpha)
        return larger and exact(g.epsilon) <= exact(h.epsilon) and _delta(g) <= _delta(h)
    if _delta(g) > 0:
        return False
    return exact(g.epsilon) <= exact(h.epsilon) or Fraction(pure_as_renyi(exact(g.epsilon), exact(h.alpha))) <= exact(
        h.epsilon
    )


def pure_as_renyi(epsilon: Fraction, alpha: Fraction) -> float:
    """The largest D_alpha of an epsilon-pure pair, rounded up: ln((e^{a e} + e^{(1-a) e}) / (1 + e^e)) / (a - 1)."""
    from fugu.numbers import balls

    with balls.precision(192):
        e, a = balls.of(epsilon), balls.of(alpha)
        ratio: arb = ((a * e).exp() + ((1 - a) * e).exp()) / (1 + e.exp())
        return balls.upper(ratio.log() / (a - 1))


def _delta(g: Pure | Approx | Renyi | RenyiCurve) -> Fraction:
    return exact(g.delta)
