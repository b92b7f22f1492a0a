"""Group privacy: whatever the dependence inside a group, all of its records may change at once (Proposition B.1)."""

from __future__ import annotations

from collections.abc import Sequence

from fugu.errors import UsageError
from fugu.numbers.checks import is_list
from fugu.numbers.exact import Real, number
from fugu.scenario.moves import ONCE, moves, said
from fugu.scenario.scenario import Scenario, builder


@builder
def group(diameter: Real | Sequence[Real]) -> Scenario:
    """W_inf <= Delta_GROUP = max |f(x) - f(x')| over tables that differ in one group (Pierquin et al. 2024, Prop. B.1).

    Groups are independent of each other, the records of one group depend on each other in any way. Given either secret
    about a group, the other groups have the same law, so they are coupled to be equal, and f moves by at most
    Delta_GROUP, whatever the law of the group (docs/proofs/moves.md#groups-of-records). A sequence gives one
    bound for each published coordinate.

    >>> group(2).law_pairs()[0].q.by
    Fraction(2, 1)
    """
    several = is_list(diameter)
    if isinstance(diameter, str) or (several and not diameter):
        raise UsageError("diameter must be a number, or one number for each published coordinate")
    bounds = [number(x, "diameter") for x in (diameter if is_list(diameter) else [diameter])]
    return moves(
        bounds if several else bounds[0],
        ("one value in the group", "another value in the group"),
        (
            "beliefs: groups are independent of each other; inside a group any dependence, any law",
            f"changing all records of one group moves the published value by at most {', '.join(map(said, bounds))}",
            "each pair of secrets is about one group",
            ONCE,
        ),
    )
