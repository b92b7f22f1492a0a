"""The law of a sum of independent terms: their atoms on one lattice, convolved exactly or with a certified error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpz_poly
from numpy.typing import NDArray

from fugu.errors import NotProvable, UnknownName
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses, exact_sum, masses
from fugu.laws.spectrum import KAPPA, TAIL, SumSpectrum, SumWindow, Term, enclose, factors, spectrum
from fugu.numbers import balls
from fugu.numbers.exact import decimal_step, float_up, integers

FEW_BITS = 2**24
"""Up to this many bits of output (2 MB) the exact law is as fast as the FFT."""
MOST_BITS = 2**31
"""Up to this many bits (256 MB, some ten seconds) the exact law is computed when it is asked for."""
_MOST_STEPS = 2**22
_MOST_POINTS = 2**26
_FEW = 8


def exact_sizes(terms: Sequence[Term]) -> tuple[int, int]:
    """The lattice points of the sum, and the bits that all its exact masses take together."""
    points = 1 + sum(term.times * term.at[-1] for term in terms)
    return points, points * math.ceil(sum(term.times * math.log2(term.total) for term in terms))


def convolve_exact(terms: Sequence[Term], most_bits: int = MOST_BITS) -> CertifiedSum | None:
    """The exact law, prod_i (sum_k parts_k x^at_k)^times in integers; None if it is too large.

    >>> found = convolve_exact([Term([0, 1], [2, 1], 3, times=2)])
    >>> found.at.tolist(), found.masses.whole(), found.error
    ([0, 1, 2], ([4, 4, 1], 9), 0.0)
    """
    _, bits = exact_sizes(terms)
    if _steps(terms) < min(bits // 64, _MOST_STEPS):
        found = {0: 1}  # few atoms that lie far apart: one product at a time
        for term in terms:
            for _ in range(term.times):
                before, found = found, {}
                for j, b in zip(term.at, term.parts, strict=True):
                    for i, a in before.items():
                        found[i + j] = found.get(i + j, 0) + a * b
        found = dict(sorted(found.items()))
    elif bits <= most_bits:
        factors = [fmpz_poly(term.dense()) ** term.times for term in terms]
        while len(factors) > 1:
            factors.sort(key=fmpz_poly.degree)
            factors = [a * b for a, b in zip(factors[::2], factors[1::2], strict=False)] + factors[len(factors) & ~1 :]
        found = {k: int(c) for k, c in enumerate(factors[0].coeffs()) if c}
    else:
        return None
    at = np.fromiter(found, dtype=np.int64, count=len(found))
    return CertifiedSum(at, masses(np.array(list(found.values()), dtype=object), len(found)), 0.0)


def _steps(terms: Sequence[Term]) -> int:
    """At most how many products the sparse way takes: n draws among a atoms have C(n + a - 1, n) sums at most."""
    points, steps = 1, 0
    for term in terms:
        if steps >= _MOST_STEPS or term.times * len(term.at) > _MOST_STEPS:
            return _MOST_STEPS
        points *= math.comb(term.times + len(term.at) - 1, term.times)
        steps += points * len(term.at) * term.times
    return steps


def convolve_fft(terms: Sequence[Term], tail: float = TAIL) -> CertifiedSum:
    """The law on a window that holds all but 2 `tail` of the mass, as doubles, with its distance from the truth.

    Write P for the true law, W for the window, tau >= P(outside W), c_j = sum_l P(j + l N) for the law wrapped onto a
    circle of N >= |W| points, y for what the inverse FFT returns, eta >= sum over W of |y - c|, p = max(y, 0) and T
    the exact sum of p over W. Clipping brings y closer to c >= 0, and what wraps into W comes from outside, so
        |p / T - P|_1 <= |1 - T| + eta + 2 tau,
    and the total variation is half of that (`total_variation`). eta is `roundoff`. A few single draws are convolved
    directly, and where many users all differ `factors` has already done so in balls: only rounding counts then.

    >>> found = convolve_fft([Term([0, 1], [1, 1], 2, times=10_000)])
    >>> len(found.at) < 1000 and 0 < found.error < 1e-12
    True
    """
    if len(terms) <= _FEW and all(term.times == 1 for term in terms):
        direct = convolve_direct([(np.array(term.at, dtype=np.int64), np.array(term.floats())) for term in terms])
        if direct is not None:
            return direct
    found = factors(terms)
    if len(found) == 1 and found[0].times == 1:
        return placed(found[0].places, found[0].row, found[0].blur + found[0].lost, 0.0)
    window = enclose(terms, tail)
    length = 1 << (max(window.width, 2) - 1).bit_length()
    if length > _MOST_POINTS:
        raise NotProvable(
            f"the law of this sum has {window.width} points within its window, more than {_MOST_POINTS}; "
            "round the values onto a coarser grid first"
        )
    wave = spectrum(found, length)
    circle = np.fft.irfft(wave.values, length)
    at = np.arange(window.low, window.high + 1, dtype=np.int64)
    return placed(at, circle[(at - wave.shift) % length], roundoff(wave, window, length), window.outside)


def roundoff(wave: SumSpectrum, window: SumWindow, length: int) -> float:
    """eta: by Parseval |y - c|_2 <= (|error of the spectrum|_2 + kappa |spectrum|_2) / sqrt(N) on the whole circle.

    kappa = `KAPPA` log2 N bounds an FFT (see there), |.|_1 <= sqrt(|W|) |.|_2 on the window (Cauchy and Schwarz), and
    `lost` is what was dropped before."""
    norm = _norm(wave.errors) + KAPPA * math.log2(length) * _norm(np.abs(wave.values))
    return UP * (math.sqrt(window.width / length) * norm + wave.lost)


def _norm(half: NDArray[np.float64]) -> float:
    """The 2-norm of a spectrum of real numbers, of which only the first half is kept."""
    return math.sqrt(2 * float(half @ half) - float(half[0]) ** 2 - float(half[-1]) ** 2) * UP


METHODS = {"auto": FEW_BITS, "exact": MOST_BITS, "fft": 0}
"""How many bits an exact law may take, by the method asked for."""
_IN_DOUBLES = {"auto", "fft"}
_LARGEST = 10**15

Added = tuple[NDArray[np.float64], Masses, float]
"""Sorted values, their masses, and how far in total variation the true law may be."""


def added(laws: Mapping[Discrete, int], method: str) -> Added:
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
        counts = [[part for part in law.masses.whole()[0] if part] for law in laws]
        terms = [Term.of(at.tolist(), own, n) for at, own, n in zip(places, counts, laws.values(), strict=True)]
        found = convolved(terms, method)
    inherited = float_up(sum((n * Fraction(law.error) for law, n in laws.items()), Fraction(0)))
    error = min(1.0, math.nextafter(found.error + inherited, math.inf)) if blurred else found.error
    return placed_law(found, start, grid, step, error)


def convolved(terms: list[Term], method: str) -> CertifiedSum:
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


def placed_law(found: CertifiedSum, start: int, grid: int, step: Fraction, error: float) -> Added:
    """start + grid * at, in steps: integers below 10^15 over a power of ten, so each value is correctly rounded."""
    values = (start + grid * found.at) / np.float64(step.denominator)
    return values, found.masses, error


_MOST_PRODUCTS = 2**31
_MOST_PLACES = 2**25
Row = tuple[NDArray[np.int64], NDArray[np.float64]]


def convolve_direct(rows: Sequence[Row]) -> CertifiedSum | None:
    """The law of a sum of one draw from each (places from 0 on, probabilities within 4 units); None if it takes long.

    A convolution with a row of m places adds m products of non-negative numbers each time, in whatever order, so its
    relative error is at most (m + 1) units at every place (Higham 2002, section 3.1), and errors of all rows add up.

    >>> coin = (np.array([0, 1]), np.array([0.5, 0.5]))
    >>> convolve_direct([coin, coin]).masses.floats()
    array([0.25, 0.5 , 0.25])
    """
    ordered = sorted(rows, key=lambda row: int(row[0][-1]))
    reach, products, units = 1, 0, 0
    for at, _ in ordered:
        length = int(at[-1]) + 1
        products += reach * length
        units += min(reach, length) + 1 + 4
        reach += length - 1
    if products > _MOST_PRODUCTS or reach > _MOST_PLACES:
        return None
    found = np.ones(1)
    for at, probabilities in ordered:
        dense = np.zeros(int(at[-1]) + 1)
        dense[at] = probabilities
        found = np.convolve(found, dense)
    return placed(np.arange(len(found), dtype=np.int64), found, 1.01 * units * UNIT, 0.0)


UNIT = 2.0**-53
UP = 1 + 2.0**-20
"""Covers the rounding of the few float operations on bounds: sums of at most 2^27 terms lose 2^27 2^-53 of them."""
_FLOOR = 2.0**-90


@dataclass(frozen=True, eq=False)
class CertifiedSum:
    """P(S = at[k]) = masses[k], up to the total variation `error`."""

    at: NDArray[np.int64]
    masses: Masses
    error: float


def placed(at: NDArray[np.int64], y: NDArray[np.float64], eta: float, tau: float) -> CertifiedSum:
    """The law proportional to max(y, 0), for y within eta of the truth on the window `at`, tau of which lies outside.

    Masses below 2^-90 are left out, so that exact sums of the others stay short."""
    held = y >= _FLOOR
    total = exact_sum(y[held])
    return CertifiedSum(at[held], Masses(y[held], total), total_variation(UP * (eta + len(at) * _FLOOR), tau, total))


def total_variation(eta: float, tau: float, total: Fraction) -> float:
    """(|1 - T| + eta + 2 tau) / 2, rounded up: see `fugu.laws.adding.convolve_fft`."""
    with balls.precision(128):
        return min(1.0, balls.upper((balls.of(abs(1 - total)) + balls.of(eta) + 2 * balls.of(tau)) / 2))
