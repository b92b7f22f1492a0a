"""The search for scales: every kind of noise on its own lattice, every method under its own refusal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fugu.calibration.comparison import Row, refused
from fugu.calibration.lattice import FINER, MOST_STEPS, ladder, problem, reachable
from fugu.calibration.offer import Offer, Wishes
from fugu.calibration.problem import Problem, coarse_note
from fugu.calibration.registry import (
    ARITHMETIC,
    OUT_OF_RANGE,
    Method,
    Proposal,
    named,
    suited,
    told,
)
from fugu.calibration.scale_offer import ScaleOffer
from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee.asks import Ask
from fugu.laws.items import Shape
from fugu.loss.door import covers, leakage
from fugu.noise.kind import Kind, kind_of, kinds


@dataclass(frozen=True, eq=False)
class Scales:
    """The search for scales: every kind of noise on its own lattice, every method under its own refusal."""

    given: tuple[Shape, ...]
    ask: Ask
    wishes: Wishes

    def stages(self, refusals: list[str]) -> Iterator[list[Offer]]:
        """First the methods that no other beats; the beaten ones only where nothing of those was proved."""
        chosen = None if self.wishes.method == "best" else named(self.wishes.method, _others())
        made: list[tuple[Kind, Problem, list[Method]]] = []
        stage: list[Offer] = []
        for kind in self._kinds():
            try:
                where = problem(self.given, self.ask, kind, self._grid())
                found = self._wanted(where, kind, chosen)
                first, rest = _front(where, self.ask, kind, found)
            except (NotProvable, *ARITHMETIC) as error:
                refusals.append(f"{kind.name}: {told(error)}")
                continue
            stage += first
            made.append((kind, where, rest))
        yield self._capped(stage)
        yield self._capped([offer for kind, where, rest in made for offer in offers(where, self.ask, kind, rest)])

    def _capped(self, found: list[Offer]) -> list[Offer]:
        """The offers with as much noise as the cap asks for, if there is one."""
        cap = self.wishes.cap
        return found if cap is None else [o.capped(cap) if isinstance(o, ScaleOffer) else o for o in found]

    def everything(self) -> list[Any]:
        """Every method for every kind of noise that can meet the budget; rows for the kinds that are refused."""
        rows: list[Any] = []
        for kind in kinds().values():
            if not kind.considered or kind.refusal(self.ask) is not None or not self._covered(kind):
                continue
            try:
                where = problem(self.given, self.ask, kind, self._grid())
                rows += _rows(offers(where, self.ask, kind, list(suited(where.items, self.ask, kind))), self.ask)
            except (NotProvable, *ARITHMETIC) as error:
                rows.append(refused("exact", kind.name, told(error)))
        return rows

    def _kinds(self) -> list[Kind]:
        """The kinds of noise to try: the one asked for, or all that are released and can meet the budget."""
        if self.wishes.noise != "best":
            kind = kind_of(self.wishes.noise)
            if not kind.released and (reason := kind.refusal(self.ask)) is not None:
                raise NotProvable(reason)
            for item in self.given:
                leakage(item.shape, kind.name)  # refuses with what there is instead
            return [kind]
        able = [k for k in kinds().values() if k.released and k.considered and self._covered(k)]
        return [k for k in able if k.refusal(self.ask) is None]

    def _covered(self, kind: Kind) -> bool:
        return all(covers(item.shape, kind.name) for item in self.given)

    def _grid(self) -> Fraction | str:
        return "auto" if self.wishes.grid is None else self.wishes.grid

    def _wanted(self, where: Problem, kind: Kind, chosen: tuple[Method, ...] | None) -> list[Method]:
        known = suited(where.items, self.ask, kind)
        if not known and (reason := kind.refusal(self.ask)) is not None:
            raise NotProvable(reason)
        if chosen is None:
            return [m for m in known if where.cells <= m.largest]
        found = [m for m in chosen if m.suits(where.items, self.ask, kind)]
        if not found:
            there = ", ".join(dict.fromkeys(m.name for m in known)) or "none"
            raise NotProvable(
                f"method {self.wishes.method!r} is not for {kind.name} noise with such laws and such a budget; methods "
                f"that are: {there}"
            )
        return found


def _others() -> tuple[str, ...]:
    """Names of methods that are found elsewhere, so that a wrong place is told from a wrong name."""
    from fugu.calibration.covariance.methods import WAYS

    return tuple(WAYS)


def _front(where: Problem, ask: Ask, kind: Kind, found: list[Method]) -> tuple[list[Offer], list[Method]]:
    """Offers of the methods that no other beats, and of those whose better has no scale here; and the methods left."""
    there = {m.name for m in found}
    beaten = [m for m in found if m.beaten_by in there]
    first = offers(where, ask, kind, [m for m in found if m not in beaten])
    able = {offer.method for offer in first if offer.refusal is None}
    needed = [m for m in beaten if m.beaten_by not in able]
    first += offers(where, ask, kind, needed)
    return first, [m for m in beaten if m not in needed]


def offers(where: Problem, ask: Ask, kind: Kind, wanted: Sequence[Method]) -> list[Offer]:
    """What the methods propose: on the lattice given, and those that would visit too many of its points, or draw noise
    of too many steps, on a coarser one."""
    found = [(*_reached(method, where, ask, kind), method) for method in wanted]
    least = min((proposal.steps for _, proposal, _ in found), default=math.inf)
    if where.free and MOST_STEPS < least < math.inf:
        coarse = where.coarser(ladder(least / MOST_STEPS))
        if coarse.spread() >= FINER:
            found = [(*_reached(method, coarse, ask, kind), method) for method in wanted]
    own: dict[Fraction | None, dict[str, Proposal]] = {}
    for place, proposal, method in found:
        own.setdefault(place.lattice.grid, {})[method.name] = proposal
    return [ScaleOffer(kind, place, m, proposal, own[place.lattice.grid]) for place, proposal, m in found]


def _reached(method: Method, where: Problem, ask: Ask, kind: Kind) -> tuple[Problem, Proposal]:
    """What a method proposes, on the laws' own lattice or on a coarser one within reach; or why it has nothing."""
    try:
        return where, method.propose(where.items, ask, kind)
    except OutOfReach as error:
        refusal = Proposal(math.inf, str(error))
    except NotProvable as error:
        return where, Proposal(math.inf, str(error))
    except ARITHMETIC:
        return where, Proposal(math.inf, OUT_OF_RANGE)
    try:
        there, steps = reachable(where, lambda on: method.propose(on.items, ask, kind).steps)
    except (NotProvable, *ARITHMETIC):
        return where, refusal
    return there, Proposal(steps, coarse_note(there))


def _rows(found: list[Offer], ask: Ask) -> list[Row]:
    """The rows of one kind of noise, in the order of the registry; the exact scale is proved first, and
    scales follow from others on the same lattice only."""
    least: dict[Fraction, float] = {}
    rows = {}
    for offer in sorted(found, key=lambda o: o.method != "exact"):
        assert isinstance(offer, ScaleOffer)
        grid = offer.where.lattice.grid
        row = rows[id(offer)] = offer.row(ask, least.get(grid, math.inf))
        if row.proven:
            least[grid] = min(least.get(grid, math.inf), row.scale)
    return [rows[id(offer)] for offer in found]


def search(given: tuple[Shape, ...], ask: Ask, wishes: Wishes) -> Scales:
    """For the driver."""
    return Scales(given, ask, wishes)
