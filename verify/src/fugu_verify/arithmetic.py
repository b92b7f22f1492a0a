"""Exponentials and logarithms of rationals between whole numbers: everything rounded outward, nothing in doubles.

An enclosure is a pair of integers (low, high) in units of 2^-bits: low <= x 2^bits <= high. Only sums, products, floor
divisions and shifts of integers are used."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from fugu_verify.result import NotSummed

Enclosure = tuple[int, int]
_SMALL = 12
"""Arguments of the exponential series are halved until they are below 2^-12."""
_HIGHEST = 1_000_000


def up(numerator: int, denominator: int) -> int:
    """The quotient rounded up; the denominator is positive."""
    return -(-numerator // denominator)


def exp(x: Fraction, bits: int) -> Enclosure:
    """e^x in units of 2^-bits.

    For y = |x|: e^(y / 2^n) by the series sum t^k / k!, t < 2^-12, whose rest after the term t^k / k! is at most that
    term; then its inverse e^(-y / 2^n) <= 1 is squared n times. Squaring an enclosure of width w inside [0, 1] gives
    one of width at most 2 w + 2, so n + 4 more bits keep the last digit. For x > 0 the inverse is taken again, at twice
    the bits of the result.

    >>> low, high = exp(Fraction(1), 64)
    >>> high - low <= 2, low / 2**64
    (True, 2.718281828459045)
    """
    if x > _HIGHEST:
        raise NotSummed(f"a power of e above {_HIGHEST:,} would carry millions of bits")
    y = abs(x)
    halvings = max(0, y.__ceil__().bit_length() + _SMALL)
    grown = 2 * (y * 3 / 2).__ceil__() if x > 0 else 0  # log2(e) < 3/2
    work = bits + grown + halvings + 32
    low, high = _small_exp(y / 2**halvings, work)
    low, high = (1 << 2 * work) // high, up(1 << 2 * work, low)  # the inverse
    for _ in range(halvings):
        low, high = low * low >> work, -(-high * high >> work)
    if x > 0:
        low, high = (1 << 2 * work) // high, up(1 << 2 * work, low)
    return low >> work - bits, -(-high >> work - bits)


def _small_exp(t: Fraction, bits: int) -> Enclosure:
    """e^t for 0 <= t < 2^-12: terms rounded down and up; what is left is at most the first term left out, twice."""
    first = (t.numerator << bits) // t.denominator
    low_t, high_t = first, first + 1
    low = high = term_low = term_high = 1 << bits
    k = 1
    while term_high > 1:
        term_low = (term_low * low_t >> bits) // k
        term_high = up((term_high * high_t >> bits) + 1, k)
        low, high, k = low + term_low, high + term_high, k + 1
    return low, high + 2


def log(x: Fraction, bits: int) -> Enclosure:
    """ln x of a positive rational, in units of 2^-bits.

    x = m 2^n with 2/3 <= m <= 4/3, and ln m = 2 artanh z with z = (m - 1) / (m + 1), |z| <= 1/5.

    >>> low, high = log(Fraction(10), 64)
    >>> high - low <= 2, low / 2**64
    (True, 2.302585092994046)
    """
    if x <= 0:
        raise ArithmeticError("a logarithm is taken of positive numbers only")
    n = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / 2**n if n >= 0 else x * 2**-n
    while m > Fraction(4, 3):
        m, n = m / 2, n + 1
    while m < Fraction(2, 3):
        m, n = m * 2, n - 1
    work = bits + n.bit_length() + 16
    low, high = _artanh(abs(m - 1) / (m + 1), work)
    low, high = (2 * low, 2 * high) if m >= 1 else (-2 * high, -2 * low)
    two = _log_two(work)
    low, high = (low + n * two[0], high + n * two[1]) if n >= 0 else (low + n * two[1], high + n * two[0])
    return low >> work - bits, -(-high >> work - bits)


@lru_cache(maxsize=64)
def _log_two(bits: int) -> Enclosure:
    """ln 2 = 2 artanh 1/3."""
    low, high = _artanh(Fraction(1, 3), bits)
    return 2 * low, 2 * high


def _artanh(z: Fraction, bits: int) -> Enclosure:
    """sum z^k / k over odd k, for 0 <= z <= 1/3; after a power of at most 2 units the rest is below 4 units."""
    low_z = (z.numerator << bits) // z.denominator
    low_p, high_p = low_z, low_z + 1
    low_s, high_s = low_p * low_p >> bits, (high_p * high_p >> bits) + 1
    low = high = 0
    k = 1
    while high_p > 2:
        low, high = low + low_p // k, high + high_p // k + 1
        low_p, high_p, k = low_p * low_s >> bits, (high_p * high_s >> bits) + 1, k + 2
    return low, high + 4


@lru_cache(maxsize=16)
def pi(bits: int) -> Enclosure:
    """16 arctan 1/5 - 4 arctan 1/239 (Machin): alternating series, so that the truth is between two of their sums.

    >>> low, high = pi(64)
    >>> high - low <= 64, low / 2**64
    (True, 3.141592653589793)
    """
    low = high = 0
    work = bits + 16
    for times, x in ((16, 5), (-4, 239)):
        total, power, k = 0, (1 << work) // x, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power, k = power // (x * x), k + 2
        slack = 2 * k  # each term is cut by less than two units, and the rest is below one
        low, high = (
            low + min(times * (total - slack), times * (total + slack)),
            high + max(times * (total - slack), times * (total + slack)),
        )
    return low >> work - bits, -(-high >> work - bits)


def exp_sum_sign(terms: dict[Fraction, Fraction]) -> int:
    """The sign of sum over x of terms[x] e^x for rational x: decided, always.

    Exponentials of distinct rationals are linearly independent over the rationals (Lindemann 1882, Weierstrass 1885),
    so the sum is zero only if every coefficient is; otherwise enough bits show its sign.

    >>> exp_sum_sign({Fraction(0): Fraction(1), Fraction(1): Fraction(-1, 3)})
    1
    """
    left = {x: c for x, c in terms.items() if c}
    if not left:
        return 0
    top = max(left)
    bits = 64
    while True:
        low = high = Fraction(0)
        for x, c in left.items():
            a, b = exp(x - top, bits)
            low, high = low + c * (a if c > 0 else b), high + c * (b if c > 0 else a)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        bits *= 2
