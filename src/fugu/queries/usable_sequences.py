"""How usable the answers about sequences are: noise beside what the believed chain says of so many entries; and the
expected error of a question on a reference.

A count of entries at a state, of a step from one state to another, or a sum of numbers is N = sum over t of
f(X_t, X_t+1). With v_t the law of X_t, w_t(y) = E[N_t 1(X_t = y)] and P the step, E N and E N^2 follow entry by entry:

    w_t+1(y) = sum over x of (w_t(x) + v_t(x) f(x, y)) P(x, y)
    E N_t+1^2 = E N_t^2 + sum over x, y of (2 w_t(x) f(x, y) + v_t(x) f(x, y)^2) P(x, y)

Users are independent, so means and variances add. Nothing here reads a private entry: the number of entries is public,
and the chain is that of the certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.documents.reading import reading
from fugu.errors import FuguError, UsageError
from fugu.guarantee import Guarantee, Pure
from fugu.guarantee.asks import exact
from fugu.numbers.exact import as_fraction, read_number
from fugu.priors.chain import MarkovChain
from fugu.priors.chains import GapChains
from fugu.queries.sequence_certificate import THE_TABLE, SequenceCertificate
from fugu.queries.sequence_claims import is_users_own, query_from
from fugu.queries.sequence_counts import Count, Histogram, Mean, Sum, Transitions
from fugu.queries.sequence_prior import Chain
from fugu.queries.sequence_query import EntryMechanism, EntryNoise, SequenceQuery, average_size
from fugu.queries.sequences import TopK
from fugu.translation.translate import rough_budget
from fugu.utility.figures import (
    CHANCE,
    EXACT,
    GRADES,
    STATISTIC,
    UNKNOWN,
    USABLE,
    Figures,
    ranking,
    statistic,
)
from fugu.utility.usable import OWN_TABLE, Lever, Usable

BASIS = "the chain that is believed"
_STEADY = 2_000
"""Steps after which a chain without a stated start is taken to have settled."""


@final
class Walk:
    """What a chain expects of `entries` entries in sequences of its length."""

    def __init__(self, chain: Chain, entries: int) -> None:
        step = chain.step if isinstance(chain, GapChains) else chain
        self.kernel: Floats = step.transition(1) if isinstance(step, MarkovChain) else step.centre
        self.start, self.length, self.states = _start(step, self.kernel), chain.length, chain.states
        self.entries, self.users = entries, entries / chain.length

    def moments(self, weight: Floats) -> tuple[float, float]:
        """Mean and standard deviation of the sum of `weight` over all entries (a vector) or steps (a matrix)."""
        m = len(self.start)
        of_steps = weight.ndim == 2
        moved = weight if of_steps else np.tile(weight, (m, 1))
        law, held = self.start, np.zeros(m) if of_steps else self.start * weight
        mean = held.sum()
        square = 0.0 if of_steps else float(self.start @ weight**2)
        gain, gain_squared = (self.kernel * moved).sum(axis=1), (self.kernel * moved**2).sum(axis=1)
        for _ in range(self.length - 1):
            square += 2 * float(held @ gain) + float(law @ gain_squared)
            mean += float(law @ gain)
            held, law = held @ self.kernel + law @ (self.kernel * moved), law @ self.kernel
        return self.users * mean, math.sqrt(max(self.users * (square - mean**2), 0.0))

    def shares(self) -> Floats:
        """The share of each state, over all entries."""
        law, total = self.start, self.start.copy()
        for _ in range(self.length - 1):
            law = law @ self.kernel
            total += law
        return total / self.length

    def counts(self, query: Histogram | Transitions | TopK) -> Floats:
        """The counts that are expected, in the order of the query's labels."""
        shares = self.shares()
        if not isinstance(query, Transitions):
            return self.entries * shares
        steps = self.entries - self.users
        counts: Floats = (steps * shares[:, None] * self.kernel).ravel()
        return counts


def usable_of_sequence(certificate: SequenceCertificate, entries: int | None) -> Usable:
    """Every question of a certificate beside what its chain says of so many entries, with the levers that cost nothing
    to measure; `entries`: how many are published, None where that is not known."""
    if certificate["prior"]["fitted on"] == THE_TABLE:
        return Usable((), "", why=OWN_TABLE)
    with reading():
        try:
            if is_users_own(certificate.body):
                return Usable((), "", why="the question is a function in code, which no document holds")
            query, chain = query_from(certificate.body), certificate.chain
        except FuguError as reason:
            return Usable((), "", why=str(reason))
    if chain is None or entries is None:
        lacking = "how many entries are published" if entries is None else "the steps of its chain, which are too many"
        return Usable((), "", why=f"the certificate does not say {lacking}")
    lattice = certificate.body.get("lattice")
    if lattice is not None:
        return judged(query, EntryNoise(read_number(lattice["rho"]), gaussian=True), chain, entries)
    ordinary = EntryNoise(certificate.asked / chain.length)
    return judged(query, EntryNoise(certificate.epsilon), chain, entries, ordinary)


def judged(
    query: SequenceQuery, noise: EntryNoise, chain: Chain, entries: int, ordinary: EntryNoise | None = None
) -> Usable:
    """The same for a question with its noise. `ordinary`: what differential privacy would draw that promises as much
    for a whole sequence, without beliefs."""
    walk = Walk(chain, entries)
    figures = []
    for part, share in query.split():
        plain = None if ordinary is None else ordinary.shared(share)
        figure = _figure(part, noise.shared(share), walk, plain)
        if figure is not None:
            figures.append(figure)
    why = "" if figures else "the question is answered by a choice of its own"
    usable = Usable(tuple(figures), BASIS, why=why)
    return usable.with_levers(tuple(_free(query, noise, figures)), ())


def with_measured(usable: Usable, chain: Chain, epsilon: Fraction, entry: Fraction) -> Usable:
    """With what twice the epsilon and half the length would do, each translated anew; where the answer is usable as it
    is, nothing is tried. `epsilon`: asked for; `entry`: what each entry has of it."""
    if usable.grade in (EXACT, USABLE, UNKNOWN):
        return usable
    twice = f"--epsilon {float(2 * epsilon):g}"
    ways = [("twice the epsilon", twice, chain, 2 * epsilon, "odds may change by the factor squared")]
    if not isinstance(chain, GapChains) and chain.length >= 4:
        half = chain.with_length(chain.length // 2)
        ways.append(("sequences of half the length", "", half, epsilon, "they are cut before they are released"))
    levers, untried = list(usable.levers), []
    for what, option, prior, wanted, price in ways:
        try:
            times = rough_budget(prior, wanted, float(entry)) / float(entry)
            levers.append(Lever(what, option, _error(usable.figures) / times, times, price))
        except (FuguError, ArithmeticError) as reason:
            untried.append(f"{what}: {reason}")
    return usable.with_levers(tuple(levers), tuple(untried))


def usable_mechanism(mechanism: EntryMechanism, chain: Chain, entries: int, budget: Guarantee) -> Usable:
    """How usable the answer of a mechanism would be; with levers where it would not, for a pure `budget`."""
    noise, ordinary = mechanism.noise, EntryNoise(exact(budget.epsilon) / chain.length)
    if noise.gaussian:
        return judged(mechanism.query, noise, chain, entries)
    usable = judged(mechanism.query, noise, chain, entries, ordinary)
    return with_measured(usable, chain, exact(budget.epsilon), noise.amount) if isinstance(budget, Pure) else usable


def _figure(query: SequenceQuery, noise: EntryNoise, walk: Walk, plain: EntryNoise | None) -> Figures | None:
    """The figures of one question; None for what has no numbers and is no ranking."""
    if isinstance(query, TopK):
        counts = walk.counts(query)
        scale = 2 / float(noise.amount)
        if noise.gaussian:
            scale = math.sqrt(1 / (2 * float(query.shift.precision(noise.amount))))
        loss, first = ranked(query, counts, scale, noise.gaussian)
        return ranking(query.name, loss, float(np.sort(counts)[::-1][: query.k].sum()), first)
    if isinstance(query, Histogram | Transitions):
        counts = walk.counts(query)
        allowed = counts[counts > 0]
        half, error = noise.half(query, counts.size), noise.size(query)
        needed = None if plain is None else plain.half(query, counts.size)
        share = float(allowed.sum()) / allowed.size
        cells = (allowed.size, float(allowed.max()), float(counts.std()))
        return statistic(query.name, query.name, walk.entries, half, error, share, None, needed, "entries", cells)
    if not isinstance(query, Count | Sum | Mean):
        return None
    unit, weight = _weighed(query, walk)
    half, error = noise.half(query) * unit, noise.size(query) * unit
    needed = None if plain is None else plain.half(query) * unit
    value, deviation = walk.moments(weight)
    over = walk.entries if isinstance(query, Mean) else 1
    chance = CHANCE * deviation / over
    return statistic(query.name, query.name, walk.entries, half, error, value / over, chance, needed, "entries")


def _weighed(query: Count | Sum | Mean, walk: Walk) -> tuple[float, Floats]:
    """What one step of the noise is in the published number, and what each state adds to the sum."""
    if isinstance(query, Count):
        return 1.0, np.array([float(state == query.state) for state in walk.states])
    low, high = float(query.domain.low), float(query.domain.high)
    missing = float(query.domain.missing or 0)
    numbers = [float(x) if isinstance(x, int | float | Fraction) else missing for x in walk.states]
    over = walk.entries if isinstance(query, Mean) else 1
    return float(as_fraction(query.step or 1)) / over, np.clip(numbers, low, high)


def _free(query: SequenceQuery, noise: EntryNoise, figures: Sequence[Figures]) -> Iterator[Lever]:
    """Levers whose effect follows from the noise alone."""
    if noise.gaussian or not figures or max(figures, key=lambda f: GRADES.index(f.grade)).grade == USABLE:
        return
    error, parts = _error(figures), query.split()
    if len(parts) > 1:
        times = 1 / float(min(share for _, share in parts))
        yield Lever("ask one question alone", "", error / times, times, "the others are not answered")
    if any(isinstance(part, Transitions) for part, _ in parts):
        times = 2.0 if any(isinstance(p, Transitions) and p.sensitivity == 4 for p, _ in parts) else 1.0
        yield Lever("count states instead of steps", "--query histogram", error / times, times, "no steps go out")


def _error(figures: Sequence[Figures]) -> float:
    """The largest average error of the numbers; of rankings alone, their loss."""
    numbers = [figure.error for figure in figures if figure.kind == STATISTIC]
    return float(max(numbers or [figure.loss for figure in figures]))


def _start(chain: object, kernel: Floats) -> Floats:
    """The law of the first entry; of a chain without one, what it settles at."""
    if isinstance(chain, MarkovChain) and not chain.free:
        return chain.marginal(1)
    law = np.full(len(kernel), 1 / len(kernel))
    for _ in range(_STEADY):
        law = law @ (kernel + np.eye(len(kernel))) / 2  # half of the time it stays, so that nothing oscillates
    return law


# The expected error of a question about sequences, worked out on reference sequences only.
#
# Numbers have closed forms: lattice Laplace noise of rate r steps is 1 / sinh(r) large on average, and the rate is
# epsilon / S for the sensitivity S. Of the k most frequent states the loss is sum over ranks of |count of the state
# reported - count of the true one|: simulated on the counts of the reference, which stand in for the private ones, with
# doubles, a few thousand fresh draws. These are estimates for planning, never guarantees.


SPLIT = "split"
"""Epsilon split over the counts, as if each of them cost by itself: the baseline of Bai et al., section 7."""
_DRAWS, _LEAST_DRAWS, _MOST_GROUPS = 4000, 200, 60
Entries = tuple[tuple[int | Fraction, ...], ...]
"""Reference sequences as a domain read them, one item for each user."""
Floats = NDArray[np.float64]
Ranker = Callable[[Floats, int, float, np.random.Generator, int], NDArray[np.intp]]


def grouped_users(data: Entries, users: int | None) -> list[Entries]:
    """The reference in groups of so many users, as a table to be released has them; all of them if None."""
    if users is None:
        return [data]
    if users < 1 or users > len(data):
        raise UsageError(f"--users must be in 1 .. {len(data)}, the number of users of the reference, got {users}")
    whole = [data[k : k + users] for k in range(0, len(data) - users + 1, users)]
    return whole[:_MOST_GROUPS]


def expected_error(query: SequenceQuery, epsilon: float, way: str, groups: Sequence[Entries]) -> float:
    """The expected absolute error of one number, or the expected loss of a ranking.

    Parameters: `query`; `epsilon` for each entry; `way`: how it is answered, a method of `TopK`, "laplace" for one
    vector, or `SPLIT`; `groups`: reference sequences as the query's domain read them, one item for each table."""
    if isinstance(query, TopK):
        m, rng = len(query.domain), np.random.Generator(np.random.PCG64())
        counted = [np.bincount([int(c) for user in group for c in user], minlength=m).astype(float) for group in groups]
        scale = {"laplace": 2.0, SPLIT: float(m)}.get(way, 2.0 * query.rounds) / epsilon
        draws, rank = max(_LEAST_DRAWS, _DRAWS // len(groups)), _RANKERS[way]
        return float(np.mean([_loss(counts, rank(counts, query.k, scale, rng, draws)) for counts in counted]))
    if not isinstance(query, Count | Histogram | Transitions | Sum | Mean):
        raise UsageError(f"no expected error is known for {query.name}")
    if way == SPLIT and query.labels is not None:
        return average_size(epsilon / len(query.labels))
    step = float(query.grid)
    over = sum(sum(map(len, group)) for group in groups) / len(groups) if isinstance(query, Mean) else 1
    return step * average_size(epsilon * step / float(query.sensitivity)) / over


def ranked(query: TopK, counts: Floats, scale: float, gaussian: bool) -> tuple[float, float]:
    """(expected loss, how often the most frequent state comes first) of a ranking of these counts: the same draws for
    the same numbers. `scale`: of the noise, epsilon over what one entry moves, or the standard deviation."""
    rng = np.random.Generator(np.random.PCG64(0))
    rank = _NORMAL if gaussian else _RANKERS[query.way]
    draws = rank(counts, query.k, scale * (1 if gaussian or query.way == "laplace" else query.rounds), rng, _DRAWS)
    return _loss(counts, draws), float(np.mean(counts[draws[:, 0]] == counts.max()))


def _loss(counts: Floats, ranked: NDArray[np.intp]) -> float:
    """The mean over simulated rankings, one in each row, of sum |count of the reported - count of the true state|."""
    truth = np.sort(counts)[::-1][: ranked.shape[1]]
    return float(np.abs(counts[ranked] - truth).sum(axis=1).mean())


def _noised(noise: Callable[[np.random.Generator, tuple[int, int]], Floats]) -> Ranker:
    def rank(counts: Floats, k: int, scale: float, rng: np.random.Generator, draws: int) -> NDArray[np.intp]:
        return np.argsort(-(counts + scale * noise(rng, (draws, len(counts)))), axis=1, kind="stable")[:, :k]

    return rank


def _peeled(counts: Floats, k: int, scale: float, rng: np.random.Generator, draws: int) -> NDArray[np.intp]:
    """Permute-and-flip, which has the law of the largest after exponential noise, drawn anew in each round."""
    taken, rows = np.zeros((draws, k), dtype=np.intp), np.arange(draws)
    left = np.tile(counts, (draws, 1))
    for place in range(k):
        taken[:, place] = np.argmax(left + scale * rng.exponential(size=left.shape), axis=1)
        left[rows, taken[:, place]] = -np.inf
    return taken


_LAPLACE = _noised(lambda rng, shape: rng.laplace(size=shape))
_NORMAL = _noised(lambda rng, shape: rng.normal(size=shape))
_GUMBEL = _noised(lambda rng, shape: rng.gumbel(size=shape))
_RANKERS: dict[str, Ranker] = {
    "laplace": _LAPLACE, SPLIT: _LAPLACE, "exponential": _GUMBEL, "gumbel": _GUMBEL, "permute-and-flip": _peeled,
}  # fmt: skip
