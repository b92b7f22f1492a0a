"""The life of a request: refused, or reserved and then settled or failed; each step is one event."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fugu.documents.document import canonical_json
from fugu.errors import BudgetExceeded, CertificateError, FuguError, NotComposable
from fugu.guarantee import Guarantee
from fugu.guarantee.encoding import budget_json
from fugu.ledger.chain import sha256
from fugu.ledger.state import REFUSED, RESERVED, SETTLED
from fugu.ledger.store import Writing


def enter(
    to: Writing,
    data: str,
    request: str,
    asked: tuple[str, str, int],
    refused: FuguError | None,
    skipped: tuple[str, ...] = (),
    worth: Guarantee | None = None,
    people: str | None = None,
) -> None:
    """Write a new request (charge, question, planned), or one that was refused before; reserved, or refused and why.

    `skipped` names the secrets of probability 0 under the prior of the data, of which the charge says nothing; `worth`
    is what all charges promise together after it, translated with the prior; `people` the set of those it is about."""
    state = RESERVED if refused is None else REFUSED
    note = "" if refused is None else _why(refused)
    told = dict(zip(("charge", "question", "planned", "note"), (*asked, note), strict=True))
    more: dict[str, Any] = {"skipped": list(skipped)} if skipped else {}
    more |= {} if people is None else {"people": people}
    with suppress(CertificateError):  # a curve with an infinite epsilon has no JSON
        more |= {} if worth is None else {"worth": canonical_json(budget_json(worth))}
    to.append(state, {"dataset": data, "request": request, **told, **more})


def finish(to: Writing, data: str, request: str, state: str, value: str | None, note: str) -> str | None:
    """Settle or fail a request that is not settled; a settled one keeps the value it has. The value it then has."""
    known = to.request(data, request)
    assert known is not None  # reserved, by this caller or by one that died
    if known.state == SETTLED:
        return to.attached(known)
    more: dict[str, Any] = {"note": note} if value is None else {"sha256": sha256(value)}
    to.append(state, {"dataset": data, "request": request, **more}, value or "")
    return value


def _why(refused: FuguError) -> str:
    if isinstance(refused, BudgetExceeded) and refused.spent is not None:
        return f"spent {refused.spent!r}, asked {refused.asked!r}, left {refused.left!r}"
    return refused.why if isinstance(refused, NotComposable) else str(refused)
