"""The registry of methods for Rényi budgets: each finds a scale for any of the noises it suits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from fugu.calibration.method import Proposal
from fugu.calibration.renyi.kinds import Kind
from fugu.calibration.renyi.target import Target
from fugu.errors import UnknownName
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item

Finder = Callable[[Item, Target, Kind], Proposal]


@dataclass(frozen=True)
class RenyiMethod:
    """A named way to find a scale; `loss` must prove what it proposes."""

    name: str
    theorem: str
    find: Finder
    noises: tuple[str, ...]
    laws: str

    def propose(self, items: tuple[Item, ...], target: Target, kind: Kind) -> Proposal:
        """The largest scale any item needs; a remark stays only if it is true of every item."""
        found = [self.find(item, target, kind) for item in items]
        notes = {p.note for p in found}
        return Proposal(max(p.steps for p in found), notes.pop() if len(notes) == 1 else "")


_METHODS: dict[str, RenyiMethod] = {}
_ORDER = ("wasserstein", "closeness", "cauchy-moments", "transport", "partial-transport", "exact", "conditioned")
NOISES = ("laplace", "gaussian", "cauchy")
NO_ATOMS = Proposal(math.inf, "this method is for laws with atoms")


def renyi_method(
    name: str, theorem: str, noises: tuple[str, ...] = NOISES, laws: str = "any"
) -> Callable[[Finder], Finder]:
    """Register a function as a method for Rényi budgets."""

    def register(find: Finder) -> Finder:
        _METHODS[name] = RenyiMethod(name, theorem, find, noises, laws)
        return find

    return register


def renyi_methods(items: tuple[Item, ...] | None = None, noise: str | None = None) -> tuple[RenyiMethod, ...]:
    """All methods from the crudest to the exact one; with items or a noise given, those that suit them."""
    from fugu.calibration.renyi import conditioned, couplings, exact, moments, partial  # noqa: F401

    found = [_METHODS[name] for name in _ORDER]
    if noise is not None:
        found = [m for m in found if noise in m.noises]
    if items is not None and any(isinstance(item, Analytic) for item in items):
        found = [m for m in found if m.laws == "any"]
    return tuple(found)


def find_renyi_method(name: str) -> RenyiMethod:
    """The method of that name, or an error that lists the others."""
    known = {m.name: m for m in renyi_methods()}
    if name not in known:
        raise UnknownName("method for Renyi budgets", name, ("best", *known))
    return known[name]
