"""Ordinary differential privacy as rows beside the others: for comparison, never released.

Local differential privacy protects every value of a column against every other, whatever is believed: Laplace noise of
scale range / epsilon (Dwork, McSherry, Nissim, Smith 2006), values kept within the range. Privacy for independent
records hides the protected cell itself, adds nothing to a column beside it, and so promises nothing of what the column
tells about it."""

from __future__ import annotations

import math

import numpy as np

from fugu.calibration.comparison import Row
from fugu.calibration.driver import best
from fugu.calibration.offer import Wishes
from fugu.calibration.registry import ARITHMETIC
from fugu.errors import FuguError, NotProvable
from fugu.guarantee.curve import Guarantee
from fugu.laws.family import Family
from fugu.laws.items import shapes
from fugu.laws.pair import PairsLike, Shifted, as_pairs
from fugu.laws.set_family import SetFamily
from fugu.loss.public import epsilon
from fugu.mechanism.additive import Additive
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.scenario.scenario import Scenario

LOCAL, RECORDS = "local-dp", "record-dp"
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
    noise = _plain(width, budget)
    local = Row(
        LOCAL, noise.name, float(noise.scale), noise.expected_error(), noise.expected_error("squared"),
        _true(noise, source), True, _ANY, "for comparison", released=False,
    )  # fmt: skip
    of_a_table = isinstance(source, Scenario) and source.query is not None
    return (local, _unprotected(source)) if of_a_table else (local,)


def _plain(width: float, budget: Guarantee) -> Laplace | Gaussian:
    """The noise for a value that may move by the whole range; where it is not proved, Laplace noise of range / epsilon,
    which meets every budget of that epsilon."""
    try:
        made = best(Shifted(width), budget, Wishes())
    except (FuguError, *ARITHMETIC):
        return Laplace(width / float(budget.epsilon))
    assert isinstance(made, Additive)
    assert isinstance(made.noise, Laplace | Gaussian)
    return type(made.noise)(made.noise.scale)  # of real numbers: the lattice of a shift is of no interest here


def _unprotected(source: PairsLike) -> Row:
    """The column as it is: what privacy for the protected cell alone would publish."""
    return Row(RECORDS, "none", 0.0, 0.0, 0.0, _true(Laplace(0), source), False, _NONE, "", released=False)


def _true(noise: Laplace | Gaussian, source: PairsLike) -> float:
    """The epsilon that the noise really gives under the beliefs; nan where it is not known, or takes long."""
    cells = sum(len(f.points) * len(f.pairs) for f in shapes(as_pairs(source)) if isinstance(f, Family | SetFamily))
    if cells > _MOST_CELLS:
        return math.nan
    try:
        return epsilon(type(noise)(noise.scale), source)
    except (NotProvable, FuguError, *ARITHMETIC):
        return math.nan
