"""`Analysis`: noise that is proved on paper and not released, because no exact sampler of it is proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, final

import numpy as np

from fugu.errors import NotProvable
from fugu.mechanism.mechanism import Column, Mechanism
from fugu.mechanism.post import Step
from fugu.mechanism.release import Published, Release, Simulated
from fugu.noise.bits import BitSource
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.noise.kind import Objective


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Analysis(Mechanism):
    """Continuous noise with a proved guarantee in real arithmetic; `release` and `simulate` are refused."""

    noise: GeneralizedCauchy

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N| or E N^2; infinite where the tails are too heavy."""
        return self.noise.expected_error(objective)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(-h, h): the noise lies in it with at least this probability."""
        half = self.noise.quantile(level)
        return (-half, half)

    def release(self, values: object, *, allow_no_noise: bool = False, already_mapped: bool = False) -> Release:  # noqa: ARG002
        """Refused: what a computer would draw is not what was proved."""
        self._refuse()

    def simulate(
        self,
        values: object,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
        *,
        already_mapped: bool = False,  # noqa: ARG002
    ) -> Simulated[Published]:
        """Refused, for the same reason."""
        self._refuse()

    def then(self, f: Step, name: str | None = None) -> Analysis:  # noqa: ARG002
        """Refused: there is nothing to process."""
        self._refuse()

    def _silent(self) -> bool:
        return self.noise.scale == 0

    def _draw(self, column: Column, source: BitSource) -> Column:  # noqa: ARG002
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NotProvable(
            "generalised Cauchy noise is for analysis only: its guarantee is for real numbers, and no exact sampler on "
            "a lattice is proved. Release with noise='laplace' or 'gaussian'"
        )

    def __repr__(self) -> str:
        return f"Analysis({self.noise!r}, {self.guarantee!r}, method={self.certificate.method!r})"
