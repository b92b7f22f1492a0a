"""The law of a sum of independent terms: their atoms on one lattice, convolved exactly or with a certified error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fugu.errors import NotProvable, UnknownName
from fugu.laws.certified import Sum
from fugu.laws.convolve import FEW_BITS, MOST_BITS, convolve_exact, convolve_fft, exact_sizes
from fugu.laws.direct import convolve_direct
from fugu.laws.masses import Masses
from fugu.laws.term import Term
from fugu.numbers.exact import decimal_step, float_up, integers

METHODS = {"auto": FEW_BITS, "exact": MOST_BITS, "fft": 0}
"""How many bits an exact law may take, by the method asked for."""
_IN_DOUBLES = {"auto", "fft"}
_LARGEST = 10**15

Added = tuple[NDArray[np.float64], Masses, float]
"""Sorted values, their masses, and how far in total variation the true law may be."""


class Atoms(Protocol):
    """A law with finitely many atoms (`fugu.laws.discrete.Discrete`)."""

    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def masses(self) -> Masses: ...
    @property
    def error(self) -> float: ...
    @property
    def weights(self) -> NDArray[np.float64]: ...
    @property
    def dimension(self) -> int: ...


def added(laws: Mapping[Atoms, int], method: str) -> Added:
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
    if blurred and method in _IN_DOUBLES and all(n == 1 for n in laws.values()):
        # one user and the sum of all others, say: long rows of doubles, which no exact law is to be had from
        rows = [law.weights[kept] for law, kept in zip(laws, held, strict=True)]
        found = convolve_direct(list(zip(places, rows, strict=True)))
    if found is None:
        found = convolved([_term(law, n, at) for (law, n), at in zip(laws.items(), places, strict=True)], method)
    inherited = float_up(sum((n * Fraction(law.error) for law, n in laws.items()), Fraction(0)))
    error = min(1.0, math.nextafter(found.error + inherited, math.inf)) if blurred else found.error
    return placed_law(found, start, grid, step, error)


def _term(law: Atoms, n: int, at: NDArray[np.int64]) -> Term:
    numerators, _ = law.masses.whole()
    return Term.of(at.tolist(), [part for part in numerators if part], n)


def convolved(terms: list[Term], method: str) -> Sum:
    """By the method asked for; a sum of constants is a constant whatever the method."""
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    terms = [term for term in terms if len(term.at) > 1]
    bits = METHODS[method]
    if bits or not terms:
        found = convolve_exact(terms or [Term([0], [1], 1)], bits or FEW_BITS)
        if found is not None:
            return found
    if method not in _IN_DOUBLES:
        points, bits = exact_sizes(terms)
        raise NotProvable(
            f"the exact law has up to {points} atoms, {bits // points} bits each: {bits // 2**23} MB, more than "
            f"{MOST_BITS // 2**23}. Use fewer draws, a coarser grid, counts with a smaller total, or method='fft'"
        )
    return convolve_fft(terms)


def placed_law(found: Sum, start: int, grid: int, step: Fraction, error: float) -> Added:
    """start + grid * at, in steps: integers below 10^15 over a power of ten, so each value is correctly rounded."""
    values = (start + grid * found.at) / np.float64(step.denominator)
    return values, found.masses, error
