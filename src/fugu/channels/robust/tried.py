"""One solution of a robust program, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass

from fugu.channels.problem import ChannelProblem, Prices
from fugu.channels.robust.cone import Floats
from fugu.channels.robust.interior import Interior
from fugu.channels.robust.outer import round_ball
from fugu.channels.robust.program import Solved, WholeProgram
from fugu.channels.robust.promises import Planes, Promises
from fugu.laws.masses import Masses

_NEAR = 1e-7
"""Distance from the optimum, relative to the largest cost, at which an answer is taken."""
_WIDE = 60
"""Rows over many points, for instance laws of a hull, up to which the narrow border of `layout` is narrow."""


@dataclass(frozen=True, eq=False)
class Tried:
    """The promises, the answer of a solver, and its expected loss in doubles."""

    promises: Promises
    answer: Solved
    value: float

    @property
    def matrix(self) -> Floats:
        """The channel, (points, outputs)."""
        return self.answer.matrix

    @property
    def round(self) -> bool:
        """Whether some law is a set that planes only approach."""
        return any(round_ball(law) is not None for law in self.promises.problem.laws)

    def prices(self) -> Prices:
        """What the duals say."""
        duals = self.answer.duals
        return Prices(
            ratio=self.promises.ratios(duals),
            upper=self.promises.members(duals, 1),
            lower=self.promises.members(duals, -1),
            cap=self.promises.caps(duals),
            mix=self.answer.mix,
            mixed=self.answer.mixed,
            rise=self.answer.rise,
        )


def solved(problem: ChannelProblem, planes: Planes | None = None) -> Tried:
    """By the method that knows the shape of the program; where it does not come near, or has no place for what is
    asked, by a general solver.

    - `problem`: with sets that are polyhedral, or approached by `planes` besides.
    - `planes`: as in `Promises`.
    """
    promises = Promises(problem, planes)
    answer = None
    narrow = len(promises.cone.wide) <= _WIDE
    if narrow and problem.weight is not None and not problem.monotone and not planes:
        matrix, duals, error = Interior(promises).solve()
        answer = Solved(matrix, duals) if error < _NEAR else None
    answer = WholeProgram(promises).solve() if answer is None else answer
    return Tried(promises, answer, expected(problem, answer.matrix))


def expected(problem: ChannelProblem, matrix: Floats) -> float:
    """The expected loss of a channel, in doubles; under the worst of the laws if the problem has no weight."""
    means = (matrix * problem.loss).sum(axis=1)
    if problem.weight is not None:
        return float(problem.weight @ means)
    return max(
        float(law.floats() @ means if isinstance(law, Masses) else law.tops(means[None, :])[0]) for law in problem.laws
    )
