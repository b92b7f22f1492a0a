"""How far the other records move when a secret one changes, and priors known by which entries depend on each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.errors import NotProvable, UsageError
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.priors.prior import Belief, Curved, InfluenceCurve, Prior, Quilted, SeveralPriors, whole
from fugu.visible import Json

# How far the other records move, in one coupling, when a secret record changes: what training asks of a prior.
#
# A prior turns each pair of secrets about record i into a `Case`: a coupling of the two joint laws of all records, as a
# list of moves with their chances. Only joint couplings count: distances of single records say nothing if the records
# are dependent (`from_marginals`). Shifts that come later are hidden by less noise, so a case with the same moves at
# later records covers one with the moves at earlier records (docs/proofs/iterations.md#3-the-least-allocation).

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
    """Always refused, because how far each record moves by itself (its own Wasserstein distance) bounds nothing if
    they depend."""
    raise NotProvable(
        "distances between the laws of single records bound nothing for dependent records. Counterexample: a fair sign "
        "B, records (B, B) under one secret and (B, -B) under the other, W_t = W_{t-1} + x_t + N(0, 1). Each record "
        "has the same law under both secrets, so the printed bound is 0; the divergence of order 2 is 1.325. Give "
        "a joint prior instead: AR1 or Correlated (normal), MarkovChain or Mixing, Groups, an explicit joint law "
        "(Joint, joint_bound), or WorstCase"
    )


# Priors known by which entries may depend on each other: none, all, those of one group, those of one block.
#
# `Independent`, `Groups`, `WorstCase`: it is public which records belong together, and inside a group any dependence is
# covered. `DependentGroups`: only the size of the largest group is known, not who is in it. `IndependentBlocks`: inside
# a block not everything is possible, its own prior says what. `Scenario.group` is the same belief as `Groups` for one
# published number: all records of a group may change at once.
#
# Proofs: docs/proofs/influence.md#groups-and-blocks.

_MOST_WORK = 2**24


@dataclass(frozen=True)
class Independent(Coupled):
    """All records are independent: differential privacy (Feldman et al. 2018). The record used last is hidden
    least."""

    kind = "independent"
    ordered = False

    @classmethod
    def example(cls) -> Independent:
        return cls()

    def influence_curve(self, max_b: int | None = None) -> InfluenceCurve:
        """0: the others say nothing about a record."""
        return InfluenceCurve(lambda _: math.inf, 1, max_b)

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        if run.rates_rise:
            return [weigh(Case.sure([(run.steps - 1) % run.batches * run.batch_size]))]
        return [weigh(Case.sure([first])) for first in range(0, run.records, run.batch_size)]

    def words(self) -> str:
        return "the records are independent of each other"


@dataclass(frozen=True)
class WorstCase(Coupled):
    """Nothing is assumed: all records may change together (group privacy of the whole data set).

    It states no number of records; where one is needed, `DependentGroups(n)` is the same belief about n of them."""

    kind = "group"
    ordered = False

    @classmethod
    def example(cls) -> WorstCase:
        return cls()

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        return [weigh(Case.sure(np.arange(run.records)))]

    def words(self) -> str:
        return "nothing: all records may depend on each other in any way"


class Groups(Coupled):
    """Records with the same label depend on each other in any way; records with different labels are independent.

    `labels`: one per record, none of them missing. Raises `UsageError` for others.

    >>> Groups(["a", "a", "b"]).influence_curve().points
    [(1, inf), (2, 0.0)]
    """

    kind = "groups"
    ordered = False
    labels: Indices

    def __init__(self, labels: Sequence[Hashable] | NDArray[np.generic]) -> None:
        try:
            given = np.asarray(labels)
            numbers = np.unique(given, return_inverse=True)[1]
        except (TypeError, ValueError):
            raise UsageError("groups must be labels of one kind, one for each record, none of them missing") from None
        if given.ndim != 1 or given.size == 0:
            raise UsageError("groups must be one label for each record")
        if bool(np.any(given != given)):  # NaN: nobody knows whose records these are  # noqa: PLR0124
            raise UsageError("groups must be labels of one kind, one for each record, none of them missing")
        own = numbers.reshape(-1).astype(np.int64)
        own.flags.writeable = False
        vars(self).update(labels=own)

    def __repr__(self) -> str:
        return f"Groups({self.labels.size} records, {int(self.labels.max()) + 1} groups)"

    @classmethod
    def example(cls) -> Groups:
        return cls(["a", "a", "b", "c"])

    @property
    def entries(self) -> int:
        """One for each label."""
        return int(self.labels.size)

    def influence_curve(self, max_b: int | None = None) -> InfluenceCurve:
        """+inf below the size of the largest group, 0 from there on."""
        return InfluenceCurve(lambda _: math.inf, int(np.bincount(self.labels).max()), max_b)

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        records = run.records
        if self.labels.size != records:
            raise UsageError(f"groups has {self.labels.size} labels for {records} records; give one for each")
        sizes = np.bincount(self.labels)
        if run.later_is_worse and sizes.size * records > _MOST_WORK:
            # the last records, as many as the largest group has, cover all groups
            return [weigh(Case.sure(np.arange(records - int(sizes.max()), records)))]
        order = np.argsort(self.labels, kind="stable")
        return [weigh(Case.sure(np.sort(members))) for members in np.split(order, np.cumsum(sizes)[:-1])]

    def words(self) -> str:
        return "records of one group may depend on each other in any way; different groups are independent"

    def parameters(self) -> Json:
        return {"kind": self.kind, "labels": self.labels.tolist()}


class DependentGroups(Belief):
    """Entries depend on each other in any way inside groups of at most `size`; groups are independent.

    `size`: a whole number of at least 1. Raises `UsageError` for others. Unlike `Groups`, nobody need know which
    entries belong together. Setting the whole group aside leaves nothing that knows of the entry: a(size) = 0. Below
    that nothing is known, and a(b) = +inf. `size` equal to the number of entries is group privacy of the whole table.

    >>> curve = DependentGroups(size=5).influence_curve()
    >>> curve(4), curve(5)
    (inf, 0.0)
    """

    size: int
    assumptions: tuple[str, ...]

    def __init__(self, size: int) -> None:
        most = whole(size, "size")
        vars(self).update(
            size=most,
            assumptions=(
                f"entries are dependent inside groups of at most {most} only",
                "different groups are independent under every belief (no common unknown parameter)",
            ),
        )

    def __repr__(self) -> str:
        return f"DependentGroups(size={self.size})"

    @classmethod
    def example(cls) -> DependentGroups:
        return cls(3)

    def influence_curve(self, max_b: int | None = None) -> InfluenceCurve:
        """+inf below the size of a group, 0 from there on."""
        return InfluenceCurve(lambda _: math.inf, self.size, max_b)


class IndependentBlocks(SeveralPriors):
    """Blocks (users), each with its own prior, independent of each other under every belief.

    `priors`: one per block, at least one. Raises `UsageError` without any.

    The law of the whole table is a product over the blocks, so what lies outside the block of an entry has the same law
    whatever the entry is: a(b) is the largest over the blocks, and a = 0 once the longest block is set aside. A common
    unknown parameter (a latent season, a shared fitted chain that is itself uncertain) breaks this: the table is then a
    mixture of products, and outside blocks do tell about the entry.

    >>> import fugu
    >>> long = fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=9)
    >>> users = IndependentBlocks(long, fugu.MarkovChain([[0.5, 0.5], [0.4, 0.6]], length=4))
    >>> curve = fugu.influence(users)
    >>> round(curve(1), 6), curve(9), curve.length
    (2.197225, 0.0, 9)
    """

    priors: tuple[Prior | Curved | Quilted, ...]
    assumptions: tuple[str, ...]

    def __init__(self, *priors: Prior | Curved | Quilted) -> None:
        if not priors:
            raise UsageError("independent blocks need the prior of at least one block")
        said: Iterable[str] = (line for prior in priors for line in getattr(prior, "assumptions", ()))
        vars(self).update(
            priors=tuple(priors),
            assumptions=("blocks are independent of each other under every belief", *dict.fromkeys(said)),
        )

    def __repr__(self) -> str:
        return f"IndependentBlocks({len(self.priors)} priors)"

    @classmethod
    def example(cls) -> IndependentBlocks:
        return cls(DependentGroups(2), Groups(["a", "a", "a"]), Independent())

    @property
    def members(self) -> tuple[Prior | Curved | Quilted, ...]:
        """The priors of the blocks."""
        return self.priors

    @property
    def entries(self) -> int:
        """Those of all blocks, as far as they say it."""
        return sum(getattr(prior, "entries", None) or 0 for prior in self.priors)
