"""The pairs whose losses compose: bounds, lattice noise that is shifted, outputs of one's own, Rényi divergences."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import arb

from fugu.errors import CertificateError, UsageError
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composed import Composed
from fugu.guarantee.curve import ZCDP, Guarantee, RenyiCurve
from fugu.guarantee.kinds import Approx, Pure, Renyi
from fugu.numbers.checks import is_iterable
from fugu.numbers.exact import Real, meant_up, number, read_number

if TYPE_CHECKING:
    from fugu.guarantee.losslaw import LossLaw

# Each states a loss law that dominates all its pairs of neighbours, in both orders (docs/proofs/loss-laws.md):
#
#     bound     (epsilon, delta): randomised response, and delta at infinity (Kairouz, Oh and Viswanath 2015)
#     laplace   lattice Laplace noise; a vector has one scale, and its coordinates' losses add
#     gaussian  lattice Gaussian noise, likewise
#     outputs   two discrete laws
#     renyi     what a Rényi guarantee says of every (epsilon, delta)

Vector = tuple[int, ...]
Family = dict[str, type["LossPair"]]
_KINDS: Family = {}
_FARTHEST = 2**10
"""A loss beyond which no conversion is looked for."""
_NODES, _FEWER = 2048, 64
"""Of pairs without a grid of their own, on each side of 0: where a node is cheap, and where it is a conversion."""
_HUGE = 10**6
"""An epsilon that is not told from infinity."""
_FINEST = 256
"""Steps by which Laplace noise is shifted; finer lattices gain less than a millionth."""


class LossPair(ABC):
    """Two laws of an output, or a bound on all such pairs: what is known of their losses."""

    kind: ClassVar[str]
    general: ClassVar[bool] = False
    """Whether it stands for every pair that keeps `whole`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in vars(cls):
            _KINDS[cls.kind] = cls

    @property
    def once(self) -> Composed:
        """One release, as a guarantee that composes."""
        return Composed(((self, 1),))

    @property
    @abstractmethod
    def whole(self) -> Guarantee:
        """What it says in one sentence: `Pure`, `Approx` or a Rényi guarantee that holds for all these pairs."""

    @abstractmethod
    def text(self) -> str:
        """Its parameters, exactly, without blanks but between them."""

    @classmethod
    @abstractmethod
    def read(cls, words: list[str]) -> LossPair:
        """What `text` wrote."""

    @abstractmethod
    def law(self, bits: int, cut: int) -> LossLaw:
        """A loss law that dominates all these pairs, in balls of the precision that is set."""

    def __str__(self) -> str:
        return f"{self.kind} {self.text()}"


def pair_from(text: str) -> LossPair:
    """The pair that `str` wrote."""
    kind, *words = text.split(" ")
    try:
        return _KINDS[kind].read(words)
    except (KeyError, ValueError, IndexError, UsageError) as error:
        raise CertificateError("a part of a composition cannot be read") from error


@dataclass(frozen=True)
class RatioBound(LossPair):
    """Every pair with P(S) <= e^epsilon Q(S) + delta in both orders: the losses +-epsilon of randomised response, and
    delta at infinity."""

    kind = "bound"
    general = True
    epsilon: Fraction
    delta: Fraction

    @property
    def whole(self) -> Guarantee:
        """Itself."""
        epsilon = self.epsilon if self.epsilon < exact(math.inf) else math.inf
        return Approx(epsilon, self.delta) if self.delta else Pure(epsilon)

    def text(self) -> str:
        """epsilon delta."""
        return f"{self.epsilon} {self.delta}"

    @classmethod
    def read(cls, words: list[str]) -> RatioBound:
        """What `text` wrote."""
        epsilon, delta = map(read_number, words)
        return cls(epsilon, delta)

    def law(self, bits: int, cut: int) -> LossLaw:
        """-epsilon and epsilon with masses in the ratio 1 : e^epsilon."""
        from fugu.guarantee.losslaw import LossLaw
        from fugu.numbers import balls

        d, e = balls.of(self.delta), self.epsilon
        if e > _HUGE:
            return LossLaw.of_tails(Fraction(1), Fraction(0), [balls.of(1), balls.of(1)], bits, cut)
        if not e:
            return LossLaw.of_tails(Fraction(1), Fraction(0), [balls.of(1), d], bits, cut)
        upper = d + (1 - d) / (1 + balls.of(-e).exp())
        return LossLaw.of_tails(2 * e, -e, [balls.of(1), upper, d], bits, cut)


@dataclass(frozen=True)
class LatticeShift(LossPair):
    """Lattice noise of one scale in every coordinate, moved by any of some vectors of whole steps, or less, or back."""

    size: Fraction
    """The scale b of Laplace noise, or the variance of Gaussian noise, in steps."""
    shifts: tuple[Vector, ...]
    largest: ClassVar[float] = math.inf
    """A size up to which losses are added up step by step."""

    @abstractmethod
    def moved(self, by: int, bits: int, cut: int) -> LossLaw:
        """Of one coordinate that moves by at most so many steps: `by` is the worst, and -by its mirror image, since the
        masses are log-concave and symmetric."""

    @abstractmethod
    def worth(self, vector: Vector) -> Pure | ZCDP:
        """What it says of one vector in one sentence."""

    @property
    def whole(self) -> Pure | ZCDP:
        """Of the worst vector."""
        return max((self.worth(v) for v in self.shifts), key=lambda g: exact(g.epsilon))

    def law(self, bits: int, cut: int) -> LossLaw:
        """Coordinates have independent noise: their losses add. Of several vectors the largest delta at every node."""
        from fugu.guarantee.losslaw import together, worst

        def at(vector: Vector) -> LossLaw:
            return together([(self.moved(by, bits, cut), k) for by, k in Counter(vector).items()])

        return worst([at(vector) for vector in self.shifts])

    def text(self) -> str:
        """The size, then vectors "1,1;2"."""
        return f"{self.size} {';'.join(','.join(map(str, v)) for v in self.shifts)}"

    @classmethod
    def read(cls, words: list[str]) -> Self:
        """What `text` wrote."""
        size, listed = words
        if not 0 < (number := read_number(size)) <= cls.largest:
            raise ValueError
        return cls(number, _worst([int(x) for x in v.split(",")] for v in listed.split(";")))


def moves(by: Any, grid: Fraction | None) -> tuple[Vector, ...]:
    """How far coordinates move, in whole steps of a lattice: a number, a vector, or several vectors of them."""
    several: list[Any] = list(by) if is_iterable(by) else [by]
    listed = several if several and is_iterable(several[0]) else [several]
    steps = [[number(x, "by", None) / (grid or 1) for x in one] for one in listed]
    if not steps or not all(steps) or any(x.denominator != 1 for one in steps for x in one):
        raise UsageError(f"by is in whole steps of {grid}, since the values that go in lie on the lattice; got {by!r}")
    return _worst([int(x) for x in one] for one in steps)


def _worst(listed: Iterable[Iterable[int]]) -> tuple[Vector, ...]:
    """Vectors of how far coordinates move, without what never decides: signs, order, coordinates that stay, repeats,
    and vectors that are nowhere longer than another."""
    sizes = {tuple(sorted((abs(x) for x in v if x), reverse=True)) for v in listed}

    def inside(v: Vector, w: Vector) -> bool:
        return v != w and len(v) <= len(w) and all(x <= y for x, y in zip(v, w, strict=False))

    return tuple(sorted(v or (0,) for v in sizes if not any(inside(v, w) for w in sizes)))


def _still(bits: int, cut: int) -> LossLaw:
    return RatioBound(Fraction(0), Fraction(0)).law(bits, cut)


@dataclass(frozen=True)
class LaplaceShift(LatticeShift):
    """Lattice Laplace noise, mass ~ e^(-|k| / b). A vector that moves by m steps in all is no worse than one coordinate
    that moves by m; where it is known how coordinates move, their losses add, which is less."""

    kind = "laplace"

    def worth(self, vector: Vector) -> Pure:
        """m / b for m steps in all."""
        return Pure(plain(sum(vector) / self.size))

    def moved(self, by: int, bits: int, cut: int) -> LossLaw:
        """(2j - m) / b for j = 0 .. m, and P(L >= (2j - m) / b) = 1 - r^(m - j + 1) / (1 + r), r = e^(-1/b).

        Noise on a finer lattice is no worse than on one of c times its step, to which m is rounded up."""
        from fugu.guarantee.losslaw import LossLaw
        from fugu.numbers import balls

        if not by:
            return _still(bits, cut)
        wider = -(-by // _FINEST)
        m, b = -(-by // wider), self.size / wider
        r = balls.of(-1 / b).exp()
        tails, rest = [balls.of(0)], r / (1 + r)
        for _ in range(m):
            tails.append(1 - rest)
            rest *= r
        return LossLaw.of_tails(2 / b, -m / b, [balls.of(1), *tails[:0:-1], tails[0]], bits, cut)


@dataclass(frozen=True)
class GaussianShift(LatticeShift):
    """Lattice Gaussian noise, mass ~ e^(-k^2 / (2 s^2)): s^2 is its `size`."""

    kind = "gaussian"
    largest = 2.0**28

    def worth(self, vector: Vector) -> ZCDP:
        """|v|^2 / (2 s^2), also on a lattice (Canonne, Kamath and Steinke 2020, Theorem 4)."""
        return ZCDP(plain(sum(x * x for x in vector) / (2 * self.size)))

    def moved(self, by: int, bits: int, cut: int) -> LossLaw:
        """(m^2 + 2 m z) / (2 s^2), with the masses of z."""
        from fugu.guarantee.losslaw import LossLaw
        from fugu.numbers import balls

        if not by:
            return _still(bits, cut)
        decay = balls.of(1 / (2 * self.size))
        far = math.ceil(math.sqrt(2 * math.log(2) * (cut + 4) * float(self.size))) + 1
        weights = [(-decay * (k * k)).exp() for k in range(far + 1)]
        beyond = (-decay * ((far + 1) ** 2)).exp() / (1 - (-decay * (2 * far + 2)).exp())
        beyond = beyond.union(balls.of(0))
        tail = list(accumulate(reversed(weights), initial=beyond))  # P(K >= far + 1), ..., P(K >= 0)
        total = tail[-1] + tail[-2]
        upper = tail[:-1]  # of k = far + 1 down to 1
        lower = [total - t for t in reversed(upper[1:])]  # P(K >= -k) is 1 - P(K >= k + 1), for k = 0 .. far - 1
        tails = [x / total for x in [*upper, *lower]]
        return LossLaw.of_tails(
            by / self.size, (by - 2 * far) * by / (2 * self.size), [arb(1), *tails[::-1]], bits, cut
        )


@dataclass(frozen=True)
class OutputLaws(LossPair):
    """Two discrete laws of one output, in both orders: exact probabilities, or whatever they are in proportion to."""

    kind = "outputs"
    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]

    def _sorted(self) -> list[tuple[Fraction, Fraction]]:
        """The probabilities that are not both 0, the largest ratio last."""
        p, q = sum(self.first), sum(self.second)
        both = [(x / p, y / q) for x, y in zip(self.first, self.second, strict=True) if x or y]
        return sorted(both, key=lambda xy: (not xy[1], xy[0] / xy[1] if xy[1] else 0))

    @property
    def whole(self) -> Guarantee:
        """The largest ratio, and what only one of the two laws gives."""
        from fugu.numbers import balls

        both = self._sorted()
        delta = max(sum(x for x, y in both if not y), sum(y for x, y in both if not x))
        ratios = [max(x / y, y / x) for x, y in both if x and y]
        if not ratios:
            return Pure(math.inf)
        with balls.precision(128):
            epsilon = meant_up(balls.upper(balls.of(max(ratios)).log()))
        return Approx(epsilon, plain(Fraction(delta))) if delta else Pure(epsilon)

    def text(self) -> str:
        """The two laws."""
        return " ".join(",".join(map(str, law)) for law in (self.first, self.second))

    @classmethod
    def read(cls, words: list[str]) -> OutputLaws:
        """What `text` wrote."""
        first, second = laws = [tuple(map(read_number, w.split(","))) for w in words]
        if len(first) != len(second) or any(min(law) < 0 or not sum(law) for law in laws):
            raise ValueError
        return cls(first, second)

    def law(self, bits: int, cut: int) -> LossLaw:
        """At every node the larger E_g of the two orders, from sums over the largest ratios."""
        from fugu.guarantee.losslaw import LossLaw
        from fugu.numbers import balls

        forth = self._sorted()
        back = [(y, x) for x, y in reversed(forth)]
        most = float(self.whole.epsilon)
        if not 0 < most < math.inf:
            delta = balls.of(exact(self.whole.delta)) if not most else arb(1)
            return LossLaw.of_tails(Fraction(1), Fraction(0), [arb(1), delta], bits, cut)
        step = Fraction(max(1, math.ceil(most * 2**20 / _NODES)), 2**20)
        lowest, highest = -math.ceil(Fraction(most) / step), math.ceil(Fraction(most) / step)
        powers = [balls.of(i * step).exp() for i in range(lowest, highest + 1)]
        each = [_excesses(both, powers) for both in (forth, back)]
        return LossLaw.of_bounds(step, lowest, [max(a, b) for a, b in zip(*each, strict=True)], bits, cut)


def _excesses(both: list[tuple[Fraction, Fraction]], powers: list[arb]) -> list[arb]:
    """E_g at every g, which rise, at or above: p - g q over what has a ratio above g, by rising ratios."""
    from fugu.numbers import balls

    found, k = [], len(both)
    p = q = Fraction(0)
    for g in reversed(powers):
        while k and balls.of(both[k - 1][0]) > g * balls.of(both[k - 1][1]):
            k -= 1
            p, q = p + both[k][0], q + both[k][1]
        excess, near = balls.of(p) - g * balls.of(q), k
        while near and not balls.of(both[near - 1][0]) <= g * balls.of(both[near - 1][1]):  # not told from 0
            near -= 1
            excess += abs(balls.of(both[near][0]) - g * balls.of(both[near][1]))
        found.append(excess.upper())
    return found[::-1]


@dataclass(frozen=True)
class RenyiBound(LossPair):
    """What a Rényi guarantee says of every (epsilon, delta)."""

    kind = "renyi"
    general = True
    guarantee: Renyi | RenyiCurve

    @property
    def whole(self) -> Guarantee:
        """Itself."""
        return self.guarantee

    def text(self) -> str:
        """ "rho" of ZCDP, else the delta, then "order:epsilon"."""
        if isinstance(self.guarantee, ZCDP):
            return str(exact(self.guarantee.rho))
        listed = [
            f"{'inf' if math.isinf(a) else exact(a)}:{exact(e)}" for a, e in self.guarantee.orders if math.isfinite(e)
        ]
        return " ".join([str(exact(self.guarantee.delta)), *listed])

    @classmethod
    def read(cls, words: list[str]) -> RenyiBound:
        """What `text` wrote."""
        first, *listed = words
        if not listed:
            return cls(ZCDP(read_number(first)))
        each = (one.split(":") for one in listed)
        orders = {math.inf if a == "inf" else read_number(a): read_number(e) for a, e in each}
        return cls(RenyiCurve(orders, read_number(first)))

    def law(self, bits: int, cut: int) -> LossLaw:
        """Chords between bounds on delta; below 0 those of the other order, E_(1/g) = 1 - 1/g + E_g / g.

        Without a delta of its own lines give the bounds at once; with one, each is an optimal conversion."""
        from fugu.guarantee.lines import of_curve, zcdp_lines
        from fugu.guarantee.losslaw import LossLaw
        from fugu.numbers import balls

        g = self.guarantee
        if g.delta:
            nodes, delta_at = _FEWER, g.delta_at
        else:
            nodes = _NODES
            delta_at = (zcdp_lines(g.rho) if isinstance(g, ZCDP) else of_curve(RenyiCurve(dict(g.orders))).one).delta_at
        high, least = Fraction(1), 2.0**-cut + (1 + 2**-20) * float(exact(g.delta))
        while delta_at(high) > least and high < _FARTHEST:
            high *= Fraction(3, 2)
        step = Fraction(max(1, math.ceil(high * 2**20 / nodes)), 2**20)
        deltas = [balls.of(exact(delta_at(i * step))) for i in range(nodes + 1)]
        shrunk = [balls.of(-i * step).exp() for i in range(nodes + 1)]
        below = [1 - s + s * d for s, d in zip(shrunk, deltas, strict=True)]
        return LossLaw.of_bounds(step, -nodes, [*below[:0:-1], *deltas], bits, cut)


def outputs(first: Mapping[Hashable, Real], second: Mapping[Hashable, Real]) -> Composed:
    """What a mechanism of one's own promises of two neighbours, to compose: `first` and `second` are the probabilities
    of its outputs, {output: probability}, given the one and the other; in both orders. Exact numbers in proportion are
    enough.

    They are laws given a *table*, or a record as it is: laws of outputs averaged over what is believed of a record do
    not compose, since two that leak nothing alone can reveal everything together.

    >>> shown = outputs({"yes": 3, "no": 1}, {"yes": 1, "no": 3})
    >>> round(shown.delta_at(0), 9), shown.to_pure() <= Pure(1.0987)
    (0.5, True)
    """
    names = sorted({*first, *second}, key=repr)
    laws = [tuple(number(law.get(name, 0), "a probability") for name in names) for law in (first, second)]
    if not all(map(sum, laws)):
        raise UsageError("give the probabilities of the outputs, {output: probability}, for each of two neighbours")
    return OutputLaws(*laws).once


def pair_of(guarantee: Guarantee) -> LossPair:
    """The pairs that a guarantee is about."""
    simple = guarantee.as_ratio()
    if isinstance(simple, Renyi | RenyiCurve):
        return RenyiBound(simple)
    return RatioBound(exact(simple.epsilon), exact(simple.delta))
