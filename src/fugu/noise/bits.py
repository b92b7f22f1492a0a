"""Sources of independent fair bits, and the exact coin they toss.

Every probability in `fugu.noise` is a statement about these bits alone: if they are independent and fair,
the law is the claimed one, exactly. `OsBits` is what releases use; it has no seed and no state, so a forked
process cannot repeat its parent.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise

Words = NDArray[np.unsignedinteger[Any]]


class BitSource(ABC):
    """A stream of independent fair bits."""

    @abstractmethod
    def words(self, bits: int, count: int) -> Words:
        """`count` independent uniform integers in [0, 2^bits), for 1 <= bits <= 64."""


@dataclass(frozen=True)
class OsBits(BitSource):
    """The operating system's cryptographic generator, asked afresh every time.

    >>> OsBits().words(16, 3).shape
    (3,)
    """

    def words(self, bits: int, count: int) -> Words:
        return _cut(os.urandom, bits, count)


@dataclass(frozen=True)
class RngBits(BitSource):
    """A numpy generator as a source: repeatable, hence for simulations and tests, never for a release.

    >>> bool(RngBits(np.random.default_rng(1)).words(5, 100).max() < 32)
    True
    """

    rng: np.random.Generator

    def words(self, bits: int, count: int) -> Words:
        return _cut(self.rng.bytes, bits, count)


class TapeBits(BitSource):
    """A written tape, read once from left to right; EOFError at its end. For proofs by enumeration.

    >>> tape = TapeBits("1011")
    >>> tape.words(2, 1), tape.used
    (array([2], dtype=uint64), 2)
    """

    def __init__(self, tape: str) -> None:
        self.tape = tape
        self.used = 0

    def words(self, bits: int, count: int) -> Words:
        start, end = self.used, self.used + bits * count
        if end > len(self.tape):
            raise EOFError("the tape is read to its end")
        self.used = end
        return np.array([int(self.tape[i : i + bits], 2) for i in range(start, end, bits)], dtype=np.uint64)


OS = OsBits()


def bernoulli(p: Fraction, source: BitSource = OS, width: int = 64) -> bool:
    """True with probability p, exactly, for a rational p in [0, 1].

    Claim: the result is [U < p] for U = 0.b1 b2 b3 ... uniform. A word equal to the same bits of p leaves the
    question to the bits that follow, U' < p' with U' uniform again; any other word decides it. If p' = 0 then
    U' >= p'. The word of p = 1 is 2^width, above every word. Expected number of words: < 1 + 2^(1 - width).

    >>> [bernoulli(Fraction(5, 8), TapeBits(tape), width=1) for tape in ("0", "100", "101", "11")]
    [True, True, False, False]
    """
    if not isinstance(p, Rational) or not 0 <= p <= 1:
        raise BadNoise(f"a probability must be an exact rational in [0, 1], got {p!r}")
    rest = Fraction(p)
    while rest:
        rest *= 1 << width
        whole = math.floor(rest)
        word = int(source.words(width, 1)[0])
        if word != whole:
            return word < whole
        rest -= whole
    return False


def _cut(fetch: Callable[[int], bytes], bits: int, count: int) -> Words:
    """Machine words from a byte stream, cut down to their leading bits; bits left over are thrown away."""
    kind: type[np.unsignedinteger[Any]] = np.uint16 if bits <= 16 else np.uint64
    size = np.dtype(kind).itemsize
    words: Words = np.frombuffer(fetch(size * count), dtype=kind)
    spare = 8 * size - bits
    return words >> kind(spare) if spare else words
