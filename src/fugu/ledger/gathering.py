"""What is gathered of rows in batches: `Words`, numbers to be read in increasing order, and `Names`, people in the
order in which they came. What is not little is spilled."""

from __future__ import annotations

import hashlib
import io
import marshal
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.files import spill_folder

Bits = NDArray[np.uint64]
Run = tuple[Bits, Bits]
"""Different numbers in increasing order, and how often each occurs."""
ROOM = 2**18
"""So many different numbers are kept in memory."""
_NONE = np.zeros(0, dtype=np.uint64)


@final
@dataclass(eq=False)
class Words:
    """Numbers of 64 bits, to be read in increasing order; they are digests, so a part of their range holds its share.

    Runs in order are merged in memory while they are small, and else written to a file without a name."""

    _runs: list[Run] = field(default_factory=list)
    _spilled: list[int] = field(default_factory=list)

    def add(self, words: Bits) -> None:
        """Further numbers, in any order."""
        self._runs.append(_merged([(np.sort(words), np.ones(len(words), dtype=np.uint64))] * (len(words) > 0)))
        if sum(len(run[0]) for run in self._runs) > 2 * ROOM:
            run = _merged(self._runs)
            self._runs = [run]
            if len(run[0]) > ROOM:
                self._file.seek(0, 2)
                for part in run:
                    self._file.write(part.astype("<u8").tobytes())
                self._spilled.append(len(run[0]))
                self._runs = []

    def __iter__(self) -> Iterator[Run]:
        """All of them in order, a part of their range after the other."""
        kept = _merged(self._runs)
        shares = 1 + 2 * len(self._spilled)
        fences = np.array([(k << 64) // shares for k in range(1, shares)], dtype=np.uint64)
        ends = [_ends(kept[0], fences)]
        ends += [_ends(self._read(k, 0, size), fences) for k, size in enumerate(self._spilled)]
        for place in range(len(fences) + 1):
            first, *others = ((cut[place], cut[place + 1]) for cut in ends)
            runs = [(kept[0][slice(*first)], kept[1][slice(*first)])]
            for k, part in enumerate(others):
                values, counts = (self._read(k, *(shift + end for end in part)) for shift in (0, self._spilled[k]))
                runs.append((values, counts))
            yield _merged(runs)

    def digest(self, begin: bytes) -> tuple[str, int]:
        """The SHA-256 of all numbers in increasing order after a `begin`, and how many different ones there are."""
        found, different = hashlib.sha256(begin), 0
        for values, counts in self:
            different += len(values)
            ends = np.cumsum(counts, dtype=np.int64)
            if len(values) and int(ends[-1]) == len(values):  # each once
                found.update(values.astype("<u8").tobytes())
                continue
            for start in range(0, int(ends[-1]) if len(ends) else 0, ROOM):
                each = np.arange(start, min(start + ROOM, int(ends[-1])))
                found.update(values[np.searchsorted(ends, each, "right")].astype("<u8").tobytes())
        return found.hexdigest(), different

    @cached_property
    def _file(self) -> IO[bytes]:
        return _spilled(self)

    def _read(self, k: int, start: int, stop: int) -> Bits:
        """Part of a run on disk: its numbers, then how often each occurs."""
        self._file.seek(8 * (2 * sum(self._spilled[:k]) + start))
        return np.frombuffer(self._file.read(8 * (stop - start)), dtype="<u8").astype(np.uint64)


@final
class Names:
    """Who is in a table, in one spelling each and each once, in the order of the rows; on disk where they are many."""

    def __init__(self) -> None:
        self._file: IO[bytes] = io.BytesIO()
        self._count = 0

    def add(self, names: Sequence[str]) -> None:
        """Further people."""
        self._file.seek(0, 2)
        self._file.write(marshal.dumps(list(names)))
        self._count += len(names)
        if isinstance(self._file, io.BytesIO) and self._file.tell() > 16 * ROOM:
            kept, self._file = self._file, _spilled(self)
            self._file.write(kept.getvalue())

    def __iter__(self) -> Iterator[str]:
        self._file.seek(0)
        left = self._count
        while left:
            names = marshal.load(self._file)
            left -= len(names)
            yield from names

    def __len__(self) -> int:
        return self._count


def _spilled(owner: object) -> IO[bytes]:
    """A file for private numbers that has no name, in a folder for its owner alone: it goes with the `owner`."""
    file = tempfile.TemporaryFile(dir=spill_folder())  # noqa: SIM115
    weakref.finalize(owner, file.close)
    return file


def _ends(values: Bits, fences: Bits) -> list[int]:
    return [0, *np.searchsorted(values, fences).tolist(), len(values)]


def _merged(runs: Sequence[Run]) -> Run:
    """Several runs as one."""
    if not runs:
        return _NONE, _NONE
    values, counts = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    if len(runs) > 1:
        order = np.argsort(values, kind="stable")  # which merges what is in order already
        values, counts = values[order], counts[order]
    new = np.flatnonzero(np.diff(values, prepend=~values[:1]) != 0)
    return values[new], np.add.reduceat(counts, new) if len(new) else counts
