"""What the user leaves open in a training: chosen from public numbers only, the sizes of the data, budget and prior.

Small steps and many of them cost the same as large steps and few: only learning_rate x steps matters. Splitting the
records into B batches costs (B + E - 1) / E times the variance of whole-data steps with E epochs (a record in the last
batch of the last epoch is hidden by one noise only), so the default is one batch of all records, and more only where
the noise is small anyway and whole-data steps would take long. The number of steps trades the noise, which grows
with it, against the distance still to go: the best was near 0.4 n epsilon / weights in trials on made and real data,
between 8 and 400, with n divided by the number of records that move together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fugu.errors import UsageError
from fugu.numbers.checks import is_numeric
from fugu.numbers.exact import is_whole
from fugu.priors.coupling import Case, Coupled, Run

_PACE = 1.5
"""Learning rate times smoothness; 2 is the limit beyond which a step no longer contracts."""
_FEWEST, _MOST, _MOST_BATCHES = 8, 400, 20
_RARE = 0.05


@dataclass(frozen=True)
class Choices:
    """The numbers that a training runs with."""

    steps: int
    batch_size: int
    learning_rate: float


def choose(
    records: int,
    pace: float,
    smoothness: float,
    epochs: Any = None,
    batch_size: Any = None,
    learning_rate: Any = None,
) -> Choices:
    """Fill in what is None. `pace`: the number of whole-data steps that would be best.

    >>> choose(1000, 67, 1.0), choose(100_000, 4000, 1.0)
    (Choices(steps=67, batch_size=1000, learning_rate=1.5), Choices(steps=400, batch_size=10000, learning_rate=1.5))
    """
    wanted = min(_MOST, max(_FEWEST, math.ceil(min(pace, _MOST))))
    if batch_size is None:
        size = -(-records // min(_MOST_BATCHES, max(1, int(min(pace, 1e6) / _MOST)), records))
    else:
        size = min(records, _whole(batch_size, "batch_size"))
    batches = -(-records // size)
    rounds = max(-(-wanted // batches), min(batches, 20)) if epochs is None else _whole(epochs, "epochs")
    steps = rounds * batches
    most = _PACE / smoothness * min(1.0, max(wanted, rounds) / steps)
    rate = most if learning_rate is None else _number(learning_rate, "learning_rate")
    if rate > 2 / smoothness:
        raise UsageError(
            f"learning_rate is {rate:g}, above 2 / smoothness = {2 / smoothness:g}: such steps push runs apart and "
            "nothing is proved; give a smaller one, or None"
        )
    return Choices(steps, size, rate)


def penalty_and_radius(records: int, weights: int, reach: float, penalty: Any, radius: Any) -> tuple[float, float]:
    """Fill in what is None: penalty 1 / n, radius reach sqrt(weights).

    >>> penalty_and_radius(1000, 4, 2.0, None, None)
    (0.001, 4.0)
    """
    weight = 1 / records if penalty is None else _number(penalty, "penalty", zero=True)
    return weight, reach * math.sqrt(weights) if radius is None else _number(radius, "radius")


def together(prior: Coupled, records: int, ratio: float) -> float:
    """How many records move along with one of them, outside rare events: a guide, on which no proof hangs.

    `ratio`: the move of a gradient per unit of distance, as a share of its largest move.

    >>> from fugu.priors.groups import Groups, Independent
    >>> together(Independent(), 10, 1.0), together(Groups([0, 0, 0, 1]), 4, 1.0)
    (1.0, 3.0)
    """

    @dataclass
    class Count:
        height: float

    def weigh(case: Case) -> Count:
        moves = [case.move(k).distances for k in range(case.chances.size)]
        counts = np.array([float(np.sum(np.minimum(1.0, ratio * d))) for d in moves])
        order = np.argsort(-counts)
        beyond = np.cumsum(case.chances[order])
        return Count(float(counts[order][min(int(np.searchsorted(beyond, _RARE)), counts.size - 1)]))

    whole = Run(steps=1, records=records, batch_size=records, rates_rise=True)
    return max(1.0, *(found.height for found in prior.weigh(whole, weigh)))


def _whole(x: Any, name: str) -> int:
    if not is_whole(x, least=1):
        raise UsageError(f"{name} must be a whole number of at least 1, or None")
    return int(x)


def _number(x: Any, name: str, zero: bool = False) -> float:
    if not is_numeric(x):
        raise UsageError(f"{name} must be a number, or None")
    found = float(x)
    if not math.isfinite(found) or found < 0 or (found == 0 and not zero):
        raise UsageError(f"{name} must be a finite number {'>= 0' if zero else 'above 0'}, or None")
    return found
