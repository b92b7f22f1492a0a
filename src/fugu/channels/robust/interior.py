"""Interior points for  min sum_y cost_y.k_y,  sum_y k_y = 1,  G z_y >= 0,  by Mehrotra's predictor and corrector.

Near the optimum the weights of the rows differ by more than doubles hold. Steps are therefore regularised, as in the
proximal method of multipliers (Friedlander and Orban 2012): a row may give way a little, and a variable has a little
inertia. Residuals are measured without either, so the limit is the true optimum.

All outputs share G, so one step costs about m n^2 operations (`newton`), where a general solver sees tens of
thousands of rows. What comes out is a proposal like that of any solver: `repair` and `bounds` make it exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fugu.channels.robust.cone import Floats
from fugu.channels.robust.layout import Layout
from fugu.channels.robust.newton import Newton
from fugu.channels.robust.promises import Promises
from fugu.progress import report

_MOST_STEPS = 120
_NEAR = 1e-10
"""Distance from the optimum, relative to the largest cost, at which it stops."""
_ENOUGH = 1e-6
"""Distance up to which an answer counts when the steps no longer help."""
_SHORT = 0.9995
_FIRM = 1e-6
"""How much a row may give way in one step, for each unit of its price: no weight is above 1 / _FIRM."""


@dataclass
class Point:
    """Where the method stands: z, s = G z and the duals of all rows, (outputs, ...); the link's duals u; and for delta
    what is left of it with its dual."""

    z: Floats
    s: Floats
    dual: Floats
    u: Floats
    left: Floats
    price: Floats


class Interior:
    """The method for one problem.

    - `promises`: the cone and its problem, which must have a weight and ask for no order.
    """

    def __init__(self, promises: Promises) -> None:
        problem, self.promises = promises.problem, promises
        if problem.weight is None or problem.monotone:
            raise ValueError("this method links outputs by the sums of the rows only")
        self.layout = Layout(promises.cone, promises.k)
        self.n, self.m = problem.n, problem.m
        cost = problem.weight[:, None] * problem.loss
        self.scale = max(float(cost.max()), 1e-300)
        self.cost = np.zeros((self.m, promises.cone.size))
        self.cost[:, promises.k] = (cost / self.scale).T
        slack = np.zeros(0, dtype=np.int64) if promises.slack is None else promises.slack
        self.linked = np.concatenate([promises.k, slack])
        self.right = np.concatenate([np.ones(self.n), np.full(slack.size, float(problem.delta))])

    def solve(self) -> tuple[Floats, Floats, float]:
        """The channel (points, outputs), the duals of the cone's rows in units of the loss (outputs, rows), and how far
        from the optimum the two are, relative to the largest cost."""
        at = self._start()
        best, error = at, np.inf
        with np.errstate(all="ignore"):
            for step in range(_MOST_STEPS):
                report("finding a channel for sets of laws", step, _MOST_STEPS)
                now = self._error(at)
                if now < error:
                    best, error = at, now
                if error < _NEAR or not np.isfinite(now) or now > 1e6 * max(error, _NEAR):
                    break
                try:
                    at = self._step(at)
                except np.linalg.LinAlgError:
                    break
        report("finding a channel for sets of laws", _MOST_STEPS, _MOST_STEPS)
        rows = self.promises.cone.count
        return best.z[:, self.promises.k].T, self.scale * best.dual[:, :rows], float(error)

    def _start(self) -> Point:
        """Every output equally likely, all rows and prices inside."""
        z = np.full((self.m, self.layout.size), 1.0 / self.m)
        z[:, self.layout.private] = 0.1 / self.m
        z[:, self.linked[self.n :]] = self.right[self.n :] / (2 * self.m)
        s = np.maximum((self.layout.matrix @ z.T).T, 0.1 / self.m)
        dual = np.full_like(s, float(self.cost.max(axis=1).mean()) * 0.1 + 1e-3)
        return Point(
            z, s, dual, np.zeros(self.linked.size), self.right[self.n :] / 2, np.full(self.linked.size - self.n, 0.1)
        )

    def _residuals(self, at: Point) -> tuple[Floats, Floats, Floats, Floats]:
        dual = self.cost - at.dual @ self.layout.matrix
        dual[:, self.linked] -= at.u
        link = at.z[:, self.linked].sum(axis=0) - self.right
        link[self.n :] += at.left
        return dual, (self.layout.matrix @ at.z.T).T - at.s, link, -at.u[self.n :] - at.price

    def _error(self, at: Point) -> float:
        """The largest of gap and residuals, all in units in which cost and probabilities are at most 1."""
        dual, primal, link, spent = self._residuals(at)
        gap = float((at.s * at.dual).sum() + at.left @ at.price)
        value = abs(float((self.cost * at.z).sum()))
        worst = max(float(np.abs(part).max(initial=0.0)) for part in (dual, primal, link, spent))
        return max(gap / max(value, 1e-3), worst)

    def _step(self, at: Point) -> Point:
        residuals = self._residuals(at)
        extra = np.concatenate([np.zeros(self.n), at.left / at.price])
        newton = Newton(self.layout, 1 / (at.s / at.dual + _FIRM), self.linked, extra)
        count = at.s.size + at.left.size
        mean = float((at.s * at.dual).sum() + at.left @ at.price) / count
        first = self._direction(newton, at, residuals, -at.s * at.dual, -at.left * at.price)
        ahead = _moved(at, first, *_lengths(at, first, 1.0))
        after = float((ahead.s * ahead.dual).sum() + ahead.left @ ahead.price) / count
        aim = mean * (after / mean) ** 3
        products = aim - at.s * at.dual - first.s * first.dual
        spent = aim - at.left * at.price - first.left * first.price
        second = self._direction(newton, at, residuals, products, spent)
        return _moved(at, second, *_lengths(at, second, _SHORT))

    def _direction(
        self,
        newton: Newton,
        at: Point,
        residuals: tuple[Floats, Floats, Floats, Floats],
        products: Floats,
        spent: Floats,
    ) -> Point:
        """The Newton step that makes s * dual grow by `products`, left * price by `spent`, and the residuals vanish."""
        dual, primal, link, price = residuals
        right = ((products / at.dual - primal) * newton.d) @ self.layout.matrix - dual
        offset = (spent - at.left * price) / at.price
        wanted = -link
        wanted[self.n :] -= offset
        dz, du = newton.step(right, wanted)
        change = (products / at.dual - primal - (self.layout.matrix @ dz.T).T) * newton.d
        ds = (products - at.s * change) / at.dual
        dprice = price - du[self.n :]
        return Point(dz, ds, change, du, (spent - at.left * dprice) / at.price, dprice)


def _lengths(at: Point, way: Point, part: float) -> tuple[float, float]:
    """How far to go so that s and what is left, and the duals, stay above 0."""
    primal = min(_longest(at.s, way.s), _longest(at.left, way.left))
    dual = min(_longest(at.dual, way.dual), _longest(at.price, way.price))
    return min(1.0, part * primal), min(1.0, part * dual)


def _longest(x: Floats, dx: Floats) -> float:
    ratio = np.divide(-x, dx, out=np.full_like(x, np.inf), where=dx < 0)
    return float(ratio.min(initial=np.inf))


def _moved(at: Point, way: Point, primal: float, dual: float) -> Point:
    return Point(
        at.z + primal * way.z,
        at.s + primal * way.s,
        at.dual + dual * way.dual,
        at.u + dual * way.u,
        at.left + primal * way.left,
        at.price + dual * way.price,
    )
