"""How much a question may raise what is spent, under the beliefs and against anybody, and the least noise for that.

A question takes as large a part of the cap, at most, as its epsilon is of the budget: who shares out the budget shares
out the cap, and no question that the beliefs make cheap leaves nothing to those after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

from fugu.errors import BadBudget, BudgetExceeded
from fugu.guarantee import Pure
from fugu.guarantee.numbers import exact, plain
from fugu.guarantee.promises import both
from fugu.queries.asking import Plan
from fugu.queries.features import Feature
from fugu.queries.least_noise import Search
from fugu.queries.noised import Noised
from fugu.queries.pricing import Pricing, Types
from fugu.queries.table_belief import Asked
from fugu.session.books import Books, exceeded, people_elsewhere
from fugu.translation.records.charges import RecordCharge

_TENTH = Fraction(1, 10)


@final
@dataclass(frozen=True, eq=False)
class Room:
    """What was asked so far, and how far all of it may go together with new questions.

    Under the beliefs from `before` to `target`, of `budget`; against anybody, as sums of own epsilons, from `summed` to
    `top`, of `cap`. `silent`: numbers may go out although their noise is mostly 0."""

    asked: Asked
    pricing: Pricing
    types: Types
    before: Fraction
    target: Fraction
    budget: Pure
    summed: Fraction
    top: Fraction
    cap: Fraction
    silent: bool
    told: str
    """What a refusal says of people who are in other tables too."""

    def most(self, plan: Plan) -> Fraction:
        """The largest epsilon of its own that a question may have."""
        return self.cap if self.silent or plan.noisy is None else min(plan.noisy, self.cap)

    def own(self, plan: Plan, scale: Fraction, share: Fraction) -> Fraction:
        """What a question has of its own at a scale."""
        return min(scale * share, self.most(plan))

    def search(
        self, plans: Sequence[tuple[Plan, Fraction]], beside: Sequence[Noised] = (), guess: Fraction | None = None
    ) -> Search:
        """The search for the largest scale at which each plan has its `own` epsilon; `guess`: one about right."""

        def new(scale: Fraction, modelled: Mapping[str, Feature]) -> tuple[RecordCharge, ...]:
            return tuple(c for plan, share in plans for c in plan.charges(self.own(plan, scale, share), modelled))

        features = tuple(feature for plan, _ in plans for feature in plan.features)
        asked, limits = self.asked.beside(beside), [(share, self.most(plan)) for plan, share in plans]
        return Search(
            self.pricing, asked.questions, self.types, features, new, self.before, self.target, self.top,
            partial(filled, limits), asked.apart, guess,
        )  # fmt: skip

    def worth(self, questions: Sequence[Noised]) -> Fraction:
        """What these questions and all before them are worth."""
        asked = self.asked.beside(questions)
        return self.pricing.worth(asked.questions, self.types, asked.apart).spent

    def refusal(self, what: str) -> BudgetExceeded:
        """That no noise fits."""
        asked = Pure(plain(self.target - self.before))
        return BudgetExceeded(
            f"nothing is left for {what}: spent {both(self.before, self.summed)}, and no noise keeps it within "
            f"{both(self.target, self.top)}. Allow it a larger epsilon, open the session with a larger budget or cap, "
            f"or repeat an earlier question, which costs nothing{self.told}",
            spent=Pure(plain(self.before)),
            asked=asked,
            left=Pure(plain(max(exact(self.budget.epsilon) - self.before, Fraction(0)))),
            budget=self.budget,
        )


def filled(limits: Sequence[tuple[Fraction, Fraction]], amount: Fraction) -> Fraction:
    """The largest scale e with sum of min(e share, most) <= amount, of (share, most); e where all reach their most.

    >>> one, two = (Fraction(1), Fraction(1)), (Fraction(1), Fraction(9))
    >>> filled([one, two], Fraction(1)), filled([one, two], Fraction(6)), filled([one, two], Fraction(20))
    (Fraction(1, 2), Fraction(5, 1), Fraction(9, 1))
    """
    fixed, free, scale = Fraction(0), sum((share for share, _ in limits), Fraction(0)), Fraction(0)
    for share, most in sorted(limits, key=lambda pair: pair[1] / pair[0]):
        scale = (amount - fixed) / free
        if scale <= most / share:
            return max(scale, Fraction(0))
        fixed, free, scale = fixed + most, free - share, most / share
    return scale


def room_for(
    books: Books, by: Sequence[str], epsilon: Fraction | None = None, whole: bool = False, silent: bool = False
) -> Room:
    """How far new questions by these columns may go; `BudgetExceeded` where the budget does not allow `epsilon`.

    `epsilon`: None is a tenth of the budget, or with `whole` all of it, but no more than is left. A column that is
    asked by for the first time is public from now on: earlier questions are first priced anew for those who know it.
    `silent`: as in `Room`."""
    if epsilon is not None and epsilon <= 0:
        raise BadBudget("a question costs something, so its epsilon is a number above 0")
    belief, allowed = books.belief, exact(books.budget.epsilon)
    asked = belief.read(books.charges())
    then = asked.beside(public=by)
    spent, known = belief.worth(asked).spent, belief.worth(then)
    before, summed = max(spent, known.spent), known.any_belief
    if epsilon is None:
        more = max(allowed - before, Fraction(0))
        target = before + (more if whole else min(more, allowed * _TENTH))
    else:
        target = spent + epsilon
    if spent > allowed or (target > allowed and epsilon is not None):
        raise exceeded(books, spent, epsilon or Fraction(0), target)
    if before > target or before > allowed:
        raise _public(spent, before, epsilon, books.budget)
    pricing, types = belief.pricing(then.by), belief.groups.types(then.by)
    everything = whole if epsilon is None else target == allowed
    part = Fraction(1) if everything else _TENTH if epsilon is None else epsilon / allowed
    top = min(books.cap, summed + part * books.cap)
    return Room(
        asked, pricing, types, before, min(target, allowed), books.budget, summed, top, books.cap, silent,
        people_elsewhere(books),
    )  # fmt: skip


def groups_of(plans: Sequence[Plan]) -> list[str]:
    """The columns that plans are asked by."""
    return [plan.question.by for plan in plans if plan.question.by is not None]


def least_noise(books: Books, plan: Plan, epsilon: Fraction | None, silent: bool = False) -> list[Noised]:
    """The question with the least noise, group by group, that raises what is spent by at most epsilon."""
    room = room_for(books, groups_of([plan]), epsilon, silent=silent)
    search = room.search([(plan, Fraction(1))])
    by = plan.question.by
    scales = {"": search.everywhere()} if by is None else search.by_group(by)
    if not all(scales.values()):
        raise room.refusal(str(plan.question))
    return [plan.noised(scales)]


def _public(spent: Fraction, before: Fraction, epsilon: Fraction | None, budget: Pure) -> BudgetExceeded:
    """That earlier answers are worth too much for those who know the groups of a new column."""
    needed = float(before - spent)
    allowance = "the budget" if epsilon is None else f"epsilon {float(epsilon):g}"
    return BudgetExceeded(
        f"this question makes a column public, and for those who know it the earlier answers alone are worth "
        f"{float(before):.6g} in place of {float(spent):.6g}: {needed:.6g} more, which {allowance} does not allow. Say "
        "what is public when a session is opened, public=[...]: then no answer is worth more than it should be",
        spent=Pure(plain(spent)),
        asked=Pure(plain(before - spent)),
        left=Pure(plain(max(exact(budget.epsilon) - spent, Fraction(0)))),
        budget=budget,
    )
