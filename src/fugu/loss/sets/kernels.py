"""`Kernel`: how the mass of lattice noise falls with the distance in lattice steps, not normalised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.numbers import balls

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Kernel:
    """g(d) = e^{-decay |d|^power}: power 1 is Laplace noise, 2 is Gaussian noise; decay None is no noise."""

    decay: Fraction | None
    power: int = 1

    @staticmethod
    def of(noise: Laplace | Gaussian) -> Kernel:
        """Of lattice noise."""
        power = 2 if isinstance(noise, Gaussian) else 1
        return Kernel(None if noise.silent else noise.decay, power)

    @staticmethod
    def laplace(steps: float) -> Kernel:
        """Of Laplace noise of a scale in lattice steps."""
        return Kernel(1 / Fraction(steps) if steps else None)

    @staticmethod
    def gaussian(steps: float) -> Kernel:
        """Of Gaussian noise of a scale in lattice steps."""
        return Kernel(1 / (2 * Fraction(steps) ** 2) if steps else None, 2)

    @property
    def scans(self) -> bool:
        """Whether g(d + e) = g(d) g(e): then sums over many points follow from neighbouring ones."""
        return self.decay is None or self.power == 1

    @property
    def steps(self) -> float:
        """The scale of Laplace noise; 0 for none."""
        return 0.0 if self.decay is None else float(1 / self.decay)

    def floats(self, distances: Whole) -> Floats:
        """g in doubles."""
        if self.decay is None:
            here: Floats = (distances == 0).astype(np.float64)
            return here
        with np.errstate(over="ignore", under="ignore"):
            found: Floats = np.exp(-float(self.decay) * distances.astype(np.float64) ** self.power)
        return found

    def proved(self) -> Callable[[int], arb]:
        """g in balls of the precision that is set, remembered."""
        known = {0: arb(1)}
        slope = None if self.decay is None else -balls.of(self.decay)

        def at(distance: int) -> arb:
            found = known.get(distance)
            if found is None:
                found = arb(0) if slope is None else (slope * distance**self.power).exp()
                known[distance] = found
            return found

        return at
