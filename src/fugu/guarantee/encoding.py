"""Guarantees as JSON, exactly: every number as "p/q", and read back as the number that was meant."""

from __future__ import annotations

import math
import sys

from fugu.errors import CertificateError
from fugu.guarantee.curve import Guarantee, RenyiCurve
from fugu.guarantee.kinds import Approx, Pure, Renyi
from fugu.guarantee.zcdp import ZCDP
from fugu.numbers.exact import Real, as_fraction, read_number

_FIELDS = {
    Pure: ("epsilon",),
    Approx: ("epsilon", "delta"),
    Renyi: ("alpha", "epsilon", "delta"),
    RenyiCurve: ("delta",),
    ZCDP: ("rho",),
}
_SINGLE = {kind.__name__: kind for kind in (Pure, Approx, Renyi, ZCDP)}


def budget_json(budget: Guarantee) -> dict[str, str]:
    """A guarantee with exact numbers; the orders of a Rényi curve as "alpha: epsilon, alpha: epsilon"."""
    fields = {name: _text(getattr(budget, name)) for name in _FIELDS[type(budget)]}
    if len(fields) == 1 and "delta" in fields:
        orders = ((("inf" if math.isinf(a) else _text(a)), _text(e)) for a, e in budget.orders)
        fields["epsilons"] = ", ".join(f"{a}: {e}" for a, e in orders)
    return {"kind": type(budget).__name__, **fields}


def budget_from(found: dict[str, str]) -> Guarantee:
    """The guarantee that `budget_json` wrote."""
    if "epsilons" in found and found["kind"] == RenyiCurve.__name__:
        listed = [point.split(": ") for point in found["epsilons"].split(", ")]
        orders = {math.inf if a == "inf" else _number(a): _number(e) for a, e in listed}
        return RenyiCurve(orders, _number(found["delta"]))
    numbers = {k: _number(v) for k, v in found.items() if k != "kind"}
    return _SINGLE[found["kind"]](**numbers)


def _number(text: str) -> Real:
    """A whole number or float where it means exactly this, else the Fraction; within the range of doubles."""
    exact = read_number(text)
    if abs(exact) > sys.float_info.max:
        raise CertificateError("the certificate's budget is beyond the range of doubles")
    if exact.denominator == 1:
        return int(exact)
    return float(exact) if as_fraction(float(exact)) == exact else exact


def _text(x: Real) -> str:
    if isinstance(x, float) and math.isinf(x):
        raise CertificateError("an infinite budget cannot be certified")
    return str(as_fraction(x))
