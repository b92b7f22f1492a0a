"""What one step of a certificate's laws is in the published numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fugu.numbers.exact import read_number

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate


def published_unit(certificate: Certificate) -> Fraction:
    """What one step of the laws is in the published numbers: the step of a sum, over the rows of a mean."""
    stated: Any = certificate.body.get("statistic") or {}
    share = read_number(stated["rows"]) if stated.get("averaged") else Fraction(1)
    return (read_number(stated["step"]) if "step" in stated else Fraction(1)) / share
