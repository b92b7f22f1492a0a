"""The methods for normal laws of vectors: each proposes a covariance, or says why it has none to offer.

Baselines need no beliefs about the laws: differential privacy of a record, of k records, of bounded laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.calibration.covariance.descent import admissible, descend, enough, excess_of, isotropic
from fugu.calibration.covariance.directions import (
    directional,
    directional_uncertainty,
    eigenvector,
    expected_value_gaussian,
    up,
)
from fugu.calibration.covariance.optimal import optimal_covariance
from fugu.calibration.covariance.slope import CovarianceCost, StandardPairs
from fugu.errors import FuguError, NotProvable, UsageError
from fugu.guarantee.asks import Ask
from fugu.laws.multinormal import NormalPair
from fugu.numbers.exact import Real, as_fraction
from fugu.scenario.property import records_of

if TYPE_CHECKING:
    from fugu.calibration.offer import Wishes

Array = NDArray[np.float64]
DECODABLE = (
    "noise of deficient rank leaves the other directions exact, and a statistic that is a multiple of some step can "
    "then be decoded completely (fugu.auditing.guessers); give a floor, or declared_exact=True if the laws are exactly "
    "normal"
)
EXACT = "no noise would be needed if the laws were exact"
_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class Candidate:
    """The covariance a method asks for, in the units of the values, or why it has none."""

    method: str
    covariance: Array | None
    laws: StandardPairs
    cost: CovarianceCost
    floor: float
    refusal: str = ""
    note: str = ""

    @property
    def error(self) -> float:
        """What to choose by: the cost of normal noise with this covariance, every statistic in its own unit."""
        return math.inf if self.covariance is None else self.cost.value(self.laws.own(self.covariance))


_PAPER = "Chen and Ohrimenko 2023"
WAYS = {
    "group": f"all records change: {_PAPER}, as printed",
    "record-group": "as many records change as the shares differ by; sound without a Gaussian model",
    "expected-value": f"{_PAPER}, Theorem 5.2, on the exact Gaussian curve",
    "directional": f"{_PAPER}, Theorem 5.3, on the exact Gaussian curve",
    "eigenvector": f"{_PAPER}, Theorem 5.5, on the exact Gaussian curve",
    "directional-uncertainty": f"{_PAPER}, Theorem B.4, in closed form on the exact curve",
    "optimal": "the covariance of least error: docs/proofs/correlated.md and docs/proofs/normal-vectors.md",
}
"""Each method by its name, and the theorem that it stands on."""


def propose(pairs: tuple[NormalPair, ...], ask: Ask, wishes: Wishes) -> dict[str, Candidate]:
    """Every method's covariance, sought in units of each statistic's own deviation. Methods for one covariance are
    given the mean of two different ones, which may not be enough (the means may even agree): what they find is then
    enlarged until it is, before its rank and its error count. `optimal` comes last and starts from all the others."""
    laws = StandardPairs.of(pairs)
    t, cost = admissible(ask), CovarianceCost.of(laws, wishes.weight, wishes.objective)
    floor = least_variance(laws, t, ask, wishes)
    others: list[Array] = []

    def found(find: Finder) -> Array:
        S = find(laws, t, wishes.model)
        if not wishes.declared_exact and not wishes.floor and deficient(S):
            if S.any():
                raise NotProvable(DECODABLE)
            if excess_of(S, laws, ask) <= 1:
                raise NotProvable(EXACT)
        S = lifted(S, floor)
        S = S if laws.alike else enough(S, laws, ask)
        others.append(S)
        return S

    def candidate(way: str) -> Candidate:
        try:
            S = found(_FINDERS[way]) if way in _FINDERS else _optimal(laws, t, ask, cost, floor, others)
        except FuguError as error:
            return Candidate(way, None, laws, cost, floor, str(error))
        if deficient(S) and not wishes.declared_exact:
            return Candidate(way, None, laws, cost, floor, DECODABLE if S.any() else EXACT)
        note = "" if S.any() else "the laws' own randomness suffices: no noise"
        return Candidate(way, laws.raw(S), laws, cost, floor, note=note)

    return {way: candidate(way) for way in WAYS}


def least_variance(laws: StandardPairs, t: float, ask: Ask, wishes: Wishes) -> float:
    """The floor asked for, in standardised units; without one a sixteenth of the variance of isotropic noise, so that
    noise of full rank is no formality, and none where the laws are declared exact."""
    if wishes.floor is not None:
        return wishes.floor
    if wishes.declared_exact:
        return 0.0
    variance = expected_value_gaussian(laws.shift, t) ** 2
    return (variance if laws.alike else max(variance, isotropic(laws, ask, variance))) / 16


def deficient(S: Array) -> bool:
    """Whether some direction gets next to no noise."""
    values = np.linalg.eigvalsh(S)
    return bool(values[0] <= _LEAST * max(values[-1], 1e-300))


def lifted(S: Array, floor: float | None) -> Array:
    """The least covariance above S with every eigenvalue at least `floor`: more noise, so no more loss.

    >>> lifted(np.array([[9.0, 0.0], [0.0, 0.0]]), 4.0)
    array([[9., 0.],
           [0., 4.]])
    """
    values, vectors = np.linalg.eigh(S)
    if not floor or values[0] >= floor:
        return S
    raised = S + (vectors * np.maximum(floor - values, 0.0)) @ vectors.T
    return np.asarray((raised + raised.T) / 2)


Finder = Callable[[StandardPairs, float, Any], Array]


def _records(everybody: bool) -> Finder:
    """k records change, each by at most its reach in the units of the laws: a coupling, whatever the laws."""

    def find(laws: StandardPairs, t: float, model: Any) -> Array:
        if model is None:
            raise NotProvable("this method needs the ranges of the records; make the scenario with from_property")
        reach = np.array([float(x) for x in model.reach]) / laws.unit
        sigma = record_group(reach, model.size if everybody else model.swapped).l2 / t * up(1)
        return np.asarray(sigma**2 * np.eye(laws.dimension))

    return find


def _along(v: Array, size: float, power: int) -> Array:
    return np.asarray(size**power * np.outer(v, v))


def _optimal(laws: StandardPairs, t: float, ask: Ask, cost: CovarianceCost, floor: float, others: list[Array]) -> Array:
    """The least cost above the floor: of the convex programme for one covariance, exactly so where laws share one;
    else where descent on the exact curve ends, from there or from the best of the other methods."""
    relaxed = optimal_covariance(laws.shift, laws.middle, t, cost.weight, floor).covariance
    start = relaxed if laws.alike else enough(relaxed, laws, ask)
    if laws.alike and not cost.absolute:
        return start
    if excess_of(floor * np.eye(laws.dimension), laws, ask) <= 1:
        return floor * np.eye(laws.dimension)
    return descend(min([start, *others], key=cost.value), floor, laws, ask, cost)


_FINDERS: dict[str, Finder] = {
    "group": _records(everybody=True),
    "record-group": _records(everybody=False),
    "expected-value": lambda laws, t, _: expected_value_gaussian(laws.shift, t) ** 2 * np.eye(laws.dimension),
    "directional": lambda laws, t, _: _along(*directional(laws.shift, t=t), 2),
    "eigenvector": lambda laws, t, _: eigenvector(laws.shift, laws.middle, t),
    "directional-uncertainty": lambda laws, t, _: _along(*directional_uncertainty(laws.shift, laws.middle, t), 1),
}
"""Methods for one covariance count on the mean of the two laws of a pair."""


@dataclass(frozen=True)
class Sensitivity:
    """How far the published vector moves, in l1 and in l2."""

    l1: float
    l2: float


def group(ranges: ArrayLike, size: int, means: ArrayLike | None = None) -> Sensitivity:
    """All `size` records may change: sound whatever the two laws are, and as printed (Chen and Ohrimenko 2023)."""
    return record_group(ranges, size, size, means)


def record_group(ranges: ArrayLike, k: int, size: int | None = None, means: ArrayLike | None = None) -> Sensitivity:
    """k records may change: W_inf <= k x (range of a record), by a coupling that shares all other records.

    Sound if the number of records with the property is a fixed number under each law and the records of a class have
    the same law under both; k is then `records_moved`. With random numbers of records (binomial) it is false. A
    coordinate moves by its range, or by range / size where `means` says it is a mean; k = 1 is the privacy of a record.

    >>> found = record_group([73, 15, 1, 1, 98], 1, 100, [True, True, False, False, True])
    >>> round(found.l1, 6), round(found.l2, 10)
    (3.86, 1.8750466661)
    """
    r = np.asarray(ranges, dtype=np.float64)
    if r.ndim != 1 or not np.isfinite(r).all() or (r < 0).any():
        raise UsageError("ranges must be one finite number for each coordinate, none negative")
    if k < 0 or (size is not None and not 1 <= size >= k):
        raise UsageError("k, the number of records that may change, must be between 0 and the number of records")
    mask = np.zeros(len(r), dtype=bool) if means is None else np.asarray(means, dtype=bool)
    if mask.shape != r.shape or (mask.any() and size is None):
        raise UsageError(f"means must say for each of {len(r)} coordinates whether it is a mean over `size` records")
    moves = np.where(mask, r / (size or 1), r) * k
    return Sensitivity(float(moves.sum()) * up(len(r)), float(np.sqrt((moves * moves).sum())) * up(len(r)))


def records_moved(size: int, shares: Iterable[tuple[Real, Real]]) -> int:
    """max |floor(n p + 1/2) - floor(n q + 1/2)| over pairs of shares (p, q): the records that the coupling swaps.

    Shares are the decimals they are written as, and halves go up, as in `Scenario.from_property`. Not monotone in
    |p - q|, so the maximum is over the pairs themselves.

    >>> records_moved(100, [(0.45, 0.55)]), records_moved(10, [(0.25, 0.35)])
    (10, 1)
    """
    return max((abs(records_of(size, as_fraction(p)) - records_of(size, as_fraction(q))) for p, q in shares), default=0)
