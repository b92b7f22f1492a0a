"""Records that move with a secret one: sequences that forget, and jointly normal records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb

from fugu.errors import UsageError
from fugu.guarantee.asks import plain
from fugu.numbers import balls
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, as_fraction, float_up, read_number
from fugu.priors.chain import ChainSet, MarkovChain
from fugu.priors.coupling import Case, Coupled, Move, Price, Run, positions
from fugu.priors.gaussian_field import GaussianField
from fugu.priors.prior import whole
from fugu.priors.transitions import UNIT, Array, Mask, Product, largest
from fugu.visible import Json

# Sequences that forget: when one record changes, the others change only within a random window around it.
#
# Two beliefs, by what is known. `Chained`: a chain, or a set of them, is known; it adds to `MarkovChain` only how
# records move. `Mixing`: only that neighbours agree in total variation but for a coefficient, in both directions of
# time. (That every step has a bounded projective diameter bounds ratios of probabilities and translates per-entry
# privacy, which a bound in total variation cannot: `prior.contracting_curve`.)
#
# Given the secret record the past and the future are independent. By the maximal agreement coupling (Griffeath 1975,
# Goldstein 1979) the two futures differ at distance k or farther with probability exactly the total variation of the
# laws of what comes from distance k on; for a chain, of the two states at distance k. The same for the two pasts.
# Inside the window the records may be anything.
#
# Proofs: docs/proofs/influence.md#contracting-chains, docs/proofs/iterations.md#7-data-that-forgets.

_SINGLE, _RATIO, _SAME, _LONG = 12, 1.5, 64, 12_000


class Windowed(Coupled):
    """Records that change within a window."""

    def reach(self, forward: bool, k: int) -> float:
        """A bound of the chance that the window reaches k records far, ahead or behind."""
        raise NotImplementedError

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        last = run.records - 1
        places = 20 if run.later_is_worse else run.records
        long = places * (40 + run.steps / 20) > _LONG  # roughly the microseconds of one pair of reaches
        later, earlier = (_buckets(partial(self.reach, forward), last, long) for forward in (True, False))
        reaches = [(k, j) for k, _ in later for j, _ in earlier]
        chances = np.array([p * q * (1 + 4 * UNIT) for _, p in later for _, q in earlier])

        def around(r: int, inside: bool) -> Case:
            centre = last - r

            def move(number: int) -> Move:
                ahead, behind = reaches[number]
                end = min(centre + ahead, last)
                start = centre - behind if inside else end - ahead - behind
                where = np.arange(max(0, start), end + 1)
                return Move(where, np.full(where.size, np.inf))

            return Case(chances, move)

        # the rest: a window that would reach beyond the end is moved back until it ends there, and loses nothing
        return positions(run, lambda r: around(r, True), lambda r: around(r, False), weigh, 1 if long else 16)


def _buckets(survival: Callable[[int], float], most: int, long: bool) -> list[tuple[int, float]]:
    """(reach, chance): all small reaches, then wider and wider buckets counted as their largest reach.

    For very long runs they are fewer and wider: each pair of them is an allocation of all steps."""
    single, ratio = (3, 4.0) if long else (_SINGLE, _RATIO)
    grid = [0]
    while grid[-1] < most:
        grid.append(min(most, grid[-1] + 1 if grid[-1] < single else int(grid[-1] * ratio) + 1))
    beyond = [1.0, *(min(1.0, survival(k + 1)) if k < most else 0.0 for k in grid)]
    chances = [p - q + 4 * UNIT * p for p, q in zip(beyond, np.minimum.accumulate(beyond)[1:].tolist(), strict=False)]
    return [(k, p) for k, p in zip(grid, chances, strict=True) if p > 0]


@dataclass(frozen=True)
class Mixing(Windowed):
    """A Markov sequence of records of any kind: whatever one record is, the laws of the next one differ by at most
    `coefficient`, a number in [0, 1), in total variation, and so do those of the one before. Raises `UsageError` for
    others."""

    coefficient: Real
    kind = "mixing"

    @classmethod
    def example(cls) -> Mixing:
        return cls(Fraction(3, 10))

    def __post_init__(self) -> None:
        if not is_number(self.coefficient) or not 0 <= self.coefficient < 1:
            raise UsageError(f"a mixing coefficient must lie in [0, 1), got {self.coefficient!r}")

    def reach(self, forward: bool, k: int) -> float:  # noqa: ARG002
        return float_up(as_fraction(self.coefficient)) ** k * (1 + (8 + k) * UNIT) + 5e-324

    def words(self) -> str:
        return (
            "the records are a Markov sequence: whatever one record is, the laws of the next differ by at most "
            f"{plain(as_fraction(self.coefficient))} in total variation, and so do those of the one before"
        )


class Chained(Windowed):
    """Records that depend on each other only through a state, which is a Markov chain (or one of several)."""

    kind = "chains"
    chain: MarkovChain | ChainSet
    _known: dict[tuple[bool, int], float]

    def __init__(self, chain: MarkovChain | ChainSet) -> None:
        vars(self).update(chain=chain, _known={})

    def __repr__(self) -> str:
        return f"Chained({self.chain!r})"

    @classmethod
    def example(cls) -> Chained:
        return cls(MarkovChain.example())

    @classmethod
    def of(cls, chains: list[dict[str, Any]]) -> Chained:
        read = [MarkovChain(**chain) for chain in chains]
        return cls(read[0] if len(read) == 1 else ChainSet(read))

    @property
    def entries(self) -> int:
        """As many as the chain has."""
        return self.chain.length

    @property
    def skipped(self) -> tuple[str, ...]:
        """The states that an entry never takes."""
        return self.chain.skipped

    @property
    def provenance(self) -> tuple[str, ...]:
        """What the chain takes for granted, such as what it was fitted on."""
        return self.chain.assumptions

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        if self.chain.length != run.records:
            raise UsageError(
                f"the chain has length {self.chain.length}, there are {run.records} records; make them agree"
            )
        return super().weigh(run, weigh)

    def reach(self, forward: bool, k: int) -> float:
        """The largest total variation of the states k apart; from some distance on by products, eta_{j+k} <= eta_j
        eta_k: 64 steps, or 8 if the steps of the chain differ, where each distance takes a sweep over the sequence."""
        if k > (_SAME if all(chain.homogeneous for chain in self.chain.chains) else _SAME // 8):
            return self.reach(forward, k // 2) * self.reach(forward, k - k // 2) * (1 + 2 * UNIT) + 5e-324
        if (forward, k) not in self._known:
            measure = forward_coefficient if forward else backward_coefficient
            self._known[forward, k] = min(1.0, measure(self.chain, k))
        return self._known[forward, k]

    def words(self) -> str:
        told = f"the records depend on each other only through a state that follows {self.chain!r}"
        never = self.skipped
        return f"{told}; not protected, as they are never taken: {', '.join(never)}" if never else told

    def parameters(self) -> Json:
        found = []
        for chain in self.chain.chains:
            kernels = [chain.transition(t).tolist() for t in range(1, 2 if chain.homogeneous else chain.length)]
            plain = all(isinstance(state, str | int) for state in chain.states)
            named = plain and chain.states != tuple(range(chain.size))
            begins = "any" if chain.free else "stationary" if chain.stationary else chain.marginal(1).tolist()
            found.append(
                {
                    **({"states": list(chain.states)} if named else {}),
                    "transition": kernels[0] if chain.homogeneous else kernels,
                    "initial": begins,
                    "length": chain.length,
                }
            )
        return {"kind": self.kind, "chains": found}


# How fast chains forget: Dobrushin and Birkhoff coefficients, rounded up, over every position and every prior.
#
# Proofs: docs/proofs/contraction.md#coefficients.

_BITS = 96


def forward_coefficient(prior: MarkovChain | ChainSet, steps: int = 1) -> float:
    """eta_d: the largest Dobrushin coefficient of d consecutive kernels, over every position and every prior.

    Rows of states that the entry never takes are left out. 0 if the sequence has no d steps.
    """
    return max((variation(kernel, rows) for _, kernel, rows in _stretches(prior, steps)), default=0.0)


def backward_coefficient(prior: MarkovChain | ChainSet, steps: int = 1) -> float:
    """The same for the true backward kernels of the given start: P(X_{t-d} = z | X_t = x), the largest over t.

    Not the coefficient of the stationary reversal: P = [[.9, .1], [.99, .01]] started at (.25, .75) has .537, the
    reversal .09. If the chain covers every start, tanh(Delta / 4), which bounds it for each.

    >>> chain = MarkovChain([[0.9, 0.1], [0.99, 0.01]], length=5, initial=[0.25, 0.75])
    >>> round(backward_coefficient(chain), 3)
    0.537
    """
    if not isinstance(prior, (MarkovChain, ChainSet)):
        raise UsageError(f"expected a MarkovChain or a ChainSet, got {type(prior).__name__}")
    found = [0.0]
    for chain in prior.chains:
        if chain.free:
            found.append(free_start_coefficient(chain, steps))
        else:
            logs, errors = chain.log_marginals
            for t, power, _ in _stretches(chain, steps):
                # P(X_t = z | X_later = x) = mu_t(z) K(z, x) / mu_later(x), later = t + steps, in row x, in logarithms
                first, last = (0, 0) if chain.stationary else (t - 1, t + steps - 1)
                rows = chain.supports[last]
                end = np.where(rows, logs[last], 0.0)
                kernel = (logs[first][:, None] + power.logs - end[None, :]).T
                most = largest(logs[first]) + largest(power.logs) + largest(end)
                error = float(errors[first] + errors[last]) + power.error + 8 * UNIT * most
                found.append(variation(Product(kernel, kernel > -np.inf, error), rows))
    return max(found)


def free_start_coefficient(prior: MarkovChain | ChainSet, steps: int = 1) -> float:
    """tanh(Delta / 4) of d consecutive kernels, the largest over positions: the backward coefficient for any start."""
    found = (tanh_quarter(diameter_of(kernel.ratios())) for _, kernel, _ in _stretches(prior, steps, everywhere=True))
    return max(found, default=0.0)


def _stretches(
    prior: MarkovChain | ChainSet, steps: int, everywhere: bool = False
) -> Iterator[tuple[int, Product, Mask]]:
    """Every distinct stretch of `steps` kernels: the entry it begins at, their product, and its live rows."""
    if not isinstance(prior, (MarkovChain, ChainSet)):
        raise UsageError(f"expected a MarkovChain or a ChainSet, got {type(prior).__name__}")
    steps = whole(steps, "steps")
    for chain in prior.chains:
        starts = range(1, chain.length - steps + 1)
        same = chain.stationary or (everywhere and chain.homogeneous)
        power: Product | None = None
        for t in starts[:1] if same else starts:
            if power is None or not chain.homogeneous:
                power = chain.step(t)
                for later in range(t + 1, t + steps):
                    power = power.then(chain.step(later))
            rows = np.ones(chain.size, dtype=bool) if everywhere else chain.supports[0 if chain.stationary else t - 1]
            yield t, power, rows


def variation(kernel: Product, rows: Mask | None = None) -> float:
    """max over live rows of sum_y max(0, K(x, y) - K(x', y)), rounded up: entries are off by a factor e^error."""
    laws = np.exp(kernel.logs if rows is None else kernel.logs[rows])
    worst = 0.0
    for law in laws:
        worst = max(worst, float(np.maximum(law - laws, 0.0).sum(axis=1).max()))
    return float(min(1.0, worst + 2.02 * math.expm1(kernel.error) + 8 * UNIT * (laws.shape[1] + 8)))


def diameter_of(ratios: Array) -> float:
    return max(0.0, float(np.nextafter((ratios + ratios.T).max(), np.inf)))


def tanh_quarter(diameter: float) -> float:
    if math.isinf(diameter):
        return 1.0
    with balls.precision(_BITS):
        return min(1.0, balls.upper((arb(diameter) / 4).tanh()))


# If the records are jointly normal, then given X_i = a and X_i = b their laws differ by the fixed vector
# Cov(X, X_i) Var(X_i)^{-1} (b - a), so X' = X + that vector couples the two, and every record j moves by exactly
# |Cov(X_j, X_i)| / Var(X_i) |b - a|. Functions of a record that do not stretch distances (clipping) keep this bound.
#
# `AR1` is a stationary sequence of any length, of which the correlation of neighbours is known; `Correlated` is a
# `GaussianField`, one entry a record, with secrets that are a bounded distance apart. `TruncatedAR1` is another belief:
# it conditions on every entry lying in a box, which changes the law, and then pure epsilon exists.
#
# Proofs: docs/proofs/iterations.md#6-gaussian-data.


@dataclass(frozen=True)
class AR1(Coupled):
    """Normal records in time, whose correlation falls geometrically: stationary, with correlation `rho`^|i-j|, -1 <
    rho < 1; two secret values of one record are at most `distance` > 0 apart. Vectors: the same correlation in time
    for all coordinates, Cov(X_i, X_j) = rho^|i-j| S, norm l2."""

    rho: Real
    distance: Real = 1
    kind = "ar1"

    def __post_init__(self) -> None:
        if not is_number(self.rho) or not -1 < self.rho < 1:
            raise UsageError(
                f"rho, the correlation of neighbours, must lie strictly between -1 and 1, got {self.rho!r}"
            )
        _check_distance(self.distance)

    @classmethod
    def example(cls) -> AR1:
        return cls(Fraction(3, 10))

    def field(self, records: int) -> GaussianField:
        """The same law of that many `records`, with variance 1, entry by entry and exact."""
        return GaussianField.ar1(records, self.rho)

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        records = run.records
        rho, distance = abs(as_fraction(self.rho)), float_up(as_fraction(self.distance))
        with np.errstate(under="ignore", over="ignore"):  # how far records 0, 1, 2, ... away move, from above
            moved = distance * float_up(rho) ** np.arange(records) * (1 + (8 + np.arange(records)) * UNIT)
            moved = np.asarray(moved + (5e-324 if rho else 0.0))

        def near(r: int) -> Case:
            return Case.sure(np.arange(records), moved[np.abs(np.arange(records) - (records - 1 - r))])

        def rest(r: int) -> Case:  # two-sided around record n - 1 - r, what lies beyond the end gathered at the last
            apart = np.arange(-(records - 1 - r), records)
            return Case.sure(np.minimum(records - 1 - r + apart, records - 1), moved[np.abs(apart)])

        return positions(run, near, rest, weigh)

    def words(self) -> str:
        rho, distance = (plain(as_fraction(x)) for x in (self.rho, self.distance))
        return (
            f"the records are jointly normal with correlation {rho}^|i-j| between records i and j, the same for all "
            f"their coordinates; two values of a record are at most {distance} apart"
        )


class Correlated(Coupled):
    """Normal records with any covariance.

    `field`: a `GaussianField`, one entry per record; `distance`: how far apart two secret values of one record are at
    most, a finite number above 0. Raises `UsageError` for others."""

    kind = "correlated"
    field: GaussianField
    distance: Real

    def __init__(self, field: GaussianField, distance: Real = 1) -> None:
        if not isinstance(field, GaussianField):
            raise UsageError("give a fugu.GaussianField, one entry per record")
        _check_distance(distance)
        vars(self).update(field=field, distance=distance)

    def __repr__(self) -> str:
        return f"Correlated({self.field.size} records, distance {plain(as_fraction(self.distance))})"

    @classmethod
    def example(cls) -> Correlated:
        return cls(GaussianField.example(), Fraction(1, 2))

    @classmethod
    def of(cls, covariance: list[list[str]], distance: str) -> Correlated:
        return cls(GaussianField([[read_number(x) for x in row] for row in covariance]), read_number(distance))

    @property
    def entries(self) -> int:
        """One for each row of the covariance."""
        return self.field.size

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        records = run.records
        if self.field.size != records:
            raise UsageError(f"the field has {self.field.size} entries for {records} records; give one for each")
        distance, found = as_fraction(self.distance), []
        for i, row in enumerate(self.field.covariance):
            moved = [float_up(abs(x) / row[i] * distance) for x in row]
            found.append(weigh(Case.sure(np.arange(records), moved)))
        return found

    def words(self) -> str:
        return (
            f"the {self.field.size} records are jointly normal with the stated covariance; two values of a record are "
            f"at most {plain(as_fraction(self.distance))} apart"
        )

    def parameters(self) -> Json:
        covariance = [[str(x) for x in row] for row in self.field.covariance]
        return {"kind": self.kind, "covariance": covariance, "distance": str(as_fraction(self.distance))}


def _check_distance(distance: Any) -> None:
    if not is_number(distance) or not 0 < distance < math.inf:
        raise UsageError("distance, between two values of one record, must be a finite number above 0")
