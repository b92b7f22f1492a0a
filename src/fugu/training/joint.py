"""Two explicit joint laws of a whole data sequence: what the last iterate leaks under the best coupling of the two.

For every coupling pi of the JOINT laws of X_1, ..., X_T given the two secrets, and noise independent of the data,

    D_alpha <= 1 / (alpha - 1) log E_pi exp((alpha - 1) B_alpha(s)),      delta(epsilon) <= E_pi delta_G(epsilon, mu),

s_t the shift of step t, a function of (X_t, X'_t); B_alpha the bound for two known sequences with these shifts, mu^2
the least sum of squares that covers them (`allocation`). Given (X, X') the sequences are known, and exp((alpha - 1)
D_alpha) and the hockey stick are jointly convex (docs/proofs/iterations.md#2-data-with-a-joint-law). Both right sides
are linear in pi: the best coupling is an optimal transport plan. Shifts are symmetric in the two records, B and delta_G
in the order of the pair, so one plan serves both orders. The laws of the single X_t do not suffice, and the plain mean
of B is not a bound. What the two laws lose without any noise bounds both, too (data processing): the lesser is taken.
"""

from __future__ import annotations

import math

import numpy as np

from fugu.guarantee import Renyi
from fugu.guarantee.numbers import check_epsilon
from fugu.laws import Discrete
from fugu.laws.family import Family, distinct
from fugu.loss.shifts.cost import finite_order
from fugu.loss.vectors.bare import law_divergence, law_excess
from fugu.numbers.exact import Real, VectorLike, as_fraction, meant_up
from fugu.training.bound import StepNoise
from fugu.training.joint_pair import Pair, Shift


def joint_bound(
    first: Discrete,
    second: Discrete,
    noise: StepNoise,
    alpha: Real,
    contraction: Real | VectorLike = 1.0,
    *,
    shift: Shift | None = None,
    dimension: int = 1,
) -> Renyi:
    """D_alpha of the last iterate in both orders, for two finite joint laws of the whole data sequence.

    Parameters:

    - `first`, `second`: the laws of (x_1, ..., x_T) given the two secrets, one atom per sequence.
    - `noise`: the standard deviation at every step (or one per step), `Gaussian` or `Laplace` (independent in
      `dimension` coordinates). `alpha`: a finite number above 1. `contraction`: the Lipschitz constant of a step, at
      most 1, or one per step.
    - `shift`: a function of (x, x'), how far a step on x and a step on x' bring the same iterate apart, at most; arrays
      whose last axis is the step. By default |x - x'|.

    Returns `Renyi(alpha, epsilon)`, rounded up. Raises `NotProvable` where there are too many pairs of sequences.

    Each record of this pair has one law under both secrets, so a rule from single records would say 0:

    >>> same, opposite = Discrete([[-1, -1], [1, 1]]), Discrete([[-1, 1], [1, -1]])
    >>> round(float(joint_bound(same, opposite, 1.0, 2).epsilon), 6)
    2.0
    """
    order = finite_order(alpha)
    pair = Pair.of(first, second, noise, contraction, shift, dimension=dimension)
    bare = law_divergence(_family(pair), (0, 1), order)
    return Renyi(alpha, meant_up(min(bare, pair.divergence(pair.plan(alpha=order), order))))


def joint_delta(
    first: Discrete,
    second: Discrete,
    noise: StepNoise,
    epsilon: Real,
    contraction: Real | VectorLike = 1.0,
    *,
    shift: Shift | None = None,
) -> float:
    """delta(epsilon) of the last iterate in both orders, for Gaussian noise, rounded up.

    `first`, `second`, `noise`, `contraction` and `shift` are those of `joint_bound`; `epsilon` is a number >= 0. Never
    more than the divergences of `joint_bound` would give by conversion.

    >>> same, opposite = Discrete([[-1, -1], [1, 1]]), Discrete([[-1, 1], [1, -1]])
    >>> round(joint_delta(same, opposite, 4.0, 0.5), 6)
    0.015954
    """
    check_epsilon(epsilon)
    pair = Pair.of(first, second, noise, contraction, shift)
    moved = pair.delta(pair.plan(epsilon=epsilon), epsilon)
    bare = law_excess(_family(pair), (0, 1), as_fraction(epsilon)) if math.isfinite(epsilon) else 1.0
    return meant_up(min(bare, moved))


def joint_mu(
    first: Discrete,
    second: Discrete,
    noise: StepNoise,
    contraction: Real | VectorLike = 1.0,
    *,
    shift: Shift | None = None,
) -> float:
    """The least mu for which some coupling has its shifts covered within mu^2 for sure (Gaussian noise), from above.

    `first`, `second`, `noise`, `contraction` and `shift` are those of `joint_bound`.
    The outputs are then no easier to tell apart than N(0, 1) and N(mu, 1), at every epsilon and alpha at once. At one
    alpha or epsilon the best coupling, `joint_bound` or `joint_delta`, is at least as good.

    >>> round(joint_mu(Discrete([[0, 0], [0, 1]]), Discrete([[1, 0], [1, 1]]), 1.0) ** 2, 6)
    0.5
    """
    pair = Pair.of(first, second, noise, contraction, shift)
    return math.nextafter(math.sqrt(float(pair.squares(pair.plan()).max())), math.inf)


def _family(pair: Pair) -> Family:
    """Both laws on one support: what they lose without noise is a bound too, by data processing."""
    points, where = distinct(np.concatenate([pair.x, pair.y]))
    places = np.split(where, [len(pair.x)])
    laws = tuple(m.scatter(at, len(points)) for m, at in zip((pair.a, pair.b), places, strict=True))
    return Family(points, laws, ((0, 1),), ("the two laws",))
