"""Normal numbers for training, in floats, from the operating system's randomness.

A training step adds noise to weights that are floats anyway, so the noise is a float too: Phi^{-1}(U) for one of 2^53
equally likely U, symmetric around 1/2. The guarantee of a trained model is therefore proved for real arithmetic and
real normal noise; its certificate says so. (Releases of single values are exact: `fugu.noise`.) There is no state
and nothing to set, so two trainings never share noise.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from fugu.noise.bits import OS, BitSource

Floats = NDArray[np.float64]
FLOAT_MODEL = (
    "the noise of training is floating point: the guarantee is proved for real arithmetic and real normal noise, "
    "and says nothing about an attack on the last bits of the weights"
)
_CHUNK = 1 << 16


def normals(count: int, source: BitSource = OS) -> Floats:
    """`count` independent standard normal numbers.

    One bit is the sign, 52 bits are k, and |Z| = -Phi^{-1}((k + 1/2) 2^-53): the argument is an exact float below
    1/2, so it is never 0 or 1 and the two tails are alike. The largest value is 8.29.

    >>> normals(3).shape
    (3,)
    """
    from scipy.special import ndtri

    words = source.words(53, count).astype(np.int64)
    sizes = ndtri(((words >> 1) + 0.5) * 2.0**-53)
    return np.asarray(np.where(words & 1, sizes, -sizes), dtype=np.float64)


class NormalStream:
    """Standard normal vectors of one length, drawn many at a time: asking the system for each step is slow.

    `expected`: about how many will be asked for, so that a short training does not draw for a long one.

    >>> stream = NormalStream(4, expected=10)
    >>> stream().shape
    (4,)
    """

    def __init__(self, length: int, expected: int, source: BitSource = OS) -> None:
        self.length, self._source = length, source
        self._chunk = max(1, min(expected, _CHUNK // max(1, length)))
        self._rows: list[Floats] = []
        self._process = os.getpid()

    def __call__(self) -> Floats:
        """The next vector; none is handed out twice, not even to a thread or, after a fork, to another process."""
        if self._process != os.getpid():
            self._rows, self._process = [], os.getpid()
        while True:
            try:
                return self._rows.pop()
            except IndexError:
                drawn = normals(self._chunk * self.length, self._source)
                self._rows = list(drawn.reshape(self._chunk, self.length))
