"""The one registry of methods: each finds a scale in its own way, and says on what theorem; the search they share.

A method is a function with `@method` in a file of `methods/`; the files are found by walking the folder. One name may
stand for several rules, one for each kind of law and of budget."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fugu.aliases import accepted
from fugu.errors import NotProvable, UnknownName
from fugu.guarantee.asks import Ask, exact
from fugu.guarantee.curve import Guarantee
from fugu.laws.shapes import Shape
from fugu.loss.door import covers, leakage
from fugu.loss.leakage import Leakage
from fugu.noise.kind import Kind

ARITHMETIC = (OverflowError, ZeroDivisionError, FloatingPointError)
"""What Python raises for numbers beyond the range of doubles."""
OUT_OF_RANGE = "the budget, the grid or the values are beyond the range of doubles; rescale the values"
ONE_NUMBER = ("line", "smooth")
RELEASED = ("laplace", "gaussian")
EVERY = (*RELEASED, "cauchy")


@dataclass(frozen=True)
class Proposal:
    """A scale in lattice steps, and a remark for the reader; `own`: the theorem's own scale in steps, where rounding
    onto the lattice asks for more."""

    steps: float
    note: str = ""
    own: float | None = None


UNBOUNDED = Proposal(math.inf, "the values are unbounded: no distance covers them all")
Finder = Callable[[Any, Any, Kind], Proposal]


def told(error: Exception) -> str:
    """A refusal in words."""
    return str(error) if isinstance(error, NotProvable) else OUT_OF_RANGE


def attempted(find: Callable[[], Proposal]) -> Proposal:
    """What a method proposes; one that fails proposes an infinite scale and says why, and hides no other method."""
    try:
        return find()
    except (NotProvable, *ARITHMETIC) as error:
        return Proposal(math.inf, told(error))


@dataclass(frozen=True)
class Method:
    """A named way to find a scale. What it proposes becomes a mechanism only after `loss` has proved it."""

    name: str
    theorem: str
    find: Finder
    place: int
    """Where tables list it, from the crudest to the exact one."""
    shapes: tuple[str, ...]
    """The shapes of laws it is for, one at a time or together."""
    finite: bool
    """Whether it is for divergences of finite order, or for ratios."""
    noises: tuple[str, ...] | None
    """None: every noise that the table of losses has an entry for."""
    beaten_by: str | None = None
    """A method that never asks for more, where it knows a scale: then this one is tried only if asked for."""
    delta: bool = False
    """Whether it is of use with a delta only."""
    largest: float = math.inf
    """The most (law pair, atom) cells that it is tried on by itself."""

    def suits(self, items: Sequence[Shape], ask: Ask, kind: Kind) -> bool:
        """Whether it is for such laws, such a budget and such a noise."""
        known = {item.shape for item in items}
        noises = self.noises
        able = all(covers(shape, kind.name) for shape in known) if noises is None else kind.name in noises
        return able and self.finite == ask.finite and known <= set(self.shapes)

    def propose(self, items: Sequence[Shape], ask: Ask, kind: Kind) -> Proposal:
        """The largest scale any item needs; a remark stays only if it is true of every item."""
        each = [self.find(item, ask, kind) for item in items]
        notes = {proposal.note for proposal in each}
        own = None if any(proposal.own is None for proposal in each) else max(p.own for p in each if p.own is not None)
        return Proposal(max(proposal.steps for proposal in each), notes.pop() if len(notes) == 1 else "", own)


_METHODS: list[Method] = []


def method(
    name: str,
    theorem: str,
    *,
    place: int,
    shapes: tuple[str, ...] = ONE_NUMBER,
    finite: bool = False,
    noises: tuple[str, ...] | None = ("laplace",),
    beaten_by: str | None = None,
    delta: bool = False,
    largest: float = math.inf,
) -> Callable[[Finder], Finder]:
    """Register a function as a method; the fields are those of `Method`."""

    def register(find: Finder) -> Finder:
        _METHODS.append(Method(name, theorem, find, place, shapes, finite, noises, beaten_by, delta, largest))
        return find

    return register


@cache
def methods() -> tuple[Method, ...]:
    """All methods, from the crudest to the exact one: found by walking `methods/`."""
    room = importlib.import_module("fugu.calibration.methods")
    for file in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"fugu.calibration.methods.{file.name}")
    return tuple(sorted(_METHODS, key=lambda m: m.place))


def suited(items: Sequence[Shape], ask: Ask, kind: Kind) -> tuple[Method, ...]:
    """The methods for such laws, such a budget and such a noise."""
    return tuple(m for m in methods() if m.suits(items, ask, kind) and (ask.delta > 0 or not m.delta))


def named(name: str, others: Sequence[str] = ()) -> tuple[Method, ...]:
    """The rules of that name, or an error that suggests names there are, the papers' among them."""
    listed = tuple(dict.fromkeys((*(m.name for m in methods()), *others)))
    if name not in listed:
        raise UnknownName("method", name, ("best", *listed, *accepted()))
    return tuple(m for m in methods() if m.name == name)


def nothing_proved(budget: Guarantee, what: str, reasons: Iterable[str]) -> str:
    """Why nothing is proved: reason by reason; of an epsilon of 0, which no finite noise reaches, in one sentence."""
    if exact(budget.epsilon) == 0 and exact(budget.delta) == 0:
        return (
            "epsilon 0 asks that nothing at all is learnt, and here what is published differs with the secret: no "
            "finite noise does that; give an epsilon above 0"
        )
    return f"{what} for {budget!r}: " + "; ".join(dict.fromkeys(reasons))


# The least scale at which a loss that never grows with the scale meets its target, from the safe side.


_RELATIVE = 1e-11
_SMALLEST = 1e-290


def least(item: Shape, ask: Ask, kind: Kind) -> float:
    """The least scale of a kind of noise, in lattice steps, at which the tight loss in doubles meets what is asked."""
    known = leakage(item.shape, kind.name)
    if item.same:
        return 0.0
    exact = known.known(item, ask)
    if exact is not None:
        return exact
    return math.inf if ask.impossible else searched(known, item, ask, lambda steps: known.guess(item, steps, ask))


def searched(known: Leakage[Any, Any], item: Shape, ask: Ask, loss: Callable[[float], float]) -> float:
    """The least scale at which a loss meets what is asked, from where the table begins, and at most what suffices."""
    start = cache(lambda: known.start(item, ask))
    found = least_scale(loss, ask.target, lambda: start()[0])
    return min(found, start()[1]) if found else 0.0


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
        ahead = min(high / 2, 0.98 * high * at_high / target) if 0 < at_high < target else high / 8
        low = max(ahead, high / 1024)
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
        above, below = (
            math.log(at / target) if 0 < at < math.inf and target > 0 else math.copysign(math.inf, at - target)
            for at in (loss_a, loss_b)
        )
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
