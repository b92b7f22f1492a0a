"""The method `record-exchange`: the least Laplace noise, of a scale of its own for every statistic, under which
exchanging records with a property for records without it is not seen. `fugu.loss.exchange` proves it.

The loss falls in every scale (more Laplace noise is a post-processing of less), so on every ray of scales the least is
a root. The direction is sought by a convex-like programme on a few points w, to which the worst points of the whole
grid are added until none is above: a search in doubles, and whatever it finds is proved afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.lattice import beliefs_of, least_scale
from fugu.calibration.offer import Offer, Tried
from fugu.documents.exchange import METHOD, RecordExchange
from fugu.documents.sentences import APART, ONE_DATA_SET
from fugu.documents.swap import EXCHANGE
from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Ratio
from fugu.laws.family import Family, distinct
from fugu.laws.masses import Masses
from fugu.loss.exchange import MOST_POINTS, Doubles, Exchanged
from fugu.mechanism.intake import Context, shares_json
from fugu.noise.kind import Kind, Noise, Objective
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import MAX_INDEX, Lattice
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers.exact import as_fraction, decimal_step, decimal_up, float_up, integers
from fugu.scenario.property import TOGETHER, PropertyModel, fixed_counts

THEOREM = "k exchanged records lose k times what one loses: the largest ratio of its two noised laws"
_LABEL = "one share vs another share"
_ROUNDS, _ADDED, _CLOSE = 12, 3, 1e-5
_MORE = (1 + 1e-9, 1 + 1e-7, 1.00001, 1.001)
"""Scales are raised by so much until one is proved."""
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class RecordExchanged(Offer):
    """Noise under which a record exchange is not seen, for a property of the whole."""

    model: PropertyModel
    exchange: RecordExchange
    given: Family
    noise: Noise
    lattice: Lattice
    kind: Kind = Laplace
    method: str = METHOD

    def rank(self, objective: Objective) -> tuple[float, float, bool]:
        """The expected error, summed over statistics."""
        return self.noise.total_error(objective, self.given.dimension), float(self.noise.scale), False

    def tried(self, ask: Ask, context: Context) -> Tried:  # noqa: ARG002 - what is assumed is not the scenario's own
        """The noise and its proof in whole numbers; a little more where the search was a little low."""
        assert isinstance(ask, Ratio)
        model, noise, d = self.model, self.noise, self.given.dimension
        for times in _MORE:
            noise = _raised(self.noise, times)
            proof = self.exchange.proof((self.given,), noise, model.size, ask)
            if proof.holds:
                break
        alike = f"proved to look alike: every two such numbers that differ by at most {self.exchange.records}"
        own = (*self.exchange.lines(self.given, model.name), *fixed_counts(model, alike), APART, TOGETHER)
        return Tried(
            kind="vector" if d > 1 else "additive",
            method=METHOD,
            theorem=THEOREM,
            noise=noise,
            proof=proof,
            lattice=self.lattice,
            laws=(self.given,),
            beliefs=beliefs_of((self.given,)),
            context=Context(assumptions=own, unit=ONE_DATA_SET, shares=shares_json(model)),
            scales={METHOD: float(noise.scale)},
            dimension=d,
            more={EXCHANGE: self.exchange.to_json()},
        )


def record_exchange(
    model: PropertyModel, ask: Ask, grid: Fraction | None, objective: Objective, law_error: Fraction = Fraction(0)
) -> RecordExchanged:
    """The least noise that is found; `NotProvable` where a record exchange cannot be proved, and why.

    `law_error`: how far the law of a record of each class may be from the reference's, in total variation."""
    if not isinstance(ask, Ratio) or ask.epsilon == 0:
        raise NotProvable("a record exchange is proved for an epsilon above 0")
    family, lattice, box = records_on(model, grid)
    if law_error:
        free = [str(s) for s, ends in zip(model.statistics, model.limits, strict=True) if ends is None]
        if free:
            raise NotProvable(f"laws that may be off need bounds to lie in; give the bounds of {', '.join(free)}")
        if not model.replacement:
            raise NotProvable("a law that may be off is covered for records drawn independently; say replacement=True")
        family = replace(family, errors=(float_up(law_error),) * 2)
    counts = (min(model.counts), max(k + w for k, w in zip(model.counts, model.proved.widths, strict=True)))
    exchange = RecordExchange(model.swapped, counts, model.replacement, box)
    held = exchange.exchanged(family, model.size)
    if held.left is not None and min(held.left) < 1:
        raise NotProvable("too few records would be left to draw from; give a larger reference, or replacement=True")
    target = float(ask.epsilon) / exchange.records
    d = family.dimension
    if held.loss([None] * d) <= target:
        return RecordExchanged(model, exchange, family, Laplace(0, lattice.grid), lattice)
    scales = least_scales(held, target, 1 if objective == "absolute" else 2)
    if not max(scales) < 2.0**51:
        raise NotProvable("the noise is too wide for the steps that records lie on; choose a coarser grid")
    return RecordExchanged(model, exchange, family, _noise(scales, lattice.grid), lattice)


def _noise(steps: Sequence[float], grid: Fraction) -> Noise:
    """Laplace noise of these scales in steps, rounded up."""
    rounded = [decimal_up(x) for x in steps]
    if len(rounded) == 1:
        return Laplace(float(decimal_up(float_up(rounded[0] * grid))), grid)
    axes = np.eye(len(rounded), dtype=int).tolist()
    return DirectedLaplace(axes, [float(x) for x in rounded], grid)


def _raised(noise: Noise, times: float) -> Noise:
    """The same with every scale that much larger, rounded up."""
    if noise.silent:
        return noise
    grid = noise.grid or Fraction(1)
    scales = getattr(noise, "scales", None) or [as_fraction(noise.scale) / grid]
    return _noise([float(x) * times for x in scales], grid)


def records_on(
    model: PropertyModel, grid: Fraction | None = None
) -> tuple[Family, Lattice, tuple[tuple[int, int, int], ...]]:
    """What a record of each class adds to the statistics, on the coarsest grid that holds all of it; where a record can
    lie. Laws are the reference's counts."""
    columns, ends, units = [], [], []
    for j, (statistic, factor) in enumerate(zip(model.statistics, model.factors, strict=True)):
        values = np.concatenate([model.having[:, j], model.lacking[:, j]])
        bounds = model.bounds.get(statistic.column) if statistic.equals is None else (Fraction(0), Fraction(1))
        step = decimal_step(values)
        if step is None or values.size == 0:
            raise NotProvable(
                f"records add to {statistic} what is not a short decimal, so they lie on no grid; round the column"
            )
        whole = integers(values, step)
        low, high = (step * int(whole.min()), step * int(whole.max())) if bounds is None else bounds
        fine = Fraction(1, math.lcm(low.denominator, high.denominator, step.denominator))
        each = np.unique(whole).tolist()
        unit = fine * math.gcd(*(int((step * x - low) / fine) for x in each), int((high - low) / fine))
        places = [(step * x - low) / unit for x in each]
        index = np.array([int(x) for x in places], dtype=np.int64)[np.searchsorted(each, whole)]
        columns.append(index)
        ends.append((low * factor, high * factor))
        units.append(unit * factor)
    common = math.lcm(*(x.denominator for pair in ends for x in pair), *(u.denominator for u in units))
    parts = [int(x * common) for pair in ends for x in pair] + [int(u * common) for u in units]
    coarsest = Fraction(math.gcd(*parts), common)
    step = coarsest if grid is None else grid
    if any((x / step).denominator != 1 for x in (*units, *(e[0] for e in ends))):
        raise NotProvable(f"what records add is not on a grid of {step}; the coarsest that holds it is {coarsest}")
    box = tuple((int(low / step), int(high / step), int(u / step)) for (low, high), u in zip(ends, units, strict=True))
    if any(model.size * max(abs(low), abs(high)) > MAX_INDEX // 4 for low, high, _ in box):
        raise NotProvable("the statistics are too far from 0 for the grid that records lie on; round the columns")
    rows = np.column_stack([low + u * column for column, (low, _, u) in zip(columns, box, strict=True)])
    points, where = distinct(rows)
    having = len(model.having)
    counts = [np.bincount(part, minlength=len(points)) for part in (where[:having], where[having:])]
    laws = tuple(Masses(each.astype(np.int64), Fraction(int(each.sum()))) for each in counts)
    if len(box) == 1:
        points = points[:, 0]
    return Family(points, laws, ((0, 1),), (_LABEL,)), Lattice(step), box


def least_scales(held: Exchanged, target: float, power: int) -> list[float]:
    """Scales b_j in steps with a small sum of b_j^power, under which one exchanged record loses at most `target`."""
    if held.count > MOST_POINTS:
        held.loss([None])  # says why not
    seek = Search(held, target, power)
    return seek.found()


@dataclass(frozen=True, eq=False)
class Search:
    """A search in doubles for scales of least sum; rates are 1 / b_j."""

    held: Exchanged
    target: float
    power: int

    def worst(self, rates: Floats) -> tuple[float, list[tuple[int, int]]]:
        """The largest log ratio on the whole grid, and the points where each order is largest, in flat places."""
        numbers = Doubles()
        with np.errstate(all="ignore"):
            (most, least), done = (
                zip(*(numbers.ends(self.held, rates.tolist(), i) for i in (0, 1)), strict=True),
                [self.held_by(i) for i in (0, 1)],
            )
            found, places = 0.0, []
            for i, j in ((0, 1), (1, 0)):
                gap = np.log(most[i] / done[i]) - np.log(np.maximum(least[j], 0) / done[j])
                gap = np.where(most[i] > 0, np.where(np.isnan(gap), np.inf, gap), -np.inf).ravel()
                top = np.argpartition(gap, -min(_ADDED, gap.size))[-min(_ADDED, gap.size) :]
                places += [(i, int(k)) for k in top]
                found = max(found, float(gap.max()))
        return found, places

    def held_by(self, i: int) -> int:
        """What ends of law i are a multiple of g_i by."""
        return Doubles().denominator(self.held, i)

    def along(self, rates: Floats) -> Floats:
        """The rates on this ray at which the loss is the target."""
        spans = sum(rate * float(axis[-1] - axis[0]) for rate, axis in zip(rates, self.held.axes, strict=True))
        start = max(spans, 1e-12) / self.target  # enough with replacement: the whole of every range
        return rates / least_scale(lambda x: self.worst(rates / x)[0] if x else math.inf, self.target, start)

    def found(self) -> list[float]:
        """The best of a few directions, each brought to the target."""
        from scipy.optimize import minimize

        shift = abs(np.subtract(*(law.floats() @ self.held.points for law in self.held.family.laws)))
        spans = np.array([float(axis[-1] - axis[0]) or 1.0 for axis in self.held.axes])
        start = 1 / np.maximum(shift, 1e-6 * spans) ** (1 / (self.power + 1))
        best = rates = self.along(start / start.max() * self.target)
        if len(spans) == 1:
            return list(map(float, 1 / best))
        active: dict[tuple[int, int], None] = {}
        for _ in range(_ROUNDS):
            before = len(active)
            loss, places = self.worst(rates)
            active |= dict.fromkeys(places)
            if loss < self.target * (1 + _CLOSE) and len(active) == before:
                break
            points = [(i, self.point(k)) for i, k in active]
            y = -np.log(rates)
            size = float(np.exp(self.power * y).sum())
            found = minimize(
                lambda y, size=size: float(np.exp(self.power * y).sum()) / size, y,
                jac=lambda y, size=size: self.power * np.exp(self.power * y) / size, method="SLSQP",
                constraints={"type": "ineq", "fun": lambda y, p=points: self.slack(y, p)[0],
                             "jac": lambda y, p=points: self.slack(y, p)[1]},
                bounds=[(v - 3, v + 3) for v in y], options={"maxiter": 100, "ftol": 1e-10},
            )  # fmt: skip
            if not np.all(np.isfinite(found.x)):
                break
            rates = np.exp(-found.x)
            if self.worst(rates)[0] < 1.05 * self.target:
                best = min(best, self.along(rates), key=lambda r: float((r**-self.power).sum()))
        return list(map(float, 1 / best))

    def point(self, place: int) -> NDArray[np.int64]:
        """The coordinates of a flat place."""
        where = np.unravel_index(place, [len(axis) for axis in self.held.axes])
        return np.array([axis[k] for axis, k in zip(self.held.axes, where, strict=True)])

    @cached_property
    def classes(self) -> tuple[tuple[NDArray[np.int64], Floats], ...]:
        """The values of records of each class, and how many have each."""
        each = []
        for law in self.held.family.laws:
            parts = law.parts.astype(np.float64)
            each.append((self.held.points[parts > 0], parts[parts > 0]))
        return tuple(each)

    def slack(self, y: Floats, points: Sequence[tuple[int, NDArray[np.int64]]]) -> tuple[Floats, Floats]:
        """1 - loss / target at each point, and its derivatives in the logarithms y of the scales."""
        rates, values, slopes = np.exp(-y), [], []
        for i, w in points:
            (top, up), (bottom, down) = self.at(i, w, rates, 1), self.at(1 - i, w, rates, -1)
            values.append(1 - (math.log(top) - math.log(bottom)) / self.target)
            slopes.append(-(up / top - down / bottom) * rates / self.target)
        return np.array(values), np.array(slopes)

    def at(self, i: int, w: NDArray[np.int64], rates: Floats, side: int) -> tuple[float, Floats]:
        """The end of g_i on this side at one point, and minus its derivatives in the rates... times nothing else."""
        records, counts = self.classes[i]
        apart = np.abs(w - records).astype(np.float64)
        kernels = np.exp(-apart @ rates)
        total, error = float(counts.sum()), float(self.held.family.errors[i])
        value, slope = float(counts @ kernels), (counts * kernels) @ apart
        m = total if self.held.left is None else float(self.held.left[i])
        if m < total:
            k = int(kernels.argmin() if side > 0 else kernels.argmax())
            value, slope = value - (total - m) * kernels[k], slope - (total - m) * kernels[k] * apart[k]
        value, slope = value / m, slope / m
        if error:
            far = np.array([max(x - low, high - x) for x, (low, high, _) in zip(w, self.held.box, strict=True)])
            corner = float(np.exp(-far @ rates))
            value, slope = value + side * error * (1 - corner), slope - side * error * corner * far
        return max(value, 1e-290), slope
