"""Probability masses held exactly: counts, or doubles read as the binary numbers they are, over one exact total."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, CertificateError
from fugu.numbers.checks import is_number
from fugu.numbers.exact import decimal_step, float_up, integers, read_number, read_whole

_TOLERANCE = Fraction(1, 10**9)
_LONG = 10_000
"""Whole numbers of more bits are written in hexadecimal: Python refuses decimals of more than 4300 digits."""


@dataclass(frozen=True, eq=False)
class Masses:
    """parts / total: `parts` is int64, float64 (exact dyadics) or object (big Python integers)."""

    parts: NDArray[Any]
    total: Fraction

    def floats(self) -> NDArray[np.float64]:
        """The probabilities as doubles, each within 2 units in the last place."""
        if self.parts.dtype == object:
            denominator = self.total.numerator
            scale = self.total.denominator
            return np.array([int(p) * scale / denominator for p in self.parts], dtype=np.float64)
        return self.parts.astype(np.float64) / float(self.total)

    def logs(self) -> NDArray[np.float64]:
        """ln of the probabilities, also of those below the range of doubles; -inf for none. Within 4 units of
        |ln| + 1: of the quotient, since ln part - ln total loses what both have in common."""
        with np.errstate(divide="ignore"):
            if self.parts.dtype == np.int64:
                return np.log(self.floats())
            if self.parts.dtype != object:
                return np.log(self.parts.astype(np.float64)) - math.log(self.total)  # the total is 1 to nine digits
        denominator, logs = self.total.numerator, np.full(len(self.parts), -np.inf)
        for k in np.flatnonzero(self.parts).tolist():  # a power of two, and a number between 1/2 and 2
            numerator = int(self.parts[k]) * self.total.denominator
            power = numerator.bit_length() - denominator.bit_length()
            near = (numerator << max(0, -power)) / (denominator << max(0, power))
            logs[k] = math.log(near) + power * math.log(2)
        return logs

    def whole(self) -> tuple[list[int], int]:
        """The same masses as Python integers over an integer total."""
        if self.parts.dtype != np.float64:
            scale = self.total.denominator
            numerators = [int(p) * scale for p in self.parts.tolist()]
            return numerators, self.total.numerator
        ratios = [float(p).as_integer_ratio() for p in self.parts.tolist()]
        common = max([d for _, d in ratios] + [self.total.denominator])
        return [n * (common // d) for n, d in ratios], int(self.total * common)

    def scatter(self, index: NDArray[np.int64], size: int) -> Masses:
        """The law pushed forward by atom -> index; masses that meet are added exactly."""
        if index.size == size and np.array_equal(index, np.arange(size)):
            return self
        if np.all(index[1:] > index[:-1]) or np.unique(index).size == index.size:
            placed = np.zeros(size, dtype=self.parts.dtype)
            placed[index] = self.parts
            return Masses(placed, self.total)
        if self.parts.dtype == np.int64:
            placed = np.zeros(size, dtype=np.int64)
            np.add.at(placed, index, self.parts)
            return Masses(placed, self.total)
        numerators, total = self.whole()
        gathered = np.zeros(size, dtype=object)
        for i, part in zip(index.tolist(), numerators, strict=True):
            gathered[i] += part
        return Masses(gathered, Fraction(total))

    def to_json(self, error: float) -> dict[str, Any]:
        """Parts over their total; "error", if there is one, is how far in total variation the true law may be."""
        total = str(self.total) if self.total.numerator.bit_length() <= _LONG else hex(self.total.numerator)
        known = {"error": str(Fraction(error))} if error else {}
        if self.parts.dtype.kind == "f":
            return {"kind": "binary", "parts": [float(p).hex() for p in self.parts.tolist()], "total": total, **known}
        parts = [p if p.bit_length() <= _LONG else hex(p) for p in map(int, self.parts.tolist())]
        return {"kind": "counts", "parts": parts, "total": total, **known}

    @staticmethod
    def from_json(found: dict[str, Any], count: int) -> tuple[Masses, float]:
        """What `to_json` wrote, checked: so many masses >= 0 that make up the total, and the error."""
        if found["kind"] == "binary":
            parts: NDArray[Any] = np.array([float.fromhex(p) for p in found["parts"]], dtype=np.float64)
            valid = bool(np.all(np.isfinite(parts)) and np.all(parts >= 0))
        elif found["kind"] != "counts":
            raise CertificateError("a law in the certificate is neither counts nor binary numbers")
        else:
            counts = [read_whole(p) for p in found["parts"]]
            parts = np.array(counts, dtype=np.int64 if sum(map(abs, counts)) < 2**62 else object)
            valid = all(p >= 0 for p in counts)
        stated, error = found["total"], read_number(found.get("error", "0"))
        hexadecimal = isinstance(stated, str) and stated.startswith("0x")
        law = Masses(parts, Fraction(read_whole(stated)) if hexadecimal else read_number(stated))
        numerators, total = law.whole()
        if not valid or len(parts) != count or sum(numerators) != total or total <= 0:
            raise CertificateError("a law in the certificate is not a probability law")
        if not 0 <= error <= 1:
            raise CertificateError("the error of a law in the certificate is not a total variation")
        return law, float_up(error)

    def same_as(self, other: Masses) -> bool:
        """Whether the two laws give every atom exactly the same probability."""
        if self.parts.dtype == other.parts.dtype == np.int64:  # counts: where one has most of them says no at once
            k = int(self.parts.argmax())
            if int(self.parts[k]) * other.total != int(other.parts[k]) * self.total:
                return False
        if self.total == other.total and self.parts.dtype == other.parts.dtype:
            return bool(np.array_equal(self.parts, other.parts))
        head = slice(0, 64)  # a quick no, before the exact comparison
        mine, theirs = Masses(self.parts[head], self.total), Masses(other.parts[head], other.total)
        if not np.allclose(mine.floats(), theirs.floats(), rtol=1e-9, atol=0):
            return False
        (a, s), (b, t) = self.whole(), other.whole()
        return all(x * t == y * s for x, y in zip(a, b, strict=True))


def masses(weights: Iterable[object] | None, count: int) -> Masses:  # noqa: PLR0911
    """Read weights by the rules of the design: integers are counts, Fractions sum to 1, floats sum to 1 within 1e-9."""
    if weights is None:
        return Masses(np.ones(count, dtype=np.int64), Fraction(count))
    array = np.asarray(weights if isinstance(weights, np.ndarray) else list(weights))
    if array.shape != (count,):
        raise BadLaw(f"expected {count} weights, one for each value, got shape {array.shape}")
    if array.dtype == object:
        items = array.tolist()
        if not all(map(is_number, items)):
            raise BadLaw("weights must be counts, Fractions or floats")
        if not all(isinstance(w, int | Fraction) for w in items):
            return _from_floats(np.array([float(w) for w in items], dtype=np.float64))
        if all(isinstance(w, int) for w in items):
            return _from_integers(items)
        fractions = [Fraction(w) for w in items]
        if (total := sum(fractions, Fraction(0))) != 1:
            raise BadLaw(f"Fractions must sum to exactly 1, got {total}; for counts give whole numbers")
        common = math.lcm(*(f.denominator for f in fractions))
        return _from_integers([int(f * common) for f in fractions])
    if array.dtype.kind in "iu":
        counts = array.astype(np.int64)
        small = array.dtype != np.uint64 and float(counts.astype(np.float64).sum()) < 2.0**62
        if small and counts.size and counts.min() >= 0 and (whole := int(counts.sum())):
            return Masses(counts, Fraction(whole))
        return _from_integers([int(w) for w in array.tolist()])  # long ones, and what is refused
    if array.dtype.kind != "f":
        raise BadLaw(f"weights must be counts, Fractions or floats, got {array.dtype}")
    return _from_floats(array.astype(np.float64))


def _from_integers(numbers: list[int]) -> Masses:
    if any(n < 0 for n in numbers):
        raise BadLaw("weights must not be negative")
    total = sum(numbers)
    if total == 0:
        raise BadLaw("the weights are all zero: a law needs some mass")
    if total < 2**62:
        return Masses(np.array(numbers, dtype=np.int64), Fraction(total))
    return Masses(np.array(numbers, dtype=object), Fraction(total))


def _from_floats(array: NDArray[np.float64]) -> Masses:
    if not np.all(np.isfinite(array)):
        raise BadLaw("weights must be finite numbers, found NaN or infinity")
    if array.size and array.min() < 0:
        raise BadLaw("weights must not be negative")
    step = decimal_step(array)
    if step is not None and float(array.sum()) / float(step) < 2.0**62:  # else whole parts would not fit: binary then
        parts = integers(array, step)
        total = Fraction(int(parts.sum())) * step
        read = Masses(parts, total / step)
    else:
        total = exact_sum(array)
        read = Masses(array, total)
    if abs(total - 1) > _TOLERANCE:
        raise BadLaw(f"float weights must sum to 1 within 1e-9, got {float(total):.12g}; for counts give whole numbers")
    return read


def exact_sum(array: NDArray[np.float64]) -> Fraction:
    """The exact sum of non-negative doubles: 53-bit mantissas added by exponent, in integers."""
    mantissa, exponent = np.frexp(array)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    total = Fraction(0)
    for e in np.unique(exponent).tolist():
        part = whole[exponent == e]
        high, low = int((part >> 26).sum()), int((part & (2**26 - 1)).sum())
        total += Fraction(high * 2**26 + low) * Fraction(2) ** (e - 53)
    return total
