"""Sums over independent users: what the total says about one of them, hidden among the others.

Everybody else's randomness is noise that nobody had to add (hedging privacy; Ding 2024, section III-B). Sums of
discrete users are exact or carry a certified error; normal users make a normal total, its standard deviation stated to
15 digits. No central limit approximation enters a guarantee."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Approx
from fugu.laws import Discrete, Normal
from fugu.laws.discrete import sum_of
from fugu.loss import delta
from fugu.noise import Laplace
from fugu.numbers.checks import is_count
from fugu.numbers.exact import Real, as_fraction
from fugu.scenario.scenario import Scenario, Value

INDEPENDENT_USERS = "users are independent of each other"


def takes_part(user: Value, others: Value | Sequence[Value], count: int | None = None) -> Scenario:
    """A total over independent users: secrets "takes part" and "stays away", its law with and without this user.

    `user`: the law of what this user adds, `Discrete` or `Normal`; `others`: that of each other user, with `count` of
    them, or a list of laws without a count.

    >>> coin = Discrete([0, 1])
    >>> [law.weights.tolist() for law in takes_part(coin, coin, 1).adversaries[0].values()]
    [[0.25, 0.5, 0.25], [0.5, 0.5]]
    """
    rest = _rest(others, count)
    return _scenario({"takes part": total([user, *rest]), "stays away": total(rest)})


def reports(first: Real, second: Real, others: Value | Sequence[Value], count: int | None = None) -> Scenario:
    """A total over independent users: secrets "reports first" and "reports second", the total of the others moved.

    `first`, `second`: the two values that one user may report; `others` and `count` as in `takes_part`."""
    if first == second:
        raise UsageError("the two reports are the same value: there is nothing to hide")
    rest = _rest(others, count)
    normal = isinstance(rest[0], Normal)  # a value itself is a law of the same kind
    points = {value: Normal(value, 0) if normal else Discrete([float(value)]) for value in (first, second)}
    return _scenario({f"reports {value:g}": total([point, *rest]) for value, point in points.items()})


def needed(user: Value, other: Value, budget: Approx, most: int = 10_000_000) -> int:
    """The least number of others, each with the law `other`, among whom `user` takes part or not without any noise.

    More independent others never hurt (their values are added after the fact), so the property persists upward and
    bisection finds where it begins; each step uses the certified law of the sum."""

    def silent(count: int) -> bool:
        return delta(Laplace(0), takes_part(user, other, count), budget.epsilon) <= budget.delta

    high = 1
    while not silent(high):
        high *= 2
        if high > most:
            raise NotProvable(f"even {most} others do not hide one user at this budget; some noise is needed")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if silent(middle) else (middle, high)
    return high


def total(laws: Sequence[Value]) -> Value:
    """The law of the sum of independent values: discrete ones convolved, normal ones by adding means and variances."""
    normals = [law for law in laws if isinstance(law, Normal)]
    if not normals:
        return sum_of([law for law in laws if isinstance(law, Discrete)])
    if len(normals) < len(laws):
        raise NotProvable(
            "sums of normal and discrete users together are not available; give all users one kind of law"
        )
    mean = sum((as_fraction(law.mean) for law in normals), Fraction(0))
    return Normal(mean, float(f"{math.sqrt(math.fsum(float(law.std) ** 2 for law in normals)):.15g}"))


def _rest(others: Value | Sequence[Value], count: int | None) -> list[Value]:
    if isinstance(others, Discrete | Normal):
        if not is_count(count):
            raise UsageError(f"count, the number of other users, must be a whole number of at least 1, got {count!r}")
        if isinstance(others, Discrete):
            return [others.iid_sum(count)]
        return [Normal(count * as_fraction(others.mean), float(f"{math.sqrt(count) * float(others.std):.15g}"))]
    rest = list(others)
    if not rest or count is not None:
        raise UsageError("give the others as one law with count=n, or as a list of laws without count")
    return rest


def _scenario(laws: dict[str, Value]) -> Scenario:
    beliefs = "beliefs: the law of the total given each secret, by convolution of the users' laws"
    return Scenario(laws, assumptions=(beliefs, INDEPENDENT_USERS))
