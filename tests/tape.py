"""A source of bits that is written down: what is drawn from it is known, so that laws are proved by enumeration."""

import numpy as np

from fugu.noise.bits import BitSource, Words


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
