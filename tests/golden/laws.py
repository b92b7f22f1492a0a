"""The beliefs and budgets of the golden record: every shape of law there is, built by public names alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import fugu
from fugu import Discrete, LawPair, MultivariateNormal, Normal, NormalMixture, Scenario, Shifted

BUDGETS = {
    "pure": fugu.Pure(1),
    "pure-small": fugu.Pure(0.1),
    "approx": fugu.Approx(1, 1e-6),
    "renyi": fugu.Renyi(2, 0.5),
    "renyi-delta": fugu.Renyi(2, 0.5, 1e-3),
    "curve": fugu.RenyiCurve({2: 0.5, 8: 1}),
}
NOISES = ("best", "laplace", "gaussian", "cauchy")
SCALAR = (
    "l1", "wasserstein", "relaxed-paper", "relaxed", "exact", "closeness", "gaussian-prior", "gaussian-prior-lambert",
    "mixture-coupling", "transport", "partial-transport", "conditioned", "cauchy-moments",
)  # fmt: skip
VECTOR = ("wasserstein", "closeness", "transport", "exact")
NORMAL = (
    "group", "record-group", "expected-value", "directional", "eigenvector", "directional-uncertainty", "optimal",
)  # fmt: skip
EVERY_METHOD = tuple(dict.fromkeys((*SCALAR, *VECTOR, *NORMAL)))


@dataclass(frozen=True)
class Shape:
    """Beliefs to protect, others to judge the mechanism by, and what is worth asking of them."""

    laws: Callable[[], Any]
    """Makes what `calibrate` is given: only when a case runs, so that a law that fails is a difference of that case."""
    other: Callable[[], Any]
    """Makes the beliefs of another adversary."""
    values: Any
    """What is simulated."""
    methods: tuple[str, ...] = SCALAR
    grid: Fraction = Fraction(1, 4)
    """A lattice that the user states."""
    options: dict[str, Any] = field(default_factory=dict)
    """What else `calibrate` is told."""
    few: bool = False
    """Whether hardly any method is asked for by name."""
    budgets: tuple[str, ...] = tuple(BUDGETS)
    """The budgets to try: fewer where a proof takes long and another shape stands for the same code."""

    @property
    def compared(self) -> dict[str, Any]:
        """What `compare` is told; it knows no weight."""
        return {name: value for name, value in self.options.items() if name != "weight"}


def pair(values: Any, p: Any, q: Any, label: str = "") -> LawPair:
    """Two laws on the same atoms."""
    return LawPair(Discrete(values, p), Discrete(values, q), label)


def normal_pair(p: tuple[Any, Any], q: tuple[Any, Any]) -> LawPair:
    """Two normal laws of a vector."""
    return LawPair(MultivariateNormal(*p), MultivariateNormal(*q), "p vs q")


def first() -> dict[str, Discrete]:
    """What one adversary believes of three secrets."""
    counts = {"a": [5, 3, 2], "b": [3, 4, 3], "c": [2, 3, 5]}
    return {secret: Discrete([0, 1, 2], weights) for secret, weights in counts.items()}


def second() -> dict[str, Discrete]:
    """What another one believes."""
    return {"a": Discrete([0, 1, 3], [6, 3, 1]), "b": Discrete([0, 1, 3], [4, 4, 2]), "c": Discrete([1, 3], [1, 1])}


def sums() -> LawPair:
    """Sums by FFT: known up to an error in total variation."""
    return LawPair(*(Discrete([0, 1, 3], w).iid_sum(12, method="fft") for w in ([0.5, 0.4, 0.1], [0.45, 0.4, 0.15])))


def mixtures() -> LawPair:
    """Two bells in two proportions and places."""
    return LawPair(NormalMixture([0.6, 0.4], [0, 4], [1, 1]), NormalMixture([0.4, 0.6], [2, 5], [1, 1]))


def swapped(given: LawPair) -> LawPair:
    """The same pair, the other way round."""
    return LawPair(given.q, given.p)


_COV, _WIDER = [[1, 0.3], [0.3, 2]], [[1.2, 0.3], [0.3, 2]]


def shared() -> LawPair:
    """Normal vectors of one covariance."""
    return normal_pair(([0, 0], _COV), ([1, 0.5], _COV))


def unequal() -> LawPair:
    """Normal vectors of two covariances."""
    return normal_pair(([0, 0], _COV), ([1, 0.5], _WIDER))


def farther() -> LawPair:
    """Normal vectors whose means are farther apart."""
    return normal_pair(([0, 0], _COV), ([1.5, 0.5], _COV))


def three() -> list[LawPair]:
    """Two pairs of normal vectors in three dimensions."""
    cov = np.diag([1.0, 2.0, 0.5])
    means = {"one": [1, 0, 0.25], "two": [0, 1.5, 0.5]}
    return [LawPair(MultivariateNormal([0, 0, 0], cov), MultivariateNormal(m, cov), n) for n, m in means.items()]


TABLE: dict[str, list[Any]] = {
    "person": [f"p{i}" for i in range(24)],
    "sex": ["F", "M"] * 12,
    "ward": ["a", "b", "c"] * 8,
    "chol": [180, 210, 200, 240, 190, 230, 205, 215, 180, 260, 195, 240, 220, 210, 185, 250, 200, 235, 190, 225, 210,
             245, 180, 230],
}  # fmt: skip
RECORDS: dict[str, list[Any]] = {
    "age": [20 + (7 * i) % 45 for i in range(120)],
    "hours": [30 + (11 * i) % 25 for i in range(120)],
    "income": [">50K" if (5 * i) % 7 < 3 else "<=50K" for i in range(120)],
}


def schema() -> fugu.Schema:
    """How the columns of the table are read."""
    return fugu.Schema(
        {
            "chol": {"kind": "number", "bounds": (100, 300), "step": 10, "outside": "clip", "missing": 200},
            "sex": {"kind": "category", "values": ["F", "M"], "outside": "F", "missing": "F"},
        }
    )


def table(protect: str = "sex", times: float = 1, **more: Any) -> Scenario:
    """Cholesterol, published from a small table."""
    scaled = {**TABLE, "chol": [round(times * x) for x in TABLE["chol"]]}
    return Scenario.from_table(scaled, publish="chol", protect=protect, **more)


def shares(size: int = 100, **more: Any) -> Scenario:
    """Means of records, given the share that earns much."""
    asked = {"values": [0.4, 0.45, 0.5], "tolerance": 0.05, **more}
    return Scenario.from_property(RECORDS, ["mean(age)", "mean(hours)"], "income=>50K", size, **asked)


_FOUR = ("pure", "pure-small", "approx", "renyi")
_SCALARS = [-3.0, 0.0, 0.4, 1.0, 1.75, 2.5, 9.0]
_CHOLESTEROL = [150, 180, 207, 300]
_ROWS = [[0.0, 0.0], [0.6, 0.2], [1.0, 1.0], [7.0, -2.0]]
_POINTS = [[0, 0], [1, 0], [1, 1], [3, 1]]


def _scalar(laws: Callable[[], Any], other: Callable[[], Any], **more: Any) -> Shape:
    return Shape(laws, other, _SCALARS, **more)


def _vector(laws: Callable[[], Any], other: Callable[[], Any], **more: Any) -> Shape:
    return Shape(laws, other, _ROWS, VECTOR, **more)


def _normal(laws: Callable[[], Any], other: Callable[[], Any], **more: Any) -> Shape:
    return Shape(laws, other, _ROWS, NORMAL, **more)


def _table(laws: Callable[[], Any], other: Callable[[], Any], **more: Any) -> Shape:
    return Shape(laws, other, _CHOLESTEROL, **more)


SHAPES = {
    "atoms-pair": _scalar(lambda: pair([0, 1], [376, 204], [34, 35]), lambda: pair([0, 1], [7, 3], [3, 7])),
    "atoms-wide": _scalar(
        lambda: pair([0, 1, 2.5, 6], [6, 2, 1, 1], [1, 2, 3, 4], "low vs high"), lambda: pair([0, 2], [9, 1], [2, 8])
    ),
    "atoms-several": _scalar(lambda: Scenario([first(), second()]), lambda: Scenario(second())),
    "atoms-adjacent": _scalar(
        lambda: Scenario([first(), second()], pairs="adjacent"),
        lambda: Scenario([first(), second()]),
        few=True,
        budgets=_FOUR,
    ),
    "normal-translates": _scalar(
        lambda: LawPair(Normal(0, 1), Normal(2, 1)),
        lambda: LawPair(Normal(0, 1), Normal(2.5, 1)),
        few=True,
        budgets=("pure", "approx"),
    ),
    "normal": _scalar(
        lambda: LawPair(Normal(0, 1), Normal(2, 1.5)),
        lambda: LawPair(Normal(0, 1), Normal(2.5, 1.5)),
        budgets=(*_FOUR, "curve"),
    ),
    "normal-delta": _scalar(
        lambda: LawPair(Normal(0, 1), Normal(2, 1.5)),
        lambda: LawPair(Normal(0, 1), Normal(2.5, 1.5)),
        budgets=("renyi-delta",),
        few=True,
    ),
    "mixture": _scalar(mixtures, lambda: swapped(mixtures()), few=True, budgets=("pure", "approx", "renyi")),
    "atom-and-normal": _scalar(
        lambda: LawPair(NormalMixture([0.5, 0.5], [0, 1], [0, 1]), NormalMixture([0.2, 0.8], [0, 3], [0, 1])),
        lambda: LawPair(Normal(0, 1), Normal(1, 1)),
        few=True,
        budgets=("pure", "approx", "renyi"),
    ),
    "shifted": _scalar(lambda: Shifted(5), lambda: Shifted(7)),
    "vectors": _vector(
        lambda: pair(_POINTS, [6, 2, 1, 1], [1, 2, 3, 4]), lambda: pair(_POINTS, [1, 1, 1, 1], [1, 2, 3, 4])
    ),
    "vectors-shifted": _vector(lambda: Shifted((1, 2)), lambda: Shifted((2, 2)), few=True),
    "normal-vectors": _normal(shared, farther),
    "normal-vectors-exact": _normal(shared, farther, options={"declared_exact": True}),
    "normal-vectors-floor": _normal(shared, farther, options={"floor": 0.5}, few=True),
    "normal-vectors-weight": _normal(
        shared, farther, options={"weight": [[2, 0], [0, 1]], "declared_exact": True}, few=True
    ),
    "normal-vectors-unequal": _normal(unequal, farther),
    "normal-vectors-three": Shape(three, lambda: three()[:1], [[0.0, 0.0, 0.0], [1.0, 0.5, 2.25]], NORMAL, few=True),
    "sum": _scalar(sums, lambda: swapped(sums())),
    "sum-exact": _scalar(
        lambda: LawPair(Discrete([0, 1], [9, 1]).iid_sum(30), Discrete([0, 1], [8, 2]).iid_sum(30)), sums, few=True
    ),
    "table": _table(lambda: table(unit="person"), lambda: table(times=1.1), grid=Fraction(5)),
    "table-schema": _table(lambda: table(schema=schema(), public_prior=True), lambda: table("ward"), few=True),
    "table-bins": _table(lambda: table("ward", bins=3, pairs="adjacent"), table, few=True),
    "property": _normal(shares, lambda: shares(110)),
    "property-swept": _normal(
        lambda: shares(30, values=None, tolerance=0.3), lambda: shares(60), few=True, budgets=("pure", "renyi")
    ),
    "group": _scalar(lambda: Scenario.group(3), lambda: Scenario.group(4), few=True),
    "takes-part": _scalar(
        lambda: Scenario.takes_part(Discrete([0, 1, 2]), Discrete([0, 1]), 10),
        lambda: pair([0, 5], [1, 2], [2, 1]),
        few=True,
    ),
    "weakly-dependent": _scalar(lambda: Scenario.weakly_dependent(0.5, 1), lambda: Shifted(3), few=True),
    "langevin": _scalar(lambda: Scenario.langevin(1, [1, 2], 2), lambda: Shifted(2), few=True),
    "attributes": _scalar(
        lambda: Scenario.gaussian_attributes([[1, 0.5], [0.5, 1]], release=1, protect=0, values=[0, 1]),
        lambda: Shifted(2),
        few=True,
    ),
}
"""Every shape by the name that its case ids begin with."""
