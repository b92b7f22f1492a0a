"""Sums over independent users: the law of X_1 + ... + X_n, exact where it is small, else with a certified error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from fugu.errors import BadLaw, UsageError
from fugu.laws.adding import added, convolved, placed_law
from fugu.laws.discrete import Discrete
from fugu.laws.term import Term
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, as_fraction, is_whole


def sum_of(laws: Sequence[Discrete], method: str = "auto") -> Discrete:
    """The law of X_1 + ... + X_n for independent X_i ~ laws[i], which may all differ.

    "auto" convolves exact integers where the result takes at most 2 MB, and there `error` is 0; otherwise one FFT,
    and `error` bounds the total variation to the true law. "exact" insists on integers; it is what a pure budget
    needs, because a law known up to total variation says nothing of ratios in its tails. Errors of the given laws
    add up, as |P * P' - Q * Q'| <= |P - Q| + |P' - Q'|.

    >>> law = sum_of([Discrete([0, 0.1]), Discrete([0, 0.1], [3, 1]), Discrete([5])])
    >>> law.values, law.weights, law.error
    (array([5. , 5.1, 5.2]), array([0.375, 0.5  , 0.125]), 0.0)
    """
    given = list(laws)
    if not given:
        raise UsageError("a sum needs at least one law")
    for law in given:
        if not isinstance(law, Discrete):
            raise BadLaw(f"a sum is over Discrete laws, got {type(law).__name__}")
    return Discrete._with_error(*added(Counter(given), method))


def poisson_binomial(probabilities: Iterable[Real], method: str = "auto") -> Discrete:
    """How many of n independent users say yes, when user i does so with probability p_i (floats mean their decimals).

    >>> poisson_binomial([0.1, 0.5]).weights
    array([0.45, 0.5 , 0.05])
    """
    chances = Counter(_chance(p) for p in probabilities)
    if not chances:
        raise UsageError("a sum needs at least one probability")
    certain = chances.pop(Fraction(1), 0)
    chances.pop(Fraction(0), 0)
    terms = [Term([0, 1], [p.denominator - p.numerator, p.numerator], p.denominator, n) for p, n in chances.items()]
    found = convolved(terms, method)
    return Discrete._with_error(*placed_law(found, certain, 1, Fraction(1), found.error))


def _chance(p: Real) -> Fraction:
    chance = int(p) if is_whole(p) else p
    if not is_number(chance) or not 0 <= chance <= 1:
        raise BadLaw("probabilities must be numbers in [0, 1]")
    return as_fraction(chance)
