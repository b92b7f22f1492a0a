"""What a guarantee for each entry is worth under a chain, in the language of the budget; and the least noise for it.

    budget Pure          pure noise for each entry, translated (contraction)
    budget Approx        pure noise, or lattice Gaussian noise that is (e, d) for each entry, translated to its delta
    budget Renyi         pure noise, or lattice Gaussian noise as rho-zCDP, translated at its order

Everything is composed first and translated once; a ledger and a reader translate in the same way. Of two kinds of noise
the one with the smaller expected error is taken; both are proved before they are compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Approx, Guarantee, Pure, Renyi
from fugu.guarantee.numbers import exact
from fugu.guarantee.order import pure_as_renyi
from fugu.guarantee.zcdp import Zcdp
from fugu.numbers.exact import float_down
from fugu.priors.skipped import skipped
from fugu.progress import stage
from fugu.queries.sequence_gaussian import GaussianMechanism, has_gaussian, most_rho, shift_of
from fugu.queries.sequence_prior import Chain
from fugu.queries.sequence_query import SequenceMechanism, SequenceQuery
from fugu.queries.sequence_several import Several
from fugu.translation.influence import influence
from fugu.translation.translate import translate

Entry = Pure | Approx | Zcdp
Budget = Pure | Approx | Renyi
_WINDOWS, _HALVINGS, _SHARES = 64, 14, (4, 16, 64)
_SAFE = 1 - 2.0**-40
"""Budgets for each entry are lowered by this, so that rounding at another door does not exceed what was asked."""


def worth(chain: Chain, entry: Entry, budget: Budget) -> Guarantee:
    """What `entry`, a guarantee for each entry on the full product domain, is worth under `chain`.

    `budget` says in which language: its delta, or its order. Raises `NotProvable` where no bound is known."""
    if isinstance(entry, Pure):
        return Pure(translate(chain, entry.epsilon))
    if isinstance(entry, Zcdp):
        return translate(chain, entry)
    return translate(chain, entry, delta=budget.delta)


def keeps(found: Guarantee, budget: Budget) -> bool:
    """Whether what is proved is within the budget: number by number, or by a proved conversion."""
    if found.renyi or budget.renyi:
        return found <= budget
    return exact(found.epsilon) <= exact(budget.epsilon) and exact(found.delta) <= exact(budget.delta)


def left_out(chain: Chain) -> list[str]:
    """The values that the belief gives no mass to."""
    return list(skipped(chain))


def least_noise(
    chain: Chain, budget: Budget, query: SequenceQuery, pure: Callable[[Fraction], float], noise: str = "best"
) -> SequenceMechanism | GaussianMechanism:
    """The mechanism of least expected error that keeps the budget under the chain.

    Parameters: `chain`; `budget`; `query`; `pure`: from a Pufferfish epsilon to the pure epsilon for each entry that
    keeps it; `noise`: "laplace" (any pure noise or choice), "gaussian", or "best" for the better."""
    if noise not in ("best", "laplace", "gaussian"):
        raise UsageError(f"--noise {noise}: sequences take best, laplace (pure noise and choices) or gaussian")
    if isinstance(budget, Pure):
        if noise == "gaussian":
            raise NotProvable("Gaussian noise gives no pure guarantee: give --delta or --alpha, or use laplace")
        return query.mechanism(pure(exact(budget.epsilon)))
    if isinstance(budget, Renyi) and (budget.delta or math.isinf(budget.alpha)):
        raise NotProvable("sequences take a Rényi budget of finite order without a delta; leave out --delta")
    found: list[SequenceMechanism | GaussianMechanism] = []
    if noise != "gaussian":
        found.append(query.mechanism(pure(pure_within(budget))))
    if noise == "gaussian" or (noise == "best" and has_gaussian(query)):
        stage("Gaussian noise for each entry")
        try:
            found.append(gaussian(chain, budget, query))
        except NotProvable:
            if noise == "gaussian":
                raise
    return min(found, key=lambda made: spread(made, query))


def pure_within(budget: Approx | Renyi) -> Fraction:
    """A pure epsilon that implies the budget: e itself for (e, d); at an order a the largest found with D_a <= e."""
    if isinstance(budget, Approx):
        return exact(budget.epsilon)
    low, high, alpha, wanted = Fraction(0), Fraction(1), exact(budget.alpha), exact(budget.epsilon)

    def holds(x: Fraction) -> bool:
        return exact(pure_as_renyi(x, alpha)) <= wanted

    while holds(high) and high < 700:
        low, high = high, 2 * high
    for _ in range(40):
        middle = Fraction(float((low + high) / 2))
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def gaussian(chain: Chain, budget: Approx | Renyi, query: SequenceQuery) -> GaussianMechanism:
    """The widest zCDP found for each entry whose Gaussian noise keeps the budget under the chain."""
    return _at_delta(chain, budget, query) if isinstance(budget, Approx) else _at_order(chain, budget, query)


def _at_delta(chain: Chain, budget: Approx, query: SequenceQuery) -> GaussianMechanism:
    """(e, d) for each entry: the best of windows first, by their closed form; then the largest e at a few d."""
    starts = sorted(_windows(chain, budget), key=lambda entry: most_rho(query, entry), reverse=True)[:1]
    deltas = {*(exact(entry.delta) for entry in starts), *(exact(budget.delta) / share for share in _SHARES)}
    found = [entry for delta in deltas if (entry := _largest(chain, budget, Fraction(float(delta)))) is not None]
    kept = [entry for entry in (*found, *starts) if _within(chain, entry, budget)]
    if not kept:
        raise NotProvable("no Gaussian noise for each entry is proved for this budget; use laplace, or a larger delta")
    rho, best = max(((most_rho(query, entry), entry) for entry in kept), key=lambda both: both[0])
    return GaussianMechanism(query, rho, best)


def _windows(chain: Chain, budget: Approx) -> Iterator[Approx]:
    """For b entries: e = (epsilon - a(b)) / b and d with d (e^(b e) - 1) / (e^e - 1) <= delta."""
    curve, wanted = influence(chain), exact(budget.epsilon)
    for b in (*range(1, min(curve.length, _WINDOWS) + 1), curve.length):
        a = curve(b)
        if math.isfinite(a) and Fraction(a) < wanted:
            e = float_down((wanted - Fraction(a)) / b) * _SAFE
            share = math.expm1(e) / math.expm1(b * e) if b * e < 700 else 0.0
            if (d := float(budget.delta) * share * _SAFE) > 0:
                yield Approx(e, d)


def _largest(chain: Chain, budget: Approx, delta: Fraction) -> Approx | None:
    """The largest e found with (e, delta) for each entry within the budget; None if there is none."""
    low, high = 0.0, float(budget.epsilon)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = _within(chain, Approx(middle, delta), budget)
        low, high = (middle, high) if inside else (low, middle)
    return Approx(low * _SAFE, delta) if low else None


def _within(chain: Chain, entry: Entry, budget: Budget) -> bool:
    try:
        return keeps(worth(chain, entry, budget), budget)
    except NotProvable:
        return False


def _at_order(chain: Chain, budget: Renyi, query: SequenceQuery) -> GaussianMechanism:
    """rho-zCDP for each entry: the largest rho found whose translation at the order is within the budget."""
    alpha, wanted = budget.alpha, exact(budget.epsilon)
    low, high = Fraction(0), wanted / exact(alpha)
    guess = high / chain.length**2
    while guess < high and _within(chain, Zcdp(guess, [alpha]), budget):
        low, guess = guess, 4 * guess
    high = min(guess, high)
    for _ in range(_HALVINGS // 2):
        middle = Fraction(math.sqrt(float(low * high))) if low else high / 4
        low, high = (middle, high) if _within(chain, Zcdp(middle, [alpha]), budget) else (low, middle)
    rho = Fraction(float(low) * _SAFE)
    return GaussianMechanism(query, rho, Zcdp(rho, [alpha]))


def spread(made: SequenceMechanism | GaussianMechanism, query: SequenceQuery) -> float:
    """The mean expected error of all noised numbers, each in units of what one entry moves it by; inf for choices.

    Laplace noise for an l1 distance S has a mean size S / e; Gaussian noise sigma sqrt(2 / pi), in steps."""
    parts, shares = (query.parts, query.shares) if isinstance(query, Several) else ((query,), (Fraction(1),))
    sizes = []
    for part, share in zip(parts, shares, strict=True):
        try:
            shift = shift_of(part)
        except NotProvable:
            continue  # a choice: only pure noise has it
        if isinstance(made, GaussianMechanism):
            sizes.append(math.sqrt(1 / (math.pi * float(shift.precision(made.rho * share)))))
        else:
            steps = math.isqrt(shift.square) if shift.kind == "line" else float(part.sensitivity)
            sizes.append(steps / float(made.epsilon * share))
    return math.fsum(math.log(size) for size in sizes)
