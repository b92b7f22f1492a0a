"""What is public about a session at one moment, with all laws and proofs: what its certificate is written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fugu.documents.disclosure import UNPROTECTED
from fugu.guarantee import Pure
from fugu.guarantee.numbers import plain
from fugu.priors.record_laws import ASSUMPTIONS
from fugu.queries.session_state import KnownLaw, SessionState
from fugu.session.books import Books


def state_of(books: Books, rows: int) -> SessionState:
    """The session as its books are now; `rows`: of the private table, which is public."""
    belief = books.belief
    asked = belief.read(books.charges())
    worth, questions, apart = belief.worth(asked), asked.questions, asked.apart
    pricing, types = belief.pricing(asked.by), belief.groups.types(asked.by)
    features = pricing.modelled(questions)
    known: dict[int, tuple[KnownLaw, dict[tuple[tuple[str, str], ...], None]]] = {}
    for groups, _, charges in pricing.charged(questions, types, features, apart):
        for who, law in pricing.named_laws(types, groups, charges, features) or ():
            known.setdefault(id(law), (law, {}))[1][who] = None
    laws = [replace(law, known=tuple(dict(who) for who in several)) for law, several in known.values()]
    places: Mapping[int, int] = {found: k for k, found in enumerate(known)}
    left_out = (UNPROTECTED + ", ".join(belief.skipped),) if belief.skipped else ()
    assumptions = (*ASSUMPTIONS, *left_out)
    cap = books.cap if worth.any_belief <= books.cap else None  # a ledger of before 0.4 may hold more already
    return SessionState(
        books.budget, cap, Pure(plain(worth.spent)), worth.any_belief, belief.spec.json, tuple(belief.masks),
        belief.skipped, belief.reading, belief.unit, belief.table.columns, rows, worth.types, questions,
        tuple(laws), tuple(pricing.proofs(worth.jobs, places)), assumptions, apart,
    )  # fmt: skip
