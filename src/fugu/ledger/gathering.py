"""What is gathered of rows in batches: `Words`, numbers to be read in increasing order, and `People`, who is in a
table; and what a ledger stores of both: digests under its key, compared a part of their range after the other. What is
not little is spilled."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import IO, Protocol, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.files import spill_folder
from fugu.errors import UsageError

Bits = NDArray[np.uint64]
Run = tuple[Bits, Bits]
"""Different numbers in increasing order, and how often each occurs."""
ROOM = 2**18
"""So many different numbers are kept in memory."""
_NONE = np.zeros(0, dtype=np.uint64)


class Increasing(Protocol):
    """Numbers of 64 bits in increasing order."""

    def __len__(self) -> int:
        """How many there are, each as often as it occurs."""

    def each(self) -> Iterator[Bits]:
        """All of them, some at a time."""


@final
@dataclass(eq=False)
class Words:
    """Numbers of 64 bits, to be read in increasing order; they are digests, so a part of their range holds its share.

    Runs in order are merged in memory while they are small, and else written to a file without a name."""

    _fresh: list[Bits] = field(default_factory=list)
    _kept: Run = (_NONE, _NONE)
    _spilled: list[tuple[int, int, bool]] = field(default_factory=list)
    """Of each run on disk its place, its size, and whether each number is in it once; else their counts follow."""
    _size: int = 0

    @staticmethod
    def of(words: Bits) -> Words:
        """These."""
        found = Words()
        found.add(words)
        return found

    def __len__(self) -> int:
        return self._size

    def add(self, words: Bits) -> None:
        """Further numbers, in any order."""
        self._fresh.append(words)
        self._size += len(words)
        if sum(map(len, self._fresh)) > 2 * ROOM:
            self._settle()

    def __iter__(self) -> Iterator[Run]:
        """All of them in order, a part of their range after the other."""
        self._settle()
        fences = _fences(sum(size for _, size, _ in self._spilled))
        ends = [_ends(self._kept[0], fences)]
        ends += [_ends(self._read(place, size), fences) for place, size, _ in self._spilled]
        for k in range(len(fences) + 1):
            first, *others = ((cut[k], cut[k + 1]) for cut in ends)
            runs = [(self._kept[0][slice(*first)], self._kept[1][slice(*first)])]
            for (start, stop), (place, size, once) in zip(others, self._spilled, strict=True):
                values = self._read(place + start, stop - start)
                counts = np.ones_like(values) if once else self._read(place + size + start, stop - start)
                runs.append((values, counts))
            yield _merged(runs)

    def each(self) -> Iterator[Bits]:
        """All of them, each as often as it occurs."""
        for run in self:
            yield from _repeated(*run)

    def digest(self, begin: bytes) -> tuple[str, int]:
        """The SHA-256 of all numbers in increasing order after a `begin`, and how many different ones there are."""
        found, different = hashlib.sha256(begin), 0
        for values, counts in self:
            different += len(values)
            for block in _repeated(values, counts):
                found.update(block.astype("<u8").tobytes())
        return found.hexdigest(), different

    def _settle(self) -> None:
        """Put what came last in order: into memory beside what is kept there, or on disk."""
        run = _tallied(np.sort(np.concatenate([_NONE, *self._fresh])))
        self._fresh = []
        if len(run[0]) <= ROOM:
            run, self._kept = _merged([self._kept, run]), (_NONE, _NONE)
        if len(run[0]) <= ROOM:
            self._kept = run
            return
        once, place = bool(run[1].max() == 1), self._file.seek(0, 2) // 8
        try:
            for part in run[: 1 if once else 2]:
                self._file.write(part.astype("<u8").tobytes())
            self._file.flush()
        except OSError as error:
            raise UsageError(
                f"the folder for temporary files takes no more ({error.strerror}); name a larger one in TMPDIR"
            ) from None
        self._spilled.append((place, len(run[0]), once))

    @cached_property
    def _file(self) -> IO[bytes]:
        """For private numbers: it has no name, in a folder for its owner alone, and goes with this object."""
        file = tempfile.TemporaryFile(dir=spill_folder())  # noqa: SIM115
        weakref.finalize(self, file.close)
        return file

    def _read(self, place: int, size: int) -> Bits:
        self._file.seek(8 * place)
        return np.frombuffer(self._file.read(8 * size), dtype="<u8").astype(np.uint64)


def _repeated(values: Bits, counts: Bits) -> Iterator[Bits]:
    """Each number as often as it occurs, some at a time."""
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    if total == len(values):  # each once
        yield values
        return
    for start in range(0, total, ROOM):
        each = np.arange(start, min(start + ROOM, total))
        yield values[np.searchsorted(ends, each, "right")]


def _fences(size: int) -> Bits:
    """Where a range is cut that holds so many digests, into parts of at most some `ROOM`."""
    shares = 1 + 2 * size // ROOM
    return np.array([(k << 64) // shares for k in range(1, shares)], dtype=np.uint64)


def _ends(values: Bits, fences: Bits) -> list[int]:
    return [0, *np.searchsorted(values, fences).tolist(), len(values)]


def _tallied(values: Bits) -> Run:
    """Numbers in order as a run."""
    new = np.flatnonzero(np.concatenate([np.ones(min(len(values), 1), dtype=bool), values[1:] != values[:-1]]))
    return values[new], np.diff(new, append=len(values)).astype(np.uint64)


def _merged(runs: Sequence[Run]) -> Run:
    """Several runs as one."""
    values, counts = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    if not len(counts) or counts.max() == 1:
        return _tallied(np.sort(values))
    order = np.argsort(values, kind="stable")  # which merges what is in order already
    values, counts = values[order], counts[order]
    new = np.flatnonzero(np.diff(values, prepend=~values[:1]) != 0)
    return values[new], np.add.reduceat(counts, new)


# Who is in a table, as keyed digests: which tables hold the same people, and which people are in which of them.
#
# A person is the cell that names them, in one spelling (`fugu.scenario.query.person_of`: "007", 7, 7.0 and " 7" are one
# person). What a ledger stores are 64 bits, from two steps:
#
# - 64 bits of BLAKE2b of the name, without a key: what a batch is read as. Rows have 64 bits of their own
#   (`fugu.ledger.fingerprint`).
# - Of these 64 bits the first 64 of the block that ChaCha20 (RFC 8439) makes of them as its nonce, under 256 bits that
#   HMAC-SHA-256 derives from the key of the ledger, others for people than for rows.
#
# Secrecy: ChaCha20 under a secret key is a pseudorandom function. Whoever has the ledger alone learns which stored
# numbers are equal, how many there are, and no more: to try a name takes the key, of 256 bits. So it does with
# HMAC-SHA-256, the digest of ledgers that were begun in formats up to 4 (`digested`); they keep it.
#
# Collisions: one person has the same bits always, so nobody is missed. Two of N people have the same bits with
# probability at most N^2 / 2^65 for each step, N^2 / 2^64 (a million: 6e-8), and then count as one person: more is
# refused, never less. Whoever may choose names can find two of equal bits after 2^32 tries; these count as one, too.
#
# Without a column that names the person, rows stand for people. Two tables then share people if they share rows beyond
# chance (`beyond_chance`).


def text_bits(texts: Sequence[str]) -> Bits:
    """64 bits of each text, by its characters."""
    digest = hashlib.blake2b
    found = [digest(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64)


@final
class People:
    """Who is in a table, in one spelling each: 64 bits for each name are gathered, and the names themselves are read
    again where they are asked for, by `names`."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self.bits, self._names = Words(), names

    @staticmethod
    def of(names: Sequence[str]) -> People:
        """People who are listed."""
        people = People(lambda: names)
        people.bits.add(text_bits(names))
        return people

    def __iter__(self) -> Iterator[str]:
        yield from self._names()

    def twice(self) -> bool:
        """Whether somebody comes again; different names of the same bits are told apart by their letters."""
        alike = {bits for values, counts in self.bits for bits in values[counts > 1].tolist()}
        seen = set[str]()
        for name in self if alike else ():
            if int(text_bits([name])[0]) in alike:
                if name in seen:
                    return True
                seen.add(name)
        return False


_COLUMN, _DIAGONAL = ([1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]), ([3, 0, 1, 2], [2, 3, 0, 1], [1, 2, 3, 0])
_LANES = 2**13


def chacha20(key: bytes, words: Bits) -> Bits:
    """For each word the first 64 bits of the block of ChaCha20 with this key, the word as nonce, counter 0 (RFC 8439,
    2.3; of the nonce there the first 32 bits are 0, as those of the counter in Bernstein's original of 2008)."""
    out = np.empty(len(words), dtype=np.uint64)
    first = np.frombuffer(b"expand 32-byte k" + key + bytes(16), dtype="<u4").astype(np.uint32).reshape(4, 4, 1)
    for start in range(0, len(words), _LANES):
        some = words[start : start + _LANES]
        a, b, c, d = (np.repeat(row, len(some), axis=1) for row in first)
        d[2], d[3] = some & np.uint64(0xFFFFFFFF), some >> np.uint64(32)
        high = np.empty_like(a)

        def turned(row: NDArray[np.uint32], by: int, high: NDArray[np.uint32] = high) -> None:
            np.right_shift(row, np.uint32(32 - by), out=high)
            np.left_shift(row, np.uint32(by), out=row)
            np.bitwise_or(row, high, out=row)

        for turn in range(20):
            for by, less in ((16, 12), (8, 7)):
                a += b
                d ^= a
                turned(d, by)
                c += d
                b ^= c
                turned(b, less)
            b, c, d = (row[order] for row, order in zip((b, c, d), (_DIAGONAL if turn % 2 else _COLUMN), strict=True))
        a += first[0]
        out[start : start + _LANES] = a[0].astype(np.uint64) | (a[1].astype(np.uint64) << np.uint64(32))
    return out


def keyed_words(key: str, what: str, blocks: Iterable[Bits]) -> Words:
    """The digests of people or rows (`what`) under the key of a ledger, each of its 64 bits."""
    secret, found = hmac.digest(key.encode(), f"fugu {what}".encode(), "sha256"), Words()
    for block in blocks:
        found.add(chacha20(secret, block))
    return found


_WIDTH = 64
"""Bytes of a block of SHA-256."""


def digested(key: str, items: Iterable[bytes]) -> Words:
    """The same as ledgers of formats up to 4 have it: the first 64 bits of HMAC-SHA-256 of each name or row; the key is
    taken in once for all of them."""
    secret = key.encode()
    block = (secret if len(secret) <= _WIDTH else hashlib.sha256(secret).digest()).ljust(_WIDTH, b"\0")
    inner, outer = (hashlib.sha256(bytes(byte ^ pad for byte in block)) for pad in (0x36, 0x5C))  # RFC 2104

    def digest(item: bytes) -> bytes:
        inside, outside = inner.copy(), outer.copy()
        inside.update(item)
        outside.update(inside.digest())
        return outside.digest()[:8]

    return Words.of(np.frombuffer(b"".join(map(digest, items)), dtype="<u8").astype(np.uint64))


def encoded(words: Increasing, early: bool) -> tuple[int, Iterable[bytes]]:
    """What a ledger stores of digests, and how long it is: eight bytes each, in `early` ledgers as text."""
    raw = (block.astype("<u8").tobytes() for block in words.each())
    if not early:
        return 8 * len(words), raw
    text = base64.b64encode(b"".join(raw))
    return len(text), (text,)


STORED = 2**20 // 96 * 96
"""Bytes of it that are read together: whole digests in either form."""


def decoded(text: bytes, early: bool) -> Bits:
    """What `encoded` wrote, or so many of its bytes."""
    return np.frombuffer(base64.b64decode(text) if early else text, dtype="<u8").astype(np.uint64)


def aligned(sets: Sequence[Increasing], most: int | None = None) -> Iterator[tuple[Bits, ...]]:
    """Several sets, a part of their range after the other: equal numbers of all come together. Of one that repeats
    in a set `most` are enough. Each set is read to its end."""
    fences = _fences(sum(map(len, sets)))
    return zip(*(_cut(each.each(), fences, most) for each in sets), strict=True)


def _cut(blocks: Iterator[Bits], fences: Bits, most: int | None) -> Iterator[Bits]:
    left = _NONE
    for fence in (*fences, None):
        parts: list[Bits] = []
        while True:
            end = len(left) if fence is None else int(np.searchsorted(left, fence))
            parts.append(left[:end])
            left = left[end:]
            if len(left) or (block := next(blocks, None)) is None:
                break
            left = block if most is None else _few(block, most)
        whole = np.concatenate(parts)
        yield whole if most is None else _few(whole, most)


def _few(values: Bits, most: int) -> Bits:
    """Numbers in order, each at most so often."""
    new = np.ones(len(values), dtype=bool)
    new[most:] = values[most:] != values[:-most]
    return values[new]


def within(words: Bits, others: Bits) -> NDArray[np.bool_]:
    """Which of these are among the others, which are in order."""
    if not len(others):
        return np.zeros(len(words), dtype=bool)
    place = np.minimum(np.searchsorted(others, words), len(others) - 1)
    return np.asarray(others[place] == words)


def in_common(own: Increasing, others: Sequence[Increasing]) -> int:
    """How many of these are in any of the others."""
    parts = aligned([own, *others])
    return sum(int(np.any([within(mine, one) for one in some], axis=0).sum()) for mine, *some in parts if some)


def memberships(own: Bits, others: Mapping[str, Bits]) -> list[frozenset[str]]:
    """For the people of one table: in which other tables they are, each largest combination once.

    Sums over tables only grow with the tables, so whoever fits in the largest combinations fits in all. The people are
    told apart by one table after the other, so the work is that of sorting them once for each."""
    codes = np.zeros(len(own), dtype=np.int64)
    named: list[frozenset[str]] = [frozenset()]
    for name, words in others.items():
        inside = within(own, words)
        if inside.any():
            distinct, codes = np.unique(2 * codes + inside, return_inverse=True)
            named = [named[code // 2] | ({name} if code % 2 else set()) for code in distinct.tolist()]
    return largest(named)


def largest(named: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Those that are part of no other."""
    distinct = sorted(set(named), key=len, reverse=True)
    return [one for k, one in enumerate(distinct) if not any(one < other for other in distinct[:k])]


FEWEST = 30
"""With fewer rows than this no table is recognised by them."""
_CHANCE = Fraction(1, 10**9)
"""How likely two tables of other people are taken for tables of the same people, at most."""


def beyond_chance(rows: Increasing, others: Increasing) -> bool:
    """Whether two tables share more rows than tables of other people do, whatever the laws of their rows are.

    Count the distinct rows that occur exactly twice in both tables together: d of them, c of which once in each. Let
    rows come independently of each other, at their own rates a in the one table and b in the other. Of a row that
    occurs twice, both are in different tables with probability 2ab / (a + b)^2 <= 1/2; so c exceeds what a fair coin
    gives in d throws with probability at most P(Bin(d, 1/2) >= c). Shared beyond chance: this is below 1e-9. Thirty
    rows in common are enough where none repeats; rows of few values repeat everywhere and decide nothing."""
    across = throws = 0
    for one, two in aligned([rows, others], most=3):  # three or more are neither one nor two
        (distinct, count), (further, again) = _tallied(one), _tallied(two)
        common = within(distinct, further)
        place = np.searchsorted(further, distinct[common])
        both = int(np.count_nonzero((count[common] == 1) & (again[place] == 1)))
        alone = np.count_nonzero((count == 2) & ~common) + np.count_nonzero((again == 2) & ~within(further, distinct))
        across, throws = across + both, throws + both + int(alone)
    if 2 * across <= throws:
        return False
    if throws > 2000:  # a bound above it (Hoeffding 1963)
        return math.exp(-2 * (across - throws / 2) ** 2 / throws) < _CHANCE
    return Fraction(sum(math.comb(throws, k) for k in range(across, throws + 1)), 2**throws) < _CHANCE
