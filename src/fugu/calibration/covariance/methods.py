"""The methods for normal laws of vectors: each proposes a covariance, or says why it has none to offer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance import baselines
from fugu.calibration.covariance.cost import Cost
from fugu.calibration.covariance.descent import descend
from fugu.calibration.covariance.directions import directional, expected_value_gaussian
from fugu.calibration.covariance.optimal import optimal_covariance
from fugu.calibration.covariance.scaling import admissible, enough, excess_of, isotropic
from fugu.calibration.covariance.standard import Laws
from fugu.calibration.covariance.uncertain import directional_uncertainty, eigenvector
from fugu.calibration.offer import Wishes
from fugu.errors import FuguError, NotProvable
from fugu.guarantee.asks import Ask
from fugu.laws.multinormal import NormalPair

Array = NDArray[np.float64]
DECODABLE = (
    "noise of deficient rank leaves the other directions exact, and a statistic that is a multiple of some step can "
    "then be decoded completely (fugu.auditing.decoder); give a floor, or declared_exact=True if the laws are exactly "
    "normal"
)
EXACT = "no noise would be needed if the laws were exact"
_LEAST = 1e-9


@dataclass(frozen=True)
class Way:
    """What a method is called and what it stands on."""

    name: str
    theorem: str


@dataclass(frozen=True, eq=False)
class Candidate:
    """The covariance a method asks for, in the units of the values, or why it has none."""

    way: Way
    covariance: Array | None
    laws: Laws
    cost: Cost
    floor: float
    refusal: str = ""
    note: str = ""

    @property
    def error(self) -> float:
        """What to choose by: the cost of normal noise with this covariance, every statistic in its own unit."""
        return math.inf if self.covariance is None else self.cost.value(self.laws.own(self.covariance))


@dataclass(frozen=True, eq=False)
class Task:
    """The laws in units of their own, the largest admissible distance of two means, and what noise costs."""

    laws: Laws
    t: float
    ask: Ask
    wishes: Wishes
    cost: Cost

    @property
    def differences(self) -> Array:
        """The differences of the means."""
        return self.laws.shift

    @property
    def covariances(self) -> Array:
        """What methods for one covariance count on: the mean of the two laws of a pair."""
        return self.laws.middle


_PAPER = "Chen and Ohrimenko 2023"
WAYS = {
    way.name: way
    for way in (
        Way("group", f"all records change: {_PAPER}, as printed"),
        Way("record-group", "as many records change as the shares differ by; sound without a Gaussian model"),
        Way("expected-value", f"{_PAPER}, Theorem 5.2, on the exact Gaussian curve"),
        Way("directional", f"{_PAPER}, Theorem 5.3, on the exact Gaussian curve"),
        Way("eigenvector", f"{_PAPER}, Theorem 5.5, on the exact Gaussian curve"),
        Way("directional-uncertainty", f"{_PAPER}, Theorem B.4, in closed form on the exact curve"),
        Way("optimal", "the covariance of least error: docs/proofs/correlated.md and docs/proofs/normal-vectors.md"),
    )
}


def propose(pairs: tuple[NormalPair, ...], ask: Ask, wishes: Wishes) -> dict[str, Candidate]:
    """Every method's covariance, sought in units of each statistic's own deviation. Methods for one covariance are
    given the mean of two different ones, which may not be enough (the means may even agree): what they find is then
    enlarged until it is, before its rank and its error count. `optimal` comes last and starts from all the others."""
    laws = Laws.of(pairs)
    task = Task(laws, admissible(ask), ask, wishes, Cost.of(laws, wishes.weight, wishes.objective))
    floor = least_variance(task)
    others: list[Array] = []

    def found(find: Callable[[Task], Array]) -> Array:
        S = find(task)
        if not wishes.declared_exact and not wishes.floor and deficient(S):
            if S.any():
                raise NotProvable(DECODABLE)
            if excess_of(S, laws, ask) <= 1:
                raise NotProvable(EXACT)
        S = lifted(S, floor)
        S = S if laws.alike else enough(S, laws, ask)
        others.append(S)
        return S

    plans = {name: _candidate(WAYS[name], lambda f=find: found(f), task, floor) for name, find in _FINDERS.items()}  # type: ignore[misc]
    return plans | {"optimal": _candidate(WAYS["optimal"], lambda: _optimal(task, floor, others), task, floor)}


def least_variance(task: Task) -> float:
    """The floor asked for, in standardised units; without one a sixteenth of the variance of isotropic noise, so that
    noise of full rank is no formality, and none where the laws are declared exact."""
    if task.wishes.floor is not None:
        return task.wishes.floor
    if task.wishes.declared_exact:
        return 0.0
    variance = expected_value_gaussian(task.differences, task.t) ** 2
    return (variance if task.laws.alike else max(variance, isotropic(task.laws, task.ask, variance))) / 16


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


def _candidate(way: Way, find: Callable[[], Array], task: Task, floor: float) -> Candidate:
    laws, cost = task.laws, task.cost
    try:
        S = find()
    except FuguError as error:
        return Candidate(way, None, laws, cost, floor, str(error))
    if deficient(S) and not task.wishes.declared_exact:
        return Candidate(way, None, laws, cost, floor, DECODABLE if S.any() else EXACT)
    note = "" if S.any() else "the laws' own randomness suffices: no noise"
    return Candidate(way, laws.raw(S), laws, cost, floor, note=note)


def _isotropic(sigma: float, task: Task) -> Array:
    return np.asarray(sigma**2 * np.eye(task.differences.shape[1]))


def _group(task: Task) -> Array:
    model = _model(task)
    return _records(task, model, model.size)


def _record_group(task: Task) -> Array:
    model = _model(task)
    return _records(task, model, model.swapped)


def _records(task: Task, model: Any, k: int) -> Array:
    """k records change, each by at most its reach in the units of the laws: a coupling, whatever the laws."""
    found = baselines.record_group(np.array([float(x) for x in model.reach]) / task.laws.unit, k)
    return _isotropic(found.gaussian(task.t), task)


def _expected(task: Task) -> Array:
    return _isotropic(expected_value_gaussian(task.differences, task.t), task)


def _directional(task: Task) -> Array:
    v, sigma = directional(task.differences, t=task.t)
    return np.asarray(sigma**2 * np.outer(v, v))


def _eigenvector(task: Task) -> Array:
    return eigenvector(task.differences, task.covariances, task.t)


def _uncertain(task: Task) -> Array:
    v, s = directional_uncertainty(task.differences, task.covariances, task.t)
    return np.asarray(s * np.outer(v, v))


def _optimal(task: Task, floor: float, others: list[Array]) -> Array:
    """The least cost above the floor: of the convex programme for one covariance, exactly so where laws share one;
    else where descent on the exact curve ends, from there or from the best of the other methods."""
    laws, ask, cost = task.laws, task.ask, task.cost
    relaxed = optimal_covariance(task.differences, task.covariances, task.t, cost.weight, floor).covariance
    start = relaxed if laws.alike else enough(relaxed, laws, ask)
    if laws.alike and not cost.absolute:
        return start
    if excess_of(floor * np.eye(laws.dimension), laws, ask) <= 1:
        return floor * np.eye(laws.dimension)
    return descend(min([start, *others], key=cost.value), floor, laws, ask, cost)


def _model(task: Task) -> Any:
    if task.wishes.model is None:
        raise NotProvable("this method needs the ranges of the records; make the scenario with from_property")
    return task.wishes.model


_FINDERS: dict[str, Callable[[Task], Array]] = {
    "group": _group,
    "record-group": _record_group,
    "expected-value": _expected,
    "directional": _directional,
    "eigenvector": _eigenvector,
    "directional-uncertainty": _uncertain,
}
