"""A source of bits that is written down: what is drawn from it is known, so that laws are proved by enumeration."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fugu.noise.bits import BitSource, Words

DEPTH = 20


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


def tape_masses(run: Callable[[TapeBits], int], depth: int = DEPTH) -> tuple[dict[int, Fraction], Fraction]:
    """Over all tapes of one length, the mass of those that decide each outcome, and of the undecided.

    A tape is extended only while it decides nothing: tapes that share a deciding start are counted at once.
    """
    decided: dict[int, Fraction] = {}
    undecided = Fraction(0)
    todo = [""]
    while todo:
        start = todo.pop()
        tape = TapeBits(start)
        try:
            value = run(tape)
        except EOFError:
            if len(start) < depth:
                todo += [start + "0", start + "1"]
            else:
                undecided += Fraction(1, 2**depth)
        else:
            assert tape.used == len(start)
            decided[value] = decided.get(value, Fraction(0)) + Fraction(1, 2 ** len(start))
    assert sum(decided.values()) + undecided == 1
    return decided, undecided
