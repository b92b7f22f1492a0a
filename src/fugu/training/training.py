"""The training loop: projected noisy gradient descent, with normal numbers from the system's randomness."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from fugu.errors import NotProvable, UsageError
from fugu.noise.bits import OS, BitSource
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real
from fugu.progress import report
from fugu.training.accountant import NoisySGD
from fugu.training.losses import Floats, Objective, keeps

#     V = Pi(W_{t-1}),   W_t = V - eta (1/m sum_{j in batch t} g_j(V) + penalty V) + N_t,   the model is Pi(W_T),
#
# with Pi the projection onto the ball of `radius`, g_j the clipped gradient of record j, N_t normal with standard
# deviation `noise` in every coordinate, W_0 = 0. Gradients are taken inside the ball only: their bounds hold there. (In
# the order "gradient, projection, noise" the noise carries the weights out of it: see
# docs/proofs/iterations.md#4-a-bounded-domain.)
# Record j belongs to batch j // m, step t uses batch t mod ceil(n / m), and every sum is divided by m, also that of a
# last batch with fewer records: then one record weighs the same in every batch.

Block = tuple[Floats, Floats, Floats | None]
_BLOCK, _FINEST = 4096, 2.0**-40


def train(
    rows: Floats,
    targets: Floats,
    objective: Objective,
    accountant: NoisySGD,
    *,
    draw: Callable[[], Floats] | None = None,
    noiseless: bool = False,
) -> Floats:
    """The weights after all steps. `draw` returns standard normal vectors (for tests); by default the system's.

    `noiseless` leaves the noise out, for the model that a private one is compared with: it has no guarantee at all.
    What the accountant did not account for is refused.
    """
    if accountant.noise is None:
        raise NotProvable("the accountant has no noise yet; call for_budget first")
    if accountant.records != len(rows):
        raise UsageError(f"the accountant speaks of {accountant.records} records, there are {len(rows)}")
    if np.ndim(cast(ArrayLike, accountant.learning_rate)) or not is_number(accountant.noise):
        raise UsageError("training uses one learning rate, and normal noise of one standard deviation, for all steps")
    if not float(np.max(np.einsum("ij,ij->i", rows, rows), initial=0.0)) <= 1:
        raise UsageError("rows must have norm at most 1; scale them with fugu.training.scaling")
    if not float(np.max(np.abs(targets), initial=0.0)) <= 1:
        raise UsageError("targets must lie in [-1, 1]; scale them with fugu.training.scaling")
    if not keeps(objective, accountant):
        raise NotProvable("the accountant's constants are smaller than those of the objective: they prove nothing here")
    rate, size = float(cast(Real, accountant.learning_rate)), accountant.batch_size
    scale = 0.0 if noiseless else float(accountant.noise)
    if not noiseless and scale < _FINEST * min(objective.radius, accountant.steps * rate * objective.reach):
        raise NotProvable("the noise is so small beside the weights that floats would swallow it; ask for more privacy")
    stream = draw if draw is not None else NormalStream(rows.shape[1], accountant.steps)
    # The batches, each in blocks that fit the processor's cache: twice to eight times faster than whole
    caps, batches = objective.caps(rows), []
    for start in range(0, len(rows), size):
        end = min(start + size, len(rows))
        cuts = [slice(k, min(k + _BLOCK, end)) for k in range(start, end, _BLOCK)]
        batches.append([(rows[cut], targets[cut], None if caps is None else caps[cut]) for cut in cuts])
    every = max(1, accountant.steps // 100)
    weights = np.zeros(rows.shape[1])
    for t in range(accountant.steps):
        inside = objective.project(weights)
        pull = np.zeros_like(inside)
        for block in batches[t % len(batches)]:
            pull += objective.pull(inside, *block)
        weights = inside - rate * (pull / size + objective.penalty * inside)
        if scale:
            weights += scale * stream()
        if t % every == 0:
            report("training", t, accountant.steps)
    report("training", accountant.steps, accountant.steps)
    return objective.project(weights)


# Normal numbers for training, in floats, from the operating system's randomness.
#
# A training step adds noise to weights that are floats anyway, so the noise is a float too: Phi^{-1}(U) for one of 2^53
# equally likely U, symmetric around 1/2. The guarantee of a trained model is therefore proved for real arithmetic and
# real normal noise; its certificate says so. (Releases of single values are exact: `fugu.noise`.) There is no state
# and nothing to set, so two trainings never share noise.

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
