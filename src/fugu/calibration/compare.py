"""`compare`: all methods side by side, and rows beside the noise that `calibrate` considers.

Beside are a constant, noise on the atoms, that remapped, and the limit. All errors are those of a value of the mean
law, so that they stand beside E|N| of noise that is added, which is the same for every value.

The limit is how small the expected error of *any* mechanism can be, for exactly the laws given. The channel of least
expected absolute error is found in doubles, repaired to an exact one in integers, and bounded from below by exact
prices (docs/limits.md): no solver is trusted. It is a limit to compare with, not a mechanism to take by default: where
the laws are a little off, it may lose everything.

Ordinary differential privacy is for comparison, never released. Local differential privacy protects every value of a
column against every other, whatever is believed: Laplace noise of scale range / epsilon (Dwork, McSherry, Nissim, Smith
2006), values kept within the range. Privacy for independent records hides the protected cell itself, adds nothing to a
column beside it, and so promises nothing of what the column tells about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import cast

import numpy as np

from fugu.calibration.channel import Asked, solved
from fugu.calibration.comparison import (
    AT_95,
    ATOMS,
    CONSTANT,
    LIMIT,
    LOCAL,
    NEEDS,
    RECORDS,
    REMAPPED,
    Comparison,
    Row,
    refused,
)
from fugu.calibration.driver import best, rows_of, table
from fugu.calibration.offer import ARITHMETIC, Stages, Wishes, asked, told
from fugu.calibration.scales import scales
from fugu.calibration.translates import directions, swaps
from fugu.channels.problem import Errors
from fugu.documents.promises import HALF, LN3
from fugu.documents.remap import Remap
from fugu.errors import FuguError, NotProvable
from fugu.guarantee.asks import Ask
from fugu.guarantee.curve import Guarantee
from fugu.laws.family import Family, SetFamily
from fugu.laws.pair import PairsLike, Shifted, as_pairs
from fugu.laws.shapes import Shape, mean_law, shapes
from fugu.loss.channel import any_belief
from fugu.loss.door import epsilon
from fugu.mechanism.intake import Context
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import kind_of
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import Real
from fugu.progress import on_time
from fugu.scenario.property import PropertyModel
from fugu.scenario.scenario import Scenario
from fugu.scenario.table import counts_of_a_table, sampled_of, with_sets
from fugu.utility.usable import RowsFor


def compare(
    scenario_or_pairs: PairsLike,
    budget: Guarantee,
    *,
    grid: Real | str = "auto",
    declared_exact: bool = False,
    floor: float | None = None,
    rows: int | None = None,
) -> Comparison:
    """Every method for every noise, with what its scale really leaks and whether it is proved.

    Parameters: `scenario_or_pairs`, `budget`, `grid`, `declared_exact` and `floor` as in `calibrate`. `rows`: the
    public number of rows of the table to be released, for what means and quantiles of it are worth; None takes the
    reference's, and `basis` says which. No private table is opened. A method that
    fails is a row that says why, and hides no other. Larger scales of Laplace noise are post-processings of smaller
    ones (docs/proofs/laplace.md), so the proof of the exact scale carries over to the cruder methods; every other scale
    is proved by itself.

    Returns a `Comparison`, which prints as a table; `.rows` has one entry per noise and method, `.best` the one that
    `calibrate` would take; `.beside` what a constant, noise on the atoms and its remap would have, and the limit that
    no mechanism for these laws goes below; `.ordinary` what ordinary differential privacy would add; `.usable` how
    usable the best is. Raises `BadBudget` and `UsageError` for arguments that make no sense.

    >>> import fugu
    >>> p, q = fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35])
    >>> [(row.method, round(row.scale, 8)) for row in compare(fugu.LawPair(p, q), fugu.Pure(0.1)).rows[3:]]
    [('relaxed-paper', 3.39072263), ('relaxed', 2.69096818), ('exact', 1.57445711)]
    """
    from fugu.calibration.usable import judged  # which knows the rows beside

    model = getattr(scenario_or_pairs, "property", None)
    wishes = Wishes.of("best", grid, declared_exact=declared_exact, floor=floor, model=model)
    used = scenario_or_pairs.report.used if isinstance(scenario_or_pairs, Scenario) else None
    said = "" if used is None and rows is None else str(RowsFor(rows, used or 0))
    make = cache(partial(best, scenario_or_pairs, budget, wishes))
    found = replace(table(scenario_or_pairs, budget, wishes), basis=said, chosen=lambda: make().certificate)
    if Context.of(scenario_or_pairs).nominal is not None:
        return replace(found, judge=partial(judged, scenario_or_pairs, make, rows=rows))  # no distances: none beside
    found = replace(found, more=partial(beside, scenario_or_pairs, budget, wishes))
    return replace(
        found,
        plain=partial(ordinary, scenario_or_pairs, budget),
        judge=partial(judged, scenario_or_pairs, make, lambda: found.beside, rows),
    )


_REMAP = "a function of the output alone changes no guarantee (docs/limits.md)"
_WARNING = "for exactly these laws only, so it is never taken by default"


def beside(source: PairsLike, budget: Guarantee, wishes: Wishes) -> tuple[Row, ...]:
    """The rows, each under its own refusal; for laws without known atoms on a line, methods that are asked for by name:
    a record swap for a property, several scales for translates of vectors."""
    ask, given = asked(budget), shapes(as_pairs(source))
    try:
        one_family(given)
    except NotProvable:
        if isinstance(wishes.model, PropertyModel):
            return rows_of(next(swaps(given, ask, wishes)), ask)
        if given[0].dimension > 1 and all(isinstance(item, Family) and item.translates for item in given):
            return rows_of(next(directions(given, ask, wishes)), ask)
        return ()
    exact = cache(lambda: _exact(given, ask, wishes))
    found = [
        _attempted(CONSTANT, "none", lambda: _constant(given)),
        _attempted(ATOMS, ATOMS, lambda: exact()[0]),
        _attempted(REMAPPED, ATOMS, lambda: _remapped(given, *exact())),
        _attempted(LIMIT, "channel", lambda: _limit(given, ask)),
    ]
    if isinstance(source, Scenario) and counts_of_a_table(source):
        found.append(_attempted(AT_95, None, lambda: at_confidence(source, ask, wishes)))
    return tuple(found)


def _attempted(name: str, noise: str | None, make: Callable[[], Row]) -> Row:
    try:
        on_time()
        row = make()
        return replace(row, method=name, noise=noise or row.noise)
    except (FuguError, *ARITHMETIC) as error:
        return refused(name, noise or "none", str(error) if isinstance(error, FuguError) else told(error))


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
    offer = next(scales(given, ask, replace(wishes, noise=ATOMS, method="exact")))[0]
    if not offer.method:
        raise NotProvable(f"{ATOMS}: {offer.refusal}")
    return rows_of([offer], ask)[0], cast(Lattice, offer.lattice)


def _remapped(given: tuple[Shape, ...], row: Row, lattice: Lattice) -> Row:
    """The same, each output moved to the weighted median of what may lie behind it."""
    if not row.proven or row.scale == 0:
        return row
    family = one_family(given).on(lattice)
    points, weight = mean_law([family])
    noise = kind_of(ATOMS).at(row.scale, lattice.grid).placed(points, weight)
    made = Remap.of("absolute", False, noise, points, lattice.value(points), tuple(weight))
    return replace(
        row,
        expected_absolute=made.expected_error("absolute"),
        expected_squared=made.expected_error("squared"),
        why=_REMAP,
    )


def _limit(given: tuple[Shape, ...], ask: Ask) -> Row:
    error, squared, lower, exact = limit_of(given, ask)
    epsilon = 0.0 if one_family(given).same else float(ask.epsilon)
    bracket = "nothing needs to change" if error == 0 else f"no mechanism is below {lower:.9g}"
    note = f"{bracket}; {_WARNING}" + (f"; {NEEDS}" if exact else "")
    return Row(LIMIT, "channel", math.nan, error, squared, epsilon, True, bracket, note)


MOST_OF_A_PAIR, MOST_OF_SEVERAL = 200, 100
"""So many atoms are tried without being asked: about a second."""


def one_family(given: Sequence[Shape]) -> Family:
    """The one family of laws with known atoms on a line; refused for others, with the reason."""
    if len(given) != 1 or not isinstance(given[0], Family) or given[0].dimension > 1:
        raise NotProvable("this is known for laws of one number with atoms, on a common support")
    if given[0].translates or given[0].inexact:
        raise NotProvable("this is known for laws that are stated exactly, with their atoms")
    return given[0]


def limit_of(given: Sequence[Shape], ask: Ask) -> tuple[float, float, float, bool]:
    """The limit for laws as stated and what is asked; the weight of the error is the mean law.

    (error, squared, lower, exact): lower <= optimum <= error, E|Y - X| of a channel in integers; E(Y - X)^2 of that
    channel, which was not made least; whether its values are called exact, so that a release wants that said.

    Raises `NotProvable` where none is known: for divergences, for epsilon 0, for laws without atoms, and for more atoms
    than are worked out without being asked for."""
    family = one_family(given)
    if ask.finite:
        raise NotProvable("no limit is known for a Rényi budget")
    if family.same:
        return 0.0, 0.0, 0.0, True
    if ask.epsilon == 0:
        raise NotProvable("no limit is worked out for epsilon 0: an exact channel has no room there")
    atoms, most = len(family.points), MOST_OF_SEVERAL if len(family.laws) > 2 or ask.delta else MOST_OF_A_PAIR
    if atoms > most:
        raise NotProvable(f"not worked out by itself for {atoms} atoms, above {most}; ask fugu.optimal_channel for it")
    wishes = Asked(loss="absolute")  # the atoms as outputs lose nothing (docs/proofs/optimal-channels.md)
    channel, optimum = solved(wishes.problem((family,), ask), wishes)
    errors = Errors(channel, family.points, family.laws)
    exact = errors.unchanged > HALF and any_belief(channel) > LN3
    return optimum.value, errors.expected("squared"), optimum.lower or 0.0, exact


_ANY = "every value of the range against every other, whatever is believed: range / epsilon"
_NONE = "no guarantee here: it hides the protected cell, and adds nothing to a column that tells of it"
_MOST_CELLS = 200_000


def ordinary(source: PairsLike, budget: Guarantee) -> tuple[Row, ...]:
    """What ordinary differential privacy would do at the same budget; nothing for laws without known ends, such as
    normal ones, and for vectors."""
    given = shapes(as_pairs(source))
    if any(not isinstance(item, Family | SetFamily) or item.dimension > 1 or item.translates for item in given):
        return ()
    points = np.concatenate([item.points for item in given if isinstance(item, Family | SetFamily)])
    width = float(points.max() - points.min())
    if width == 0 or not 0 < float(budget.epsilon) < math.inf:
        return ()
    # for a value that may move by the whole range; where none is proved, Laplace noise of range / epsilon, which meets
    # every budget of that epsilon. Of real numbers: the lattice of a shift is of no interest here.
    noise: Laplace | Gaussian = Laplace(width / float(budget.epsilon))
    with suppress(FuguError, *ARITHMETIC):
        made = best(Shifted(width), budget, Wishes()).noise
        assert isinstance(made, Laplace | Gaussian)
        noise = type(made)(made.scale)
    local = Row(
        LOCAL, noise.name, float(noise.scale), noise.expected_error(), noise.expected_error("squared"),
        _true(noise, source), True, _ANY, "for comparison", released=False
    )  # fmt: skip
    if not isinstance(source, Scenario) or source.query is None:
        return (local,)
    # the column as it is: what privacy for the protected cell alone would publish
    bare = Row(RECORDS, "none", 0.0, 0.0, 0.0, _true(Laplace(0), source), False, _NONE, "", released=False)
    return local, bare


def _true(noise: Laplace | Gaussian, source: PairsLike) -> float:
    """The epsilon that the noise really gives under the beliefs; nan where it is not known, or takes long."""
    cells = sum(len(f.points) * len(f.pairs) for f in shapes(as_pairs(source)) if isinstance(f, Family | SetFamily))
    if cells > _MOST_CELLS:
        return math.nan
    try:
        return epsilon(type(noise)(noise.scale), source)
    except (NotProvable, FuguError, *ARITHMETIC):
        return math.nan


_MOST_STEPS = 5_000
_HOW = "with confidence=0.95, if the values seen are all that may come"
_AGREE = "the counts bear out that no noise is needed"
_DISAGREE = "no noise is needed for the frequencies as they are, and the counts are too few to bear that out"


def require_few_steps(values: Sequence[float], ask: Ask) -> None:
    """Refuse what would take long and was not asked for: sums over the points of a fine lattice, under a delta or a
    Rényi order. Pure losses visit the values only."""
    lattice = None if ask.pure else Lattice.holding([np.array(values)])
    if not ask.pure and (lattice is None or np.ptp(lattice.index(np.array(values))) > _MOST_STEPS):
        raise NotProvable(f"not worked out by itself beyond {_MOST_STEPS} lattice steps; ask with confidence=0.95")


def at_confidence(source: Scenario, ask: Ask, wishes: Wishes) -> Row:
    """The noise of least error for every law that the counts of the reference cannot rule out at 95 %.

    Raises `NotProvable` where the beliefs are not counts of a reference, or have confidence already."""
    counted = None if source.sampled is not None else sampled_of(source)
    if counted is None:
        raise NotProvable("the beliefs are not counts of a reference, or hold for all that it cannot rule out already")
    require_few_steps(counted.values, ask)
    found = _least(scales(shapes(with_sets(source, counted).law_pairs()), ask, wishes), ask)
    plain = _least(scales(shapes(source.law_pairs()), ask, wishes), ask)
    note = _HOW
    if plain.scale == 0:
        note = f"{_AGREE if found.scale == 0 else _DISAGREE}; {_HOW}"
    return replace(found, method=AT_95, note=note)


def _least(stages: Stages, ask: Ask) -> Row:
    """The row of least expected error among those that are proved."""
    refusals: list[str] = []
    for stage in stages:
        refusals += [f"{offer.kind.name}: {offer.refusal}" for offer in stage if not offer.method]
        found = rows_of([offer for offer in stage if offer.refusal is None], ask)
        if proved := [row for row in found if row.proven]:
            return min(proved, key=lambda row: row.expected_absolute)
        refusals += [row.why for row in found]
    raise NotProvable("; ".join(dict.fromkeys(refusals)) or "no scale was found")
