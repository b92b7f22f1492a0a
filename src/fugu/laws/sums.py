"""Sums over independent users: the law of X_1 + ... + X_n, exact where it is small, else with a certified error."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from fugu.errors import BadLaw, NotProvable, UnknownName, UsageError
from fugu.exact import Real, as_fraction, decimal_step, float_up, integers
from fugu.laws.convolve import FEW_BITS, MOST_BITS, Sum, convolve_exact, convolve_fft, exact_sizes
from fugu.laws.discrete import Discrete
from fugu.laws.term import Term

METHODS = ("auto", "exact", "fft")
_LARGEST = 10**15


def iid_sum(law: Discrete, n: int, method: str = "auto") -> Discrete:
    """The law of the sum of n independent draws; the same as `law.iid_sum(n)`.

    >>> iid_sum(Discrete([0, 1]), 3).weights
    array([0.125, 0.375, 0.375, 0.125])
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise UsageError(f"a sum needs a whole number of draws of at least 1, got {n!r}")
    return law if n == 1 and method in METHODS else _sum({law: int(n)}, method)


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
    return _sum(Counter(given), method)


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
    return _law(_convolved(terms, method), Fraction(1), certain, Fraction(1), 0.0)


def _chance(p: Real) -> Fraction:
    if not isinstance(p, int | float | Fraction | np.integer) or isinstance(p, bool) or not 0 <= p <= 1:
        raise BadLaw("probabilities must be numbers in [0, 1]")
    return as_fraction(p if not isinstance(p, np.integer) else int(p))


def _sum(laws: dict[Discrete, int], method: str) -> Discrete:
    """Put the atoms of all laws on one lattice: each law counts from its own least atom, in common steps."""
    if any(law.dimension > 1 for law in laws):
        raise NotProvable("sums of vectors are not available yet; add up one number at a time")
    held = [law.values[law.masses.parts != 0] for law in laws]
    step = decimal_step(np.concatenate(held))
    if step is None:
        raise NotProvable("the atoms lie on no decimal lattice, and neither does their sum; round onto a grid first")
    whole = [integers(values, step) for values in held]
    grid = math.gcd(*(int(np.gcd.reduce(w - w[0])) for w in whole)) or 1
    start = sum(n * int(w[0]) for n, w in zip(laws.values(), whole, strict=True))
    terms = []
    for (law, n), w in zip(laws.items(), whole, strict=True):
        if len(w) > 1:
            numerators, _ = law.masses.whole()
            terms.append(Term.of(((w - w[0]) // grid).tolist(), [part for part in numerators if part], n))
    ends = (start, start + sum(term.times * term.at[-1] for term in terms) * grid)
    if max(0, *ends) - min(0, *ends) > _LARGEST:
        raise NotProvable(
            f"the sum reaches {float(max(map(abs, ends)) * step):.3g} in steps of {step}: more than 15 digits. "
            "Round the values onto a coarser grid first"
        )
    inherited = float_up(sum((n * Fraction(law.error) for law, n in laws.items()), Fraction(0)))
    return _law(_convolved(terms, method), Fraction(grid), start, step, inherited)


def _convolved(terms: list[Term], method: str) -> Sum:
    """By the method asked for; a sum of constants is a constant."""
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    terms = terms or [Term([0], [1], 1)]
    if method != "fft":
        found = convolve_exact(terms, MOST_BITS if method == "exact" else FEW_BITS)
        if found is not None:
            return found
    if method == "exact":
        points, bits = exact_sizes(terms)
        raise NotProvable(
            f"the exact law has up to {points} atoms, {bits // points} bits each: {bits // 2**23} MB, more than "
            f"{MOST_BITS // 2**23}. Use fewer draws, a coarser grid, counts with a smaller total, or method='fft'"
        )
    return convolve_fft(terms)


def _law(found: Sum, grid: Fraction, start: int, step: Fraction, inherited: float) -> Discrete:
    """start + grid * at, in steps: integers below 10^15 over a power of ten, so each value is correctly rounded."""
    values = (start + int(grid) * found.at) / np.float64(step.denominator)
    error = found.error if inherited == 0 else min(1.0, math.nextafter(found.error + inherited, math.inf))
    return Discrete._with_error(values, found.masses, error)
