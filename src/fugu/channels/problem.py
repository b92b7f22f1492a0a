"""What a channel must do, what an output costs, and how far a channel takes values; nothing here is a proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadBudget, BadLaw, BadNoise, UnknownName, UsageError
from fugu.laws.masses import Masses
from fugu.laws.sets import LawSet
from fugu.noise.channel import Channel
from fugu.numbers.exact import MatrixLike

_SUM = 1e-9
"""How far a weight may be from the sum 1: rounding, not a choice."""


@dataclass(frozen=True, eq=False)
class ChannelProblem:
    """Least expected loss sum_x w_x sum_y K(y|x) loss(x, y) of a channel K that protects the pairs of laws.

    Pure: sum_x p(x) K(y|x) <= e^epsilon sum_x q(x) K(y|x) for every output y, every pair in both orders, and every
    p and q of the two sides (each side is one law, or a set of laws; the members are chosen independently). With
    delta: sum_y [sum_x (p(x) - e^epsilon q(x)) K(y|x)]_+ <= delta.

    - `laws`: one for each secret of each adversary, all on the same n points.
    - `pairs`: places in `laws`; each pair is protected in both orders.
    - `epsilon`, `delta`: the budget, exact.
    - `loss`: n rows, m columns; finite and not negative.
    - `weight`: the n weights of the expected loss, sum 1, declared or from the reference, never from private rows;
      None asks for the least loss under the worst of the laws.
    - `cap`: K(y|x) <= e^cap K(y|x') for all x, x', y: what any belief at all can learn; None for no such limit.
    - `monotone`: whether K(.|x) must grow with x: sum_{y <= z} K(y|x) is not increasing in x.
    - `points`: the values of the n points, increasing; None for labels without an order.
    - `outputs`: the published values, one for each column of `loss`; None for labels.

    Raises `BadLaw`, `BadBudget` and `UsageError`, each with the parameter that is wrong.
    """

    laws: tuple[Masses | LawSet, ...]
    pairs: tuple[tuple[int, int], ...]
    epsilon: Fraction
    loss: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    delta: Fraction = Fraction(0)
    cap: Fraction | None = None
    monotone: bool = False
    points: NDArray[np.float64] | None = None
    outputs: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        loss, weight = self.loss, self.weight
        if loss.ndim != 2 or 0 in loss.shape:
            raise UsageError(
                f"the loss needs one row for each point and one column for each output, got shape {loss.shape}"
            )
        if not np.all(np.isfinite(loss)) or loss.min() < 0:
            raise UsageError("every loss must be a finite number that is not negative")
        for s, law in enumerate(self.laws):
            if atoms(law) != self.n:
                raise BadLaw(f"law {s} has {atoms(law)} points, the loss has {self.n} rows; all need the same points")
        for s, t in self.pairs:
            if not (0 <= s < len(self.laws) and 0 <= t < len(self.laws)) or s == t:
                raise UsageError(f"the pair ({s}, {t}) does not name two of the {len(self.laws)} laws")
        if self.epsilon < 0 or not 0 <= self.delta < 1 or (self.cap is not None and self.cap < 0):
            raise BadBudget("a channel needs epsilon >= 0, 0 <= delta < 1 and a cap >= 0 if there is one")
        _check_weight(weight, self.n, len(self.laws))
        for name, array, size in (("points", self.points, self.n), ("outputs", self.outputs, self.m)):
            if array is not None and (array.shape != (size,) or not np.all(np.isfinite(array))):
                raise UsageError(f"{name} must be {size} finite numbers, got shape {array.shape}")
        if self.points is not None and not np.all(np.diff(self.points) > 0):
            raise UsageError("points must increase strictly, one for each row of the loss")
        if self.monotone and (self.points is None or self.outputs is None or np.any(np.diff(self.outputs) <= 0)):
            raise UsageError("a monotone channel needs points and outputs with an order: give both, increasing")

    @property
    def n(self) -> int:
        """How many points the laws have."""
        return int(self.loss.shape[0])

    @property
    def m(self) -> int:
        """How many values may be published."""
        return int(self.loss.shape[1])

    @property
    def robust(self) -> bool:
        """Whether some law is a set of laws."""
        return not all(isinstance(law, Masses) for law in self.laws)

    @cached_property
    def groups(self) -> list[list[int]]:
        """The adversaries: laws that pairs link, group by group; laws without a pair are left out."""
        owner = list(range(len(self.laws)))
        for s, t in self.pairs:
            a, b = sorted((owner[s], owner[t]))
            owner = [a if o == b else o for o in owner]
        found = [[s for s, o in enumerate(owner) if o == first] for first in sorted(set(owner))]
        return [group for group in found if len(group) > 1]

    def complete(self, group: list[int]) -> bool:
        """Whether every two laws of the group are a pair."""
        known = {frozenset(pair) for pair in self.pairs}
        return sum(pair <= set(group) for pair in known) == len(group) * (len(group) - 1) // 2

    def ordered(self) -> list[tuple[int, int]]:
        """The pairs in both orders: (s, t) then (t, s) for each pair, which is the order of the rows of `Prices`."""
        return [c for s, t in self.pairs for c in ((s, t), (t, s))]


@dataclass(frozen=True, eq=False)
class Prices:
    """A solver's dual: what each promise costs. Any numbers give a true lower bound (`exact.lower`), good ones a tight
    one; they are read as exact binary numbers and clipped to what the theorem asks for.

    - `ratio`: alpha >= 0, one row for each of `problem.ordered()`, one column for each output.
    - `mix`: for the worst of the laws, the weight of each law; `mixed` its member (laws, points) where laws are sets.
    - `upper`, `lower`: (laws, outputs, points), for sets: the member of the numerator and of the denominator.
    - `cap`: (points, outputs), the price of the cap with its sign.
    - `rise`: (points - 1, outputs - 1), >= 0, the price of being monotone.
    """

    ratio: NDArray[np.float64] | None = None
    mix: NDArray[np.float64] | None = None
    mixed: NDArray[np.float64] | None = None
    upper: NDArray[np.float64] | None = None
    lower: NDArray[np.float64] | None = None
    cap: NDArray[np.float64] | None = None
    rise: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class RoughChannel:
    """A channel in doubles, before it is made exact.

    - `matrix`: n rows that sum to 1 up to rounding, m columns.
    - `prices`: the dual, for `exact.lower`; None if the solver has none.
    - `gap`: of single laws the solver's own distance from the optimum, by which its answers are chosen.
    """

    matrix: NDArray[np.float64]
    prices: Prices | None
    gap: float = np.nan


def atoms(law: Masses | LawSet) -> int:
    """How many points a law or a set of laws has."""
    return int(law.parts.size if isinstance(law, Masses) else law.values.size)


def _check_weight(weight: NDArray[np.float64] | None, n: int, laws: int) -> None:
    if weight is None and not laws:
        raise UsageError("the worst of no laws is not defined: give laws, or a weight")
    if weight is None:
        return
    if weight.shape != (n,):
        raise UsageError(f"the weight needs one number for each of the {n} points, got shape {weight.shape}")
    if not np.all(np.isfinite(weight)) or weight.min() < 0:
        raise UsageError("every weight must be a finite number that is not negative")
    if abs(float(weight.sum()) - 1) > _SUM:
        raise UsageError(f"the weights must sum to 1, got {float(weight.sum()):.12g}")


# A problem with point laws, in doubles: what all solvers share.


_LARGEST = 300.0
"""Above this epsilon e^epsilon leaves the range of doubles; less is safe, and dearer by less than e^-300."""
_BLOCK = 1 << 22
"""Cells looked at together."""
_SPOILT = 1e-6
_LEAST_SLACK = 1e-3


@dataclass(frozen=True, eq=False)
class PointLaws:
    """The laws as rows of `law` (secrets, points), e^epsilon as `ratio`, and the problem they come from."""

    problem: ChannelProblem
    law: NDArray[np.float64]
    ratio: float

    @classmethod
    def of(cls, problem: ChannelProblem) -> PointLaws:
        """Read a problem; UsageError if a law is a set, or if there is a cap."""
        laws = [law for law in problem.laws if isinstance(law, Masses)]
        if len(laws) < len(problem.laws) or problem.cap is not None:
            raise UsageError("sets of laws and caps need the robust solver: ask `fugu.channels.find.find`")
        law = np.array([one.floats() for one in laws]).reshape(len(laws), problem.n)
        return cls(problem, law, math.exp(min(float(problem.epsilon), _LARGEST)))

    @cached_property
    def excess(self) -> NDArray[np.float64]:
        """a_c = p_s - e^epsilon p_t for each ordered pair c = (s, t): (ordered pairs, points)."""
        s, t = np.array(self.problem.ordered(), dtype=np.int64).reshape(-1, 2).T
        return self.law[s] - self.ratio * self.law[t]

    @cached_property
    def binding(self) -> NDArray[np.bool_]:
        """Which ordered pairs can bind at all: some point says more than e^epsilon."""
        return np.asarray(np.any(self.excess > 0, axis=1))

    @cached_property
    def only_pair(self) -> int | None:
        """The first row in `ordered` of the only pair that can bind; None if several can."""
        first: dict[frozenset[int], int] = {}
        ordered = self.problem.ordered()
        for c, pair in enumerate(ordered):
            first.setdefault(frozenset(pair), c)
        able = {first[frozenset(ordered[c])] for c in np.flatnonzero(self.binding)}
        return able.pop() if len(able) == 1 else None

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """The points that some paired law can take; what the others are sent to costs no privacy. Under the worst law
        also those of laws without a pair, since their loss counts."""
        counted = {s for pair in self.problem.pairs for s in pair}
        laws = self.law if self.problem.weight is None else self.law[sorted(counted)]
        return np.asarray(np.any(laws > 0, axis=0))

    def loss(self, matrix: NDArray[np.float64]) -> float:
        """The expected loss of a channel, or the largest under any law."""
        rows = np.einsum("xy,xy->x", matrix, self.problem.loss)
        weight = self.problem.weight
        return float(np.max(self.law @ rows)) if weight is None else float(weight @ rows)

    def weight(self, prices: Prices) -> NDArray[np.float64]:
        """The weight of the points: given, or that of the worst mixture of the laws."""
        if self.problem.weight is not None:
            return self.problem.weight
        assert prices.mix is not None
        return np.asarray(prices.mix @ self.law / prices.mix.sum())

    def priced(self, prices: Prices, columns: slice = slice(None)) -> NDArray[np.float64]:
        """w_x loss(x, y) + sum_c alpha_{c,y} a_c(x): what the cells of some outputs cost with their promises."""
        cells = self.weight(prices)[:, None] * self.problem.loss[:, columns]
        if prices.ratio is not None and prices.ratio.size:
            cells += self.excess.T @ prices.ratio[:, columns]
        if prices.rise is not None:
            cells += pull(prices.rise)[:, columns]
        return cells

    def bound(self, prices: Prices) -> float:
        """The lower bound of the optimum that any prices give, in doubles; `exact.lower` proves it in rationals:
        sum_x min_y [w_x loss(x, y) + sum_c alpha_{c,y} a_c(x)] - delta sum_c max_y alpha_{c,y}."""
        least, step = np.full(self.problem.n, np.inf), max(1, _BLOCK // self.problem.n)
        for first in range(0, self.problem.m, step):
            np.minimum(least, self.priced(prices, slice(first, first + step)).min(axis=1), out=least)
        paid = 0.0 if prices.ratio is None else float(self.problem.delta) * float(prices.ratio.max(axis=1).sum())
        return float(least.sum()) - paid

    def found(self, matrix: NDArray[np.float64], prices: Prices) -> RoughChannel:
        """What a solver hands back: rows that sum to 1, the prices (none at all where rounding spoilt them, which
        happens at huge e^epsilon), and how far the loss is above the bound."""
        whole = self.completed(matrix)
        loss, bound = self.loss(whole), self.bound(prices)
        if loss - bound > _SPOILT * loss:
            nothing = replace(prices, ratio=np.zeros((len(self.problem.ordered()), self.problem.m)))
            if self.bound(nothing) > bound:
                prices, bound = nothing, self.bound(nothing)
        return RoughChannel(whole, prices, max(0.0, loss - bound))

    def shortfall(self, found: RoughChannel) -> float:
        """What is wrong with an answer, in units of the loss: its gap, and what mends its promises (`exact`)."""
        over = np.clip(np.max(self.excess @ found.matrix, axis=0, initial=0.0), 0.0, None).sum()
        mended = max(0.0, float(over) - float(self.problem.delta)) / max(self.ratio - 1, _LEAST_SLACK)
        return found.gap + mended * float(self.problem.loss.max())

    def completed(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """The channel on all points, in place: rows that sum to 1, and the best output for points that no law takes."""
        np.clip(matrix, 0.0, None, out=matrix)
        if not self.problem.monotone:
            idle = np.flatnonzero(~self.active)
            matrix[idle] = 0.0
            matrix[idle, np.argmin(self.problem.loss[idle], axis=1)] = 1.0
        matrix /= matrix.sum(axis=1, keepdims=True)
        return matrix


def pull(rise: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the prices of F(j|x + 1) <= F(j|x) add to each cell (x, y): sum over j >= y of rise[x - 1] - rise[x]."""
    tails = np.pad(np.cumsum(rise[:, ::-1], axis=1)[:, ::-1], ((1, 1), (0, 1)))
    return np.asarray(tails[:-1] - tails[1:])


# What an output costs: distances of numbers, categories that went out as others, or a table that the user states.


Floats = NDArray[np.float64]
LossName = Literal["absolute", "squared", "zero-one"]
STATED = "stated"
"""What a loss is called that was given as a table."""


LOSSES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "absolute": lambda points, outputs: np.abs(points[:, None] - outputs[None, :]),
    "squared": lambda points, outputs: np.square(np.abs(points[:, None] - outputs[None, :])),
    "zero-one": lambda points, outputs: np.where(points[:, None] == outputs[None, :], 0.0, 1.0),
}


def named_loss(name: str, points: Floats, outputs: Floats) -> Floats:
    """|x - y|, (x - y)^2 or 1 where x and y differ, in doubles: one row for each point, one column for each output.

    >>> named_loss("squared", np.array([0.0, 2.0]), np.array([1.0, 2.0])).tolist()
    [[1.0, 4.0], [1.0, 0.0]]
    """
    if name not in LOSSES:
        raise UnknownName("loss", name, (*LOSSES, "or a table with one row for each value, one column for each output"))
    with np.errstate(over="ignore"):
        found = LOSSES[name](points, outputs)
    if not np.all(np.isfinite(found)):
        raise UsageError(f"the {name} loss of these values is beyond the range of doubles; rescale the values")
    return found


def stated_loss(table: MatrixLike, values: int, outputs: int) -> Floats:
    """A table of losses as given: finite numbers >= 0, one row for each value, one column for each output."""
    try:
        found = np.array(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("a loss is a name, or a table of numbers") from None
    if found.shape != (values, outputs):
        raise UsageError(
            f"a table of losses has one row for each of the {values} values and one column for each of the {outputs} "
            f"outputs, got shape {found.shape}"
        )
    if not np.all(np.isfinite(found)) or np.any(found < 0):
        raise UsageError("losses are finite numbers that are not negative; NaN and infinity say nothing here")
    return found


# How far a channel takes values, in doubles: expected losses, quantiles of the error, and what goes out as it is.
#
# Means are under the channel's own weight; where it states none, under the law that makes them largest.


MEAN, WORST = "mean", "worst"
WEIGHINGS = (MEAN, WORST, STATED)
"""What expected losses are means under: the average of the laws, the worst of them, or weights that were stated."""
_SLACK = 1e-12
"""More than the rounding of a sum of probabilities."""


@dataclass(frozen=True, eq=False)
class Errors:
    """The errors of a channel on the values of `support`, under its weight or under the worst of `laws`.

    Of categories without an order (the channel has names) an error is 1 where another category goes out.

    >>> coin = Errors(Channel([0, 2], [[3, 1], [1, 3]], weight=[1, 1]), np.array([0.0, 2.0]), ())
    >>> coin.expected("absolute"), coin.expected("squared"), coin.quantile(0.7), coin.quantile(0.8)
    (0.5, 1.0, 0.0, 2.0)
    """

    channel: Channel
    support: Floats
    laws: Sequence[Masses | LawSet]

    @cached_property
    def rows(self) -> Floats:
        """K(y | x), one row for each value."""
        return self.channel.conditional()

    @property
    def nominal(self) -> bool:
        """Whether values are categories without an order."""
        return self.channel.names is not None

    def loss(self, name: str) -> Floats:
        """What each output costs for each value; whatever is asked, categories are the same or another."""
        return named_loss("zero-one" if self.nominal else name, self.support, np.array(self.channel.outputs))

    def expected(self, name: str) -> float:
        """The mean of the loss of that name."""
        return self.mean((self.rows * self.loss(name)).sum(axis=1))

    def quantile(self, level: float) -> float:
        """The least error h that occurs with P(error <= h) >= level, up to rounding, which makes it larger."""
        if not 0 <= level < 1:
            raise BadNoise(f"a level must be in [0, 1), got {level!r}")
        loss = self.loss("absolute")
        sizes = np.unique(loss)
        low, high = 0, len(sizes) - 1  # the largest error is never exceeded
        while low < high:
            middle = (low + high) // 2
            beyond = self.mean((self.rows * (loss > sizes[middle])).sum(axis=1))
            low, high = (low, middle) if beyond <= 1 - level - _SLACK else (middle + 1, high)
        return float(sizes[low])

    @cached_property
    def kept(self) -> Floats:
        """K(x | x) of every value; 0 for values that are not among the outputs."""
        same = self.support[:, None] == np.array(self.channel.outputs)[None, :]
        found: Floats = np.where(same, self.rows, 0.0).sum(axis=1)
        return found

    @property
    def unchanged(self) -> float:
        """The probability that a value goes out as it is."""
        return min(1.0, self.mean(self.kept))

    def mean(self, each: Floats) -> float:
        """The mean of a number of each value: under the weight, else the largest of any law."""
        if self.channel.weight is not None:
            weight = np.array(self.channel.weight)
            return float(weight @ each / weight.sum())
        return max(largest_mean(law, each) for law in self.laws)


def largest_mean(law: Masses | LawSet, each: Floats) -> float:
    """The mean under a law, or the largest under any law of a set."""
    return float(law.floats() @ each) if isinstance(law, Masses) else float(law.tops(each[None, :])[0])


def mean_weight(laws: Sequence[Masses | LawSet]) -> Floats:
    """The average of the laws, or of the middles of sets of laws, with the sum 1."""
    each = []
    for law in laws:
        if isinstance(law, Masses):
            each.append(law.floats())
        else:
            centre, middle = law.centre(), np.zeros(len(law.values))
            middle[np.searchsorted(law.values, centre.values)] = centre.weights
            each.append(middle)
    total = np.sum(each, axis=0)
    return np.asarray(total / total.sum())
