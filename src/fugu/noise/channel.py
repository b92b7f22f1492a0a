"""`Channel`: published values drawn from a table of whole numbers, one row for each value that goes in."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise, CertificateError, UsageError
from fugu.noise.bits import OS, BitSource
from fugu.noise.kind import Floats, Noise, Objective
from fugu.noise.lattice import Lattice
from fugu.noise.selection import uniform_below
from fugu.numbers.exact import is_whole, read_whole
from fugu.visible import Json, brief, several

_WORD = 63
"""Totals of at most so many bits are drawn and searched in machine words."""


@final
@dataclass(frozen=True, init=False)
class Channel(Noise):
    """K(y | x) = rows[x][y] / total: the value numbered x goes out as outputs[y] with that probability, exactly.

    Parameters:

    - `outputs`: the published values, increasing finite numbers; codes 0, 1, 2, ... for categories.
    - `rows`: one for each value of the laws in their order, with one whole number >= 0 for each output. All rows have
      the same sum, which is positive.
    - `weight`: how the values are weighed where an expected error is stated, numbers >= 0 with a positive sum, one for
      each row, read as the binary numbers they are; None: the worst of the laws. It is no part of the guarantee.
    - `names`: what the outputs are called, where they are codes of categories.

    Raises `BadNoise` for others.

    >>> coin = Channel([0, 1], [[3, 1], [1, 3]])
    >>> coin.total, coin.conditional().tolist()
    (4, [[0.75, 0.25], [0.25, 0.75]])
    """

    name: ClassVar[str] = "channel"
    refused: ClassVar[str | None] = (
        "a channel is found by linear programming: method='optimal-channel', or fugu.optimal_channel"
    )
    words: ClassVar[str] = "a channel, which exchanges values"
    proof: ClassVar[str] = "docs/proofs/channels.md"
    remaps: ClassVar[bool] = False
    tabled: ClassVar[bool] = True
    shown: ClassVar[tuple[str, str]] = (Noise.shown[0].replace("Additive", "ChannelMechanism"), "")
    scale: ClassVar[float] = math.nan  # type: ignore[misc]
    grid: ClassVar[None] = None  # type: ignore[misc]
    added: ClassVar[bool] = False
    outputs: tuple[float, ...]  # type: ignore[assignment]
    rows: tuple[tuple[int, ...], ...]
    weight: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None

    def __init__(
        self,
        outputs: Iterable[float],
        rows: Iterable[Sequence[int]],
        weight: Iterable[float] | None = None,
        names: Iterable[str] | None = None,
    ) -> None:
        published = tuple(float(y) + 0.0 for y in outputs)
        held = tuple(tuple(row) for row in rows)
        _check(published, held)
        object.__setattr__(self, "outputs", published)
        object.__setattr__(self, "rows", tuple(tuple(map(int, row)) for row in held))
        weights, called = None if weight is None else tuple(map(float, weight)), None if names is None else tuple(names)
        count = len(held)
        if weights is not None and (
            len(weights) != count or not all(0 <= w < math.inf for w in weights) or not 0 < sum(weights) < math.inf
        ):
            raise BadNoise(f"a channel of {count} values has {count} finite weights >= 0, with a positive sum")
        count = len(published)
        if called is not None and (
            not all(isinstance(name, str) for name in called) or not len(set(called)) == len(called) == count
        ):
            raise BadNoise(f"a channel of {count} outputs has {count} different names, or none")
        object.__setattr__(self, "weight", weights)
        object.__setattr__(self, "names", called)

    @cached_property
    def total(self) -> int:
        """The sum of every row."""
        return sum(self.rows[0])

    def expected_error(self, objective: Objective = "absolute") -> float:  # noqa: ARG002
        """Refused: it depends on the values that go in (`fugu.channels.problem.Errors`)."""
        raise UsageError("the errors of a channel depend on the values that go in, and were not given")

    def quantile(self, level: float) -> float:
        """Refused, for the same reason."""
        return self.expected_error() * level

    @property
    def silent(self) -> bool:
        """Whether nothing is hidden: every value goes out surely as one output, and no two as the same."""
        sure = {next(y for y, mass in enumerate(row) if mass) for row in self.rows}
        return len(sure) == len(self.rows) and all(max(row) == self.total for row in self.rows)

    def columns(self) -> Iterator[tuple[int, ...]]:
        """The whole numbers of each output, over all values."""
        return zip(*self.rows, strict=True)

    def conditional(self) -> NDArray[np.float64]:
        """K(y | x) in doubles, one row for each value."""
        total = self.total
        return np.array([[mass / total for mass in row] for row in self.rows], dtype=np.float64)

    def index(self, values: Floats, lattice: Lattice | None, support: Floats | None) -> NDArray[np.int64]:
        """The rows of supported values."""
        del lattice
        assert support is not None
        return np.searchsorted(support, values)

    def value(self, places: NDArray[np.int64], lattice: Lattice | None, support: Floats | None) -> Floats:
        """The published numbers of these outputs."""
        del lattice, support
        return np.array(self.outputs)[places]

    def named(self, drawn: Floats) -> NDArray[Any]:
        """Categories without an order under their names, missing ones as empty text; numbers as they are."""
        if self.names is None:
            return drawn
        places = np.searchsorted(np.array(self.outputs), np.nan_to_num(drawn))
        return np.array([*self.names, ""])[np.where(np.isnan(drawn), -1, places)]

    def move(self, places: NDArray[np.int64], source: BitSource = OS) -> NDArray[np.int64]:
        """The numbers of independent outputs, one for each row number in `places`.

        Exact: U uniform below the total is in row x's y-th interval of the cumulated integers with probability
        rows[x][y] / total. U is a word of as many bits as the total needs, drawn again while it is not below it."""
        if places.size and not 0 <= int(places.min()) <= int(places.max()) < len(self.rows):
            raise BadNoise("a value has no row in the channel")
        if self.total.bit_length() <= _WORD:
            return self._by_words(places, source)
        ends = {place: list(accumulate(self.rows[place])) for place in np.unique(places).tolist()}
        return np.array(
            [bisect_right(ends[x], uniform_below(self.total, source, 32)) for x in places.tolist()], dtype=np.int64
        )

    def _by_words(self, places: NDArray[np.int64], source: BitSource) -> NDArray[np.int64]:
        uniform = np.zeros(places.size, dtype=np.uint64)
        bits, left = (self.total - 1).bit_length(), np.arange(places.size)
        while left.size and bits:
            uniform[left] = source.words(bits, left.size)
            left = left[uniform[left] >= self.total]
        drawn = np.empty(places.size, dtype=np.int64)
        for place in np.unique(places).tolist():
            here = places == place
            ends = np.array(list(accumulate(self.rows[place])), dtype=np.uint64)
            drawn[here] = np.searchsorted(ends, uniform[here], side="right")
        return drawn

    def to_json(self) -> Json:
        """The kind and its numbers, exactly: of each row what is above the least of the column, by column number."""
        floor = [min(column) for column in self.columns()]
        above = [
            {str(y): str(mass - least) for y, (mass, least) in enumerate(zip(row, floor, strict=True)) if mass > least}
            for row in self.rows
        ]
        found: Json = {"kind": self.name, "outputs": list(self.outputs), "floor": list(map(str, floor)), "rows": above}
        found |= {} if self.weight is None else {"weight": list(self.weight)}
        return found | ({} if self.names is None else {"names": list(self.names)})

    @classmethod
    def from_json(cls, found: Json) -> Channel:
        """The channel that `to_json` wrote."""
        if found["kind"] != cls.name:
            raise CertificateError(f"this version of fugu knows no channel {brief(str(found['kind']), 40)}")
        outputs = [read_double(y) for y in found["outputs"]]
        floor = [read_whole(mass) for mass in found["floor"]]
        rows = []
        for stated in found["rows"]:
            row = list(floor)
            for y, mass in stated.items():
                if not (y.isascii() and y.isdigit() and len(y) < 10 and int(y) < len(row)):
                    raise CertificateError("a row of the channel has a weight for an output that there is not")
                row[int(y)] += read_whole(mass)
            rows.append(row)
        weight, names = found.get("weight"), found.get("names")
        return cls(outputs, rows, None if weight is None else [read_double(w) for w in weight], names)

    def __repr__(self) -> str:
        return f"Channel({several(len(self.rows), 'value')}, {several(len(self.outputs), 'output')})"


def _check(outputs: tuple[float, ...], rows: tuple[tuple[Any, ...], ...]) -> None:
    """Refuse what is no channel."""
    if not outputs or not all(map(math.isfinite, outputs)) or any(a >= b for a, b in pairwise(outputs)):
        raise BadNoise("the outputs of a channel are increasing finite numbers, at least one")
    if not rows or any(len(row) != len(outputs) for row in rows):
        raise BadNoise(f"a channel has rows of one weight for each of its {len(outputs)} outputs, at least one row")
    plain = all(set(map(type, row)) == {int} and min(row) >= 0 for row in rows)
    if not plain and not all(is_whole(mass, least=0) for row in rows for mass in row):
        raise BadNoise("the weights of a channel are whole numbers >= 0")
    sums = {sum(map(int, row)) for row in rows}
    if len(sums) > 1 or sums == {0}:
        raise BadNoise("the rows of a channel have one and the same positive sum")


def read_double(x: object) -> float:
    """A number of a document that is the double it is written as."""
    if isinstance(x, bool) or not isinstance(x, int | float):
        raise CertificateError("the channel holds something that is not a number")
    return float(x)
