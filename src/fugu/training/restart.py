"""A bounded domain: at any time the iterates are at most its diameter apart, whatever came before.

With the order project, gradient, noise (and projection at the end) both iterates are in K when step t + 1 uses them:
start there with the distance Diam(K) and drop all earlier steps. Every start is a proof; the least of many is taken.
(Altschuler and Talwar 2022.) In the printed order, noise after the projection, iterates leave K, where bounds that hold
on K say nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from fugu.training.steps import Steps

_ALL, _RATIO = 16, 1.2


def least(steps: Steps, diameter: float | None, price: Callable[[Steps], float]) -> float:
    """The least price over all starts that are tried: from the beginning, or from the diameter at some step.

    Starts are tried at the last steps, then ever farther back in a geometric grid, then around the best one."""
    best = price(steps)
    if diameter is None or best == 0:
        return best
    count = steps.shifts.size
    known: dict[int, float] = {}

    def at(left: int) -> float:
        if left not in known:
            known[left] = price(steps.since(count - left, diameter))
        return known[left]

    found = min(_grid(count), key=at)
    step = max(1, int(found * (_RATIO - 1)))
    while step:
        found = min((n for n in (found - step, found, found + step) if 1 <= n <= count), key=at)
        step //= 2
    return min(best, at(found))


def _grid(count: int) -> list[int]:
    """How many of the last steps are kept: all small numbers, then a geometric grid."""
    found = list(range(1, min(count, _ALL) + 1))
    while found[-1] < count:
        found.append(min(count, int(found[-1] * _RATIO) + 1))
    return found
