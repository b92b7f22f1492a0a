"""`SequenceQuery` and what it becomes: a mechanism that is private for each entry, and its answer; several at once.

Every query works out its own sensitivity: the largest change, in the l1 norm and over all data sets of the full product
domain, that replacing one entry can make to what noise is added to (or, for selection, to any one utility)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.counted import CountedSequences
from fugu.documents.per_entry import DOMAIN, NEIGHBOURS, PerEntryCertificate, positive_epsilon
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.fixed import Fixed
from fugu.guarantee import ZCDP, Approx, Guarantee, Pure
from fugu.guarantee.asks import exact
from fugu.mechanism.release import Once, SequenceAnswer, Simulated, require_noise, take_once
from fugu.noise.bits import OS, BitSource, RngBits
from fugu.numbers.exact import Real, as_fraction
from fugu.priors.gaussian_field import GaussianField
from fugu.queries.entries import Numbers, States, tallied
from fugu.queries.entry_noise import EntryNoise, Shift, lattice_delta, zcdp_delta
from fugu.queries.sequence_prior import belief_claims
from fugu.translation.translate import dp_budget

T = TypeVar("T", int, float)


class Drawn(NamedTuple):
    """A noised value, what its parts are called, and an interval that holds all their errors with 95 %."""

    value: Any
    labels: tuple[Any, ...] | None = None
    interval: tuple[float, float] | None = None


class SequenceQuery(ABC):
    """A question about sequences. Subclasses state their facts and what they are exactly; whole numbers, in steps, get
    their noise here, and a choice says how it is drawn itself."""

    domain: States | Numbers
    reads: ClassVar[tuple[type[States | Numbers], ...]] = (States,)
    """What its domain may be."""
    name: str
    """What is asked, for certificates."""
    sensitivity: Fraction
    """How far replacing one entry can move the exact answer (l1), or any one utility."""
    moves: Shift | None = None
    """How one replaced entry moves the whole numbers that are noised, where there are any."""
    choice = "{}: there is no Gaussian noise for it, as it is not a noised number"
    """Why there is no Gaussian noise where there are none."""
    step: Real | None = 1
    """What a whole step of noise is in the exact answer."""
    averaged: ClassVar[bool] = False
    """Whether the noised number is divided by the public number of entries."""
    adds: ClassVar[bool] = False
    """Whether it follows from how often each entry occurs and follows each other one."""
    details: Mapping[str, Any] = Fixed()
    """What else a certificate says of it."""

    def __post_init__(self) -> None:
        """UsageError unless entries are declared as this query reads them; the arguments may have changed places."""
        if not isinstance(self.domain, self.reads):
            wanted = " or ".join(f"{kind.__name__}(...)" for kind in self.reads)
            raise UsageError(
                f"{type(self).__name__} needs {wanted} as its domain, the declared entries, got "
                f"{type(self.domain).__name__}; for instance Count('ill', States(['well', 'ill'])), "
                "Histogram(States([...])), Sum(Numbers(0, 10))"
            )

    @property
    def shift(self) -> Shift:
        """How one replaced entry moves the whole numbers that are noised; `NotProvable` where there are none."""
        if self.moves is None:
            raise NotProvable(self.choice.format(self.name))
        return self.moves

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

    def over(self, entries: T) -> T | int:
        """What the noised number is divided by, given the public number of entries."""
        return entries if self.averaged else 1

    def shown(self, noised: NDArray[Any], half: float, entries: int) -> Drawn:  # noqa: ARG002
        """What noised numbers become, all of them within `half` steps of the exact ones with 95 %; `entries`: how many
        there are, which is public."""
        return Drawn(int(noised[0]) if self.labels is None else noised, self.labels, (-half, half))

    def draw(self, data: Any, noise: EntryNoise, source: BitSource) -> Drawn:
        """A noised answer that is epsilon-DP per entry, or rho-zCDP, for data that the domain has read."""
        whole = self.counted(data)
        noised = whole + noise.draw(self, whole.size, source).reshape(whole.shape)
        return self.shown(noised, noise.half(self, whole.size), tallied(data).size)

    def split(self) -> Sequence[tuple[SequenceQuery, Fraction]]:
        """The questions one by one, each with its share of epsilon, or of rho."""
        return [(self, Fraction(1))]

    def exact(self, sequences: object) -> Any:
        """The answer without noise. It is private: for tests and for looking at one's own data."""
        return self.evaluate(self._read(sequences))

    def _read(self, sequences: object) -> Any:
        """The entries as the domain reads them; refused, by what is public alone, if this query is not for them."""
        if not self.adds and isinstance(sequences, CountedSequences):
            raise UsageError(
                f"{self.name} looks at whole sequences, and these stay in Spark, where they are counted; ask for "
                "counts, transitions, sums, means or top ones, or hand over the frame's rows: frame.toArrow()"
            )
        return self.domain.read(sequences)

    def claims(self) -> dict[str, Any]:
        """What a certificate says of this query, whatever its epsilon."""
        said = {"query": self.name, "sensitivity": str(self.sensitivity), "entries": self.domain.describe()}
        return {**said, **self.details}

    def mechanism(self, epsilon: Real | Pure) -> SequenceMechanism:
        """The mechanism that answers this query with Pure(epsilon) per entry."""
        return SequenceMechanism(self, epsilon)  # type: ignore[arg-type]


_MOST = 64


@final
@dataclass(frozen=True)
class Several(SequenceQuery):
    """Questions with their shares of epsilon; the answer holds (value, labels, interval) of each, in their order.

    Question l is answered with w_l epsilon, shares w_l that sum to 1; each draws its own randomness. Given the data the
    answers are independent, so their ratios multiply: all of them together are epsilon-DP per entry (Dwork et al. 2006,
    sequential composition), on the full product domain; divergences of Gaussian noise add. The sum is translated to
    Pufferfish once, which is never worse than adding what each is worth by itself
    (docs/proofs/composition.md#compose-first).

    `parts`: at least two queries of one domain of states and one of numbers at most; none is itself several. `shares`:
    what each gets, positive numbers that sum to 1; `Several.of` takes weights.

    >>> from fugu.queries.sequences import Count, Histogram
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
        parts = [{**part.claims(), "share": str(share)} for part, share in self.split()]
        of = "all answers together, each measured in its own sensitivity over its share of epsilon"
        domain = next((p.domain for p in self.parts if isinstance(p.domain, States)), self.parts[0].domain)
        name, details = ", ".join(part.name for part in self.parts), {"sensitivity of": of, "parts": parts}
        vars(self).update(domain=domain, name=name, details=details)

    @staticmethod
    def of(parts: Sequence[SequenceQuery], weights: Sequence[Real] | None = None) -> Several:
        """Questions that share epsilon by these weights, positive numbers; equally without them."""
        given = [Fraction(1)] * len(parts) if weights is None else [as_fraction(weight) for weight in weights]
        if len(given) != len(parts) or any(weight <= 0 for weight in given):
            raise UsageError(f"weights needs a number above 0 for each of the {len(parts)} questions, got {len(given)}")
        return Several(tuple(parts), tuple(weight / sum(given) for weight in given))

    sensitivity = Fraction(1)
    """Where each answer is measured in its own sensitivity over its share."""

    def claims(self) -> dict[str, Any]:
        entries = {name: said for part in self.parts for name, said in part.claims()["entries"].items()}
        return {**super().claims(), "entries": entries}

    def evaluate(self, data: Any) -> tuple[Any, ...]:
        return tuple(part.evaluate(read) for part, read in zip(self.parts, data, strict=True))

    def _read(self, sequences: object) -> tuple[Any, ...]:
        return tuple(part._read(sequences) for part in self.parts)

    def split(self) -> Sequence[tuple[SequenceQuery, Fraction]]:
        return list(zip(self.parts, self.shares, strict=True))

    def draw(self, data: Any, noise: EntryNoise, source: BitSource) -> Drawn:
        each = zip(self.split(), data, strict=True)
        return Drawn(tuple(tuple(part.draw(read, noise.shared(share), source)) for (part, share), read in each))


class EntryMechanism:
    """A query and its noise; one release, further ones only if a ledger charged them."""

    query: SequenceQuery
    noise: EntryNoise
    """What is drawn."""
    guarantee: Pure | Approx | ZCDP
    """What one release costs per entry."""
    prior: GaussianField | None = None
    once: Once

    @property
    def certificate(self) -> PerEntryCertificate:
        """What is claimed; no private value."""
        query, stated, said = self.query, self.guarantee, self.query.claims()
        whom = {"neighbours": NEIGHBOURS, "domain": DOMAIN}
        if isinstance(stated, Pure):
            first = {"epsilon": str(as_fraction(stated.epsilon)), "delta": "0"}
            first |= {name: said.pop(name) for name in ("query", "sensitivity")}
            return PerEntryCertificate.of(
                {**first, **whom, "entries": said.pop("entries"), "claimed by": "fugu", **said}
            )
        shifts = [(part.shift, share) for part, share in query.split()]
        claims = {
            **whom, "claimed by": "fugu", **said,
            "lattice": {
                "kind": "gaussian", "rho": str(self.noise.amount), "squared distance": [s.square for s, _ in shifts],
                "variance": [str(1 / (2 * shift.precision(self.noise.amount * share))) for shift, share in shifts],
            },
            **({} if self.prior is None else {"belief": belief_claims(self.prior, stated)}),
        }  # fmt: skip
        if isinstance(stated, ZCDP):
            return PerEntryCertificate.whole(stated, claims)
        numbers = {"epsilon": str(as_fraction(stated.epsilon)), "delta": str(as_fraction(stated.delta))}
        return PerEntryCertificate.of({**numbers, **claims})

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
        """The entries as the query reads them; a field speaks of so many entries of each user, and of no more."""
        data = self.query._read(sequences)
        if self.prior is not None and tallied(data).longest > self.prior.size:
            raise UsageError(
                f"a sequence has more entries than the field, which speaks of {self.prior.size}; give a field for as "
                "many (lengths are public)"
            )
        return data

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

    def __post_init__(self) -> None:
        epsilon = positive_epsilon(self.epsilon)
        vars(self).update(epsilon=epsilon, guarantee=Pure(epsilon), noise=EntryNoise(epsilon))


@dataclass(frozen=True, eq=False)
class LatticeMechanism(EntryMechanism):
    """A query answered with lattice Gaussian noise; one release, further ones only if a ledger charged them.

    `query`; `rho`: what it is in zCDP for each entry, which fixes the noise; `guarantee`: what is stated of it for each
    entry, `Approx` or `ZCDP`; `prior`: a Gaussian field with a width, for a certificate of a sum or mean that also says
    what it is worth under it. Raises `NotProvable` if the noise does not keep what is stated.

    The noise is drawn exactly, on whole numbers, for the l2 distance that one replaced entry can make:

    | query                                  | what one entry moves, in steps           | squared |
    |----------------------------------------|------------------------------------------|---------|
    | `Count`                                | one number by 1                          | 1       |
    | `Histogram`, the ranking of `TopK`     | a count up by 1, another down by 1       | 2       |
    | `Transitions`                          | two taken, two added; twice the same: 6  | 6       |
    | `Transitions` of at most two entries   | one taken, one added                     | 2       |
    | `Sum`, `Mean`, `Entries`               | one number by (high - low) / step = n    | n^2     |

    It promises rho-zCDP for each entry, and (epsilon, delta) by exact sums (`lattice_delta`). `Several` questions split
    rho by their shares, and divergences add. Choices by permute-and-flip or the exponential mechanism are pure, and
    have no Gaussian form. Sums and means may say what they are worth under a Gaussian field. Proofs:
    docs/proofs/translation.md#gaussian-noise-for-each-entry and
    docs/proofs/fields.md#clipped-sums-with-gaussian-noise."""

    query: SequenceQuery
    rho: Fraction
    guarantee: Approx | ZCDP
    prior: GaussianField | None = None
    once: Once = field(default_factory=Once, repr=False)

    @staticmethod
    def of(query: SequenceQuery, rho: Real | ZCDP, prior: GaussianField | None = None) -> LatticeMechanism:
        """The mechanism that answers with ZCDP(rho) for each entry.

        `query`: one with noised numbers, see above; `rho`: a finite number above 0, or `ZCDP(rho)`; `prior` as above.

        >>> from fugu.queries.sequences import Sum
        >>> LatticeMechanism.of(Sum(Numbers(0, 10)), 0.5).guarantee
        ZCDP(rho=0.5)
        """
        stated = ZCDP(rho.rho if isinstance(rho, ZCDP) else rho)
        if stated.rho == 0:
            raise BadBudget("a rho of 0 for each entry would need infinite noise")
        return LatticeMechanism(query, exact(stated.rho), stated, prior)

    @staticmethod
    def under(query: SequenceQuery, prior: GaussianField, budget: Guarantee) -> LatticeMechanism:
        """The mechanism with the largest rho for each entry that is worth at most `budget` under a field.

        `query`, `prior` as above; `budget`: `ZCDP`, `Renyi`, `RenyiCurve` or `Approx` with a delta. Raises
        `NotProvable` for a pure one."""
        return LatticeMechanism.of(query, dp_budget(prior, budget), prior)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        stated = self.guarantee
        if self.prior is not None and not (self.query.reads == (Numbers,) and len(self.query.split()) == 1):
            raise UsageError("a Gaussian field is about numbers; only a sum or a mean has a worth under it")
        if self.rho <= 0:
            raise NotProvable("no Gaussian noise is wide enough for what is asked; ask for a larger epsilon or delta")
        shifts = [part.shift for part, _ in self.query.split()]
        if isinstance(stated, ZCDP):
            held = self.rho <= exact(stated.rho)
        else:  # exact sums; of several questions, as zCDP
            several, epsilon = len(shifts) > 1, exact(stated.epsilon)
            delta = zcdp_delta(self.rho, epsilon) if several else lattice_delta(shifts[0], self.rho, epsilon)
            held = exact(delta) <= exact(stated.delta)
        if not held:
            raise NotProvable("the Gaussian noise named does not keep the guarantee for each entry that is stated")
        vars(self)["noise"] = EntryNoise(self.rho, gaussian=True)
