"""Offers for normal laws of vectors: find a covariance, make noise of it that can be drawn, prove that."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, cast, final

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance.descent import descend, enough, excesses, multiple
from fugu.calibration.covariance.methods import WAYS, Candidate, propose
from fugu.calibration.covariance.optimal import least_trace
from fugu.calibration.covariance.slope import CovarianceCost
from fugu.calibration.lattice import beliefs_of, short_step
from fugu.calibration.offer import Offer, Refused, Stages, Tried, Wishes
from fugu.calibration.registry import named
from fugu.documents.sentences import EXACTLY_NORMAL, GAUSSIAN_MODEL
from fugu.errors import NotProvable, UsageError
from fugu.guarantee.asks import Ask, Proof
from fugu.laws.multinormal import NormalPair
from fugu.laws.shapes import Shape
from fugu.loss.door import bound
from fugu.loss.vectors_gaussian import TAU
from fugu.mechanism.intake import Context
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Kind, Objective, finite_or_none, kind_of
from fugu.noise.lattice import MAX_INDEX, Lattice
from fugu.noise.matrix import CorrelatedGaussian
from fugu.numbers.exact import decimal_up
from fugu.scenario.property import MOVED

Array = NDArray[np.float64]
_OWN = "each statistic in units of its own deviation under the laws"
_FACTOR = 8.0
_STRETCH = tuple(1e-9 * _FACTOR**k for k in range(10))
"""How much larger, as a share of the variance, where the proof needs it: the least by bisection."""
_NEGLIGIBLE = 1e-4
_HALVINGS = 6


@final
@dataclass(frozen=True, eq=False)
class Covariance(Offer):
    """The covariance that a method asks for."""

    candidate: Candidate
    pairs: tuple[NormalPair, ...]
    wishes: Wishes
    scales: dict[str, float | None]
    kind: Kind = Gaussian

    @property
    def method(self) -> str:  # type: ignore[override]
        """The name of the method."""
        return self.candidate.method

    def rank(self, objective: Objective) -> tuple[float, float, bool]:  # noqa: ARG002 - the cost is of what is wished
        """The cost, every statistic in its own unit."""
        return self.candidate.error, 0.0, False

    def tried(self, ask: Ask, context: Context) -> Tried:
        """The noise, and its proof in the Gaussian model."""
        noise, proof = realised(self.candidate, self.pairs, ask, self.wishes.grid)
        before, floor = [GAUSSIAN_MODEL], self.wishes.floor
        if self.wishes.declared_exact:
            before.append(EXACTLY_NORMAL)
            if context.shares is not None:  # laws declared exactly normal have no ends: nothing is clipped
                stated = tuple(a for a in context.assumptions if a != MOVED)
                free = {**context.shares, "limits": [None] * len(context.shares["limits"])}
                context = replace(context, assumptions=stated, shares=free)
        if floor is not None:
            before.append(f"noise of variance at least {floor:g} in every direction, {_OWN}")
        return Tried(
            kind="correlated",
            method=self.method,
            theorem=WAYS[self.method],
            noise=noise,
            proof=proof,
            lattice=Lattice(noise.grid),
            laws=self.pairs,
            beliefs=beliefs_of(self.pairs),
            context=context,
            scales=self.scales,
            dimension=noise.dimension,
            before=tuple(before),
        )

    def told(self, tried: Tried, ask: Ask) -> dict[str, Any]:
        """The errors in the units of the statistics, and how near the least they are."""
        candidate = self.candidate
        assert candidate.covariance is not None
        S = candidate.laws.own(
            np.array([[float(x) for x in row] for row in cast(CorrelatedGaussian, tried.noise).covariance()])
        )
        values = np.linalg.eigvalsh(candidate.covariance)
        flat = "" if values[0] > 1e-9 * values[-1] else "deficient rank: only for laws that are exactly normal"
        least = _least(S, candidate, ask, self.wishes.weight is not None) if self.method == "optimal" else ""
        note = candidate.note or "; ".join(filter(None, (flat, least)))
        return {"note": note, "standardised": candidate.cost.value(S)}


def _least(S: Array, plan: Candidate, ask: Ask, weighted: bool) -> str:
    """How near the optimal covariance is to what no Gaussian noise above its floor goes below."""
    cost = CovarianceCost(plan.cost.weight)
    at = descend(S, plan.floor, plan.laws, ask, cost) if plan.cost.absolute else S
    losses = excesses(at, plan.laws, ask)
    value, least = cost.value(S), least_trace(plan.laws, ask, plan.floor, cost.weight, at, losses)
    weighed = "weighted" if weighted else "every statistic in its own unit"
    return f"mean squared error {value:.4g} ({weighed}); no Gaussian noise has less than {least:.4g}"


def realised(
    candidate: Candidate, pairs: tuple[NormalPair, ...], ask: Ask, grid: Fraction | None = None
) -> tuple[CorrelatedGaussian, Proof]:
    """Noise that can be drawn, a little larger than asked for where rounding needs it, and its proof.

    What is drawn is above what the search found to be enough, so a first proof mostly holds; where it does not, the
    least of the larger ones that were tried, each with a proof of its own."""
    assert candidate.covariance is not None
    laws = candidate.laws
    covs = [law.cov_array for pair in pairs for law in (pair.p, pair.q)]
    reach = max(float(np.abs(law.mean_array).max()) for pair in pairs for law in (pair.p, pair.q))
    wanted = Wanted(covs, laws.unit, reach, grid)
    covariance = laws.raw(enough(laws.own(candidate.covariance), laws, ask))

    def tried(stretch: float) -> tuple[CorrelatedGaussian, Proof]:
        noise = realise(covariance * stretch, wanted, lambda shape: multiple(laws.own(shape), laws, ask) * stretch)
        return noise, bound(pairs, noise, ask)

    low, found = 0.0, tried(1.0)
    for more in _STRETCH:
        if found[1].holds:
            break
        low, found = more / _FACTOR, tried(1 + more)
    if not found[1].holds:
        proof = found[1]
        raise NotProvable(f"the bound is {proof.epsilon:.6g}, delta {proof.delta:.3g} for pair {proof.worst_pair!r}")
    if low > _NEGLIGIBLE:
        high = low * _FACTOR
        for _ in range(_HALVINGS):
            middle = tried(1 + (low + high) / 2)
            low, high, found = (low, (low + high) / 2, middle) if middle[1].holds else ((low + high) / 2, high, found)
    return found


def covariances(given: tuple[Shape, ...], ask: Ask, wishes: Wishes, every: bool = False) -> Stages:
    """The search for covariances: every method at once, since none takes long."""
    pairs = tuple(pair for pair in given if isinstance(pair, NormalPair))
    if wishes.noise not in ("best", "gaussian"):
        kind_of(wishes.noise)
        raise NotProvable(
            f"normal vectors are protected by Gaussian noise here, not by {wishes.noise}; leave out noise="
        )
    if wishes.declared_exact and getattr(wishes.model, "bounds", None) and not every:
        raise UsageError(
            "bounds= clips the records, so the statistics are not exactly normal: leave out bounds, or declared_exact"
        )
    if wishes.method != "best" and wishes.method not in WAYS:
        named(wishes.method)
        raise NotProvable(
            f"method {wishes.method!r} is not for normal laws of vectors; methods that are: {', '.join(WAYS)}"
        )
    found = propose(pairs, ask, wishes)
    scales = {
        m: None if c.covariance is None else finite_or_none(math.sqrt(float(np.trace(c.covariance))))
        for m, c in found.items()
    }
    yield [
        Refused(Gaussian, c.refusal, m) if c.covariance is None else Covariance(c, pairs, wishes, scales)
        for m, c in found.items()
        if wishes.method in ("best", m)
    ]


# From a covariance to noise that can be drawn: an integer matrix times independent discrete Gaussians on a lattice.


_LENGTHS = tuple(32 * 4**k for k in range(15))
"""The longest column of whole numbers has about one of these lengths: the first that costs less than `_CLOSE`."""
_SHORT = (1, 2, 4, 8, 16)
"""On a grid that was asked for also these."""
_CLOSE = 1.001
"""No error may grow by more than this factor of its variance."""
_SPARE = 1e-6
"""What is above the least variance by less than this share of it needs no column."""
_ZERO = 1e-10
"""Eigenvalues below this share of the largest are none; below what a proposal may have without a declaration."""
_FINER = 16
"""The grid is at most this fraction of the least deviation of noise and laws, so that rounding costs little."""
_WIDTH = math.sqrt(2 * float(TAU))
_SAFE = 1 + 1e-12
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
        if price <= _CLOSE or not F.size:
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
    """base I + step^2 B B' as noise on a lattice: every column has the width step / grid."""
    limits = _limits(base, B, step, wanted)
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
    width = float(decimal_up(step / float(grid) * _SAFE))
    return CorrelatedGaussian(float(decimal_up(math.sqrt(base) * _SAFE)), columns, (width,) * len(columns), grid, d)


def _limits(base: float, B: Array, step: float, wanted: Wanted) -> list[float]:
    """At most these, first for columns and base, then for the laws: then every sum over the lattice is an integral
    (`loss.normal.smoothing.excess`)."""
    least = wanted.least
    narrow = step / _WIDTH if B.size else math.inf
    if base:
        spread = math.sqrt(float(np.linalg.eigvalsh(B.T @ B)[-1])) if B.size else 1.0
        finer = _FINER if wanted.grid is None else _WIDTH
        return [narrow, math.sqrt(base) / max(finer, _WIDTH * spread), math.sqrt(least) / _FINER]
    reach = [float(np.linalg.eigvalsh(B.T @ np.linalg.solve(cov, B))[-1]) for cov in wanted.laws]
    return [narrow, *(1 / (_WIDTH * math.sqrt(x)) for x in reach)]
