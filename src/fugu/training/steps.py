"""The steps of a noisy iteration as arrays: how far each moves the iterate apart, and how much it brings together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise, UsageError

Floats = NDArray[np.float64]
UNIT = 2.0**-53
_WIDEST, _FARTHEST, _COUNTS = 1e30, 1e100, 1e-60


@dataclass(frozen=True, eq=False)
class Steps:
    """T steps z -> c_t z + s_t: `shifts` s_t >= 0, `contraction` 0 <= c_t <= 1, `scales` of the noise, > 0.

    `contraction` and `scales` have length T too, or 1 if they are the same at every step.
    """

    shifts: Floats
    scales: Floats
    contraction: Floats

    @classmethod
    def read(cls, shifts: Any, scales: Any, contraction: Any) -> Steps:
        """Check what a user gave; steps before one that forgets everything (c_t = 0) are left out."""
        s = array(shifts, "shifts")
        if s.ndim != 1 or s.size == 0:
            raise UsageError("shifts must be a list of numbers, one for each step, and at least one")
        if s.min() < 0:
            raise UsageError(f"shifts are distances and must be >= 0; number {int(np.argmin(s)) + 1} is negative")
        if s.max() > _FARTHEST:
            raise UsageError("shifts above 1e100 cannot be told from infinity; choose another unit")
        s = np.where((s > 0) & (s < 1 / _FARTHEST), 1 / _FARTHEST, s)  # more than it was: safe, and far from underflow
        b, c = (_per_step(x, s.size, name) for x, name in ((scales, "noise"), (contraction, "contraction")))
        if b.min() <= 0:
            raise BadNoise("noise must be above 0 at every step: it is the standard deviation added to the iterate")
        if not (b.min() > 1 / _FARTHEST and b.max() < _FARTHEST):
            raise BadNoise("noise must lie between 1e-100 and 1e100; choose another unit")
        if b.max() / b.min() > _WIDEST:
            raise BadNoise("the noise of two steps differs by more than 1e30; leave out steps with next to no noise")
        if c.min() < 0 or c.max() > 1:
            raise UsageError(
                "contraction must lie between 0 and 1: a map that moves points apart hides nothing that came before; "
                "lower the learning rate to at most 2 / smoothness"
            )
        found = cls(s, b, c)
        forgets = np.flatnonzero(c == 0)
        return found.since(int(forgets[-1])) if forgets.size and c.size > 1 else found

    def since(self, start: int, before: float = 0.0) -> Steps:
        """Only the steps from number `start` on; `before`: how far apart the iterates are when it begins."""
        shifts = self.shifts[start:]
        if before:
            kept = float(self.contraction[start if self.contraction.size > 1 else 0])
            shifts = np.concatenate(([shifts[0] + kept * before * (1 + 4 * UNIT)], shifts[1:]))
        scales, contraction = (x[start:] if x.size > 1 else x for x in (self.scales, self.contraction))
        return Steps(shifts, scales, contraction)

    def recent(self) -> Steps:
        """The last steps, of weight 1e-60 and more: earlier noise hides next to nothing, and is not used.

        How far apart the earlier steps leave the iterates, from above, is where these begin."""
        weights = self.weights()
        if weights[0] >= _COUNTS:
            return self
        start = int(np.searchsorted(weights, _COUNTS))
        early = Steps(self.shifts[:start], self.scales[:1], self.contraction[:start])
        with np.errstate(under="ignore"):
            left = float(np.sum(early.weights() * early.shifts)) * (1 + (3 * start + 8) * UNIT)
        return self.since(start, left + 1e-300 * float(np.sum(early.shifts)))

    @property
    def alike(self) -> bool:
        """No contraction and one noise: then the least allocation is the same for every convex cost."""
        return self.contraction.size == 1 and self.contraction[0] == 1 and self.scales.size == 1

    def weights(self) -> Floats:
        """w_t = c_{t+1} ... c_T: how much of a distance after step t is left at the end. Relative to the end, so that
        what underflows is what no longer matters."""
        if self.contraction.size == 1:
            c = float(self.contraction[0])
            if c == 1:
                return np.ones(1)
            factors = np.full(self.shifts.size, c)
            factors[0] = 1.0
        else:
            factors = np.concatenate(([1.0], self.contraction[:0:-1]))
        return np.asarray(np.cumprod(factors)[::-1])


def array(given: Any, name: str) -> Floats:
    """Finite numbers as floats; truth values and masked entries are none."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{name} must be numbers") from None
    if np.asarray(given).dtype.kind == "b" or isinstance(given, np.ma.MaskedArray):
        raise UsageError(f"{name} must be numbers, not truth values or a masked array")
    if not np.isfinite(found).all():
        raise UsageError(f"{name} must be finite numbers; there is a NaN or an infinity")
    return found


def _per_step(given: Any, steps: int, name: str) -> Floats:
    found = np.atleast_1d(array(given, name))
    if found.shape not in ((1,), (steps,)):
        raise UsageError(f"{name} must be one number or one for each of the {steps} steps")
    return found[:1] if bool((found == found[0]).all()) else found
