"""Guarantees of one number or two, `Pure`, `Approx`, `Renyi`, and the partial order of all guarantees."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeGuard

from fugu.errors import BadBudget, NotProvable
from fugu.guarantee.asks import Ask, Divergences, Ratio, check_alpha, check_delta, check_epsilon, exact, outward
from fugu.numbers.exact import Real, meant_up
from fugu.shown import Shown
from fugu.visible import Json, finite

if TYPE_CHECKING:
    from flint import arb

    from fugu.guarantee.curve import Guarantee


def balle(alpha: Real, epsilon: Real, delta: Real) -> float:
    """max(0, epsilon + ln((alpha-1)/alpha) - (ln delta + ln alpha) / (alpha-1)), rounded up.

    Balle et al. 2020, Theorem 21; Canonne, Kamath, Steinke 2020, Proposition 12.

    >>> round(balle(2, 0.1, 1e-5), 6)
    10.226631
    """
    from fugu.numbers import balls

    check_alpha(alpha)
    check_epsilon(epsilon)
    check_delta(delta, positive=True)
    if math.isinf(epsilon):
        return math.inf
    if math.isinf(alpha):
        return outward(exact(epsilon))
    with balls.precision(192):
        a, e, log_d = balls.of(exact(alpha)), balls.of(exact(epsilon)), balls.of(exact(delta)).log()
        found: arb = e + ((a - 1) / a).log() - (log_d + a.log()) / (a - 1)
        return meant_up(max(0.0, balls.upper(found)))


def balle_delta(alpha: Real, renyi: Real, epsilon: Real) -> float:
    """min(1, e^{(alpha-1)(renyi - epsilon)} (1 - 1/alpha)^alpha / (alpha-1)), rounded up: `balle` solved for delta."""
    from fugu.numbers import balls

    check_alpha(alpha)
    check_epsilon(renyi)
    check_epsilon(epsilon)
    if math.isinf(alpha) or math.isinf(renyi) or math.isinf(epsilon):
        return 0.0 if exact(renyi) <= exact(epsilon) and not math.isinf(renyi) else 1.0
    with balls.precision(192):
        a = balls.of(exact(alpha))
        found: arb = (a - 1) * balls.of(exact(renyi) - exact(epsilon)) + a * (1 - 1 / a).log() - (a - 1).log()
        return meant_up(min(1.0, balls.upper(found.exp())))


def exact_delta(orders: Mapping[Real, Real], epsilon: Real, symmetric: bool = False) -> float:
    """The least delta with P(S) <= e^epsilon Q(S) + delta that the divergences imply, rounded up.

    >>> round(exact_delta({2: 0.1}, 1), 9)
    0.015167864
    """
    from fugu.guarantee import optimal

    check_epsilon(epsilon)
    known = _known(orders)
    if math.isinf(epsilon) or 0 in known.values() or exact(epsilon) >= known.get(math.inf, 10**401):
        return 0.0
    if not known:
        return 1.0
    capped = min((balle_delta(a, e, epsilon) for a, e in known.items()), default=1.0)
    return min(1.0, capped, meant_up(optimal.delta(known, exact(epsilon), symmetric)))


def exact_epsilon(orders: Mapping[Real, Real], delta: Real, symmetric: bool = False) -> float:
    """The least epsilon >= 0 with P(S) <= e^epsilon Q(S) + delta that the divergences imply, rounded up.

    >>> round(exact_epsilon({2: 0.1}, 1e-5), 6), round(exact_epsilon({2: 0.1, 4: 0.2}, 1e-5), 6)
    (7.874843, 3.022635)
    """
    from fugu.guarantee import optimal

    check_delta(delta, positive=True)
    known = _known(orders)
    if 0 in known.values():  # D_alpha = 0 at one order means P = Q
        return 0.0
    if not known:
        return math.inf
    capped = min(balle(a, e, delta) for a, e in known.items())
    if not capped or exact(exact_delta(orders, 0, symmetric)) <= exact(delta):  # where the search sees no hill
        return 0.0
    return min(capped, meant_up(max(0.0, optimal.epsilon(known, exact(delta), symmetric))))


def _known(orders: Mapping[Real, Real]) -> dict[Real, Fraction]:
    """The orders that say something, checked and exact."""
    for a, e in orders.items():
        check_alpha(a)
        check_epsilon(e)
    return {a: exact(e) for a, e in orders.items() if not math.isinf(e)}


# The partial order of guarantees: `g <= h` reads "g is at least as strong as h".
#
# Every pair of laws that satisfies g, in both orders, satisfies h. It is decided by proved conversions with outward
# rounding, so True is a proof and False means "not proved".


class Ordered(Shown):
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

    @property
    def orders(self) -> tuple[tuple[Real, Real], ...]:
        """(order, epsilon): a bound on every ratio, up to delta, is of order infinity."""
        return ((math.inf, self.epsilon),)

    def asks(self) -> Ask:
        """P(S) <= e^epsilon Q(S) + delta for every event; an infinite epsilon promises nothing and is refused."""
        if math.isinf(self.epsilon):
            raise BadBudget(INFINITE)
        return Ratio(exact(self.epsilon), exact(self.delta))

    def _key(self) -> tuple[object, ...]:
        return ("pure", exact(self.epsilon)) if self.delta == 0 else ("approx", exact(self.epsilon), exact(self.delta))

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

    @property
    def zcdp(self) -> Fraction | None:
        """The rho of zero-concentrated privacy that it implies at all orders: epsilon^2 / 2; None where it implies
        none."""
        epsilon = math.inf if self.delta else self.divergence_at(math.inf)
        return None if math.isinf(epsilon) else exact(epsilon) ** 2 / 2

    def epsilon_at(self, delta: Real) -> Real:
        """The least epsilon proved for every event up to `delta`, or inf."""
        return self.to_approx(delta).epsilon if exact(self.delta) <= exact(delta) else math.inf

    def to_json(self) -> Json:
        """Its kind and its numbers in doubles, infinite ones as null; `certificate.body` has exact ones."""
        told: Json = {"kind": type(self).__name__, "delta": float(self.delta)}
        if self.renyi and not self.several:
            told["alpha"] = float(self.orders[0][0])
        epsilons = {str(float(a)): float(e) for a, e in self.orders}
        told |= {"epsilons": epsilons} if self.several else {"epsilon": float(self.epsilon)}
        return dict(finite(told))

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


INFINITE = "an infinite epsilon promises nothing; give a finite one"


@dataclass(frozen=True, eq=False)
class Pure(Ordered):
    """Every event is at most e^epsilon times as likely under one law as under the other: P(S) <= e^epsilon Q(S) for
    every event, in both orders (Kifer and Machanavajjhala 2014, Definition 3.4).

    `epsilon`: a number >= 0; infinity is a guarantee that promises nothing, and no budget. A float means the decimal it
    shows. `g <= h` asks whether g is at least as strong as h. Raises `BadBudget` for any other epsilon.

    >>> Pure(0.5) <= Pure(1) <= Approx(1, 1e-6)
    True
    """

    pure = True

    epsilon: Real

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @property
    def delta(self) -> Real:
        """0: no event is left out."""
        return 0

    def to_approx(self, delta: Real) -> Approx:
        """The least epsilon that this guarantee implies at `delta`, a number in [0, 1): ln(e^e - delta (1 + e^e)), up.

        Tight for randomised response (Kairouz, Oh, Viswanath 2015, Theorem 2.1 with one round)."""
        return Approx(self.epsilon, 0).to_approx(delta)


@dataclass(frozen=True, eq=False)
class Approx(Ordered):
    """Every event is at most e^epsilon times as likely under one law as under the other, up to delta: P(S) <= e^epsilon
    Q(S) + delta for every event, in both orders.

    `epsilon`: a number >= 0, or infinity; `delta`: a number in [0, 1). Raises `BadBudget` for others.

    >>> Approx(1, 0) == Pure(1)
    True
    """

    epsilon: Real
    delta: Real

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)

    def to_approx(self, delta: Real) -> Approx:
        """The least proved epsilon at another `delta`, at or above this one; raises `NotProvable` below it.

        delta(e') = d + (1 - d) (e^e - e^e') / (1 + e^e) for e' < e: the trade-off curve of every (e, d) pair."""
        from fugu.numbers import balls

        check_delta(delta)
        wanted, have = exact(delta), exact(self.delta)
        if wanted < have:
            raise NotProvable(
                f"Approx with delta {float(have):g} implies nothing at the smaller delta {float(wanted):g}"
            )
        if wanted == have or math.isinf(self.epsilon):
            return Approx(self.epsilon, delta)
        with balls.precision(128):
            e = balls.of(exact(self.epsilon)).exp()
            share = balls.of((wanted - have) / (1 - have))
            least = balls.upper(e - share * (1 + e))
        return Approx(meant_up(max(0.0, balls.log_upper(least))) if least > 0 else 0.0, delta)


@dataclass(frozen=True, eq=False)
class Renyi(Ordered):
    """The Rényi divergence of one order between the two laws is at most epsilon: D_alpha(P || Q) <= epsilon in both
    orders, outside events of probability delta (alpha = inf is pure).

    `alpha`: the order, a number above 1, or infinity; `epsilon`: a number >= 0, or infinity; `delta`: a number in
    [0, 1). Raises `BadBudget` for others.

    >>> Renyi(2, 0.5) <= Renyi(2, 1)
    True
    """

    renyi = True

    alpha: Real
    epsilon: Real
    delta: Real = 0.0

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        check_epsilon(self.epsilon)
        check_delta(self.delta)

    @property
    def orders(self) -> tuple[tuple[Real, Real], ...]:
        """(order, epsilon)."""
        return ((self.alpha, self.epsilon),)

    def as_ratio(self) -> Approx | Renyi:
        """Of infinite order it is an approximate guarantee."""
        return Approx(self.epsilon, self.delta) if math.isinf(self.alpha) else self

    def with_epsilons(self, epsilons: Mapping[Real, Real]) -> Renyi:
        """The same order with another epsilon and no delta."""
        return Renyi(self.alpha, epsilons[self.alpha])

    def divergence_at(self, alpha: Real) -> Real:
        """Its epsilon at every order up to its own."""
        return self.epsilon if exact(self.alpha) >= exact(alpha) else math.inf

    def epsilon_at(self, delta: Real) -> Real:
        """At its own delta a divergence of finite order says nothing of an event."""
        if math.isinf(self.alpha):
            return Approx(self.epsilon, self.delta).epsilon_at(delta)
        return math.inf if exact(self.delta) == exact(delta) else super().epsilon_at(delta)

    def implied_by(self, other: Ordered) -> bool:
        """By a bound on the divergence of the same order, outside events that are no likelier."""
        if math.isinf(self.alpha):
            return super().implied_by(other)
        if exact(other.delta) > exact(self.delta):
            return False
        return math.isinf(self.epsilon) or exact(other.divergence_at(self.alpha)) <= exact(self.epsilon)

    def simplest(self) -> Pure | Approx | Renyi:
        """Of infinite order it is a pure or approximate guarantee."""
        if not math.isinf(self.alpha):
            return self
        return Approx(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)

    def asks(self) -> Ask:
        """D_alpha <= epsilon outside events of probability delta; the order infinity bounds every ratio."""
        if math.isinf(self.alpha):
            return super().asks()
        return asked_divergences(self.orders, self.delta)

    def _key(self) -> tuple[object, ...]:
        if math.isinf(self.alpha):
            return Approx(self.epsilon, self.delta)._key()
        return ("renyi", exact(self.alpha), exact(self.epsilon), exact(self.delta))

    def to_approx(self, delta: Real) -> Approx:
        """The least epsilon at `delta`, by the optimal conversion at d0 = (delta - this delta) / (1 - this delta).

        Raises `NotProvable` for a `delta` that is not above this one.
        Outside the events delta + (1 - delta) d0 (Pierquin et al. 2024, Proposition 4.1); optimal, and never above
        the rule of Canonne, Kamath and Steinke 2020 (docs/proofs/conversions.md).

        >>> round(Renyi(2, 0.1).to_approx(1e-5).epsilon, 6)
        7.874843
        """
        if math.isinf(self.alpha):
            return Approx(self.epsilon, self.delta).to_approx(delta)
        return renyi_to_approx({self.alpha: self.epsilon}, self.delta, delta)

    def delta_at(self, epsilon: Real) -> float:
        """The least delta at `epsilon` >= 0 that this guarantee implies, rounded up: the optimal conversion."""
        return renyi_delta_at({self.alpha: self.epsilon}, self.delta, epsilon)


def asked_divergences(orders: Iterable[tuple[Real, Real]], delta: Real) -> Divergences:
    """The ask of divergences; orders with an infinite epsilon ask for nothing and are left out."""
    listed = tuple((exact(a), exact(e)) for a, e in orders if math.isfinite(e))
    if not listed:
        raise BadBudget(INFINITE)
    return Divergences(listed, exact(delta))


def renyi_delta_at(orders: dict[Real, Real], have: Real, epsilon: Real) -> float:
    """have + (1 - have) d0 with the optimal d0 at `epsilon`; both orders of the pair are used for have = 0 only."""
    old = exact(have)
    return outward(old + (1 - old) * exact(exact_delta(orders, epsilon, symmetric=old == 0)))


def renyi_to_approx(orders: dict[Real, Real], have: Real, wanted: Real) -> Approx:
    """(epsilon, have + (1 - have) d0) from divergences of finite order that hold outside events of probability `have`.

    Both orders of the pair are used together only for have = 0: else they may hold outside different events."""
    check_delta(wanted)
    old, new = exact(have), exact(wanted)
    if new <= old:
        raise NotProvable(
            f"Renyi with delta {float(old):g} implies no (epsilon, delta) guarantee at delta "
            f"{float(new):g}; ask for a larger delta"
        )
    return Approx(exact_epsilon(orders, (new - old) / (1 - old), symmetric=old == 0), wanted)
