"""The characteristic function of a sum at the frequencies of an FFT, each value with a bound on its error.

Z(w) = prod_g z_g(w)^n_g is first found in doubles, everywhere, with an error bound that is good enough where |Z| is
small: almost everywhere, because sums of many users have smooth laws. The few frequencies whose error still matters
are found again in balls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import acb, arb, fmpq, fmpz
from numpy.typing import NDArray

from fugu.laws.factor import Factor
from fugu.numbers import balls

_UNIT = 2.0**-53
KAPPA = 32 * _UNIT
"""An FFT of 2^t doubles is within t KAPPA of the true one, relative, in the 2-norm.

Higham, Accuracy and Stability of Numerical Algorithms (2002), Theorem 24.2: t eta / (1 - t eta) for radix 2, with
eta = mu + gamma_4 (sqrt 2 + mu) and mu the error of the roots of unity. Radix 4 and 8, which numpy's pocketfft prefers,
run the same steps two or three at a time, with fewer roots, and real data are the half of them; its roots are one
product of two sines or cosines, mu <= 16 units, so eta <= 22 units."""
_BITS = 128
_MOST_BALLS = 2**19
_ENOUGH = 0.1
_ABYSS = 1e-290
"""Far above what products lose below the normal doubles."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """|E exp(-2 pi i k (S - shift) / N) - values[k]| <= errors[k] for k = 0 ... N/2, but for a mass `lost`."""

    values: NDArray[np.complex128]
    errors: NDArray[np.float64]
    shift: int
    lost: float


def spectrum(found: Sequence[Factor], length: int, most_balls: int = _MOST_BALLS) -> Spectrum:
    """Doubles everywhere, balls where the error is largest, until what is left is a tenth of the error of one FFT."""
    rough = in_doubles(found, length)
    order = np.argsort(-rough.errors, kind="stable")
    left = np.sqrt(np.cumsum(2 * rough.errors[order][::-1] ** 2))[::-1]
    wanted = int(np.count_nonzero(left > _ENOUGH * KAPPA * math.log2(length)))
    affordable = most_balls // sum(len(factor.parts) + 8 for factor in found)
    values, errors = rough.values.copy(), rough.errors.copy()
    with balls.precision(_BITS):
        roots = Roots(length)
        for k in order[: min(wanted, affordable)].tolist():
            values[k], errors[k] = in_balls(found, k, roots, rough.shift)
    return Spectrum(values, errors, rough.shift, rough.lost)


def in_doubles(found: Sequence[Factor], length: int) -> Spectrum:
    """All frequencies at once. With |z_g - computed| <= d_g and c_g = |computed| + d_g,
        |Z - computed| <= prod c_g^n_g (sum n_g d_g / c_g + rounding of the products),
    one factor exchanged at a time; where the bracket is 1 or more, 0 is as good a value, with error prod c_g^n_g.

    The largest atom of each law is put at 0 and left out of the FFT, so that d_g <= KAPPA t sqrt(N) |the rest|_2 +
    the rounding of the masses + 6 units + 1 for each turn round the circle, where atoms meet and are added. A product
    of complex numbers errs by less than 3 units, and a power by squaring as if it were n products (Higham 2002,
    Lemma 3.5)."""
    half = length // 2 + 1
    values, logs, relative = np.ones(half, dtype=np.complex128), np.zeros(half), np.zeros(half)
    kappa = KAPPA * math.log2(length) * math.sqrt(length)
    shift = users = 0
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for factor in found:
            largest = int(np.argmax(factor.row))
            rest, turns = _wrapped(factor, largest, length)
            z = np.fft.rfft(rest) + factor.row[largest]
            d = 1.001 * (kappa * float(np.linalg.norm(rest)) + factor.blur + (turns + 6) * _UNIT)
            c = np.abs(z) + d
            logs += factor.times * np.log(c)
            relative += factor.times * (d / c)
            values *= _power(z, factor.times)
            shift += factor.times * factor.at[largest]
            users += factor.times
        rounding = 4 * _UNIT * users
        relative = 1.001 * (relative + rounding)
        bound = np.exp(logs + 8 * _UNIT * (users + np.abs(logs))) * 1.001
    useless = ~(relative < 0.5)
    values[useless] = 0.0
    errors = np.where(useless, np.minimum(bound, 1.0), bound * relative) + _ABYSS
    return Spectrum(values, errors, shift % length, math.fsum(f.times * f.lost for f in found) * 1.001)


def in_balls(found: Sequence[Factor], k: int, roots: Roots, shift: int) -> tuple[complex, float]:
    """One frequency, exactly but for rounding to a double. (Horner's rule would turn the boxes, which grow with it.)"""
    value = roots(-k * shift)
    for factor in found:
        z = sum((roots(k * j) * part for j, part in zip(factor.at, factor.parts, strict=True)), acb(0))
        value *= (z / factor.total) ** fmpz(factor.times)
    nearest = complex(float(value.real.mid()), float(value.imag.mid()))
    return nearest, balls.upper(abs(value - acb(nearest.real, nearest.imag)))


def _wrapped(factor: Factor, largest: int, length: int) -> tuple[NDArray[np.float64], int]:
    """The row without its largest atom, which sits at 0, around a circle; and how often atoms may meet there."""
    weights = factor.row.copy()
    weights[largest] = 0.0
    places = (factor.places - factor.at[largest]) % length
    rest = np.bincount(places, weights=weights, minlength=length).astype(np.float64)
    return rest, 1 + (factor.at[-1] - factor.at[0]) // length


class Roots:
    """exp(-2 pi i j / N) for all whole j, N a power of two: products out of two tables of about sqrt(N) entries."""

    def __init__(self, length: int) -> None:
        self._mask = length - 1
        self._low = 1 << length.bit_length() // 2
        self._fine = [_root(j, length) for j in range(self._low)]
        self._coarse = [_root(j, length) for j in range(0, length, self._low)]

    def __call__(self, j: int) -> acb:
        coarse, fine = divmod(j & self._mask, self._low)
        return self._coarse[coarse] * self._fine[fine]


def _root(j: int, length: int) -> acb:
    return acb(arb(fmpq(-2 * j, length))).exp_pi_i()


def _power(z: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """z^n by squaring."""
    result = np.ones_like(z)
    while n:
        if n & 1:
            result = result * z
        n >>= 1
        if n:
            z = z * z
    return result
