"""The methods for normal laws of vectors: each proposes a covariance, or says why it has none to offer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance import baselines
from fugu.calibration.covariance.directions import directional, expected_value_gaussian
from fugu.calibration.covariance.optimal import optimal_covariance
from fugu.calibration.covariance.scaling import enough, excess_of
from fugu.calibration.covariance.uncertain import directional_uncertainty, eigenvector
from fugu.calibration.offer import Wishes
from fugu.errors import FuguError, NotProvable
from fugu.guarantee.asks import Ask, Divergences
from fugu.laws.multinormal import NormalPair
from fugu.loss.shifts.gaussian import gaussian_mu
from fugu.noise.kind import Objective

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
    """The covariance a method asks for, or why it has none."""

    way: Way
    covariance: Array | None
    refusal: str = ""
    note: str = ""

    def error(self, objective: Objective) -> float:
        """E ||N||_1, or E ||N||_2^2, of normal noise with this covariance."""
        if self.covariance is None:
            return math.inf
        variances = np.diag(self.covariance)
        return float(variances.sum() if objective == "squared" else np.sqrt(2 * variances / math.pi).sum())


@dataclass(frozen=True, eq=False)
class Task:
    """Mean differences, the covariances to count on, and the largest admissible distance."""

    differences: Array
    covariances: Array
    t: float
    wishes: Wishes


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
        Way("optimal", "the covariance of least trace: docs/proofs/correlated.md and docs/proofs/normal-vectors.md"),
    )
}


def propose(pairs: tuple[NormalPair, ...], ask: Ask, wishes: Wishes) -> dict[str, Candidate]:
    """Every method's covariance. Laws of unequal covariance are given their mean here, which may not be enough (their
    means may even agree): what a method finds is then enlarged until it is, before its rank and its error count."""
    different = [pair for pair in pairs if not pair.same] or list(pairs[:1])
    D = np.array([pair.p.mean_array - pair.q.mean_array for pair in different])
    C = np.array([(pair.p.cov_array + pair.q.cov_array) / 2 for pair in different])
    task = Task(D, C, admissible(ask), wishes)
    alike = all(pair.shared for pair in different)

    floor = least_variance(task)

    def found(find: Callable[[Task], Array]) -> Array:
        S = find(task)
        if not wishes.declared_exact and not wishes.floor and deficient(S):
            if S.any():
                raise NotProvable(DECODABLE)
            if excess_of(S, pairs, ask) <= 1:
                raise NotProvable(EXACT)
        S = lifted(S, floor)
        return S if alike else enough(S, pairs, ask)

    return {name: _candidate(WAYS[name], lambda f=find: found(f), wishes) for name, find in _FINDERS.items()}  # type: ignore[misc]


def least_variance(task: Task) -> float:
    """The floor asked for; without one a sixteenth of the variance of isotropic noise, so that noise of full rank is no
    formality, and none where the laws are declared exact."""
    if task.wishes.floor is not None:
        return task.wishes.floor
    return 0.0 if task.wishes.declared_exact else expected_value_gaussian(task.differences, task.t) ** 2 / 16


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


def admissible(ask: Ask) -> float:
    """The largest distance |V^-1/2 d| of two normal laws of one covariance that meets the budget: mu(epsilon, delta),
    or sqrt(2 epsilon / alpha)."""
    if isinstance(ask, Divergences):
        return min(math.sqrt(2 * float(e) / float(a)) for a, e in ask.orders)
    if ask.pure:
        raise NotProvable("Gaussian noise gives no pure guarantee; give a delta > 0, or a Renyi budget")
    return gaussian_mu(ask.epsilon, ask.delta)


def _candidate(way: Way, find: Callable[[], Array], wishes: Wishes) -> Candidate:
    try:
        S = find()
    except FuguError as error:
        return Candidate(way, None, str(error))
    if deficient(S) and not wishes.declared_exact:
        return Candidate(way, None, DECODABLE if S.any() else EXACT)
    return Candidate(way, S, note="" if S.any() else "the laws' own randomness suffices: no noise")


def _isotropic(sigma: float, task: Task) -> Array:
    return np.asarray(sigma**2 * np.eye(task.differences.shape[1]))


def _group(task: Task) -> Array:
    model = _model(task)
    found = baselines.record_group([float(x) for x in model.reach], model.size)
    return _isotropic(found.gaussian(task.t), task)


def _record_group(task: Task) -> Array:
    model = _model(task)
    found = baselines.record_group([float(x) for x in model.reach], model.swapped)
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


def _optimal(task: Task) -> Array:
    floor = least_variance(task)
    return optimal_covariance(task.differences, task.covariances, task.t, task.wishes.weight, floor).covariance


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
    "optimal": _optimal,
}
