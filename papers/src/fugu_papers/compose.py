"""When releases compose: the corrected necessary condition of Bai et al., Theorem 4, on exact tables of mechanisms;
the parallel composition of Pierquin et al., Proposition E.1."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from flint import arb

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import checked, joined
from fugu.numbers import balls
from fugu.numbers.exact import as_fraction, meant_up

# When releases compose: the necessary condition of Bai et al., Theorem 4, corrected, and why it also suffices.
#
# A mechanism with finitely many datasets and outputs is a table P(w | D). Fix one prior and secrets s1, s2; let D have
# positive probability given s1, and let q(l) = P(D_l | s2). The condition for D asks for a probability vector beta on
# the support of q with
#
#     log P(w | D) <= eps + sum_l beta_l log P(w | D_l)    for every output w of every mechanism, one beta for all.
#     (1)
#
# - Necessary: if any number of runs, repetitions included, costs at most eps each, then (1) holds for every such D.
# - Sufficient up to a constant (weighted means: sum_l q_l x_l >= e^-KL(beta || q) prod_l x_l^beta_l): after r_j runs of
#   mechanism j, chosen adaptively or not,
#       log P(outputs | s1) / P(outputs | s2) <= max_D [ sum_j r_j eps_j + KL(beta || q) ].
#   So the least eps is exactly the leakage per run in the long run. Epsilons of separate programs do not add: beta is
#   common to all mechanisms.
#
# A linear program proposes beta; the eps stated is recomputed from the rational beta in balls: the solver is not
# trusted.
#
# Proofs: docs/proofs/composition.md#the-condition, docs/proofs/composition.md#it-also-suffices and
# docs/proofs/composition.md#post-processing.


_BITS = 128
_DROP = 1e-11


@dataclass(frozen=True)
class Weighting:
    """One dataset D of s1: its beta, what each mechanism costs per run under it, and KL(beta || q), all from above."""

    dataset: int
    beta: Law
    costs: tuple[float, ...]
    offset: float
    lower: float

    @property
    def epsilon(self) -> float:
        """The largest cost of one run."""
        return max(self.costs)


@dataclass(frozen=True)
class Composition:
    """What repeated runs cost: `epsilon` per run in the long run (between `lower` and itself), inf if they collapse."""

    weightings: tuple[Weighting, ...]

    @property
    def epsilon(self) -> float:
        """A proved upper bound of the least eps for which the condition holds: the leakage per run in the long run."""
        return max(p.epsilon for p in self.weightings)

    @property
    def lower(self) -> float:
        """A proved lower bound of it: with any smaller eps, enough runs leak more than eps each."""
        return max(p.lower for p in self.weightings)

    @property
    def collapses(self) -> bool:
        """No finite epsilon: repeated runs reveal the secret."""
        return math.isinf(self.epsilon)

    def after(self, runs: Sequence[int] | int) -> float:
        """A proved bound of the leakage of that many runs (of each mechanism, if a list), in every order of choice."""
        counts = [runs] * len(self.weightings[0].costs) if isinstance(runs, int) else list(runs)
        if len(counts) != len(self.weightings[0].costs) or any(not isinstance(r, int) or r < 0 for r in counts):
            raise UsageError(f"runs must be a whole number >= 0, or {len(self.weightings[0].costs)} of them")
        if not any(counts):
            return 0.0
        if any(math.isinf(c) for p in self.weightings for c, r in zip(p.costs, counts, strict=True) if r):
            return math.inf
        with balls.precision(_BITS):
            totals = [
                sum((arb(r) * arb(c) for c, r in zip(p.costs, counts, strict=True) if r), arb(p.offset))
                for p in self.weightings
            ]
            return meant_up(max(balls.upper(t) for t in totals))


def necessary(mechanisms: Sequence[Any], first: Any, second: Any) -> Composition:
    """The condition for the ordered pair (s1, s2) and all mechanisms together (Theorem 4, corrected).

    `mechanisms`: tables with a row per dataset and a column per output. `first`, `second`: the laws of the dataset
    given s1 and given s2. Only datasets of positive probability count: at others the condition need not hold.

    >>> flip = [[0.75, 0.25], [0.25, 0.75]]
    >>> round(necessary([flip], [1, 0], [0, 1]).epsilon, 9)  # log 3
    1.098612289
    """
    channels = [read_channel(m) for m in mechanisms]
    p, q = read_law(first, "first"), read_law(second, "second")
    check(channels, p, q)
    return Composition(tuple(_weighting(channels, d, q) for d, mass in enumerate(p) if mass > 0))


def composition(mechanisms: Sequence[Any], first: Any, second: Any) -> Composition:
    """The condition in both orders: what protects the pair."""
    forward, back = necessary(mechanisms, first, second), necessary(mechanisms, second, first)
    return Composition(forward.weightings + back.weightings)


def constraint(mechanism: Any, dataset: int, beta: Any) -> float:
    """max_w [log P(w | D) - sum_l beta_l log P(w | D_l)], from above: the least eps of one constraint (1).

    Every such constraint survives post-processing: p -> prod_l p_l^beta_l is homogeneous and concave, hence
    superadditive, so for a channel A: sum_w A(z|w) P(w|D) <= e^eps sum_w prod_l (A(z|w) P(w|D_l))^beta_l, which is at
    most e^eps prod_l (sum_w A(z|w) P(w|D_l))^beta_l. The second half of Theorem 5, which says that a beta with two
    positive entries does not survive, is false as printed.

    >>> constraint([[0.5, 0.5], [0.5, 0.5]], 0, [0, 1])
    0.0
    """
    return _costs([read_channel(mechanism)], dataset, read_law(beta, "beta"))[0]


def _weighting(channels: Sequence[Channel], dataset: int, q: Law) -> Weighting:
    """The least eps for one D, by the linear program min x, x >= sum_l beta_l W[l, w], checked outside the solver."""
    allowed = [
        d
        for d, mass in enumerate(q)
        if mass > 0 and all(row[d][w] > 0 for row in channels for w, here in enumerate(row[dataset]) if here > 0)
    ]
    if not allowed:
        return Weighting(dataset, q, (math.inf,) * len(channels), math.inf, math.inf)
    outputs = [(j, w) for j, rows in enumerate(channels) for w, here in enumerate(rows[dataset]) if here > 0]
    weights = np.array([[_log_ratio(channels[j][dataset][w], channels[j][d][w]) for j, w in outputs] for d in allowed])
    beta_floats, alpha_floats = _solve(weights)
    small = _simplex(beta_floats)
    beta = [Fraction(0)] * len(q)
    for d, value in zip(allowed, small, strict=True):
        beta[d] = value
    alpha = _simplex(alpha_floats)
    with balls.precision(_BITS):
        kl = sum((balls.of(b) * balls.of(b / q[d]).log() for d, b in enumerate(beta) if b > 0), arb(0))
        values = [
            sum(
                (
                    balls.of(a) * balls.of(channels[j][dataset][w] / channels[j][d][w]).log()
                    for a, (j, w) in zip(alpha, outputs, strict=True)
                    if a > 0
                ),
                arb(0),
            )
            for d in allowed
        ]
        lower = max(0.0, min(balls.lower(v) for v in values))
        offset = max(0.0, meant_up(balls.upper(kl)))
    return Weighting(dataset, tuple(beta), _costs(channels, dataset, tuple(beta)), offset, lower)


def _costs(channels: Sequence[Channel], dataset: int, beta: Law) -> tuple[float, ...]:
    """For each mechanism, max over its outputs of the log-ratio, from the rational beta in balls, rounded up."""
    found = []
    with balls.precision(_BITS):
        for rows in channels:
            worst = 0.0  # the average over w of the log-ratio is a Kullback-Leibler divergence or more, so >= 0
            for w, here in enumerate(rows[dataset]):
                used = [(b, rows[d][w]) for d, b in enumerate(beta) if b > 0]
                if here > 0 and any(there == 0 for _, there in used):
                    worst = math.inf
                elif here > 0 and any(there != here for _, there in used):
                    total = sum((balls.of(b) * balls.of(here / there).log() for b, there in used), arb(0))
                    worst = max(worst, meant_up(balls.upper(total)))
            found.append(worst)
    return tuple(found)


def _log_ratio(a: Fraction, b: Fraction) -> float:
    with balls.precision(_BITS):
        return float(balls.of(a / b).log().mid())


def _simplex(floats: Any) -> list[Fraction]:
    """A rational probability vector near the floats: tiny and negative entries dropped, the rest normalised."""
    kept = [Fraction(float(x)).limit_denominator(10**15) if x > _DROP else Fraction(0) for x in floats]
    total = sum(kept, Fraction(0))
    return [x / total for x in kept] if total else [Fraction(1, len(kept))] * len(kept)


def _solve(weights: Any) -> tuple[Any, Any]:
    """beta (per dataset) and alpha (per output) from the linear program; uniform ones if the solver gives up."""
    from scipy.optimize import linprog

    datasets, outputs = weights.shape
    found = linprog(
        np.r_[np.zeros(datasets), 1.0],
        A_ub=np.c_[weights.T, -np.ones(outputs)],
        b_ub=np.zeros(outputs),
        A_eq=np.r_[np.ones(datasets), 0.0][None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * datasets + [(None, None)],
        method="highs",
    )
    if found.x is None:
        return np.ones(datasets), np.ones(outputs)
    return found.x[:-1], -np.asarray(found.ineqlin.marginals)


# Finite mechanisms as exact tables P(output | dataset): reading, post-processing, and the leakage of several runs.
#
# What it is for: docs/proofs/composition.md#the-condition.


Law = tuple[Fraction, ...]
Channel = tuple[Law, ...]
_MOST_OUTPUTS = 200_000
_TOLERANCE = Fraction(1, 10**9)


def read_law(given: Any, name: str = "a law") -> Law:
    """Probabilities as the decimals they stand for, summing to one within 1e-9, divided by their exact sum."""
    try:
        found = tuple(as_fraction(x) for x in given)
    except (TypeError, ValueError):
        raise BadLaw(f"{name} must be a list of probabilities") from None
    total = sum(found, Fraction(0))
    if not found or min(found) < 0 or abs(total - 1) > _TOLERANCE:
        raise BadLaw(f"{name} must be numbers >= 0 that sum to one")
    return tuple(x / total for x in found)


def read_channel(given: Any) -> Channel:
    """A row per dataset, a column per output."""
    try:
        rows = tuple(read_law(row, "each row of a mechanism") for row in given)
    except TypeError:
        raise BadLaw("a mechanism is a table: a row per dataset, a column per output") from None
    if not rows or len({len(row) for row in rows}) != 1:
        raise BadLaw("all rows of a mechanism need the same outputs")
    return rows


def check(channels: Sequence[Channel], first: Law, second: Law) -> None:
    """One dataset per row everywhere, and no dataset that carries both secrets."""
    if not channels or {len(c) for c in channels} != {len(first)} or len(first) != len(second):
        raise UsageError("every mechanism needs one row per dataset, and both laws one entry per dataset")
    if any(a > 0 and b > 0 for a, b in zip(first, second, strict=True)):
        raise UsageError("a dataset is possible under both secrets; secrets must be functions of the dataset")


def processed(mechanism: Any, after: Any) -> Channel:
    """The mechanism followed by a channel A(z | w): rows of `after` are the outputs of the mechanism."""
    rows, then = read_channel(mechanism), read_channel(after)
    if len(rows[0]) != len(then):
        raise UsageError(f"the post-processing needs a row for each of the {len(rows[0])} outputs")
    columns = tuple(zip(*then, strict=True))
    return tuple(tuple(_dot(row, column) for column in columns) for row in rows)


def _dot(a: Law, b: Law) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def joint_leakage(mechanisms: Sequence[Any], first: Any, second: Any, runs: Sequence[int]) -> float:
    """max over all outputs of the runs of log P(outputs | s1) / P(outputs | s2), by enumeration; from above.

    +inf if some outputs are possible under s1 alone.

    >>> joint_leakage([[[0.5, 0.5], [0.5, 0.5]]], [1, 0], [0, 1], [3])
    0.0
    """
    channels = [read_channel(m) for m in mechanisms]
    p, q = read_law(first, "first"), read_law(second, "second")
    check(channels, p, q)
    if len(runs) != len(channels):
        raise UsageError("runs needs one number per mechanism")
    if math.prod(math.comb(r + len(c[0]) - 1, r) for r, c in zip(runs, channels, strict=True)) > _MOST_OUTPUTS:
        raise UsageError("too many combinations of outputs to enumerate; ask for fewer runs")
    worst = Fraction(1)
    for chances in _outputs(channels, runs):
        a, b = _dot(p, chances), _dot(q, chances)
        if a > 0 and b == 0:
            return math.inf
        if a > 0:
            worst = max(worst, a / b)
    return log_up(worst)


def _outputs(channels: Sequence[Channel], runs: Sequence[int]) -> Iterator[Law]:
    """For every multiset of outputs, its probability under each dataset (up to the number of orders)."""
    options = [combinations_with_replacement(range(len(c[0])), r) for c, r in zip(channels, runs, strict=True)]
    for chosen in product(*options):
        yield tuple(
            math.prod((c[d][w] for c, ws in zip(channels, chosen, strict=True) for w in ws), start=Fraction(1))
            for d in range(len(channels[0]))
        )


@lru_cache(maxsize=1024)
def log_up(ratio: Fraction) -> float:
    """A float at or above ln(ratio) for a ratio >= 1; 0 for 1."""
    if ratio == 1:
        return 0.0
    with balls.precision(_BITS):
        return meant_up(balls.upper(balls.of(ratio).log()))


def parallel(
    *guarantees: Guarantee | Mapping[Hashable, Guarantee], pairs: Iterable[tuple[Hashable, Hashable]] | None = None
) -> Guarantee:
    """The guarantee of publishing every block, for pairs of secrets about one block: the largest one.

    Pierquin, Bellet, Tommasi and Boussard 2024, Proposition E.1: given a secret of block k the published laws are
    products whose factors outside k are the same on both sides, and such factors change nothing,
    D_a(P x R || Q x R) = D_a(P || Q), sup_S (P x R)(S) - e^e (Q x R)(S) = sup_S P(S) - e^e Q(S): the largest guarantee
    of the blocks holds. A pair across two blocks changes two factors and is refused.

    The caller states that the blocks are independent under every belief, that a secret of one block says nothing about
    the others, and that each mechanism tosses its own coins. `pairs` names the block of each of the two secrets.

    >>> from fugu import Pure
    >>> parallel(Pure(0.5), Pure(1))
    Pure(epsilon=1)
    >>> parallel({"north": Pure(0.5), "south": Pure(1)}, pairs=[("north", "south")])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    fugu.errors.NotProvable: a pair of secrets names two blocks, 'north' and 'south': both published laws change, ...
    """
    if len(guarantees) == 1 and isinstance(guarantees[0], Mapping):
        blocks: dict[Hashable, Guarantee] = dict(guarantees[0])
    else:
        blocks = dict(enumerate(checked(guarantees)))
    for one, two in pairs or ():
        for block in (one, two):
            if block not in blocks:
                raise UsageError(f"no block {block!r}; the blocks are {', '.join(map(repr, blocks))}")
        if one != two:
            raise NotProvable(
                f"a pair of secrets names two blocks, {one!r} and {two!r}: both published laws change, and the largest "
                "guarantee does not cover that; use independent() for such pairs"
            )
    return joined(checked(blocks.values()), max, max)
