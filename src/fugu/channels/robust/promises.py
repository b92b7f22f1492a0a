"""The promises of a problem as one cone, and how the duals of its rows are read as prices and members."""

from __future__ import annotations

from collections import Counter

import numpy as np

from fugu.channels.problem import ChannelProblem
from fugu.channels.robust.cone import Cone, Floats, Form, Places, Vector
from fugu.channels.robust.sets import Extreme, largest, least

_LARGEST_POWER = 30.0
"""e^30 in a row is as far as doubles go beside 1; a larger budget is held to it, which is sound and costs nothing."""

Planes = dict[int, Floats]


class Promises:
    """z = (k, ...) with G z >= 0: column k of a channel keeps the promises, for every member of the sets.

    For each law an upper form N >= max p.k and a lower one D <= min p.k, for each ordered pair (s, t) the row
    D_t - e^-epsilon N_s >= 0 (with a slack for delta). The members of two laws are chosen independently, and a law is
    never held against itself: one bound t_y for all laws at once would be dearer.

    - `problem`: its laws, pairs, epsilon, cap.
    - `planes`: for laws that are not polyhedral, by place: h with h.p >= 1 for all their members, as an array
      (outputs + 1, planes, points), the last for the mean losses. `plane_laws` names the law of each of `cone.planes`.
    """

    def __init__(self, problem: ChannelProblem, planes: Planes | None = None) -> None:
        self.problem, self.cone, self.planes = problem, Cone(), planes or {}
        self.plane_laws: list[int] = []
        self.k = self.cone.new_at(np.arange(problem.n), positive=True)
        self.column = Vector(((1.0, self.k),))
        self.ratio = float(np.exp(min(float(problem.epsilon), _LARGEST_POWER)))
        ordered = problem.ordered()
        self.slack = self.cone.new(len(ordered), positive=True) if problem.delta else None
        often = Counter(s for s, _ in ordered)
        self.upper = {s: self._held(s, 1, often[s] > 1) for s in often}
        self.lower = {s: self._held(s, -1, often[s] > 1) for s in often}
        self.pair_rows = np.array([self._pair(c, s, t) for c, (s, t) in enumerate(ordered)], dtype=np.int64)
        self.cap_rows = self._cap()
        self.entries = self.cone.triplets()

    def _held(self, s: int, side: int, shared: bool) -> tuple[Extreme, Form, int | None]:
        """The form of a law, the form to use in pairs, and the row that links them if the law is in several pairs."""
        law = self.problem.laws[s]
        before = len(self.cone.planes)
        count = self.planes[s].shape[1] if s in self.planes else 0
        found = (largest if side > 0 else least)(self.cone, law, self.column, count)
        self.plane_laws += [s] * (len(self.cone.planes) - before)
        if not shared:
            return found, found.form, None
        one = Form.of(self.cone.new(1, positive=True), 1.0)
        return found, one, self.cone.require(one - found.form if side > 0 else found.form - one)

    def _pair(self, c: int, s: int, t: int) -> int:
        form = self.lower[t][1] - (1 / self.ratio) * self.upper[s][1]
        if self.slack is not None:
            form = form + Form.of(self.slack[c], 1 / self.ratio)
        return self.cone.require(form)

    def _cap(self) -> tuple[Places, Places] | None:
        """m <= k_x and k_x <= e^cap m."""
        if self.problem.cap is None:
            return None
        floor = self.cone.new(1, positive=True)
        height = float(np.exp(min(float(self.problem.cap), _LARGEST_POWER)))
        over = self.cone.require_all(self.column, ((-1.0, floor),))
        return over, self.cone.require_all(Vector(((-1 / height, self.k),)), ((1.0, floor),))

    def ratios(self, duals: Floats) -> Floats:
        """alpha of the ordered pairs (pairs, outputs) from the duals (outputs, rows): those of D_t - e^-epsilon N_s are
        e^epsilon alpha, also where the row was held to a smaller power."""
        alpha: Floats = np.clip(duals[:, self.pair_rows].T * np.exp(-float(self.problem.epsilon)), 0.0, None)
        return alpha

    def caps(self, duals: Floats) -> Floats | None:
        """The prices of the cap, (points, outputs)."""
        if self.cap_rows is None or self.problem.cap is None:
            return None
        over, under = self.cap_rows
        height = float(np.exp(min(float(self.problem.cap), _LARGEST_POWER)))
        return (duals[:, under] / height - duals[:, over]).T

    def members(self, duals: Floats, side: int) -> Floats:
        """The members that the duals single out, (laws, outputs, points), up to rounding; 0 where there is no price."""
        found = np.zeros((len(self.problem.laws), len(duals), self.problem.n))
        ordered = self.problem.ordered()
        for s, (extreme, _, row) in (self.upper if side > 0 else self.lower).items():
            mine = [c for c, pair in enumerate(ordered) if pair[0 if side > 0 else 1] == s]
            through = duals[:, self.pair_rows[mine]].sum(axis=1) / (self.ratio if side > 0 else 1.0)
            price = through if row is None else duals[:, row]
            total = side * extreme.weighed(self.cone, self.entries, self.k, side * price, duals)
            sums = total.sum(axis=1, keepdims=True)
            found[s] = np.divide(total, sums, out=np.zeros_like(total), where=sums > 0)
        return found
