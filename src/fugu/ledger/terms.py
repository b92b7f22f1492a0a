"""The terms that a data set has in a ledger already."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from fugu.guarantee import Guarantee
from fugu.guarantee.encoding import budget_from
from fugu.ledger.charge import LAW, Charge
from fugu.ledger.registration import Opening, kept_cap
from fugu.ledger.state import Registered
from fugu.ledger.store import File


def known_budget(path: Path, data: str) -> Guarantee | None:
    """The budget of the data set of this name; None where there is no such ledger or nothing in it binds the name."""
    known = _known(path, data)
    return None if known is None else budget_from(json.loads(known.budget))


def known_prior(path: Path, data: str) -> bool | None:
    """Whether the data set of this name was charged under a prior; None where it is not known."""
    known = _known(path, data)
    return None if known is None else known.prior is not None


def known_cap(given: Opening) -> Fraction | None:
    """The most epsilon against anybody that a data set has when it is opened so; None where there is no cap."""
    return File(given.path, 30.0).read(lambda view: kept_cap(view, given)) if given.path.is_file() else None


def released_by_law(path: Path, data: str) -> bool:
    """Whether the data set of this name has a law-based release, with which nothing charged to each record adds."""
    if not path.is_file() or path.stat().st_size == 0:
        return False
    return File(path, 30.0).read(
        lambda view: any(Charge.parse(text).kind == LAW for text, _ in view.state.charges(data))
    )


def _known(path: Path, data: str) -> Registered | None:
    """A data set to which nothing was charged binds nothing."""
    if not path.is_file():
        return None
    return File(path, 30.0).read(lambda view: view.state.sets.get(data) if view.state.binds(data) else None)
