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
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.documents.reading import reading
from fugu.errors import FuguError, UsageError
from fugu.guarantee import Guarantee, Pure
from fugu.guarantee.asks import exact
from fugu.numbers.exact import read_number
from fugu.priors.chain import GapChains, MarkovChain
from fugu.queries.entry_noise import EntryNoise
from fugu.queries.sequence_certificate import THE_TABLE, SequenceCertificate, is_users_own
from fugu.queries.sequence_prior import Chain
from fugu.queries.sequence_query import EntryMechanism, SequenceQuery
from fugu.queries.sequences import Count, Histogram, Sum, TopK, Transitions, query_from
from fugu.translation.translate import rough_budget
from fugu.utility.usable import (
    CHANCE,
    EXACT,
    GRADES,
    OWN_TABLE,
    STATISTIC,
    UNKNOWN,
    USABLE,
    Figures,
    Lever,
    Usable,
    ranking,
    statistic,
)

BASIS = "the chain that is believed"
_STEADY = 2_000
"""Steps after which a chain without a stated start is taken to have settled."""
Floats = NDArray[np.float64]


@final
class Walk:
    """What a chain expects of `entries` entries in sequences of its length."""

    def __init__(self, chain: Chain, entries: int) -> None:
        step = chain.step if isinstance(chain, GapChains) else chain
        self.kernel: Floats = step.transition(1) if isinstance(step, MarkovChain) else step.centre
        self.length, self.states, self.entries, self.users = chain.length, chain.states, entries, entries / chain.length
        m = len(self.kernel)
        self.start: Floats = np.full(m, 1 / m)
        if isinstance(step, MarkovChain) and not step.free:
            self.start = step.marginal(1)
        else:  # what it settles at: half of the time it stays, so that nothing oscillates
            for _ in range(_STEADY):
                self.start = self.start @ (self.kernel + np.eye(m)) / 2

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

    def counts(self, query: SequenceQuery) -> Floats:
        """The counts that are expected: of states, or of transitions in the order of the query's labels."""
        law, total = self.start, self.start.copy()
        for _ in range(self.length - 1):
            law = law @ self.kernel
            total += law
        shares = total / self.length  # of each state, over all entries
        if not isinstance(query, Transitions):
            return np.asarray(self.entries * shares)
        return np.asarray(((self.entries - self.users) * shares[:, None] * self.kernel).ravel())


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
    """The same for a question with its noise, with the levers whose effect follows from the noise alone. `ordinary`:
    what differential privacy would draw that promises as much for a whole sequence, without beliefs."""
    walk, parts = Walk(chain, entries), query.split()
    each = (_figure(p, noise.shared(w), walk, None if ordinary is None else ordinary.shared(w)) for p, w in parts)
    figures = [figure for figure in each if figure is not None]
    usable = Usable(tuple(figures), BASIS, why="" if figures else "the question is answered by a choice of its own")
    if noise.gaussian or not figures or max(figures, key=lambda f: GRADES.index(f.grade)).grade == USABLE:
        return usable
    error, levers = _error(figures), []
    if len(parts) > 1:
        times = 1 / float(min(share for _, share in parts))
        levers.append(Lever("ask one question alone", "", error / times, times, "the others are not answered"))
    if moved := [float(part.sensitivity) / 2 for part, _ in parts if isinstance(part, Transitions)]:
        times = max(moved)
        levers.append(
            Lever("count states instead of steps", "--query histogram", error / times, times, "no steps go out")
        )
    return usable.with_levers(tuple(levers), ())


def usable_mechanism(mechanism: EntryMechanism, chain: Chain, entries: int, budget: Guarantee) -> Usable:
    """How usable the answer of a mechanism would be. Where it would not, for a pure `budget`, with what twice the
    epsilon and half the length would do, each translated anew."""
    noise, epsilon = mechanism.noise, exact(budget.epsilon)
    if noise.gaussian:
        return judged(mechanism.query, noise, chain, entries)
    usable = judged(mechanism.query, noise, chain, entries, EntryNoise(epsilon / chain.length))
    if not isinstance(budget, Pure) or usable.grade in (EXACT, USABLE, UNKNOWN):
        return usable
    twice = f"--epsilon {float(2 * epsilon):g}"
    ways = [("twice the epsilon", twice, chain, 2 * epsilon, "odds may change by the factor squared")]
    if not isinstance(chain, GapChains) and chain.length >= 4:
        half = chain.with_length(chain.length // 2)
        ways.append(("sequences of half the length", "", half, epsilon, "they are cut before they are released"))
    levers, untried, entry = list(usable.levers), [], float(noise.amount)
    for what, option, prior, wanted, price in ways:
        try:
            times = rough_budget(prior, wanted, entry) / entry
            levers.append(Lever(what, option, _error(usable.figures) / times, times, price))
        except (FuguError, ArithmeticError) as reason:
            untried.append(f"{what}: {reason}")
    return usable.with_levers(tuple(levers), tuple(untried))


def _figure(query: SequenceQuery, noise: EntryNoise, walk: Walk, plain: EntryNoise | None) -> Figures | None:
    """The figures of one question; None for what has no numbers and is no ranking."""
    if isinstance(query, TopK):
        counts, rng = walk.counts(query), np.random.Generator(np.random.PCG64(0))  # the same draws for the same numbers
        if noise.gaussian:
            way, scale = "gaussian", math.sqrt(1 / (2 * float(query.shift.precision(noise.amount))))
        else:
            way, scale = query.way, 2 / float(noise.amount) * (1 if query.noisy else query.rounds)
        draws = _rankings(counts, query.k, way, scale, rng, _DRAWS)
        first = float(np.mean(counts[draws[:, 0]] == counts.max()))
        return ranking(query.name, _loss(counts, draws), float(np.sort(counts)[::-1][: query.k].sum()), first)
    if isinstance(query, Histogram | Transitions):
        counts = walk.counts(query)
        allowed = counts[counts > 0]
        half, error = noise.half(query, counts.size), noise.size(query)
        needed = None if plain is None else plain.half(query, counts.size)
        share = float(allowed.sum()) / allowed.size
        cells = (allowed.size, float(allowed.max()), float(counts.std()))
        return statistic(query.name, query.name, walk.entries, half, error, share, None, needed, "entries", cells)
    if isinstance(query, Count):
        weight = np.array([float(state == query.state) for state in walk.states])
    elif isinstance(query, Sum):
        low, high, missing = (float(end or 0) for end in (query.domain.low, query.domain.high, query.domain.missing))
        weight = np.clip(
            [float(x) if isinstance(x, int | float | Fraction) else missing for x in walk.states], low, high
        )
    else:
        return None
    over = query.over(walk.entries)
    unit = float(query.grid) / over  # one step of the noise in the published number
    half, error = noise.half(query) * unit, noise.size(query) * unit
    needed = None if plain is None else plain.half(query) * unit
    value, deviation = walk.moments(weight)
    chance = CHANCE * deviation / over
    return statistic(query.name, query.name, walk.entries, half, error, value / over, chance, needed, "entries")


def _error(figures: Sequence[Figures]) -> float:
    """The largest average error of the numbers; of rankings alone, their loss."""
    numbers = [figure.error for figure in figures if figure.kind == STATISTIC]
    return float(max(numbers or [figure.loss for figure in figures]))


# The expected error of a question about sequences, worked out on reference sequences only.
#
# Numbers have closed forms (`EntryNoise.size`). Of the k most frequent states the loss is sum over ranks of |count of
# the state reported - count of the true one|: simulated on the counts of the reference, which stand in for the private
# ones, with doubles, a few thousand fresh draws. These are estimates for planning, never guarantees.


SPLIT = "split"
"""Epsilon split over the counts, as if each of them cost by itself: the baseline of Bai et al., section 7."""
_DRAWS, _LEAST_DRAWS, _MOST_GROUPS = 4000, 200, 60
Entries = tuple[tuple[int | Fraction, ...], ...]
"""Reference sequences as a domain read them, one item for each user."""


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
        draws = max(_LEAST_DRAWS, _DRAWS // len(groups))
        losses = [_loss(counts, _rankings(counts, query.k, way, scale, rng, draws)) for counts in counted]
        return float(np.mean(losses))
    if not isinstance(query, Count | Histogram | Transitions | Sum):
        raise UsageError(f"no expected error is known for {query.name}")
    if way == SPLIT and query.labels is not None:
        epsilon *= float(query.sensitivity) / len(query.labels)
    entries = sum(sum(map(len, group)) for group in groups) / len(groups)
    return float(query.grid) * EntryNoise(Fraction(epsilon)).size(query) / query.over(entries)


def _loss(counts: Floats, ranked: NDArray[np.intp]) -> float:
    """The mean over simulated rankings, one in each row, of sum |count of the reported - count of the true state|."""
    truth = np.sort(counts)[::-1][: ranked.shape[1]]
    return float(np.abs(counts[ranked] - truth).sum(axis=1).mean())


def _rankings(
    counts: Floats, k: int, way: str, scale: float, rng: np.random.Generator, draws: int
) -> NDArray[np.intp]:  # fmt: skip
    """So many rankings, one in each row, by noise of this scale on the counts. Permute-and-flip has the law of the
    largest after exponential noise, drawn anew in each round."""
    shape = draws, len(counts)
    if way != "permute-and-flip":
        noise = getattr(rng, _NOISES[way])(size=shape)
        return np.argsort(-(counts + scale * noise), axis=1, kind="stable")[:, :k]
    taken, rows = np.zeros((draws, k), dtype=np.intp), np.arange(draws)
    left = np.tile(counts, (draws, 1))
    for place in range(k):
        taken[:, place] = np.argmax(left + scale * rng.exponential(size=shape), axis=1)
        left[rows, taken[:, place]] = -np.inf
    return taken


_NOISES = {"laplace": "laplace", SPLIT: "laplace", "exponential": "gumbel", "gumbel": "gumbel", "gaussian": "normal"}
