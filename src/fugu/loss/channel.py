"""What leaves a channel of whole numbers: sums of its columns, exactly, and what they lose under stated laws, sets of
laws, or any belief."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from flint import arb

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import PairLoss
from fugu.laws.family import Family, SetFamily
from fugu.laws.masses import Masses
from fugu.laws.sets import LawSet
from fugu.loss.atoms import working_bits
from fugu.loss.leakage import Leakage, require_exact
from fugu.noise.channel import Channel
from fugu.numbers import balls
from fugu.numbers.exact import float_up


@final
class ChannelLeakage(Leakage[Any, Channel]):
    """The points are numbers of rows of the channel; P(y) = sum_x p(x) rows[x][y] / total.

    Pure: max_y P(y) / Q(y) <= e^epsilon, in integers. Delta: sum_y [P(y) - e^epsilon Q(y)]_+. Divergences in balls. The
    members of the two sides of a pair of sets are chosen independently of each other, so output y has the worst ratio
    max_U sum_x p(x) K(y|x) / min_V sum_x q(x) K(y|x): exact wherever `LawSet.top` is. Delta and divergences add up
    outputs whose worst members may differ: bounds, from above."""

    def pure(self, item: Family | SetFamily, noise: Channel, epsilon: Fraction) -> list[PairLoss]:
        """ln of the largest ratio, both orders; a pair that meets `epsilon` in rationals says so. Laws known up to an
        error have none."""

        def loss(label: str, pair: Pair, one: Ends, other: Ends) -> PairLoss:
            if item.blurred(pair):
                return PairLoss(label, math.inf, pair)
            ratios = worst_ratio(one[0], other[1]), worst_ratio(other[0], one[1])
            worst = None if None in ratios else max(x for x in ratios if x is not None)
            found = PairLoss(label, log_up(worst), pair)
            if not found.within(epsilon) and at_most_exp(worst, epsilon):
                return PairLoss(label, float_up(epsilon), pair, met=True)
            return found

        return self._each(item, noise, loss)

    def delta(self, item: Family | SetFamily, noise: Channel, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """In rationals, for one just below e^epsilon; what the laws' own errors cost comes on top."""

        def loss(label: str, pair: Pair, one: Ends, other: Ends) -> PairLoss:
            worst = min(Fraction(1), max(excess(one[0], other[1], epsilon), excess(other[0], one[1], epsilon)))
            if not item.blurred(pair):
                return PairLoss(label, float_up(worst), pair, met=worst <= delta)
            with balls.precision(128):
                e = balls.of(epsilon).exp()
                more = max(balls.upper(item.slack(order, e)) for order in (pair, pair[::-1]))
            return PairLoss(label, min(1.0, float_up(worst + Fraction(more))), pair)

        return self._each(item, noise, loss)

    def divergence(self, item: Family | SetFamily, noise: Channel, alpha: Fraction) -> list[PairLoss]:
        """The sum over outputs, both orders: P^alpha Q^(1 - alpha) grows with P and falls with Q. Of sets never above
        the pure loss."""
        require_exact(item)
        pure = {}
        if isinstance(item, SetFamily):
            pure = {loss.pair: loss.value for loss in self.pure(item, noise, Fraction(0))}

        def loss(label: str, pair: Pair, one: Ends, other: Ends) -> PairLoss:
            with balls.precision(working_bits(alpha)):
                both = max(divergence(one[0], other[1], alpha), divergence(other[0], one[1], alpha))
            return PairLoss(label, min(both, pure.get(pair, math.inf)), pair)

        return self._each(item, noise, loss)

    def _each(
        self, item: Family | SetFamily, noise: Channel, loss: Callable[[str, Pair, Ends, Ends], PairLoss]
    ) -> list[PairLoss]:
        """The loss of every pair, from the most and the least that either side gives each output."""
        if item.translates:
            raise NotProvable(f"{self.about}: translates of an unknown law have no atoms that a channel could map")
        points = item.points
        if points.dtype.kind not in "iu" or (
            len(points) and not 0 <= int(points.min()) <= int(points.max()) < len(noise.rows)
        ):
            raise BadNoise(f"a channel of {len(noise.rows)} values has no row for some point of the laws")
        rows, laws = [noise.rows[x] for x in points.tolist()], law_list(item)
        known = {k: published(laws[k], rows, noise) for k in {k for pair in item.pairs for k in pair}}
        labelled = zip(item.pairs, item.labels, strict=True)
        return [loss(label, (i, j), known[i], known[j]) for (i, j), label in labelled]

    def epsilon(self, item: Family | SetFamily, noise: Channel) -> float:
        """Of exact laws."""
        require_exact(item)
        return super().epsilon(item, noise)

    def given(self, item: Family | SetFamily, noise: Channel) -> tuple[Family | SetFamily, Channel]:
        """Laws whose atoms, sets whose declared values stand in the order of the rows."""
        if (count := len(item.points)) != len(noise.rows):
            said = f"laws have {count} atoms" if isinstance(item, Family) else f"sets declare {count} values"
            raise BadNoise(f"the {said}, and the channel has {len(noise.rows)} rows")
        return item.placed(np.arange(count)), noise


@dataclass(frozen=True)
class OutputMasses:
    """parts[y] / total: the mass of every output; of a set of laws the most, or the least, that any member gives it."""

    parts: tuple[int | Fraction, ...]
    total: int


Pair = tuple[int, int]
Ends = tuple[OutputMasses, OutputMasses]


def law_list(item: Family | SetFamily) -> tuple[Masses, ...] | tuple[LawSet, ...]:
    """The laws of a family, or its sets of laws."""
    return item.sets if isinstance(item, SetFamily) else item.laws


def published(law: Masses | LawSet, rows: Sequence[tuple[int, ...]], channel: Channel) -> Ends:
    """The most and the least that any law of a set gives each output, exactly: of one law twice sum_x p(x) K(y | x)."""
    if isinstance(law, LawSet):
        columns = list(zip(*rows, strict=True))
        most, least = tuple(map(law.top, columns)), tuple(max(Fraction(0), law.bottom(column)) for column in columns)
        return OutputMasses(most, channel.total), OutputMasses(least, channel.total)
    parts, total = law.whole()
    sums: list[int] = [0] * len(channel.outputs)
    for part, row in zip(parts, rows, strict=True):
        if part:
            sums = [s + part * mass for s, mass in zip(sums, row, strict=True)]
    found = OutputMasses(tuple(sums), total * channel.total)
    return found, found


def worst_ratio(above: OutputMasses, below: OutputMasses) -> Fraction | None:
    """max_y of the two masses of output y, at least 1; None if it is infinite."""
    worst = Fraction(1)
    for a, b in zip(above.parts, below.parts, strict=True):
        if a and not b:
            return None
        if a * below.total * worst.denominator > worst.numerator * b * above.total:
            worst = Fraction(a * below.total) / (b * above.total)
    return worst


def excess(above: OutputMasses, below: OutputMasses, epsilon: Fraction) -> Fraction:
    """sum_y [P(y) - E Q(y)]_+ for a rational E at or below e^epsilon: at or above the same with e^epsilon."""
    e = exp_below(epsilon)
    up, down = e.denominator * below.total, e.numerator * above.total
    whole = sum(max(0, a * up - b * down) for a, b in zip(above.parts, below.parts, strict=True))
    return Fraction(whole) / (e.denominator * above.total * below.total)


def divergence(above: OutputMasses, below: OutputMasses, alpha: Fraction) -> float:
    """ln(sum_y P(y)^alpha Q(y)^(1 - alpha)) / (alpha - 1), in balls, from above; inf where P has mass and Q none."""
    a, total = balls.of(alpha), arb(0)
    up, down = balls.of(above.total), balls.of(below.total)
    for p, q in zip(above.parts, below.parts, strict=True):
        if p and not q:
            return math.inf
        if p:
            ratio = balls.of(p) / up * (down / balls.of(q))
            total += balls.of(q) / down * (ratio.log() * a).exp()
    return max(0.0, balls.upper(total.log() / (a - 1)))


def any_belief(channel: Channel) -> float:
    """The least epsilon, from above, with K(y | x) <= e^epsilon K(y | x') for all values and outputs; inf if none.

    P(y) / Q(y) is a ratio of means of K(y | .), so no two beliefs about the value lose more.

    >>> any_belief(Channel([0, 1], [[3, 1], [1, 3]])) == 1.0986122886681098
    True
    """
    worst: Fraction | None = Fraction(1)
    for column in channel.columns():
        least, most = min(column), max(column)
        if most and not least:
            return log_up(None)
        if most and worst is not None:
            worst = max(worst, Fraction(most, least))
    return log_up(worst)


# e^epsilon against rationals, decided exactly: a channel of least error meets its budget with nothing to spare.


_BITS = (128, 512, 2048, 8192)
_FINE = 192
"""Bits of the rational below e^epsilon that positive parts are taken with."""


def at_most_exp(ratio: Fraction | None, epsilon: Fraction) -> bool:
    """Whether ratio <= e^epsilon, proved; None stands for an infinite ratio.

    For a rational epsilon > 0 no rational is equal to e^epsilon (Lindemann), so more bits decide at last; what they do
    not decide counts as above.

    >>> at_most_exp(Fraction(2), Fraction(1)), at_most_exp(Fraction(1), Fraction(0)), at_most_exp(None, Fraction(9))
    (True, True, False)
    """
    if ratio is None:
        return False
    if ratio <= 1:
        return True
    for bits in _BITS if epsilon > 0 else ():
        with balls.precision(bits):
            found = balls.of(ratio).log()
            if found <= balls.of(epsilon):
                return True
            if found > balls.of(epsilon):
                return False
    return False


def log_up(ratio: Fraction | None) -> float:
    """A float at or above ln(ratio), for a ratio >= 1; inf for None.

    >>> log_up(Fraction(1)), log_up(None)
    (0.0, inf)
    """
    if ratio is None:
        return math.inf
    with balls.precision(_BITS[0]):
        return 0.0 if ratio <= 1 else balls.upper(balls.of(ratio).log())


def exp_below(epsilon: Fraction) -> Fraction:
    """A rational at or below e^epsilon, within 2^-180 of it relatively; 1 at 0.

    >>> exp_below(Fraction(0)), float(exp_below(Fraction(1)))
    (Fraction(1, 1), 2.718281828459045)
    """
    if epsilon == 0:
        return Fraction(1)
    with balls.precision(_FINE):
        mantissa, exponent = balls.of(epsilon).exp().lower().man_exp()
    whole, power = int(mantissa), int(exponent)
    return Fraction(whole << power) if power >= 0 else Fraction(whole, 1 << -power)
