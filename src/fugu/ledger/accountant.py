"""What several releases of the same data promise together: compose first, translate once, refuse what does not add
up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fugu.errors import BudgetExceeded, NotComposable, NotProvable, UsageError
from fugu.guarantee import ZCDP, Approx, Composed, Guarantee, Pure, RenyiCurve, compose, independent, is_guarantee
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import fits, promise
from fugu.ledger.charge import LAW, Charge, at, canonical, orders_of
from fugu.ledger.charge import left as left_of
from fugu.numbers.exact import Real, meant_up
from fugu.priors.prior import Recorded, Together

if TYPE_CHECKING:
    from fugu.guarantee.pairs import LossPair

# - Charges for each entry add: epsilons, deltas, Rényi divergences order by order. The sum is translated once with the
#   prior of the data. Adding translated epsilons instead would not be sound under the best rule
#   (docs/proofs/composition.md#compose-first). A prior that knows what each release reads of an entry (`Together`) adds
#   and translates by itself, all charges at once.
# - One law-based release stands alone. Law-based releases of blocks that are independent given every secret multiply as
#   laws, and so do point masses: the published values are functions of the secret, so only the coins are left, and the
#   epsilons add. Every other second law-based release is refused: s XOR r and r leak nothing alone and all together.
# - A law-based release (e1, d1) beside an (e, d) for each of n entries: (e1 + n e, d1 + d (e^{ne} - 1) / (e^e - 1)).
#   Any two tables differ in at most n entries, so given the law-based output the rest is (n e, ...)-close, whatever the
#   law of the table. It is tight: the XOR pair reaches it
#   (docs/proofs/composition.md#one-law-based-release-beside-per-entry-ones).
#
# Parameters that were chosen after looking at earlier answers are covered where a theorem says so (`_adaptive`,
# docs/proofs/composition.md#adaptive-choices).
#
# Proofs: docs/proofs/composition.md#the-xor-pair, docs/proofs/composition.md#independent-data and
# docs/proofs/composition.md#point-masses.


_SECOND_LAW = (
    "a second law-based release of the same data: two releases that leak nothing alone can reveal everything together",
    (
        "calibrate one mechanism for the joint law of both values, release from independent data (block=), or use "
        "mechanisms that are private for each entry (PerEntryDP), whose charges add"
    ),
)
_ADAPTIVE = (
    (
        "the parameters of these releases might have been chosen after looking at earlier answers, and no theorem "
        "covers that for this mix of guarantees"
    ),
    "say planned=True in every request if all of them were fixed beforehand, or use pure epsilons for each entry",
)
_UNPLANNED = (
    "the first requests were planned, and what those may cost together leaves no room for one that was not",
    "say planned=True in every request of this data set, or in none",
)
_NOT_ANSWERS = "if what was charged did not depend on answers"


@dataclass(frozen=True)
class Terms:
    """What a data set was registered with: its budget, its prior (None: independent entries), how many entries.

    `cap`: the most epsilon that all its releases together may have against anybody; None for no cap. `told`: what was
    granted is stated, whatever was planned, and held against nothing."""

    budget: Guarantee
    prior: Any = None
    entries: int | None = None
    cap: Fraction | None = None
    told: bool = False
    worth: dict[Guarantee, Guarantee] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What sums for each entry are worth under the prior, as far as it was asked."""

    def __post_init__(self) -> None:
        if self.entries is not None and self.entries < (least := getattr(self.prior, "entries", None) or 0):
            raise UsageError(f"entries is {self.entries}, but the prior speaks of {least} entries")
        if self.tied:
            from fugu.translation.translate import check_widths, refused

            check_widths(self.prior)
            if self.budget.pure or not (self.budget.renyi or self.budget.delta):  # no release can be held against it
                raise refused(self.prior)

    @cached_property
    def to_tell(self) -> Terms:
        """The same for statements: what was granted is granted."""
        terms = replace(self, told=True)
        object.__setattr__(terms, "worth", self.worth)
        return terms

    @cached_property
    def tied(self) -> bool:
        """Whether the prior is a Gaussian field, or has one among several."""
        from fugu.translation.translate import has_field

        return self.prior is not None and not isinstance(self.prior, Together) and has_field(self.prior)


@dataclass(frozen=True)
class Charges:
    """Equal charges: how many, when the first was made, and whether all were fixed beforehand."""

    charge: Charge
    count: int = 1
    first: int = 0
    planned: bool = False


def by_records(prior: Any) -> bool:
    """Whether a prior is about independent records, each charged by itself: what is charged to a record elsewhere then
    adds on top (docs/proofs/composition.md#one-person-in-several-tables)."""
    return isinstance(prior, Recorded | Together)


def total(charges: Iterable[Charges], terms: Terms) -> Guarantee:
    """A guarantee that holds for all charged releases together, or `NotComposable`.

    >>> tenth = Charges(Charge.per_entry(0.1), count=10)
    >>> total([tenth], Terms(Pure(1)))
    Pure(epsilon=1)
    """
    listed = [c for c in charges if c.count]
    laws = [c for c in listed if c.charge.kind == LAW]
    entries = [c for c in listed if c.charge.kind != LAW]
    if not listed:
        return Pure(0)
    if not (terms.told or all(c.planned for c in listed) or _adaptive(laws, entries, terms)):
        raise NotComposable(*_ADAPTIVE)
    if not laws:
        if isinstance(terms.prior, Together):
            return terms.prior.together([(c.charge.guarantee, c.charge.reads, c.count) for c in listed])
        return _least(listed, terms)
    by_law = _laws(laws)
    if len(laws) == len(listed):
        return by_law
    if terms.entries is None:
        # A prior does not say it: a chain is the belief about each user, and the data may hold many users. With x_u
        # fair and independent, (s xor x_1, ..., s xor x_m) says nothing of s, and with an epsilon for each x_u the two
        # together reach m epsilon, however short each user's chain is.
        raise NotComposable(
            "a law-based release beside releases that are private for each entry costs epsilon + n epsilon_entry, and "
            "the number n of entries is not known",
            "open the ledger with entries=n, the number of all entries of the data",
        )
    return _beside(by_law, _added(entries, None), terms.entries)


def translated(terms: Terms, spent: Guarantee) -> Guarantee:
    """What a guarantee for each entry is worth under the prior (`fugu.translate`), of the exact sums."""
    from fugu.translation.translate import translate

    if isinstance(spent, Composed):
        return translate(terms.prior, spent, delta=terms.budget.delta)
    if terms.tied:
        return _in_field(terms.prior, terms.budget, spent)
    if spent.pure:
        worth = meant_up(float(translate(terms.prior, spent.epsilon)))
        capped = isinstance(terms.prior, Recorded) and exact(worth) > exact(spent.epsilon)
        return Pure(spent.epsilon if capped else worth)  # never more than the sum, also where that is no float
    if spent.renyi:
        return _guarantee(translate(terms.prior, spent))
    asked = Approx(spent.epsilon, spent.delta)
    if not (terms.budget.pure or terms.budget.renyi):
        with suppress(NotProvable):  # no window keeps delta within the budget: then say how far it is exceeded
            return _guarantee(translate(terms.prior, asked, delta=terms.budget.delta))
    return _guarantee(translate(terms.prior, asked))


def _guarantee(found: Any) -> Guarantee:
    if not is_guarantee(found):
        raise NotProvable("the prior translates this guarantee into nothing that can be held against a budget")
    return found


def _adaptive(laws: list[Charges], entries: list[Charges], terms: Terms) -> bool:
    """Whether the sum holds even if each request was chosen after seeing the answers to those before it.

    - all pure: the ratio of probabilities is a product, output by output.
    - one request: there is nothing to look at.
    - one law-based release before all others, those pure: given its output the ratio of the rest is at most e^{ne}.
    - a budget of the language of the charges and no translation: sums of (epsilon, delta) within the budget (Rogers,
      Roth, Ullman, Vadhan 2016) and of divergences at the budget's orders (Feldman, Zrnic 2021) are privacy filters.
    - rhos under Gaussian fields: the sum is within the budget once translated iff it is within a rho for each entry
      that the budget fixes beforehand, at every order. Pure epsilons count as epsilon^2 / 2 beside them; with an
      (epsilon, delta) budget only after a first rho: sums of epsilons alone are held against another limit, and which
      of the two it is must not depend on answers (docs/proofs/fields.md#the-ledger).
    - the same for sums of (epsilon, delta) under independent records, whose columns are fixed with the belief: the sum
      is within the budget once translated iff it is within a cap for each record that the budget fixes beforehand,
      epsilon_0 = log(1 + (e^epsilon - 1) / HS) and delta / HS, and the filter spends that cap
      (docs/proofs/records.md#the-ledger). A session's belief takes the plain sums as soon as there is a delta
      (docs/proofs/composition.md#a-delta-beside-questions-of-a-session).
    """
    both = [*laws, *entries]
    if sum(c.count for c in both) == 1 or all(_pure(c) for c in both):
        return True
    if laws:
        alone = sum(c.count for c in laws) == 1 and all(laws[0].first < c.first for c in entries)
        return alone and all(_pure(c) for c in entries)
    if terms.tied and all(c.charge.guarantee.zcdp is not None for c in entries):
        return terms.budget.renyi or not _pure(min(entries, key=lambda c: c.first))
    if terms.prior is not None and not (by_records(terms.prior) and not terms.budget.renyi):
        return False
    if terms.budget.renyi:
        return all(c.charge.guarantee.renyi or _pure(c) for c in entries)
    return not terms.budget.pure and not any(
        c.charge.guarantee.renyi or math.isinf(c.charge.guarantee.epsilon) for c in entries
    )


def _least(entries: list[Charges], terms: Terms) -> Guarantee:
    """The plain sums, translated with the prior, where the budget allows them; else, if all charges were fixed
    beforehand and the budget has a delta, the law of all losses at that delta, translated as a whole.

    What is charged must be fixed, not what is asked: each answer's losses are dominated by the law of its charge,
    whatever came before (docs/proofs/loss-laws.md#composition). A request that was not planned is refused after planned
    ones, since sums with deltas and the law are two limits, and which of them it is must not depend on answers
    (docs/proofs/composition.md#adaptive-choices)."""
    budget, planned = terms.budget, all(c.planned for c in entries)
    if budget.renyi or not budget.delta:
        return _sums(entries, terms)
    if not (planned or terms.told) and min(entries, key=lambda c: c.first).planned:
        raise NotComposable(*_UNPLANNED)
    alone = sum(c.count for c in entries) == 1 and math.isinf(entries[0].charge.guarantee.epsilon)
    if not (planned or alone):
        return _sums(entries, terms)
    sums: Guarantee | None = None
    refusal: NotProvable | None = None
    try:
        if fits(sums := _sums(entries, terms), budget):
            return sums
    except NotProvable as why:
        refusal = why
    with suppress(NotProvable):
        law = together(entries)
        if law not in terms.worth:
            priced = law.to_approx(budget.delta) if terms.prior is None else translated(terms, law)
            terms.worth[law] = priced
        if not math.isinf(terms.worth[law].epsilon):
            return terms.worth[law]
    if sums is None:
        assert refusal is not None
        raise refusal
    return sums


def _sums(entries: list[Charges], terms: Terms) -> Guarantee:
    """The sums of epsilons and deltas, or of divergences, translated with the prior if there is one."""
    if terms.prior is None:
        return _added(entries, terms.budget)
    rho = _rhos([(c.charge.guarantee, c.count) for c in entries], True) if terms.tied and terms.budget.renyi else None
    by_entry = _added(entries, None) if rho is None else ZCDP(plain(rho))
    if by_entry not in terms.worth:
        terms.worth[by_entry] = translated(terms, by_entry)
    return terms.worth[by_entry]


def at_delta(charges: Iterable[Charges], delta: Real, spent: Guarantee | None = None) -> tuple[Approx, str]:
    """The least epsilon at a delta: of the law of the losses of charges for each entry, and of what is known of them
    (`spent`); and what that takes for granted where they were not planned."""
    listed = [c for c in charges if c.count]
    known = Approx(math.inf if spent is None else spent.epsilon_at(delta), delta)
    if not listed or any(c.charge.kind == LAW for c in listed):
        return known, ""
    least = min(known, together(listed).to_approx(delta), key=lambda g: exact(g.epsilon))
    return least, "" if least == known or all(c.planned for c in listed) else _NOT_ANSWERS


def together(entries: Iterable[Charges]) -> Composed:
    """All charges for each entry, as one composition."""
    counts: Counter[LossPair] = Counter()
    for c in entries:
        counts.update({part: n * c.count for part, n in compose([c.charge.guarantee]).parts})
    return Composed.of(counts)


def _added(entries: list[Charges], budget: Guarantee | None) -> Guarantee:
    """Sequential composition for each entry: sums of epsilons and deltas, or of divergences at common orders.

    With a Rényi budget the divergences are added at the budget's own orders: each order is a filter by itself."""
    simple = [(c.charge.guarantee, c.count) for c in entries if not c.charge.guarantee.renyi]
    curves = [(c.charge.guarantee, c.count) for c in entries if c.charge.guarantee.renyi]
    rising = budget is not None and budget.renyi and not isinstance(budget, ZCDP)
    rho = None if rising and simple else _rhos([*simple, *curves], isinstance(budget, ZCDP))
    if rho is not None:
        return ZCDP(plain(rho))
    if not curves and (not rising or len(simple) == sum(k for _, k in simple) == 1):
        epsilon = sum((exact(g.epsilon) * k for g, k in simple), Fraction(0))
        return stated(epsilon, sum((exact(g.delta) * k for g, k in simple), Fraction(0)))
    if len(curves) == 1 and not simple and curves[0][1] == 1:
        return curves[0][0]
    if any(g.delta for g, _ in [*simple, *curves]):
        raise NotComposable(
            "a delta beside Rényi divergences: no sum of them is proved here",
            "state all charges as Approx, or all as Rényi divergences with delta 0",
        )
    orders = set(orders_of(budget)) if rising else {a for g, _ in curves for a in orders_of(g)}
    sums = {a: sum((exact(at(g, a)) * k for g, k in [*simple, *curves]), Fraction(0)) for a in orders}
    known: dict[Real, Real] = {a: plain(e) for a, e in sums.items() if e < exact(math.inf)}
    if not known:
        raise NotComposable(
            "Rényi charges without a common order", "convert the charges with to_approx, or state them at one order"
        )
    return RenyiCurve(known)


def _rhos(guarantees: list[tuple[Guarantee, int]], asked: bool) -> Fraction | None:
    """The sum of what each implies at all orders, where one of them is stated so or it is `asked`; None otherwise."""
    found = [(g.zcdp, k) for g, k in guarantees]
    if not (asked or any(isinstance(g, ZCDP) for g, _ in guarantees)) or any(rho is None for rho, _ in found):
        return None
    return sum((rho * k for rho, k in found if rho is not None), Fraction(0))


def _laws(laws: list[Charges]) -> Guarantee:
    """One law-based release, or several of independent blocks, or several about the same pairs of point masses."""
    if sum(c.count for c in laws) == 1:
        return laws[0].charge.guarantee
    blocks = [canonical(c.charge.block or "") for c in laws for _ in range(c.count)]
    apart = "" not in blocks and len(set(blocks)) == len(blocks)
    points = bool(laws[0].charge.points) and len({c.charge.points for c in laws}) == 1
    if not apart and not points:
        raise NotComposable(*_SECOND_LAW)
    return independent(*(c.charge.guarantee for c in laws for _ in range(c.count)))


def _beside(law: Guarantee, entries: Guarantee, n: int) -> Guarantee:
    """(e1 + n e, d1 + d (e^{ne} - 1) / (e^e - 1)); with pure charges for each entry, also for Rényi divergences."""
    if entries.pure:
        return independent(law, Pure(plain(n * exact(entries.epsilon))))
    if entries.renyi or law.renyi:
        raise NotComposable(
            "a law-based release beside Rényi divergences for each entry: no bound is proved here",
            "convert the charges for each entry with to_approx",
        )
    epsilon = exact(law.epsilon) + n * exact(entries.epsilon)
    from fugu.translation.beyond_pure import group_delta

    return stated(epsilon, exact(law.delta) + exact(group_delta(exact(entries.epsilon), exact(entries.delta), n)))


def stated(epsilon: Fraction, delta: Fraction) -> Guarantee:
    """Pure without a delta; a delta of 1 or more promises nothing, and neither does an epsilon that is infinite."""
    if delta >= 1 or epsilon >= exact(math.inf):
        return Pure(math.inf)
    return Approx(plain(epsilon), plain(delta)) if delta else Pure(plain(epsilon))


def _pure(counted: Charges) -> bool:
    return counted.charge.guarantee.pure


# The second sum of a ledger: what all releases promise against anybody, whatever the stated beliefs are.


def against_anybody(charges: Iterable[Charges], prior: object = None) -> Guarantee | None:
    """What all charged releases promise for each record, whatever is believed of independent records: epsilons add, and
    deltas, whichever was chosen after which answer (ordinary composition); None where one of them promises nothing.

    `prior`: one that knows what each release reads of a record (`Together`) adds them type by type.

    >>> from fugu import Approx
    >>> from fugu.ledger import Charge
    >>> against_anybody([Charges(Charge.per_entry(0.1), count=10), Charges(Charge.per_entry(Approx(1, 1e-6)))])
    Approx(epsilon=2, delta=1e-06)
    """
    listed = [c for c in charges if c.count]
    plain_ones = all(_pure(c) and c.charge.kind != LAW and c.charge.anybody == exact(c.charge.guarantee.epsilon)
                     for c in listed)  # fmt: skip
    if isinstance(prior, Together) and plain_ones:  # which promise their own epsilon to anybody, and no more
        return prior.anybody([(c.charge.guarantee, c.charge.reads, c.count) for c in listed])
    epsilon = delta = Fraction(0)
    for c in listed:
        if c.charge.anybody is None:
            return None
        epsilon += c.count * (c.charge.anybody or 0)
        delta += 0 if c.charge.kind == LAW else c.count * exact(c.charge.guarantee.delta)
    return stated(epsilon, delta)


def _in_field(prior: Any, budget: Guarantee, spent: Guarantee) -> Guarantee:
    """Under a Gaussian field: pure epsilons and deltas as an (epsilon, delta) where the budget has a delta, else, like
    divergences, in the Rényi sense, a pure epsilon as epsilon^2 / 2 (docs/proofs/fields.md#the-ledger)."""
    from fugu.translation.translate import translate

    if spent.renyi:
        return translate(prior, spent)
    found: list[Guarantee] = []
    if not budget.renyi:
        with suppress(NotProvable):
            found.append(translate(prior, Approx(spent.epsilon, spent.delta), delta=budget.delta))
    if (rho := spent.zcdp) is not None:
        curved = translate(prior, ZCDP(plain(rho)))
        found.append(curved if budget.renyi else curved.to_approx(budget.delta))
    if not found:
        raise NotComposable(
            "an (epsilon, delta) for each entry under a Gaussian field has no bound within this budget",
            "use mechanisms with a ZCDP guarantee for each entry, or a budget with a larger delta",
        )
    return min(found, key=lambda g: exact(g.epsilon)) if len(found) > 1 else found[0]


# Why a charge is refused: which of the two promises of a data set would break, and by how much.
#
# The first promise is the budget, against those who hold the stated beliefs; the second the cap, against anybody. A
# refusal names data sets, never who is in them or how many.


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
        f"the budget of data set {data!r} does not allow this: spent {spent!r}, asked {promise(charge.guarantee)} "
        f"({charge.kind}), left {left!r} of {budget!r}; together they would be{by} {after!r}. {ADVICE}",
        spent=spent, asked=charge.guarantee, left=left, budget=budget,
    )  # fmt: skip


def over_cap(
    data: str, before: Sequence[Charges], new: Charges, cap: Fraction | None, prior: object = None
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
