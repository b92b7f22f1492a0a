"""`compare`: all methods side by side."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

from fugu.calibration.beside import beside, ordinary
from fugu.calibration.comparison import Comparison
from fugu.calibration.driver import best, table
from fugu.calibration.offer import Wishes
from fugu.calibration.usable import judged
from fugu.guarantee.curve import Guarantee
from fugu.laws.pair import PairsLike
from fugu.mechanism.intake import Context
from fugu.numbers.exact import Real
from fugu.scenario.scenario import Scenario
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
    model = getattr(scenario_or_pairs, "property", None)
    wishes = Wishes.of("best", grid, declared_exact=declared_exact, floor=floor, model=model)
    used = scenario_or_pairs.report.used if isinstance(scenario_or_pairs, Scenario) else None
    said = "" if used is None and rows is None else str(RowsFor(rows, used or 0))
    found = replace(table(scenario_or_pairs, budget, wishes), basis=said)
    make = cache(partial(best, scenario_or_pairs, budget, wishes))
    found = replace(found, chosen=lambda: make().certificate)
    if Context.of(scenario_or_pairs).nominal is not None:
        return replace(found, judge=partial(judged, scenario_or_pairs, make, rows=rows))  # no distances: none beside
    found = replace(found, more=partial(beside, scenario_or_pairs, budget, wishes))
    return replace(
        found,
        plain=partial(ordinary, scenario_or_pairs, budget),
        judge=partial(judged, scenario_or_pairs, make, lambda: found.beside, rows),
    )
