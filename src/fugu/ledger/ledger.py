"""`Ledger`: no release leaves the process before its charge is on disk; one request id, one charge, one value."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fugu.dependence.skipped import skipped
from fugu.errors import BadBudget, BudgetExceeded, FuguError, NotProvable, RequestReused, UsageError
from fugu.guarantee import Approx, Guarantee, Pure, Renyi, RenyiCurve
from fugu.ledger import accountant, books, chain, requests, store
from fugu.ledger.accountant import Counted, Terms
from fugu.ledger.amounts import fits
from fugu.ledger.amounts import left as left_of
from fugu.ledger.books import CHARGED, FAILED, SETTLED, Entry
from fugu.ledger.charge import Charge, finite, is_text, read_mechanism
from fugu.ledger.claims import claim
from fugu.ledger.connection import Connected
from fugu.ledger.fingerprint import fingerprint as digest_of
from fugu.ledger.registration import register
from fugu.ledger.values import decode, encode

_LONGEST = 500
_TURNS = 4


class _Overtaken(Exception):
    """Another caller has charged the data between the look at its charges and the lock."""


class Ledger(Connected):
    """The budget of one data set, in a file that several data sets and processes may share.

    A release goes through three steps, keyed by the request id: *reserve* (the charge is on disk), *evaluate*
    (`produce()` runs), *settle* (the value is on disk beside its charge). The value is returned after the third step
    only. After a crash the same id is taken up again under the same charge; once settled, it returns the stored value
    for nothing. A request whose `produce()` raised keeps its charge, because an error may depend on the data, and can
    be repeated under it.

    `prior`: what adversaries believe about the whole table. Charges for each entry are added and translated with it
    once; without a prior the entries count as independent, and the sum itself is held against the budget.
    `fingerprint`: the data or its SHA-256 (`fugu.ledger.fingerprint`); known data gets no second budget. The file holds
    it under a key of its own, and holds the key: it belongs with the data, an export may go elsewhere. `entries`: how
    many entries the data has. `head`: a head exported earlier, which must still be in the file.

    Not covered: what `produce()` itself sends out, copies of the file that are put back (unless a `head` is given), and
    a `produce()` that fails depending on its own draw and is repeated until it does not.

    >>> import tempfile, os.path
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
        prior: Any = None,
        fingerprint: Any = None,
        *,
        entries: int | None = None,
        head: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        if not isinstance(budget, Pure | Approx | Renyi | RenyiCurve) or not finite(budget):
            raise BadBudget("a ledger needs a finite budget: Pure, Approx, Renyi or RenyiCurve")
        if entries is not None and (isinstance(entries, bool) or not isinstance(entries, int) or entries < 1):
            raise UsageError("entries is the number of entries of the data, a whole number of at least 1")
        super().__init__(Path(path), float(timeout))
        self.data, self._terms = _name(data, "data set"), Terms(budget, prior, entries)
        self._step: Callable[[str], None] = lambda _: None
        self._translated: dict[Guarantee, Guarantee | NotProvable] = {}
        self._pending: dict[str, str] = {}  # evaluated but not stored, because the disk refused: a retry stores it
        known = None if fingerprint is None else digest_of(fingerprint)
        try:
            if head is not None:
                self.verify(head)
            with self._lock, store.named_errors(self.path):
                register(self._open(), self.data, self._terms, known)
        except BaseException:
            self.close()
            raise

    @property
    def budget(self) -> Guarantee:
        """The most that all releases of this data may promise away together."""
        return self._terms.budget

    def spend(
        self,
        request: str,
        mechanism: Any,
        produce: Callable[[], Any],
        *,
        block: str | None = None,
        point_masses: bool = False,
        planned: bool = False,
    ) -> Any:
        """Charge `mechanism`, run `produce()` once, store what it returns, and return it; a retry reads it back.

        `block` names a part of the data that is independent of all other blocks, given every secret and under every
        belief. `point_masses`: whoever believes in a secret knows the whole data. `planned`: this request was fixed
        before any answer was seen; sums of deltas under a prior need it.
        Raises `BudgetExceeded` (spent, asked, left), `NotComposable` (why, advice), `RequestReused`."""
        name = _name(request, "request")
        if not callable(produce):
            raise UsageError("produce is a function without arguments that returns the release")
        if not isinstance(planned, bool):
            raise UsageError("planned is True or False")
        charge, question = read_mechanism(mechanism, block, point_masses)
        with claim(self.path, json.dumps([self.data, name]), self._timeout):
            stored = self._reserve(name, charge, question, planned)
            if stored is None:
                self._step("reserved")
                if name not in self._pending:
                    self._pending[name] = self._evaluate(name, produce)
                stored = self._settle(name, self._pending[name])
                self._pending.pop(name, None)
            self._step("settled")
            return decode(stored)

    def spent(self) -> Guarantee:
        """What all charged releases promise together: added for each entry, then translated once with the prior."""
        return self._total(self._read(books.charges, self.data))

    def remaining(self) -> Guarantee:
        """The budget minus what is spent. With a prior, a further epsilon for each entry may cost more than itself."""
        return left_of(self.spent(), self.budget)

    def history(self) -> list[Entry]:
        """Every request of this data set, with those that failed or were refused."""
        found: list[Entry] = self._read(books.history, self.data)
        return found

    def verify(self, head: str | None = None) -> str:
        """Check the whole file, and that an earlier head is still in it; returns the present head."""
        return str(self._read(books.verify, head))

    def export(self, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """All events and the head, for keeping elsewhere; also written to `path` if one is given."""
        content: dict[str, Any] = self._read(books.export)
        if path is not None:
            books.save(content, path)
        return content

    def __repr__(self) -> str:
        return f"Ledger({self.path.name!r}, {self.budget!r}, data={self.data!r})"

    def _reserve(self, request: str, charge: Charge, question: str, planned: bool) -> str | None:
        """Put the charge on disk, or find it there; the stored value if the request is settled already.

        What has to be translated with the prior is translated before, while nobody is locked out, and kept; if others
        have charged the data meanwhile, once more. Only after several such turns it is done inside the lock."""
        if self._terms.prior is not None:
            for _ in range(_TURNS):
                before: list[Counted] = self._read(books.charges, self.data)
                with suppress(NotProvable):
                    self._refusal(before, charge, planned)
                with suppress(_Overtaken):
                    return self._reserve_at(request, charge, question, planned, before)
        return self._reserve_at(request, charge, question, planned, None)

    def _reserve_at(
        self, request: str, charge: Charge, question: str, planned: bool, before: list[Counted] | None
    ) -> str | None:
        """The same inside the lock, if the charges are those known `before` (None: whatever they are)."""
        with self._lock, store.named_errors(self.path):
            db = self._open()
            self._step("reserving")
            refused: FuguError | None = None
            with store.writing(db, lambda _: self._step("charge written")):
                row = db.execute(
                    "SELECT state, question, value FROM requests WHERE dataset = ? AND request = ?",
                    (self.data, request),
                ).fetchone()
                if row is not None and row[0] in CHARGED:
                    if row[1] != question:
                        raise RequestReused(
                            f"request {request!r} stands for another question; one id is one charge and one value, so "
                            "give a new question a new id"
                        )
                    return None if row[0] != SETTLED else str(row[2])
                found = books.charges(db, self.data)
                if before is not None and found != before:
                    raise _Overtaken
                refused = self._refusal(found, charge, planned)
                asked = (charge.text(), question, int(planned))
                requests.enter(db, self.data, request, asked, refused, skipped(self._terms.prior))
            if refused is not None:
                raise refused
            return None

    def _refusal(self, before: list[Counted], charge: Charge, planned: bool) -> FuguError | None:
        """Why the charge cannot be taken, or None."""
        try:
            after = self._total([*before, Counted(charge, 1, 1 << 62, planned)])
        except NotProvable as error:
            return error
        if fits(after, self.budget):
            return None
        spent = self._total(before)
        left = left_of(spent, self.budget)
        return BudgetExceeded(
            f"the budget of data set {self.data!r} does not allow this: spent {spent!r}, asked {charge.guarantee!r} "
            f"({charge.kind}), left {left!r} of {self.budget!r}; together they would be {after!r}. Ask for less, or "
            "repeat an earlier request by its id, which costs nothing",
            spent=spent, asked=charge.guarantee, left=left, budget=self.budget,
        )  # fmt: skip

    def _evaluate(self, request: str, produce: Callable[[], Any]) -> str:
        """Run `produce()`; an error is noted by its type alone, for its message may hold a private value."""
        try:
            text = encode(produce())
        except Exception as error:
            with suppress(FuguError):
                self._finish(request, FAILED, None, {"note": f"produce() raised {type(error).__name__}"})
            raise
        self._step("evaluated")
        return text

    def _settle(self, request: str, text: str) -> str:
        """Put the value on disk, unless another caller has; the value that is on disk."""
        self._finish(request, SETTLED, text, {"sha256": chain.sha256(text)})
        with self._lock, store.named_errors(self.path):
            row = requests.find(self._open(), self.data, request)
            return str(row[2]) if row is not None else text

    def _finish(self, request: str, state: str, value: str | None, more: dict[str, str]) -> None:
        with self._lock, store.named_errors(self.path):
            db = self._open()
            with store.writing(db, lambda _: self._step(f"{state} written")):
                requests.finish(db, self.data, request, state, value, more)

    def _total(self, charges: list[Counted]) -> Guarantee:
        """`accountant.total`, with translations remembered."""
        if self._terms.prior is None or any(c.charge.kind == "law" for c in charges) or not charges:
            return accountant.total(charges, self._terms)
        summed = accountant.summed(charges, self._terms)
        if summed not in self._translated:
            try:
                self._translated[summed] = accountant.translated(self._terms, summed)
            except NotProvable as error:
                self._translated[summed] = error
        found = self._translated[summed]
        if isinstance(found, NotProvable):
            raise found
        return found


def _name(found: object, what: str) -> str:
    if not isinstance(found, str) or not is_text(found) or len(found) > _LONGEST:
        raise UsageError(f"the name of a {what} is a text of 1 to {_LONGEST} characters, got {type(found).__name__}")
    return found
