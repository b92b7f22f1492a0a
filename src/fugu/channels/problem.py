"""What a channel must do, and what a solver hands back: nothing here is a proof, `repair` and `bounds` prove."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadBudget, BadLaw, UsageError
from fugu.laws.masses import Masses

if TYPE_CHECKING:
    from fugu.laws.sets.law_set import LawSet

_SUM = 1e-9
"""How far a weight may be from the sum 1: rounding, not a choice."""


@dataclass(frozen=True, eq=False)
class ChannelProblem:
    """Least expected loss sum_x w_x sum_y K(y|x) loss(x, y) of a channel K that protects the pairs of laws.

    Pure: sum_x p(x) K(y|x) <= e^epsilon sum_x q(x) K(y|x) for every output y, every pair in both orders, and every
    p and q of the two sides (each side is one law, or a set of laws; the members are chosen independently). With
    delta: sum_y [sum_x (p(x) - e^epsilon q(x)) K(y|x)]_+ <= delta.

    - `laws`: one for each secret of each adversary, all on the same n points.
    - `pairs`: places in `laws`; each pair is protected in both orders.
    - `epsilon`, `delta`: the budget, exact.
    - `loss`: n rows, m columns; finite and not negative.
    - `weight`: the n weights of the expected loss, sum 1, declared or from the reference, never from private rows;
      None asks for the least loss under the worst of the laws.
    - `cap`: K(y|x) <= e^cap K(y|x') for all x, x', y: what any belief at all can learn; None for no such limit.
    - `monotone`: whether K(.|x) must grow with x: sum_{y <= z} K(y|x) is not increasing in x.
    - `points`: the values of the n points, increasing; None for labels without an order.
    - `outputs`: the published values, one for each column of `loss`; None for labels.

    Raises `BadLaw`, `BadBudget` and `UsageError`, each with the parameter that is wrong.
    """

    laws: tuple[Masses | LawSet, ...]
    pairs: tuple[tuple[int, int], ...]
    epsilon: Fraction
    loss: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    delta: Fraction = Fraction(0)
    cap: Fraction | None = None
    monotone: bool = False
    points: NDArray[np.float64] | None = None
    outputs: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        _check_loss(self.loss)
        for s, law in enumerate(self.laws):
            if atoms(law) != self.n:
                raise BadLaw(f"law {s} has {atoms(law)} points, the loss has {self.n} rows; all need the same points")
        for s, t in self.pairs:
            if not (0 <= s < len(self.laws) and 0 <= t < len(self.laws)) or s == t:
                raise UsageError(f"the pair ({s}, {t}) does not name two of the {len(self.laws)} laws")
        if self.epsilon < 0 or not 0 <= self.delta < 1 or (self.cap is not None and self.cap < 0):
            raise BadBudget("a channel needs epsilon >= 0, 0 <= delta < 1 and a cap >= 0 if there is one")
        if self.weight is None and not self.laws:
            raise UsageError("the worst of no laws is not defined: give laws, or a weight")
        if self.weight is not None:
            _check_weight(self.weight, self.n)
        for name, array, size in (("points", self.points, self.n), ("outputs", self.outputs, self.m)):
            if array is not None and (array.shape != (size,) or not np.all(np.isfinite(array))):
                raise UsageError(f"{name} must be {size} finite numbers, got shape {array.shape}")
        if self.points is not None and not np.all(np.diff(self.points) > 0):
            raise UsageError("points must increase strictly, one for each row of the loss")
        if self.monotone and (self.points is None or self.outputs is None or np.any(np.diff(self.outputs) <= 0)):
            raise UsageError("a monotone channel needs points and outputs with an order: give both, increasing")

    @property
    def n(self) -> int:
        """How many points the laws have."""
        return int(self.loss.shape[0])

    @property
    def m(self) -> int:
        """How many values may be published."""
        return int(self.loss.shape[1])

    @property
    def robust(self) -> bool:
        """Whether some law is a set of laws."""
        return not all(isinstance(law, Masses) for law in self.laws)

    def ordered(self) -> list[tuple[int, int]]:
        """The pairs in both orders: (s, t) then (t, s) for each pair, which is the order of the rows of `Prices`."""
        return [c for s, t in self.pairs for c in ((s, t), (t, s))]


@dataclass(frozen=True, eq=False)
class Prices:
    """A solver's dual: what each promise costs. Any numbers give a true lower bound (`bounds.lower`), good ones a tight
    one; they are read as exact binary numbers and clipped to what the theorem asks for.

    - `ratio`: alpha >= 0, one row for each of `problem.ordered()`, one column for each output.
    - `shares`: in place of `ratio`, one row g for each law (point laws only, every group of laws protected in all
      pairs): sum_s g_s^- >= e^epsilon sum_s g_s^+ within each group and output.
    - `mix`: for the worst of the laws, the weight of each law; `mixed` its member (laws, points) where laws are sets.
    - `upper`, `lower`: (laws, outputs, points), for sets: the member of the numerator and of the denominator.
    - `cap`: (points, outputs), the price of the cap with its sign.
    - `rise`: (points - 1, outputs - 1), >= 0, the price of being monotone.
    """

    ratio: NDArray[np.float64] | None = None
    shares: NDArray[np.float64] | None = None
    mix: NDArray[np.float64] | None = None
    mixed: NDArray[np.float64] | None = None
    upper: NDArray[np.float64] | None = None
    lower: NDArray[np.float64] | None = None
    cap: NDArray[np.float64] | None = None
    rise: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """A channel in doubles, before it is made exact.

    - `matrix`: n rows that sum to 1 up to rounding, m columns.
    - `prices`: the dual, for `bounds.lower`; None if the solver has none.
    - `gap`: the solver's own distance from the optimum, for progress and tests only.
    """

    matrix: NDArray[np.float64]
    prices: Prices | None
    gap: float


def atoms(law: Masses | LawSet) -> int:
    """How many points a law or a set of laws has."""
    return int(law.parts.size if isinstance(law, Masses) else law.values.size)


def _check_loss(loss: NDArray[np.float64]) -> None:
    if loss.ndim != 2 or 0 in loss.shape:
        raise UsageError(
            f"the loss needs one row for each point and one column for each output, got shape {loss.shape}"
        )
    if not np.all(np.isfinite(loss)) or loss.min() < 0:
        raise UsageError("every loss must be a finite number that is not negative")


def _check_weight(weight: NDArray[np.float64], n: int) -> None:
    if weight.shape != (n,):
        raise UsageError(f"the weight needs one number for each of the {n} points, got shape {weight.shape}")
    if not np.all(np.isfinite(weight)) or weight.min() < 0:
        raise UsageError("every weight must be a finite number that is not negative")
    if abs(float(weight.sum()) - 1) > _SUM:
        raise UsageError(f"the weights must sum to 1, got {float(weight.sum()):.12g}")
