"""What adversaries believe about the other records: how far these move, in one coupling, when a secret record changes.

A prior turns each pair of secrets about record i into a `Case`: a coupling of the two joint laws of all records, as a
list of moves with their chances. Only joint couplings count: distances of single records say nothing if the records are
dependent (`from_marginals`). Shifts that come later are hidden by less noise, so a case with the same moves at later
records covers one with the moves at earlier records (docs/proofs/iterations.md, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.errors import NotProvable, UsageError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_MOST_WORK, _MOST_RECORDS, _CLOSE = 2**24, 4096, 1e-5


@dataclass(frozen=True, eq=False)
class Move:
    """Records at `positions` (repeats add up) move by at most `distances`; inf: to anywhere."""

    positions: Indices
    distances: Floats


@dataclass(frozen=True, eq=False)
class Case:
    """Moves (number 0, 1, ...) with their chances under one coupling.

    Chances are from above, so they may sum to a little more than 1. Moves are made when asked for: they can be long."""

    chances: Floats
    move: Callable[[int], Move]

    @classmethod
    def sure(cls, positions: Any, distances: Any = math.inf) -> Case:
        """One move that is certain."""
        where = np.asarray(positions, dtype=np.int64)
        moved = np.broadcast_to(np.asarray(distances, dtype=np.float64), where.shape)
        return cls(np.ones(1), lambda _: Move(where, moved))


class Weighed(Protocol):
    """What a case costs; `height` ranks cases roughly."""

    @property
    def height(self) -> float: ...


Found = TypeVar("Found", bound=Weighed)


@dataclass(frozen=True, eq=False)
class Run:
    """A training run: how many steps and records, how many to a batch, and whether no step is shorter than one before.

    Then a later use is hidden less: the batch of the last step is the worst for one record by itself. If every pass is
    complete too, moves at later records cover the same moves at earlier ones; otherwise all must be looked at."""

    steps: int
    records: int
    batch_size: int
    rates_rise: bool

    @property
    def batches(self) -> int:
        """Batches in one pass."""
        return -(-self.records // self.batch_size)

    @property
    def later_is_worse(self) -> bool:
        """Whether moves at later records cover the same moves at earlier ones."""
        return self.rates_rise and self.steps % self.batches == 0

    def every(self) -> range:
        """All records, in case the last does not cover them; refused where they are too many."""
        if self.records > _MOST_RECORDS:
            raise NotProvable(
                f"with passes that are cut short or a learning rate that falls, each of the {self.records} records "
                f"must be looked at, which is offered up to {_MOST_RECORDS}: let steps be a multiple of the number of "
                "batches and the learning rate constant"
            )
        return range(self.records)


class Prior:
    """What is believed about n records in their public order."""

    ordered = True
    """Whether it matters which record comes after which."""
    gaussian = False
    """Whether the values themselves move a little, rather than change altogether with a small chance."""

    def weigh(self, run: Run, weigh: Callable[[Case], Found]) -> list[Found]:
        """Costs of cases that together cover every record and every pair of its values."""
        raise NotImplementedError

    def words(self) -> str:
        """What is asserted, for the certificate."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """What `fugu.training.reading.prior_of` needs to build it again."""
        raise NotImplementedError


@dataclass(frozen=True)
class Independent(Prior):
    """All records are independent: differential privacy (Feldman et al. 2018). The record used last is hidden
    least."""

    ordered = False

    def weigh(self, run: Run, weigh: Callable[[Case], Found]) -> list[Found]:
        if run.rates_rise:
            return [weigh(Case.sure([(run.steps - 1) % run.batches * run.batch_size]))]
        return [weigh(Case.sure([first])) for first in range(0, run.records, run.batch_size)]

    def words(self) -> str:
        return "the records are independent of each other"

    def parameters(self) -> dict[str, Any]:
        return {"kind": "independent"}


@dataclass(frozen=True)
class WorstCase(Prior):
    """Nothing is assumed: all records may change together (group privacy of the whole data set)."""

    ordered = False

    def weigh(self, run: Run, weigh: Callable[[Case], Found]) -> list[Found]:
        return [weigh(Case.sure(np.arange(run.records)))]

    def words(self) -> str:
        return "nothing: all records may depend on each other in any way"

    def parameters(self) -> dict[str, Any]:
        return {"kind": "group"}


class Groups(Prior):
    """Records with the same label depend on each other in any way; records with different labels are independent."""

    ordered = False

    def __init__(self, labels: Sequence[Any] | NDArray[Any]) -> None:
        try:
            found = np.asarray(labels)
            numbers = np.unique(found, return_inverse=True)[1]
        except (TypeError, ValueError):
            raise UsageError("groups must be labels of one kind, one for each record, none of them missing") from None
        if found.ndim != 1 or found.size == 0:
            raise UsageError("groups must be one label for each record")
        if bool(np.any(found != found)):  # NaN: nobody knows whose records these are  # noqa: PLR0124
            raise UsageError("groups must be labels of one kind, one for each record, none of them missing")
        self.labels = numbers.reshape(-1).astype(np.int64)

    def __repr__(self) -> str:
        return f"Groups({self.labels.size} records, {int(self.labels.max()) + 1} groups)"

    def weigh(self, run: Run, weigh: Callable[[Case], Found]) -> list[Found]:
        records = run.records
        if self.labels.size != records:
            raise UsageError(f"groups has {self.labels.size} labels for {records} records; give one for each")
        sizes = np.bincount(self.labels)
        if (
            run.later_is_worse and sizes.size * records > _MOST_WORK
        ):  # the last records, as many as the largest group has, cover all groups
            return [weigh(Case.sure(np.arange(records - int(sizes.max()), records)))]
        order = np.argsort(self.labels, kind="stable")
        return [weigh(Case.sure(np.sort(members))) for members in np.split(order, np.cumsum(sizes)[:-1])]

    def words(self) -> str:
        return "records of one group may depend on each other in any way; different groups are independent"

    def parameters(self) -> dict[str, Any]:
        return {"kind": "groups", "labels": self.labels.tolist()}


def positions(
    run: Run,
    near: Callable[[int], Case],
    rest: Callable[[int], Case],
    weigh: Callable[[Case], Found],
    most: int = 64,
) -> list[Found]:
    """Costs that cover all positions: near(r) is the case of record n - 1 - r, rest(r) covers it and all before it.

    Single positions are weighed until the rest costs no more than the worst of them (or 1e-5 more). `rest`
    moves records later, so it is used only where later is worse."""
    if not run.later_is_worse:
        return [weigh(near(r)) for r in run.every()]
    found = [weigh(near(run.records // 2))]
    done = 0
    while True:
        others = weigh(rest(done))
        if others.height <= (1 + _CLOSE) * max(x.height for x in found) or done >= min(most, run.records):
            return [*found, others]
        upto = min(run.records, max(1, 2 * done))
        found += [weigh(near(r)) for r in range(done, upto)]
        done = upto
        if done == run.records:
            return found


def from_marginals(*_: Any, **__: Any) -> NoReturn:
    """Refused: how far each record moves by itself (its own Wasserstein distance) bounds nothing if they depend."""
    raise NotProvable(
        "distances between the laws of single records bound nothing for dependent records. Counterexample: a fair sign "
        "B, records (B, B) under one secret and (B, -B) under the other, W_t = W_{t-1} + x_t + N(0, 1). Each record "
        "has the same law under both secrets, so the printed bound is 0; the divergence of order 2 is 1.325. Give "
        "a joint prior instead: AR1 or Correlated (normal), MarkovChain or Mixing, Groups, an explicit joint law "
        "(Joint, joint_bound), or WorstCase"
    )
