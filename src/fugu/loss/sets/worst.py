"""Two laws of a pair of sets that are worst at one output, in doubles: what an attack uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fugu.laws.set_family import SetFamily
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.reach import at_points
from fugu.noise import Gaussian, Laplace

Floats = NDArray[np.float64]


def worst_laws(family: SetFamily, noise: Laplace | Gaussian) -> tuple[Floats, Floats]:
    """The laws of the first pair that attain N and D at the declared value where N / D is largest, in either order."""
    kernel = Kernel.of(noise)
    pair, known = family.pairs[0], at_points(family)
    masses = {k: known[k].floats(kernel) for k in pair}
    found = []
    for i, j in (pair, pair[::-1]):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.nan_to_num(masses[i][0] / np.maximum(masses[j][1], 0.0), nan=0.0)
        k = int(np.argmax(ratio))
        found.append((float(ratio[k]), k, i, j))
    _, k, i, j = max(found)
    column = kernel.floats(np.abs(family.points - family.points[k]))
    most, least = _law(family.sets[i].extreme(column)), _law(family.sets[j].extreme(-column))
    return (most, least) if (i, j) == pair else (least, most)


def _law(weights: Floats) -> Floats:
    """Rounding taken out: no weight below 0, and 1 in all."""
    held = np.maximum(weights, 0.0)
    law: Floats = held / held.sum()
    return law
