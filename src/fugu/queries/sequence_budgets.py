"""What each rule allows an entry when questions about sequences share one Pufferfish epsilon, side by side.

A rule turns epsilon into an epsilon for each entry. The group bound takes epsilon / T. Quilts and the influence curve
a(b) allow the largest (epsilon - a) / b (Bai et al., Theorem 6 corrected; Song et al. 2017); contraction follows what a
step of the chain forgets (docs/proofs/contraction.md). Several questions with shares w_l of the budget:

- added up: question l gets w_l epsilon by itself, tuned with a point (a_l, b_l) of the curve; the promises add;
- Theorem 7: the promises of these points are sum (epsilon_l - a_l) + max a_l together, so all epsilon_l may grow;
- composed first: the epsilons for each entry add up, and the sum is translated once (never worse than Theorem 7,
  docs/proofs/composition.md#compose-first).

All of them are proved; none of these numbers looks at private sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from fugu.guarantee.numbers import exact
from fugu.numbers.exact import Real, float_down
from fugu.priors.chain import MarkovChain
from fugu.priors.curve import InfluenceCurve
from fugu.queries.sequence_prior import Chain
from fugu.translation.influence import influence
from fugu.translation.quilts_chain import mqm_exact
from fugu.translation.translate import dp_budget

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
    points = _points(curve)
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


def _points(curve: InfluenceCurve) -> list[tuple[int, Fraction]]:
    """(b, a(b)) where a is finite; the last covers all entries, with a = 0."""
    sizes = sorted({*range(1, min(curve.length, _MOST_B) + 1), curve.length})
    return [(b, Fraction(a)) for b in sizes if math.isfinite(a := curve(b))]


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
