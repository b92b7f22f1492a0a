"""What the same question would need with confidence: a row beside beliefs that are taken as the reference has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fugu.calibration.comparison import Row
from fugu.calibration.offer import Wishes
from fugu.calibration.scales import Scales
from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask
from fugu.laws.items import shapes
from fugu.noise.lattice import Lattice
from fugu.scenario.sampling import sampled_of, with_sets
from fugu.scenario.scenario import Scenario

AT_95 = "at 95 %"
_MOST_STEPS = 5_000
_HOW = "with confidence=0.95, if the values seen are all that may come"
_AGREE = "the counts bear out that no noise is needed"
_DISAGREE = "no noise is needed for the frequencies as they are, and the counts are too few to bear that out"


def require_few_steps(values: Sequence[float], ask: Ask) -> None:
    """Refuse what would take long and was not asked for: sums over the points of a fine lattice, under a delta or a
    Rényi order. Pure losses visit the values only."""
    lattice = None if ask.pure else Lattice.holding([np.array(values)])
    if not ask.pure and (lattice is None or np.ptp(lattice.index(np.array(values))) > _MOST_STEPS):
        raise NotProvable(f"not worked out unasked on more than {_MOST_STEPS} lattice steps; ask with confidence=0.95")


def at_confidence(source: Scenario, ask: Ask, wishes: Wishes) -> Row:
    """The noise of least error for every law that the counts of the reference cannot rule out at 95 %.

    Raises `NotProvable` where the beliefs are no counts of a reference, or have confidence already."""
    counted = None if source.sampled is not None else sampled_of(source)
    if counted is None:
        raise NotProvable("the beliefs are no counts of a reference, or hold for all that it cannot rule out already")
    require_few_steps(counted.values, ask)
    found = _least(Scales(shapes(with_sets(source, counted).law_pairs()), ask, wishes), ask)
    plain = _least(Scales(shapes(source.law_pairs()), ask, wishes), ask)
    note = _HOW
    if plain.scale == 0:
        note = f"{_AGREE if found.scale == 0 else _DISAGREE}; {_HOW}"
    return replace(found, method=AT_95, note=note)


def _least(search: Scales, ask: Ask) -> Row:
    """The row of least expected error among those that are proved."""
    refusals: list[str] = []
    for stage in search.stages(refusals):
        rows = [offer.row(ask) for offer in stage if offer.refusal is None]
        if proved := [row for row in rows if row.proven]:
            return min(proved, key=lambda row: row.expected_absolute)
        refusals += [row.why for row in rows]
    raise NotProvable("; ".join(dict.fromkeys(refusals)) or "no scale was found")
