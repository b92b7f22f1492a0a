"""The methods for normal laws of vectors: each proposes a covariance, or says why it has none to offer.

Baselines need no beliefs about the laws: differential privacy of a record, of k records, of bounded laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.calibration.covariance.descent import (
    Wanted,
    admissible,
    descend,
    enough,
    excess_of,
    excesses,
    isotropic,
    multiple,
    realise,
)
from fugu.calibration.covariance.directions import (
    directional,
    directional_uncertainty,
    eigenvector,
    expected_value_gaussian,
    up,
)
from fugu.calibration.covariance.optimal import least_trace, optimal_covariance
from fugu.calibration.covariance.slope import CovarianceCost, StandardPairs
from fugu.calibration.lattice import beliefs_of
from fugu.calibration.offer import Offer, Stages, Tried, Wishes, named
from fugu.documents.sentences import EXACTLY_NORMAL, GAUSSIAN_MODEL
from fugu.errors import FuguError, NotProvable, UsageError
from fugu.guarantee.asks import Ask, Proof
from fugu.laws.multinormal import NormalPair
from fugu.laws.shapes import Shape
from fugu.loss.door import bound
from fugu.mechanism.intake import Context
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Kind, Objective, finite_or_none, kind_of
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import CorrelatedGaussian
from fugu.numbers.exact import Real, as_fraction
from fugu.scenario.property import MOVED, records_of

Array = NDArray[np.float64]
DECODABLE = (
    "noise of deficient rank leaves the other directions exact, and a statistic that is a multiple of some step can "
    "then be decoded completely (fugu.auditing.guessers); give a floor, or declared_exact=True if the laws are exactly "
    "normal"
)
EXACT = "no noise would be needed if the laws were exact"
_LEAST = 1e-9


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


_OWN = "each statistic in units of its own deviation under the laws"
_FACTOR = 8.0
_STRETCH = tuple(1e-9 * _FACTOR**k for k in range(10))
"""How much larger, as a share of the variance, where the proof needs it: the least by bisection."""
_NEGLIGIBLE = 1e-4
_HALVINGS = 6


@final
@dataclass(frozen=True, eq=False)
class Covariance(Offer):
    """The covariance that a method asks for, in the units of the values, or why it has none."""

    method: str
    covariance: Array | None
    pairs: tuple[NormalPair, ...]
    laws: StandardPairs
    cost: CovarianceCost
    floor: float
    wishes: Wishes
    refusal: str | None = None
    note: str = ""
    scales: dict[str, float | None] = field(default_factory=dict)
    kind: Kind = Gaussian

    @property
    def error(self) -> float:
        """What to choose by: the cost of normal noise with this covariance, every statistic in its own unit."""
        return math.inf if self.covariance is None else self.cost.value(self.laws.own(self.covariance))

    def rank(self, objective: Objective) -> tuple[float, float, bool]:  # noqa: ARG002 - the cost is of what is wished
        """The cost."""
        return self.error, 0.0, False

    def tried(self, ask: Ask, context: Context) -> Tried:
        """The noise, and its proof in the Gaussian model."""
        noise, proof = self.realised(ask)
        before, floor = [GAUSSIAN_MODEL], self.wishes.floor
        if self.wishes.declared_exact:
            before.append(EXACTLY_NORMAL)
            if context.shares is not None:  # laws declared exactly normal have no ends: nothing is clipped
                stated = tuple(a for a in context.assumptions if a != MOVED)
                free = {**context.shares, "limits": [None] * len(context.shares["limits"])}
                context = replace(context, assumptions=stated, shares=free)
        if floor is not None:
            before.append(f"noise of variance at least {floor:g} in every direction, {_OWN}")
        return Tried(
            kind="correlated",
            method=self.method,
            theorem=WAYS[self.method],
            noise=noise,
            proof=proof,
            lattice=Lattice(noise.grid),
            laws=self.pairs,
            beliefs=beliefs_of(self.pairs),
            context=context,
            scales=self.scales,
            dimension=noise.dimension,
            before=tuple(before),
        )

    def told(self, tried: Tried, ask: Ask) -> dict[str, Any]:
        """The errors in the units of the statistics, and how near the least they are."""
        assert self.covariance is not None
        S = self.laws.own(
            np.array([[float(x) for x in row] for row in cast(CorrelatedGaussian, tried.noise).covariance()])
        )
        values = np.linalg.eigvalsh(self.covariance)
        flat = "" if values[0] > 1e-9 * values[-1] else "deficient rank: only for laws that are exactly normal"
        least = self._least(S, ask) if self.method == "optimal" else ""
        note = self.note or "; ".join(filter(None, (flat, least)))
        return {"note": note, "standardised": self.cost.value(S)}

    def _least(self, S: Array, ask: Ask) -> str:
        """How near the optimal covariance is to what no Gaussian noise above its floor goes below."""
        cost = CovarianceCost(self.cost.weight)
        at = descend(S, self.floor, self.laws, ask, cost) if self.cost.absolute else S
        losses = excesses(at, self.laws, ask)
        value, least = cost.value(S), least_trace(self.laws, ask, self.floor, cost.weight, at, losses)
        weighed = "every statistic in its own unit" if self.wishes.weight is None else "weighted"
        return f"mean squared error {value:.4g} ({weighed}); no Gaussian noise has less than {least:.4g}"

    def realised(self, ask: Ask) -> tuple[CorrelatedGaussian, Proof]:
        """Noise that can be drawn, a little larger than asked for where rounding needs it, and its proof.

        What is drawn is above what the search found to be enough, so a first proof mostly holds; where it does not, the
        least of the larger ones that were tried, each with a proof of its own."""
        assert self.covariance is not None
        laws, pairs = self.laws, self.pairs
        covs = [law.cov_array for pair in pairs for law in (pair.p, pair.q)]
        reach = max(float(np.abs(law.mean_array).max()) for pair in pairs for law in (pair.p, pair.q))
        wanted = Wanted(covs, laws.unit, reach, self.wishes.grid)
        covariance = laws.raw(enough(laws.own(self.covariance), laws, ask))

        def tried(stretch: float) -> tuple[CorrelatedGaussian, Proof]:
            noise = realise(covariance * stretch, wanted, lambda shape: multiple(laws.own(shape), laws, ask) * stretch)
            return noise, bound(pairs, noise, ask)

        low, found = 0.0, tried(1.0)
        for more in _STRETCH:
            if found[1].holds:
                break
            low, found = more / _FACTOR, tried(1 + more)
        if not found[1].holds:
            proof = found[1]
            raise NotProvable(
                f"the bound is {proof.epsilon:.6g}, delta {proof.delta:.3g} for pair {proof.worst_pair!r}"
            )
        if low > _NEGLIGIBLE:
            high = low * _FACTOR
            for _ in range(_HALVINGS):
                middle = tried(1 + (low + high) / 2)
                low, high, found = (
                    (low, (low + high) / 2, middle) if middle[1].holds else ((low + high) / 2, high, found)
                )
        return found


def propose(pairs: tuple[NormalPair, ...], ask: Ask, wishes: Wishes) -> dict[str, Covariance]:
    """Every method's covariance, sought in units of each statistic's own deviation. Methods for one covariance are
    given the mean of two different ones, which may not be enough (the means may even agree): what they find is then
    enlarged until it is, before its rank and its error count. `optimal` comes last and starts from all the others."""
    laws = StandardPairs.of(pairs)
    t, cost = admissible(ask), CovarianceCost.of(laws, wishes.weight, wishes.objective)
    # The floor asked for, in standardised units; without one a sixteenth of the variance of isotropic noise, so that
    # noise of full rank is no formality, and none where the laws are declared exact.
    floor = wishes.floor
    if floor is None:
        variance = 0.0 if wishes.declared_exact else expected_value_gaussian(laws.shift, t) ** 2
        fair = laws.alike or wishes.declared_exact
        floor = (variance if fair else max(variance, isotropic(laws, ask, variance))) / 16
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

    def offer(way: str) -> Covariance:
        try:
            S = found(_FINDERS[way]) if way in _FINDERS else _optimal(laws, t, ask, cost, floor, others)
        except FuguError as error:
            return Covariance(way, None, pairs, laws, cost, floor, wishes, str(error))
        if deficient(S) and not wishes.declared_exact:
            return Covariance(way, None, pairs, laws, cost, floor, wishes, DECODABLE if S.any() else EXACT)
        note = "" if S.any() else "the laws' own randomness suffices: no noise"
        return Covariance(way, laws.raw(S), pairs, laws, cost, floor, wishes, note=note)

    return {way: offer(way) for way in WAYS}


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


def covariances(given: tuple[Shape, ...], ask: Ask, wishes: Wishes, every: bool = False) -> Stages:
    """The search for covariances: every method at once, since none takes long."""
    pairs = tuple(pair for pair in given if isinstance(pair, NormalPair))
    if wishes.noise not in ("best", "gaussian"):
        kind_of(wishes.noise)
        raise NotProvable(
            f"normal vectors are protected by Gaussian noise here, not by {wishes.noise}; leave out noise="
        )
    if wishes.declared_exact and getattr(wishes.model, "bounds", None) and not every:
        raise UsageError(
            "bounds= clips the records, so the statistics are not exactly normal: leave out bounds, or declared_exact"
        )
    if wishes.method != "best" and wishes.method not in WAYS:
        named(wishes.method)
        raise NotProvable(
            f"method {wishes.method!r} is not for normal laws of vectors; methods that are: {', '.join(WAYS)}"
        )
    found = propose(pairs, ask, wishes)
    scales = {
        m: None if c.covariance is None else finite_or_none(math.sqrt(float(np.trace(c.covariance))))
        for m, c in found.items()
    }
    yield [replace(c, scales=scales) for m, c in found.items() if wishes.method in ("best", m)]


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
