"""Charges: what one release can tell about one record, as a distance between two values of the record.

A release is *Lam-private* if its law changes by at most a factor e^Lam(x, x') when one record changes from x to x'.
Releases add, adaptively too: Lam is the sum of the charges. Three shapes cover all that fugu releases:

| release                                              | charge                                      |
|------------------------------------------------------|---------------------------------------------|
| count, sum or mean of f with Laplace noise           | `Line`: rate |f(x) - f(x')|                 |
| histogram, quantile, top-k, anything from outside    | `Cells`: epsilon if the features differ     |
| whatever reads columns that no law speaks of         | `Apart`: epsilon, on top of all the rest    |

Proofs: docs/proofs/metric-charges.md#charges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import CertificateError, UsageError
from fugu.numbers.checks import is_count, is_texts
from fugu.numbers.exact import read_number
from fugu.visible import Json, brief

States = Mapping[str, NDArray[np.int64]]
"""The value of each feature at each of the distinct states of a record."""


@dataclass(frozen=True)
class Line:
    """rate * |f(x) - f(x')| for a whole-numbered feature f.

    Parameters:
        feature: the name of f.
        rate: the loss for each unit that f changes by (1/b for Laplace noise of scale b); finite.
        most: the largest |f(x) - f(x')| on the whole domain, seen or not.
    """

    feature: str
    rate: Fraction
    most: int

    def __post_init__(self) -> None:
        _named([self.feature])
        object.__setattr__(self, "rate", _amount(self.rate, "the rate of a charge"))
        if not is_count(self.most, 0):
            raise UsageError(f"the range of a charge must be a whole number, got {brief(self.most)}")

    @property
    def own(self) -> Fraction:
        """The per-record epsilon of the release by itself."""
        return self.rate * self.most

    def to_json(self) -> Json:
        """The charge as plain data; `charge_from` reads it."""
        return {"charge": "line", "feature": self.feature, "rate": str(self.rate), "most": self.most}


@dataclass(frozen=True)
class Cells:
    """epsilon if any of the features changes, else nothing.

    Parameters:
        features: the names of the features that the release reads.
        epsilon: the loss if they change in any way; finite.
    """

    features: tuple[str, ...]
    epsilon: Fraction

    def __post_init__(self) -> None:
        if isinstance(self.features, str) or not is_texts(self.features) or not tuple(self.features):
            raise UsageError(f"a charge on cells names its features, got {brief(self.features)}")
        object.__setattr__(self, "features", tuple(self.features))
        _named(self.features)
        object.__setattr__(self, "epsilon", _amount(self.epsilon, "the epsilon of a charge"))

    @property
    def own(self) -> Fraction:
        """The per-record epsilon of the release by itself."""
        return self.epsilon

    def to_json(self) -> Json:
        """The charge as plain data; `charge_from` reads it."""
        return {"charge": "cells", "features": list(self.features), "epsilon": str(self.epsilon)}


@dataclass(frozen=True)
class Apart:
    """epsilon on top of everything else: the release reads columns that no law speaks of.

    Parameters:
        epsilon: the per-record epsilon of the release; finite.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _amount(self.epsilon, "the epsilon of a charge"))

    @property
    def own(self) -> Fraction:
        """The per-record epsilon of the release by itself."""
        return self.epsilon

    def to_json(self) -> Json:
        """The charge as plain data; `charge_from` reads it."""
        return {"charge": "apart", "epsilon": str(self.epsilon)}


RecordCharge = Line | Cells | Apart
_FIELDS = {"line": {"feature", "rate", "most"}, "cells": {"features", "epsilon"}, "apart": {"epsilon"}}


def charge_from(content: Any) -> RecordCharge:
    """The charge that `to_json` wrote; CertificateError if it is none."""
    kind = content.get("charge") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in _FIELDS or set(content) != _FIELDS[kind] | {"charge"}:
        raise CertificateError(f"{brief(content)} is no charge: it is line, cells or apart, with its numbers")
    try:
        if kind == "line":
            return Line(content["feature"], read_number(content["rate"]), content["most"])
        epsilon = read_number(content["epsilon"])
        return Cells(content["features"], epsilon) if kind == "cells" else Apart(epsilon)
    except UsageError as error:
        raise CertificateError(f"a charge that cannot be read: {error}") from None


def joined(charges: Sequence[RecordCharge]) -> tuple[RecordCharge, ...]:
    """The same total with one charge for each shape and features: numbers of the same shape are added first.

    Parameters:
        charges: in any order; the answer is in the order of first appearance, and charges of nothing are left out.

    >>> [str(c.own) for c in joined([Cells(("a",), Fraction(1)), Apart(Fraction(1)), Cells(("a",), Fraction(2))])]
    ['3', '1']
    """
    found: dict[object, RecordCharge] = {}
    for charge in charges:
        if charge.own:
            key = shape(charge)
            found[key] = _added(found[key], charge) if key in found else _added(charge)
    return tuple(found.values())


def shape(charge: RecordCharge) -> tuple[object, ...]:
    """What a charge is but for its number: charges of one shape are one charge, of the sum of their numbers."""
    if isinstance(charge, Line):
        return "line", charge.feature, charge.most
    return ("cells", frozenset(charge.features)) if isinstance(charge, Cells) else ("apart",)


def _added(first: RecordCharge, second: RecordCharge | None = None) -> RecordCharge:
    """The sum of one or two charges of one shape; the features of cells in the order of their names."""
    if isinstance(first, Line):
        return Line(first.feature, first.rate + (second.rate if isinstance(second, Line) else 0), first.most)
    epsilon = first.epsilon + (Fraction(0) if second is None else second.own)
    return Cells(tuple(sorted(first.features)), epsilon) if isinstance(first, Cells) else Apart(epsilon)


def _amount(x: object, name: str) -> Fraction:
    if isinstance(x, bool) or not isinstance(x, int | Fraction) or x < 0:
        raise UsageError(f"{name} must be a finite exact number (a Fraction), not below 0; got {brief(x)}")
    return Fraction(x)


def _named(features: Sequence[object]) -> None:
    if not all(isinstance(name, str) for name in features):
        raise UsageError("features are named by texts")
    if len(set(features)) != len(features):
        raise UsageError("a charge names a feature twice")
