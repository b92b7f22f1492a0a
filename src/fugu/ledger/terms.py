"""The terms that a data set has in a ledger already."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from fugu.guarantee import Guarantee
from fugu.guarantee.encoding import budget_from
from fugu.ledger.charge import LAW, Charge
from fugu.ledger.state import Registered
from fugu.ledger.store import File


def known_budget(path: Path, data: str) -> Guarantee | None:
    """The budget of the data set of this name; None where there is no such ledger or no such data set in it."""
    known = _known(path, data)
    return None if known is None else budget_from(json.loads(known.budget))


def known_prior(path: Path, data: str) -> bool | None:
    """Whether the data set of this name was charged under a prior; None where it is not known."""
    known = _known(path, data, charged=True)
    return None if known is None else known.prior is not None


def known_cap(path: Path, data: str) -> Fraction | None:
    """The most epsilon against anybody that the data set of this name was opened with; None where there is no cap."""
    known = _known(path, data)
    return None if known is None or known.cap is None else Fraction(known.cap)


def released_by_law(path: Path, data: str) -> bool:
    """Whether the data set of this name has a law-based release, with which nothing charged to each record adds."""
    if not path.is_file() or path.stat().st_size == 0:
        return False
    return File(path, 30.0).read(
        lambda view: any(Charge.parse(text).kind == LAW for text, _ in view.state.charges(data))
    )


def _known(path: Path, data: str, charged: bool = False) -> Registered | None:
    if not path.is_file():
        return None
    return File(path, 30.0).read(
        lambda view: None if charged and not view.state.binds(data) else view.state.sets.get(data)
    )
