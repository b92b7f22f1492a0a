"""Choices and coins about sequences: the most frequent states, one of a user's candidates, and entries that are kept or
replaced by the toss of an exact coin."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.aliases import own_method
from fugu.documents.per_entry import STATES
from fugu.errors import UnknownName, UsageError
from fugu.fixed import Fixed
from fugu.noise.bits import BitSource
from fugu.noise.selection import METHODS, peel, uniform_below
from fugu.numbers import balls
from fugu.numbers.checks import is_count, plain
from fugu.numbers.exact import Real, as_fraction
from fugu.queries.entries import Codes, Numbers, Read, States, is_label
from fugu.queries.entry_noise import PAIR, EntryNoise
from fugu.queries.sequence_query import Drawn, SequenceQuery

# The most frequent states, and selection by a user's own utility (the paper's second algorithm).
#
# Replacing one entry moves every count by at most 1: the utility sensitivity is 1, and each round of selection works at
# rate epsilon / (2 rounds). The factor 2 stays: one replacement moves one count up and another down, so the saving for
# monotone utilities does not apply (at rate epsilon the loss tends to 2 epsilon).


_NOISY = "laplace"
_GUMBEL = "gumbel"
WAYS = ("best", "laplace", *METHODS, _GUMBEL)
_DRAWN = {_GUMBEL: "exponential"}
"""One-shot Gumbel noise of scale 2 rounds / epsilon has the law of peeling, and is drawn as that: exactly."""


def ranking(counts: ArrayLike, k: int) -> tuple[int, ...]:
    """The places of the k largest, largest first, the earlier place first on ties.

    >>> ranking([3, 9, 9, 1], 3)
    (1, 2, 0)
    """
    return tuple(np.argsort(-np.asarray(counts), kind="stable")[:k].tolist())


@dataclass(frozen=True)
class TopK(SequenceQuery):
    """The k most frequent states, most frequent first.

    Ways, all epsilon-DP per entry: "laplace" ranks a histogram with noise of scale 2 / epsilon on every count,
    whatever k; "permute-and-flip" and "exponential" peel, with epsilon / rounds each, rounds = min(k, states - 1), as
    the last state left is not a choice. "gumbel", one-shot Gumbel noise of scale 2 rounds / epsilon, has the law of
    "exponential", and is drawn as its rounds (`fugu.noise.selection`). "best" is permute-and-flip for k = 1 and laplace
    beyond.

    >>> TopK(2, States("a b c".split())).exact(["a", "c", "c"])
    ('c', 'a')
    """

    k: int
    domain: States
    method: str = "best"
    way: str = field(init=False, repr=False, compare=False)
    """The method that runs."""
    noisy: bool = field(init=False, repr=False, compare=False)
    """Whether the whole histogram is noised, rather than one round drawn after another."""
    rounds: int = field(init=False, repr=False, compare=False)
    """How many rounds are paid for."""
    adds = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "method", own_method(self.method))
        if self.method not in WAYS:
            raise UnknownName("selection method", self.method, WAYS)
        if not is_count(self.k) or self.k > len(self.domain):
            raise UsageError(f"k must be in 1 .. {len(self.domain)}, the number of declared states, got {self.k!r}")
        way = self.method if self.method != "best" else "permute-and-flip" if self.k == 1 else _NOISY
        noisy, rounds = way == _NOISY, min(self.k, len(self.domain) - 1)
        of = "the histogram (l1)" if noisy else f"each count; epsilon is split over {rounds} rounds"
        no = f"top {self.k} by {way} is a choice without noise on counts; --method laplace has them"
        vars(self).update(way=way, noisy=noisy, rounds=rounds, name=f"top {self.k}", choice=no)
        vars(self).update(moves=PAIR if noisy else None, sensitivity=Fraction(2 if noisy else 1))
        vars(self).update(details={"method": way, "sensitivity of": of})

    def counted(self, data: Read[int]) -> NDArray[np.int64]:
        return self.domain.counts(data)

    def evaluate(self, data: Read[int]) -> Any:
        return self.chosen(ranking(self.counted(data), self.k))

    def chosen(self, places: Sequence[int]) -> Any:
        """The states at these places of a ranking, as they go out."""
        return tuple(self.domain.names[i] for i in places)

    def shown(self, noised: NDArray[Any], half: float, entries: int) -> Drawn:  # noqa: ARG002 - counts stay private
        return Drawn(self.chosen(ranking(noised, self.k)))

    def draw(self, data: Read[int], noise: EntryNoise, source: BitSource) -> Drawn:
        if self.noisy:
            return super().draw(data, noise, source)
        utilities, rate = [Fraction(int(c)) for c in self.counted(data)], noise.epsilon(self) / (2 * self.rounds)
        return Drawn(self.chosen(peel(utilities, self.k, rate, _DRAWN.get(self.way, self.way), source)))


@final
@dataclass(frozen=True)
class ArgMax(TopK):
    """The most frequent state, by permute-and-flip or the exponential mechanism.

    >>> ArgMax(States("a b".split())).exact(["a", "b", "b"])
    'b'
    """

    k: int = field(default=1, init=False, repr=False)
    domain: States
    method: str = "permute-and-flip"

    def __post_init__(self) -> None:
        super().__post_init__()  # and no noise on counts is stated of it
        vars(self).update(name="arg max", moves=None, choice=SequenceQuery.choice)

    def chosen(self, places: Sequence[int]) -> Hashable:
        return self.domain.names[places[0]]


@final
@dataclass(frozen=True)
class Select(SequenceQuery):
    """One of several public candidates: of `candidates` by a utility u(sequences, candidate) that one entry moves by at
    most `lipschitz`.

    fugu trusts the stated number: it must hold for every candidate, on the full product domain. Utilities are read
    exactly (a float is its decimal); u gets a tuple of tuples, one per user, and a candidate.

    >>> longest = Select(lambda users, n: -abs(len(users[0]) - n), (1, 2), 1, States("a b".split()))
    >>> longest.exact(["a", "b"])
    2
    """

    utility: Callable[[Any, Any], Any]
    candidates: Sequence[Hashable]
    lipschitz: Real
    domain: States | Numbers
    method: str = "permute-and-flip"
    name = "selection by a user's utility"
    reads = (States, Numbers)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.utility):
            raise UsageError("the utility must be a function of the sequences and a candidate")
        if self.method not in METHODS:
            raise UnknownName("selection method", self.method, METHODS)
        object.__setattr__(self, "candidates", tuple(self.candidates))
        if len(self.candidates) < 2 or len(set(self.candidates)) < len(self.candidates):
            raise UsageError("at least two candidates are needed, each once")
        if not all(is_label(part) for c in self.candidates for part in (c if isinstance(c, tuple) else (c,))):
            raise UsageError("a candidate is a text, a number, or a tuple of them")
        lipschitz = positive(self.lipschitz, "lipschitz")
        said = {
            "method": self.method, "sensitivity of": "each utility", "sensitivity stated by": "the user",
            "utility": getattr(self.utility, "__name__", ""), "candidates": list(self.candidates),
        }  # fmt: skip
        vars(self).update(lipschitz=lipschitz, sensitivity=lipschitz, details=said)

    def utilities(self, data: Any) -> list[Fraction]:
        """The exact utility of every candidate; private."""
        users = self.domain.plain(data)
        return [exact_number(called(self.utility, users, candidate)) for candidate in self.candidates]

    def evaluate(self, data: Any) -> Hashable:
        found = self.utilities(data)
        return self.candidates[found.index(max(found))]

    def draw(self, data: Any, noise: EntryNoise, source: BitSource) -> Drawn:
        rate = noise.epsilon(self) / (2 * self.sensitivity)
        place = peel(self.utilities(data), 1, rate, self.method, source)[0]
        return Drawn(self.candidates[place])


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a user's function; what it says when it fails may hold private values and is withheld."""
    try:
        return function(*arguments)
    except Exception as failure:
        raise UsageError(
            f"the query function raised {type(failure).__name__} (its message is withheld, as it may hold private "
            "values); it must be defined for all sequences of the domain"
        ) from None


def exact_number(value: Any) -> Fraction:
    """One finite number, exactly; the message does not hold it."""
    number = plain(value)
    if isinstance(number, int | float | Fraction) and -sys.float_info.max <= number <= sys.float_info.max:
        return as_fraction(number)
    raise UsageError("the query returned something that is not a finite number; it must for all sequences")


def positive(value: Real, name: str) -> Fraction:
    """A finite number above zero that the user stated."""
    try:
        exact = as_fraction(value)
    except (TypeError, ValueError):
        exact = Fraction(0)
    if exact <= 0 or isinstance(value, bool):
        raise UsageError(f"{name} must be a finite number above 0, got {value!r}")
    return exact


# Randomised response: every entry is published, each kept or replaced by the toss of an exact rational coin.


_BITS = 61


def weights(epsilon: Fraction) -> tuple[int, int]:
    """Whole weights (keep, other) with keep / other <= e^epsilon, proved by balls, and as close as 61 bits allow.

    other = 2^b, keep = floor(e^epsilon 2^b) with b the largest that keeps the first below 2^61 ; from e^epsilon =
    2^61 on it is 2^61 - 1 to 1. Below an epsilon of 2^-60 both are equal, and nothing is told.

    >>> keep, other = weights(Fraction(1))
    >>> round(keep / other, 12)
    2.718281828459
    """
    with balls.precision(256):
        power = balls.of(min(epsilon, Fraction(_BITS))).exp()
        b = next((b for b in range(_BITS, -1, -1) if power * 2**b < 2**_BITS), None)
        if b is None:
            return 2**_BITS - 1, 1
        keep = int((power * 2**b).lower().floor().unique_fmpz() or 0)
    return max(keep, 2**b), 2**b


@final
@dataclass(frozen=True)
class RandomisedResponse(SequenceQuery):
    """Every entry of every sequence: its own state with weight `keep`, each other state with weight `other`.

    Entries are drawn independently, so replacing one entry moves the law of one output entry only, and there every
    ratio of probabilities is at most keep / other <= e^epsilon (Warner 1965; Kairouz, Bonawitz, Ramage 2016).

    >>> answer = RandomisedResponse(States("a b".split())).mechanism(50).release(["a", "b"])
    >>> answer.value, answer.epsilon
    ((('a', 'b'),), Fraction(50, 1))
    """

    domain: States
    name = "randomised response"
    sensitivity = Fraction(1)
    """The number of entries that one replacement changes."""
    details = Fixed({"sensitivity of": STATES})

    def evaluate(self, data: Codes) -> Any:
        return self.domain.plain(data)

    def law(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """The exact probabilities of an entry's own state and of each other one."""
        keep, other = weights(epsilon)
        total = keep + (len(self.domain) - 1) * other
        return Fraction(keep, total), Fraction(other, total)

    def draw(self, data: Codes, noise: EntryNoise, source: BitSource) -> Drawn:
        keep, other = weights(noise.epsilon(self))
        total = keep + (len(self.domain) - 1) * other
        told = []
        for user in data:
            places = []
            for code in user:
                r = uniform_below(total, source)
                j = (r - keep) // other
                places.append(code if r < keep else j + (j >= code))
            told.append(tuple(places))
        return Drawn(self.domain.plain(tuple(told)))

    def estimate(self, answer: Any, epsilon: Fraction) -> NDArray[np.float64]:
        """Unbiased counts of each state from a released answer: (observed - n other) / (own - other); no further cost.

        E[observed_s] = c_s own + (n - c_s) other, with own and other the probabilities of `law`."""
        own, other = self.law(epsilon)
        if own == other:
            raise UsageError("at so small an epsilon the answer tells nothing, and there is nothing to estimate")
        seen = self.domain.counts(self.domain.read(answer))
        return np.array([float((int(s) - int(seen.sum()) * other) / (own - other)) for s in seen])
