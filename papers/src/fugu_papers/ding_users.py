"""Paper 001, Corollary 1 and Figure 2: whether one of K users took part in a sum, hidden among the others."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fugu.laws import LawPair, Normal
from fugu.progress import report
from fugu.scenario.scenario import Scenario
from fugu_papers.charts import lines
from fugu_papers.ding_rules import equation_11, laplace_row, least, pure_row, with_delta
from fugu_papers.experiment import Outcome, Row, Setting, experiment

EPSILON, DELTA, MEAN = 1.0, 0.3, 1.0
STDS = (1, 2, 3, 4, 5)
USERS = (1, 2, 5, 10, 50, 100)
FOR_MANY = "mean / epsilon, for many users"
_FOREVER = "the loss in the tails is the same for every K (fugu errata G-after-equation-11); "
_COLUMNS = ("standard deviation of a user", "users K")
_BEST = "A best of 0 says that the other users hide this one without noise, if they are as they are believed to be."


def total(std: float, users: int) -> LawPair:
    """The sum of so many users with mean 1 and this deviation: with one of them, and without."""
    who = Normal(MEAN, std)
    (pair,) = Scenario.takes_part(who, [who] * (users - 1) or [Normal(0, 0)]).law_pairs()
    return pair


def systems(setting: Setting, stds: tuple[int, ...], users: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Deviations and numbers of users, one of them for the short form. Reports progress."""
    cases = [(std, count) for std in stds for count in users]
    cases = cases[1:2] if setting.short else cases
    for number, case in enumerate(cases):
        report("users", number, len(cases))
        yield case


@experiment(
    "001-figure2",
    title="a sum over K independent users: the noise that hides whether one of them took part",
    measure="scales of Laplace noise",
    columns=_COLUMNS,
    loss="delta at epsilon 1",
    chosen=(
        "Every user has mean 1, epsilon is 1 and delta 0.3, as in the figure; which K it draws is not stated.",
        "tau is the normal quantile; whether the figure uses that or the larger one of (23) is not stated.",
        _BEST,
    ),
)
def figure_2(setting: Setting) -> Outcome:
    """(11) over K and the spread of a user."""
    found: list[Row] = []
    for std, users in systems(setting, STDS, USERS):
        pair, scale = total(std, users), equation_11(MEAN, std, users, EPSILON, DELTA)
        best = least(pair, EPSILON, DELTA)
        found.append(laplace_row((f"{std}", f"{users}"), "(11)", scale, pair, EPSILON, DELTA, best))
    grid = list(range(1, 101, 9 if setting.short else 1))
    series = [
        (f"(11), standard deviation {std}", grid, [equation_11(MEAN, std, k, EPSILON, DELTA) for k in grid])
        for std in STDS
    ]
    marks = sorted({int(row.case[1]) for row in found if row.case[1] != "1"})
    exact = [max(row.best or 0.0 for row in found if row.case[1] == f"{k}") for k in marks]
    drawn = lines(
        "The printed noise for one of K users at (1, 0.3), and the least noise: none from two users on",
        "users K", "scale of Laplace noise", [*series, ("fugu, exact, the largest of all", marks, exact)],
    )  # fmt: skip
    return Outcome(tuple(found), (drawn,), (vanishing(),))


@experiment(
    "001-corollary1",
    title="a sum over K independent users: two claims of privacy without a delta",
    measure="scales of Laplace noise",
    columns=_COLUMNS,
    chosen=(
        "Users as in Figure 2, with standard deviation 1 and 5; epsilon 1.",
        "The text after (11) says that mean / epsilon suffices as K grows.",
        "Corollary 1(b): a user reports 0 or 1, and the others add what they add.",
    ),
)
def corollary_1(setting: Setting) -> Outcome:
    """What is said of large K, and part (b) of the corollary, which is true for every K."""
    found: list[Row] = []
    for std, users in systems(setting, STDS[::4], USERS[1::2]):
        case, pair, who = (f"{std}", f"{users}"), total(std, users), Normal(MEAN, std)
        scale = MEAN / EPSILON
        note = _FOREVER + with_delta(scale, pair, EPSILON)
        found.append(pure_row(case, FOR_MANY, scale, pair, EPSILON, least(pair, EPSILON, 0.0), note))
        (moved,) = Scenario.reports(0, 1, who, users - 1).law_pairs()
        found.append(pure_row(case, "Corollary 1(b)", 1 / EPSILON, moved, EPSILON, least(moved, EPSILON, 0.0)))
    return Outcome(tuple(found))


def vanishing() -> str:
    """The part of (9) that is said to vanish as K grows, for users whose variances are 4^k."""

    def gap(users: int) -> float:
        return math.sqrt(sum(4**k for k in range(1, users + 1))) - math.sqrt(sum(4**k for k in range(1, users)))

    return (
        f"That the spread of one user vanishes as K grows needs users of like spreads: with variances 4^k the gap of "
        f"standard deviations is {gap(5):.4g} for 5 users and {gap(20):.4g} for 20."
    )
