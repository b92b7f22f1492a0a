"""The registry of methods: each finds a scale in its own way, and says on what theorem."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from fugu.errors import NotProvable, UnknownName
from fugu.guarantee import Approx, Pure, Renyi, RenyiCurve
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item

Budget = Pure | Approx
AnyBudget = Pure | Approx | Renyi | RenyiCurve
ARITHMETIC = (OverflowError, ZeroDivisionError, FloatingPointError)
"""What Python raises for numbers beyond the range of doubles."""


@dataclass(frozen=True)
class Proposal:
    """A Laplace scale in lattice steps, and a remark for the reader."""

    steps: float
    note: str = ""


Finder = Callable[[Item, Budget], Proposal]
OUT_OF_RANGE = "the budget, the grid or the values are beyond the range of doubles; rescale the values"


def attempted(find: Callable[[], Proposal]) -> Proposal:
    """What a method proposes; one that fails proposes an infinite scale and says why, and hides no other method."""
    try:
        return find()
    except NotProvable as error:
        return Proposal(math.inf, str(error))
    except ARITHMETIC:
        return Proposal(math.inf, OUT_OF_RANGE)


@dataclass(frozen=True)
class Method:
    """A named way to find a scale. What it proposes becomes a mechanism only after `loss` has proved it."""

    name: str
    theorem: str
    find: Finder
    laws: str
    """What it is for: "atoms", "smooth" (laws with Gaussian components) or "any"."""

    def propose(self, items: tuple[Item, ...], budget: Budget) -> Proposal:
        """The largest scale any item needs; a remark stays only if it is true of every item."""
        found = [self.find(item, budget) for item in items]
        notes = {p.note for p in found}
        return Proposal(max(p.steps for p in found), notes.pop() if len(notes) == 1 else "")


_METHODS: dict[str, Method] = {}
_ORDER = (
    "l1", "wasserstein", "closeness", "relaxed-paper", "relaxed",
    "gaussian-prior-lambert", "gaussian-prior", "mixture-coupling", "exact",
)  # fmt: skip


def method(name: str, theorem: str, laws: str = "any") -> Callable[[Finder], Finder]:
    """Register a function as a method."""

    def register(find: Finder) -> Finder:
        _METHODS[name] = Method(name, theorem, find, laws)
        return find

    return register


def methods(items: tuple[Item, ...] | None = None) -> tuple[Method, ...]:
    """All methods, from the crudest to the exact one; with items given, those that suit all of them."""
    from fugu.calibration import closeness, exact, gaussian_prior, l1, relaxed, wasserstein  # noqa: F401

    found = tuple(_METHODS[name] for name in _ORDER)
    if items is None:
        return found
    kinds = {"smooth" if isinstance(item, Analytic) else "atoms" for item in items}
    return tuple(m for m in found if m.laws == "any" or kinds == {m.laws})


def find_method(name: str) -> Method:
    """The method of that name, or an error that lists the others."""
    for candidate in methods():
        if candidate.name == name:
            return candidate
    raise UnknownName("method", name, ("best", *(m.name for m in methods())))
