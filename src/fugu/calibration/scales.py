"""The search for scales: every kind of noise on its own lattice, every method; `Scaled`: one scale, proved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from fugu.calibration.comparison import Row
from fugu.calibration.lattice import FINER, MOST_STEPS, Problem, beliefs_of, ladder, problem, reachable
from fugu.calibration.offer import (
    ARITHMETIC,
    OUT_OF_RANGE,
    Method,
    Offer,
    Proposal,
    Refused,
    Stages,
    Tried,
    Wishes,
    named,
    suited,
    told,
)
from fugu.documents.promises import steps_between
from fugu.documents.sentences import ANALYSIS_ONLY, CELLS, COORDINATES, EXACT_LAWS, INDEPENDENT_ROWS, SETS
from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee.asks import Ask, Proof
from fugu.laws.family import Family, SetFamily
from fugu.laws.shapes import Shape, items, mean_law
from fugu.loss.door import bound, covers, leakage
from fugu.mechanism.intake import Context
from fugu.noise.kind import Kind, Noise, Objective, finite_or_none, kind_of, kinds
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import as_fraction, decimal_up, float_up


def scales(given: tuple[Shape, ...], ask: Ask, wishes: Wishes, every: bool = False) -> Stages:
    """Every kind of noise that is asked for, or that can meet the budget, on its own lattice, each method under its own
    refusal: first those that no other beats, or whose better has no scale here; the beaten ones after."""
    chosen = None
    if wishes.method != "best":
        from fugu.calibration.covariance.methods import WAYS  # so that a wrong place is told from a wrong name

        chosen = named(wishes.method, tuple(WAYS))
    tried = [
        kind
        for kind in kinds().values()
        if kind.considered and (kind.released or every) and all(covers(item.shape, kind.name) for item in given)
        if kind.refusal(ask) is None
    ]
    if wishes.noise != "best":
        kind = kind_of(wishes.noise)
        if not kind.released and (reason := kind.refusal(ask)) is not None:
            raise NotProvable(reason)
        for item in given:
            leakage(item.shape, kind.name)  # refuses with what there is instead
        tried = [kind]
    stage: list[Offer] = []
    beaten: list[tuple[Kind, Problem, list[Method]]] = []
    for kind in tried:
        try:
            where = problem(given, ask, kind, wishes.grid)
            found = suited(where.items, ask, kind) if every else _wanted(where, ask, kind, wishes.method, chosen)
            there = set() if every else {m.name for m in found}
            rest = [m for m in found if m.beaten_by in there]
            first = scaled(where, ask, kind, [m for m in found if m not in rest])
            able = {each.method for each in first if math.isfinite(each.proposal.steps)}
            needed = [m for m in rest if m.beaten_by not in able]
            stage += (each.capped(wishes.cap) for each in (*first, *scaled(where, ask, kind, needed)))
        except (NotProvable, *ARITHMETIC) as error:
            stage.append(Refused(kind, told(error)))
            continue
        beaten.append((kind, where, [m for m in rest if m not in needed]))
    yield stage
    yield [each.capped(wishes.cap) for kind, where, rest in beaten for each in scaled(where, ask, kind, rest)]


def _wanted(where: Problem, ask: Ask, kind: Kind, name: str, chosen: tuple[Method, ...] | None) -> Sequence[Method]:
    """The methods that are tried by themselves, or those of the name that is asked for."""
    known = suited(where.items, ask, kind)
    if not known and (reason := kind.refusal(ask)) is not None:
        raise NotProvable(reason)
    if chosen is None:
        return [m for m in known if where.cells <= m.largest]
    found = [m for m in chosen if m.suits(where.items, ask, kind)]
    if not found:
        there = ", ".join(dict.fromkeys(m.name for m in known)) or "none"
        raise NotProvable(
            f"method {name!r} is not for {kind.name} noise with such laws and such a budget; methods that are: {there}"
        )
    return found


def scaled(where: Problem, ask: Ask, kind: Kind, wanted: Sequence[Method]) -> list[Scaled]:
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
    return [Scaled(kind, place, m, proposal, own[place.lattice.grid]) for place, proposal, m in found]


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
    grid = float(there.lattice.grid)
    return there, Proposal(steps, f"values are rounded to multiples of {grid:g}: their own step is out of reach")


_DIGITS = 10
_NUDGES = (-2e-11, 0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
"""Tried in turn from the proposal on: a search ends a little above a root, which may be a short decimal itself."""
_UNIT = Fraction(1)
_OF_VALUES = (EXACT_LAWS, INDEPENDENT_ROWS)


@final
@dataclass(frozen=True, eq=False)
class Scaled(Offer):
    """A scale in steps of a lattice, found by a method for one kind of noise."""

    kind: Kind
    where: Problem
    way: Method
    proposal: Proposal
    proposals: dict[str, Proposal]
    """Everything that was proposed on this lattice, this one included."""
    cap: Fraction | None = None
    """The most epsilon against anybody."""

    @property
    def method(self) -> str:  # type: ignore[override]
        """The name of the method."""
        return self.way.name

    @property
    def lattice(self) -> Lattice:  # type: ignore[override]
        """Where values are rounded."""
        return self.where.lattice

    @property
    def refusal(self) -> str | None:  # type: ignore[override]
        """Of a scale that is not finite, why."""
        return (self.proposal.note or "no finite scale") if math.isinf(self.proposal.steps) else None

    def capped(self, cap: Fraction | None) -> Scaled:
        """The same with a scale of at least span / cap steps, at which two values of a record lose at most the cap: the
        noise is Laplace noise, on the lattice or on atoms. Without a support, and for other noise, nothing is left; but
        of one value alone nothing can be learnt."""
        if cap is None or (span := self._span()) == 0:
            return self if cap is None else replace(self, cap=cap)
        bounded = self.kind.at(1, _UNIT).rate == 1  # the largest log-ratio is a step / scale
        if span is None or not bounded:
            why = "values are not kept within a support" if span is None else f"{self.kind.name} noise bounds no ratio"
            return replace(self, cap=cap, proposal=Proposal(math.inf, f"no noise keeps the cap: {why}"))
        least = Fraction(span) / cap
        enough = self.proposal if self.proposal.steps >= least else replace(self.proposal, steps=float_up(least))
        return replace(self, cap=cap, proposal=enough)

    def _span(self) -> int | None:
        """How far apart two values of one record are, in steps, in the l1 norm."""
        if self.where.given[0].shape == "cells":
            return 2
        support = self.where.support
        return None if support is None else steps_between(support, self.where.lattice)

    def _within(self, noise: Noise) -> bool:
        """Whether noise keeps the cap, exactly."""
        span = None if self.cap is None else self._span()
        if self.cap is None or span == 0:
            return True
        assert span is not None
        assert noise.grid is not None
        return not noise.silent and span * noise.grid <= self.cap * as_fraction(noise.scale)

    def rank(self, objective: Objective) -> tuple[float, float, bool]:
        """The expected error of the scale as proposed."""
        steps, grid = self.proposal.steps, float(self.where.lattice.grid)
        power = 1 if objective == "absolute" else 2
        unit = self._placed(self.kind.at(steps, _UNIT), self.where.items)
        return unit.expected_error(objective) * grid**power, steps * grid, self.way.name != "exact"

    def proved(self, ask: Ask, laws: Sequence[Shape] | None = None) -> tuple[Noise, Proof]:
        """The noise of least 10-digit scale at or above the proposal that is proved; the last one tried, if none is.

        A proposal is a float: it may be a little short of what it stands for. More than 1e-5 of it is not made up
        for."""
        grid, seen = self.where.lattice.grid, self.where.items if laws is None else laws
        start = float(Fraction(self.proposal.steps) * grid)
        nudges = _NUDGES[1:] if ask.finite and ask.delta else _NUDGES  # no event is left out for a last digit
        for scale in dict.fromkeys(decimal_up(start * (1 + nudge), _DIGITS) for nudge in nudges):
            noise = self._placed(self.kind.at(float(scale), grid), seen)
            proof = bound(seen, noise.in_steps(grid), ask)
            if proof.holds and self._within(noise):
                break
        return noise, proof

    def _placed(self, noise: Noise, laws: Sequence[Shape]) -> Noise:
        """The noise for these laws: on their atoms, if it is noise on atoms."""
        if self.kind.added:
            return noise
        return noise.placed(*mean_law([item for item in laws if isinstance(item, Family | SetFamily)]))

    def tried(self, ask: Ask, context: Context) -> Tried:
        """Without noise even the unrounded value may go out, if that is proved; a cap counts steps of the lattice."""
        lattice: Lattice | None = self.where.lattice
        laws, unrounded = self.where.items, self.where.unrounded()
        silent = self.kind.at(0, self.where.lattice.grid)
        if not self.kind.released or self.proposal.steps > 0 or self.cap is not None:
            unrounded = None
        if unrounded is not None and bound(unrounded, self._placed(silent, unrounded), ask).holds:
            lattice, laws = None, unrounded
        if self.kind.released and (steps := self.proposal.steps) > MOST_STEPS:
            raise OutOfReach(
                f"noise of {steps:.3g} lattice steps cannot be drawn, at most {MOST_STEPS:.3g} can: choose a coarser "
                "grid, or a larger epsilon",
                points=steps,
                limit=MOST_STEPS,
            )
        noise, proof = self.proved(ask, laws)
        if not self._within(noise):
            raise NotProvable(f"the {self.kind.name} scale {float(noise.scale):g} is too small for the cap")
        where, d = self.where, self.where.dimension
        grid = float(where.lattice.grid)
        if where.given[0].shape == "cells":  # published are counts of all records, and the laws are of one
            context = replace(context, assumptions=tuple(a for a in context.assumptions if a not in _OF_VALUES))
        rounding = () if lattice is None or where.rounding is None else (where.rounding,)
        told = {"sets": (SETS,), "cells": (CELLS,), "space": (COORDINATES,)}.get(where.given[0].shape, ())
        empirical: dict[str, float | bool | None] | None = None
        if self.kind.released and context.empirical:  # shown beside the guarantee, not part of it
            there = bound([item.on(where.lattice) for item in items(context.empirical)], noise, ask)
            empirical = {"epsilon": finite_or_none(there.epsilon), "delta": there.delta, "holds": there.holds}
        return Tried(
            kind="analysis" if not self.kind.released else "vector" if d > 1 else "additive",
            method=self.way.name,
            theorem=self.way.theorem,
            noise=noise,
            proof=proof,
            lattice=lattice,
            laws=laws,
            beliefs=beliefs_of(where.given),
            context=context,
            scales={m: finite_or_none(p.steps * grid) for m, p in self.proposals.items()},
            dimension=d,
            support=where.support if self.kind.released else None,
            after=(*told, *rounding, *(() if self.kind.released else (ANALYSIS_ONLY,))),
            empirical=empirical,
            more={} if self.cap is None else {"cap": str(self.cap)},
        )

    def row(self, ask: Ask, least: float = math.inf) -> Row:
        """The line of a comparison; of noise of which larger scales are post-processings of smaller ones, a scale at or
        above the `least` that is proved needs no proof of its own to be listed."""
        grid, d = self.where.lattice.grid, self.where.dimension
        scale = float(decimal_up(self.proposal.steps * float(grid), _DIGITS))
        follows = self.kind.ordered and scale >= least and not ask.finite and d == 1
        if follows:
            noise = self._placed(self.kind.at(scale, grid), self.where.items)
            proof = Proof(math.inf, 0.0, "", holds=True)
        else:
            noise, proof = self.proved(ask)
        above = f"the proved bound, epsilon {proof.epsilon:.12g} and delta {proof.delta:.3g}, is above the budget"
        leak: float | None = None
        if not ask.finite:  # the tight pure epsilon that the noise really gives, where it is known
            try:
                each = [leakage(item.shape, noise.name).leak(item, noise) for item in self.where.items]
                leak = None if any(x is None for x in each) else max(x for x in each if x is not None)
            except (NotProvable, *ARITHMETIC):
                leak = math.inf
        note = self.proposal.note or ("" if self.kind.released else "analysis only: no exact sampler is proved for it")
        if self.proposal.own is not None:  # where what is released is more
            note = f"the theorem's own scale is {self.proposal.own * float(grid):.6g}; {note}"
        return Row(
            method=self.way.name,
            noise=self.kind.name,
            scale=float(noise.scale),
            expected_absolute=noise.total_error("absolute", d),
            expected_squared=noise.total_error("squared", d),
            epsilon=proof.epsilon if leak is None else leak,
            proven=proof.holds,
            why=self.way.theorem if proof.holds else above,
            note=note,
            released=self.kind.released,
        )
