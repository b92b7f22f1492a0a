"""Paper 001, Corollary 1 and Figure 2: whether one of K users took part in a sum, hidden among the others."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fugu.laws import LawPair, Normal
from fugu.papers.charts import lines
from fugu.papers.ding_rules import equation_11, laplace_row, least, pure
from fugu.papers.experiment import Outcome, Row, Setting, experiment
from fugu.progress import report
from fugu.scenario.scenario import Scenario

EPSILON, DELTA, MEAN = 1.0, 0.3, 1.0
STDS = (1, 2, 3, 4, 5)
USERS = (1, 2, 5, 10, 50, 100)
LIMIT_RULE = "mean / epsilon, for many users"
_FOREVER = "the loss in the tails is the same for every K (fugu errata G-after-equation-11): "


@experiment(
    "001-figure2",
    title="a sum over K independent users: the noise that hides whether one of them took part",
    measure="scales of Laplace noise",
    columns=("standard deviation of a user", "users K", "delta"),
    loss="delta at epsilon 1",
    chosen=(
        "Every user has mean 1, epsilon is 1 and delta 0.3, as in the figure; which K it draws is not stated.",
        "tau is the normal quantile; whether the figure uses that or the larger one of (23) is not stated.",
        "Rows with delta 0 claim pure privacy: the text after (11), and Corollary 1(b), where a user reports 0 or 1.",
        "A best of 0 says that the other users hide this one without noise, if they are as they are believed to be.",
    ),
)
def figure_2(setting: Setting) -> Outcome:
    """(11) over K and the spread of a user, and the claims of pure privacy beside it."""
    cases = [
        (std, users)
        for std in (STDS[::4] if setting.short else STDS)
        for users in (USERS[1::3] if setting.short else USERS)
    ]
    found: list[Row] = []
    for number, (std, users) in enumerate(cases):
        report("Figure 2", number, len(cases))
        found += rows_of(std, users)
    grid = range(1, 101, 9 if setting.short else 1)
    series = [
        (f"(11), standard deviation {std}", list(grid), [equation_11(MEAN, std, k, EPSILON, DELTA) for k in grid])
        for std in STDS
    ]
    marks = [users for users in USERS if users > 1]
    exact = [
        max((row.best or 0.0 for row in found if row.case[1:] == (f"{k}", f"{DELTA:g}")), default=math.nan)
        for k in marks
    ]
    title = "The printed noise for one of K users at (1, 0.3), and the least noise: none from two users on"
    drawn = lines(
        title, "users K", "scale of Laplace noise", [*series, ("fugu, exact, the largest of all", marks, exact)]
    )
    return Outcome(tuple(found), (drawn,), (vanishing(),))


def rows_of(std: float, users: int) -> Iterator[Row]:
    """One system of users: (11) at delta 0.3, and two claims at delta 0."""
    who = Normal(MEAN, std)
    rest = [who] * (users - 1) or [Normal(0, 0)]
    (pair,) = Scenario.takes_part(who, rest).law_pairs()
    case = f"{std:g}", f"{users}"
    scale = equation_11(MEAN, std, users, EPSILON, DELTA)
    yield laplace_row((*case, f"{DELTA:g}"), "(11)", scale, pair, EPSILON, DELTA, least(pair, EPSILON, DELTA))
    if users > 1:
        told = _FOREVER + pure(MEAN / EPSILON, pair)
        yield laplace_row((*case, "0"), LIMIT_RULE, MEAN / EPSILON, pair, EPSILON, 0.0, pure_scale(pair), told)
        (moved,) = Scenario.reports(0, 1, rest).law_pairs()
        yield laplace_row((*case, "0"), "Corollary 1(b)", 1 / EPSILON, moved, EPSILON, 0.0, pure_scale(moved))


def pure_scale(pair: LawPair) -> float:
    """The least scale that gives epsilon without any delta."""
    return least(pair, EPSILON, 0.0)


def vanishing() -> str:
    """The part of (9) that is said to vanish as K grows, for users whose variances are 4^k."""

    def gap(users: int) -> float:
        return math.sqrt(sum(4**k for k in range(1, users + 1))) - math.sqrt(sum(4**k for k in range(1, users)))

    return (
        f"That the spread of one user vanishes as K grows needs users of like spreads: with variances 4^k the gap of "
        f"standard deviations is {gap(5):.4g} for 5 users and {gap(20):.4g} for 20."
    )
