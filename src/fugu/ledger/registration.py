"""Entering a data set into a ledger: its terms are fixed once, and known data gets no second budget."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fugu.errors import DataKnown, UsageError, did_you_mean
from fugu.guarantee.composition import promise
from fugu.guarantee.curve import budget_from, budget_json
from fugu.ledger.accountant import Terms, by_records
from fugu.ledger.charge import LAW, Charge, canonical
from fugu.ledger.events import Registered, State
from fugu.ledger.fingerprint import COLUMN, Keyed, Marks, keyed, prior_digest
from fugu.ledger.gathering import encoded, in_common
from fugu.ledger.keys import Place, key_of
from fugu.ledger.store import Books, LockedView, Writing
from fugu.question import RECORDS
from fugu.visible import shortened

# A data set to which nothing was charged binds nobody: the same data may be entered under another name, and its name
# with other terms or for other data; the new entry takes its place, and whoever has the old one open charges nothing
# more.


_NOTHING = ("", None, None, (), None, False)


@dataclass(frozen=True)
class Opening:
    """What a data set is opened with: its name and terms, what it is recognised by, its blocks, and the ledger's path,
    beside which the key lies. `others`: data sets that hold other people, by the user's word."""

    path: Place
    name: str
    terms: Terms
    marks: Marks | None = None
    blocks: tuple[str, ...] | None = None
    others: tuple[str, ...] = ()

    def keyed(self, view: LockedView) -> Keyed:
        """What the data is recognised by, under the key of the ledger."""
        return Keyed({}) if self.marks is None else self.marks.under(key_of(view, self.path), not view.state.chacha)


def known_already(view: LockedView, given: Opening) -> bool:
    """Whether the data set is there with these terms and marks, so that nothing has to be written; errors as below."""
    return given.name in view.state.sets and lacking(view, given) is None


def lacking(view: LockedView, given: Opening, fresh: Keyed | None = None) -> tuple[str, dict[str, Any]] | None:
    """The event that enters the data set, or what a known one does not have yet; None where nothing is to be written.
    Other terms, or known data under a new name, are refused. A known one that was never charged, and was entered with
    other terms or for other data, is entered anew. `fresh`: what the data is recognised by."""
    name, terms, state = given.name, given.terms, view.state
    known = given.keyed(view) if fresh is None else fresh
    if name in state.sets:
        try:
            more = _missing(view, given, known)
            return ("identify", {"dataset": name, "marks": [], **more}) if more else None
        except UsageError:
            if state.binds(name):
                raise
    for other in state.sets:
        if canonical(other) == canonical(name) and other != name:
            raise DataKnown(
                f"the ledger has a data set {other!r}, which looks the same; open it by that name, or give new data a "
                "name that differs in more than case, spacing and invisible characters"
            )
    body: dict[str, Any] = {
        "dataset": name, "marks": list(known.marks), "blocks": list(given.blocks or ()),
        **dict(zip(("budget", "prior", "entries"), _stated(terms), strict=True)),
        **({} if terms.prior is None else _believed(terms)), **({} if terms.cap is None else {"cap": str(terms.cap)}),
        **_apart(state, given, known), **_unknown(Registered(*_NOTHING), known),
    }  # fmt: skip
    gone = [*([name] if name in state.sets else []), *_require_new(view, given, known, anew=True)]
    return "register", body | ({"instead": gone} if gone else {})


def register(to: Writing, given: Opening) -> bool:
    """Write what the ledger lacks of the data set, one event at a time; whether something was written. The text of a
    set of people or rows that is not stored yet goes with the event that names it."""
    fresh = given.keyed(to)
    event = lacking(to, given, fresh)
    if event is None:
        return False
    kind, body = event
    words = fresh.people if "people" in body else fresh.rows if "rows" in body else None
    digest = str(body.get("people", body.get("rows")))
    if words is None or to.state.place(digest) is not None:
        to.append(kind, body)
    else:
        to.attach(kind, {**body, "sha256": digest}, *encoded(words, fresh.early))
    return True


def declared_block(state: State, name: str, block: str) -> None:
    """Refuse a block that was not declared with the data set; one of version 0.1 has those that it has used."""
    blocks = state.sets[name].blocks
    if blocks is None:
        used = (Charge.parse(text).block for text, _ in state.charges(name))
        blocks = tuple(sorted({b for b in used if b}))
    if canonical(block) not in map(canonical, blocks):
        raise UsageError(
            f"no block {block!r} of data set {name!r}{did_you_mean(block, blocks)}. Blocks are declared when a data "
            "set is first opened, Ledger(..., blocks=[...]): a new name is not a new part of the data"
        )


def _missing(view: LockedView, given: Opening, fresh: Keyed) -> dict[str, Any]:
    """What a known data set does not have yet, the body of one event; an error if its terms are others.

    A cap may be added to a data set that has none, which only refuses more, and never changed. So may a belief about
    independent records to one of which every charge is for each record."""
    name, terms, blocks = given.name, given.terms, given.blocks
    known = view.state.sets[name]
    digest, charges = prior_digest(terms.prior), view.state.charges(name)
    later = known.prior is None and digest is not None and by_records(terms.prior)
    later = later and not any(Charge.parse(text).kind == LAW for text, _ in charges)
    more: dict[str, Any] = {"prior": digest, **_believed(terms)} if later else {}
    told = (known.budget, None if more else known.prior, known.entries)
    for what, have, now in zip(("budget", "prior", "number of entries"), told, _stated(terms), strict=True):
        by_record = what == "prior" and (bool(more) or (now is None and known.records))
        if have != now and not by_record:
            raise _other(name, what, _both(what, known, terms))
    if blocks is not None and {*map(canonical, blocks)} != {*map(canonical, known.blocks or ())}:
        raise _other(name, "list of blocks")
    if terms.cap is not None and known.cap is None:
        more["cap"] = str(terms.cap)
    elif terms.cap is not None and Fraction(known.cap or 0) != terms.cap:
        raise _other(name, "cap", f": with epsilon {known.cap} against anybody, and now {terms.cap} is asked for")
    more |= _apart(view.state, given, fresh)
    if unused := _require_new(view, given, fresh):
        more["instead"] = unused
    if new := [mark for mark in fresh.marks if mark not in known.marks]:
        more["marks"] = new
    return more | _unknown(known, fresh)


def _unknown(known: Registered, fresh: Keyed) -> dict[str, str]:
    """The first set, of people or of rows, that the data set does not name yet, by its digest."""
    for kind, digest in fresh.stored.items():
        if all(digest != stored for stored, *_ in getattr(known, kind)):
            return {kind: digest}
    return {}


def _believed(terms: Terms) -> dict[str, Any]:
    return {"believed": believed(terms.prior), **({RECORDS: True} if by_records(terms.prior) else {})}


def _apart(state: State, given: Opening, fresh: Keyed) -> dict[str, Any]:
    """The data sets of other people that were not stated to be such before, or held less then, or this one did."""
    for other in given.others:
        if other not in state.sets or other == given.name:
            raise UsageError(
                f"no other data set {other!r} in the ledger{did_you_mean(other, tuple(state.sets))}: other people are "
                "those of a data set that the ledger knows"
            )
    said = {other: words for other, *words in (state.sets[given.name].words if given.name in state.sets else ())}
    mine = {*fresh.marks, *fresh.stored.values()}
    new = [
        other
        for other in dict.fromkeys(given.others)
        if other not in said or not (mine <= {*said[other][0]} and {*state.sets[other].content} <= {*said[other][1]})
    ]
    return {"apart": new} if new else {}


def _require_new(view: LockedView, given: Opening, fresh: Keyed, anew: bool = False) -> list[str]:
    """An error if the ledger knows the data otherwise; the names that it has for it and never charged. Any one mark in
    common makes it the same data: its rows, or a column with many values. Where the same people are in both, columns
    say nothing: tables of one panel have some in common, and who is in them is what counts. Nor does any mark by the
    user's word that these are other people, said of these. `anew`: what stands under its own name is replaced."""
    name, marks, sets = given.name, given.marks, view.state.sets
    unused: list[str] = []
    if marks is None or not fresh.marks:
        return unused
    looked = {**fresh.marks, **marks.named} if view.state.plain else fresh.marks
    early: dict[str, str] = {}
    if any(known.early and known.marks for known in sets.values()):
        key = key_of(view, given.path)
        early = {keyed(key, digest): what for digest, what in marks.earlier().items()}
        early |= marks.earlier() if view.state.plain else {}
    for other, known in sets.items():
        found = {**looked, **early} if known.early else looked
        alike = sorted((found[mark] for mark in known.marks if mark in found), key=lambda what: what.startswith(COLUMN))
        same = alike[0] if alike else None  # what of the data is that of a known data set, columns last
        met, words = {*looked, *early} & {*known.marks}, view.state.words(name, other) if other != name else ()
        apart = other in given.others or any({*fresh.marks} <= {*here} and met <= {*there} for here, there in words)
        if other != name and same is not None and not apart:
            people = fresh.people if same.startswith(COLUMN) else None
            if people is not None and in_common(people, [view.stored(held) for held in known.people]):
                continue
            if not view.state.binds(other):
                unused.append(other)
                continue
            raise DataKnown(
                f"this data is known to the ledger as {other!r}: {same}. A new name, another column or a part of the "
                f"columns does not bring a fresh budget; open it with data={other!r}. If these are other people than "
                f"those of {other!r}, say so (other_people=...); the certificate says it too"
            )
        if other == name and same is None and known.marks and not anew:
            raise UsageError(
                f"data set {name!r} was registered with other content, and a name stands for one table; give this one "
                "a name of its own. Whoever of its people the ledger knows keeps one budget, whatever the name: "
                "charges add up for each person, and a law-based release beside another one of the same people is "
                "refused"
            )
    return unused


def _stated(terms: Terms) -> tuple[str, str | None, int | None]:
    return json.dumps(budget_json(terms.budget), sort_keys=True), prior_digest(terms.prior), terms.entries


def _both(what: str, known: Registered, terms: Terms) -> str:
    """What was registered and what is asked for now, in words."""
    if what == "budget":
        had = promise(budget_from(json.loads(known.budget)))
        return f": with {had}, and now {promise(terms.budget)} is asked for"
    if what == "prior":
        had = "none" if known.prior is None else known.believed or "one that the file does not describe"
        now = believed(terms.prior) or "none"
        if had == now:
            return ", though it reads the same: another reference, schema or unit"
        return f" (another reference, secret, schema or unit): with {had}, and now {now}"
    return f": with {known.entries or 'none stated'}, and now {terms.entries or 'none'} is given"


def _other(name: str, what: str, both: str = "") -> UsageError:
    return UsageError(
        f"data set {name!r} was registered with {'other beliefs' if what == 'prior' else f'another {what}'}{both}; a "
        "ledger's terms are fixed once something is charged under them. Open it with those terms, or give new data a "
        "new name"
    )


def known_cap(given: Opening) -> Fraction | None:
    """The most epsilon against anybody that a data set keeps when it is opened so; None without a cap, or where the
    entry, to which nothing was charged, is replaced. Terms that bind and are others are refused where something is
    asked."""

    def look(view: LockedView) -> Fraction | None:
        known = view.state.sets.get(given.name)
        with suppress(UsageError, DataKnown):
            known = None if (lacking(view, given) or ("", {}))[0] == "register" else known
        return None if known is None or known.cap is None else Fraction(known.cap)

    return Books(given.path, 30.0).find(look)


# A prior in a few words, for whoever reads a ledger: the file holds its digest, not the prior itself.


_WORDS = {
    "BayesianNetwork": "a Bayesian network",
    "ChainSet": "any of several Markov chains",
    "DependentGroups": "groups of entries in any dependence",
    "GaussianField": "a Gaussian field",
    "HiddenMarkov": "a hidden Markov chain",
    "IndependentBlocks": "independent blocks",
    "IntervalChain": "every Markov chain between limits",
    "JointTable": "a joint table",
    "MarkovChain": "a Markov chain",
    "Records": "independent records of a known law",
    "TableBelief": "independent records, as the reference has them",
}
_MOST = 200


def believed(prior: Any) -> str | None:
    """What kind of prior it is and how large; None for none. Of a class from outside only its name is written."""
    if prior is None:
        return None
    if isinstance(prior, Mapping | list | tuple):
        parts = list(prior.values()) if isinstance(prior, Mapping) else list(prior)
        kinds = dict.fromkeys(found for part in parts if (found := believed(part)) is not None)
        return shortened(f"{len(parts)} independent blocks: {'; '.join(kinds)}", _MOST)
    name = type(prior).__name__
    if not type(prior).__module__.startswith("fugu."):
        return shortened(f"a prior of the class {name}", _MOST)
    return shortened(f"{_WORDS.get(name, 'a prior')} {repr(prior).removeprefix(name)}", _MOST)
