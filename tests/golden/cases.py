"""The cases of the golden record: every shape of law, every budget, every operation, by public names alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import fugu
from golden.laws import BUDGETS, EVERY_METHOD, NOISES, SHAPES, Shape
from golden.priors import prior_cases
from golden.stating import comparison, guarded, mechanism, plain, verdict

_SCALARS = {
    "laplace": lambda: fugu.Laplace(2),
    "laplace-lattice": lambda: fugu.Laplace(2, grid=Fraction(1, 2)),
    "gaussian": lambda: fugu.Gaussian(2),
    "gaussian-lattice": lambda: fugu.Gaussian(2, grid=Fraction(1, 2)),
    "cauchy": lambda: fugu.GeneralizedCauchy(2),
    "cauchy-heavy": lambda: fugu.GeneralizedCauchy(1, tail=4),
    "none": lambda: fugu.Laplace(0),
}
_SHARED_METHODS = ("exact", "wasserstein", "exactt")
_MIXED = (("pure", "pure-small"), ("approx", "approx"), ("approx", "pure-small"), ("renyi", "pure"))
_FEW_BUDGETS = ("pure", "approx", "renyi", "renyi-delta")


@dataclass(frozen=True)
class Case:
    """One question to fugu; `run` gives the answer, or the refusal, as plain data."""

    name: str
    run: Callable[[], Any]


class Workshop:
    """Mechanisms by what they were calibrated to, each made once; `saved` counts the seconds that this saves."""

    def __init__(self) -> None:
        self.saved = 0.0
        self._made: dict[str, tuple[Any, float]] = {}

    def calibrated(self, name: str, make: Callable[[], Any]) -> Any:
        """The mechanism of this name, or the refusal that was met when it was made."""
        if name in self._made:
            found, seconds = self._made[name]
            self.saved += seconds
        else:
            start = time.perf_counter()
            try:
                found = make()
            except Exception as error:
                found = error
            self._made[name] = found, time.perf_counter() - start
        if isinstance(found, Exception):
            raise found
        return found


def cases(workshop: Workshop) -> Iterator[Case]:
    """Every case of the record."""
    for name, shape in SHAPES.items():
        for budget_name in shape.budgets:
            budget = BUDGETS[budget_name]
            yield from _calibrations(workshop, name, shape, budget_name)
            yield from _uses(workshop, name, shape, budget_name, budget)
        yield from _losses(name, shape)
        yield from _mixtures(workshop, name, shape)
    yield from _guarantees()
    yield from _wrong_use()
    yield from prior_cases(Case)


def _calibrated(workshop: Workshop, name: str, budget: str, **options: Any) -> Any:
    shape = SHAPES[name]
    wishes = {**shape.options, **options}
    told = f"{name}/{budget}/{sorted(options.items())!r}"
    return workshop.calibrated(told, lambda: fugu.calibrate(shape.laws(), BUDGETS[budget], **wishes))


def _calibrations(workshop: Workshop, name: str, shape: Shape, budget_name: str) -> Iterator[Case]:
    def case(told: str, **options: Any) -> Case:
        def run() -> Any:
            return guarded(lambda: mechanism(_calibrated(workshop, name, budget_name, **options)))

        return Case(f"{name}/{budget_name}/calibrate/{told}", run)

    for noise in NOISES:
        yield case(f"{noise}/best", noise=noise)
    if not shape.few or budget_name in _FEW_BUDGETS[:3]:
        yield case("best/best/squared", objective="squared")
        yield case("best/best/grid", grid=shape.grid)
    if not shape.few and budget_name in _FEW_BUDGETS:
        for method in EVERY_METHOD if budget_name in ("pure", "renyi") else shape.methods:
            yield case(f"best/{method}", method=method)
        for method in shape.methods:
            yield case(f"gaussian/{method}", noise="gaussian", method=method)
            yield case(f"laplace/{method}", noise="laplace", method=method)
            if budget_name == "renyi":
                yield case(f"cauchy/{method}", noise="cauchy", method=method)
    elif shape.few and budget_name in _FEW_BUDGETS[:3]:
        for method in _SHARED_METHODS:
            yield case(f"best/{method}", method=method)


def _uses(workshop: Workshop, name: str, shape: Shape, budget_name: str, budget: Any) -> Iterator[Case]:
    """What is done with a mechanism once it is there, and the comparison of methods."""

    def case(told: str, answer: Callable[[], Any]) -> Case:
        return Case(f"{name}/{budget_name}/{told}", lambda: guarded(answer))

    def best() -> Any:
        return _calibrated(workshop, name, budget_name, noise="best")

    yield case("compare", lambda: comparison(fugu.compare(shape.laws(), budget, **shape.compared)))
    if not shape.few and budget_name in ("pure", "approx", "renyi"):
        wishes = {"grid": shape.grid, **shape.compared}
        yield case("compare/grid", lambda: comparison(fugu.compare(shape.laws(), budget, **wishes)))
    yield case("verify/mechanism", lambda: verdict(best()))
    if not shape.few:
        yield case("verify/own-laws", lambda: verdict(best(), shape.laws()))
    yield case("verify/other-laws", lambda: verdict(best(), shape.other()))
    if not shape.few:
        yield case("guarantee-against/own-laws", lambda: _stated(fugu.guarantee_against(best(), shape.laws())))
    yield case("guarantee-against/other-laws", lambda: _stated(fugu.guarantee_against(best(), shape.other())))
    yield case("simulate", lambda: _simulated(best(), shape.values))


def _stated(guarantee: Any) -> dict[str, Any]:
    """A guarantee by its exact numbers: epsilons and deltas as search values, the kind and the orders as text."""
    if isinstance(guarantee, fugu.RenyiCurve):
        numbers = {f"epsilon({a!r})": e for a, e in guarantee.points} | {"delta": guarantee.delta}
    else:
        numbers = {n: getattr(guarantee, n) for n in ("alpha", "epsilon", "delta") if hasattr(guarantee, n)}
    return {"class": type(guarantee).__name__, **{n: float(x) for n, x in numbers.items()}}


def _simulated(given: Any, values: Any) -> dict[str, Any]:
    """Draws from a seeded generator, for experiments: the sampler reads its bits as before."""
    release = given.simulate(values, np.random.default_rng(7))
    single = given.simulate(values[0], np.random.default_rng(8))
    return {"values": release.values, "single": single.values, "interval": release.interval}


def _losses(name: str, shape: Shape) -> Iterator[Case]:
    """What needs no budget: losses of given noises, plans, distances."""

    def case(told: str, answer: Callable[[], Any]) -> Case:
        return Case(f"{name}/{told}", lambda: guarded(answer))

    for told, noise in _SCALARS.items():
        yield case(f"epsilon/{told}", lambda noise=noise: fugu.epsilon(noise(), shape.laws()))
        for eps in (0, 0.25, 1):
            yield case(f"delta-{eps}/{told}", lambda noise=noise, eps=eps: fugu.delta(noise(), shape.laws(), eps))
        for alpha in (1.5, 2):
            yield case(
                f"renyi-{alpha}/{told}", lambda noise=noise, alpha=alpha: fugu.renyi(noise(), shape.laws(), alpha)
            )
    for error in (0, 3):
        yield case(f"plan/{error}", lambda error=error: _stated(fugu.plan(shape.laws(), error)))
    yield case("plan/squared", lambda: _stated(fugu.plan(shape.laws(), 4, objective="squared")))
    for order in (1, 2, float("inf")):
        for norm in (1, 2, float("inf")):
            yield case(
                f"wasserstein/order-{order}/norm-{norm}",
                lambda order=order, norm=norm: fugu.wasserstein(*_two(shape), order=order, norm=norm),
            )
    for delta in (0, 0.05, 0.3):
        yield case(f"closeness/{delta}", lambda delta=delta: fugu.closeness(*_two(shape), delta))
        yield case(f"closeness/{delta}/norm-2", lambda delta=delta: fugu.closeness(*_two(shape), delta, norm=2))


def _two(shape: Shape) -> tuple[Any, Any]:
    """The laws of the first pair."""
    laws = shape.laws()
    if isinstance(laws, fugu.Shifted):
        return laws, laws
    pairs = laws.law_pairs() if isinstance(laws, fugu.Scenario) else laws if isinstance(laws, list) else [laws]
    return pairs[0].p, pairs[0].q


def _mixtures(workshop: Workshop, name: str, shape: Shape) -> Iterator[Case]:
    """Mixtures of two mechanisms, and what they are worth against others."""
    for a, b in _MIXED[2 * shape.few :]:

        def mixed(a: str = a, b: str = b) -> Any:
            first = _calibrated(workshop, name, a, noise="best")
            return fugu.mix(Fraction(1, 4), first, _calibrated(workshop, name, b, noise="best"))

        def both(mixed: Callable[[], Any] = mixed) -> Any:
            found = mixed()
            against = guarded(lambda: _stated(fugu.guarantee_against(found, shape.other())))
            return {**mechanism(found), "against": against, "verify-other": verdict(found, shape.other())}

        yield Case(f"{name}/mix/{a}-{b}", lambda both=both: guarded(both))


def _guarantees() -> Iterator[Case]:
    """Conversions and the partial order."""
    more = {
        "approx-zero": fugu.Approx(1, 0),
        "renyi-pure": fugu.Renyi(float("inf"), 1),
        "curve-pure": fugu.RenyiCurve({2: 0.1, 8: 0.5, float("inf"): 2}),
        "curve-delta": fugu.RenyiCurve({2: 0.1, 8: 0.5}, delta=1e-4),
        "infinite": fugu.Pure(float("inf")),
    }
    every = {**BUDGETS, **more}
    for name, given in every.items():
        for delta in (0, 1e-6, 1e-5, 1e-2, 0.5):
            told = f"guarantee/{name}/to-approx/{delta}"
            yield Case(told, lambda g=given, d=delta: guarded(lambda: _stated(g.to_approx(d))))
        for epsilon in (0, 0.5, 2):
            told = f"guarantee/{name}/delta-at/{epsilon}"
            if hasattr(given, "delta_at"):
                yield Case(told, lambda g=given, e=epsilon: guarded(lambda: g.delta_at(e)))
        if callable(given):
            for alpha in (1.5, 2, 5, 8, 20, float("inf")):
                yield Case(f"guarantee/{name}/at/{alpha}", lambda g=given, a=alpha: guarded(lambda: g(a)))
        order = {other: (given, h) for other, h in every.items()}
        yield Case(
            f"guarantee/{name}/order",
            lambda order=order: guarded(
                lambda: {o: f"<= {g <= h}, == {g == h}, < {g < h}" for o, (g, h) in order.items()}
            ),
        )
        yield Case(f"guarantee/{name}/repr", lambda g=given: plain(repr(g)))


def _wrong_use() -> Iterator[Case]:
    """What is refused before any search: names, budgets, options that belong elsewhere."""
    student = SHAPES["atoms-pair"].laws
    pure = fugu.Pure(1)
    wrong: dict[str, Callable[[], Any]] = {
        "noise": lambda: fugu.calibrate(student(), pure, noise="laplac"),
        "method": lambda: fugu.calibrate(student(), pure, method="exactt"),
        "objective": lambda: fugu.calibrate(student(), pure, objective="cubic"),
        "grid-zero": lambda: fugu.calibrate(student(), pure, grid=0),
        "grid-word": lambda: fugu.calibrate(student(), pure, grid="fine"),
        "budget-number": lambda: fugu.calibrate(student(), 1),
        "budget-infinite": lambda: fugu.calibrate(student(), fugu.Pure(float("inf"))),
        "budget-zero": lambda: mechanism(fugu.calibrate(student(), fugu.Pure(0))),
        "laws-none": lambda: fugu.calibrate([], pure),
        "laws-word": lambda: fugu.calibrate("laws", pure),
        "laws-mixed": lambda: fugu.calibrate([student(), SHAPES["vectors"].laws()], pure),
        "floor-of-scalars": lambda: fugu.calibrate(student(), pure, floor=1),
        "floor-negative": lambda: fugu.calibrate(SHAPES["normal-vectors"].laws(), BUDGETS["approx"], floor=-1),
        "compare-budget": lambda: fugu.compare(student(), "much"),
        "plan-negative": lambda: fugu.plan(student(), -1),
        "plan-objective": lambda: fugu.plan(student(), 1, objective="cubic"),
        "verify-nothing": lambda: fugu.verify(None),
        "against-nothing": lambda: fugu.guarantee_against(None, student()),
        "mix-share": lambda: fugu.mix(2, *[fugu.calibrate(student(), pure) for _ in range(2)]),
        "mix-beliefs": lambda: fugu.mix(
            0.5, fugu.calibrate(student(), pure), fugu.calibrate(SHAPES["atoms-wide"].laws(), pure)
        ),
        "epsilon-noise": lambda: fugu.epsilon(3, student()),
        "delta-negative": lambda: fugu.delta(fugu.Laplace(1), student(), -1),
        "renyi-order": lambda: fugu.renyi(fugu.Laplace(1), student(), 1),
        "off-the-lattice": lambda: fugu.epsilon(fugu.Laplace(1, grid=2), student()),
        "wasserstein-order": lambda: fugu.wasserstein(fugu.Discrete([0]), fugu.Discrete([1]), order=0.5),
        "closeness-delta": lambda: fugu.closeness(fugu.Discrete([0]), fugu.Discrete([1]), 2),
        "release-without-noise": lambda: fugu.calibrate(student(), pure).release(1),
    }
    for name, call in wrong.items():
        yield Case(f"wrong-use/{name}", lambda call=call: guarded(call))
