"""How the library shares out what noise must hide, step by step: what `covered` adds up."""

from __future__ import annotations

import numpy as np

from fugu.training.allocation import Steps, feasible, isotonic


def allocation(shifts, scales, contraction=1.0):
    """How much of the distance the noise of each step hides, at the least sum of squares relative to the scales."""
    steps = Steps.read(shifts, scales, contraction).recent()
    found = np.zeros(np.size(shifts))
    if steps.shifts.any():
        hidden = feasible(steps, isotonic(steps))
        found[found.size - hidden.size :] = hidden
    return found
