"""Descent on the exact curve: the covariance of least cost, and how much one must be enlarged to be enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance.slope import (
    CovarianceCost,
    Local,
    StandardPairs,
    distance,
    divergence,
    log_delta,
    symmetric,
)
from fugu.calibration.lattice import least_scale, short_step
from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences
from fugu.loss.search.normal import fast_normal_delta
from fugu.loss.shifts import gaussian_mu
from fugu.loss.vectors_gaussian import TAU
from fugu.noise.lattice import MAX_INDEX
from fugu.noise.matrix import CorrelatedGaussian
from fugu.numbers.exact import decimal_up

# Minimise cost(S) over S = floor I + T, T >= 0, with room_k(S) >= 0 for both orders of every pair that binds: ln(delta
# / loss), or 1 - D_alpha / epsilon. Newton's method on the log barrier cost - m (ln det T + sum ln room_k), m -> 0,
# with gradient and second derivative in closed form (`slope`). D_alpha is convex in S, so for Renyi budgets and the
# mean squared error this is the least there is; for a delta it is where descent from the start ends. What it ends at is
# enlarged until the loss is met, so a slip costs noise, never privacy.


Array = NDArray[np.float64]
_ROUNDS = 12
"""How often a pair that is not met may join those that bind."""
_NEAR = 0.95
"""Pairs that use at least this share of the budget at the start bind from the start."""
_STEPS = 150
_CLOSE = 3e-7
_SLOWER = 20.0
_SPREAD = 1e-2
_TRIM = 1e-5
"""Without a floor: eigenvalues below this share of the largest are left out where that costs next to nothing."""


def descend(start: Array, floor: float, laws: StandardPairs, ask: Ask, cost: CovarianceCost) -> Array:
    """A covariance >= floor I that meets the budget and costs no more than `start`, which does both."""
    binding = [k for k, loss in enumerate(excesses(start, laws, ask)) if loss >= _NEAR]
    best, S = start, start
    for _ in range(_ROUNDS):
        S = _central(S, floor, laws.only(binding or [0]), ask, cost)
        losses = excesses(S, laws, ask)
        with suppress(NotProvable):  # S, made enough, if it then costs less
            best = min(best, raised(S, floor, laws, ask), key=cost.value)
        worst = int(np.argmax(losses))
        if losses[worst] <= 1 + 1e-6 or worst in binding:
            break
        binding.append(worst)
    if floor:
        return best
    values, vectors = np.linalg.eigh(best)
    small = values < _TRIM * values[-1]
    if not small.any():
        return best
    # without directions of next to no noise, which only take a finer grid, if that costs as good as nothing
    flat = (vectors * np.where(small, 0.0, values)) @ vectors.T
    with suppress(NotProvable):
        found = raised((flat + flat.T) / 2, 0.0, laws, ask)
        return found if cost.value(found) <= cost.value(best) * (1 + 1e-4) else best
    return best


@dataclass(frozen=True, eq=False)
class _Point:
    """A covariance inside, the logarithm of det T, and the room of every constraint with its derivatives."""

    S: Array
    T: Array
    log_det: float
    rooms: tuple[Local, ...]

    @property
    def inside(self) -> bool:
        return math.isfinite(self.log_det) and all(room.value > 0 for room in self.rooms)

    def height(self, cost: CovarianceCost, m: float) -> float:
        """The barrier function."""
        if not self.inside:
            return math.inf
        return cost.value(self.S) - m * (self.log_det + sum(math.log(room.value) for room in self.rooms))


def _central(start: Array, floor: float, laws: StandardPairs, ask: Ask, cost: CovarianceCost) -> Array:
    """The end of the central path, or the last point from which doubles find no way on."""
    d, t = len(start), admissible(ask)

    def at(T: Array) -> _Point:
        S = floor * np.eye(d) + T
        try:
            log_det = 2 * float(np.log(np.diag(np.linalg.cholesky(T))).sum())
        except np.linalg.LinAlgError:
            return _Point(S, T, -math.inf, ())
        return _Point(S, T, log_det, tuple(_rooms(S, laws, ask, t)))

    T = start - floor * np.eye(d)
    T = 1.02 * T + np.eye(d) * max(_SPREAD * float(np.trace(T)) / d, 1e-12 * float(np.trace(start)), 1e-300)
    try:
        here = at(T)
        for _ in range(40):
            if here.inside:
                break
            T = 1.3 * T
            here = at(T)
        if not here.inside:
            return start
        count = d + len(here.rooms)
        m = 0.2 * abs(cost.value(here.S) - cost.value(floor * np.eye(d))) / count
        for _ in range(_STEPS):
            here, decrement = _step(here, at, cost, m)
            if decrement <= 0.1 * m:
                if m * count <= _CLOSE * abs(cost.value(here.S)):
                    break
                m /= _SLOWER
    except np.linalg.LinAlgError:  # a law that is flat somewhere
        return start
    return (here.S + here.S.T) / 2


def _step(here: _Point, at: Callable[[Array], _Point], cost: CovarianceCost, m: float) -> tuple[_Point, float]:
    """One Newton step on the barrier function, shortened until it is lower; what it promised."""
    to = symmetric(len(here.T))
    inverse: Array = np.asarray(np.linalg.inv(here.T), dtype=np.float64)
    slope = to.vector(cost.slope(here.S) - m * inverse)
    bend = cost.bend(here.S) + m * to.congruence(inverse)
    for room in here.rooms:
        assert room.bend is not None
        row = to.vector(room.slope) / room.value
        slope = slope - m * row
        bend = bend + m * (np.outer(row, row) - room.bend / room.value)
    way = -_solved(bend, slope)
    promised = -float(slope @ way)
    K = to.matrix(way)
    a, height = 1.0, here.height(cost, m)
    while a > 1e-9:
        there = at(here.T + a * K)
        if there.height(cost, m) <= height - 1e-4 * a * promised:
            return there, promised
        a /= 2 if a > 0.1 else 5
    return here, 0.0


def _solved(H: Array, g: Array) -> Array:
    """H^-1 g, with more on the diagonal until H is positive definite."""
    D = 1 / np.sqrt(np.maximum(np.abs(np.diag(H)), 1e-300))
    H = H * np.outer(D, D)
    more = 0.0
    while True:
        try:
            root = np.linalg.cholesky(H + more * np.eye(len(g)))
            return np.asarray(D * np.linalg.solve(root.T, np.linalg.solve(root, D * g)))
        except np.linalg.LinAlgError:
            if more > 1e6:
                raise
            more = max(4 * more, 1e-10)


def _rooms(S: Array, laws: StandardPairs, ask: Ask, t: float) -> Iterator[Local]:
    """ln(delta / loss) or 1 - D / epsilon, both orders of every pair; positive inside."""
    for d, a, b in zip(laws.shift, laws.first, laws.second, strict=True):
        if np.array_equal(a, b):  # both orders are one, a function of the distance
            yield _room(distance(d, a + S, bend=True), 1.0, 1 / t**2)
            continue
        for sign, p, q in ((1.0, a + S, b + S), (-1.0, b + S, a + S)):
            if not isinstance(ask, Divergences):
                yield _room(log_delta(sign * d, p, q, float(ask.epsilon), bend=True), math.log(ask.target), 1.0)
                continue
            for alpha, epsilon in ask.orders:
                yield _room(divergence(sign * d, p, q, float(alpha), bend=True), 1.0, 1 / float(epsilon))


def _room(loss: Local, limit: float, scale: float) -> Local:
    assert loss.bend is not None
    return Local(limit - scale * loss.value, -scale * loss.slope, -scale * loss.bend)


# Whether a covariance is enough on the exact curve, and how much it must be enlarged where it is not.


def admissible(ask: Ask) -> float:
    """The largest distance |V^-1/2 d| of two normal laws of one covariance that meets the budget: mu(epsilon, delta),
    or sqrt(2 epsilon / alpha)."""
    if isinstance(ask, Divergences):
        return min(math.sqrt(2 * float(e) / float(a)) for a, e in ask.orders)
    if ask.pure:
        raise NotProvable("Gaussian noise gives no pure guarantee; give a delta > 0, or a Renyi budget")
    return gaussian_mu(ask.epsilon, ask.delta)


def excesses(S: Array, laws: StandardPairs, ask: Ask) -> list[float]:
    """loss / budget of every pair, the worse of its two orders: at most 1 where it is met."""
    if isinstance(ask, Divergences):
        return [
            ask.excess(lambda x, d=d, a=a, b=b: _divergence(d, a + S, b + S, float(x)))  # type: ignore[misc]
            for d, a, b in zip(laws.shift, laws.first, laws.second, strict=True)
        ]
    if ask.pure:
        admissible(ask)  # refused
    return [
        _delta(d, a + S, b + S, float(ask.epsilon)) / ask.target
        for d, a, b in zip(laws.shift, laws.first, laws.second, strict=True)
    ]


def _delta(d: Array, p_cov: Array, q_cov: Array, epsilon: float) -> float:
    """delta of both orders by one path each; singular covariances, and one number, in their own way."""
    with suppress(np.linalg.LinAlgError):
        if len(d) > 1 and not np.array_equal(p_cov, q_cov):
            both = log_delta(d, p_cov, q_cov, epsilon).value, log_delta(-d, q_cov, p_cov, epsilon).value
            return math.exp(min(0.0, max(both)))  # at most 1, also where doubles leave the path of the integral
    return fast_normal_delta(d, p_cov, np.zeros(len(d)), q_cov, epsilon)


def excess_of(S: Array, laws: StandardPairs, ask: Ask) -> float:
    """loss / budget of the worst pair."""
    return max(excesses(S, laws, ask), default=0.0)


def enough(S: Array, laws: StandardPairs, ask: Ask) -> Array:
    """S itself where it meets the budget, else the lesser of the least multiple f S and the least S + h I that do, in
    floating point. More noise of either kind is a post-processing of less, so a search from above finds the least;
    where the laws' own covariances differ in directions that S does not reach, only the second exists."""

    def enlarged(held: StandardPairs) -> Array:
        size = max(float(np.trace(S)) / len(S), _smallest(laws))
        found = [
            start + f * direction
            for start, direction in ((0.0 * S, S), (S, np.eye(len(S)) * size))
            if math.isfinite(f := _least(lambda x, a=start, b=direction: excess_of(a + x * b, held, ask)))  # type: ignore[misc]
        ]
        if not found:
            raise NotProvable(
                "no multiple of this noise hides the pairs within reach of the search; allow a larger budget"
            )
        return min(found, key=lambda x: float(np.trace(x)))

    return _binding(S, laws, ask, enlarged)


def raised(S: Array, floor: float, laws: StandardPairs, ask: Ask) -> Array:
    """The least floor I + f (S - floor I), f >= 0, that meets the budget: what a descent found, made enough."""
    base = floor * np.eye(len(S))

    def enlarged(held: StandardPairs) -> Array:
        f = _least(lambda x: excess_of(base + x * (S - base), held, ask))
        if not math.isfinite(f):
            raise NotProvable("no multiple of this noise hides the pairs within reach of the search")
        return np.asarray(base + f * (S - base))

    return _binding(S, laws, ask, enlarged)


def multiple(S: Array, laws: StandardPairs, ask: Ask) -> float:
    """The least f >= 0 at which f S meets the budget; inf where none does."""
    with np.errstate(invalid="ignore"):  # no multiple at all
        found = _binding(0.0 * S, laws, ask, lambda held: S * _least(lambda x: excess_of(x * S, held, ask)))
    return float(np.trace(found) / np.trace(S)) if np.isfinite(found).all() else math.inf


def isotropic(laws: StandardPairs, ask: Ask, near: float) -> float:
    """The least variance of noise alike in every direction that meets the budget, looked for `near` one; 0 where none
    is needed."""
    unit = np.eye(laws.dimension) * max(near, _smallest(laws))
    found = multiple(unit, laws, ask)
    if math.isinf(found):
        raise NotProvable("no noise within reach of the search hides the pairs; allow a larger budget")
    return found * float(unit[0, 0])


def _binding(S: Array, laws: StandardPairs, ask: Ask, enlarged: Callable[[StandardPairs], Array]) -> Array:
    """Of many pairs only those that bind are searched with; one that is not met afterwards joins them."""
    found, held = S, list[int]()
    while True:
        losses = excesses(found, laws, ask) if np.isfinite(found).all() else [0.0]
        worst = int(np.argmax(losses))
        if losses[worst] <= 1:
            return found
        if worst in held:  # met only up to rounding
            return enlarged(laws)
        held.append(worst)
        found = enlarged(laws.only(held))


def _smallest(laws: StandardPairs) -> float:
    """The least variance of any coordinate under any law: a unit of noise where none was proposed."""
    least = min(float(np.diagonal(c, axis1=1, axis2=2).min()) for c in (laws.first, laws.second))
    return least if least > 0 else 1.0


def _divergence(d: Array, p_cov: Array, q_cov: Array, alpha: float) -> float:
    """The closed form of D_alpha, both orders; inf where alpha V_q + (1 - alpha) V_p is not positive definite."""
    worst = 0.0
    for a, b in ((p_cov, q_cov), (q_cov, p_cov)):
        mixed = alpha * b + (1 - alpha) * a
        if np.linalg.eigvalsh(mixed)[0] <= 0:
            return math.inf
        logs = [float(np.linalg.slogdet(m)[1]) for m in (mixed, a, b)]
        volume = (logs[0] - (1 - alpha) * logs[1] - alpha * logs[2]) / (2 * (alpha - 1))
        worst = max(worst, alpha / 2 * float(d @ np.linalg.solve(mixed, d)) - volume)
    return worst


def _least(excess: Callable[[float], float]) -> float:
    """The least factor that is enough, by the search for scales; inf where none up to 4^20 does."""
    high = 1.0
    while not excess(high) <= 1:
        high *= 4
        if high > 4.0**20:
            return math.inf
    return least_scale(lambda f: math.inf if f == 0 else excess(f), 1.0, high) * (1 + 1e-9)


# From a covariance to noise that can be drawn: an integer matrix times independent discrete Gaussians on a lattice.


_LENGTHS = tuple(32 * 4**k for k in range(15))
"""The longest column of whole numbers has about one of these lengths: the first that costs less than `_NEARLY`."""
_SHORT = (1, 2, 4, 8, 16)
"""On a grid that was asked for also these."""
_NEARLY = 1.001
"""No error may grow by more than this factor of its variance."""
_SPARE = 1e-6
"""What is above the least variance by less than this share of it needs no column."""
_ZERO = 1e-10
"""Eigenvalues below this share of the largest are none; below what a proposal may have without a declaration."""
_FINER = 16
"""The grid is at most this fraction of the least deviation of noise and laws, so that rounding costs little."""
_WIDTH = math.sqrt(2 * float(TAU))
_UP = 1 + 1e-12
_FLAT = (
    "a law does not vary at all in some direction, so no lattice is fine enough for it; protect it as a shift "
    "(fugu.Shifted), or leave out statistics that are functions of the others"
)


@dataclass(frozen=True, eq=False)
class Wanted:
    """What a lattice is chosen for: the covariances of the laws, the units of the statistics, the largest mean, and a
    grid if one is given."""

    laws: Sequence[Array]
    unit: Array
    reach: float
    grid: Fraction | None = None

    @cached_property
    def least(self) -> float:
        """The least variance of a law in any direction; refused where one does not vary at all."""
        least = min(float(np.linalg.eigvalsh(cov)[0]) for cov in self.laws)
        if not least > 0:
            raise NotProvable(_FLAT)
        return least


def realise(S: Array, wanted: Wanted, needed: Callable[[Array], float]) -> CorrelatedGaussian:
    """Noise of about the covariance S, on a grid fine enough for `fugu.loss.vectors_gaussian`: base^2 I with the least
    variance in any direction, and whole columns for the rest.

    Columns are S's own up to half a step, so longer ones cost less and need a finer grid; the shortest that cost next
    to nothing are taken. Rounded noise is enlarged until it is above S; where S is of deficient rank, which nothing
    rounded is above, by the factor that `needed` finds for its shape. What the result really protects is proved
    afterwards, from its own exact covariance."""
    own = S / np.outer(wanted.unit, wanted.unit)
    values, vectors = np.linalg.eigh(own)
    if not values[-1] > 0:
        grid = short_step(0.99 * math.sqrt(wanted.least) / 64) if wanted.grid is None else wanted.grid
        return CorrelatedGaussian(0.0, (), (), grid, len(S))  # the values are rounded alone
    full = bool(values[0] > _ZERO * values[-1])
    base = 0.0
    if full:  # the least eigenvalue of S, through an inverse whose entries are as good as their units
        base = 1 / float(np.linalg.eigvalsh(np.linalg.inv(own) / np.outer(wanted.unit, wanted.unit))[-1])
        values, vectors = np.linalg.eigh(own - np.diag(base / wanted.unit**2))
    held = values > (_SPARE * base / wanted.unit.max() ** 2 if full else _ZERO * values[-1])
    F = wanted.unit[:, None] * vectors[:, held] * np.sqrt(values[held])
    longest = float(np.sqrt((F * F).sum(axis=0)).max(initial=0.0))
    best: tuple[float, CorrelatedGaussian] | None = None
    refusal: NotProvable | None = None
    lengths = _LENGTHS if full else _LENGTHS[3:]
    for length in lengths if wanted.grid is None else (*_SHORT, *lengths):
        step = longest / length
        B = np.rint(F / step) if F.size else F
        B = B[:, B.any(axis=0)]
        shape = base * np.eye(len(S)) + step**2 * (B @ B.T)
        factor, price = _above(own, shape / np.outer(wanted.unit, wanted.unit)) if full else 2 * (needed(shape),)
        if not math.isfinite(factor) or (best is not None and price >= best[0]):
            continue
        try:
            best = price, _made(base * factor, B, math.sqrt(factor) * step, len(S), wanted)
        except NotProvable as error:
            refusal = refusal or error
            if wanted.grid is None:
                break
            continue
        if price <= _NEARLY or not F.size:
            break
    if best is None:
        raise refusal or NotProvable("no whole directions near those of this noise hide the pairs")
    return best[1]


def _above(S: Array, shape: Array) -> tuple[float, float]:
    """The least f with f shape >= S, and the least g with f shape <= g S: no error grows by more than g."""
    from scipy.linalg import eigh

    values = eigh(shape, S, eigvals_only=True)
    return (1 / float(values[0]), float(values[-1] / values[0])) if values[0] > 0 else (math.inf, math.inf)


def _made(base: float, B: Array, step: float, d: int, wanted: Wanted) -> CorrelatedGaussian:
    """base I + step^2 B B' as noise on a lattice: every column has the width step / grid. The grid is at most some
    limits, first for columns and base, then for the laws: then every sum over the lattice is an integral
    (`loss.normal.smoothing.excess`)."""
    least = wanted.least
    narrow = step / _WIDTH if B.size else math.inf
    if base:
        spread = math.sqrt(float(np.linalg.eigvalsh(B.T @ B)[-1])) if B.size else 1.0
        finer = _FINER if wanted.grid is None else _WIDTH
        limits = [narrow, math.sqrt(base) / max(finer, _WIDTH * spread), math.sqrt(least) / _FINER]
    else:
        reach = [float(np.linalg.eigvalsh(B.T @ np.linalg.solve(cov, B))[-1]) for cov in wanted.laws]
        limits = [narrow, *(1 / (_WIDTH * math.sqrt(x)) for x in reach)]
    grid = short_step(0.99 * min(limits)) if wanted.grid is None else wanted.grid
    if wanted.grid is not None and grid > min(limits[:2]):
        raise NotProvable("the noise is too narrow against its grid to be treated as Gaussian; choose a finer grid")
    size = math.sqrt(base + step**2 * float((B * B).sum(axis=1).max(initial=0.0)))
    if max(64 * size, 4 * wanted.reach) / float(grid) > MAX_INDEX:
        raise NotProvable(
            "the grid is too fine for means or noise this large, so nothing could be released; subtract a public "
            "constant from the values, or give a coarser grid"
        )
    columns = tuple(tuple(int(x) for x in b) for b in B.T)
    width = float(decimal_up(step / float(grid) * _UP))
    return CorrelatedGaussian(float(decimal_up(math.sqrt(base) * _UP)), columns, (width,) * len(columns), grid, d)
