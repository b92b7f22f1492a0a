"""Sums and means of bounded numbers with lattice Gaussian noise: zCDP for each entry, for Gaussian fields and ledgers.

Entries are clipped one by one, so on *all* of the real line, one replaced entry moves the sum by at most n steps of the
lattice, n step = high - low. Lattice noise of mass ~ exp(-p k^2) then has, for every order alpha > 1 and every shift
of at most n steps, D_alpha <= alpha p n^2 (Canonne, Kamath and Steinke 2020, Proposition 5), so p = rho / n^2 gives rho
for each entry. The noise is drawn exactly.

Proofs: docs/proofs/fields.md#clipped-sums-with-gaussian-noise.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, final

import numpy as np

from fugu.documents.belief import belief_claims
from fugu.documents.per_entry import DOMAIN, NEIGHBOURS, PerEntryCertificate
from fugu.errors import BadBudget, UsageError
from fugu.guarantee import ZCDP, Guarantee
from fugu.guarantee.numbers import exact
from fugu.mechanism.entry_release import take_once
from fugu.mechanism.once import Once
from fugu.noise.bits import OS, BitSource, RngBits
from fugu.noise.discrete_gaussian import LatticeGaussianSampler
from fugu.noise.gaussian import at_least
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.priors.gaussian_field import GaussianField
from fugu.queries.sequence_data import Figures, Numbers
from fugu.queries.sequence_query import Drawn, SequenceAnswer, SequenceQuery
from fugu.queries.sequence_sums import nearest_double, rounded, whole_step
from fugu.translation.translate import dp_budget


@dataclass(frozen=True)
class _GaussianTotal(SequenceQuery):
    """What is made of the sum of all entries, clipped to the bounds, with Gaussian noise on the sum."""

    domain: Numbers
    step: Real | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", whole_step(self.domain.width, self.step))

    @property
    def sensitivity(self) -> Fraction:
        return self.domain.width

    def details(self) -> dict[str, Any]:
        return {"noise": "lattice Gaussian", "rounded to multiples of": str(self.step)}

    def over(self, data: Figures) -> int:
        """What the noised sum is divided by, a public number."""
        raise NotImplementedError

    def evaluate(self, data: Figures) -> Fraction:
        """The exact answer; private."""
        return sum((sum(user, Fraction(0)) for user in data), Fraction(0)) / self.over(data)

    def precision(self, rho: Fraction) -> Fraction:
        """p of the noise of mass ~ exp(-p k^2) in steps: rho over the squared number of steps in high - low."""
        return rho * (as_fraction(self.step or 0) / self.domain.width) ** 2

    def draw(self, data: Figures, epsilon: Fraction, source: BitSource) -> Drawn:
        """(round(sum / step) + N) step / over with P(N = k) ~ exp(-p k^2); `epsilon` is the rho for each entry."""
        step, over, p = as_fraction(self.step or 0), self.over(data), self.precision(epsilon)
        total = sum((sum(user, Fraction(0)) for user in data), Fraction(0))
        index = rounded(total, step) + int(_sampler(p).draw(1, source)[0])
        half = float_up((within(p) + Fraction(1, 2)) * step / over)
        return Drawn(nearest_double(index * step / over), None, (-half, half))

    def mechanism(self, epsilon: Real | Guarantee, prior: GaussianField | None = None) -> GaussianMechanism:  # type: ignore[override]
        """The mechanism that answers this query with ZCDP(rho) per entry.

        `epsilon`: rho, a finite number above 0, or `ZCDP(rho)`. `prior`: a `GaussianField` with a width, for a
        certificate that also says what the release is worth under it; None for the guarantee per entry alone."""
        return GaussianMechanism(self, _rho(epsilon), prior)

    def under(self, prior: GaussianField, budget: Guarantee) -> GaussianMechanism:
        """The mechanism with the largest rho per entry that is worth at most `budget` under a field.

        `prior`: a `GaussianField` with a width; `budget`: `ZCDP`, `Renyi`, `RenyiCurve` or `Approx` with a delta.
        Raises `NotProvable` for a pure budget."""
        return self.mechanism(dp_budget(prior, budget), prior)


@final
@dataclass(frozen=True)
class GaussianSum(_GaussianTotal):
    """The sum of all entries, clipped to the bounds, with Gaussian noise. Replacing one moves it by at most high - low.

    >>> GaussianSum(Numbers(0, 10)).mechanism(0.5).guarantee
    ZCDP(rho=0.5)
    """

    @property
    def name(self) -> str:
        return "gaussian sum"

    def over(self, data: Figures) -> int:  # noqa: ARG002
        """1."""
        return 1


@final
@dataclass(frozen=True)
class GaussianMean(_GaussianTotal):
    """The mean of all entries, clipped to the bounds, with Gaussian noise: the noised sum over their public number.

    >>> GaussianMean(Numbers(0, 10)).exact([1, 2])
    Fraction(3, 2)
    """

    @property
    def name(self) -> str:
        return "gaussian mean"

    def over(self, data: Figures) -> int:
        """The number of entries."""
        return sum(map(len, data))

    def details(self) -> dict[str, Any]:
        return {"sensitivity of": "the sum, before division by the public number of entries", **super().details()}


@dataclass(frozen=True, eq=False)
class GaussianMechanism:
    """A query and the rho per entry it is answered with; one release, further ones only if a ledger charged them.

    `query`: a `GaussianSum` or `GaussianMean`; `rho`: above 0; `prior`: a field with a width, or None.

    Guarantee: D_alpha(answer on D || answer on D') <= rho alpha for all D, D' that differ in one entry, replaced by any
    value whatever, and all orders alpha > 1."""

    query: _GaussianTotal
    rho: Fraction
    prior: GaussianField | None = None
    once: Once = field(default_factory=Once, repr=False)

    @property
    def guarantee(self) -> ZCDP:
        """What one release costs per entry."""
        return ZCDP(self.rho)

    @property
    def charge(self) -> dict[str, Any]:
        """What a ledger adds up."""
        return {"kind": "per-entry", "guarantee": self.guarantee}

    @property
    def certificate(self) -> PerEntryCertificate:
        """What is claimed, per entry and under the prior, if there is one; no private value."""
        return PerEntryCertificate.renyi(
            self.guarantee,
            {
                "query": self.query.name,
                "sensitivity": str(self.query.sensitivity),
                "neighbours": NEIGHBOURS,
                "domain": DOMAIN,
                "entries": self.query.domain.describe(),
                "claimed by": "fugu",
                **self.query.details(),
                **({} if self.prior is None else {"belief": belief_claims(self.prior, self.guarantee)}),
            },
        )

    def release(self, sequences: object, *, charged: bool = False) -> SequenceAnswer:
        """Publish the answer, with randomness from the operating system.

        `sequences`: the entries of one user, or a list or mapping of those of several; with a prior, no user may have
        more entries than it. Without `charged=True` (a ledger has charged this release) a mechanism releases once."""
        data = self._read(sequences)
        if not charged:
            take_once(self.once)
        return self._answer(data, OS)

    def simulate(self, sequences: object, rng: np.random.Generator) -> SequenceAnswer:
        """A draw from a seeded generator, for experiments only: it is not a release, and nothing is spent."""
        return self._answer(self._read(sequences), RngBits(rng))

    def _read(self, sequences: object) -> Figures:
        data: Figures = self.query._read(sequences)
        if self.prior is not None and any(len(user) > self.prior.size for user in data):
            raise UsageError(
                f"a sequence has more entries than the field, which speaks of {self.prior.size}; give a field for as "
                "many (lengths are public)"
            )
        return data

    def _answer(self, data: Figures, source: BitSource) -> SequenceAnswer:
        drawn = self.query.draw(data, self.rho, source)
        return SequenceAnswer(drawn.value, self.guarantee, self.certificate, drawn.labels, drawn.interval)


def within(precision: Fraction, level: float = 0.95) -> int:
    """The least h with P(|N| <= h) >= `level` for P(N = k) ~ exp(-precision k^2), in steps; what doubles leave in doubt
    goes up."""
    decay, allowed, high = float(min(precision, Fraction(10**4))), (1 - level) * (1 - 1e-11), 1
    while at_least(decay, high) > allowed:
        high *= 2
    return bisect_left(range(1, high), True, key=lambda k: at_least(decay, k) <= allowed)


@lru_cache(maxsize=64)
def _sampler(precision: Fraction) -> LatticeGaussianSampler:
    """One sampler a precision: its tables are built once."""
    return LatticeGaussianSampler(precision)


def _rho(given: Real | Guarantee) -> Fraction:
    rho = exact(ZCDP(given.rho if isinstance(given, ZCDP) else given).rho)  # type: ignore[arg-type]
    if rho == 0:
        raise BadBudget("a rho of 0 for each entry would need infinite noise")
    return rho
