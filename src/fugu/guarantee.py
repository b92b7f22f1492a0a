"""What is promised about one release: `Pure`, `Approx`, `Renyi`. A budget *is* a guarantee.

`g <= h` reads "g is at least as strong as h": every pair of laws that satisfies g, in both orders, satisfies h.
It is decided by proved conversions with outward rounding, so True is a proof and False means "not proved".

- Pure(e):         P(S) <= e^e Q(S) for every event S.
- Approx(e, d):    P(S) <= e^e Q(S) + d.
- Renyi(a, e, d):  outside events of probability d on each side, D_a(P || Q) <= e.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from fugu.errors import BadBudget, NotProvable
from fugu.exact import Real, as_fraction, meant_up

if TYPE_CHECKING:
    from flint import arb

Guarantee = "Pure | Approx | Renyi"


class _Ordered:
    """The partial order and equality shared by all guarantees; equal means each implies the other by definition."""

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ordered) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __le__(self, other: Pure | Approx | Renyi) -> bool:
        return implies(self, other) if isinstance(other, _Ordered) else NotImplemented

    def __ge__(self, other: Pure | Approx | Renyi) -> bool:
        return implies(other, self) if isinstance(other, _Ordered) else NotImplemented

    def __lt__(self, other: Pure | Approx | Renyi) -> bool:
        return self <= other and not other <= self

    def __gt__(self, other: Pure | Approx | Renyi) -> bool:
        return self >= other and not other >= self


@dataclass(frozen=True, eq=False)
class Pure(_Ordered):
    """P(S) <= e^epsilon Q(S) for every event, in both orders (Kifer and Machanavajjhala 2014, Definition 3.4).

    >>> Pure(0.5) <= Pure(1) <= Approx(1, 1e-6)
    True
    """

    epsilon: Real

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    def _key(self) -> tuple[object, ...]:
        return ("pure", _exact(self.epsilon))

    def to_approx(self, delta: Real) -> Approx:
        """The least epsilon that this guarantee implies at `delta`: ln(e^e - delta (1 + e^e)), rounded up.

        Tight for randomised response (Kairouz, Oh, Viswanath 2015, Theorem 2.1 with one round)."""
        return Approx(self.epsilon, 0).to_approx(delta)


@dataclass(frozen=True, eq=False)
class Approx(_Ordered):
    """P(S) <= e^epsilon Q(S) + delta for every event, in both orders.

    >>> Approx(1, 0) == Pure(1)
    True
    """

    epsilon: Real
    delta: Real

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)
        _check_delta(self.delta)

    def _key(self) -> tuple[object, ...]:
        return (
            ("pure", _exact(self.epsilon)) if self.delta == 0 else ("approx", _exact(self.epsilon), _exact(self.delta))
        )

    def to_approx(self, delta: Real) -> Approx:
        """The least proved epsilon at another delta >= this one.

        delta(e') = d + (1 - d) (e^e - e^e') / (1 + e^e) for e' < e: the trade-off curve of every (e, d) pair."""
        from fugu import balls

        _check_delta(delta)
        wanted, have = _exact(delta), _exact(self.delta)
        if wanted < have:
            raise NotProvable(
                f"Approx with delta {float(have):g} implies nothing at the smaller delta {float(wanted):g}"
            )
        if wanted == have or math.isinf(self.epsilon):
            return Approx(self.epsilon, delta)
        with balls.precision(128):
            e = balls.of(_exact(self.epsilon)).exp()
            share = balls.of((wanted - have) / (1 - have))
            least = balls.upper(e - share * (1 + e))
        return Approx(meant_up(max(0.0, balls.log_upper(least))) if least > 0 else 0.0, delta)


@dataclass(frozen=True, eq=False)
class Renyi(_Ordered):
    """D_alpha(P || Q) <= epsilon in both orders, outside events of probability delta (alpha = inf is pure)."""

    alpha: Real
    epsilon: Real
    delta: Real = 0.0

    def __post_init__(self) -> None:
        if not _is_number(self.alpha) or math.isnan(self.alpha) or self.alpha <= 1:
            raise BadBudget(f"alpha must be a number above 1 (inf allowed), got {self.alpha!r}")
        _check_epsilon(self.epsilon)
        _check_delta(self.delta)

    def _key(self) -> tuple[object, ...]:
        if math.isinf(self.alpha):
            return Approx(self.epsilon, self.delta)._key()
        return ("renyi", _exact(self.alpha), _exact(self.epsilon), _exact(self.delta))

    def to_approx(self, delta: Real) -> Approx:
        """epsilon + ln((alpha-1)/alpha) - (ln d0 + ln alpha)/(alpha-1) at d0 = (delta - this delta)/(1 - this delta).

        Canonne, Kamath, Steinke 2020, Proposition 12; approximate Rényi by delta + (1 - delta) d0."""
        from fugu import balls

        _check_delta(delta)
        wanted, have = _exact(delta), _exact(self.delta)
        if math.isinf(self.alpha):
            return Approx(self.epsilon, self.delta).to_approx(delta)
        if wanted <= have:
            raise NotProvable(
                f"Renyi with delta {float(have):g} implies no (epsilon, delta) guarantee at delta "
                f"{float(wanted):g}; ask for a larger delta"
            )
        if math.isinf(self.epsilon):
            return Approx(math.inf, delta)
        with balls.precision(128):
            a, d0 = balls.of(_exact(self.alpha)), balls.of((wanted - have) / (1 - have))
            e = balls.of(_exact(self.epsilon)) + ((a - 1) / a).log() - (d0.log() + a.log()) / (a - 1)
            return Approx(meant_up(max(0.0, balls.upper(e))), delta)


def implies(g: object, h: object) -> bool:
    """Whether g provably implies h (both orders, one pair of laws)."""
    if not isinstance(g, Pure | Approx | Renyi) or not isinstance(h, Pure | Approx | Renyi):
        raise TypeError("only guarantees can be compared")
    if g == h or (math.isinf(h.epsilon) and _delta(g) <= _delta(h)):
        return True
    if isinstance(h, Renyi) and not math.isinf(h.alpha):
        return _implies_renyi(g, h)
    if _delta(g) > _delta(h) or (isinstance(g, Renyi) and not math.isinf(g.alpha) and _delta(g) == _delta(h)):
        return False
    if isinstance(g, Renyi) and math.isinf(g.alpha):
        g = Approx(g.epsilon, g.delta)
    return not math.isinf(g.epsilon) and _exact(g.to_approx(_delta(h)).epsilon) <= _exact(h.epsilon)


def _implies_renyi(g: Pure | Approx | Renyi, h: Renyi) -> bool:
    """D_a grows with a; and a pure e pair has D_a at most that of randomised response."""
    if math.isinf(g.epsilon):
        return False
    if isinstance(g, Renyi):
        larger = math.isinf(g.alpha) or _exact(g.alpha) >= _exact(h.alpha)
        return larger and _exact(g.epsilon) <= _exact(h.epsilon) and _delta(g) <= _delta(h)
    if _delta(g) > 0:
        return False
    return _exact(g.epsilon) <= _exact(h.epsilon) or Fraction(
        pure_as_renyi(_exact(g.epsilon), _exact(h.alpha))
    ) <= _exact(h.epsilon)


def pure_as_renyi(epsilon: Fraction, alpha: Fraction) -> float:
    """The largest D_alpha of an epsilon-pure pair, rounded up: ln((e^{a e} + e^{(1-a) e}) / (1 + e^e)) / (a - 1)."""
    from fugu import balls

    with balls.precision(192):
        e, a = balls.of(epsilon), balls.of(alpha)
        ratio: arb = ((a * e).exp() + ((1 - a) * e).exp()) / (1 + e.exp())
        return balls.upper(ratio.log() / (a - 1))


def _delta(g: Pure | Approx | Renyi) -> Fraction:
    return Fraction(0) if isinstance(g, Pure) else _exact(g.delta)


def _exact(x: Real) -> Fraction:
    return Fraction(10**400) if math.isinf(x) else as_fraction(x)


def _is_number(x: object) -> bool:
    return isinstance(x, int | float | Fraction) and not isinstance(x, bool)


def _check_epsilon(x: object) -> None:
    if not _is_number(x) or not x >= 0:  # type: ignore[operator]
        raise BadBudget(f"epsilon must be a number >= 0 (inf allowed), got {x!r}")


def _check_delta(x: object) -> None:
    if not _is_number(x) or not 0 <= x < 1:  # type: ignore[operator]
        raise BadBudget(f"delta must be a number in [0, 1), got {x!r}")
