"""Why a charge is refused: which of the two promises of a data set would break, and by how much.

The first promise is the budget, against those who hold the stated beliefs; the second the cap, against anybody. A
refusal names data sets, never who is in them or how many."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fugu.errors import BudgetExceeded
from fugu.guarantee import Guarantee, Pure
from fugu.guarantee.numbers import exact, plain
from fugu.guarantee.promises import promise
from fugu.ledger.accountant import Counted
from fugu.ledger.amounts import left as left_of
from fugu.ledger.charge import LAW, Charge
from fugu.ledger.second_sum import against_anybody

ADVICE = "Ask for less, or repeat an earlier request by its id, which costs nothing"
CAPS = "a cap on each session of the same people, before the first one is opened (cap=), bounds what it takes from all"


def for_shared(own_budget: bool) -> str:
    """What can be done where a person is in several data sets; `own_budget`: it is not that of another one."""
    larger = (
        "a data set to which nothing was charged yet can be opened with a larger budget, and " if own_budget else ""
    )
    return (
        "If these are other people, say so (other_people=, --other-people), and the certificate says it too. If not: "
        f"{larger}{CAPS}"
    )


def over_budget(
    data: str, charge: Charge, spent: Guarantee, after: Guarantee, budget: Guarantee, tied: bool
) -> BudgetExceeded:
    """The first promise would break: all charges would be `after`; `tied`: they are translated with a prior."""
    left = left_of(spent, budget)
    by = ", translated with the prior," if tied and charge.kind != LAW else ""
    return BudgetExceeded(
        f"the budget of data set {data!r} does not allow this: spent {spent!r}, asked {charge.guarantee!r} "
        f"({charge.kind}), left {left!r} of {budget!r}; together they would be{by} {after!r}. {ADVICE}",
        spent=spent, asked=charge.guarantee, left=left, budget=budget,
    )  # fmt: skip


def over_cap(
    data: str, before: Sequence[Counted], new: Counted, cap: Fraction | None, prior: object = None
) -> BudgetExceeded | None:
    """The second promise would break; None where it holds, or where the data set has no cap."""
    if cap is None:
        return None
    after = against_anybody([*before, new], prior)
    if after is not None and exact(after.epsilon) <= cap:
        return None
    spent, asked, budget = against_anybody(before, prior), against_anybody([new], prior), Pure(plain(cap))
    left = Pure(0) if spent is None else left_of(Pure(spent.epsilon), budget)
    return BudgetExceeded(
        f"the cap of data set {data!r}, the most against anybody, does not allow this: spent {promise(spent)}, asked "
        f"{promise(asked)}, left {promise(left)} of {promise(budget)}, each against anybody. {ADVICE}",
        spent=spent, asked=asked, left=left, budget=budget,
    )  # fmt: skip


def over_shared(
    own: str, named: str, data: str, asked: Guarantee | None, after: Guarantee | None, budget: Guarantee,
    against: str = "",
) -> BudgetExceeded:  # fmt: skip
    """A promise would break for somebody who is in other data sets (`named`) too: that of `data`."""
    whose = "its own" if data == own else f"that of {data!r}"
    what = "cap" if against else "budget"
    return BudgetExceeded(
        f"people of {own!r} are in {named} too, and a person has one {what}, whatever tables are called: with this, "
        f"all that was charged to somebody would be {promise(after)}{against}, above {whose}, {promise(budget)}. "
        f"{ADVICE}. {for_shared(data == own)}",
        spent=None, asked=asked, left=None, budget=budget,
    )  # fmt: skip
