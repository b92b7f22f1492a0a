"""Sums of independent whole numbers: in exact integers where they are few, else by one FFT with a certified error."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from flint import fmpz_poly
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.laws.certified import UP, Sum, placed
from fugu.laws.direct import convolve_direct
from fugu.laws.factor import factors
from fugu.laws.masses import masses
from fugu.laws.spectrum import KAPPA, Spectrum, spectrum
from fugu.laws.term import Term
from fugu.laws.window import TAIL, Window, enclose

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


def convolve_exact(terms: Sequence[Term], most_bits: int = MOST_BITS) -> Sum | None:
    """The exact law, prod_i (sum_k parts_k x^at_k)^times in integers; None if it is too large.

    >>> found = convolve_exact([Term([0, 1], [2, 1], 3, times=2)])
    >>> found.at.tolist(), found.masses.whole(), found.error
    ([0, 1, 2], ([4, 4, 1], 9), 0.0)
    """
    _, bits = exact_sizes(terms)
    if _steps(terms) < min(bits // 64, _MOST_STEPS):
        found = _sparse(terms)
    elif bits <= most_bits:
        found = _dense(terms)
    else:
        return None
    at = np.fromiter(found, dtype=np.int64, count=len(found))
    return Sum(at, masses(np.array(list(found.values()), dtype=object), len(found)), 0.0)


def _dense(terms: Sequence[Term]) -> dict[int, int]:
    factors = [fmpz_poly(term.dense()) ** term.times for term in terms]
    while len(factors) > 1:
        factors.sort(key=fmpz_poly.degree)
        factors = [a * b for a, b in zip(factors[::2], factors[1::2], strict=False)] + factors[len(factors) & ~1 :]
    return {k: int(c) for k, c in enumerate(factors[0].coeffs()) if c}


def _steps(terms: Sequence[Term]) -> int:
    """At most how many products the sparse way takes: n draws among a atoms have C(n + a - 1, n) sums at most."""
    points, steps = 1, 0
    for term in terms:
        if steps >= _MOST_STEPS or term.times * len(term.at) > _MOST_STEPS:
            return _MOST_STEPS
        points *= math.comb(term.times + len(term.at) - 1, term.times)
        steps += points * len(term.at) * term.times
    return steps


def _sparse(terms: Sequence[Term]) -> dict[int, int]:
    """Few atoms that lie far apart: one product at a time."""
    found = {0: 1}
    for term in terms:
        for _ in range(term.times):
            before, found = found, {}
            for j, b in zip(term.at, term.parts, strict=True):
                for i, a in before.items():
                    found[i + j] = found.get(i + j, 0) + a * b
    return dict(sorted(found.items()))


def convolve_fft(terms: Sequence[Term], tail: float = TAIL) -> Sum:
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


def roundoff(wave: Spectrum, window: Window, length: int) -> float:
    """eta: by Parseval |y - c|_2 <= (|error of the spectrum|_2 + kappa |spectrum|_2) / sqrt(N) on the whole circle.

    kappa = `KAPPA` log2 N bounds an FFT (see there), |.|_1 <= sqrt(|W|) |.|_2 on the window (Cauchy and Schwarz), and
    `lost` is what was dropped before."""
    norm = _norm(wave.errors) + KAPPA * math.log2(length) * _norm(np.abs(wave.values))
    return UP * (math.sqrt(window.width / length) * norm + wave.lost)


def _norm(half: NDArray[np.float64]) -> float:
    """The 2-norm of a spectrum of real numbers, of which only the first half is kept."""
    return math.sqrt(2 * float(half @ half) - float(half[0]) ** 2 - float(half[-1]) ** 2) * UP
