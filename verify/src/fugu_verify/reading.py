"""What a certificate says, read from its decoded JSON: budgets, laws on lattice indices, and the noise that is drawn.

Nothing is believed that can be checked: masses must make up their total, points must be whole numbers, and what cannot
be read is refused with `BadCertificate`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from fugu_verify.result import Asked, BadCertificate, NotSummed

Part = Mapping[str, object]
_NUMBER = re.compile(r"[-+]?(\d+/\d+|(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,4})?)", re.ASCII)
_LONGEST = 9_000
POWERS = {"cauchy2": 1, "cauchy4": 2, "cauchy6": 3}


@dataclass(frozen=True)
class Law:
    """Masses between low / total and high / total at the points of a family; equal where they are exact.

    `error`: how far the true law may be in total variation. `outside`: at most so much mass is at no point."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    total: int
    error: Fraction = Fraction(0)
    outside: Fraction = Fraction(0)

    @property
    def exact(self) -> bool:
        """Whether this is the law itself."""
        return not self.error and not self.outside and self.low == self.high


@dataclass(frozen=True)
class Family:
    """Laws on shared points (vectors of whole numbers), and which of them are compared."""

    points: tuple[tuple[int, ...], ...]
    laws: tuple[Law, ...]
    pairs: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Drawn:
    """Independent noise in every coordinate: mass ~ e^(-decay |k|) or e^(-decay k^2) at k steps; or none. With a
    `power` m: mass ~ (1 + (decay k)^2)^-m."""

    kind: str
    decay: Fraction
    power: int = 0

    @property
    def silent(self) -> bool:
        """Whether nothing is added."""
        return self.kind == "silent"


def number(x: object) -> Fraction:
    """The exact number that a part of the document stands for."""
    if type(x) is int:
        return Fraction(x)
    if isinstance(x, float):
        return _meant(x)
    if not isinstance(x, str) or len(x) > _LONGEST or not _NUMBER.fullmatch(x):
        raise BadCertificate("what should be a number in the certificate is none")
    try:
        return Fraction(x)
    except (ValueError, ZeroDivisionError):
        raise BadCertificate("what should be a number in the certificate is none") from None


def _meant(x: float) -> Fraction:
    """A double of at most 15 digits is that decimal; any other is the binary number itself."""
    digits = repr(x).partition("e")[0].replace(".", "").lstrip("-0")
    return Fraction(repr(x)) if len(digits) <= 15 else Fraction(x)


def whole(x: object) -> int:
    """A whole number, in hexadecimal if it is long."""
    if isinstance(x, str) and re.fullmatch(r"-?0x[0-9a-f]+", x):
        return int(x, 16)
    found = number(x)
    if found.denominator != 1 or isinstance(x, float):
        raise BadCertificate("what should be a whole number in the certificate is none")
    return found.numerator


def part(x: object) -> Part:
    """An object of the document."""
    if not isinstance(x, Mapping):
        raise BadCertificate("a part of the certificate that should be an object is none")
    return cast(Part, x)


def rows(x: object) -> Sequence[object]:
    """A list of the document."""
    if not isinstance(x, Sequence) or isinstance(x, str):
        raise BadCertificate("a part of the certificate that should be a list is none")
    return x


def asked(content: Part) -> Asked:
    """The budget."""
    found = part(content["budget"])
    kind, zero = found["kind"], Fraction(0)
    if kind == "Pure":
        return Asked(_at_least_zero(found["epsilon"]), zero)
    delta = _at_least_zero(found["delta"])
    if kind == "Approx":
        return Asked(_at_least_zero(found["epsilon"]), delta)
    if kind == "Renyi":
        return _orders([(str(found["alpha"]), str(found["epsilon"]))], delta)
    if kind == "RenyiCurve":
        listed = [tuple(point.split(": ")) for point in str(found["epsilons"]).split(", ")]
        return _orders([(a, e) for a, e in listed], delta)
    raise BadCertificate("the certificate's budget is of a kind that is not known")


def _orders(listed: list[tuple[str, str]], delta: Fraction) -> Asked:
    if any(a == "inf" for a, _ in listed):
        raise NotSummed("a Rényi curve with the order infinity is not summed; ask for Pure and a curve apart")
    orders = tuple((number(a), _at_least_zero(e)) for a, e in listed)
    if any(a <= 1 for a, _ in orders):
        raise BadCertificate("a Rényi order of the certificate is not above 1")
    return Asked(min(e for _, e in orders), delta, orders)


def _at_least_zero(x: object) -> Fraction:
    found = number(x)
    if found < 0:
        raise BadCertificate("the certificate's budget is negative")
    return found


def drawn(content: Part) -> Drawn:
    """The noise in steps of the lattice: decay grid / scale (Laplace), grid^2 / (2 scale^2) (Gaussian)."""
    stated = part(content["noise"])
    kind = stated["kind"]
    if kind not in ("laplace", "gaussian", "atoms", *POWERS):
        raise NotSummed(
            f"noise of kind {str(kind)[:40]!r} is not summed here; Laplace, Gaussian and lattice Cauchy noise are"
        )
    scale = number(stated["scale"])
    if scale < 0:
        raise BadCertificate("the certificate's noise has a negative scale")
    if scale == 0:
        return Drawn("silent", Fraction(0))
    if content["lattice"] is None:
        raise BadCertificate("the certificate's noise has no lattice")
    grid = number(part(content["lattice"])["grid"])
    if grid <= 0 or number(stated["grid"]) != grid:
        raise BadCertificate("the noise of the certificate is not on its lattice")
    if _meant(float(scale)) != scale:
        raise NotSummed("the scale of the noise is not a number that the sampler takes: not a double")
    if kind == "atoms":
        return _on_atoms(content, grid / scale)
    if kind in POWERS:
        return Drawn(str(kind), grid / scale, POWERS[str(kind)])
    return Drawn(str(kind), grid / scale if kind == "laplace" else grid**2 / (2 * scale**2))


def _on_atoms(content: Part, decay: Fraction) -> Drawn:
    """Laplace noise on the atoms: P(y) is c_y times the sum that Laplace noise has there, with c_y the same for every
    law. So the ratios at its outputs are those of Laplace noise there, and the largest ratio of Laplace noise is at an
    atom: without delta the two promise the same. With delta, or of a finite order, they do not."""
    budget = asked(content)
    if budget.delta or budget.orders:
        raise NotSummed("of noise on atoms only the loss without delta is summed here, which is that of Laplace noise")
    atoms = {whole(x) for x in rows(part(content["noise"])["atoms"])}
    points = {_point(row) for found in rows(content["families"]) for row in rows(part(found)["points"])}
    if not all(len(p) == 1 and p[0] in atoms for p in points):
        raise BadCertificate("the certificate's laws are not on the atoms of its noise")
    return Drawn("laplace", decay)


def family(found: Part) -> Family:
    """A family of laws with atoms, in one dimension or more."""
    points = tuple(_point(row) for row in rows(found["points"]))
    if not points or len(set(points)) < len(points) or len({len(p) for p in points}) > 1:
        raise BadCertificate("the certificate's laws are not on distinct points of one dimension")
    laws = tuple(_law(part(law), len(points)) for law in rows(found["laws"]))
    pairs = tuple((whole(rows(p)[0]), whole(rows(p)[1])) for p in rows(found["pairs"]))
    labels = tuple(str(label) for label in rows(found["labels"]))
    if not pairs or len(labels) != len(pairs) or any(not 0 <= k < len(laws) for p in pairs for k in p):
        raise BadCertificate("the certificate's pairs are not pairs of its laws, with one label each")
    return Family(points, laws, pairs, labels)


def _point(row: object) -> tuple[int, ...]:
    found = (row,) if type(row) is int else tuple(rows(row))
    if any(type(x) is not int for x in found):
        raise BadCertificate("the points of the certificate's laws are not whole numbers")
    return cast(tuple[int, ...], found)


def _law(found: Part, count: int) -> Law:
    listed = rows(found["parts"])
    if found["kind"] == "binary":
        masses = [Fraction(float.fromhex(str(x))) for x in listed]
    else:
        masses = [Fraction(whole(x)) for x in listed]
    stated = found["total"]
    total = Fraction(whole(stated)) if isinstance(stated, str) and stated.startswith("0x") else number(stated)
    if len(masses) != count or min(masses) < 0 or sum(masses) != total or total <= 0:
        raise BadCertificate("a law in the certificate is not a probability law")
    common = max(m.denominator for m in (*masses, total))
    if any((m * common).denominator != 1 for m in (*masses, total)):
        raise BadCertificate("a law in the certificate is not a probability law")
    numerators = tuple(int(m * common) for m in masses)
    error = number(found.get("error", "0"))
    if not 0 <= error <= 1:
        raise BadCertificate("the error of a law in the certificate is not a total variation")
    return Law(numerators, numerators, int(total * common), error)
