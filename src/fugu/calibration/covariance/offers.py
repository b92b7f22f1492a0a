"""Offers for normal laws of vectors: find a covariance, make noise of it that can be drawn, prove that."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.comparison import Row, refused
from fugu.calibration.covariance.below import least_trace
from fugu.calibration.covariance.descent import descend
from fugu.calibration.covariance.methods import WAYS, Candidate, propose
from fugu.calibration.covariance.realise import Wanted, realise
from fugu.calibration.covariance.scaling import enough, multiple
from fugu.calibration.offer import Offer, Wishes
from fugu.calibration.problem import beliefs_of
from fugu.calibration.registry import named
from fugu.calibration.sealing import Proved
from fugu.documents.sentences import EXACTLY_NORMAL, GAUSSIAN_MODEL
from fugu.errors import NotProvable, UsageError
from fugu.guarantee.asks import Ask, Proof
from fugu.guarantee.curve import Guarantee
from fugu.laws.items import Shape
from fugu.laws.multinormal import NormalPair
from fugu.loss.door import bound
from fugu.mechanism.context import Context
from fugu.mechanism.correlated import CorrelatedAdditive
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.kind import Objective, finite_or_none, kind_of
from fugu.noise.lattice import Lattice
from fugu.scenario.property_model import MOVED

_OWN = "each statistic in units of its own deviation under the laws"
_FACTOR = 8.0
_STRETCH = tuple(1e-9 * _FACTOR**k for k in range(10))
"""How much larger, as a share of the variance, where the proof needs it: the least by bisection."""
_NEGLIGIBLE = 1e-4
_HALVINGS = 6


@dataclass(frozen=True, eq=False)
class CovarianceOffer(Offer):
    """A covariance that a method asks for."""

    candidate: Candidate
    pairs: tuple[NormalPair, ...]
    wishes: Wishes
    scales: dict[str, float | None]
    noise = "gaussian"

    @property
    def method(self) -> str:  # type: ignore[override]
        """The name of the method."""
        return self.candidate.way.name

    @property
    def refusal(self) -> str | None:
        """Why the method has no covariance."""
        return self.candidate.refusal if self.candidate.covariance is None else None

    def rank(self, objective: Objective) -> tuple[float, float, bool]:
        """The expected error of normal noise with this covariance, every statistic in its own unit."""
        del objective  # part of the candidate's cost
        return self.candidate.error, 0.0, False

    def mechanism(self, budget: Guarantee, ask: Ask, context: Context) -> CorrelatedAdditive:
        """Prove the noise in the Gaussian model and seal the certificate."""
        noise, proof = realised(self.candidate, self.pairs, ask, self.wishes.grid)
        if self.wishes.declared_exact:
            context = _unbounded(context, self.wishes)
        lattice = Lattice(noise.grid)
        sealed = Proved(
            kind="correlated",
            method=self.method,
            theorem=self.candidate.way.theorem,
            noise=noise,
            proof=proof,
            lattice=lattice,
            laws=self.pairs,
            beliefs=beliefs_of(self.pairs),
            scales=self.scales,
            dimension=noise.dimension,
            before=(GAUSSIAN_MODEL, *((EXACTLY_NORMAL,) if self.wishes.declared_exact else ()), *self._floor()),
        ).seal(budget, context)
        return CorrelatedAdditive(certificate=sealed, context=context, noise=noise, lattice=lattice)

    def _floor(self) -> tuple[str, ...]:
        """A floor that was asked for, with its units."""
        asked = self.wishes.floor
        return () if asked is None else (f"noise of variance at least {asked:g} in every direction, {_OWN}",)

    def row(self, ask: Ask) -> Row:
        """The scale is the root of the noise's total variance, the errors are those of what is drawn."""
        if (why := self.refusal) is not None:
            return refused(self.method, self.noise, why)
        try:
            noise, proof = realised(self.candidate, self.pairs, ask, self.wishes.grid)
        except NotProvable as error:
            return refused(self.method, self.noise, str(error))
        total = sum(float(row[i]) for i, row in enumerate(noise.covariance()))
        return Row(
            method=self.method,
            noise=self.noise,
            scale=math.sqrt(total),
            expected_absolute=noise.expected_error(),
            expected_squared=noise.expected_error("squared"),
            epsilon=proof.epsilon,
            proven=proof.holds,
            why=self.candidate.way.theorem,
            note=self.candidate.note or "; ".join(filter(None, (_rank(self.candidate), self._least(noise, ask)))),
            standardised=self.candidate.cost.value(self.candidate.laws.own(_array(noise))),
        )

    def _least(self, noise: CorrelatedGaussian, ask: Ask) -> str:
        """How near the optimal covariance is to what no Gaussian noise above its floor goes below."""
        if self.method != "optimal":
            return ""
        plan = self.candidate
        S, cost = plan.laws.own(_array(noise)), plan.cost.trace
        at = descend(S, plan.floor, plan.laws, ask, cost) if plan.cost.absolute else S
        value, least = cost.value(S), least_trace(plan.laws, ask, plan.floor, cost.weight, at)
        weighed = "weighted" if self.wishes.weight is not None else "every statistic in its own unit"
        return f"mean squared error {value:.4g} ({weighed}); no Gaussian noise has less than {least:.4g}"


def _array(noise: CorrelatedGaussian) -> NDArray[np.float64]:
    return np.array([[float(x) for x in row] for row in noise.covariance()])


def _rank(candidate: Candidate) -> str:
    assert candidate.covariance is not None
    values = np.linalg.eigvalsh(candidate.covariance)
    return "" if values[0] > 1e-9 * values[-1] else "deficient rank: only for laws that are exactly normal"


def _unbounded(context: Context, wishes: Wishes) -> Context:
    """Laws declared exactly normal have no ends: nothing is clipped, and bounds contradict the declaration."""
    if getattr(wishes.model, "bounds", None):
        raise UsageError(
            "bounds= clips the records, so the statistics are not exactly normal: leave out bounds, or declared_exact"
        )
    if context.shares is None:
        return context
    stated = tuple(a for a in context.assumptions if a != MOVED)
    free = {**context.shares, "limits": [None] * len(context.shares["limits"])}
    return replace(context, assumptions=stated, shares=free)


def realised(
    candidate: Candidate, pairs: tuple[NormalPair, ...], ask: Ask, grid: Fraction | None = None
) -> tuple[CorrelatedGaussian, Proof]:
    """Noise that can be drawn, a little larger than asked for where rounding needs it, and its proof.

    What is drawn is above what the search found to be enough, so a first proof mostly holds; where it does not, the
    least of the larger ones that were tried, each with a proof of its own."""
    assert candidate.covariance is not None
    laws = candidate.laws
    covs = [law.cov_array for pair in pairs for law in (pair.p, pair.q)]
    reach = max(float(np.abs(law.mean_array).max()) for pair in pairs for law in (pair.p, pair.q))
    wanted = Wanted(covs, laws.unit, reach, grid)
    covariance = laws.raw(enough(laws.own(candidate.covariance), laws, ask))

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
        raise NotProvable(f"the bound is {proof.epsilon:.6g}, delta {proof.delta:.3g} for pair {proof.worst_pair!r}")
    if low > _NEGLIGIBLE:
        high = low * _FACTOR
        for _ in range(_HALVINGS):
            middle = tried(1 + (low + high) / 2)
            low, high, found = (low, (low + high) / 2, middle) if middle[1].holds else ((low + high) / 2, high, found)
    return found


@dataclass(frozen=True, eq=False)
class Covariances:
    """The search for covariances: every method at once, since none takes long."""

    pairs: tuple[NormalPair, ...]
    ask: Ask
    wishes: Wishes

    def stages(self, refusals: list[str]) -> Iterator[list[Offer]]:
        """One stage: the methods asked for."""
        del refusals
        if self.wishes.noise not in ("best", "gaussian"):
            kind_of(self.wishes.noise)
            raise NotProvable(
                f"normal vectors are protected by Gaussian noise here, not by {self.wishes.noise}; leave out noise="
            )
        if self.wishes.declared_exact:
            _unbounded(Context(), self.wishes)
        if self.wishes.method != "best" and self.wishes.method not in WAYS:
            named(self.wishes.method)
            raise NotProvable(
                f"method {self.wishes.method!r} is not for normal laws of vectors; methods that are: {', '.join(WAYS)}"
            )
        yield [offer for offer in self.everything() if self.wishes.method in ("best", offer.method)]

    def everything(self) -> list[CovarianceOffer]:
        """Every method."""
        found = propose(self.pairs, self.ask, self.wishes)
        scales = {
            m: None if c.covariance is None else finite_or_none(math.sqrt(float(np.trace(c.covariance))))
            for m, c in found.items()
        }
        return [CovarianceOffer(candidate, self.pairs, self.wishes, scales) for candidate in found.values()]


def search(given: tuple[Shape, ...], ask: Ask, wishes: Wishes) -> Covariances:
    """For the driver."""
    return Covariances(tuple(pair for pair in given if isinstance(pair, NormalPair)), ask, wishes)
