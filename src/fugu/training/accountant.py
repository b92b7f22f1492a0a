"""Noisy gradient descent of which only the last iterate is published: what it reveals; priors as it reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from fugu.errors import BadNoise, UsageError
from fugu.fixed import fixed
from fugu.guarantee import Approx, Guarantee, Renyi, RenyiCurve
from fugu.guarantee.asks import check_alpha, check_epsilon, exact, outward
from fugu.noise.laplace import Laplace
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, VectorLike, as_fraction, float_up, is_whole, read_number
from fugu.priors.chain import ChainSet, MarkovChain
from fugu.priors.correlated import AR1, Chained, Correlated, Mixing
from fugu.priors.coupling import Case, Coupled, Groups, Independent, Move, Run, WorstCase
from fugu.priors.joint import JointTable
from fugu.progress import on_time
from fugu.question import RECORDS
from fugu.training.allocation import UNIT, Floats, Height, Squares, Steps, array, least, mixed, squares
from fugu.training.bound import StepNoise, above, least_epsilon, least_noise, price, read_diameter, scales_of
from fugu.training.joint import Joint
from fugu.visible import brief

#     V = Pi(W_{t-1}),   W_t = V - eta_t (1/m sum_{j in batch t} grad l(V, x_j) + grad r(V)) + N_t,   published:
#     Pi(W_T).
#
# Batches are fixed and public: step t uses records ((t-1) m, ..., t m - 1) of the order given, over and over. One step
# is Lipschitz with c_t = max(|1 - eta_t mu|, |1 - eta_t beta|) <= 1, and two runs move apart by at most eta_t / m
# sum_{j in batch} min(2 L, C d_j) if record j moves by d_j (docs/proofs/iterations.md).

_LEAST, _MOST = 1e-50, 1e50
ORDERS = (1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256)


@dataclass(frozen=True, eq=False, repr=False)
class NoisySGD:
    """What T noisy gradient steps reveal about one record, if only the last iterate is published.

    Parameters:

    - `steps`: T, a whole number. `learning_rate`: eta, one number or one per step, at most 2 / smoothness.
    - `lipschitz`: L bounds the gradient of one record's loss. `smoothness` beta and `strong_convexity` mu are those of
      the objective of every step (the sum over its batch divided by m, a last batch that is short too, plus the
      regulariser), which must be convex.
    - `noise`: the standard deviation added to the iterate, or one per step, or `fugu.Laplace` in each of `dimension`
      coordinates; None to ask for it with `for_budget`.
    - `domain`: the diameter of the convex set K, None without projection.
    - `records`: how many, in their public order (None: one pass); `batch_size`: m.
    - `prior`: what adversaries believe about the other records, as `prior_from` reads it.
    - `sensitivity`: C, how fast one record's gradient moves with the record, for all points of K; normal priors need
      it.

    Raises `UsageError` and `BadNoise` for other arguments.

    >>> sgd = NoisySGD(steps=10, learning_rate=1, lipschitz=1, smoothness=1, noise=1)
    >>> round(sgd.renyi(2).epsilon, 9), round(sgd.approx(1e-5).epsilon, 6)  # the last record: 2 alpha (eta L)^2 / s^2
    (4.0, 9.997256)
    >>> round(sgd.for_budget(Approx(2, 1e-5)).noise, 3)
    3.988
    """

    steps: int
    learning_rate: Real | VectorLike
    lipschitz: Real
    smoothness: Real
    strong_convexity: Real = 0
    noise: StepNoise | None = None
    domain: Real | None = None
    _: KW_ONLY
    records: int | None = None
    batch_size: int = 1
    prior: PriorLike = field(default_factory=Independent)
    sensitivity: Real | None = None
    dimension: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "lipschitz", "smoothness", "strong_convexity", "domain", "sensitivity", RECORDS):
            if isinstance(value := getattr(self, name), np.generic):
                object.__setattr__(self, name, value.item())
        for name in ("learning_rate", "noise"):
            if isinstance(value := getattr(self, name), list | np.ndarray):
                object.__setattr__(self, name, tuple(value) if isinstance(value, list) else fixed(value.copy()))
        for name, low in (("steps", 1), ("batch_size", 1), ("dimension", 1)):
            _whole(getattr(self, name), name, low)
        if self.records is not None:
            _whole(self.records, RECORDS, 1)
        _number(self.lipschitz, "lipschitz", positive=True)
        _number(self.smoothness, "smoothness", positive=True)
        if self.sensitivity is not None:
            _number(self.sensitivity, "sensitivity", positive=True)
        if is_number(self.strong_convexity) and self.strong_convexity < 0:
            raise UsageError(
                "a negative strong_convexity declares a loss that is not convex: its steps can move iterates apart, "
                "and the noise of later steps then hides nothing; use a convex loss, or account for each step by itself"
            )
        _number(self.strong_convexity, "strong_convexity")
        if as_fraction(self.strong_convexity) > as_fraction(self.smoothness):
            raise UsageError("strong_convexity cannot exceed smoothness: both bound the same second derivatives")
        if self.domain is not None:
            _number(self.domain, "domain", positive=True)
        object.__setattr__(self, "prior", prior_from(self.prior))
        if self.belief.gaussian and self.sensitivity is None:
            raise UsageError(
                "a normal prior moves records by small distances: give sensitivity=, how fast the gradient of one "
                "record moves with the record"
            )
        _ = self.contraction

    def __repr__(self) -> str:
        noise = "not chosen yet" if self.noise is None else brief(self.noise, 40)
        return f"NoisySGD({self.steps} steps, {self._records} records, noise {noise}, {self.belief!r})"

    @cached_property
    def contraction(self) -> Floats:
        """c_t = max(|1 - eta_t mu|, |1 - eta_t beta|), rounded up and at most 1."""
        rates = self._rates
        beta, mu = as_fraction(self.smoothness), as_fraction(self.strong_convexity)
        if any(as_fraction(float(r)) * beta > 2 for r in np.unique(rates)):
            raise UsageError(
                f"learning_rate must be at most 2 / smoothness = {float(2 / beta):.6g}: larger steps move runs apart"
            )
        least_, most = float(mu) * rates, float(beta) * rates
        found = np.maximum(np.abs(1 - least_), np.abs(1 - most))
        return fixed(np.minimum(1.0, found + 8 * UNIT) if mu else np.ones_like(found))

    @cached_property
    def _rates(self) -> Floats:
        found = np.atleast_1d(array(self.learning_rate, "learning_rate"))
        if found.shape not in ((1,), (self.steps,)) or not (found.min() >= _LEAST and found.max() <= _MOST):
            raise UsageError(
                f"learning_rate must be a number in [1e-50, 1e50], or one for each of the {self.steps} steps"
            )
        return found

    @property
    def laplace(self) -> bool:
        """Whether the noise is Laplace."""
        return isinstance(self.noise, Laplace)

    @cached_property
    def _noise(self) -> tuple[float, Floats]:
        """The largest scale, and the scales relative to it."""
        if self.noise is None:
            raise BadNoise("give noise=, the standard deviation added to the iterate, or ask for it with for_budget")
        found = Steps.read(np.ones(self.steps), scales_of(self.noise), 1.0).scales
        return float(found.max()), found / found.max() * (1 - 2 * UNIT)

    def shifts(self, move: Move) -> Floats:
        """How far each step moves two runs apart if the records move like that, from above."""
        on_time()
        count, size = self._records, self.batch_size
        most = 2 * float_up(as_fraction(self.lipschitz))
        moved = np.full(move.distances.shape, most)
        if self.sensitivity is not None:
            with np.errstate(invalid="ignore", over="ignore"):
                moved = np.minimum(most, float_up(as_fraction(self.sensitivity)) * move.distances)
        sums = np.bincount(move.positions // size, weights=moved, minlength=-(-count // size))
        slack = 1 + (16 + 2 * move.positions.size) * UNIT
        return np.asarray(np.resize(sums, self.steps) * self._rates / size * slack)

    @property
    def _records(self) -> int:
        return self.steps * self.batch_size if self.records is None else self.records

    @property
    def _run(self) -> Run:
        return Run(self.steps, self._records, self.batch_size, bool(np.all(np.diff(self._rates) >= 0)))

    @cached_property
    def _squares(self) -> list[Squares]:
        """The cases of the prior, each with the squares of its moves for noise of largest scale 1."""
        known: dict[bytes, float] = {}

        def square(move: Move) -> float:
            shifts = self.shifts(move)
            size = float(shifts.max())
            if size == 0:
                return 0.0
            if self.domain is not None:  # not homogeneous
                size = 1.0
            key = sha256((shifts / size).tobytes()).digest()
            if key not in known:
                steps = Steps.read(shifts / size * (1 + 2 * UNIT), self._noise[1], self.contraction)
                known[key] = least(steps, read_diameter(self.domain), squares)
            return max(1e-300, known[key] * size * size * (1 + 4 * UNIT))

        most = square(Move(np.arange(self._records), np.full(self._records, np.inf)))  # all records at once: covers all

        def weigh(case: Case) -> Squares:
            found = np.array([square(case.move(k)) for k in range(case.chances.size)])
            return Squares(case.chances, np.minimum(found, most))

        found = self.belief.weigh(self._run, weigh)
        sure = max((case for case in found if case.values.size == 1), key=lambda case: case.height, default=None)
        return [case for case in found if case.values.size > 1 or case is sure]  # of certain moves the largest covers

    @property
    def belief(self) -> Coupled:
        """The prior that was given, as one that says how records move."""
        return prior_from(self.prior)

    def renyi(self, alpha: Real) -> Renyi:
        """The Rényi guarantee at the order `alpha`, above 1 (infinity: pure, finite for Laplace noise only)."""
        check_alpha(alpha)
        order = math.inf if alpha == math.inf else above(alpha)
        if self.laplace:
            return Renyi(alpha, self._laplace(order))
        if math.isinf(order):
            return Renyi(alpha, math.inf)
        found = max(case.renyi(self._noise[0], order) for case in self._squares)
        return Renyi(alpha, outward(Fraction(found)) if math.isfinite(found) else math.inf)

    def _laplace(self, order: float) -> float:
        """D of this order under Laplace noise: the price of every move."""
        scales = Steps.read(np.ones(self.steps), scales_of(self.noise), 1.0).scales

        def priced(move: Move) -> float:
            steps = Steps.read(self.shifts(move), scales, self.contraction)
            return least(steps, read_diameter(self.domain), lambda some: price(some, order, self.dimension))

        def weigh(case: Case) -> Height:
            found = np.array([priced(case.move(k)) for k in range(case.chances.size)])
            if math.isinf(order):
                return Height(float(found.max()))
            with np.errstate(over="ignore"):
                return Height(mixed(case.chances, found * (order - 1) * (1 + 4 * UNIT), order - 1))

        worst = max(x.height for x in self.belief.weigh(self._run, weigh))
        return outward(Fraction(worst)) if math.isfinite(worst) else math.inf

    def curve(self, alphas: Sequence[Real] | None = None) -> RenyiCurve:
        """The guarantee at the orders `alphas`; None: 22 of them from 1.1 to 256."""
        orders = (*ORDERS, math.inf) if self.laplace else ORDERS
        return RenyiCurve({a: self.renyi(a).epsilon for a in (orders if alphas is None else alphas)})

    def delta_at(self, epsilon: Real) -> float:
        """A proved delta at `epsilon` >= 0: exact normal curves for Gaussian noise, the best conversion for Laplace."""
        check_epsilon(epsilon)
        if math.isinf(epsilon):
            return 0.0
        if self.laplace:
            return self.curve().delta_at(epsilon)
        return outward(Fraction(max(case.delta(self._noise[0], exact(epsilon)) for case in self._squares)))

    def approx(self, delta: Real) -> Approx:
        """The least epsilon found and proved at `delta`, in (0, 1)."""
        return self.curve().to_approx(delta) if self.laplace else Approx(least_epsilon(self, delta), delta)

    def for_budget(self, budget: Guarantee) -> NoisySGD:
        """The same training with the least noise (to 10 digits) that is proved to meet the `budget`.

        `Approx` with a delta, `Renyi` or `RenyiCurve`; with Laplace noise also `Pure`. Raises `NotProvable`
        otherwise."""
        return least_noise(self, budget)

    def with_noise(self, noise: StepNoise) -> NoisySGD:
        """The same training with other `noise`; what was worked out for unit noise is kept."""
        made = replace(self, noise=noise)
        if "_squares" in self.__dict__ and is_number(noise) and self._noise[1].size == 1:
            made.__dict__["_squares"] = self._squares
        return made


def _whole(value: Any, name: str, low: int) -> None:
    if not is_whole(value, least=low):
        raise UsageError(f"{name} must be a whole number of at least {low}, got {value!r}")


def _number(value: Any, name: str, positive: bool = False) -> None:
    if not is_number(value) or not (value > 0 if positive else value >= 0) or value == math.inf:
        raise UsageError(f"{name} must be a finite number {'above' if positive else 'of at least'} 0, got {value!r}")
    if value and not _LEAST <= value <= _MOST:
        raise UsageError(f"{name} must lie between {_LEAST:g} and {_MOST:g}; choose another unit")


# Priors from texts ("ar1:0.3"), from objects of other rooms, and from certificates.

PriorLike = str | Coupled | MarkovChain | ChainSet | JointTable
"""A prior of `fugu.iterate`, a chain, chains, a joint law, or a text such as "independent", "group", "ar1:0.3"."""
KINDS = '"independent", "group" (all records), "ar1:0.3" (normal), "mixing:0.3" (any records)'
_ALONE: dict[str, type[Coupled]] = {"independent": Independent, "group": WorstCase, "worst": WorstCase}
_WITH_NUMBER: dict[str, type[AR1] | type[Mixing]] = {"ar1": AR1, "mixing": Mixing}
_WRITTEN: tuple[type[Coupled], ...] = (Independent, WorstCase, Groups, AR1, Correlated, Mixing, Chained, Joint)


def prior_from(given: object) -> Coupled:
    """A prior that says how records move, from what a user gives.

    `given`: a prior of `fugu.iterate`, which is returned as it is; a `MarkovChain`, a `ChainSet`, a `JointTable`; or
    a text: "independent", "group", "ar1:0.3", "mixing:0.3". Raises `UsageError` for others.

    >>> prior_from("ar1:0.3")
    AR1(rho=Fraction(3, 10), distance=1)
    """
    if isinstance(given, Coupled):
        return given
    if isinstance(given, MarkovChain | ChainSet):
        return Chained(given)
    if isinstance(given, JointTable):
        return Joint(given)
    if not isinstance(given, str):
        known = f"{KINDS}, a MarkovChain, or a prior of fugu.iterate"
        raise UsageError(f"no prior can be read from a {type(given).__name__}; give {known}")
    name, colon, number = given.strip().partition(":")
    if name in _ALONE and not colon:
        return _ALONE[name]()
    if name not in _WITH_NUMBER or not colon:
        raise UsageError(f"no prior {given!r}; there are {KINDS}")
    try:
        told = read_number(number)
    except UsageError:
        raise UsageError(f"the prior {given!r} needs a number after the colon") from None
    return _WITH_NUMBER[name](told)


def prior_of(parameters: dict[str, Any]) -> Coupled:
    """The prior that `Coupled.parameters` wrote down."""
    kinds = {prior.kind: prior for prior in _WRITTEN}
    rest = {name: value for name, value in parameters.items() if name != "kind"}
    try:
        return kinds[parameters["kind"]].of(**rest)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise UsageError("the prior in the document is not one that fugu wrote") from None
