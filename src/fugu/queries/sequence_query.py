"""`SequenceQuery` and what it becomes: a mechanism that is epsilon-DP per entry, and its answer; several at once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from fugu.documents.per_entry import DOMAIN, NEIGHBOURS, PerEntryCertificate, positive_epsilon
from fugu.errors import BadNoise, NotProvable, UsageError
from fugu.guarantee import ZCDP, Approx, Pure
from fugu.mechanism.release import Once, PerEntryRelease, Simulated, require_noise, take_once
from fugu.noise.bits import OS, BitSource, RngBits
from fugu.noise.gaussian import at_least, gaussian_sampler
from fugu.noise.laplace import Laplace, laplace_sampler
from fugu.numbers.exact import Real, as_fraction
from fugu.queries.sequence_data import Numbers, States
from fugu.shown import Shown

# `SequenceQuery` and what it becomes: a mechanism that is epsilon-DP per entry, and its answer.
#
# Every query works out its own sensitivity: the largest change, in the l1 norm and over all data sets of the full
# product domain, that replacing one entry can make to what noise is added to (or, for selection, to any one utility).
#
# Laplace noise of mass ~ exp(-epsilon |k| / S) on every number of a vector of l1 sensitivity S is epsilon-DP:
# sum over numbers of | |z - a| - |z - b| | <= ||a - b||_1 <= S (Dwork et al. 2006; Ghosh et al. 2009 on the integers).
# Gaussian noise is drawn for the l2 distance (`Shift`; `fugu.queries.sequence_lattice`).


_LEVEL, _MOST_RATE = 0.95, 700.0
NO_NUMBER = "{}: there is no Gaussian noise for it, as it is not a noised number"


@final
@dataclass(frozen=True)
class Shift:
    """How far one replaced entry moves the whole numbers that are noised: |v|^2 at most `square`, in steps.

    `kind`: "line" for one number, "pair" for one count up and one down by 1, "ball" for anything else."""

    kind: Literal["line", "pair", "ball"]
    square: int

    @staticmethod
    def line(steps: int) -> Shift:
        """One number that moves by at most so many steps."""
        return Shift("line", steps**2)

    def precision(self, rho: Fraction) -> Fraction:
        """p of the noise of mass ~ exp(-p k^2) that makes this shift rho-zCDP."""
        return rho / self.square


PAIR = Shift("pair", 2)


def error_bound(rate: Fraction, parts: int = 1, level: float = _LEVEL) -> float:
    """h with P(|N_1|, ..., |N_parts| <= h) >= level for independent lattice Laplace noises of this rate, in steps."""
    each = min(level ** (1 / parts) * (1 + 1e-15), 1 - 1e-15)
    return Laplace(1 / rate, grid=Fraction(1)).quantile(each)


def within(precision: Fraction, level: float = _LEVEL, parts: int = 1) -> int:
    """The least h with P(|N_1|, ..., |N_parts| <= h) >= `level` for P(N = k) ~ exp(-precision k^2), in steps; what
    doubles leave in doubt goes up."""
    outside = 1 - min(level ** (1 / parts) * (1 + 1e-15), 1 - 1e-15)
    decay, allowed, high = float(min(precision, Fraction(10**4))), outside * (1 - 1e-11), 1
    while at_least(decay, high) > allowed:
        high *= 2
    return bisect_left(range(1, high), True, key=lambda k: at_least(decay, k) <= allowed)


@final
@dataclass(frozen=True)
class EntryNoise:
    """What is drawn for one question: what an `amount` of epsilon for each entry allows, or of rho, with lattice
    Gaussian noise."""

    amount: Fraction
    gaussian: bool = False

    def shared(self, share: Fraction) -> EntryNoise:
        """The part of it that a share of the budget has."""
        return EntryNoise(self.amount * share, self.gaussian)

    def decay(self, query: SequenceQuery) -> Fraction:
        """r of noise of mass ~ exp(-r |k|), or p of ~ exp(-p k^2), on whole numbers of steps."""
        return query.shift.precision(self.amount) if self.gaussian else query.rate(self.amount)

    def draw(self, query: SequenceQuery, size: int, source: BitSource) -> NDArray[np.int64]:
        """So many independent numbers of steps."""
        decay = self.decay(query)
        sampler = gaussian_sampler(decay) if self.gaussian else laplace_sampler(decay)
        return sampler.draw(size, source)

    def half(self, query: SequenceQuery, parts: int = 1) -> float:
        """h such that `parts` numbers of noise are all within h steps with 95 %."""
        decay = self.decay(query)
        return within(decay, parts=parts) if self.gaussian else error_bound(decay, parts)

    def size(self, query: SequenceQuery) -> float:
        """How large one number of noise is on average, in steps."""
        decay = float(self.decay(query))
        return math.sqrt(1 / (math.pi * decay)) if self.gaussian else average_size(decay)

    def epsilon(self, query: SequenceQuery) -> Fraction:
        """What a choice has for each entry; `NotProvable` for Gaussian noise."""
        if self.gaussian:
            raise NotProvable(NO_NUMBER.format(query.name))
        return self.amount


def average_size(rate: float) -> float:
    """E|N| = 1 / sinh(rate) in steps, for P(N = k) ~ exp(-rate |k|).

    >>> round(average_size(0.01), 3)
    99.998
    """
    return 1 / math.sinh(min(rate, _MOST_RATE))


@dataclass(frozen=True)
class Drawn:
    """A noised value, what its parts are called, and an interval that holds all their errors with 95 %."""

    value: Any
    labels: tuple[Any, ...] | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SequenceAnswer(PerEntryRelease, Shown):
    """What went out: `value`, its `labels`, the 95 % `interval` of the error (all parts together), the `charge`."""

    labels: tuple[Any, ...] | None = None
    interval: tuple[float, float] | None = None

    @property
    def parts(self) -> tuple[SequenceAnswer, ...]:
        """The answers one by one where several questions were asked together (`Several`); else this one alone."""
        if "parts" not in self.certificate.body:
            return (self,)
        return tuple(SequenceAnswer(v, self.guarantee, self.certificate, n, i) for v, n, i in self.value)

    @property
    def bounds(self) -> Any:
        """value + interval: where the exact answer lies with 95 %; None for selections."""
        if self.interval is None:
            return None
        return self.value + self.interval[0], self.value + self.interval[1]

    def table(self) -> dict[Any, Any]:
        """Label to value, for answers with several parts."""
        if self.labels is None:
            raise BadNoise("this answer has one part; read its value")
        return dict(zip(self.labels, np.asarray(self.value).ravel().tolist(), strict=True))


class SequenceQuery(ABC):
    """A question about sequences. Subclasses state their sensitivity and what they are exactly; whole numbers, in
    steps, get their noise here, and a choice says how it is drawn itself."""

    domain: States | Numbers
    step: Real | None = 1
    """What a whole step of noise is in the exact answer."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What is asked, for certificates."""

    @property
    @abstractmethod
    def sensitivity(self) -> Fraction:
        """How far replacing one entry can move the exact answer (l1), or any one utility."""

    @property
    def shift(self) -> Shift:
        """How one replaced entry moves the whole numbers that are noised; `NotProvable` where there are none."""
        raise NotProvable(NO_NUMBER.format(self.name))

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """What the numbers are of; None for one number."""
        return None

    @property
    def grid(self) -> Fraction:
        """The lattice step, exactly."""
        return as_fraction(self.step or 0)

    @abstractmethod
    def evaluate(self, data: Any) -> Any:
        """The exact answer for data that the domain has read; private."""

    def counted(self, data: Any) -> NDArray[Any]:
        """The whole numbers, in steps, that noise is added to; private."""
        return np.atleast_1d(np.asarray(self.evaluate(data), dtype=np.int64))

    def shown(self, noised: NDArray[Any], half: float, data: Any) -> Drawn:  # noqa: ARG002 - a mean has its length
        """What noised numbers become, all of them within `half` steps of the exact ones with 95 %; of `data` only what
        is public is used."""
        return Drawn(int(noised[0]) if self.labels is None else noised, self.labels, (-half, half))

    def rate(self, epsilon: Fraction) -> Fraction:
        """The noise of mass ~ exp(-rate |k|) steps that is epsilon-DP per entry."""
        return epsilon * self.grid / self.sensitivity

    def draw(self, data: Any, noise: EntryNoise, source: BitSource) -> Drawn:
        """A noised answer that is epsilon-DP per entry, or rho-zCDP, for data that the domain has read."""
        whole = self.counted(data)
        noised = whole + noise.draw(self, whole.size, source).reshape(whole.shape)
        return self.shown(noised, noise.half(self, whole.size), data)

    def split(self) -> Sequence[tuple[SequenceQuery, Fraction]]:
        """The questions one by one, each with its share of epsilon, or of rho."""
        return [(self, Fraction(1))]

    def exact(self, sequences: object) -> Any:
        """The answer without noise. It is private: for tests and for looking at one's own data."""
        return self.evaluate(self._read(sequences))

    def _read(self, sequences: object) -> Any:
        """The entries as the domain reads them; refused, by what is public alone, if this query is not for them."""
        return self.domain.read(sequences)

    def details(self) -> dict[str, Any]:
        """What else a certificate says of this query."""
        return {}

    def entries(self) -> dict[str, Any]:
        """How entries are read, for a certificate."""
        return self.domain.describe()

    def claims(self) -> dict[str, Any]:
        """What a certificate says of this query, whatever its epsilon."""
        said = {"query": self.name, "sensitivity": str(self.sensitivity), "entries": self.entries()}
        return {**said, **self.details()}

    def mechanism(self, epsilon: Real | Pure) -> SequenceMechanism:
        """The mechanism that answers this query with Pure(epsilon) per entry."""
        return SequenceMechanism(self, epsilon)  # type: ignore[arg-type]


class EntryMechanism(ABC):
    """A query and its noise; one release, further ones only if a ledger charged them."""

    query: SequenceQuery
    guarantee: Pure | Approx | ZCDP
    """What one release costs per entry."""
    once: Once

    @property
    @abstractmethod
    def certificate(self) -> PerEntryCertificate:
        """What is claimed; no private value."""

    @property
    @abstractmethod
    def noise(self) -> EntryNoise:
        """What is drawn."""

    @property
    def charge(self) -> dict[str, Any]:
        """What a ledger adds up."""
        return {"kind": "per-entry", "guarantee": self.guarantee}

    def release(self, sequences: object, *, charged: bool = False, allow_no_noise: bool = False) -> SequenceAnswer:
        """Publish the answer, with randomness from the operating system.

        Without `charged=True` (a ledger has charged this release) a mechanism releases once. Numbers whose noise is
        mostly 0 go out with `allow_no_noise=True` only; else `NoiselessRelease`, and nothing is used up."""
        data = self._read(sequences)
        if not allow_no_noise:
            require_noise(self.certificate)
        if not charged:
            take_once(self.once)
        return self._answer(data, OS)

    def simulate(self, sequences: object, rng: np.random.Generator) -> Simulated[Any]:
        """A draw from a seeded generator, for experiments: no release, taken by no writer, and nothing is spent."""
        drawn = self.query.draw(self._read(sequences), self.noise, RngBits(rng))
        return Simulated(drawn.value, interval=drawn.interval, labels=drawn.labels)

    def _read(self, sequences: object) -> Any:
        return self.query._read(sequences)

    def _answer(self, data: Any, source: BitSource) -> SequenceAnswer:
        drawn = self.query.draw(data, self.noise, source)
        return SequenceAnswer(drawn.value, self.guarantee, self.certificate, drawn.labels, drawn.interval)


@dataclass(frozen=True, eq=False)
class SequenceMechanism(EntryMechanism):
    """A query and the per-entry epsilon it is answered with; one release, further ones only if a ledger charged them.

    Guarantee: P(answer in E | D) <= e^epsilon P(answer in E | D') for all D, D' that differ in one entry."""

    query: SequenceQuery
    epsilon: Fraction
    once: Once = field(default_factory=Once, repr=False)
    guarantee: Pure = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_epsilon(self.epsilon))
        object.__setattr__(self, "guarantee", Pure(self.epsilon))

    @property
    def certificate(self) -> PerEntryCertificate:
        return PerEntryCertificate.of(
            {
                "epsilon": str(self.epsilon),
                "delta": "0",
                "query": self.query.name,
                "sensitivity": str(self.query.sensitivity),
                "neighbours": NEIGHBOURS,
                "domain": DOMAIN,
                "entries": self.query.entries(),
                "claimed by": "fugu",
                **self.query.details(),
            }
        )

    @property
    def noise(self) -> EntryNoise:
        return EntryNoise(self.epsilon)


# `Several`: questions about the same sequences that share one epsilon for each entry, as one release.
#
# Question l is answered with w_l epsilon, shares w_l that sum to 1; each draws its own randomness. Given the data the
# answers are independent, so their ratios multiply: all of them together are epsilon-DP per entry (Dwork et al. 2006,
# sequential composition), on the full product domain. The sum is translated to Pufferfish once, which is never worse
# than adding what each is worth by itself (docs/proofs/composition.md#compose-first).


_MOST = 64


@final
@dataclass(frozen=True)
class Several(SequenceQuery):
    """Questions with their shares of epsilon; the answer holds (value, labels, interval) of each, in their order.

    `parts`: at least two queries of one domain of states and one of numbers at most; none is itself several. `shares`:
    what each gets, positive numbers that sum to 1; `Several.of` takes weights.

    >>> from fugu.queries.sequence_counts import Count, Histogram
    >>> ill = States(("well", "ill"))
    >>> both = Several.of([Histogram(ill), Count("ill", ill)], [2, 1])
    >>> both.shares
    (Fraction(2, 3), Fraction(1, 3))
    """

    parts: tuple[SequenceQuery, ...]
    shares: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "shares", tuple(map(as_fraction, self.shares)))
        if not 2 <= len(self.parts) <= _MOST or any(isinstance(part, Several) for part in self.parts):
            raise UsageError(f"several questions are 2 to {_MOST} of them, none of which is itself several")
        if len(self.shares) != len(self.parts) or min(self.shares) <= 0 or sum(self.shares) != 1:
            raise UsageError("every question needs a share above 0, and the shares sum to 1")
        for kind in (States, Numbers):
            found = [part.domain for part in self.parts if isinstance(part.domain, kind)]
            if any(domain != found[0] for domain in found):
                raise UsageError("questions of one release read entries in one way: give all of them the same domain")

    @staticmethod
    def of(parts: Sequence[SequenceQuery], weights: Sequence[Real] | None = None) -> Several:
        """Questions that share epsilon by these weights, positive numbers; equally without them."""
        given = [Fraction(1)] * len(parts) if weights is None else [as_fraction(weight) for weight in weights]
        if len(given) != len(parts) or any(weight <= 0 for weight in given):
            raise UsageError(f"weights needs a number above 0 for each of the {len(parts)} questions, got {len(given)}")
        return Several(tuple(parts), tuple(weight / sum(given) for weight in given))

    @property
    def domain(self) -> States | Numbers:  # type: ignore[override]
        """That of the states, if a question is about them."""
        return next((p.domain for p in self.parts if isinstance(p.domain, States)), self.parts[0].domain)

    @property
    def name(self) -> str:
        return ", ".join(part.name for part in self.parts)

    sensitivity = Fraction(1)
    """Where each answer is measured in its own sensitivity over its share."""

    def entries(self) -> dict[str, Any]:
        return {name: said for part in self.parts for name, said in part.entries().items()}

    def details(self) -> dict[str, Any]:
        parts = [{**p.claims(), "share": str(w)} for p, w in zip(self.parts, self.shares, strict=True)]
        of = "all answers together, each measured in its own sensitivity over its share of epsilon"
        return {"sensitivity of": of, "parts": parts}

    def evaluate(self, data: Any) -> tuple[Any, ...]:
        return tuple(part.evaluate(read) for part, read in zip(self.parts, data, strict=True))

    def _read(self, sequences: object) -> tuple[Any, ...]:
        return tuple(part._read(sequences) for part in self.parts)

    def split(self) -> Sequence[tuple[SequenceQuery, Fraction]]:
        return list(zip(self.parts, self.shares, strict=True))

    def draw(self, data: Any, noise: EntryNoise, source: BitSource) -> Drawn:
        each = zip(self.parts, self.shares, data, strict=True)
        drawn = [part.draw(read, noise.shared(share), source) for part, share, read in each]
        return Drawn(tuple((one.value, one.labels, one.interval) for one in drawn))
