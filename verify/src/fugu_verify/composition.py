"""Compositions: what releases promise together, each part as a law of its losses in whole numbers.

A law of losses L has masses on first + i step and at infinity, in units of 2^-bits that sum to 1. It stands for a pair
(P, Q) if P(S) - g Q(S) <= E (1 - g e^-L)+ for all events S and all g > 0; then so does the sum of independent losses
for both releases together (Zhu, Dong and Wang 2022). It still does after tails P(L >= t) are raised, after an atom
between two points becomes these two with the same P- and Q-mass, and of bounds on P(S) - g Q(S) at points g after
chords between them. Every rounding here is one of these; bits, ends and steps are finer than the certificate's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import accumulate, pairwise

from fugu_verify.arithmetic import exp, log, up
from fugu_verify.reading import Part, asked, number, part, rows, whole
from fugu_verify.result import Asked, BadCertificate, NotSummed, Second

_BITS, _CUT = 32, 20
"""Beyond those that the certificate names."""
_MOST = 2**18
_NODES = 4096
"""Of the losses of two laws of outputs, on each side of 0."""
_FAR = 30_000
_HUGE = 10**6
_KINDS = ("bound", "outputs", "laplace", "gaussian", "renyi")
_NEIGHBOURS = (
    "one record replaced by any other with the same public parts",
    "one entry replaced by any other value",
)


@dataclass(frozen=True)
class Losses:
    """P(L = first + i step) = masses[i] / 2^bits, P(L = inf) = infinite / 2^bits."""

    step: Fraction
    first: Fraction
    masses: list[int]
    infinite: int


@dataclass(frozen=True)
class Grid:
    """Units of 2^-bits; what is no likelier than 2^-cut at an end is moved up."""

    bits: int
    cut: int

    @property
    def unit(self) -> int:
        return 1 << self.bits

    def exp(self, x: Fraction) -> tuple[Fraction, Fraction]:
        """Bounds on e^x."""
        low, high = exp(x, self.bits + _BITS)
        return Fraction(low, self.unit << _BITS), Fraction(high, self.unit << _BITS)

    def tails(self, step: Fraction, first: Fraction, above: Sequence[Fraction]) -> Losses:
        """Of bounds on P(L >= first + i step), the last of which is on P(L = inf)."""
        scaled = [min(self.unit, math.ceil(t * self.unit)) for t in above]
        return self.trimmed(step, first, [*accumulate(reversed(scaled), max)])

    def trimmed(self, step: Fraction, first: Fraction, falling: list[int]) -> Losses:
        """Of P(L = inf), then P(L >= t) from the highest point on; the lowest becomes 1, and both ends are cut."""
        least, tails = self.unit >> self.cut, [*falling[:-1], self.unit]
        top = max(i for i in range(len(tails) - 1) if tails[i] - tails[0] <= least)
        low = min(i for i in range(top + 1, len(tails)) if self.unit - tails[i] <= least)
        kept = [*tails[top:low], self.unit]
        masses = [b - a for a, b in pairwise(kept)]
        return Losses(step, first + (len(tails) - 1 - low) * step, masses[::-1], kept[0])

    def chords(self, step: Fraction, lowest: int, bounds: Sequence[Fraction]) -> Losses:
        """Of bounds on P(S) - g Q(S) at g = e^(i step), i = lowest, ...: each tail is where the chord meets g = 0."""
        low, high = (x - 1 for x in self.exp(step))
        meet = [a + (a - b) / (low if a >= b else high) for a, b in pairwise(bounds)]
        return self.tails(step, lowest * step, [Fraction(1), *(min(t, Fraction(1)) for t in meet), bounds[-1]])

    def joined(self, one: Losses, two: Losses) -> Losses:
        """The sum of both, on the wider of their steps: one product of whole numbers, as polynomials in 2^width."""
        step = max((law.step for law in (one, two) if len(law.masses) > 1), default=one.step)
        one, two = self.on(one, step), self.on(two, step)
        points, width = len(one.masses) + len(two.masses) - 1, (2 * self.bits) // 8 + 1
        if points > _MOST:
            raise NotSummed(f"the law of all losses has more than {_MOST:,} points")
        product = math.prod(
            int.from_bytes(b"".join(m.to_bytes(width, "little") for m in law.masses), "little") for law in (one, two)
        ).to_bytes(points * width, "little")
        both = [int.from_bytes(product[i * width : (i + 1) * width], "little") for i in reversed(range(points))]
        beyond = self.unit**2 - sum(one.masses) * sum(two.masses)
        return self.trimmed(step, one.first + two.first, [up(t, self.unit) for t in accumulate(both, initial=beyond)])

    def power(self, law: Losses, n: int) -> Losses:
        """So many independent copies."""
        half = law if n == 1 else self.power(law, n // 2)
        whole = half if n == 1 else self.joined(half, half)
        return self.joined(whole, law) if n > 1 and n % 2 else whole

    def on(self, law: Losses, step: Fraction) -> Losses:
        """On a step that divides its own; else on multiples of the step, every atom as two, of the same P- and
        Q-mass."""
        times = law.step / step
        if len(law.masses) == 1 or times.denominator == 1:
            spread = [0] * (math.floor(times) * (len(law.masses) - 1) + 1)
            spread[:: math.floor(times) or 1] = law.masses
            return Losses(step, law.first, spread, law.infinite)
        low = math.floor(law.first / step)
        places = [(law.first + i * law.step) / step for i in range(len(law.masses))]
        masses, share = [0] * (math.ceil(places[-1]) - low + 1), dict[Fraction, Fraction]()
        for place, mass in zip(places, law.masses, strict=True):
            at = math.floor(place)
            if (rest := place - at) not in share:
                share[rest] = (1 - self.exp(-rest * step)[0]) / (1 - self.exp(-step)[1]) if rest else rest
            moved = min(mass, math.ceil(mass * share[rest]))
            masses[at - low] += mass - moved
            if moved:
                masses[at - low + 1] += moved
        return Losses(step, low * step, masses, law.infinite)

    def delta(self, law: Losses, epsilon: Fraction) -> Fraction:
        """At least E (1 - e^(epsilon - L))+."""
        at = max(0, math.ceil((epsilon - law.first) / law.step))
        bits = self.bits + _BITS
        left, shrink = (exp(x, bits)[0] for x in (epsilon - law.first - at * law.step, -law.step))
        found = law.infinite << bits
        for mass in law.masses[at:]:
            found += mass * ((1 << bits) - left)
            left = left * shrink >> bits
        return Fraction(found, self.unit << bits)

    def together(self, laws: Sequence[tuple[Losses, int]], stated: Fraction | None) -> Losses:
        """The sum of all, each so many times; `stated`: the step that was named for it."""
        powers = [self.power(law, n) for law, n in laws]
        wide = [law.step for law in powers if len(law.masses) > 1]
        if len({*wide}) > 1:
            natural = reduce(_common, wide)
            step = natural if stated is None or stated <= natural else stated / 2
            powers = [self.on(law, step) for law in powers]
        return reduce(self.joined, sorted(powers, key=lambda law: len(law.masses)))

    # --- the parts

    def bound(self, words: Sequence[str]) -> Losses:
        """(epsilon, delta), in both orders: +-epsilon in the ratio e^epsilon : 1, and delta at infinity."""
        e, d = map(number, words)
        if not e or e > _HUGE:
            return self.tails(Fraction(1), Fraction(0), [Fraction(1), d if not e else Fraction(1)])
        return self.tails(2 * e, -e, [Fraction(1), d + (1 - d) / (1 + self.exp(-e)[0]), d])

    def shifted(self, one: Callable[[Fraction, int], Losses], words: Sequence[str]) -> Losses:
        """Lattice noise, moved by any of some vectors: coordinates add, and of vectors the worst at every point."""
        size, listed = number(words[0]), [[abs(int(x)) for x in v.split(",")] for v in words[1].split(";")]
        still = self.bound(("0", "0"))
        laws = [
            self.together([(one(size, by) if by else still, n) for by, n in Counter(v).items()], None) for v in listed
        ]
        if len(laws) == 1:
            return laws[0]
        step = reduce(_common, [x for law in laws for x in (law.step, abs(law.first)) if x])
        low = math.floor(min(law.first for law in laws) / step)
        high = math.ceil(max(law.first + (len(law.masses) - 1) * law.step for law in laws) / step)
        if (high - low) * sum(len(law.masses) for law in laws) > 50 * _MOST:
            raise NotSummed("vectors that move noise in ways of many points are not compared here")
        return self.chords(step, low, [max(self.delta(law, i * step) for law in laws) for i in range(low, high + 1)])

    def laplace(self, b: Fraction, m: int) -> Losses:
        """Losses (2j - m) / b, P(L >= that) = 1 - r^(m - j + 1) / (1 + r), r = e^(-1/b); noise on a lattice whose step
        is c times as wide, on which it moves by m / c or more, is no better."""
        c = up(m, 1024)
        m, b = up(m, c), b / c
        low, high = self.exp(-1 / b)
        powers = list(accumulate([low] * m, lambda a, r: Fraction(math.floor(a * r * self.unit), self.unit)))
        return self.tails(2 / b, -m / b, [Fraction(1), *(1 - p / (1 + high) for p in reversed(powers)), Fraction(0)])

    def gaussian(self, size: Fraction, m: int) -> Losses:
        """Losses (m^2 + 2 m z) / (2 size), z with masses ~ e^(-z^2 / (2 size)); of the rest P(|z| > far) at most."""
        far = math.isqrt(math.ceil(2 * size * (self.cut + 8))) + 2
        if far > _FAR:
            raise NotSummed(f"Gaussian noise of more than {_FAR:,} steps is not summed here")
        weights = [self.exp(-Fraction(k * k) / (2 * size)) for k in range(far + 2)]
        ratio = self.exp(-Fraction(2 * far + 2) / (2 * size))[1]
        beyond = weights.pop()[1] / (1 - ratio)
        total = 2 * sum(a for a, _ in weights) - 1, 2 * (sum(h for _, h in weights) + beyond) - 1
        # P(z > far), P(z >= far), .., P(z >= 1), at most and at least
        high = list(accumulate((h for _, h in weights[:0:-1]), initial=beyond))
        low = list(accumulate((a for a, _ in weights[:0:-1]), initial=Fraction(0)))
        upper = [h / total[0] for h in high] + [1 - a / total[1] for a in reversed(low[1:])]
        return self.tails(m / size, (m - 2 * far) * m / (2 * size), [Fraction(1), *reversed(upper)])

    def outputs(self, words: Sequence[str]) -> Losses:
        """Two laws of one output: the larger P(S) - g Q(S) of both orders, at points, and chords."""
        both = _outputs(words)
        most, apart = _of_outputs(both)
        if not most:
            return self.tails(Fraction(1), Fraction(0), [Fraction(1), apart])
        if len(both) > 1000:
            raise NotSummed("laws of more than 1,000 outputs are not compared here")
        step = Fraction(max(1, math.ceil(most * 2**21 / _NODES)), 2**21)
        reach = math.ceil(most / step)
        bits, whole = self.bits + _BITS, math.lcm(*(x.denominator for pair in both for x in pair))
        first = [(int(x * whole), int(y * whole)) for x, y in both]
        grow, g, bounds = exp(step, bits)[0], exp(-reach * step, bits)[0], list[Fraction]()
        for _ in range(2 * reach + 1):
            orders = ((x << bits, y * g) for x, y in first), ((y << bits, x * g) for x, y in first)
            excess = max(sum(max(0, a - b) for a, b in each) for each in orders)
            bounds.append(Fraction(up(excess * self.unit, whole << bits), self.unit))
            g = g * grow >> bits
        return self.chords(step, -reach, bounds)

    def read(self, text: str) -> Losses:
        """The law of a part."""
        kind, words = _words(text)
        if kind == "renyi":
            raise NotSummed("a Rényi guarantee is not turned into a law of losses here; fugu verify does it")
        if kind in ("laplace", "gaussian"):
            return self.shifted(self.laplace if kind == "laplace" else self.gaussian, words)
        return {"bound": self.bound, "outputs": self.outputs}[kind](words)


def prove_composition(content: Part) -> Second:
    """The delta at the epsilon that is stated, from the parts; without a law, the sums of epsilons and deltas."""
    budget, parts = asked(content), [part(found) for found in rows(content["parts"])]
    listed = [(str(found["pair"]), whole(found["count"])) for found in parts]
    if not listed or budget.orders or any(not 0 < n <= 10**9 for _, n in listed) or len(dict(listed)) < len(listed):
        raise BadCertificate("the parts of the composition cannot be read")
    if content["neighbours"] not in _NEIGHBOURS or not 0 <= budget.delta < 1:
        raise BadCertificate("the composition is of no promise that there is")
    sums = _sums(listed)
    if content["law"] is None:
        return _decided(budget, *sums)
    stated = part(content["law"])
    bits, cut, step = whole(stated["bits"]), whole(stated["cut"]), number(stated["step"])
    if not 60 <= cut <= 4_000 or bits != cut + 36 or step <= 0:
        raise BadCertificate("the law of the composition has too few bits, or no step")
    grid = Grid(bits + _BITS, cut + _CUT)
    laws = [(grid.read(text), n) for text, n in listed]
    natural = reduce(_common, {law.step for law, _ in laws if len(law.masses) > 1} or {step})
    if (step / natural).denominator != 1 and step < natural:
        raise BadCertificate("the law of the composition is on a finer step than its parts")
    law = grid.together(laws, step)
    simple = grid.bound(tuple(map(str, sums)))
    delta = min(grid.delta(each, budget.epsilon) for each in (law, simple))
    return _decided(budget, budget.epsilon, delta, len(law.masses))


def _sums(listed: Sequence[tuple[str, int]]) -> tuple[Fraction, Fraction]:
    """What epsilons and deltas add up to; more than anything where a part has no epsilon."""
    epsilon, kept = Fraction(0), Fraction(1)
    for text, n in listed:
        kind, words = _words(text)
        e, d = Fraction(2 * _HUGE), Fraction(0)
        if kind == "bound":
            e, d = map(number, words)
        elif kind == "outputs":
            e, d = _of_outputs(_outputs(words))
        elif kind == "laplace":
            e = max(sum(abs(int(x)) for x in v.split(",")) for v in words[1].split(";")) / number(words[0])
        epsilon, kept = epsilon + n * e, kept * ((1 - d) ** n if n <= _FAR else max(Fraction(0), 1 - n * d))
    return epsilon, 1 - kept


def _words(text: str) -> tuple[str, list[str]]:
    """A part: its kind and its two words, whose numbers are in range, whatever they are summed for."""
    kind, *words = text.split(" ")
    if kind not in _KINDS or (kind != "renyi" and len(words) != 2):
        raise BadCertificate("a part of the composition is of no kind that there is")
    if kind == "bound":
        e, d = map(number, words)
        if e < 0 or not 0 <= d <= 1:
            raise BadCertificate("an epsilon or a delta of the composition is out of range")
    elif kind in ("laplace", "gaussian") and number(words[0]) <= 0:
        raise BadCertificate("the noise of the composition has no size")
    return kind, words


def _outputs(words: Sequence[str]) -> list[tuple[Fraction, Fraction]]:
    first, second = ([number(x) for x in word.split(",")] for word in words)
    if len(first) != len(second) or min(*first, *second) < 0 or not sum(first) or not sum(second):
        raise BadCertificate("the outputs of the composition have no probabilities")
    return [(x / sum(first), y / sum(second)) for x, y in zip(first, second, strict=True) if x or y]


def _of_outputs(both: list[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    """The logarithm of the largest ratio, and what only one of the two laws gives."""
    apart = [sum((a for a, b in each if not b), Fraction(0)) for each in (both, [(y, x) for x, y in both])]
    most = max((max(x / y, y / x) for x, y in both if x and y), default=Fraction(1))
    return (Fraction(log(most, 64)[1], 1 << 64) if most > 1 else Fraction(0)), max(apart)


def _decided(budget: Asked, epsilon: Fraction, delta: Fraction, terms: int = 0) -> Second:
    """A bound above the budget refutes nothing by itself; within it, every composition of such parts is proved."""
    held = epsilon <= budget.epsilon and delta <= budget.delta
    why = f"the losses of the parts, added up, are {'within' if held else 'above'} the budget"
    if not held:
        return Second("fails", why, (Fraction(0), math.inf), (Fraction(0), Fraction(1)), "", 0, terms, asked=budget)
    return Second("holds", why, (Fraction(0), epsilon), (Fraction(0), delta), "", 0, terms, asked=budget)


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The largest number of which both are multiples."""
    below = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * below), int(other * below)), below)
