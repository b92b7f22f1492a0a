"""Entering a data set into a ledger: its terms are fixed once, and known data gets no second budget."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from fugu.errors import DataKnown, UsageError, did_you_mean
from fugu.guarantee.encoding import budget_from, budget_json
from fugu.ledger.accountant import Terms
from fugu.ledger.believed import believed
from fugu.ledger.charge import Charge
from fugu.ledger.fingerprint import Marks, keyed, prior_digest
from fugu.ledger.names import canonical
from fugu.ledger.state import Registered, State
from fugu.ledger.store import View, Writing


def known_already(view: View, name: str, terms: Terms, marks: Marks | None, blocks: tuple[str, ...] | None) -> bool:
    """Whether the data set is there with these terms and marks, so that nothing has to be written; errors as below."""
    return name in view.state.sets and not _missing(view, name, terms, marks, blocks)


def register(to: Writing, name: str, terms: Terms, marks: Marks | None, blocks: tuple[str, ...] | None) -> None:
    """Find the data set or enter it; other terms, or known data under a new name, are refused."""
    if name in to.state.sets:
        if more := _missing(to, name, terms, marks, blocks):
            to.append("identify", {"dataset": name, "marks": more})
        return
    for other in to.state.sets:
        if canonical(other) == canonical(name):
            raise DataKnown(
                f"the ledger has a data set {other!r}, which looks the same; open it by that name, or give new data a "
                "name that differs in more than case, spacing and invisible characters"
            )
    told = dict(zip(("budget", "prior", "entries"), _stated(terms), strict=True))
    words = {} if terms.prior is None else {"believed": believed(terms.prior)}
    shown = list(_recognised(to, name, marks))
    to.append("register", {"dataset": name, "marks": shown, "blocks": list(blocks or ()), **told, **words})


def declared_block(state: State, name: str, block: str) -> None:
    """Refuse a block that was not declared with the data set; one of version 0.1 has those that it has used."""
    blocks = state.sets[name].blocks
    if blocks is None:
        used = (Charge.parse(text).block for text in state.sums.get(name, {}))
        blocks = tuple(sorted({b for b in used if b}))
    if canonical(block) not in map(canonical, blocks):
        raise UsageError(
            f"no block {block!r} of data set {name!r}{did_you_mean(block, blocks)}. Blocks are declared when a data "
            "set is first opened, Ledger(..., blocks=[...]): a new name is no new part of the data"
        )


def _missing(view: View, name: str, terms: Terms, marks: Marks | None, blocks: tuple[str, ...] | None) -> list[str]:
    """The marks that a known data set does not have yet, once its terms are found to be the same."""
    known = view.state.sets[name]
    told = (known.budget, known.prior, known.entries)
    for what, have, given in zip(("budget", "prior", "number of entries"), told, _stated(terms), strict=True):
        if have != given:
            raise _other(name, what, _both(what, known, terms))
    if blocks is not None and {*map(canonical, blocks)} != {*map(canonical, known.blocks or ())}:
        raise _other(name, "list of blocks")
    found = _recognised(view, name, marks)
    return [mark for mark in found if mark not in known.marks]


def _recognised(view: View, name: str, marks: Marks | None) -> Iterable[str]:
    """The marks of the data under the key of the file; an error if the ledger knows it otherwise.

    Any one mark in common makes it the same data: its rows, or a column with many values."""
    if marks is None:
        return ()
    key = view.key
    found = {keyed(key, digest): what for digest, what in marks.named.items()}
    early: Mapping[str, str] = {}
    if any(known.early and known.marks for known in view.state.sets.values()):
        early = {keyed(key, digest): what for digest, what in marks.earlier().items()}
    for other, known in view.state.sets.items():
        same = _common(known, found, early)
        if other != name and same is not None:
            raise DataKnown(
                f"this data is known to the ledger as {other!r}: {same}. A new name, another column or a part of the "
                f"columns is no fresh budget; open it with data={other!r}"
            )
        if other == name and same is None and known.marks and found:
            raise UsageError(
                f"data set {name!r} was registered with other content; give new data a new name. Another column of the "
                "same people is not new data: what two law-based releases of it promise together is not known"
            )
    return found


def _common(known: Registered, found: Mapping[str, str], early: Mapping[str, str]) -> str | None:
    """What of the data is that of a known data set, or None."""
    looked = {**found, **early} if known.early else found
    return next((looked[mark] for mark in known.marks if mark in looked), None)


def _stated(terms: Terms) -> tuple[str, str | None, int | None]:
    return json.dumps(budget_json(terms.budget), sort_keys=True), prior_digest(terms.prior), terms.entries


def _both(what: str, known: Registered, terms: Terms) -> str:
    """What was registered and what is asked for now, in words."""
    if what == "budget":
        return f": with {budget_from(json.loads(known.budget))!r}, and now {terms.budget!r} is asked for"
    if what == "prior":
        had = "none" if known.prior is None else known.believed or "one that the file does not describe"
        now = believed(terms.prior) or "none"
        return f" (of a session: another reference, secret, schema or unit): with {had}, and now {now} is given"
    return f": with {known.entries or 'none stated'}, and now {terms.entries or 'none'} is given"


def _other(name: str, what: str, both: str = "") -> UsageError:
    return UsageError(
        f"data set {name!r} was registered with another {what}{both}; a ledger's terms are fixed when the data set is "
        "first opened. Open it with those terms, or give new data a new name"
    )
