"""What went out of a mechanism (`Release`, and `PerEntryRelease` where each entry is protected), and `Once`: that it
goes out once, whatever the number of threads, copies and processes, or as often as a ledger charges it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.data.frame import FrameKind, FrameLike, KindName, PublishedColumn, to_frame
from fugu.errors import AlreadyReleased, BadNoise, NoiselessRelease, UsageError
from fugu.fixed import fixed
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import UNCHARGED
from fugu.numbers.exact import as_fraction
from fugu.shown import Shown
from fugu.visible import Json, brief, finite

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate
    from fugu.documents.per_entry import PerEntryCertificate

_SHOWN = 5
"""Rows that a notebook shows."""
Published = NDArray[np.float64 | np.str_]
Values = TypeVar("Values")
"""Numbers, or names of categories."""


@dataclass(frozen=True, eq=False)
class Simulated(Generic[Values]):
    """What `simulate` drew, from a generator that can be repeated: for experiments, and no release.

    `values`: the column, or the answer about sequences; `scalar`: whether a single value was given; `interval`: as of a
    release; `labels`: what the parts of an answer about sequences are called. It has no certificate, is no array and no
    column, and nothing that publishes, writes or charges takes it."""

    values: Values
    scalar: bool = False
    interval: tuple[float, float] | None = None
    labels: tuple[object, ...] | None = None

    @property
    def value(self) -> Values | float | str:
        """The number or name, the vector, or the column; the whole answer about sequences."""
        return np.asarray(self.values)[0] if self.scalar else self.values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError("simulated values are for experiments and never published; read .values to compute with them")

    def __repr__(self) -> str:
        return "Simulated(never to be published; see .values)"


@dataclass(frozen=True, eq=False)
class Release(Shown):
    """What went out: the published numbers, the certificate that covers them, and an interval for the error.

    `values`: the column, one number or vector per row, read-only; names, where categories without an order were
    published. `scalar`: whether a single value was released.
    `certificate`: the `Certificate` to publish beside them. `interval`: (-h, h), which holds the error of each value
    with 95 %; for vectors, that of all coordinates together. `value` is the number, the vector, or the column.
    `came`: of which kind the table was. `note`: what else is to be said, such as that no ledger was charged.
    """

    values: Published
    scalar: bool
    certificate: Certificate
    interval: tuple[float, float]
    came: FrameKind = field(default=FrameKind(), repr=False)
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", fixed(np.asarray(self.values)))

    @property
    def value(self) -> float | str | Published:
        """The number or name, the vector, or the column."""
        if not self.scalar:
            return self.values
        if self.values.dtype.kind == "U":
            return str(self.values[0])
        return float(self.values[0]) if self.values.ndim == 1 else self.values[0]

    def to_frame(self, kind: KindName | None = None, *, index: bool = False) -> FrameLike | dict[str, PublishedColumn]:
        """The published values as a frame of the kind that was released; vectors have a column per coordinate.

        `kind`: "pandas", "polars", "pyarrow", "duckdb", "dict" (of columns), ...; None for the kind of the table that
        was given, or, if that was a file or an array, the first of pandas, polars and pyarrow that is installed.
        `index`: True to put back the index of a pandas frame. Otherwise rows are numbered anew, since an index is often
        a patient number. Raises `MissingExtra` for a kind that is not installed, `UsageError` for others."""
        found: FrameLike | dict[str, PublishedColumn] = self.came.frame(self.columns(), kind, index)
        return found

    def to_json(self) -> Json:
        """What went out in JSON types, column by column, with both promises and the digest of the certificate."""
        names, certificate = self.values.dtype.kind == "U", self.certificate
        columns = {name: np.asarray(column).tolist() for name, column in self.columns().items()}
        return dict(finite({
            "columns": columns, "interval_95": None if names else list(self.interval), "promise": certificate.promises,
            "quote": list(certificate.quoted()),
            "certificate": certificate["digest"], "note": self.note,
        }))  # fmt: skip

    def columns(self) -> dict[str, PublishedColumn]:
        """The values as columns under the names that the certificate knows; vectors have one for each coordinate."""
        body, size = self.certificate.body, self.values.shape[-1]
        if self.values.ndim == 1:
            return {str((body.get("query") or {}).get("publish", "value")): self.values}
        stated = (body.get("property") or {}).get("statistics") or [f"value {k + 1}" for k in range(size)]
        return {str(name): self.values[:, k] for k, name in enumerate(stated)}

    def __float__(self) -> float:
        if self.values.size != 1 or self.values.dtype.kind == "U":
            raise TypeError("a released column, vector or name is not one number")
        return float(self.values.ravel()[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.value, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.tolist())

    def __repr__(self) -> str:
        several = "vectors" if self.values.ndim > 1 else "values"
        if self.scalar:
            found = self.value
            what = f"{found:g}" if isinstance(found, float) else brief(np.asarray(found).tolist(), 80)
        else:
            what = f"{len(self.values)} {several}"
        low, high = self.interval
        error = "" if self.values.dtype.kind == "U" else f", error within {low:g} .. {high:g} with 95 %"
        return f"Release({what}{error}{', no ledger' if UNCHARGED in self.note else ''})"


_forks = 0
"""How many forks lie between this process and the one that fugu was first imported in."""


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def process() -> tuple[int, int]:
    """What tells this process from those it was forked from and those that fork from it.

    Numbers of processes are used again, so forks are counted; and not every program that forks says so, so the number
    is looked at too."""
    return os.getpid(), _forks


class Once:
    """A token that can be taken once, in the process that made it: a fork would otherwise give every child one.

    In a child it is spent, also if the parent never uses its own. A copy shares the token."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._born = process()

    def take(self) -> None:
        """Take it, or raise `AlreadyReleased`."""
        if self._born != process():  # before the lock, which a thread of the parent may hold for ever
            raise AlreadyReleased(
                "this mechanism was made before a fork, and only the process that made it may release: each process "
                "would draw anew. Release before the fork, or make the mechanism in the one process that releases"
            )
        with self._lock:
            if self._taken:
                raise AlreadyReleased(
                    "this mechanism has released once, and its guarantee is for one release: two releases that leak "
                    "nothing alone can reveal everything together. Calibrate for both values at once, or use other data"
                )
            self._taken = True

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            "a mechanism releases once, so it cannot be stored or sent to another process; save its certificate, and "
            "release in the process that made it"
        )


def take_once(once: Once) -> None:
    """Use up the one release that may go out without a ledger."""
    try:
        once.take()
    except AlreadyReleased:
        raise AlreadyReleased(
            "this mechanism has released once, or was made before a fork; every further release costs its epsilon "
            "again. Spend it through a fugu.Ledger, which charges each release (charged=True), or make a new mechanism "
            "and add the epsilons"
        ) from None


def require_noise(certificate: PerEntryCertificate) -> None:
    """Raise `NoiselessRelease` where numbers would go out exact: their noise is 0 with probability above 1/2."""
    if said := certificate.exact_values:
        raise NoiselessRelease(
            f"the noise that meets the budget is mostly 0: {'; '.join(said)}. Say so with allow_no_noise=True "
            "(--allow-no-noise), or ask for a smaller epsilon"
        )


@dataclass(frozen=True, eq=False)
class PerEntryRelease:
    """What went out, and what it costs: `charge` is what a ledger adds up before any translation."""

    value: Any
    guarantee: Guarantee
    certificate: PerEntryCertificate

    @property
    def epsilon(self) -> Fraction:
        """The per-entry epsilon, exactly; a Rényi guarantee has none, read `guarantee`."""
        if self.guarantee.renyi:
            raise UsageError(f"a Rényi guarantee has no single epsilon; read guarantee, which is {self.guarantee!r}")
        return as_fraction(self.guarantee.epsilon)

    @property
    def charge(self) -> dict[str, object]:
        """{"kind": "per-entry", "guarantee": ...}."""
        return {"kind": "per-entry", "guarantee": self.guarantee}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({brief(self.value)}, per entry {self.guarantee!r})"


@dataclass(frozen=True, eq=False, repr=False)
class SequenceAnswer(PerEntryRelease, Shown):
    """What went out: `value`, its `labels`, the 95 % `interval` of the error (all parts together), the `charge`."""

    labels: tuple[Any, ...] | None = None
    interval: tuple[float, float] | None = None

    @property
    def parts(self) -> tuple[SequenceAnswer, ...]:
        """The answers one by one where several questions were asked together (`Several`); else this one alone."""
        if "parts" not in self.certificate.body:
            return (self,)
        return tuple(SequenceAnswer(v, self.guarantee, self.certificate, n, i) for v, n, i in self.value)

    @property
    def bounds(self) -> Any:
        """value + interval: where the exact answer lies with 95 %; None for selections."""
        if self.interval is None:
            return None
        return self.value + self.interval[0], self.value + self.interval[1]

    def to_json(self) -> Json:
        """The answer in JSON types: its columns, what each entry is promised, and the digest of the certificate."""
        return {
            "columns": finite(self.columns(str(self.certificate["query"]))),
            "guarantee": self.guarantee.to_json(), "certificate": self.certificate["digest"],
        }  # fmt: skip

    def to_frame(self, kind: KindName | None = None) -> FrameLike | dict[str, PublishedColumn]:
        """The answer as a frame of this kind, None for the first of pandas, polars and pyarrow that is installed."""
        return to_frame(self.columns(str(self.certificate["query"])), kind)

    def table(self) -> dict[Any, Any]:
        """Label to value, for answers with several parts."""
        if self.labels is None:
            raise BadNoise("this answer has one part; read its value")
        return dict(zip(self.labels, np.asarray(self.value).ravel().tolist(), strict=True))

    def columns(self, query: str) -> dict[str, list[Any]]:
        """The answer as columns: labels, values, and where the exact answer lies with 95 %; of several questions one
        row for each number or rank of each. `query`: the question in words, which labels a single number."""
        if "parts" not in self.certificate.body:
            return self._alone(query)
        found: dict[str, list[Any]] = {name: [] for name in TOGETHER}
        for part, claims in zip(self.parts, self.certificate["parts"], strict=True):
            columns = part._alone(claims["query"])
            if "from" in columns:
                columns["state"] = columns.pop("from")
            rows = max(map(len, columns.values()))
            columns["query"] = [claims["query"]] * rows
            for name in TOGETHER:
                found[name] += columns.get(name, [None] * rows)
        return {name: cells for name, cells in found.items() if any(cell is not None for cell in cells)}

    def _alone(self, query: str) -> dict[str, list[Any]]:
        if self.interval is None:
            chosen = list(self.value) if isinstance(self.value, tuple) else [self.value]
            return {"rank": list(range(1, len(chosen) + 1)), "state": chosen}
        values = np.asarray(self.value).ravel().tolist()
        ends = {"low": [v + self.interval[0] for v in values], "high": [v + self.interval[1] for v in values]}
        if self.labels is None:
            return {"query": [query], "value": values, **ends}
        if isinstance(self.labels[0], tuple):
            start, stop = (list(side) for side in zip(*self.labels, strict=True))
            return {"from": start, "to": stop, "value": values, **ends}
        return {"state": list(self.labels), "value": values, **ends}


TOGETHER = ("query", "rank", "state", "to", "value", "low", "high")
"""The columns of several questions in one file; what an answer has not is blank."""
