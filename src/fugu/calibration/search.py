"""The least scale at which a loss that never grows with the scale meets its target, from the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask
from fugu.laws.shapes import Shape
from fugu.loss.door import guess, leakage
from fugu.noise.kind import Kind

_RELATIVE = 1e-11
_SMALLEST = 1e-290


def least(item: Shape, ask: Ask, kind: Kind) -> float:
    """The least scale of a kind of noise, in lattice steps, at which the tight loss in doubles meets what is asked."""
    known = leakage(item.shape, kind.name)
    if item.same:
        return 0.0
    known.require(item, ask)
    exact = known.known(item, ask)
    if exact is not None:
        return exact
    if ask.impossible:
        return math.inf
    found = least_scale(lambda steps: guess(item, kind, ask, steps), ask.target, lambda: known.start(item, ask))
    return min(found, known.sure(item, ask))


def least_scale(loss: Callable[[float], float], target: float, upper: float | Callable[[], float]) -> float:
    """A scale with loss(scale) <= target and loss(scale (1 - 1e-11)) > target; 0 if no noise is needed.

    `loss` is non-increasing (docs/proofs/laplace.md) and `loss(upper) <= target` up to rounding. Brackets downwards
    from `upper`, then narrows; the end that meets the target is the one returned, so a wrong guess costs time, never
    soundness."""
    if loss(0.0) <= target:
        return 0.0
    high = upper() if callable(upper) else upper
    if not math.isfinite(high):
        raise NotProvable("the noise that this budget asks for is beyond the range of doubles; rescale the values")
    for attempt in range(60):
        at_high = loss(high)
        if at_high <= target:
            break
        high *= 1 + 1e-9 if attempt < 3 else 2
        if math.isinf(high):
            raise NotProvable("the noise that this budget asks for is beyond the range of doubles; rescale the values")
    else:
        raise NotProvable(
            "no scale within reach meets the budget; it is below what floating point can tell from zero: ask for a "
            "larger epsilon or delta"
        )
    while high > _SMALLEST:
        # the loss of distant laws falls like 1 / scale: jump there, and a little below
        guess = min(high / 2, 0.98 * high * at_high / target) if 0 < at_high < target else high / 8
        low = max(guess, high / 1024)
        at_low = loss(low)
        if at_low > target:
            return _narrow(loss, target, (low, at_low), (high, at_high))
        high, at_high = low, at_low
    return high


def _narrow(
    loss: Callable[[float], float], target: float, low: tuple[float, float], high: tuple[float, float]
) -> float:
    """Shrink a bracket with loss(low) > target >= loss(high) to relative width 1e-11.

    Regula falsi in (log scale, log loss), which is nearly straight, with halved weights (Illinois) and a step just past
    the estimate, so that both ends close in; every third step that shrinks the bracket little is a bisection."""
    (a, loss_a), (b, loss_b) = low, high
    weight_a = weight_b = 1.0
    last = 0
    for step in range(300):
        if b - a <= _RELATIVE * b:
            break
        width = math.log(b / a)
        above, below = _height(loss_a, target), _height(loss_b, target)
        share = 0.5
        if step % 4 != 3 and math.isfinite(above) and math.isfinite(below) and above > below:
            share = weight_a * above / (weight_a * above - weight_b * below)
        nudge = 0.4 * _RELATIVE / width
        share = min(max(share + (nudge if last <= 0 else -nudge), nudge), 1 - nudge)
        x = a * math.exp(share * width)
        if not a < x < b:
            break
        at_x = loss(x)
        if at_x <= target:
            weight_a, weight_b = (weight_a / 2 if last > 0 else 1.0), 1.0
            b, loss_b, last = x, at_x, 1
        else:
            weight_a, weight_b = 1.0, (weight_b / 2 if last < 0 else 1.0)
            a, loss_a, last = x, at_x, -1
    return b


def _height(loss: float, target: float) -> float:
    return math.log(loss / target) if 0 < loss < math.inf and target > 0 else math.copysign(math.inf, loss - target)
