"""Convex losses of a linear model with the constants the accountant needs, what is minimised, and how good a model is
on public rows."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from fugu.errors import NotProvable, UsageError
from fugu.noise.bits import OS, BitSource
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real
from fugu.progress import report
from fugu.training.accountant import NoisySGD
from fugu.training.allocation import Floats, finite

# A loss is phi(z, y) at z = w.x. Rows have norm at most 1. One record's gradient is phi'(z, y) x, so the data part is
# Lipschitz with the bound on phi' (`slope`) and smooth with the bound on phi'' (`curvature`).
#
# Clipping keeps both properties. Clipping the gradient of one record to norm L is
#
#     clip(phi'(w.x, y) x to norm L) = psi(w.x) x,    psi(z) = phi'(z, y) cut to [-L/|x|, L/|x|].
#
# phi' does not decrease (phi is convex), so psi does not either, and psi(w.x) x is the gradient in w of the convex loss
# with derivative psi; cutting is 1-Lipschitz, so psi rises no faster than phi': the curvature does not grow. For a
# model that is not linear this is false, and clipping can make an expanding step.
#
# Clipping is also the projection of the gradient onto the ball of radius L, which is 1-Lipschitz: whatever a change of
# the record does to the gradient, after clipping it does no more. For |w| <= radius and rows of norm at most 1
#
#     |phi'(w.x', y) x' - phi'(w.x, y) x| <= |phi'(w.x', y) - phi'(w.x, y)| |x'| + |phi'(w.x, y)| |x' - x|
#                                         <= (curvature radius + slope) |x' - x|,
#     |phi'(w.x, y') x - phi'(w.x, y) x|  <= curvature |y' - y|    (squared loss: phi' depends on z - y alone).


class ConvexLoss(ABC):
    """A loss that is convex in z; `y` is in [-1, 1] for a regression, -1 or 1 for a classifier."""

    name: str
    labels: bool
    """Whether the target is a label: then it moves from one value to the other, never by a little."""
    slope: float
    """The largest |phi'|."""
    curvature: float
    """The largest rise of phi' per unit of z."""
    swing: float
    """The largest |phi'(z, y) - phi'(z, y')|: what a change of the target alone does."""

    @abstractmethod
    def derivative(self, z: Floats, y: Floats) -> Floats:
        """The derivative of phi in z, entry by entry."""


@dataclass(frozen=True)
class Squared(ConvexLoss):
    """(z - y)^2 / 2 with the residual clipped at `clip` (Huber 1964): linear beyond it.

    >>> Squared(0.5).derivative(np.array([0.2, 3.0]), np.zeros(2)).tolist()
    [0.2, 0.5]
    """

    clip: float = 1.0
    name = "squared"
    labels = False
    curvature = 1.0

    def __post_init__(self) -> None:
        finite(self.clip, "the clip of the residual")
        vars(self).update(slope=self.clip, swing=min(2 * self.clip, 2.0))

    def derivative(self, z: Floats, y: Floats) -> Floats:
        return np.clip(z - y, -self.clip, self.clip)


@dataclass(frozen=True)
class Logistic(ConvexLoss):
    """log(1 + exp(-y z)): slope at most 1, curvature at most 1/4; another label moves the slope by exactly 1.

    >>> Logistic().derivative(np.zeros(2), np.array([1.0, -1.0])).tolist()
    [-0.5, 0.5]
    """

    name = "logistic"
    labels = True
    slope, curvature, swing = 1.0, 0.25, 1.0

    def derivative(self, z: Floats, y: Floats) -> Floats:
        return np.asarray(-y * (1 + np.tanh(-y * z / 2)) / 2)


@dataclass(frozen=True)
class Hinge(ConvexLoss):
    """max(0, 1 - y z), its corner at 1 replaced by a parabola over [1 - width, 1]: slope 1, curvature 1/width.

    >>> Hinge(0.5).derivative(np.array([2.0, 0.75, 0.0]), np.ones(3)).tolist()
    [-0.0, -0.5, -1.0]
    """

    width: float = 1.0
    name = "hinge"
    labels = True
    slope = 1.0

    def __post_init__(self) -> None:
        finite(self.width, "the width of the hinge")
        vars(self).update(curvature=1 / self.width, swing=max(1.0, min(2.0, 2 / self.width)))

    def derivative(self, z: Floats, y: Floats) -> Floats:
        return -y * np.clip((1 - y * z) / self.width, 0.0, 1.0)


@dataclass(frozen=True)
class Objective:
    """What is minimised: the mean loss with gradients clipped to norm `clip`, plus penalty |w|^2 / 2, on a ball of
    `radius`; it is strongly convex with the penalty.

    >>> whole, target = (Objective(Logistic(), 1.0, 0.01, 5.0, part) for part in ("both", "target"))
    >>> whole.lipschitz, target.lipschitz, whole.smoothness
    (1.0, 0.5, 0.26)
    """

    loss: ConvexLoss
    clip: float
    penalty: float
    radius: float
    private: str = "both"
    width: float = 2.0
    """The largest distance between the features of two records: see `Scaling.width`."""

    def __post_init__(self) -> None:
        finite(self.clip, "clip")
        finite(self.radius, "radius")
        finite(self.penalty, "penalty", zero=True)

    @property
    def lipschitz(self) -> float:
        """Half the largest distance between two gradients of a record: min(clip, slope), and where only the target is
        private, so that the features stay, min(clip, slope, swing / 2)."""
        return min(self.reach, self.loss.swing / 2) if self.private == "target" else self.reach

    @property
    def smoothness(self) -> float:
        """That of the loss with every gradient clipped, plus the penalty, for rows of norm at most 1."""
        return self.loss.curvature + self.penalty

    @property
    def reach(self) -> float:
        """The norm of the longest clipped gradient."""
        return min(self.clip, self.loss.slope)

    @property
    def sensitivity(self) -> float:
        """How far a record's gradient moves if its private part crosses its whole declared range; inf for labels.

        Features cross `width`, a target crosses 2 ([-1, 1]). A normal prior counts distances in this unit: with
        distance 1 the secret may be any two values within the declared bounds, with 0.1 a tenth of the range apart.
        """
        loss = self.loss
        # per unit of features a gradient moves by curvature radius + slope, per unit of the target by the curvature
        parts = {
            "features": (loss.curvature * self.radius + loss.slope) * self.width,
            "target": math.inf if loss.labels else loss.curvature * 2,
        }
        return parts.get(self.private, sum(parts.values()))

    def caps(self, rows: Floats) -> Floats | None:
        """L / |x| for each row: how large |phi'| may be; None if no gradient can be longer than the clip."""
        if self.clip >= self.loss.slope:
            return None
        with np.errstate(divide="ignore"):
            return np.asarray(self.clip / np.sqrt(np.einsum("ij,ij->i", rows, rows)))

    def pull(self, weights: Floats, rows: Floats, targets: Floats, caps: Floats | None) -> Floats:
        """The sum of the clipped gradients of some records."""
        slopes = self.loss.derivative(rows @ weights, targets)
        if caps is not None:
            slopes = np.clip(slopes, -caps, caps)
        return np.asarray(slopes @ rows)

    def project(self, weights: Floats) -> Floats:
        """The nearest point of the ball."""
        length = math.sqrt(float(weights @ weights))
        return weights if length <= self.radius else weights * (self.radius / length)


def keeps(objective: Objective, accountant: NoisySGD) -> bool:
    """Whether the objective keeps what the accountant takes for granted about it.

    Distances are in the unit of `Objective.sensitivity` for normal priors only."""
    sensitivity = accountant.sensitivity
    return (
        accountant.lipschitz >= objective.lipschitz
        and accountant.smoothness >= objective.smoothness
        and accountant.strong_convexity <= objective.penalty
        and (accountant.domain is None or accountant.domain >= 2 * objective.radius)
        and (sensitivity is None or (accountant.belief.gaussian and sensitivity >= objective.sensitivity))
    )


FLOAT_MODEL = (
    "the noise of training is floating point: the guarantee is proved for real arithmetic and real normal noise, "
    "and says nothing about an attack on the last bits of the weights"
)


# The training loop: projected noisy gradient descent, with normal numbers from the system's randomness.

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
