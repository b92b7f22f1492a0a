"""`Ledger`: no release leaves the process before its charge is on disk; one request id, one charge, one value."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Self, TypeVar

from fugu.documents.document import canonical_json
from fugu.errors import (
    BadBudget,
    BudgetExceeded,
    CertificateError,
    DataKnown,
    FuguError,
    LedgerBroken,
    NotComposable,
    NotProvable,
    RequestReused,
    UsageError,
)
from fugu.guarantee import Composed, Guarantee, is_guarantee
from fugu.guarantee.composition import fits
from fugu.guarantee.curve import budget_json
from fugu.ledger import accountant, books
from fugu.ledger.accountant import Charges, Terms, over_budget, over_cap
from fugu.ledger.books import Account, Elsewhere, Entry, Shared, Standing, held, refusal
from fugu.ledger.charge import Charge, Chargeable, checked, declared, finite, read_mechanism, stated_others
from fugu.ledger.charge import left as left_of
from fugu.ledger.events import CHARGED, FAILED, REFUSED, RESERVED, SETTLED, sha256
from fugu.ledger.fingerprint import Keyed, Recognised, marks_of
from fugu.ledger.keys import key_of, place_of, secured
from fugu.ledger.registration import Opening, declared_block, known_already, lacking, register
from fugu.ledger.store import Books, LockedView, Result, Writing
from fugu.ledger.values import decode, encode
from fugu.numbers.checks import is_count
from fugu.numbers.exact import Real, as_fraction, number
from fugu.priors.prior import Believed, skipped
from fugu.progress import unhurried

_TURNS = 4
Released = TypeVar("Released")


class Ledger:
    """The budget of one data set, in a file that several data sets and processes may share.

    A release goes through three steps, keyed by the request id: *reserve* (the charge is on disk), *evaluate*
    (`produce()` runs), *settle* (the value is on disk beside its charge). The value is returned after the third step
    only. After a crash the same id is taken up again under the same charge; once settled, it returns the stored value
    for nothing. A request whose `produce()` raised keeps its charge, because an error may depend on the data, and can
    be repeated under it.

    Parameters:

    - `path`: the file, made if it is not there. `data`: the name of the data set in it.
    - `budget`: the most that all releases of the data may promise away together: `Pure`, `Approx`, `Renyi` or
      `RenyiCurve`, finite.
    - `prior`: what adversaries believe about the whole table. Charges for each entry are added and translated with it
      once; without a prior the entries count as independent, and the sum itself is held against the budget.
    - `fingerprint`: the data itself, what `fugu.ledger.fingerprints` makes of it, or a SHA-256; known data gets no
      second budget. The file holds it under a key, which is a file of its own (`<ledger>.key`, or `FUGU_LEDGER_KEY`).
    - `people`: who is in the data, the cells of the column that names the person. The file holds them as digests under
      its key. Whoever is in several data sets has one budget: all charges to a person add up, whatever the data sets
      are called. Without it, tables that share rows beyond chance hold the same people.
    - `other_people`: names of data sets whose people are others, whatever their ids or rows say: your word, which is
      recorded, and printed in certificates. It covers those who are in both data sets now, not whoever joins later.
    - `cap`: the most epsilon that all releases of the data together may have against anybody, that is under any belief
      about independent records; None leaves it as the data set has it. It is fixed once it is given.
    - `entries`: how many entries the data has, a whole number.
    - `blocks`: the names of its parts that are independent of each other, given every secret and under every belief;
      they are fixed when the data set is first opened.
    - `head`: a head exported earlier, which must still be in the file. `timeout`: seconds to wait for other writers.
    - `late`: True to make a ledger that is not there with its first charge, and not now: what is refused before leaves
      none behind.

    Raises `BadBudget` for another budget, `DataKnown` for data that has one already, `LedgerBroken` for a file that was
    edited or rolled back, `LedgerBusy` after the timeout.

    A ledger that may only be read can be opened too, if the data set is in it; it then refuses new charges.

    Not covered: what `produce()` itself sends out, copies of the file that are put back (unless a `head` is given), and
    a `produce()` that fails depending on its own draw and is repeated until it does not.

    >>> import tempfile, os.path
    >>> from fugu import Pure
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(os.path.join(folder.name, "ledger.db"), Pure(1), data="visits")
    >>> ledger.spend("monday", Charge.per_entry(0.4), lambda: 17)
    17
    >>> ledger.spend("monday", Charge.per_entry(0.4), lambda: 99)
    17
    >>> ledger.spent(), ledger.remaining()
    (Pure(epsilon=0.4), Pure(epsilon=0.6))
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        budget: Guarantee,
        data: str = "data",
        prior: Believed | None = None,
        fingerprint: Recognised | None = None,
        *,
        people: Sequence[object] | None = None,
        other_people: Sequence[str] = (),
        cap: Real | None = None,
        entries: int | None = None,
        blocks: Iterable[str] | None = None,
        head: str | None = None,
        timeout: float = 30.0,
        late: bool = False,
    ) -> None:
        if not is_guarantee(budget) or isinstance(budget, Composed) or not finite(budget):
            raise BadBudget("a ledger needs a finite budget: Pure, Approx, Renyi or RenyiCurve")
        if entries is not None and not is_count(entries):
            raise UsageError("entries is the number of entries of the data, a whole number of at least 1")
        self.path = place_of(path)
        self._file = Books(self.path, float(timeout))
        most = None if cap is None else as_fraction(number(cap, "cap"))
        if most is not None and most <= 0:
            raise BadBudget("cap is an epsilon above 0: the most against anybody")
        self.data, self._terms = checked(data, "data set"), Terms(budget, prior, entries, most)
        self._step: Callable[[str], None] = lambda _: None
        self._pending: dict[str, str] = {}  # evaluated but not stored, because the disk refused: a retry stores it
        self._shared = Shared(self.data)
        self._fixed = False
        marks = marks_of(fingerprint, people)
        self._others = stated_others(other_people)
        self._unmade: LockedView | None = None
        self._given = Opening(self.path, self.data, self._terms, marks, declared(blocks), self._others)
        if head is not None:
            if not self._file.there():
                raise LedgerBroken("there is no ledger where one with this head was: it was rolled back or removed")
            self.verify(head)
        if not self._file.there():  # what a new ledger refuses is refused before it is made
            self._unmade = LockedView.nowhere(lacking(LockedView.nowhere(), self._given, Keyed({})))
        if self._unmade is None or not late:
            self._register(self._given)

    def _register(self, given: Opening) -> None:
        """Find or enter the data set; a file in which nothing is to be written is only read."""
        if not (self._file.read_only() and self._file.read(known_already, given)):
            while self._file.write(lambda to: secured(to, self.path) or register(to, given)):
                pass
        self._given = replace(given, others=())  # what was said is on disk, and covers what was there
        self._unmade = None

    def _made(self) -> Books:
        """The file, which is made if it was not there yet."""
        if self._unmade is not None:
            self._register(self._given)
        return self._file

    def close(self) -> None:
        """Forget what was read of the file; the next call reads it again."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def budget(self) -> Guarantee:
        """The most that all releases of this data may promise away together."""
        return self._terms.budget

    def spend(
        self,
        request: str,
        mechanism: Chargeable,
        produce: Callable[[], Released],
        *,
        block: str | None = None,
        point_masses: bool = False,
        planned: bool = False,
    ) -> Released:
        """Charge `mechanism`, run `produce()` once, store what it returns, and return it; a retry reads it back.

        - `request`: the id, a text; one id is one charge and one value.
        - `mechanism`: what is charged: a `Mechanism`, its `Certificate`, a `PerEntryDP`, a `TrainingCertificate`, or a
          `Charge`.
        - `produce`: a function without arguments, run after the charge is on disk; it returns the release, or numbers,
          texts, arrays, lists and dicts of them.
        - `block`: one of the declared `blocks`, parts of the data that are independent of each other, given every
          secret and under every belief. `point_masses`: whoever believes in a secret knows the whole data. `planned`:
          what this request costs was fixed before any answer was seen; sums of deltas under a prior need it, but for
          `Records`. Without a prior and with a delta in the budget, planned charges cost the law of their losses, which
          is less than their sum: then every request is planned, or none.

        Raises `BudgetExceeded` (spent, asked, left), `NotComposable` (why, advice), `RequestReused`, `Unstorable`."""
        name = checked(request, "request")
        if not callable(produce):
            raise UsageError("produce is a function without arguments that returns the release")
        if not isinstance(planned, bool):
            raise UsageError("planned is True or False")
        charge, question = read_mechanism(mechanism, block, point_masses)
        self._made()

        def run() -> str:
            stored = self._reserve(name, charge, question, planned)
            if stored is None:
                self._step("reserved")
                if name not in self._pending:
                    try:
                        with unhurried():
                            self._pending[name] = encode(produce())
                    except Exception as error:  # noted by its type alone, for its message may hold a private value
                        with suppress(FuguError):
                            self._finish(name, FAILED, None, f"produce() raised {type(error).__name__}")
                        raise
                    self._step("evaluated")
                stored = self._finish(name, SETTLED, self._pending[name]) or self._pending[name]
            self._pending.pop(name, None)
            self._step("settled")
            return stored

        value: Released = decode(self._file.alone(json.dumps([self.data, name]), run))
        return value

    def recognise(self, data: Recognised) -> None:
        """Refuse `data`, given as `fingerprint` is, that is known under another name, or not what this set holds."""
        self._register(Opening(self.path, self.data, self._terms, marks_of(data), None, self._others))

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        return self  # the budget is that of the file: two handles are one ledger

    def spent(self, delta: Real | None = None) -> Guarantee:
        """What all charged releases promise together: added for each entry, then translated once with the prior. Where
        people are in other data sets too, with what was charged to them there: of whoever has the largest sum.

        `delta`: state it as an `Approx` with this delta, by the least of all accounts. That of the laws of losses is
        for charges that were planned, or a single one (docs/proofs/loss-laws.md#composition)."""
        own, shared = self._standing(), self._with_others()
        if shared is None:
            spent = self._promise(own, [])
            fixed = self._terms.prior is own.known.prior is None and all(c.planned for c in own.charges)
            return spent if delta is None else accountant.at_delta(own.charges if fixed else (), delta, spent)[0]
        if isinstance(shared.why, NotComposable):
            raise shared.why
        assert shared.worth is not None  # all charges add up
        return shared.worth if delta is None else accountant.at_delta((), delta, shared.worth)[0]

    def elsewhere(self) -> Elsewhere:
        """What was charged to people of this data in other data sets: of the person with the largest sum."""
        return self._read(lambda view: Elsewhere.of(Standing.of(view, self.data), self._shared.others(view)))

    def remaining(self) -> Guarantee:
        """The budget minus what is spent; less where people are in another data set of which less is left. With a
        prior, a further epsilon for each entry may cost more than itself."""
        shared = self._with_others()
        return left_of(self.spent(), self.budget) if shared is None or shared.left is None else shared.left

    def against_anybody(self) -> Guarantee | None:
        """What all charged releases promise together for each record, whatever is believed of independent records; None
        where some release promises nothing there. People of several data sets count as in `spent`."""
        shared = self._with_others()
        return accountant.against_anybody(self.charges(), self._terms.prior) if shared is None else shared.anybody

    def _with_others(self) -> Account | None:
        """What holds where people of this data are in other data sets too; None if nobody is."""
        return self._read(lambda view: held(Standing.of(view, self.data), self._shared.others(view)))

    def _standing(self) -> Standing:
        return self._read(Standing.of, self.data)

    @property
    def cap(self) -> Fraction | None:
        """The most epsilon against anybody that all releases of this data may have; None for no cap."""
        return self._standing().cap

    @property
    def other_people(self) -> tuple[str, ...]:
        """The data sets whose people are others than those of this one, by the word of who opened it."""
        return self._standing().known.apart

    def charges(self) -> list[Charges]:
        """All charges that count against the budget, equal ones together, as they are on disk now."""
        return list(self._standing().charges)

    def charge_of(self, request: str) -> Charge | None:
        """The charge that a request was entered with; None if it was not, or was refused."""
        return self._read(books.charge_of, self.data, checked(request, "request"))

    def history(self) -> list[Entry]:
        """Every request of this data set, with those that failed or were refused."""
        return self._read(books.history, self.data)

    def verify(self, head: str | None = None) -> str:
        """Check the whole file, and that an earlier `head` is still in it; returns the present head.

        Raises `LedgerBroken` if not."""
        return self._made().read(books.verify, head)

    def export(self, path: str | os.PathLike[str] | None = None) -> dict[str, object]:
        """All events and the head, for keeping elsewhere; also written to `path` if one is given."""
        self._made()
        content = self._read(books.export)
        if path is not None:
            books.save(content, path)
        return content

    def __repr__(self) -> str:
        return f"Ledger({self._file.name!r}, {self.budget!r}, data={self.data!r})"

    def _read(self, what: Callable[..., Result], *args: object) -> Result:
        if self._unmade is not None and not self._file.there():
            return what(self._unmade, *args)
        return self._made().read(lambda view: what(self._still(view), *args))

    def _still(self, view: LockedView) -> LockedView:
        """The file, in which the data set is still what it was opened as: one that was never charged may be replaced
        (`registration`); once charged it stays."""
        if not self._fixed:
            if not known_already(view, self._given):
                raise DataKnown(
                    f"data set {self.data!r} was opened with other terms, or its data under another name, before "
                    "anything was charged to it; open it again"
                )
            self._fixed = view.state.binds(self.data)
        return view

    def _reserve(self, request: str, charge: Charge, question: str, planned: bool) -> str | None:
        """Put the charge on disk, or find it there; the stored value if the request is settled already.

        What has to be translated with the prior is translated before, while nobody is locked out, and kept; if others
        have charged the data meanwhile, once more. Only after several such turns it is done inside the lock."""
        for turn in range(_TURNS):
            found, before = self._read(self._find, request, question, charge.block)
            if found is not None:
                return str(found)
            if self._terms.prior is not None:
                with suppress(NotProvable):
                    accountant.total([*before, Charges(charge, 1, 1 << 62, planned)], self._terms)
            self._step("reserving")
            enter = partial(self._enter, request, charge, question, planned, before if turn + 1 < _TURNS else None)
            done, stored, refused = self._file.write(enter, lambda step: self._step(f"charge {step}"))
            if refused is not None:
                raise refused
            if done:
                return stored
        raise AssertionError("the last turn takes the charges as they are")

    def _enter(
        self, request: str, charge: Charge, question: str, planned: bool, before: list[Charges] | None, to: Writing
    ) -> tuple[bool, str | None, FuguError | None]:
        """Whether it is done, the stored value of a settled request, and why the charge was refused; it is not done
        where another caller has charged the data between the look and the lock, and the prior has to be asked again."""
        stored, now = self._find(self._still(to), request, question, charge.block)
        known = to.request(self.data, request)
        if known is not None and known.state in CHARGED:
            return True, stored, None
        if self._terms.prior is not None and before is not None and now != before:
            return False, None, None
        key_of(to, self.path)
        own, new = Standing.of(to, self.data), Charges(charge, 1, 1 << 62, planned)
        refused, worth = self._refusal(own, new)
        if refused is None:
            after = replace(own, charges=(*own.charges, new), worth=worth)
            refused = refusal(after, self._shared.others(to), new)
        told: dict[str, Any] = {"charge": charge.text(), "question": question, "planned": int(planned)}
        if unproved := skipped(self._terms.prior):  # of probability 0 under the prior: the charge says nothing of them
            told["skipped"] = list(unproved)
        if own.known.people:
            told["people"] = own.known.people[-1][0]
        with suppress(CertificateError):  # a curve with an infinite epsilon has no JSON
            told |= {} if worth is None else {"worth": canonical_json(budget_json(worth))}
        note = "" if refused is None else refused.why if isinstance(refused, NotComposable) else str(refused)
        if isinstance(refused, BudgetExceeded) and refused.spent is not None:
            note = f"spent {refused.spent!r}, asked {refused.asked!r}, left {refused.left!r}"
        named = {"dataset": self.data, "request": request, "note": note}
        to.append(RESERVED if refused is None else REFUSED, {**named, **told})
        return True, None, refused

    def _find(
        self, view: LockedView, request: str, question: str, block: str | None
    ) -> tuple[str | None, list[Charges]]:
        """The stored value of a settled request, and all charges so far; one id asks one question."""
        asked = view.request(self.data, request)
        if asked is not None and asked.state in CHARGED:
            if asked.question != question:
                raise RequestReused(
                    f"request {request!r} stands for another question; one id is one charge and one value, so give a "
                    "new question a new id"
                )
            if asked.state == SETTLED:
                return view.attached(asked), []
        elif block is not None:
            declared_block(view.state, self.data, block)
        return None, books.charges(view, self.data)

    def _refusal(self, own: Standing, new: Charges) -> tuple[FuguError | None, Guarantee | None]:
        """Why the charge cannot be taken, or None; and under a prior what all charges promise together after it."""
        before, tied = list(own.charges), own.known.prior is not None
        try:
            after = self._promise(own, [new])
        except NotProvable as error:
            return error, None
        if not fits(after, self.budget):
            return over_budget(self.data, new.charge, self._promise(own, []), after, self.budget, tied), None
        refused = over_cap(self.data, before, new, own.cap, self._terms.prior)
        return refused, after if tied and refused is None else None

    def _promise(self, own: Standing, new: list[Charges]) -> Guarantee:
        """What all charges of the data set promise together with new ones. Whoever opened it without its prior, which
        is about independent records, adds to what the file says that the others are worth."""
        if self._terms.prior is None and own.known.prior is not None:
            return own.promise(new)
        return accountant.total([*own.charges, *new], self._terms if new else self._terms.to_tell)

    def _finish(self, request: str, state: str, value: str | None, note: str = "") -> str | None:
        """Settle or fail a request that is not settled; a settled one keeps the value it has. The value it then has."""

        def finish(to: Writing) -> str | None:
            known = to.request(self.data, request)
            assert known is not None  # reserved, by this caller or by one that died
            if known.state == SETTLED:
                return to.attached(known)
            more = {"note": note} if value is None else {"sha256": sha256(value)}
            to.append(state, {"dataset": self.data, "request": request, **more}, value or "")
            return value

        return self._file.write(finish, lambda step: self._step(f"{state} {step}"))
