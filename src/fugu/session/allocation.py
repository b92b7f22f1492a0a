"""How several questions share budget and cap, how much one may raise what is spent, and the least noise for that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import final

import numpy as np

from fugu.errors import BudgetExceeded, UsageError
from fugu.guarantee import Pure
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import both
from fugu.numbers.exact import Real, as_fraction, number
from fugu.progress import stage
from fugu.queries.features import Coded, SquaredFeature
from fugu.queries.groups import Types
from fugu.queries.record_proofs import StatedLaw
from fugu.queries.statistic import NoisedQuestion, QuestionPlan, own_of
from fugu.queries.table_belief import Charges, Pricing, TableHistory, envelope
from fugu.session.books import SessionBooks, exceeded, people_elsewhere
from fugu.translation.records.flow import FRESH
from fugu.translation.records.plan import EXACT, FEW, NEAR, Nearness
from fugu.translation.records.pricer import largest_rate
from fugu.translation.records.problem import Floats, joined
from fugu.visible import brief

# How several questions share the budget and the cap: the least total error, by weights or by what the reference shows.
#
# With errors c_j / e_j of own epsilons e_j the least sum of c_j / e_j is looked for, under T(e) <= target (the price of
# all together), sum e_j <= top (against anybody) and e_j <= m_j (no number goes out without noise). At a point with
# slopes T_j of the price the best e_j are min(m_j, sqrt(c_j / (lam T_j + mu))) (Lagrange), lam and mu such that price
# and sum are within what they may be; then the largest scale at which the price is proved, and slopes are taken anew.
# The set of what is allowed is not convex, so this is a local optimum (docs/proofs/metric-charges.md#two-budgets): no
# point is taken that is worse than shares in proportion, with which it begins. All of it is worked out on the
# reference.


ERROR = "error"
_ROUNDS, _WORTHWHILE = 6, 2e-3
"""Rounds of new slopes, and the part of the error that a round must save for another one."""
_PRICES, _TURNS, _NOTHING = 20, 60, 1e-30
"""The dearest laws and pairs whose slopes are looked at; turns of multipliers."""
_FAR, _ROUGH = 0.8, 0.02
"""Of many states, prices below this part of what they may be hold nothing back; others are known to this part."""
_FLOOR = 1e-2
"""By errors alone no question has less than this part of the largest share."""


def allotted(
    books: SessionBooks,
    plans: Sequence[QuestionPlan],
    epsilon: Fraction | None,
    weights: Sequence[Real] | str | None,
    public: Sequence[str] = (),
    silent: bool = False,
) -> list[NoisedQuestion]:
    """The noise of all questions, which together raise what is spent by at most epsilon: whatever order they are in.

    `public`: columns that become public with them, besides those they are asked by. `silent`: as in `Room`."""
    weighed = read_weights(weights, len(plans))
    order = sorted(range(len(plans)), key=lambda k: (plans[k].key, weighed and weighed[k]))
    plans, shares = [plans[k] for k in order], weighed and [weighed[k] for k in order]
    by = [plan.question.by for plan in plans if plan.question.by is not None]
    room = room_for(books, [*by, *public], epsilon, whole=True, silent=silent)
    if shares is None:
        roots = np.sqrt([relative_error(books, room, plan) for plan in plans])
        shares = _short(np.maximum(roots, _FLOOR * roots.max()))
    own = _least_error(room, plans, shares)
    if own is None:
        raise room.refusal("these questions together")
    found = [_everywhere(room, plan, e) for plan, e in zip(plans, own, strict=True)]
    grouped = [j for j in _cheapest(room, plans, own) if plans[j].question.by is not None]
    for j in grouped:  # groups that allow less noise than the worst one get less, question by question
        plan, beside = plans[j], [*found[:j], *found[j + 1 :]]
        scales = room.scales([(plan, Fraction(1))], plan.question.by, beside, own[j])
        found[j] = plan.noised({g: max(scales[g], found[j].own(g)) for g in found[j].rates})
    asked = [asked for _, asked in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]
    return room.proved([plans[order.index(k)] for k in range(len(plans))], asked, "these questions together")


def read_weights(weights: Sequence[Real] | str | None, questions: int) -> list[Fraction] | None:
    """Shares that sum to the number of questions; None for the least error. `weights`: as in `Session.ask_all`."""
    if weights is None:
        return [Fraction(1)] * questions
    if isinstance(weights, str):
        if weights != ERROR:
            raise UsageError(f'weights is a list of positive numbers, or "error", got {weights!r}')
        return None
    if not isinstance(weights, Iterable) or isinstance(weights, Mapping):
        raise UsageError(f'weights is a list of positive numbers, or "error", got {brief(weights)}')
    found = [number(weight, "a weight") for weight in weights]
    if len(found) != questions or any(weight <= 0 for weight in found):
        raise UsageError(f"weights needs a number above 0 for each of the {questions} questions, got {len(found)}")
    return [weight * questions / sum(found) for weight in found]


def _everywhere(room: Room, plan: QuestionPlan, epsilon: Fraction) -> NoisedQuestion:
    """The question with the same epsilon in all its groups."""
    return plan.noised(dict.fromkeys(_names(room, plan), epsilon))


def _names(room: Room, plan: QuestionPlan) -> list[str]:
    """The groups of a question, each once."""
    by = plan.question.by
    return [""] if by is None else list(dict.fromkeys(g[room.types.by.index(by)] for g in room.types.groups))


def _least_error(room: Room, plans: Sequence[QuestionPlan], shares: Sequence[Fraction]) -> list[Fraction] | None:
    """The own epsilons of the least sum of share^2 / epsilon that is found; None where nothing fits.

    Where all questions cost alike, and no bound but one holds them back, that is epsilons in proportion to shares."""
    costs = np.maximum(np.array([float(share) for share in shares]) ** 2, _NOTHING)

    def error(own: Sequence[Fraction]) -> float:
        return math.fsum(cost / float(e) for cost, e in zip(costs, own, strict=True))

    limits = np.array([float(room.most(plan)) for plan in plans])
    best = _largest(room, plans, shares)
    for _ in range(_ROUNDS if best is not None and len(plans) > 1 else 0):
        assert best is not None
        now, least = np.array([float(e) for e in best]), error(best)
        wanted = lagrange(costs, *_tangents(room, plans, best), limits)
        if math.fsum(costs / wanted) >= least * (1 - _WORTHWHILE):
            break
        for aim in (wanted, np.sqrt(wanted * now)):
            own = _largest(room, plans, _short(aim), Fraction(1))
            if own is not None and error(own) < least:
                best = own
                break
        if error(best) >= least * (1 - _WORTHWHILE):
            break
    return best


def _largest(
    room: Room, plans: Sequence[QuestionPlan], shares: Sequence[Fraction], guess: Fraction | None = None
) -> list[Fraction] | None:
    """Own epsilons in these proportions, as large as both budgets allow; None where nothing fits."""
    scale = room.scales(list(zip(plans, shares, strict=True)), guess=guess)[""]
    return [room.own(plan, scale, share) for plan, share in zip(plans, shares, strict=True)] if scale else None


def _short(numbers: Floats) -> list[Fraction]:
    """Six digits of each."""
    return [as_fraction(float(f"{x:.6g}")) for x in numbers]


def _cheapest(room: Room, plans: Sequence[QuestionPlan], own: Sequence[Fraction]) -> list[int]:
    """The places of questions, those first for which the price rises least with their own epsilon, in proportion."""
    if len(plans) == 1:
        return [0]
    rows, _ = _tangents(room, plans, own)
    rises = rows[:-1].max(axis=0, initial=0.0) * np.array([float(e) for e in own])
    return sorted(range(len(plans)), key=lambda j: round(float(rises[j]), 9))


def _tangents(room: Room, plans: Sequence[QuestionPlan], own: Sequence[Fraction]) -> tuple[Floats, Floats]:
    """What bounds own epsilons e near these ones: rows @ e <= bounds; the last row is the cap."""
    asked = room.asked.beside([_everywhere(room, plan, e) for plan, e in zip(plans, own, strict=True)])
    features = room.pricing.modelled(asked.questions)
    limits = Nearness(_FAR * float(room.target), _ROUGH * float(room.target))
    found = room.pricing.tangents(asked.questions, room.types, asked.apart, limits)
    prices = sorted(found, key=lambda price: price[0], reverse=True)
    units = [{c.shape: float(c.unit) for c in plan.charges(Fraction(1), features)} for plan in plans]
    rows = [[math.fsum(known.get(key, 0.0) * each for key, each in unit.items()) for unit in units]
            for _, known in prices[:_PRICES]]  # fmt: skip
    here = np.array([float(e) for e in own])
    bounds = [
        float(room.target) - value + float(np.dot(row, here)) for row, (value, _) in zip(rows, prices, strict=False)
    ]
    return np.array([*rows, [1.0] * len(plans)]), np.array([*bounds, float(room.top - room.summed)])


def lagrange(costs: Floats, rows: Floats, bounds: Floats, limits: Floats) -> Floats:
    """The e with the least sum of costs / e under rows @ e <= bounds and e <= limits; no entry of rows is negative.

    e = min(limit, sqrt(cost / multipliers @ rows)), with one multiplier for each row: in turn, each is the least one
    that keeps its own row, which raises the concave dual function at every step.

    >>> one = np.ones(2)
    >>> lagrange(one, np.array([[1, 1]]), np.array([1]), 9 * one).round(6).tolist()
    [0.5, 0.5]
    >>> lagrange(np.array([1, 4]), np.array([[0, 0], [1, 1]]), np.array([1, 3]), 9 * one).round(6).tolist()
    [1.0, 2.0]
    """
    multipliers = np.zeros(len(rows))

    def at(k: int, multiplier: float) -> Floats:
        rest = multipliers @ rows + (multiplier - multipliers[k]) * rows[k]
        found: Floats = np.minimum(limits, np.sqrt(costs / np.maximum(rest, _NOTHING)))
        return found

    for _ in range(_TURNS):
        before = multipliers.copy()
        for k, bound in enumerate(bounds):
            low, high = math.log(_NOTHING), -math.log(_NOTHING)
            if rows[k] @ at(k, 0.0) <= bound:
                multipliers[k] = 0.0
                continue
            while high - low > 1e-9:
                middle = (low + high) / 2
                low, high = (low, middle) if rows[k] @ at(k, math.exp(middle)) <= bound else (middle, high)
            multipliers[k] = math.exp(high)
        if np.allclose(multipliers, before, rtol=1e-6, atol=0):
            break
    return at(0, float(multipliers[0]))


def relative_error(books: SessionBooks, room: Room, plan: QuestionPlan) -> float:
    """c with a relative error of about c / (own epsilon), as the reference and the public number of rows show."""
    belief, feature = books.belief, plan.features[-1]
    rows = sum(room.types.rows) / max(len(_names(room, plan)), 1)
    if not isinstance(feature, Coded | SquaredFeature) or not plan.question.facts.summed:
        return 2 * (feature.top + 1) / rows
    if not set(feature.columns) <= set(belief.table.columns):
        return feature.top / rows
    codes = plan.features[0].of(belief.reading, belief.table).astype(np.float64)
    spread = float(np.std(codes))
    if isinstance(feature, SquaredFeature):
        return float(feature.top) / float(plan.shares[-1]) / rows / max(spread**2, 1e-3)
    low = float(feature.low / feature.step)
    return feature.top / rows / max(abs(low + float(codes.mean())), spread, 1e-3)


# How much a question may raise what is spent, under the beliefs and against anybody, and the least noise for that.
#
# A question takes as large a part of the cap, at most, as its epsilon is of the budget: who shares out the budget
# shares out the cap, and no question that the beliefs make cheap leaves nothing to those after it.
#
# The price rises with the question's own epsilon e, and by at most e, so a bracketed search finds the largest one. It
# runs on prices that are proved, so whatever it returns is (docs/proofs/metric-charges.md#what-a-new-charge-costs). The
# sum of a record's epsilons rises by e itself, so the cap is a largest e (docs/proofs/metric-charges.md#two-budgets).


_TENTH = Fraction(1, 10)
LEAST_OWN = Fraction(1, 10**6)
"""Below this an answer would be noise."""
_DIGITS = 9
_MANY = 64
_AHEAD = (4, 8)
"""How many times more than what surely fits is tried first, of few states and of many, where each trial takes long."""
_NEAREST = 1e-9
_STEP = Fraction(1, 10**6)


@final
@dataclass(frozen=True, eq=False)
class Room:
    """What was asked so far, and how far all of it may go together with new questions.

    Under the beliefs from `before` to `target`, of `budget`; against anybody, as sums of own epsilons, from `summed` to
    `top`, of `cap`. `silent`: numbers may go out although their noise is mostly 0."""

    asked: TableHistory
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

    def most(self, plan: QuestionPlan) -> Fraction:
        """The largest epsilon of its own that a question may have."""
        return self.cap if self.silent or plan.noisy is None else min(plan.noisy, self.cap)

    def own(self, plan: QuestionPlan, scale: Fraction, share: Fraction) -> Fraction:
        """What a question has of its own at a scale."""
        return min(scale * share, self.most(plan))

    def scales(
        self,
        plans: Sequence[tuple[QuestionPlan, Fraction]],
        by: str | None = None,
        beside: Sequence[NoisedQuestion] = (),
        guess: Fraction | None = None,
    ) -> dict[str, Fraction]:
        """For each group of the column `by` ("" for None) the largest scale that its types of records allow.

        At a scale each of `plans` has its `own` epsilon by its share, and all of them, what was asked before and
        `beside` stay within `target` and `top`. `guess`: a scale that is about right, which is tried first."""
        asked, limits = self.asked.beside(beside), [(share, self.most(plan)) for plan, share in plans]
        filling, place = partial(filled, limits), None if by is None else self.types.by.index(by)
        modelled = self.pricing.modelled(asked.questions) | {
            f.name: f for plan, _ in plans for f in plan.features if self.pricing.laws.models(f)
        }

        def new(scale: Fraction) -> Charges:
            return tuple(c for plan, share in plans for c in plan.charges(self.own(plan, scale, share), modelled))

        scales: dict[str, Fraction] = {}
        wanted: dict[int, tuple[StatedLaw, dict[Charges, set[str]]]] = {}
        for groups, _, base in self.pricing.charged(asked.questions, self.types, modelled, asked.apart):
            group = "" if place is None else groups[place]
            most = down(filling(self.top - own_of(base)))
            scales[group] = min(scales.get(group, most), most)
            laws = self.pricing.laws_of(self.types, groups, (*base, *new(Fraction(1))), modelled)
            if laws is None:
                scales[group] = min(scales[group], down(filling(self.target - own_of(base))))  # epsilons add
                continue
            for _, law in laws:
                wanted.setdefault(id(law), (law, {}))[1].setdefault(base, set()).add(group)
        sure = Fraction(0) if beside else filling(self.target - self.before)  # what is beside them may take all of it
        for law, bases in sorted(wanted.values(), key=lambda each: max(each[0].size, EXACT)):  # many states come last
            many = len(bases) > _MANY  # then one set of charges that covers them all
            each = {envelope(list(bases)): set().union(*bases.values())} if many else bases
            for base, groups_of in each.items():
                needed = max((scales[group] for group in groups_of), default=Fraction(0))
                found = self._scale(law, base, new, sure, needed, guess)
                for group in groups_of:
                    scales[group] = min(scales[group], found)
        return scales or {"": Fraction(0)}

    def _scale(
        self, law: StatedLaw, base: Charges, new: Callable[[Fraction], Charges], sure: Fraction, most: Fraction,
        guess: Fraction | None,
    ) -> Fraction:  # fmt: skip
        """The largest scale of at most `most` that this law allows, every ordered pair of secrets proved at it.

        `new`: the charges of the new questions at a scale; `sure`: one at which their own epsilons add up to at most
        target - before, which always fits as far as prices are the best ones."""
        if most < LEAST_OWN:
            return Fraction(0)
        alone = not base and len(joined(new(most))) == 1
        states, many = 1 if alone else law.size, law.size > FRESH and not alone
        finest = 2e-8 if states <= FRESH else 2e-4 if states <= 400 else 2e-3 if states <= FEW else 1e-2
        if states > FEW:  # each price takes long
            stage(f"prices of {states:,} different records; a larger step has fewer")
        near = finest * float((self.target - self.before) / self.target)

        def cost(pair: tuple[str, str], top: Fraction, scale: Fraction) -> tuple[Fraction, float]:
            charges = joined((*base, *new(scale)))
            # of many states: at the top only whether it fits, and elsewhere how far it is from that
            limits = Nearness(float(self.target) if scale == top else None, target=float(self.target)) if many else NEAR
            about = self.pricing.estimate(law, charges, pair, limits)
            # how much of each charge a unit of scale adds; charges that have reached their largest add nothing
            before = {charge.shape: charge.unit for charge in joined(new(scale))}
            growth = {c.shape: (c.unit - before.get(c.shape, 0)) / scale for c in joined(new(scale * (1 + _STEP)))}
            slope = sum(about.slopes.get(key, 0.0) * float(more / _STEP) for key, more in growth.items())
            return min(as_fraction(about.high), own_of(charges)), slope

        scale = most
        for turn, pair in enumerate(permutations(law.given, 2)):
            known = law, joined((*base, *new(scale))), pair, Nearness(float(self.target)), True
            if many and self.pricing.estimate(*known).high <= self.target:
                continue
            first = None
            if turn == 0 and guess is not None and guess < scale:
                first = guess
            elif turn == 0 and 0 < sure < scale / (ahead := _AHEAD[many]):
                first = ahead * sure
            scale = largest_rate(partial(cost, pair, scale), self.target, sure, scale, max(near, _NEAREST), first)
        scale = down(scale)
        return scale if scale >= LEAST_OWN else Fraction(0)

    def proved(self, plans: Sequence[QuestionPlan], found: list[NoisedQuestion], what: str) -> list[NoisedQuestion]:
        """These questions, with as much more noise as it takes until what all are worth is proved to be within target.

        Searches are in doubles; only this says that the noise suffices."""
        less = Fraction(1, 10**9)
        while True:
            asked = self.asked.beside(found)
            if self.pricing.worth(asked.questions, self.types, asked.apart).spent <= self.target:
                return found
            found = [
                plan.noised({group: down(one.own(group) * (1 - less)) for group in one.rates})
                for plan, one in zip(plans, found, strict=True)
            ]
            if any(one.own(group) < LEAST_OWN for one in found for group in one.rates):
                raise self.refusal(what)
            less = min(4 * less, Fraction(1, 2))

    def refusal(self, what: str) -> BudgetExceeded:
        """That no noise fits."""
        asked = Pure(plain(self.target - self.before))
        advice = "Allow it a larger epsilon, open the session with a larger budget or cap"
        if self.top - self.summed < self.top / 1_000_000:
            advice = "The cap, which the first answer fixed, is spent: no epsilon helps. Ask another table"
        return BudgetExceeded(
            f"nothing is left for {what}: spent {both(self.before, self.summed)}, and no noise keeps it within "
            f"{both(self.target, self.top)}. {advice}, or repeat an earlier question, which costs nothing{self.told}",
            spent=Pure(plain(self.before)),
            asked=asked,
            left=Pure(plain(max(exact(self.budget.epsilon) - self.before, Fraction(0)))),
            budget=self.budget,
        )


def down(x: Fraction) -> Fraction:
    """The largest decimal with nine digits that is at most x.

    >>> down(Fraction(2, 3)), down(Fraction(1, 10))
    (Fraction(333333333, 500000000), Fraction(1, 10))
    """
    if x <= 0:
        return Fraction(0)
    unit = Fraction(10) ** (math.floor(math.log10(x)) - _DIGITS + 1)
    return math.floor(x / unit) * unit


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
    books: SessionBooks, by: Sequence[str], epsilon: Fraction | None = None, whole: bool = False, silent: bool = False
) -> Room:
    """How far new questions by these columns may go; `BudgetExceeded` where the budget does not allow `epsilon`.

    `epsilon`: None is a tenth of the budget, or with `whole` all of it, but no more than is left. A column that is
    asked by for the first time is public from now on: earlier questions are first priced anew for those who know it.
    `silent`: as in `Room`."""
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
        needed, allowance = float(before - spent), "the budget" if epsilon is None else f"epsilon {float(epsilon):g}"
        raise BudgetExceeded(
            f"this question makes a column public, and for those who know it the earlier answers alone are worth "
            f"{float(before):.6g} in place of {float(spent):.6g}: {needed:.6g} more, which {allowance} does not allow. "
            "Say what is public when a session is opened, public=[...]: then no answer is worth more than it should be",
            spent=Pure(plain(spent)), asked=Pure(plain(before - spent)),
            left=Pure(plain(max(allowed - spent, Fraction(0)))), budget=books.budget,
        )  # fmt: skip
    pricing, types = belief.pricing(then.by), belief.groups.types(then.by)
    everything = whole if epsilon is None else target == allowed
    part = Fraction(1) if everything else _TENTH if epsilon is None else epsilon / allowed
    top = min(books.cap, summed + part * books.cap)
    return Room(
        asked, pricing, types, before, min(target, allowed), books.budget, summed, top, books.cap, silent,
        people_elsewhere(books),
    )  # fmt: skip


def least_noise(
    books: SessionBooks, plan: QuestionPlan, epsilon: Fraction | None, silent: bool = False
) -> list[NoisedQuestion]:
    """The question with the least noise, group by group, that raises what is spent by at most epsilon."""
    by = plan.question.by
    room = room_for(books, [] if by is None else [by], epsilon, silent=silent)
    scales = room.scales([(plan, Fraction(1))], by)
    if not all(scales.values()):
        raise room.refusal(str(plan.question))
    return room.proved([plan], [plan.noised(scales)], str(plan.question))
