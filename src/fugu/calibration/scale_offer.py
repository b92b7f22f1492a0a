"""`ScaleOffer`: independent lattice noise of one scale, on numbers or vectors: ranked, proved, sealed, or a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.calibration.comparison import Row, above, refused
from fugu.calibration.lattice import MOST_STEPS
from fugu.calibration.offer import Calibrated, Offer
from fugu.calibration.problem import Problem
from fugu.calibration.registry import (
    ARITHMETIC,
    Method,
    Proposal,
    told,
)
from fugu.calibration.sealing import Proved
from fugu.documents.sentences import ANALYSIS_ONLY, CELLS, COORDINATES, EXACT_LAWS, INDEPENDENT_ROWS, SETS
from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee.asks import Ask, Proof
from fugu.guarantee.curve import Guarantee
from fugu.laws.family import Family
from fugu.laws.items import Shape, items
from fugu.laws.mean import mean_law
from fugu.laws.set_family import SetFamily
from fugu.loss.door import bound, leakage
from fugu.mechanism.additive import Additive
from fugu.mechanism.analysis import Analysis
from fugu.mechanism.context import Context
from fugu.mechanism.vector import VectorAdditive
from fugu.noise.kind import Kind, Noise, Objective, finite_or_none
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import as_fraction, decimal_up, float_up

_DIGITS = 10
_NUDGES = (-2e-11, 0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
"""Tried in turn from the proposal on: a search ends a little above a root, which may be a short decimal itself."""
_UNIT = Fraction(1)
_BOUNDED = ("laplace", "atoms")
"""Kinds of noise whose masses have bounded ratios."""
_OF_VALUES = (EXACT_LAWS, INDEPENDENT_ROWS)


@dataclass(frozen=True, eq=False)
class ScaleOffer(Offer):
    """A scale in steps of a lattice, found by a method for one kind of noise."""

    kind: Kind
    where: Problem
    way: Method
    proposal: Proposal
    proposals: dict[str, Proposal]
    """Everything that was proposed on this lattice, this one included."""
    cap: Fraction | None = None
    """The most epsilon against anybody."""

    def capped(self, cap: Fraction) -> ScaleOffer:
        """The same with a scale of at least span / cap steps, at which two values of a record lose at most the cap: the
        noise is Laplace noise, on the lattice or on atoms. Without a support, and for other noise, nothing is left."""
        span = self._span()
        if span is None or self.kind.name not in _BOUNDED:
            why = "values are not kept within a support" if span is None else f"{self.kind.name} noise bounds no ratio"
            return replace(self, cap=cap, proposal=Proposal(math.inf, f"no noise keeps the cap: {why}"))
        least = Fraction(span) / cap
        enough = self.proposal if self.proposal.steps >= least else replace(self.proposal, steps=float_up(least))
        return replace(self, cap=cap, proposal=enough)

    def _span(self) -> int | None:
        """How far apart two values of one record are, in steps, in the l1 norm."""
        if self.where.given[0].shape == "cells":
            return 2
        if (support := self.where.support) is None:
            return None
        places = self.where.lattice.index(support).reshape(len(support), -1)
        return sum(int(column.max()) - int(column.min()) for column in places.T)

    def _within(self, noise: Noise) -> bool:
        """Whether noise keeps the cap, exactly."""
        span = None if self.cap is None else self._span()
        if self.cap is None or span == 0:
            return True
        assert span is not None
        assert noise.grid is not None
        return not noise.silent and span * noise.grid <= self.cap * as_fraction(noise.scale)

    @property
    def method(self) -> str:  # type: ignore[override]
        """The name of the method."""
        return self.way.name

    @property
    def noise(self) -> str:  # type: ignore[override]
        """The name of the noise."""
        return self.kind.name

    @property
    def refusal(self) -> str | None:
        """No finite scale."""
        return (self.proposal.note or "no finite scale") if math.isinf(self.proposal.steps) else None

    def rank(self, objective: Objective) -> tuple[float, float, bool]:
        """The expected error of the scale as proposed."""
        steps, grid = self.proposal.steps, float(self.where.lattice.grid)
        power = 1 if objective == "absolute" else 2
        unit = self._placed(self.kind.at(steps, _UNIT), self.where.items)
        return unit.expected_error(objective) * grid**power, steps * grid, self.method != "exact"

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
        if not self.kind.on_atoms:
            return noise
        return noise.placed(*mean_law([item for item in laws if isinstance(item, Family | SetFamily)]))

    def mechanism(self, budget: Guarantee, ask: Ask, context: Context) -> Calibrated:
        """Without noise even the unrounded value may go out, if that is proved."""
        lattice: Lattice | None = self.where.lattice
        laws, unrounded = self.where.items, self.where.unrounded()
        silent = self.kind.at(0, self.where.lattice.grid)
        if not self.kind.released or self.proposal.steps > 0:
            unrounded = None
        if unrounded is not None and bound(unrounded, self._placed(silent, unrounded), ask).holds:
            lattice, laws = None, unrounded
        if self.kind.released:
            require_drawn(self.proposal.steps)
        noise, proof = self.proved(ask, laws)
        if not self._within(noise):
            raise NotProvable(f"the {self.kind.name} scale {float(noise.scale):g} is too small for the cap")
        if not proof.holds:
            raise NotProvable(
                f"the {self.kind.name} scale {float(noise.scale):g} could not be proved for pair "
                f"{proof.worst_pair!r}: the bound is epsilon {proof.epsilon:.12g}, delta {proof.delta:.3g}; ask for a "
                "larger epsilon or delta"
            )
        return self._sealed(noise, proof, lattice, laws, budget, ask, context)

    def _sealed(
        self,
        noise: Noise,
        proof: Proof,
        lattice: Lattice | None,
        laws: tuple[Shape, ...],
        budget: Guarantee,
        ask: Ask,
        context: Context,
    ) -> Calibrated:
        where, d = self.where, self.where.dimension
        grid = float(where.lattice.grid)
        if where.given[0].shape == "cells":  # published are counts of all records, and the laws are of one
            context = replace(context, assumptions=tuple(a for a in context.assumptions if a not in _OF_VALUES))
        rounding = () if lattice is None or where.rounding is None else (where.rounding,)
        told = {"sets": (SETS,), "cells": (CELLS,), "space": (COORDINATES,)}.get(where.given[0].shape, ())
        support = where.support if self.kind.released else None
        kind = "analysis" if not self.kind.released else "vector" if d > 1 else "additive"
        sealed = Proved(
            kind=kind,
            method=self.way.name,
            theorem=self.way.theorem,
            noise=noise,
            proof=proof,
            lattice=lattice,
            laws=laws,
            beliefs=where.beliefs(),
            scales={m: finite_or_none(p.steps * grid) for m, p in self.proposals.items()},
            dimension=d,
            support=_stated(support, lattice),
            after=(*told, *rounding, *(() if self.kind.released else (ANALYSIS_ONLY,))),
            empirical=_under_empirical(where, noise, ask, context) if self.kind.released else None,
            more={} if self.cap is None else {"cap": str(self.cap)},
        ).seal(budget, context)
        common: dict[str, Any] = {"certificate": sealed, "context": context, "noise": noise}
        if kind == "additive":
            return Additive(**common, lattice=lattice, support=support)
        if kind == "vector":
            return VectorAdditive(**common, lattice=lattice, support=support, dimension=d)
        return Analysis(**common)

    def row(self, ask: Ask, least: float = math.inf) -> Row:
        """`least` is a scale of this kind of noise that is proved: at or above it, a kind of which larger scales are
        post-processings of smaller ones needs no proof of its own."""
        if (why := self.refusal) is not None:
            return refused(self.method, self.noise, why)
        try:
            return self._row(ask, least)
        except (NotProvable, *ARITHMETIC) as error:
            return refused(self.method, self.noise, told(error))

    def _row(self, ask: Ask, least: float) -> Row:
        grid, d = self.where.lattice.grid, self.where.dimension
        scale = float(decimal_up(self.proposal.steps * float(grid), _DIGITS))
        follows = self.kind.ordered and scale >= least and not ask.finite and d == 1
        if follows:
            noise = self._placed(self.kind.at(scale, grid), self.where.items)
            proof = Proof(math.inf, 0.0, "", holds=True)
        else:
            noise, proof = self.proved(ask)
        leak = self._leak(noise, ask)
        note = "" if self.kind.released else "analysis only: no exact sampler is proved for it"
        return Row(
            method=self.method,
            noise=self.noise,
            scale=float(noise.scale),
            expected_absolute=noise.total_error("absolute", d),
            expected_squared=noise.total_error("squared", d),
            epsilon=proof.epsilon if leak is None else leak,
            proven=proof.holds,
            why=self.way.theorem if proof.holds else above(proof.epsilon, proof.delta),
            note=self._with_own(self.proposal.note or note),
            released=self.kind.released,
        )

    def _with_own(self, note: str) -> str:
        """A remark, after the theorem's own scale where what is released is more."""
        if self.proposal.own is None:
            return note
        own = self.proposal.own * float(self.where.lattice.grid)
        return f"the theorem's own scale is {own:.6g}; {note}"

    def _leak(self, noise: Noise, ask: Ask) -> float | None:
        """The tight pure epsilon that the noise really gives, where it is known; inf where none is finite."""
        if ask.finite:
            return None
        try:
            each = [leakage(item.shape, noise.name).leak(item, noise) for item in self.where.items]
        except (NotProvable, *ARITHMETIC):
            return math.inf
        return None if any(x is None for x in each) else max(x for x in each if x is not None)


def _stated(support: np.ndarray[Any, np.dtype[np.float64]] | None, lattice: Lattice | None) -> Any:
    """Where values are moved before anything else: "lattice" if to the atoms of the laws on the lattice, their values
    if those are elsewhere, None if values are not moved."""
    if support is None:
        return None
    if support.ndim == 1 and lattice is not None and np.array_equal(lattice.value(lattice.index(support)), support):
        return "lattice"
    return support.tolist()


def _under_empirical(where: Problem, noise: Noise, ask: Ask, context: Context) -> dict[str, float | bool | None] | None:
    """What the noise loses under the laws that fitted beliefs were fitted to: shown beside the guarantee, not part
    of it."""
    if not context.empirical:
        return None
    found = bound([item.on(where.lattice) for item in items(context.empirical)], noise, ask)
    return {"epsilon": finite_or_none(found.epsilon), "delta": found.delta, "holds": found.holds}


def require_drawn(steps: float) -> None:
    """Refuse a scale of more lattice steps than the samplers draw exactly."""
    if steps > MOST_STEPS:
        raise OutOfReach(
            f"noise of {steps:.3g} lattice steps cannot be drawn, at most {MOST_STEPS:.3g} can: choose a coarser grid, "
            "or a larger epsilon",
            points=steps,
            limit=MOST_STEPS,
        )
