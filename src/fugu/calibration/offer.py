"""`Offer`: what one method asks for, whatever the laws and the noise. The driver knows offers, not what is behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.aliases import own_method, own_noise
from fugu.calibration.comparison import Row
from fugu.errors import UsageError
from fugu.guarantee.asks import Ask
from fugu.guarantee.curve import Guarantee
from fugu.mechanism.additive import Additive
from fugu.mechanism.analysis import Analysis
from fugu.mechanism.channel import ChannelMechanism
from fugu.mechanism.context import Context
from fugu.mechanism.correlated import CorrelatedAdditive
from fugu.mechanism.directed import DirectedAdditive
from fugu.mechanism.record_swap import RecordSwapAdditive
from fugu.mechanism.vector import VectorAdditive
from fugu.noise.kind import Objective
from fugu.noise.lattice import as_grid
from fugu.numbers.exact import Real, number

Calibrated = (
    Additive | VectorAdditive | Analysis | CorrelatedAdditive | ChannelMechanism | RecordSwapAdditive | DirectedAdditive
)


@dataclass(frozen=True, eq=False)
class Wishes:
    """What the user asks of the noise beyond the budget."""

    method: str = "best"
    grid: Fraction | None = None
    """None: as coarse or as fine as the laws and the proof allow."""
    declared_exact: bool = False
    floor: float | None = None
    """The least variance in every direction, each statistic in units of its own deviation under the laws; None: a
    sixteenth of what isotropic noise would have."""
    weight: NDArray[np.float64] | None = None
    objective: Objective = "absolute"
    model: object | None = None
    """The model of a property behind the laws, where there is one: baselines need the ranges of its records."""
    noise: str = "best"
    names: tuple[str, ...] | None = None
    """The categories that are published, where they have no order."""
    cap: Fraction | None = None
    """The most epsilon against anybody, whatever is believed of a record."""

    @staticmethod
    def of(
        method: str,
        grid: Real | str,
        declared_exact: bool = False,
        floor: float | None = None,
        weight: ArrayLike | None = None,
        objective: Objective = "absolute",
        model: object | None = None,
        noise: str = "best",
        cap: Real | None = None,
    ) -> Wishes:
        """Wishes as a user states them, checked; what the papers call a method or a noise becomes fugu's name."""
        if not isinstance(method, str):
            raise UsageError(f"method must be a name such as 'best', got a {type(method).__name__}")
        if floor is not None and not 0 <= floor < float("inf"):
            raise UsageError(f"floor must be a finite variance >= 0, got {floor!r}")
        matrix = None if weight is None else np.asarray(weight, dtype=np.float64)
        if matrix is not None and (matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]):
            raise UsageError(f"weight must be a square matrix, got shape {matrix.shape}")
        step = None if grid == "auto" else as_grid(grid)
        named = own_method(method), own_noise(noise)
        most = None if cap is None else number(cap, "cap")
        if most == 0:
            raise UsageError("cap is the most epsilon against anybody: a number above 0, got 0")
        return Wishes(named[0], step, declared_exact, floor, matrix, objective, model, named[1], cap=most)

    @property
    def only_normal(self) -> bool:
        """Whether something is asked that is known for normal laws of vectors alone."""
        return self.declared_exact or self.floor is not None or self.weight is not None


class Offer(ABC):
    """A noise that a method proposes, not proved yet; or why the method has none."""

    method: str
    noise: str

    @property
    @abstractmethod
    def refusal(self) -> str | None:
        """Why there is nothing to prove; None if there is."""

    @abstractmethod
    def rank(self, objective: Objective) -> tuple[float, float, bool]:
        """What to choose by: the expected error, then the scale (some errors are infinite), then the exact method."""

    @abstractmethod
    def mechanism(self, budget: Guarantee, ask: Ask, context: Context) -> Calibrated:
        """Prove the noise and seal the certificate; what is not proved becomes nothing (`NotProvable`)."""

    @abstractmethod
    def row(self, ask: Ask) -> Row:
        """The line of a comparison, proved or not."""


class Search(Protocol):
    """How offers are found for one shape of laws."""

    def stages(self, refusals: list[str]) -> Iterator[list[Offer]]:
        """Offers in stages: the next stage is worked out only if nothing of the last one could be proved."""

    def everything(self) -> list[Any]:
        """Every method, beaten or not: offers, or finished rows of what was refused as a whole."""
