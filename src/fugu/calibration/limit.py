"""`limit_of`: how small the expected error of *any* mechanism can be, for exactly the laws given. Proved on both sides.

The channel of least expected absolute error is found in doubles, repaired to an exact one in integers, and bounded from
below by exact prices (docs/limits.md): no solver is trusted. It is a limit to compare with, not a mechanism to take by
default: where the laws are a little off, it may lose everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fugu.channels.problem import ChannelProblem
from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask
from fugu.laws.family import Family
from fugu.laws.items import Shape
from fugu.laws.mean import averaged
from fugu.numbers.exact import float_down, float_up

MOST_OF_A_PAIR, MOST_OF_SEVERAL = 200, 100
"""So many atoms are tried without being asked: about a second."""


@dataclass(frozen=True)
class Limit:
    """The least expected error there is, bracketed: `lower` <= optimum <= `error`, E|Y - X| of a channel in integers.

    `squared` is E(Y - X)^2 of that channel, which was not made least."""

    error: float
    squared: float
    lower: float

    @property
    def told(self) -> str:
        """The bracket in words."""
        if self.error == 0:
            return "nothing needs to change"
        return f"no mechanism is below {self.lower:.9g}"


def one_family(given: Sequence[Shape]) -> Family:
    """The one family of laws with known atoms on a line; refused for others, with the reason."""
    if len(given) != 1 or not isinstance(given[0], Family) or given[0].dimension > 1:
        raise NotProvable("this is known for laws of one number with atoms, on a common support")
    if given[0].translates or given[0].inexact:
        raise NotProvable("this is known for laws that are stated exactly, with their atoms")
    return given[0]


def limit_of(given: Sequence[Shape], ask: Ask) -> Limit:
    """The limit for laws as stated and what is asked; the weight of the error is the mean law.

    Raises `NotProvable` where none is known: for divergences, for epsilon 0, for laws without atoms, and for more atoms
    than are worked out without being asked for."""
    family = one_family(given)
    if ask.finite:
        raise NotProvable("no limit is known for a Rényi budget")
    if family.same:
        return Limit(0.0, 0.0, 0.0)
    if ask.epsilon == 0:
        raise NotProvable("no limit is worked out for epsilon 0: an exact channel has no room there")
    atoms, most = len(family.points), MOST_OF_SEVERAL if len(family.laws) > 2 or ask.delta else MOST_OF_A_PAIR
    if atoms > most:
        raise NotProvable(f"not worked out unasked for {atoms} atoms, above {most}; ask fugu.optimal_channel for it")
    from fugu.channels.bounds import lower, value  # a solver is imported with them
    from fugu.channels.find import find
    from fugu.channels.repair import repaired

    problem = problem_of(family, ask)
    found = find(problem)
    rows, _ = repaired(problem, found.matrix)
    least = Fraction(0) if found.prices is None else lower(problem, found.prices)
    apart = ChannelProblem(
        problem.laws, problem.pairs, problem.epsilon, problem.loss**2, problem.weight, delta=problem.delta
    )
    return Limit(float_up(value(problem, rows)), float_up(value(apart, rows)), float_down(least))


def problem_of(family: Family, ask: Ask) -> ChannelProblem:
    """Least expected absolute error under the mean law, with the atoms as outputs, which loses nothing: the cost of a
    column is convex and piecewise linear in the output, with kinks at atoms."""
    values = family.points.astype(np.float64)
    parts = averaged(family.laws)
    weight = np.array([part / sum(parts) for part in parts])
    pairs = tuple(dict.fromkeys((min(pair), max(pair)) for pair, _ in family.different))
    return ChannelProblem(
        family.laws,
        pairs,
        ask.epsilon,
        np.abs(values[:, None] - values[None, :]),
        weight,
        delta=ask.delta,
        points=values,
        outputs=values,
    )
