"""Guarantees side by side: of independent data sets, of either of two mechanisms, in one sentence, and too weak
ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal

from fugu.errors import NotProvable, UsageError
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composed import Composed
from fugu.guarantee.curve import ZCDP, Guarantee, RenyiCurve
from fugu.guarantee.kinds import Approx, Pure, Renyi, is_guarantee
from fugu.numbers.exact import Real, as_fraction
from fugu.numbers.text import SECRET, number, shortened

Join = Callable[[list[Fraction]], Fraction]


def independent(*guarantees: Guarantee) -> Guarantee:
    """The guarantee of publishing all of several independent data sets, each with its own mechanism and coins, when
    every one of them may change. Divergences add, and (e1, d1) with (e2, d2) gives (e1 + e2, d1 + d2 - d1 d2):
    docs/proofs/composition.md#independent-data.

    >>> independent(Approx(0.1, 0.1), Approx(0.2, 0.1))
    Approx(epsilon=0.3, delta=0.19)
    """
    return joined(
        checked(guarantees),
        lambda epsilons: sum(epsilons, Fraction(0)),
        lambda deltas: 1 - math.prod((1 - d for d in deltas), start=Fraction(1)),
    )


def checked(guarantees: Iterable[object]) -> list[Guarantee]:
    """At least one guarantee, each as the bound on every ratio that it is; UsageError for anything else."""
    found: list[Guarantee] = []
    for g in guarantees:
        if not is_guarantee(g):
            raise UsageError(f"expected a guarantee (Pure, Approx, Renyi, RenyiCurve), got {type(g).__name__}")
        found.append(g.as_ratio())
    if not found:
        raise UsageError("give at least one guarantee")
    return found


def joined(guarantees: list[Guarantee], epsilon: Join, delta: Join) -> Guarantee:
    """In the strongest language that all of them speak: pure, approximate, or Rényi at common orders."""
    total = plain(delta([exact(g.delta) for g in guarantees]))
    simple = [g for g in guarantees if not g.renyi]
    if len(simple) == len(guarantees):
        together = _total([g.epsilon for g in simple], epsilon)
        return Pure(together) if all(g.pure for g in simple) else Approx(together, total)
    if any(g.delta for g in simple):
        raise NotProvable(
            "an Approx guarantee with delta > 0 bounds no Rényi divergence; convert the others with to_approx first"
        )
    listed = {exact(a): a for g in guarantees if g.renyi for a, _ in g.orders}  # 1.1 and 11/10 are one order
    points = [(a, _total([g.divergence_at(a) for g in guarantees], epsilon)) for _, a in sorted(listed.items())]
    # the float 1.1 and Fraction(1.1) are one key but two orders: the lower one stays, with the bound at the higher
    known = {a: e for a, e in points if not math.isinf(e)}
    if not known:
        raise NotProvable("the guarantees have no order at which all of them are finite; convert with to_approx first")
    if len(known) == 1 and not any(g.several for g in guarantees):
        return Renyi(*known.popitem(), total)
    return RenyiCurve(known, total)


def _total(epsilons: list[Real], join: Join) -> Real:
    return math.inf if any(math.isinf(e) for e in epsilons) else plain(join([exact(e) for e in epsilons]))


def fits(spent: Guarantee, budget: Guarantee) -> bool:
    """Whether the budget allows this much: number by number for epsilon and delta, else by a proved conversion."""
    if spent.renyi or budget.renyi:
        return spent <= budget
    return exact(spent.epsilon) <= exact(budget.epsilon) and exact(spent.delta) <= exact(budget.delta)


def join(g: Guarantee, h: Guarantee) -> Guarantee | None:
    """The weaker of two guarantees: the larger epsilon at every order, and the larger delta; None if the orders differ.

    The order of Pure and Approx is infinite.

    >>> join(Pure(0.1), Approx(0.05, 1e-6)), join(Pure(1), Renyi(2, 1))
    (Approx(epsilon=Fraction(1, 10), delta=Fraction(1, 1000000)), None)
    """
    first, second = _orders(g), _orders(h)
    if first.keys() != second.keys():
        return None
    epsilons = {order: max(epsilon, second[order]) for order, epsilon in first.items()}
    delta = max(as_fraction(g.delta), as_fraction(h.delta))
    if len(epsilons) > 1:
        return RenyiCurve(epsilons, delta)
    ((order, epsilon),) = epsilons.items()
    if not math.isinf(order):
        return Renyi(order, epsilon, delta)
    return Approx(epsilon, delta) if delta else Pure(epsilon)


def _orders(g: Guarantee) -> dict[Real, Real]:
    """{order: epsilon} of what is stated, in exact numbers."""
    return {_exact(order): _exact(epsilon) for order, epsilon in g.orders}


def _exact(number: Real) -> Real:
    return math.inf if math.isinf(number) else as_fraction(number)


# Both promises in one sentence, in one order everywhere: against those who hold the stated beliefs, against anybody.
#
# "Anybody" holds any belief under which records are independent: the second promise is ordinary differential privacy
# for each record (docs/proofs/metric-charges.md#sessions).


REFERENCE = "the reference"
NONE = "none"
"""What is promised against anybody where no finite epsilon holds."""
ANYBODY, EACH_ENTRY = "against anybody", "for each entry against anybody to whom entries are independent"
"""What the second promise is about: records; or the entries of sequences, of which no others are independent."""
PUBLIC = "exact, as whoever asked declared that it is public"
"""What is said of a number that is exact because whoever asked has declared it to be known."""
UNCHARGED = (
    "no ledger: nothing prevents a second release of this data, and two releases that are safe alone can reveal "
    "everything together"
)
"""Said of a release that no ledger knows of."""


def both(
    believed: Guarantee | Real, anybody: Guarantee | Real | None, believes: str = REFERENCE, whom: str = ANYBODY,
    about: str = SECRET,
) -> str:  # fmt: skip
    """The two promises of a release, both rounded up; `anybody`: None or infinity where nothing is promised.

    `believes`: what the first one is about, for beliefs that do not come from a reference; `whom`: what the second one
    is about; `about`: what is secret, which is said where only some pairs look alike: it begins with `BETWEEN` then.

    >>> both(Pure(1), 5)
    'epsilon 1 against whoever believes the reference; epsilon 5 against anybody'
    >>> both(Approx(1, 1e-6), None, "the stated laws")
    'epsilon 1 and delta 1e-6 against whoever believes the stated laws; none against anybody'
    """
    which = f" {about}" if about.startswith(BETWEEN) else ""
    return f"{promise(believed)}{which} against whoever believes {believes}; {promise(anybody)} {whom}"


BETWEEN = "between "
"""How a secret in words begins of which not every two answers look alike."""
REMAINDER = 1e-6
"""The delta beside which Rényi promises are put into odds."""


def quote(
    believed: Guarantee | Real, anybody: Guarantee | Real | None, believes: str = REFERENCE, whom: str = ANYBODY,
    about: str = SECRET, unpromised: str = "no promise",
) -> tuple[str, str]:  # fmt: skip
    """The two lines that every output begins with: what is to be quoted of a release, in odds, rounded up.

    Pure: whoever holds the beliefs, posterior odds between two secrets are within e^epsilon of the prior ones. With a
    delta: P(S given one) <= e^epsilon P(S given the other) + delta for every set S of outputs. A Rényi promise is put
    as the best such pair that follows from it, at `REMAINDER`. `about`: what is secret, in words; `unpromised`: what is
    said where nothing is promised to anybody; else as in `both`.

    >>> for line in (*quote(Pure(1), 5, about="'smoker'"), *quote(Approx(1, 1e-6), None, "the stated laws")):
    ...     print(line)
    Promise: whoever believes the reference changes odds about 'smoker' by a factor of at most 2.72 (epsilon 1).
    Against anybody, whatever they believe of independent records: a factor of at most 149 (epsilon 5).
    Promise: to whoever believes the stated laws, the secret changes the chance of any output by a factor of at most \
2.72, plus 1e-6 (epsilon 1 and delta 1e-6).
    Against anybody, whatever they believe of independent records: no promise.
    >>> quote(1, None, about="between neighbouring answers about 'age'")[0]
    "Promise: whoever believes the reference changes odds between neighbouring answers about 'age' by a factor of at \
most 2.72 (epsilon 1)."
    """
    first, second = in_odds(believed), in_odds(anybody)
    odds = first is not None and "plus" not in first
    some = about.startswith(BETWEEN)
    who = f"whoever believes {believes} changes odds {'' if some else 'about '}{about} by" if odds else (
        f"to whoever believes {believes}, {'moving ' if some else ''}{about} changes the chance of any output by"
    )  # fmt: skip
    others = f"{whom[0].upper()}{whom[1:]}" + (
        ", whatever they believe of independent records" if whom == ANYBODY else ""
    )
    return f"Promise: {who} {first}." if first else "Promise: none.", f"{others}: {second or unpromised}."


def in_odds(guarantee: Guarantee | Real | None) -> str | None:
    """A promise as a factor, rounded up; None where no finite one holds."""
    said = promise(guarantee)
    if isinstance(guarantee, Guarantee) and (odds := odds_of(guarantee)) is not guarantee:
        guarantee, said = odds, f"which follows from {said}"
    epsilon = guarantee.epsilon if isinstance(guarantee, Guarantee) else guarantee
    if epsilon is None or math.isinf(epsilon):
        return None
    factor = number(math.exp(epsilon), "up") if epsilon < _LARGEST else f"e^{_up(epsilon)}"
    plus = f", plus {_up(guarantee.delta)}" if isinstance(guarantee, Guarantee) and guarantee.delta else ""
    return f"a factor of at most {factor}{plus} ({said})"


def odds_of(guarantee: Guarantee) -> Guarantee:
    """What a promise says about odds: itself, or of a Rényi promise the best (epsilon, delta) that it implies.

    Outside the events that it leaves out, with a remainder of `REMAINDER`; of a composition likewise."""
    if not isinstance(guarantee, Composed) and all(math.isinf(order) for order, _ in guarantee.orders):
        return guarantee
    left_out = as_fraction(guarantee.delta)
    return guarantee.to_approx(left_out + (1 - left_out) * as_fraction(REMAINDER))


def promise(guarantee: Guarantee | Real | None, rounding: Literal["up", "down"] = "up") -> str:
    """One promise in a few words, rounded up; what is left of a budget down.

    >>> promise(Pure(0.1)), promise(1 / 3), promise(math.inf)
    ('epsilon 0.1', 'epsilon 0.333334', 'none')
    >>> promise(Renyi(2, 0.1)), promise(ZCDP(0.5))
    ('epsilon 0.1 at the Rényi order 2', 'rho 0.5 (zCDP)')
    """
    if isinstance(guarantee, ZCDP):
        return f"rho {_six(guarantee.rho, rounding)} (zCDP)"
    if isinstance(guarantee, Composed):
        return guarantee.words
    if isinstance(guarantee, Guarantee) and not isinstance(guarantee, Pure | Approx | Renyi):
        return repr(guarantee)
    epsilon = guarantee.epsilon if isinstance(guarantee, Guarantee) else guarantee
    if epsilon is None or math.isinf(epsilon):
        return NONE
    delta = guarantee.delta if isinstance(guarantee, Guarantee) else 0
    order = f" at the Rényi order {float(guarantee.alpha):g}" if isinstance(guarantee, Renyi) else ""
    return f"epsilon {_six(epsilon, rounding)}" + (f" and delta {_six(delta, rounding)}" if delta else "") + order


def remainder(rest: Guarantee | Real, budget: Guarantee | Real) -> str:
    """What is left of a budget in words, rounded down; a millionth of it buys nothing.

    >>> remainder(Pure(2 / 3), Pure(1)), remainder(1e-7, 1)
    ('0.666666 of epsilon 1', 'nothing of epsilon 1: no other question can be asked')
    """
    least = [min(e for _, e in g.orders) if isinstance(g, Guarantee) else g for g in (rest, budget)]
    few = float(least[0]) <= 1e-6 * float(least[1])
    return f"nothing of {promise(budget)}: no other question can be asked" if few else (
        f"{promise(rest, 'down').removeprefix('epsilon ')} of {promise(budget)}"
    )  # fmt: skip


def called_exact(chance: float) -> str:
    """What is said of a number whose noise is 0 with a probability above one half.

    >>> called_exact(1.0)
    'exact: each number goes out without noise'
    """
    return "exact: each number goes out without noise" + (
        "" if chance == 1 else f" with probability {probability(chance)}"
    )


def probability(x: float) -> str:
    """A probability that must not be understated, in words: three digits of what is left to 1.

    >>> probability(0.98661), probability(1.0), probability(0.999995461)
    ('0.9867', '1', '0.99999547')
    """
    rest = shortened(Decimal(1) - Decimal(x), "down", 3)
    return f"{Decimal(1) - rest:f}" if rest else "1"


def _up(x: Real) -> str:
    return _six(x, "up")


def _six(x: Real, rounding: Literal["up", "down"]) -> str:
    """Six significant digits, not below x, or not above."""
    exact, way = as_fraction(x), ROUND_CEILING if rounding == "up" else ROUND_FLOOR
    near = Context(prec=30, rounding=way).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    short = shortened(near, rounding, 6)
    return f"{short:f}" if short == 0 or -5 < short.adjusted() < 9 else f"{short:e}".replace("e+", "e")


MOST_EPSILON, _LARGEST = 10, 700


def weaknesses(guarantee: Guarantee, rows: int | None = None) -> tuple[str, ...]:
    """Why a budget protects hardly anybody, one sentence each: epsilon > 10, or delta > 1 / rows.

    At epsilon 10 the odds of a secret may change 22,026-fold. A release that picks one of n rows at random and shows
    it whole is (0, 1 / n)-private: a larger delta allows that. Rows are at least two where their number is unknown.

    >>> from fugu.guarantee import Approx
    >>> weaknesses(Approx(1, 0.01), rows=100), len(weaknesses(Approx(12, 0.01), rows=101))
    ((), 2)
    """
    found = []
    least = min(epsilon for _, epsilon in guarantee.orders)
    if least > MOST_EPSILON:
        what = "a Rényi divergence of" if guarantee.renyi else "epsilon"
        factor = f", {math.exp(least):,.0f}-fold" if least < 30 else f" by a factor of e^{float(least):g}"
        found.append(f"{what} {float(least):g} is hardly any protection: the odds of a secret may change{factor}")
    delta = as_fraction(guarantee.delta)
    if delta * (2 if rows is None else max(1, rows)) > 1:
        many = "whatever the number of rows" if rows is None else f"a table of {rows:,} rows"
        found.append(
            f"delta {float(delta):g} is above 1/rows ({many}): showing a row in full, drawn at random, would meet it"
        )
    return tuple(found)
