"""Sums over independent users: the law of X_1 + ... + X_n, exact where it is small, else with a certified error."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, NotProvable, UnknownName, UsageError
from fugu.laws.certified import Sum
from fugu.laws.convolve import FEW_BITS, MOST_BITS, convolve_exact, convolve_fft, exact_sizes
from fugu.laws.direct import convolve_direct
from fugu.laws.discrete import Discrete
from fugu.laws.term import Term
from fugu.numbers.exact import Real, as_fraction, decimal_step, float_up, integers

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
    found = _convolved(terms, method)
    return _law(found, certain, 1, Fraction(1), found.error)


def _chance(p: Real) -> Fraction:
    if not isinstance(p, int | float | Fraction | np.integer) or isinstance(p, bool) or not 0 <= p <= 1:
        raise BadLaw("probabilities must be numbers in [0, 1]")
    return as_fraction(p if not isinstance(p, np.integer) else int(p))


def _sum(laws: dict[Discrete, int], method: str) -> Discrete:
    """Put the atoms of all laws on one lattice: each law counts from its own least atom, in common steps."""
    if any(law.dimension > 1 for law in laws):
        raise NotProvable("sums of vectors are not available yet; add up one number at a time")
    held = [law.masses.parts != 0 for law in laws]
    atoms = [law.values[kept] for law, kept in zip(laws, held, strict=True)]
    step = decimal_step(np.concatenate(atoms))
    if step is None:
        raise NotProvable("the atoms lie on no decimal lattice, and neither does their sum; round onto a grid first")
    whole = [integers(values, step) for values in atoms]
    grid = math.gcd(*(int(np.gcd.reduce(w - w[0])) for w in whole)) or 1
    places = [(w - w[0]) // grid for w in whole]
    start, end = (sum(n * int(w[k]) for n, w in zip(laws.values(), whole, strict=True)) for k in (0, -1))
    if max(0, end) - min(0, start) > _LARGEST:
        raise NotProvable(
            f"the sum reaches {float(max(abs(start), abs(end)) * step):.3g} in steps of {step}: more than 15 digits. "
            "Round the values onto a coarser grid first"
        )
    found = None
    blurred = any(law.error for law in laws)
    if blurred and method in ("auto", "fft") and all(n == 1 for n in laws.values()):
        # one user and the sum of all others, say: long rows of doubles, which no exact law is to be had from
        rows = [law.weights[kept] for law, kept in zip(laws, held, strict=True)]
        found = convolve_direct(list(zip(places, rows, strict=True)))
    if found is None:
        found = _convolved([_term(law, n, at) for (law, n), at in zip(laws.items(), places, strict=True)], method)
    inherited = float_up(sum((n * Fraction(law.error) for law, n in laws.items()), Fraction(0)))
    error = min(1.0, math.nextafter(found.error + inherited, math.inf)) if blurred else found.error
    return _law(found, start, grid, step, error)


def _term(law: Discrete, n: int, at: NDArray[np.int64]) -> Term:
    numerators, _ = law.masses.whole()
    return Term.of(at.tolist(), [part for part in numerators if part], n)


def _convolved(terms: list[Term], method: str) -> Sum:
    """By the method asked for; a sum of constants is a constant whatever the method."""
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    terms = [term for term in terms if len(term.at) > 1]
    if method != "fft" or not terms:
        found = convolve_exact(terms or [Term([0], [1], 1)], MOST_BITS if method == "exact" else FEW_BITS)
        if found is not None:
            return found
    if method == "exact":
        points, bits = exact_sizes(terms)
        raise NotProvable(
            f"the exact law has up to {points} atoms, {bits // points} bits each: {bits // 2**23} MB, more than "
            f"{MOST_BITS // 2**23}. Use fewer draws, a coarser grid, counts with a smaller total, or method='fft'"
        )
    return convolve_fft(terms)


def _law(found: Sum, start: int, grid: int, step: Fraction, error: float) -> Discrete:
    """start + grid * at, in steps: integers below 10^15 over a power of ten, so each value is correctly rounded."""
    values = (start + grid * found.at) / np.float64(step.denominator)
    return Discrete._with_error(values, found.masses, error)
