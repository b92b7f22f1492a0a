"""How several questions share one epsilon: by declared weights, or by the least sum of relative errors.

Own epsilons are scale * share, and the largest scale is found at which all of them together stay within the target.
For the least error the shares are improved on the reference, never on the private table: with errors c_j / e_j and
prices that rise by T_j for each unit of e_j, the best own epsilons are as the roots of c_j / T_j (Lagrange)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fugu.errors import UsageError
from fugu.numbers.exact import Real, number
from fugu.queries.asking import Plan
from fugu.queries.features import Coded, Squared
from fugu.queries.least_noise import MOST_OWN
from fugu.queries.noised import Noised
from fugu.session.books import Books
from fugu.session.noise import Room, groups_of, room_for

ERROR = "error"
_ROUNDS = 3


def allotted(
    books: Books,
    plans: Sequence[Plan],
    epsilon: Fraction | None,
    weights: Sequence[Real] | str | None,
    public: Sequence[str] = (),
) -> list[Noised]:
    """The noise of all questions, which together raise what is spent by at most epsilon.

    `public`: columns that become public with them, besides those they are asked by."""
    shares = read_weights(weights, len(plans))
    room = room_for(books, [*groups_of(plans), *public], epsilon, whole=True)
    scale, shares = (_scaled(room, plans, shares), shares) if shares is not None else _least_error(books, room, plans)
    if not scale:
        raise room.refusal("these questions together")
    own = [min(scale * share, MOST_OWN) for share in shares]
    return _by_group(room, plans, [_everywhere(room, plan, e) for plan, e in zip(plans, own, strict=True)])


def read_weights(weights: Sequence[Real] | str | None, questions: int) -> list[Fraction] | None:
    """Shares that sum to the number of questions; None for the least error. `weights`: as in `Session.ask_all`."""
    if weights is None:
        return [Fraction(1)] * questions
    if isinstance(weights, str):
        if weights != ERROR:
            raise UsageError(f'weights is a list of positive numbers, or "error", got {weights!r}')
        return None
    found = [number(weight, "a weight") for weight in weights]
    if len(found) != questions or any(weight <= 0 for weight in found):
        raise UsageError(f"weights needs a number above 0 for each of the {questions} questions, got {len(found)}")
    return [weight * questions / sum(found) for weight in found]


def _scaled(room: Room, plans: Sequence[Plan], shares: Sequence[Fraction]) -> Fraction:
    found = room.search(list(zip(plans, shares, strict=True)))
    return found.limited(MOST_OWN / max(shares)).everywhere()


def _everywhere(room: Room, plan: Plan, epsilon: Fraction) -> Noised:
    """The question with the same epsilon in all its groups."""
    by = plan.question.by
    names = [""] if by is None else list(dict.fromkeys(g[room.types.by.index(by)] for g in room.types.groups))
    return plan.noised(dict.fromkeys(names, epsilon))


def _by_group(room: Room, plans: Sequence[Plan], found: list[Noised]) -> list[Noised]:
    """Groups that allow less noise than the worst one get less, question by question."""
    for j, plan in enumerate(plans):
        if (by := plan.question.by) is not None:
            others = [*found[:j], *found[j + 1 :]]
            scales = room.search([(plan, Fraction(1))], others).by_group(by)
            found[j] = plan.noised({g: max(scales[g], found[j].own(g)) for g in found[j].rates})
    return found


def _least_error(books: Books, room: Room, plans: Sequence[Plan]) -> tuple[Fraction, list[Fraction]]:
    """The best scale and shares that a few rounds of the Lagrange rule find, beginning with equal slopes."""
    costs = [relative_error(books, room, plan) for plan in plans]
    shares = _shares([math.sqrt(cost) for cost in costs])
    best: tuple[float, Fraction, list[Fraction]] = (math.inf, Fraction(0), shares)
    for _ in range(_ROUNDS):
        scale = _scaled(room, plans, shares)
        if not scale:
            break
        error = math.fsum(cost / float(scale * share) for cost, share in zip(costs, shares, strict=True))
        if error >= best[0]:
            break
        best = (error, scale, shares)
        slopes = _slopes(room, plans, [scale * share for share in shares])
        shares = _shares([math.sqrt(cost / slope) for cost, slope in zip(costs, slopes, strict=True)])
    return best[1], best[2]


def _shares(wanted: Sequence[float]) -> list[Fraction]:
    """These shares in proportion, none below a hundredth of the largest, as short decimals that sum to about 1 each."""
    most = max(wanted)
    kept = [max(w / most, 0.01) for w in wanted]
    mean = math.fsum(kept) / len(kept)
    return [Fraction(round(w / mean * 10_000), 10_000) for w in kept]


def _slopes(room: Room, plans: Sequence[Plan], own: Sequence[Fraction]) -> list[float]:
    """How much the price rises for each unit of each question's own epsilon; at least a thousandth."""
    found = [_everywhere(room, plan, e) for plan, e in zip(plans, own, strict=True)]
    now = room.worth(found)
    slopes = []
    for j, (plan, e) in enumerate(zip(plans, own, strict=True)):
        less = [*found[:j], _everywhere(room, plan, e * Fraction(19, 20)), *found[j + 1 :]]
        slopes.append(max(float((now - room.worth(less)) / (e / 20)), 1e-3))
    return slopes


def relative_error(books: Books, room: Room, plan: Plan) -> float:
    """c with a relative error of about c / (own epsilon), as the reference and the public number of rows show."""
    belief, feature = books.belief, plan.features[-1]
    rows = sum(room.types.rows) / max(len(set(_groups(room, plan))), 1)
    if not isinstance(feature, Coded | Squared) or plan.question.kind == "quantile":
        return 2 * (feature.top + 1) / rows
    if not set(feature.columns) <= set(belief.table.columns):
        return feature.top / rows
    codes = plan.features[0].of(belief.reading, belief.table).astype(np.float64)
    spread = float(np.std(codes))
    if isinstance(feature, Squared):
        return float(feature.top) / float(plan.shares[-1]) / rows / max(spread**2, 1e-3)
    low = float(feature.coding.low / feature.coding.step)
    return feature.top / rows / max(abs(low + float(codes.mean())), spread, 1e-3)


def _groups(room: Room, plan: Plan) -> list[str]:
    by = plan.question.by
    return [""] if by is None else [g[room.types.by.index(by)] for g in room.types.groups]
