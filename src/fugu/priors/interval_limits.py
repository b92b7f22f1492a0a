"""Laws that are known up to limits, lower <= p <= upper: what they can do to a mean, pushed forward and seen backwards.

A *box* is the set of all laws between two limits. For weights w and **any** number s

    <p, w> = s + sum p (w - s) <= s + sum upper (w - s)_+ - sum lower (s - w)_+,

with equality at the largest p if s is the weight where it runs out of mass (a knapsack). So a poor s costs sharpness
and never the proof. Everything is rounded outward. Boxes are arrays (..., k) of lower and of upper limits.

Proofs: docs/proofs/contraction.md#rows-known-up-to-limits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fugu.numbers.exact import UNIT

Array = NDArray[np.float64]
_ROUNDS = 2_000
_SETTLED = 1e-14
_STILL, _LEAST = 1e-13, 1e-13
_TRIES = 60


class Limits(NamedTuple):
    """Laws p with `lower` <= p <= `upper`: one (k,), or a row of limits for each of several (n, k)."""

    lower: Array
    upper: Array


def highest(box: Limits, weights: Array) -> Array:
    """The largest <p, w> over the box, rounded up; weights (..., k) >= 0 against limits that broadcast with them."""
    k = weights.shape[-1]
    order = np.argsort(-weights, axis=-1, kind="stable")
    s = _last(box, weights, order, 1e-300)  # no mass left: the least weight, so that nothing is subtracted
    over, under = np.maximum(weights - s, 0.0), np.maximum(s - weights, 0.0)
    more, less = (box.upper * over).sum(-1), (box.lower * under).sum(-1)
    found = s[..., 0] + more - less + (2 * k + 16) * UNIT * (s[..., 0] + more + less)
    return np.asarray(np.minimum(found, weights.max(axis=-1)))


def lowest(box: Limits, weights: Array) -> Array:
    """The least <p, w> over the box, rounded down, at least the least weight."""
    k = weights.shape[-1]
    order = np.argsort(weights, axis=-1, kind="stable")
    s = _last(box, weights, order, 0.0)
    over, under = np.maximum(weights - s, 0.0), np.maximum(s - weights, 0.0)
    more, less = (box.lower * over).sum(-1), (box.upper * under).sum(-1)
    found = s[..., 0] + more - less - (2 * k + 16) * UNIT * (s[..., 0] + more + less)
    return np.asarray(np.maximum(found, weights.min(axis=-1)))


def _last(box: Limits, weights: Array, order: NDArray[np.intp], least: float) -> Array:
    """The weight at which the mass above the lower limits runs out, filled in this order; (..., 1)."""
    lower, upper = np.broadcast_to(box.lower, weights.shape), np.broadcast_to(box.upper, weights.shape)
    room = np.cumsum(np.take_along_axis(upper - lower, order, -1), axis=-1)
    left = np.maximum(1.0 - lower.sum(-1, keepdims=True), least)
    at = np.minimum((room < left).sum(-1, keepdims=True), weights.shape[-1] - 1)
    return np.take_along_axis(weights, np.take_along_axis(order, at, -1), -1)


def tightened(box: Limits) -> Limits:
    """The same laws between limits that some of them reach: p_y = 1 - the others, which have limits too."""
    below, above = box.lower.sum(-1, keepdims=True), box.upper.sum(-1, keepdims=True)
    slack = (2 * box.lower.shape[-1] + 8) * UNIT * (1 + above)
    lower = np.maximum(box.lower, 1.0 - (above - box.upper) - slack)
    upper = np.minimum(box.upper, 1.0 - (below - box.lower) + slack)
    return Limits(np.minimum(lower, box.upper), np.maximum(upper, box.lower))


def pushed(law: Limits, rows: Limits) -> Limits:
    """Limits of the law of the next entry: every law in `law` (k,) or (n, k), every row of a step in `rows` (k, k)."""
    at = Limits(law.lower[..., None, :], law.upper[..., None, :])
    shape = (*law.lower.shape[:-1], *rows.lower.shape)
    lower = lowest(at, np.broadcast_to(rows.lower.T, shape))
    upper = np.minimum(1.0, highest(at, np.broadcast_to(rows.upper.T, shape)))
    return tightened(Limits(lower, upper))


def seen_backwards(law: Limits, rows: Limits) -> Limits:
    """Limits of P(X_(t-1) = y | X_t = x) in row x, for X_(t-1) in `law` and a step in `rows`.

    m_y K_yx / (m_y K_yx + sum over z != y of m_z K_zx) grows with m_y and K_yx and falls with the others: its limits
    are taken at theirs. Where x has probability 0 under a member, there is nothing to bound."""
    low, high = law.lower[:, None] * rows.lower, law.upper[:, None] * rows.upper  # (y, x)
    other_high, other_low = _others(high), _others(low)
    slack = (2 * len(low) + 24) * UNIT
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        lower = np.where(low > 0, low / (low + other_high * (1 + slack)) * (1 - slack), 0.0)
        upper = np.where(high > 0, high / (high + other_low * (1 - slack)) * (1 + slack), 0.0)
    lower = np.where(low < 1e-290, 0.0, lower)  # below that digits may be lost
    upper = np.where((high > 0) & (high < 1e-290), 1.0, upper)
    return tightened(Limits(lower.T, np.minimum(1.0, upper).T))


def _others(joint: Array) -> Array:
    """The sum over z != y of (z, x), without a difference of sums."""
    apart = 1.0 - np.eye(len(joint))
    found: Array = apart @ joint
    return found


def log_ratios(rows: Limits) -> Array:
    """(z, x, x'): the largest log K(z, x) / K(z, x') in each row, rounded up; inf if it has no bound, -inf if always 0.

    p_x is as large as the mass allows with p_x' at its lower limit; p_x' then as small as the mass demands."""
    lower, upper, k = rows.lower, rows.upper, rows.lower.shape[-1]
    below, above = lower.sum(-1)[:, None, None], upper.sum(-1)[:, None, None]
    slack = (2 * k + 16) * UNIT * (1 + above)
    one, two = (slice(None), slice(None), None), (slice(None), None, slice(None))
    most = 1.0 - (below - lower[one] - lower[two]) + slack  # of p_x + p_x'
    least = 1.0 - (above - upper[one] - upper[two]) - slack
    top = np.maximum(np.minimum(upper[one], most - lower[two]), 0.0) * np.ones((1, 1, k))
    bottom = np.maximum(lower[two], least - top - slack)
    top = np.where(upper[one] > 0, top, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(top) - np.log(np.maximum(bottom, 0.0))
        logs = logs + 16 * UNIT * (1 + np.abs(np.where(np.isfinite(logs), logs, 0.0)))
        logs = logs + 4 * UNIT * np.where(np.isfinite(logs), np.abs(np.log(np.maximum(top, 5e-324))), 0.0)
    found: Array = np.where(top > 0, np.where(bottom > 0, logs, np.inf), -np.inf)
    found[:, np.arange(k), np.arange(k)] = 0.0
    return found


def diameters(rows: Limits, possible: NDArray[np.bool_] | None = None) -> Array:
    """D(x, x'): the largest log K(z, x) K(z', x') / (K(z, x') K(z', x)) over z != z' that are `possible`, rounded up.

    For two rows of one step, each anywhere in its box; the largest of all is the projective diameter."""
    logs = log_ratios(rows)[slice(None) if possible is None else possible]
    k = logs.shape[-1]
    found = np.full((k, k), -np.inf)
    for z, row in enumerate(logs):
        others = np.delete(logs, z, axis=0)
        if len(others):
            with np.errstate(invalid="ignore"):
                both = row + np.swapaxes(others, 1, 2).max(axis=0)
            found = np.maximum(found, np.where(np.isnan(both), -np.inf, both))
    np.fill_diagonal(found, 0.0)
    return np.asarray(np.maximum(0.0, np.nextafter(found, np.inf)))


def everything(k: int) -> Limits:
    """All laws on k values."""
    return Limits(np.zeros(k), np.ones(k))


def kept(rows: Limits) -> Limits:
    """Limits of every law m with m K = m for some step K in `rows`: all laws pushed forward, again and again.

    Such a law is its own image, so it stays inside; the images are nested, so one may stop anywhere."""
    law = everything(len(rows.lower))
    for _ in range(_ROUNDS):
        new = _inside(law, pushed(law, rows))
        moved, law = _gap(law, new), new
        if moved <= _SETTLED:
            break
    return law


def _inside(one: Limits, two: Limits) -> Limits:
    return Limits(np.maximum(one.lower, two.lower), np.minimum(one.upper, two.upper))


def marginals(start: Limits, rows: Limits, length: int, most: int, nested: bool) -> Limits:
    """Limits (n, k) of the laws of the first n entries; the last serve for every entry beyond. n <= `most`, `length`.

    `nested`: the start covers its own image (every law, or the laws that are kept), so the images only shrink."""
    found, far, tried = [start], start if nested else kept(rows), 0
    while len(found) < length:
        new = pushed(found[-1], rows)
        if nested:
            new = _inside(found[-1], new)
            if _gap(found[-1], new) <= _SETTLED or len(found) >= _ROUNDS:
                break
        else:
            still = max(_gap(found[-1], new), _gap(new, found[-1])) <= _STILL
            rest = None
            if still and len(found) >= 2 * tried:
                rest, tried = _ever(new, rows) or _ever(_around(new, far), rows), len(found)
            if rest is not None or len(found) >= _ROUNDS:
                found.append(rest or everything(len(start.lower)))
                break
        found.append(new)
    lower, upper = np.array([box.lower for box in found]), np.array([box.upper for box in found])
    if len(found) > most:
        lower = np.vstack([lower[: most - 1], lower[most - 1 :].min(axis=0)])
        upper = np.vstack([upper[: most - 1], upper[most - 1 :].max(axis=0)])
    return Limits(lower, upper)


def _ever(law: Limits, rows: Limits) -> Limits | None:
    """A box around this one that covers its own image: then it covers every later law; None if none is found."""
    around = Limits(np.where(law.lower < _LEAST, 0.0, law.lower), law.upper)  # a limit that falls and falls
    for _ in range(_TRIES):
        image = pushed(around, rows)
        if (image.lower >= around.lower).all() and (image.upper <= around.upper).all():
            return around
        around = _around(around, image)
    return None


def _around(one: Limits, two: Limits) -> Limits:
    return Limits(np.minimum(one.lower, two.lower), np.maximum(one.upper, two.upper))


def _gap(outer: Limits, inner: Limits) -> float:
    """How far the limits of `inner` lie inside those of `outer`, at most."""
    return max(float((inner.lower - outer.lower).max()), float((outer.upper - inner.upper).max()))
