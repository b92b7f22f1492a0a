"""The partial order of guarantees: `g <= h` reads "g is at least as strong as h".

Every pair of laws that satisfies g, in both orders, satisfies h. It is decided by proved conversions with outward
rounding, so True is a proof and False means "not proved"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeGuard

from fugu.guarantee.numbers import exact
from fugu.numbers.exact import Real

if TYPE_CHECKING:
    from flint import arb

    from fugu.guarantee.curve import Guarantee
    from fugu.guarantee.kinds import Approx


class Ordered:
    """The partial order and equality shared by all guarantees; equal means each implies the other by definition."""

    pure: ClassVar[bool] = False
    """Whether it is stated for every event, without any delta."""
    renyi: ClassVar[bool] = False
    """Whether it is stated as divergences."""
    several: ClassVar[bool] = False
    """Whether it may list several orders."""

    if TYPE_CHECKING:

        @property
        def epsilon(self) -> Real: ...
        @property
        def delta(self) -> Real: ...
        def to_approx(self, delta: Real) -> Approx: ...

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    def simplest(self) -> Guarantee:
        """The same guarantee in its simplest form: of infinite order, it is `Pure` or `Approx`."""
        return self  # type: ignore[return-value]

    def as_ratio(self) -> Guarantee:
        """Itself; a divergence of infinite order as the bound on every ratio that it is."""
        return self  # type: ignore[return-value]

    def with_epsilons(self, epsilons: Mapping[Real, Real]) -> Guarantee:
        """Divergences at the same orders, with these epsilons and no delta."""
        raise NotImplementedError

    def divergence_at(self, alpha: Real) -> Real:
        """A proved bound on D_alpha outside events of probability delta, or inf.

        D_alpha grows with alpha; and a pure epsilon pair has D_alpha at most that of randomised response."""
        if self.delta:
            return math.inf
        if math.isinf(alpha) or math.isinf(self.epsilon):
            return self.epsilon
        found = pure_as_renyi(exact(self.epsilon), exact(alpha))
        return min(self.epsilon, Fraction(found), key=exact) if math.isfinite(found) else self.epsilon

    def epsilon_at(self, delta: Real) -> Real:
        """The least epsilon proved for every event up to `delta`, or inf."""
        return self.to_approx(delta).epsilon if exact(self.delta) <= exact(delta) else math.inf

    def implied_by(self, other: Ordered) -> bool:
        """Whether another guarantee is proved to imply this one."""
        if math.isinf(self.epsilon) and exact(other.delta) <= exact(self.delta):
            return True
        found = other.epsilon_at(exact(self.delta))
        return not math.isinf(found) and exact(found) <= exact(self.epsilon)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ordered) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __le__(self, other: Ordered) -> bool:
        return implies(self, other) if is_guarantee(other) else NotImplemented

    def __ge__(self, other: Ordered) -> bool:
        return implies(other, self) if is_guarantee(other) else NotImplemented

    def __lt__(self, other: Ordered) -> bool:
        return self <= other and not other <= self

    def __gt__(self, other: Ordered) -> bool:
        return self >= other and not other >= self


def is_guarantee(thing: object) -> TypeGuard[Guarantee]:
    """Whether this is one of the kinds of guarantees."""
    return isinstance(thing, Ordered)


def implies(g: object, h: object) -> bool:
    """Whether g provably implies h (both orders, one pair of laws)."""
    if not is_guarantee(g) or not is_guarantee(h):
        raise TypeError("only guarantees can be compared")
    return g == h or h.implied_by(g)


def pure_as_renyi(epsilon: Fraction, alpha: Fraction) -> float:
    """The largest D_alpha of an epsilon-pure pair, rounded up: ln((e^{a e} + e^{(1-a) e}) / (1 + e^e)) / (a - 1)."""
    from fugu.numbers import balls

    with balls.precision(192):
        e, a = balls.of(epsilon), balls.of(alpha)
        ratio: arb = ((a * e).exp() + ((1 - a) * e).exp()) / (1 + e.exp())
        return balls.upper(ratio.log() / (a - 1))
