"""The law of a sum of independent terms: their atoms on one lattice, convolved exactly or with a certified error."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import acb, arb, arb_poly, fmpq, fmpz, fmpz_poly
from numpy.typing import NDArray

from fugu.errors import NotProvable, UnknownName
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses, exact_sum, masses
from fugu.numbers import balls
from fugu.numbers.exact import decimal_step, float_up, integers

UNIT = 2.0**-53
TAIL = 1e-17
"""The mass that may lie beyond either end of the window."""
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


# Z(w) = prod_g z_g(w)^n_g is first found in doubles, everywhere, with an error bound that is good enough where |Z| is
# small: almost everywhere, because sums of many users have smooth laws. The few frequencies whose error still matters
# are found again in balls.


KAPPA = 32 * UNIT
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
class SumSpectrum:
    """|E exp(-2 pi i k (S - shift) / N) - values[k]| <= errors[k] for k = 0 ... N/2, but for a mass `lost`."""

    values: NDArray[np.complex128]
    errors: NDArray[np.float64]
    shift: int
    lost: float


def spectrum(found: Sequence[Factor], length: int, most_balls: int = _MOST_BALLS) -> SumSpectrum:
    """Doubles everywhere, balls where the error is largest, until what is left is a tenth of the error of one FFT."""
    rough = in_doubles(found, length)
    order = np.argsort(-rough.errors, kind="stable")
    left = np.sqrt(np.cumsum(2 * rough.errors[order][::-1] ** 2))[::-1]
    wanted = int(np.count_nonzero(left > _ENOUGH * KAPPA * math.log2(length)))
    affordable = most_balls // sum(len(factor.parts) + 8 for factor in found)
    values, errors = rough.values.copy(), rough.errors.copy()
    with balls.precision(_BITS):
        roots = unit_roots(length)
        for k in order[: min(wanted, affordable)].tolist():
            values[k], errors[k] = in_balls(found, k, roots, rough.shift)
    return SumSpectrum(values, errors, rough.shift, rough.lost)


def in_doubles(found: Sequence[Factor], length: int) -> SumSpectrum:
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
            weights = factor.row.copy()  # around a circle, without the largest atom, which sits at 0
            weights[largest] = 0.0
            places = (factor.places - factor.at[largest]) % length
            rest = np.bincount(places, weights=weights, minlength=length).astype(np.float64)
            turns = 1 + (factor.at[-1] - factor.at[0]) // length  # how often atoms may meet there
            z = np.fft.rfft(rest) + factor.row[largest]
            d = 1.001 * (kappa * float(np.linalg.norm(rest)) + factor.blur + (turns + 6) * UNIT)
            c = np.abs(z) + d
            logs += factor.times * np.log(c)
            relative += factor.times * (d / c)
            values *= _power(z, factor.times)
            shift += factor.times * factor.at[largest]
            users += factor.times
        rounding = 4 * UNIT * users
        relative = 1.001 * (relative + rounding)
        bound = np.exp(logs + 8 * UNIT * (users + np.abs(logs))) * 1.001
    useless = ~(relative < 0.5)
    values[useless] = 0.0
    errors = np.where(useless, np.minimum(bound, 1.0), bound * relative) + _ABYSS
    return SumSpectrum(values, errors, shift % length, math.fsum(f.times * f.lost for f in found) * 1.001)


def in_balls(found: Sequence[Factor], k: int, roots: Callable[[int], acb], shift: int) -> tuple[complex, float]:
    """One frequency, exactly but for rounding to a double. (Horner's rule would turn the boxes, which grow with it.)"""
    value = roots(-k * shift)
    for factor in found:
        z = sum((roots(k * j) * part for j, part in zip(factor.at, factor.parts, strict=True)), acb(0))
        value *= (z / factor.total) ** fmpz(factor.times)
    nearest = complex(float(value.real.mid()), float(value.imag.mid()))
    return nearest, balls.upper(abs(value - acb(nearest.real, nearest.imag)))


def unit_roots(length: int) -> Callable[[int], acb]:
    """exp(-2 pi i j / N) for all whole j, N a power of two: products out of two tables of about sqrt(N) entries."""
    low = 1 << length.bit_length() // 2
    fine, coarse = (
        [acb(arb(fmpq(-2 * j, length))).exp_pi_i() for j in places] for places in (range(low), range(0, length, low))
    )
    return lambda j: coarse[(j & (length - 1)) // low] * fine[j & (low - 1)]


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


_FEW_TERMS = 32
_MOST_ATOMS = 2**22
_SHORT = 128
_NOTHING = 150


@dataclass(frozen=True, eq=False)
class Factor:
    """`times` draws from parts / total at the places `at`; `row` is the same in doubles.

    |row - parts / total|_1 <= blur, and a mass of at most `lost` of each draw is in neither."""

    at: list[int]
    parts: list[arb]
    total: arb
    row: NDArray[np.float64]
    times: int
    blur: float
    lost: float = 0.0

    @property
    def places(self) -> NDArray[np.int64]:
        """`at` as an array."""
        return np.array(self.at, dtype=np.int64)


def factors(terms: Sequence[Term]) -> list[Factor]:
    """One factor a term; more than 32 terms become one factor for each binary digit of their multiplicities.

    prod_g z_g^n_g = prod_b (prod of the z_g whose n_g has digit b)^(2^b), and the inner product is the convolution of
    the laws, found in balls. (Very long laws are better left alone: their products cost more than their FFTs.)"""
    if len(terms) <= _FEW_TERMS or sum(len(term.at) for term in terms) > _MOST_ATOMS:
        return [
            Factor(
                term.at, [arb(fmpz(p)) for p in term.parts], arb(fmpz(term.total)), np.array(term.floats()),
                term.times, 2 * UNIT,
            )
            for term in terms
        ]  # fmt: skip
    most = max(term.times for term in terms)
    with balls.precision(_BITS):
        buckets = [[term for term in terms if term.times >> b & 1] for b in range(most.bit_length())]
        return [_joined(bucket, 1 << b) for b, bucket in enumerate(buckets) if bucket]


def _joined(terms: Sequence[Term], times: int) -> Factor:
    """The convolution of the laws by a tree of products; ends below 2^-150 are dropped, and their mass is counted."""
    laws = [(0, arb_poly([arb(fmpz(p)) / fmpz(term.total) for p in term.dense()])) for term in terms]
    lost, nothing = arb(0), arb(2) ** -_NOTHING
    while len(laws) > 1:
        joined = []
        for (i, a), (j, b) in zip(laws[::2], laws[1::2], strict=False):
            product = a * b
            if product.degree() < _SHORT:
                joined.append((i + j, product))
                continue
            parts = product.coeffs()
            first, last = 0, len(parts)
            while parts[first] < nothing:
                first += 1
            while parts[last - 1] < nothing:
                last -= 1
            joined.append((i + j + first, arb_poly(parts[first:last])))
            lost += sum(parts[:first] + parts[last:], arb(0))
        laws = joined + laws[len(laws) & ~1 :]
    start, law = laws[0]
    parts = law.coeffs()
    row = np.array([float(part.mid()) for part in parts])
    blur = sum((abs(part - arb(x)) for part, x in zip(parts, row.tolist(), strict=True)), arb(0))
    at = list(range(start, start + len(parts)))
    return Factor(at, parts, arb(1), row, times, balls.upper(blur), balls.upper(lost))


_WINDOW_BITS = 192
_MARGIN = 1e-12


@dataclass(frozen=True)
class SumWindow:
    """low <= S <= high but for a probability of at most `outside`."""

    low: int
    high: int
    outside: float

    @property
    def width(self) -> int:
        """How many whole numbers it holds."""
        return self.high - self.low + 1


def enclose(terms: Sequence[Term], tail: float = TAIL) -> SumWindow:
    """A window with P(S < low) <= tail and P(S > high) <= tail; an end that is an end of the support costs nothing.

    Moments are doubles. The mean m is within 8 units of 2^-53 of itself, so less than 1 off (sums stay below 10^15),
    and an integer S > high >= m + s is at least s above the true mean. E (X - c)^2 >= Var X for every c, so V is on the
    safe side wherever its centre falls; the margin of 1e-12 covers its rounding and that of the bounds.

    >>> enclose([Term([0, 1], [1, 1], 2, times=10**6)], 1e-15).width
    8325
    """
    span = sum(term.times * term.at[-1] for term in terms)
    means, seconds, up, down = [], [], 0.0, 0.0
    for term in terms:
        weights = term.floats()
        mean = math.fsum(w * k for w, k in zip(weights, term.at, strict=True))
        second = math.fsum(w * (k - mean) ** 2 for w, k in zip(weights, term.at, strict=True))
        means.append(term.times * mean)
        seconds.append(term.times * second)
        up, down = max(up, term.at[-1] - mean), max(down, mean)
    mean, margin = math.fsum(means), _MARGIN * max(term.at[-1] for term in terms)
    with balls.precision(_WINDOW_BITS):
        variance = arb(math.fsum(seconds)) * arb(1 + _MARGIN)
        above, beyond = _distance(variance, arb(up) + arb(margin), tail, span)
        below, before = _distance(variance, arb(down) + arb(margin), tail, span)
    low, high = max(0, math.floor(mean - below)), min(span, math.ceil(mean + above))
    return SumWindow(low, high, math.fsum([before if low > 0 else 0.0, beyond if high < span else 0.0]) * (1 + _MARGIN))


def bennett(variance: arb, bound: arb, distance: int) -> arb:
    """P(S - E S >= s) <= exp(-(V / b^2) h(b s / V)), h(u) = (1 + u) ln(1 + u) - u, if all X_i - E X_i <= b.

    Bennett 1962; Boucheron, Lugosi, Massart 2013, Theorem 2.9. V is the variance of S, or anything above it."""
    u = bound * distance / variance
    return (-(variance / bound**2) * ((1 + u) * u.log1p() - u)).exp()


def _distance(variance: arb, bound: arb, tail: float, span: int) -> tuple[int, float]:
    """The least whole distance at which Bennett's bound is at most `tail` (at most the span), and the bound there."""
    low, high = 0, 1
    while high <= span and not bennett(variance, bound, high) <= tail:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bennett(variance, bound, middle) <= tail else (middle, high)
    return high, balls.upper(bennett(variance, bound, high))


@dataclass(frozen=True)
class Term:
    """`times` independent users with P(X = at[k]) = parts[k] / total, where 0 = at[0] < at[1] < ... and parts > 0.

    >>> Term.of([0, 3], [2, 4])
    Term(at=[0, 3], parts=[1, 2], total=3, times=1)
    """

    at: list[int]
    parts: list[int]
    total: int
    times: int = 1

    @staticmethod
    def of(at: Sequence[int], parts: Sequence[int], times: int = 1) -> Term:
        """The term with these counts, in lowest terms."""
        common = math.gcd(*parts)
        reduced = [part // common for part in parts]
        return Term(list(at), reduced, sum(reduced), times)

    def dense(self) -> list[int]:
        """The counts at 0, 1, 2, ..., zeros between the atoms."""
        filled = [0] * (self.at[-1] + 1)
        for k, part in zip(self.at, self.parts, strict=True):
            filled[k] = part
        return filled

    def floats(self) -> list[float]:
        """The probabilities, each correctly rounded."""
        return [part / self.total for part in self.parts]
