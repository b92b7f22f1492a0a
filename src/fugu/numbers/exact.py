"""Numbers as the user wrote them: decimals read exactly, and rounding that only goes the safe way.

A float that is a decimal of at most 15 digits *means* that decimal: 0.1 is 1/10, so ten spends of 0.1
are 1. Any other float means the binary number it is. (Two different decimals of at most 15 digits are never
the same float, so the reading is unique.)
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UsageError

if TYPE_CHECKING:
    from flint import fmpq_mat

UNIT = 2.0**-53
"""Half a unit in the last place of 1: the relative error of one rounding."""
Real = float | int | Fraction
VectorLike = Sequence[Real] | NDArray[np.integer[Any] | np.floating[Any]]
"""A list or an array of numbers."""
MatrixLike = Sequence[VectorLike] | NDArray[np.integer[Any] | np.floating[Any]]
"""A table of numbers: a list of rows, or an array with two axes."""
TensorLike = (
    VectorLike
    | MatrixLike
    | Sequence[MatrixLike]
    | Sequence[Sequence[MatrixLike]]
    | Sequence[Sequence[Sequence[MatrixLike]]]
)
"""Numbers with one axis or several, as nested lists or an array."""
_MAX_DIGITS = 15
_EXACT_INT = 10**_MAX_DIGITS
_MOST_DIGITS, _MOST_HEX = 4300, 2**20
"""Of a number read from outside: Python converts no longer decimals, and hexadecimal is converted in linear time."""
_DECIMAL = re.compile(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([-+]?\d+))?\s*", re.ASCII)
_RATIO = re.compile(r"\s*[-+]?\d+\s*/\s*\d+\s*", re.ASCII)


def as_fraction(x: Real) -> Fraction:
    """The exact rational that a number given by a user stands for.

    >>> as_fraction(0.1), as_fraction(3)
    (Fraction(1, 10), Fraction(3, 1))
    """
    if isinstance(x, Rational):
        return Fraction(int(x.numerator), int(x.denominator))  # plain integers, also for numpy ones that could wrap
    value = float(x)
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    text = repr(value)
    digits = text.partition("e")[0].replace(".", "").lstrip("-0")
    return Fraction(text) if len(digits) <= _MAX_DIGITS else Fraction(value)


def number(x: object, name: str, least: Real | None = 0) -> Fraction:
    """A finite number given by the user, as the decimal it stands for, not below `least`."""
    if isinstance(x, bool) or not isinstance(x, int | float | Fraction) or not math.isfinite(x):
        raise UsageError(f"{name} must be a finite number, got {x!r}")
    if least is not None and x < least:
        raise UsageError(f"{name} must be at least {least}, got {x!r}")
    return as_fraction(x)


def is_whole(x: Any, least: int | None = None, most: int | None = None) -> bool:
    """Whether this is a whole number within the limits, of Python or of numpy; truth values are not numbers.

    >>> is_whole(3), is_whole(3.0), is_whole(True), is_whole(0, least=1), is_whole(np.int64(2), most=2)
    (True, False, False, False, True)
    """
    if isinstance(x, bool) or not isinstance(x, int | np.integer):
        return False
    return bool((least is None or x >= least) and (most is None or x <= most))


def read_number(x: object) -> Fraction:
    """The number that something from outside stands for (an option, a part of a document): UsageError if there is none.

    Text is a decimal, with or without an exponent, or "p/q"; digits and exponent are counted before anything is
    converted, so that "1e100000000" costs no more than any other wrong text. Truth values are not numbers.

    >>> read_number("0.1"), read_number("1/3"), read_number("25e-1"), read_number(0.1)
    (Fraction(1, 10), Fraction(1, 3), Fraction(5, 2), Fraction(1, 10))
    """
    if type(x) is int:
        if x.bit_length() > 4 * _MOST_HEX:
            raise UsageError("a number has too many digits to be read")
        return Fraction(x)
    if isinstance(x, float) and math.isfinite(x):
        return as_fraction(x)
    if not isinstance(x, str):
        raise UsageError("not a number, or not a finite one")
    if len(x) > 2 * _MOST_DIGITS + 16:
        raise UsageError("a number has too many digits to be read")
    decimal = _DECIMAL.fullmatch(x)
    if decimal is None and _RATIO.fullmatch(x) is None:
        raise UsageError("not a number; write a decimal such as 0.25")
    exponent = "0" if decimal is None else (decimal[1] or "0")
    if len(exponent) > 8 or abs(int(exponent)) > _MOST_DIGITS:
        raise UsageError(f"a number has an exponent beyond {_MOST_DIGITS}, which is not read")
    try:
        return Fraction(x.replace(" ", ""))
    except ZeroDivisionError:
        raise UsageError("a fraction has a denominator of 0") from None
    except ValueError:
        raise UsageError("a number has too many digits to be read") from None


def read_whole(x: object) -> int:
    """A whole number from a document, which may be written in hexadecimal if it is long; UsageError otherwise."""
    if isinstance(x, str) and len(x) <= _MOST_HEX and re.fullmatch(r"-?0x[0-9a-f]+", x):
        return int(x, 16)
    found = read_number(x)
    if found.denominator != 1 or isinstance(x, float):
        raise UsageError("what should be a whole number is not one")
    return found.numerator


def float_up(x: Fraction) -> float:
    """The least float >= x (inf beyond the range)."""
    try:
        nearest = float(x)
    except OverflowError:
        return math.inf if x > 0 else -float(np.finfo(np.float64).max)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def meant_up(x: float) -> float:
    """The least float at or above x whose decimal meaning is not below x either: what may be handed on as a bound.

    >>> meant_up(0.5), as_fraction(meant_up(0.515101235598719)) >= Fraction(0.515101235598719)
    (0.5, True)
    """
    found = x
    while math.isfinite(found) and as_fraction(found) < Fraction(x):
        found = math.nextafter(found, math.inf)
    return found


def float_down(x: Fraction) -> float:
    """The greatest float <= x."""
    return -float_up(-x)


def decimal_up(x: float, digits: int = 10) -> Fraction:
    """The least decimal of that many significant digits that is >= x; used to publish scales and epsilons.

    >>> decimal_up(0.116700009377384, 8)
    Fraction(11670001, 100000000)
    """
    exact = as_fraction(x)
    if exact <= 0:
        return Fraction(0)
    exponent = math.floor(math.log10(x)) - digits + 1
    unit = Fraction(10) ** exponent
    return math.ceil(exact / unit) * unit


def decimal_step(values: NDArray[np.float64]) -> Fraction | None:
    """The power of ten of which all values are multiples when read as decimals, or None if some is not a decimal.

    Vectorised: v is the decimal m 10^-k with |m| <= 1e15, k <= 22 iff float(m) / 10^k == v, because that
    division is correctly rounded (both operands are exact floats).
    """
    if values.size == 0:
        return Fraction(1)
    for k in range(23):
        with np.errstate(over="ignore"):
            m = np.rint(values * 10.0**k)
        if not np.all(np.abs(m) <= _EXACT_INT):
            return None
        if np.array_equal(m / 10.0**k, values):
            return Fraction(1, 10**k)
    return None


def integers(values: NDArray[np.float64], step: Fraction) -> NDArray[np.int64]:
    """The integers m with values = m * step, for a step that `decimal_step` returned."""
    return np.rint(values * float(1 / step)).astype(np.int64)


def as_flint(rows: Sequence[Sequence[Fraction]]) -> fmpq_mat:
    """A rational matrix for flint."""
    from flint import fmpq, fmpq_mat

    return fmpq_mat([[fmpq(x.numerator, x.denominator) for x in row] for row in rows])


def echelon(rows: Sequence[Sequence[Fraction]]) -> list[tuple[int, list[Fraction]]]:
    """The independent rows of a rational matrix in reduced form, each with the column of its leading 1.

    >>> echelon([[Fraction(2), Fraction(1)], [Fraction(4), Fraction(2)]])
    [(0, [Fraction(1, 1), Fraction(1, 2)])]
    """
    reduced, rank = as_flint(rows).rref()
    exact = [[Fraction(int(x.p), int(x.q)) for x in row] for row in reduced.tolist()[:rank]]
    return [(next(j for j, x in enumerate(row) if x), row) for row in exact]
