"""Offers for normal laws of vectors: find a covariance, make noise of it that can be drawn, prove that."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from fugu.calibration.comparison import Row, refused
from fugu.calibration.covariance.methods import WAYS, Candidate, propose
from fugu.calibration.covariance.realise import realise
from fugu.calibration.covariance.scaling import enough
from fugu.calibration.offer import Offer, Wishes
from fugu.calibration.problem import beliefs_of
from fugu.calibration.registry import named
from fugu.calibration.sealing import Proved
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
from fugu.noise.lattice import MAX_INDEX, Lattice
from fugu.numbers.exact import as_fraction
from fugu.scenario.property_model import MOVED

GAUSSIAN_MODEL = "Gaussian model: given each secret the published vector is normal, with the mean and covariance stated"
DECLARED = "the laws are declared exactly normal: noise of deficient rank hides nothing of a statistic that is not"
_STRETCH = (1.0, 1.0005, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2)


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
        """The expected error of normal noise with this covariance."""
        return self.candidate.error(objective), 0.0, False

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
            before=(GAUSSIAN_MODEL, *((DECLARED,) if self.wishes.declared_exact else ())),
        ).seal(budget, context)
        return CorrelatedAdditive(certificate=sealed, context=context, noise=noise, lattice=lattice)

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
            note=self.candidate.note or _rank(self.candidate),
        )


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
    """Noise that can be drawn, a little larger than asked for where rounding its directions needs it, and its proof."""
    assert candidate.covariance is not None
    laws = [law.cov_array for pair in pairs for law in (pair.p, pair.q)]
    covariance = enough(candidate.covariance, pairs, ask)
    for stretch in _STRETCH:
        noise = realise(covariance * stretch, laws, grid)
        _check_range(noise, pairs)
        proof = bound(pairs, noise, ask)
        if proof.holds:
            return noise, proof
    raise NotProvable(f"the bound is {proof.epsilon:.6g}, delta {proof.delta:.3g} for pair {proof.worst_pair!r}")


def _check_range(noise: CorrelatedGaussian, pairs: tuple[NormalPair, ...]) -> None:
    """Lattice indices of the means well within 2^50, widths within the 2^52 steps that can be drawn."""
    widths = [as_fraction(noise.base) / noise.grid, *map(as_fraction, noise.scales)]
    means = [abs(x) for pair in pairs for law in (pair.p, pair.q) for x in law.mean]
    if max(widths) > 2**52 or max(means) / noise.grid > MAX_INDEX // 4:
        raise NotProvable(
            "the grid is too fine for means or noise this large, so nothing could be released; subtract a public "
            "constant from the values, or give a coarser grid"
        )


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
