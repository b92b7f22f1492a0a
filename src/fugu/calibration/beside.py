"""Rows beside the noise that `calibrate` considers: a constant, noise on the atoms, remapped, and the limit.

All errors are those of a value of the mean law, so that they stand beside E|N| of noise that is added, which is the
same for every value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from fugu.calibration.at_confidence import AT_95, at_confidence
from fugu.calibration.comparison import Row, refused
from fugu.calibration.directed_offer import search as directions
from fugu.calibration.driver import asked
from fugu.calibration.limit import limit_of, one_family
from fugu.calibration.offer import Wishes
from fugu.calibration.registry import ARITHMETIC, told
from fugu.calibration.scales import Scales
from fugu.calibration.swap_offer import search as swaps
from fugu.documents.remap import Remap
from fugu.documents.weighed import Weighed
from fugu.errors import FuguError, NotProvable
from fugu.guarantee.asks import Ask
from fugu.guarantee.curve import Guarantee
from fugu.laws.family import Family
from fugu.laws.items import Shape, shapes
from fugu.laws.mean import mean_law
from fugu.laws.pair import PairsLike, as_pairs
from fugu.noise.atoms import AtomLaplace
from fugu.noise.lattice import Lattice
from fugu.scenario.property_model import PropertyModel
from fugu.scenario.sampling import counts_of_a_table
from fugu.scenario.scenario import Scenario

CONSTANT, ATOMS, REMAPPED, LIMIT = "constant", "atoms", "remapped", "limit"
_REMAP = "a function of the output alone changes no guarantee (docs/limits.md)"
_WARNING = "for exactly these laws only, so it is never taken by default"


def beside(source: PairsLike, budget: Guarantee, wishes: Wishes) -> tuple[Row, ...]:
    """The rows, each under its own refusal; for laws without known atoms on a line, methods that are asked for by
    name."""
    ask, given = asked(budget), shapes(as_pairs(source))
    try:
        one_family(given)
    except NotProvable:
        return _by_name(given, ask, wishes)
    found: list[Row] = [_attempted(CONSTANT, "none", lambda: _constant(given))]
    exact = cache(lambda: _exact(given, ask, wishes))
    found.append(_attempted(ATOMS, AtomLaplace.name, lambda: exact()[0]))
    found.append(_attempted(REMAPPED, AtomLaplace.name, lambda: _remapped(given, *exact())))
    found.append(_attempted(LIMIT, "channel", lambda: _limit(given, ask)))
    if isinstance(source, Scenario) and counts_of_a_table(source):
        found.append(_attempted(AT_95, None, lambda: at_confidence(source, ask, wishes)))
    return tuple(found)


def _by_name(given: tuple[Shape, ...], ask: Ask, wishes: Wishes) -> tuple[Row, ...]:
    """Methods that are asked for by name: a record swap for a property, several scales for translates of vectors."""
    if isinstance(wishes.model, PropertyModel):
        return tuple(offer.row(ask) for offer in swaps(given, ask, wishes).everything())
    if given[0].dimension > 1 and all(isinstance(item, Family) and item.translates for item in given):
        return tuple(offer.row(ask) for offer in directions(given, ask, wishes).everything())
    return ()


def _attempted(name: str, noise: str | None, make: Callable[[], Row]) -> Row:
    try:
        row = make()
        return replace(row, method=name, noise=noise or row.noise)
    except ARITHMETIC as error:
        return refused(name, noise or "none", told(error))
    except FuguError as error:
        return refused(name, noise or "none", str(error))


def _constant(given: Sequence[Shape]) -> Row:
    """The weighted median of the mean law, whatever the value: it tells nothing, and needs no proof."""
    points, weight = mean_law([one_family(given)])
    total = sum(weight)
    shares = np.array([w / total for w in weight])
    below = np.cumsum(np.array(weight, dtype=object))
    middle = float(points[int(np.argmax(below * 2 >= total))])
    absolute, squared = (float(shares @ np.abs(points - middle) ** k) for k in (1, 2))
    why = "the same number whatever the value: nothing is told"
    return Row(CONSTANT, "none", math.inf, absolute, squared, 0.0, True, why, f"always {middle:g}")


def _exact(given: tuple[Shape, ...], ask: Ask, wishes: Wishes) -> tuple[Row, Lattice]:
    """Laplace noise on the atoms at its exact scale."""
    refusals: list[str] = []
    search = Scales(given, ask, replace(wishes, noise=AtomLaplace.name, method="exact"))
    for stage in search.stages(refusals):
        for offer in stage:
            return offer.row(ask), offer.where.lattice  # type: ignore[attr-defined]
    raise NotProvable("; ".join(refusals) or "no scale was found")


def _remapped(given: tuple[Shape, ...], row: Row, lattice: Lattice) -> Row:
    """The same, each output moved to the weighted median of what may lie behind it."""
    if not row.proven or row.scale == 0:
        return row
    family = one_family(given).on(lattice)
    points, weight = mean_law([family])
    noise = AtomLaplace(row.scale, lattice.grid, points, weight)
    made = Remap.of(Weighed(noise, points, lattice.value(points), tuple(weight)), "absolute", declared=False)
    return replace(
        row,
        expected_absolute=made.expected_error("absolute"),
        expected_squared=made.expected_error("squared"),
        why=_REMAP,
    )


def _limit(given: tuple[Shape, ...], ask: Ask) -> Row:
    found = limit_of(given, ask)
    epsilon = 0.0 if one_family(given).same else float(ask.epsilon)
    note = f"{found.told}; {_WARNING}"
    return Row(LIMIT, "channel", math.nan, found.error, found.squared, epsilon, True, found.told, note)
