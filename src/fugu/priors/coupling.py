"""How far the other records move, in one coupling, when a secret record changes: what training asks of a prior.

A prior turns each pair of secrets about record i into a `Case`: a coupling of the two joint laws of all records, as a
list of moves with their chances. Only joint couplings count: distances of single records say nothing if the records are
dependent (`from_marginals`). Shifts that come later are hidden by less noise, so a case with the same moves at later
records covers one with the moves at earlier records (docs/proofs/iterations.md#3-the-least-allocation).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.priors.prior import Belief
from fugu.visible import Json

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_MOST_RECORDS, _CLOSE = 4096, 1e-5


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


class PricedCase(Protocol):
    """What a case costs; `height` ranks cases roughly."""

    @property
    def height(self) -> float: ...


Price = TypeVar("Price", bound=PricedCase)


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


class Coupled(Belief):
    """A prior that turns each pair of secrets about one record into cases; n records in their public order."""

    kind = ""
    """The name under which `parameters` is read again."""
    ordered = True
    """Whether it matters which record comes after which."""
    distance: Real | None = None
    """How far apart two secret values of one record are at most; None: the two may be anything."""

    @property
    def gaussian(self) -> bool:
        """Whether the values themselves move a little, rather than change altogether with a small chance."""
        return self.distance is not None

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is asserted."""
        return (self.words(),)

    @property
    def provenance(self) -> tuple[str, ...]:
        """What a certificate says beyond `words`: where the numbers come from."""
        return ()

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        """Costs of cases that together cover every record and every pair of its values."""
        raise NotImplementedError

    def words(self) -> str:
        """What is asserted, for the certificate."""
        raise NotImplementedError

    def parameters(self) -> Json:
        """What `of` needs to build it again, and its kind; the numbers of a dataclass exactly."""
        numbers = {f.name: str(as_fraction(getattr(self, f.name))) for f in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind, **numbers}

    @classmethod
    def of(cls, *_: Any, **parameters: Any) -> Coupled:
        """The prior that `parameters` wrote down, all of them but its kind; numbers exactly."""
        if is_dataclass(cls) and {field.name for field in fields(cls)} != set(parameters):
            raise TypeError("these are not the parameters of this prior")
        return cls(**{name: x if isinstance(x, list) else read_number(x) for name, x in parameters.items()})


def positions(
    run: Run,
    near: Callable[[int], Case],
    rest: Callable[[int], Case],
    weigh: Callable[[Case], Price],
    most: int = 64,
) -> list[Price]:
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


def from_marginals(*_: object, **__: object) -> NoReturn:
    """Refused: how far each record moves by itself (its own Wasserstein distance) bounds nothing if they depend."""
    raise NotProvable(
        "distances between the laws of single records bound nothing for dependent records. Counterexample: a fair sign "
        "B, records (B, B) under one secret and (B, -B) under the other, W_t = W_{t-1} + x_t + N(0, 1). Each record "
        "has the same law under both secrets, so the printed bound is 0; the divergence of order 2 is 1.325. Give "
        "a joint prior instead: AR1 or Correlated (normal), MarkovChain or Mixing, Groups, an explicit joint law "
        "(Joint, joint_bound), or WorstCase"
    )
