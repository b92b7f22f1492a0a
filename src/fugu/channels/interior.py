"""Interior points for min sum_y cost_y.k_y, sum_y k_y = 1, G z_y >= 0: Mehrotra's steps, all outputs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fugu.channels.cone import Floats, NewtonLayout, Places
from fugu.channels.sets import Promises
from fugu.progress import report

# By Mehrotra's predictor and corrector.
#
# Near the optimum the weights of the rows differ by more than doubles hold. Steps are therefore regularised, as in the
# proximal method of multipliers (Friedlander and Orban 2012): a row may give way a little, and a variable has a little
# inertia. Residuals are measured without either, so the limit is the true optimum.
#
# All outputs share G, so one step costs about m n^2 operations (`newton`), where a general solver sees tens of
# thousands of rows. What comes out is a proposal like that of any solver: `repair` and `bounds` make it exact.


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
    """The method for one problem, which must have a weight and ask for no order."""

    def __init__(self, promises: Promises) -> None:
        problem, self.promises = promises.problem, promises
        if problem.weight is None or problem.monotone:
            raise ValueError("this method links outputs by the sums of the rows only")
        self.layout = NewtonLayout(promises.cone, promises.k)
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
                # the largest of gap and residuals, all in units in which cost and probabilities are at most 1
                gap = float((at.s * at.dual).sum() + at.left @ at.price)
                value = abs(float((self.cost * at.z).sum()))
                worst = max(float(np.abs(part).max(initial=0.0)) for part in self._residuals(at))
                now = max(gap / max(value, 1e-3), worst)
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
    lengths = {"z": primal, "s": primal, "dual": dual, "u": dual, "left": primal, "price": dual}
    return Point(**{name: getattr(at, name) + step * getattr(way, name) for name, step in lengths.items()})


# Newton steps of all outputs at once, linked by sum_y k_y = 1: block elimination, then one system of n equations.


_ROUNDS = 2
_FINE = 1e-11
_CHUNK = 16


class Newton:
    """Solves H_y dz_y = right_y + A' du for every output y, with sum_y A dz_y + extra du = link.

    - `layout`: where the entries of H stand.
    - `d`: the weights of the rows, (outputs, rows).
    - `linked`: the variables that A picks: the column, and the slacks for delta if there are any.
    - `extra`: what the links have on their own diagonal, one number for each of `linked`.

    Arrays over points have the points first, then the outputs.
    """

    def __init__(self, layout: NewtonLayout, d: Floats, linked: Places, extra: Floats) -> None:
        self.layout, self.d, self.linked, self.extra = layout, d, linked, extra
        numbers, self.share = layout.weights(d)
        block, beside, side, corner = layout.blocks(numbers)
        self.block = np.ascontiguousarray(block.transpose(1, 0, 2, 3)) + _FIRM * np.eye(layout.b)
        self.beside = None if beside is None else np.ascontiguousarray(beside.transpose(1, 0, 2, 3))
        self.side = np.ascontiguousarray(side.transpose(1, 0, 2, 3))
        free = np.arange(layout.e - layout.wide.size)
        corner[:, free, free] += _FIRM
        self._eliminate()
        self.through = self._inner(self.side)
        schur = corner - np.einsum("xyae,xyaf->yef", self.side, self.through)
        size = 1 / np.sqrt(np.abs(np.einsum("yee->ye", schur)))
        scaled = size[:, :, None] * schur * size[:, None, :]
        self.corner = size[:, :, None] * np.linalg.inv(scaled) * size[:, None, :]
        self.borders = layout.node[linked[layout.n :]] - layout.n * layout.b
        n, count = self.layout.n, self.linked.size
        reach = np.zeros((count, len(self.d), self.layout.e))
        reach[:n] = self.through[:, :, 0]
        reach[n + np.arange(self.borders.size), :, self.borders] = -1.0
        other = np.einsum("lyf,yfe->lye", reach, self.corner)
        whole = other.reshape(count, -1) @ reach.reshape(count, -1).T
        whole[:n, :n] += self._diagonal()
        whole[np.arange(count), np.arange(count)] += self.extra
        self.whole = (whole + whole.T) / 2  # sum_y A H_y^-1 A' + extra

    def _eliminate(self) -> None:
        """The pivots of the blocks along the points."""
        if self.beside is None:
            self.pivot = np.linalg.inv(self.block)
            return
        self.pivot = np.empty_like(self.block)
        self.back = np.empty_like(self.block)
        self.pivot[0] = np.linalg.inv(self.block[0])
        for x in range(1, self.layout.n):
            off = self.beside[x - 1]
            self.back[x - 1] = self.pivot[x - 1] @ off
            self.pivot[x] = np.linalg.inv(self.block[x] - off.transpose(0, 2, 1) @ self.back[x - 1])

    def _inner(self, right: Floats, some: slice = slice(None)) -> Floats:
        """The blocks of the points solved for (n, outputs, b, columns)."""
        if self.beside is None:
            return self.pivot[:, some] @ right
        right, ahead = right.copy(), np.swapaxes(self.back, 2, 3)
        for x in range(1, self.layout.n):
            right[x] -= ahead[x - 1, some] @ right[x - 1]
        found = self.pivot[:, some] @ right
        for x in range(self.layout.n - 2, -1, -1):
            found[x] -= self.back[x, some] @ found[x + 1]
        return found

    def _diagonal(self) -> Floats:
        """sum_y of the inverse of the blocks at (k, k)."""
        n, m = self.layout.n, len(self.d)
        if self.beside is None:
            return np.diag(self.pivot[:, :, 0, 0].sum(axis=1))
        total = np.zeros((n, n))
        for first in range(0, m, _CHUNK):
            some = slice(first, min(first + _CHUNK, m))
            unit = np.zeros((n, some.stop - first, self.layout.b, n))
            unit[np.arange(n), :, 0, np.arange(n)] = 1.0
            total += self._inner(unit, some)[:, :, 0].sum(axis=1)
        return total

    def _apart(self, nodes: Floats) -> tuple[Floats, Floats]:
        """H dz = right for every output, without the private variables: points (n, outputs, b) and border."""
        n, b = self.layout.n, self.layout.b
        points = nodes[:, : n * b].reshape(-1, n, b).transpose(1, 0, 2)
        first = self._inner(np.ascontiguousarray(points)[..., None])[..., 0]
        short = nodes[:, n * b :] - np.einsum("xyae,xya->ye", self.side, first)
        edge = np.einsum("yef,yf->ye", self.corner, short)
        return first - np.einsum("xyae,ye->xya", self.through, edge), edge

    def step(self, right: Floats, link: Floats) -> tuple[Floats, Floats]:
        """dz (outputs, variables) and du for right (outputs, variables) and the sums of the links, refined."""
        matrix, seen = self.layout.matrix, self.layout.node >= 0
        dz, du = self._once(right, link)
        size = max(np.abs(right).max(), np.abs(link).max())
        error = np.inf
        for _ in range(_ROUNDS):
            more = right - (self.d * (matrix @ dz.T).T) @ matrix
            more[:, self.linked] += du
            more[:, seen] -= _FIRM * dz[:, seen]
            miss = link - dz[:, self.linked].sum(axis=0) - self.extra * du
            now = max(np.abs(more).max(), np.abs(miss).max())
            if not _FINE * size < now < error / 2:
                break
            error = now
            further, also = self._once(more, miss)
            dz, du = dz + further, du + also
        return dz, du

    def _once(self, right: Floats, link: Floats) -> tuple[Floats, Floats]:
        layout, n, b = self.layout, self.layout.n, self.layout.b
        hidden, row, seen = right[:, layout.private], self.d[:, layout.own_row], layout.node >= 0
        nodes = np.zeros((len(right), n * b + layout.e))
        nodes[:, layout.node[seen]] = right[:, seen]
        nodes -= (row * self.share * hidden) @ layout.rest + (self.share * hidden) @ layout.steep
        points, edge = self._apart(nodes)
        sums = np.concatenate([points[:, :, 0].sum(axis=1), edge[:, self.borders].sum(axis=0)])
        du = np.linalg.solve(self.whole, link - sums)
        nodes[:, np.arange(n) * b] += du[:n]
        nodes[:, n * b + self.borders] += du[n:]
        points, edge = self._apart(nodes)
        found = np.concatenate([points.transpose(1, 0, 2).reshape(len(right), -1), edge], axis=1)
        dz = np.zeros_like(right)
        dz[:, seen] = found[:, layout.node[seen]]
        dz[:, layout.private] = self.share * (hidden - row * (found @ layout.rest.T) - found @ layout.steep.T)
        return dz, du
