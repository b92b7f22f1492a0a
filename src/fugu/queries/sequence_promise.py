"""The price of questions about sequences: what a guarantee for each entry is worth under a chain, the least noise for
it, and what each rule allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeVar, final

from fugu.errors import NotProvable, UsageError
from fugu.guarantee import ZCDP, Approx, Guarantee, Pure, Renyi
from fugu.guarantee.asks import exact, outward
from fugu.guarantee.kinds import pure_as_renyi
from fugu.numbers.exact import Real, float_down, meant_up
from fugu.priors.chain import MarkovChain
from fugu.progress import report, stage
from fugu.queries.entry_noise import Shift, largest_rho
from fugu.queries.sequence_prior import Chain, chain_from, chain_json
from fugu.queries.sequence_query import EntryMechanism, LatticeMechanism, SequenceMechanism, SequenceQuery
from fugu.translation.beyond_pure import translate_zcdp
from fugu.translation.influence import influence, mqm_exact
from fugu.translation.translate import dp_budget, translate

# What a guarantee for each entry is worth under a chain, in the language of the budget; and the least noise for it.
#
#     budget Pure          pure noise for each entry, translated (contraction)
#     budget Approx        pure noise, or lattice Gaussian noise that is (e, d) for each entry, translated to its delta
#     budget Renyi         pure noise, or lattice Gaussian noise as rho-zCDP, translated at its order
#
# Everything is composed first and translated once; a ledger and a reader translate in the same way. Of two kinds of
# noise the one with the smaller expected error is taken; both are proved before they are compared.


Entry = Pure | Approx | ZCDP
Budget = Pure | Approx | Renyi
Noisy = TypeVar("Noisy", Approx, ZCDP)
_TURNS, _CLOSE, _SHARES, _HOPE = 9, 2e-3, (4, 16), 1.25
_SAFE = 1 - 2.0**-40
"""Budgets for each entry are lowered by this, so that rounding at another door does not exceed what was asked."""


def worth(chain: Chain, entry: Entry, budget: Budget) -> Guarantee:
    """What `entry`, a guarantee for each entry on the full product domain, is worth under `chain`.

    `budget` says in which language: its delta, or its order. Raises `NotProvable` where no bound is known."""
    if isinstance(entry, Pure):
        return Pure(translate(chain, entry.epsilon))
    if isinstance(entry, Approx):
        return translate(chain, entry, delta=budget.delta)
    if not isinstance(budget, Renyi):
        return translate_zcdp(chain, entry.rho)
    # at the budget's order, or at the listed orders around it: never below what a ledger finds
    alpha, listed = exact(budget.alpha), sorted(exact(a) for a, _ in entry.points)
    near = {
        max((a for a in listed if a <= alpha), default=alpha),
        min((a for a in listed if a >= alpha), default=alpha),
    }
    return translate_zcdp(chain, entry.rho, sorted(near))


def numbers_of(found: Guarantee, budget: Budget) -> tuple[Real, Real]:
    """(epsilon, delta) of what is proved; at the order of a Rényi budget."""
    return found.divergence_at(budget.alpha) if isinstance(budget, Renyi) else found.epsilon, found.delta


def entry_budget(chain: Chain, epsilon: Real) -> float:
    """The largest epsilon found for each entry that a ledger and a reader both translate to at most `epsilon`.

    Parameters: `chain`, the prior of the release; `epsilon`, the Pufferfish epsilon asked for, finite and above 0.

    A ledger translates the chain, a reader the chain as a certificate writes it; the two differ, if at all, in the last
    digit of a law. A ledger also rounds up what it adds, and what it finds. In its last digits a translation can fall
    where x rises, so an x that one of them allows is tried on all, and lowered by growing steps until all allow it.
    That n entries reveal at most n times as much as one makes this end."""
    x, written = dp_budget(chain, epsilon), chain_json(chain)
    chains = (chain, chain_from(written)) if "transition" in written else (chain,)
    wanted, part = exact(epsilon), 2.0**-53

    def over(x: float) -> bool:
        tried = {x, outward(exact(x))}
        return any(exact(meant_up(translate(each, y))) > wanted for each in chains for y in tried)

    while over(x):
        x, part = min(math.nextafter(x, 0), x * (1 - part)), min(2 * part, 0.5)
    return x


def least_noise(
    chain: Chain, budget: Budget, query: SequenceQuery, noise: str = "best"
) -> SequenceMechanism | LatticeMechanism:
    """The mechanism of least expected error that keeps the budget under the chain.

    `noise`: "laplace" (any pure noise or choice), "gaussian", or "best" for the better."""
    if noise not in ("best", "laplace", "gaussian"):
        raise UsageError(f"--noise {noise}: sequences take best, laplace (pure noise and choices) or gaussian")
    if isinstance(budget, Pure):
        if noise == "gaussian":
            raise NotProvable("Gaussian noise gives no pure guarantee: give --delta or --alpha, or use laplace")
        return query.mechanism(entry_budget(chain, budget.epsilon))
    if isinstance(budget, Renyi) and (budget.delta or math.isinf(budget.alpha)):
        raise NotProvable("sequences take a Rényi budget of finite order without a delta; leave out --delta")
    plain = query.mechanism(entry_budget(chain, pure_within(budget)))
    if noise == "laplace" or (noise == "best" and not _promising(plain, budget, query)):
        return plain
    stage("Gaussian noise for each entry")
    try:
        bell = gaussian(chain, budget, query, float(plain.epsilon))
    except NotProvable:
        if noise == "gaussian":
            raise
        return plain
    return bell if noise == "gaussian" or spread(bell, query) < spread(plain, query) else plain


def _promising(plain: SequenceMechanism, budget: Approx | Renyi, query: SequenceQuery) -> bool:
    """Whether Gaussian noise could be less than what is at hand: with a hopeful guarantee for each entry it is.

    Only a matter of time: a guess too low means more noise, never a promise that does not hold."""
    hope = _HOPE * float(plain.epsilon)
    try:
        if isinstance(budget, Approx):
            hoped = most_rho(query, Approx(Fraction(hope), budget.delta))
        else:
            hoped = Fraction(hope**2 / 2)
        return hoped > 0 and spread(LatticeMechanism(query, hoped, ZCDP(hoped)), query) < spread(plain, query)
    except NotProvable:  # a choice has no Gaussian noise
        return False


def most_rho(query: SequenceQuery, entry: Approx) -> Fraction:
    """The largest rho found that keeps (epsilon, delta) for each entry; 0 if none does. `NotProvable` of a choice."""
    shifts = [part.shift for part, _ in query.split()]
    shift = shifts[0] if len(shifts) == 1 else Shift("ball", 1)
    return largest_rho(shift, exact(entry.epsilon), exact(entry.delta))


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


def gaussian(chain: Chain, budget: Approx | Renyi, query: SequenceQuery, near: float) -> LatticeMechanism:
    """The least Gaussian noise found that keeps the budget under the chain.

    `near`: a pure epsilon for each entry that keeps it, where the search begins. (epsilon, delta) is looked for at a
    few deltas for each entry; a Rényi order by the largest rho."""
    made = []
    if isinstance(budget, Renyi):
        rho = _largest(lambda rho: ZCDP(Fraction(rho)), chain, budget, near**2 / 8)
        made = [] if rho is None else [LatticeMechanism(query, exact(rho.rho), rho)]
    else:
        for share in _SHARES:
            delta = Fraction(float(exact(budget.delta) / share))
            entry = _largest(partial(Approx, delta=delta), chain, budget, near)
            made += [] if entry is None else [LatticeMechanism(query, most_rho(query, entry), entry)]
    if not made:
        raise NotProvable("no Gaussian noise for each entry is proved for this budget; use laplace, or a larger one")
    return max(made, key=lambda one: one.rho)


def _largest(entry: Callable[[float], Noisy], chain: Chain, budget: Budget, near: float) -> Noisy | None:
    """The guarantee of the largest x found whose translation is within the budget; None if there is none.

    What x is worth grows like a power of x: the next x is read off the line through the last two in logarithms, kept
    between the largest that is known to be inside and the least outside. Each translation takes a while."""
    inside, outside, last = 0.0, math.inf, None
    x, wanted = near, float(budget.epsilon)
    for turn in range(_TURNS):
        report("noise for each entry", turn, _TURNS)
        try:
            epsilon, delta = numbers_of(worth(chain, entry(x * _SAFE), budget), budget)
            value = math.inf if exact(delta) > exact(budget.delta) else float(epsilon)
        except NotProvable:
            value = math.inf
        held = value <= wanted
        inside, outside = (max(inside, x), outside) if held else (inside, min(outside, x))
        if held and value >= (1 - _CLOSE) * wanted:
            break
        power = 1.0
        if last is not None and 0 < value < math.inf and value != last[1] and x != last[0]:
            power = max(0.3, min(3.0, math.log(value / last[1]) / math.log(x / last[0])))
        last = (x, value) if 0 < value < math.inf else None
        x = x * ((1 - _CLOSE / 2) * wanted / value) ** (1 / power) if last is not None else x / 4
        if not inside < x < outside:
            x = math.sqrt(inside * outside) if inside and outside < math.inf else (inside * 2 or outside / 4)
    return entry(inside * _SAFE) if inside else None


def spread(made: EntryMechanism, query: SequenceQuery) -> float:
    """The mean expected error of all noised numbers, each in units of what one entry moves it by; inf for choices.

    Laplace noise for an l1 distance S has a mean size S / e; Gaussian noise sigma sqrt(2 / pi), in steps."""
    sizes = []
    for part, share in query.split():
        try:
            shift = part.shift
        except NotProvable:
            continue  # a choice: only pure noise has it
        noise = made.noise.shared(share)
        steps = math.isqrt(shift.square) if shift.kind == "line" else float(part.sensitivity)
        sizes.append(noise.size(part) if noise.gaussian else steps / float(noise.amount))
    return math.fsum(math.log(size) for size in sizes)


# What each rule allows an entry when questions about sequences share one Pufferfish epsilon, side by side.
#
# A rule turns epsilon into an epsilon for each entry. The group bound takes epsilon / T. Quilts and the influence curve
# a(b) allow the largest (epsilon - a) / b (Bai et al., Theorem 6 corrected; Song et al. 2017); contraction follows what
# a step of the chain forgets (docs/proofs/contraction.md). Several questions with shares w_l of the budget:
#
# - added up: question l gets w_l epsilon by itself, tuned with a point (a_l, b_l) of the curve; the promises add;
# - Theorem 7: the promises of these points are sum (epsilon_l - a_l) + max a_l together, so all epsilon_l may grow;
# - composed first: the epsilons for each entry add up, and the sum is translated once (never worse than Theorem 7,
#   docs/proofs/composition.md#compose-first).
#
# All of them are proved; none of these numbers looks at private sequences.


GROUP, QUILTS, CURVE, CONTRACTION = "group bound", "Markov quilts", "influence curve", "contraction"
ADDED, SEVENTH = "influence curve, added up", "influence curve, Theorem 7"
_MOST_B = 512
_HALVINGS = 60
_WORK = 10**8
"""Of quilts: entries squared times states squared; above it they are left out."""


@final
@dataclass(frozen=True)
class Rule:
    """One rule: its `name`, the epsilon for each entry that each question gets, and the `theorem` that proves it."""

    name: str
    entry: tuple[float, ...]
    theorem: str

    @property
    def total(self) -> float:
        """What an entry pays in all."""
        return math.fsum(self.entry)


def rules(chain: Chain, epsilon: Real, shares: Sequence[Fraction]) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Every rule that is known for the chain, and what was left out, in words.

    Parameters: `chain`, the belief about sequences; `epsilon`, the Pufferfish epsilon, finite and above 0; `shares`,
    what each question gets of it, which sum to 1."""
    wanted, curve = exact(epsilon), influence(chain)
    # (b, a(b)) where a is finite; the last covers all entries, with a = 0
    sizes = sorted({*range(1, min(curve.length, _MOST_B) + 1), curve.length})
    points = [(b, Fraction(a)) for b in sizes if math.isfinite(a := curve(b))]
    found = [_shared(GROUP, wanted / chain.length, shares, "groups of entries: T epsilon for T entries")]
    skipped = []
    if isinstance(chain, MarkovChain) and chain.length**2 * chain.size**2 <= _WORK:
        quilts = exact(mqm_exact(chain, epsilon).dp_epsilon)
        found.append(_shared(QUILTS, quilts, shares, "Song et al. 2017; docs/proofs/quilts.md"))
    else:
        skipped.append(f"{QUILTS}: left out, because they are worked out for one chain of moderate length and size")
    once = ", composed first" if len(shares) > 1 else ""
    if len(shares) > 1:
        alone = tuple(float_down(_best(points, wanted * share)[0]) for share in shares)
        found.append(Rule(ADDED, alone, "Theorem 6, corrected, for each question by itself"))
        found.append(Rule(SEVENTH, _seventh(points, wanted, shares), "Theorem 7 of Bai et al."))
    by_curve = max(_best(points, wanted)[0], wanted / chain.length)
    found.append(_shared(CURVE, by_curve, shares, f"Theorem 6, corrected{once}; docs/proofs/influence.md"))
    found.append(_shared(CONTRACTION, exact(dp_budget(chain, epsilon)), shares, f"docs/proofs/contraction.md{once}"))
    return tuple(found), tuple(skipped)


def _best(points: Sequence[tuple[int, Fraction]], wanted: Fraction) -> tuple[Fraction, Fraction]:
    """The largest (wanted - a) / b, and its a."""
    return max((((wanted - a) / b, a) for b, a in points if a < wanted), key=lambda found: found[0])


def _seventh(points: Sequence[tuple[int, Fraction]], wanted: Fraction, shares: Sequence[Fraction]) -> tuple[float, ...]:
    """Epsilons for each entry of questions that are tuned alone at growing budgets, until Theorem 7 says `wanted`."""

    def tuned(scale: Fraction) -> list[tuple[Fraction, Fraction]]:
        return [_best(points, scale * share) for share in shares]

    def together(scale: Fraction) -> Fraction:
        tops = [a for _, a in tuned(scale)]
        return scale - sum(tops) + max(tops)

    low, high = wanted, wanted * len(shares)
    for _ in range(_HALVINGS):
        middle = Fraction(float((low + high) / 2))
        low, high = (middle, high) if together(middle) <= wanted else (low, middle)
    return tuple(float_down(entry) for entry, _ in tuned(low))


def _shared(name: str, entry: Fraction, shares: Sequence[Fraction], theorem: str) -> Rule:
    return Rule(name, tuple(float_down(entry * share) for share in shares), theorem)
