"""The scales that the methods ask for when a vector is published, in lattice steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.l1 import over
from fugu.calibration.method import AnyBudget, Proposal, attempted
from fugu.calibration.renyi.kinds import Kind, kind_of
from fugu.calibration.renyi.target import Target
from fugu.calibration.search import least_scale
from fugu.guarantee import Approx, Renyi, RenyiCurve
from fugu.guarantee.order import pure_as_renyi
from fugu.laws.vectors import VectorFamily
from fugu.loss.bounds import Noise
from fugu.loss.normal.smoothing import TAU
from fugu.loss.shifts.cost import log_cost
from fugu.loss.shifts.gaussian import fast_gaussian_delta, gaussian_mu
from fugu.loss.shifts.shift import shift_renyi
from fugu.loss.vectors.bare import law_divergence, law_excess
from fugu.loss.vectors.bounds import IMPLIED, PLANNED, plan_for, space_of, steps_moved, unit_of
from fugu.loss.vectors.exact import LARGEST, fast_vector_pure, vertices
from fugu.loss.vectors.gaussian import smooth_plan
from fugu.noise import Gaussian
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.numbers import balls
from fugu.numbers.exact import as_fraction, float_down
from fugu.transport.bottleneck import bottleneck
from fugu.transport.cells import SubCoupling
from fugu.transport.plan import plan_log_cost
from fugu.transport.space import Space

_CELLS = 40_000
_LARGE = 600.0
"""A pure epsilon of this size implies nothing useful."""


@dataclass(frozen=True)
class Way:
    """A method for vectors: what it is called and what it stands on."""

    name: str
    theorem: str


WAYS = {
    "wasserstein": Way("wasserstein", "W_inf in the noise's norm: Song, Wang, Chaudhuri 2017; Pierquin et al. 2024"),
    "closeness": Way("closeness", "Chen and Ohrimenko 2023, Theorem 4.2, with an exact flow"),
    "transport": Way("transport", "joint convexity with a plan of exact marginals (docs/proofs/vectors.md)"),
    "exact": Way("exact", "the largest ratio on the product grid of coordinates (docs/proofs/vectors.md)"),
}  # fmt: skip


def propose(families: tuple[VectorFamily, ...], budget: AnyBudget, noise: str) -> dict[str, Proposal]:
    """Every method's scale for one kind of noise; the largest that any pair needs."""
    if isinstance(budget, Renyi | RenyiCurve):
        finders = _renyi(Target.of(budget), kind_of(noise))
    elif noise == "gaussian":
        finders = _gaussian(budget)
    else:
        finders = _laplace(budget)
    different = [family for family in families if family.different]
    return {
        name: attempted(lambda f=find: Proposal(max((f(family) for family in different), default=0.0)))  # type: ignore[misc]
        for name, find in finders.items()
    }


Finder = Callable[[VectorFamily], float]


def _laplace(budget: AnyBudget) -> dict[str, Finder]:
    """Pure and approximate budgets: distances in l1 over epsilon, and the exact ratio on the product grid."""
    assert not isinstance(budget, Renyi | RenyiCurve)
    delta = as_fraction(budget.delta) if isinstance(budget, Approx) else Fraction(0)

    def exact(family: VectorFamily) -> float:
        epsilon = as_fraction(budget.epsilon)
        if delta and all(law_excess(family, pair, epsilon) <= delta for pair, _ in family.different):
            return 0.0
        target = _pure_target(epsilon, delta)
        if vertices(family) > LARGEST or target <= 0:
            return math.inf
        upper = float(reach(family, 1, Fraction(0)) / target) * (1 + 1e-9)
        return least_scale(lambda b: fast_vector_pure(family, b), target, upper) if upper else 0.0

    finders: dict[str, Finder] = {"wasserstein": lambda f: over(reach(f, 1, Fraction(0)), budget), "exact": exact}
    if delta:
        finders["closeness"] = lambda f: over(reach(f, 1, delta), budget)
    return finders


def _pure_target(epsilon: Fraction, delta: Fraction) -> float:
    """The pure epsilon that implies (epsilon, delta): ln((e^epsilon + delta) / (1 - delta)), see `pure_as_delta`."""
    if not delta:
        return float_down(epsilon)
    with balls.precision(128):
        return balls.lower(((balls.of(epsilon).exp() + balls.of(delta)) / balls.of(1 - delta)).log())


def _gaussian(budget: AnyBudget) -> dict[str, Finder]:
    """Approximate budgets with Gaussian noise: the analytic curve at the largest distance, or averaged over a plan.

    In lattice steps the noise needs tau squared steps more variance than continuous noise (`loss.normal.smoothing`)."""
    if not isinstance(budget, Approx) or budget.delta == 0:
        return {"wasserstein": lambda f: math.inf if f.different else 0.0}
    epsilon, delta = as_fraction(budget.epsilon), float_down(as_fraction(budget.delta))
    least = math.sqrt(2 * float(TAU)) * (1 + 1e-9)

    def wasserstein(family: VectorFamily) -> float:
        distance = reach(family, 2, Fraction(0))
        if not distance:
            return 0.0
        return max(least, math.sqrt((distance / gaussian_mu(epsilon, delta)) ** 2 + float(TAU)) * (1 + 1e-12))

    def transport(family: VectorFamily) -> float:
        upper = wasserstein(family)
        spaces = [space_of(family, pair, 2) for pair, _ in family.different]
        if upper == 0 or any(len(space.x) * len(space.y) > PLANNED for space in spaces):
            return upper
        bare = [law_excess(family, pair, epsilon) for pair, _ in family.different]
        plans: dict[int, SubCoupling] = {}

        def cost(k: int, scale: float) -> float:
            space, noise = spaces[k], Gaussian(scale, Fraction(1))
            if k not in plans or len(space.x) * len(space.y) <= _CELLS:
                plans[k] = smooth_plan(space, unit_of(space), noise, epsilon)
            moved = np.sqrt((steps_moved(space, plans[k]).astype(np.float64) ** 2).sum(axis=1))
            losses = np.zeros(len(moved))
            far = moved > 0
            losses[far] = fast_gaussian_delta(float(epsilon), moved[far] / math.sqrt(scale**2 - float(TAU)))
            shares = np.array([m / plans[k].total for m in plans[k].masses.tolist()])
            return min(bare[k], float(losses @ shares) * (1 + 1e-9))

        def loss(scale: float) -> float:
            if scale == 0:
                return max(bare)
            return max(cost(k, max(scale, least)) for k in range(len(spaces)))

        return max(least, found) if (found := least_scale(loss, delta, upper * (1 + 1e-9))) else 0.0

    return {"wasserstein": wasserstein, "transport": transport}


def _cells(space: Space, plan: SubCoupling, noise: Noise, alpha: Fraction) -> NDArray[np.float64]:
    """The log costs of a plan's own cells."""
    apart: NDArray[np.float64] = steps_moved(space, plan).astype(np.float64) * float(noise.grid or 1)
    found: NDArray[np.float64] = log_cost(noise, float(alpha), apart.ravel()).reshape(apart.shape).sum(axis=1)
    return found


def _renyi(target: Target, kind: Kind) -> dict[str, Finder]:
    finders: dict[str, Finder] = {
        "wasserstein": lambda f: _within(f, target, kind),
        "transport": lambda f: planned(f, target, kind),
    }
    if kind.name == "laplace":
        finders["exact"] = lambda f: _implied(f, target)
    if target.delta:
        finders["closeness"] = lambda f: _within(f, target, kind, target.delta)
    return finders


def _implied(family: VectorFamily, target: Target) -> float:
    """The least scale whose exact pure epsilon implies the divergences (`pure_as_renyi`); Laplace noise only."""
    if vertices(family) > IMPLIED:
        return math.inf

    def loss(scale: float, alpha: Fraction) -> float:
        pure = fast_vector_pure(family, scale)
        return pure_as_renyi(Fraction(pure), alpha) if pure < _LARGE else math.inf

    least = min(epsilon for _, epsilon in target.orders)
    distance = reach(family, 1, Fraction(0))  # D_a <= D_inf <= distance / scale
    upper = distance / float(least) * (1 + 1e-9) if least else math.inf
    return target.least(loss, upper) if distance else 0.0


def reach(family: VectorFamily, norm: int, delta: Fraction) -> float:
    """The largest distance any pair must be moved, up to a mass delta, in steps."""
    return max((bottleneck(space_of(family, pair, norm), delta)[0] for pair, _ in family.different), default=0.0)


def _within(family: VectorFamily, target: Target, kind: Kind, delta: Fraction = Fraction(0)) -> float:
    """The least scale with R_alpha(noise, W_inf) <= epsilon, W_inf in the noise's own norm."""
    norm = 1 if kind.name == "laplace" else 2
    distance = reach(family, norm, delta)
    if distance == 0:
        return 0.0

    def loss(scale: float, alpha: Fraction) -> float:
        if scale == 0:
            return math.inf
        if norm == 1:
            return shift_renyi(kind.make(scale), int(distance), alpha)
        return float(alpha) * distance**2 / (2 * scale**2)

    return target.least(loss, target.start(distance))


def planned(family: VectorFamily, target: Target, kind: Kind) -> float:
    """The least scale at which a plan of exact marginals has log E exp((a-1) sum h_a) <= (a-1) epsilon."""
    upper = _within(family, target, kind)
    if upper == 0 or math.isinf(upper):
        return upper
    norm = 1 if kind.name == "laplace" else 2
    spaces = [space_of(family, pair, norm) for pair, _ in family.different]
    plans: dict[tuple[int, Fraction], SubCoupling] = {}

    bare = {
        (k, alpha): law_divergence(family, pair, alpha)
        for k, (pair, _) in enumerate(family.different)
        for alpha, _ in target.orders
    }

    def cost(k: int, scale: float, alpha: Fraction) -> float:
        if scale == 0 or bare[k, alpha] == 0:
            return bare[k, alpha]
        space, noise = spaces[k], kind.make(scale)
        assert not isinstance(noise, GeneralizedCauchy)
        if len(space.x) * len(space.y) <= _CELLS or (k, alpha) not in plans:
            plans[k, alpha] = plan_for(space, noise, alpha)
        plan = plans[k, alpha]
        return min(bare[k, alpha], plan_log_cost(plan, _cells(space, plan, noise, alpha)) / float(alpha - 1))

    def loss(scale: float, alpha: Fraction) -> float:
        return max(cost(k, scale, alpha) for k in range(len(spaces)))

    return target.least(loss, upper * (1 + 1e-9))
