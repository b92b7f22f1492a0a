"""`Charge`: what one release costs and of which kind its promise is; amounts of privacy; names that look alike are
one."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, Protocol, TypeGuard

from fugu.documents.certificate import Certificate
from fugu.documents.document import canonical_json, digest_of
from fugu.documents.per_entry import PerEntryCertificate
from fugu.documents.promises import Promising
from fugu.errors import BadBudget, LedgerBroken, UsageError
from fugu.guarantee import ZCDP, Approx, Composed, Guarantee, Pure, is_guarantee
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.curve import budget_from, budget_json
from fugu.mechanism.mechanism import Mechanism
from fugu.numbers.exact import Real, as_fraction, float_down

# Amounts of privacy: what is left of a budget, and what a guarantee says at a Rényi order.


def left(spent: Guarantee, budget: Guarantee) -> Guarantee:
    """The budget minus what was spent, in the budget's own language; never below nothing."""
    if isinstance(budget, ZCDP):
        used = spent.zcdp
        return ZCDP(_rest(budget.rho, math.inf if used is None else plain(used)))
    if budget.renyi:
        return budget.with_epsilons({a: _rest(e, at(spent, a)) for a, e in budget.orders})
    if budget.pure:
        return Pure(_rest(budget.epsilon, at(spent, math.inf) if spent.renyi else spent.epsilon))
    if not spent.renyi:
        delta = plain(max(Fraction(0), exact(budget.delta) - exact(spent.delta)))
        return Approx(_rest(budget.epsilon, spent.epsilon), delta)
    if exact(spent.delta) >= exact(budget.delta):
        return Approx(0, 0)
    return Approx(_rest(budget.epsilon, spent.to_approx(budget.delta).epsilon), 0)


def at(g: Guarantee, alpha: Real) -> Real:
    """A proved bound on D_alpha under g, or inf; none holds outside some events only."""
    return math.inf if g.delta else g.divergence_at(alpha)


def orders_of(g: Guarantee | None) -> list[Real]:
    """The orders at which a Rényi guarantee speaks."""
    return [a for a, _ in g.orders] if g is not None and g.renyi else []


def _rest(have: Real, used: Real) -> Real:
    """have - used, exactly if that is short to write, else the nearest double that does not mean more."""
    found = Fraction(0) if math.isinf(used) else max(Fraction(0), exact(have) - exact(used))
    if found.denominator <= 10**15 or as_fraction(float(found)) == found:
        return plain(found)
    below = float_down(found)
    while as_fraction(below) > found:
        below = math.nextafter(below, 0)
    return below


# Names that look alike are one name: letters in other forms, case, spacing and characters that are not seen.


LONGEST = 500
_FORMS = ("Cc", "Cf")
_UNSEEN = {"\u034f", *map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0xE0100, 0xE01F0))}


def canonical(name: str) -> str:
    """The name without case, spacing, forms of letters, and control or invisible characters.

    >>> canonical(" \\uff2eorth\\u200b\\t side") == canonical("north side")
    True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    spaced = " ".join(folded.split())
    seen = "".join(c for c in spaced if unicodedata.category(c) not in _FORMS and c not in _UNSEEN)
    return " ".join(seen.split())


def is_text(found: object) -> TypeGuard[str]:
    """Whether it is a text that is not blank and can be stored: half of a surrogate pair cannot."""
    return isinstance(found, str) and bool(found.strip()) and not any("\ud800" <= c <= "\udfff" for c in found)


def checked(found: object, what: str) -> str:
    """The name of a data set, a request or a block."""
    if not is_text(found) or len(found) > LONGEST:
        raise UsageError(f"the name of a {what} is a text of 1 to {LONGEST} characters, got {type(found).__name__}")
    return found


def declared(blocks: Iterable[str] | None) -> tuple[str, ...] | None:
    """The blocks that a data set is registered with; no two of them may look alike."""
    if blocks is None:
        return None
    if isinstance(blocks, str | bytes):
        raise UsageError("blocks is a list of names, each of one block of the data")
    names = tuple(checked(block, "block") for block in blocks)
    forms = [canonical(name) for name in names]
    if "" in forms or len(set(forms)) != len(forms):
        raise UsageError("two names of blocks look alike, or one shows nothing; give each block a name of its own")
    return tuple(sorted(names))


def stated_others(names: Iterable[str]) -> tuple[str, ...]:
    """The data sets whose people are stated to be others."""
    if isinstance(names, str | bytes):
        raise UsageError("other_people is a list of names of data sets, whose people are others than those of this one")
    return tuple(checked(name, "data set") for name in names)


# `Charge`: what one release costs, and of which kind the promise behind it is.
#
# - "per-entry": differential privacy for every entry, on the full product domain. Such charges add.
# - "law": a law-based Pufferfish certificate. Two of them say nothing together, unless something more is known.


PER_ENTRY: Final = "per-entry"
LAW: Final = "law"


@dataclass(frozen=True)
class Charge:
    """The price of one release.

    `kind`: "per-entry" or "law"; `guarantee`: what the release promises, finite. `beliefs` is the fingerprint of a
    certificate's laws. `block` names a part of the data that is independent, given every secret and under every belief,
    of all other blocks. `points` lists the pairs of secrets of a release that was declared to be about point masses:
    whoever believes in a secret knows the whole data. `reads`: what a release private for each entry reads of an entry,
    as JSON text, for priors that price charges together (`fugu.priors.prior.Together`); None where nothing is said.

    `anybody`: the epsilon for each record against anybody, that is under any belief about independent records, outside
    the delta of the guarantee; None where no finite one is known. Of a release private for each entry it is the
    epsilon of its guarantee (docs/proofs/records.md#compose-first); of a law-based one it is the worst loss between any
    two possible inputs, which whoever calibrates it works out.

    >>> Charge.per_entry(0.1).guarantee, Charge.per_entry(0.1).anybody
    (Pure(epsilon=0.1), Fraction(1, 10))
    """

    kind: Literal["per-entry", "law"]
    guarantee: Guarantee
    beliefs: str = ""
    block: str | None = None
    points: tuple[str, ...] = ()
    reads: str | None = None
    anybody: Fraction | None = None

    def __post_init__(self) -> None:
        if self.kind not in (PER_ENTRY, LAW):  # any other word would be added up as if it were for each entry
            raise UsageError(f"the kind of a charge is {PER_ENTRY!r} or {LAW!r}")
        if self.block is not None and (not is_text(self.block) or len(self.block) > LONGEST):
            raise UsageError(f"block is the name of a part of the data: a text of 1 to {LONGEST} characters")
        if not isinstance(self.points, tuple) or not all(map(is_text, self.points)):
            raise UsageError("points is a tuple of texts, the names of pairs of secrets")
        if self.reads is not None and (self.kind != PER_ENTRY or not is_text(self.reads)):
            raise UsageError("reads is JSON text, and goes with a charge for each entry")
        if not is_guarantee(self.guarantee):
            raise UsageError(f"a charge is a guarantee, got {type(self.guarantee).__name__}")
        if not finite(self.guarantee):
            raise BadBudget("a release with an infinite epsilon promises nothing; it cannot be charged")
        if self.anybody is not None and not (isinstance(self.anybody, Fraction) and self.anybody >= (self._own or 0)):
            raise UsageError("anybody is a Fraction, for a charge for each entry not below its own epsilon; or None")
        if self.anybody is None:
            object.__setattr__(self, "anybody", self._own)

    @property
    def _own(self) -> Fraction | None:
        """The epsilon of a charge for each entry, which holds against anybody; None for divergences and for laws."""
        divergent = self.guarantee.renyi or math.isinf(self.guarantee.epsilon)
        return None if self.kind == LAW or divergent else exact(self.guarantee.epsilon)

    @staticmethod
    def per_entry(guarantee: Guarantee | Real, reads: Mapping[str, object] | None = None) -> Charge:
        """The charge of a mechanism that is differentially private for each entry; a number is a pure epsilon.

        `guarantee`: a number, `Pure`, `Approx`, `Renyi` or `RenyiCurve`, on the full product domain. `reads`: what it
        reads of an entry, in JSON types, for a prior that prices charges together; others take no notice of it."""
        stated: Guarantee = guarantee if is_guarantee(guarantee) else Pure(guarantee)  # type: ignore[arg-type]
        text = None if reads is None else json.dumps(dict(reads), sort_keys=True, separators=(",", ":"))
        return Charge(PER_ENTRY, stated, reads=text)

    @staticmethod
    def of_certificate(
        certificate: Certificate, block: str | None = None, point_masses: bool = False, anybody: Fraction | None = None
    ) -> Charge:
        """The charge of a law-based mechanism: what its `certificate` states, for the whole data or one `block`.

        `anybody`: its epsilon against anybody, None for what follows from the certificate. `point_masses` is the
        caller's word: a certificate shows translates of an unknown law as two point masses, so it can contradict the
        word and cannot replace it."""
        most = _anybody(certificate) if anybody is None else anybody
        points: tuple[str, ...] = ()
        if point_masses:
            laws = certificate.laws if certificate.spatial and not certificate.parts else ()
            single = all(item.point_masses for item in laws)
            points = tuple(sorted(label for item in laws for label in item.labels)) if single else ()
            if not points or not all(points):
                raise UsageError(
                    "point_masses=True needs a certificate in which every law has one atom and every pair of secrets a "
                    "name"
                )
        return Charge(LAW, certificate.budget, certificate.fingerprint, block, points, anybody=most)

    @staticmethod
    def of_training(certificate: Promising) -> Charge:
        """The charge of a trained model: for each entry where that is what was proved, else law-based.

        It is for each entry if the prior is `Independent`, whole records are private, and every record has a reading:
        the proof then bounds two runs on *any* two tables that differ in one record (docs/proofs/iterations.md,
        Theorem 1, for the worst record), which is (epsilon, delta)-differential privacy on the full product domain.
        Under any other prior the proof is for couplings of the laws that this prior allows, and where only features or
        targets are private it is for tables that agree in the rest: two such releases say nothing together, so it is
        law-based and stands alone. What is charged is the budget, which is never below what was proved."""
        if certificate.for_each_record:
            return Charge(PER_ENTRY, certificate.believed)
        return Charge(LAW, certificate.believed, digest_of(certificate.claims))

    @staticmethod
    def of_groups(budget: Guarantee, by: str | None, certificates: Mapping[str, Certificate]) -> Charge:
        """One charge for all groups of a statistic, since a record belongs to one: what was asked, and for which laws.

        The question is stated as version 0.1 stated it, so that its requests are still known."""
        proofs = []
        for group, found in sorted(certificates.items()):
            asked = {k: v for k, v in found.body["statistic"].items() if k not in ("rows", "averaged")}  # added later
            proofs.append((group, asked, found.fingerprint, found.body["reading"]))
        stated = json.dumps([by, proofs], sort_keys=True)
        each = [_anybody(found) for found in certificates.values()]
        most = None if None in each else max((x for x in each if x is not None), default=None)
        return Charge(LAW, budget, hashlib.sha256(stated.encode()).hexdigest(), anybody=most)

    def text(self) -> str:
        """The charge as JSON with exact numbers; equal charges have equal texts."""
        second = None if self.anybody is None or self.anybody == self._own else str(self.anybody)
        more = {"beliefs": self.beliefs, "block": self.block, "points": list(self.points), "reads": self.reads,
                "anybody": second}  # fmt: skip
        body = {"kind": self.kind, "guarantee": budget_json(self.guarantee), **{k: v for k, v in more.items() if v}}
        return canonical_json(body)

    @staticmethod
    def parse(text: str) -> Charge:
        """What `text` wrote; anything else was not written by fugu."""
        try:
            body = json.loads(text)
            more = (body.get("beliefs", ""), body.get("block"), tuple(body.get("points", ())), body.get("reads"))
            second = None if "anybody" not in body else Fraction(body["anybody"])
            return Charge(body["kind"], budget_from(body["guarantee"]), *more, second)
        except (UsageError, BadBudget, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
            raise LedgerBroken("a stored charge cannot be read: the ledger was edited or damaged") from error


class PerEntryMechanism(Protocol):
    """A mechanism that is private for each entry and says so: {"kind": "per-entry", "guarantee": ...}."""

    @property
    def charge(self) -> Mapping[str, object]: ...


Chargeable = Charge | Promising | Mechanism | PerEntryMechanism
"""What a ledger can charge."""


def read_mechanism(mechanism: object, block: str | None = None, point_masses: bool = False) -> tuple[Charge, str]:
    """The charge of what is to run, and a digest of the question: the same id must ask the same question again.

    Read from a `Charge`, a `Certificate`, a `TrainingCertificate`, a fugu `Mechanism`, or a mechanism that is private
    for each entry and says so in its `charge`: `PerEntryDP`, and queries on sequences."""
    if not isinstance(point_masses, bool):
        raise UsageError("point_masses is True or False")
    if isinstance(mechanism, Charge):
        if block is not None or point_masses:
            raise UsageError("a Charge states its own block and points; block and point_masses go with a certificate")
        charge, asked = mechanism, _question(mechanism)
    elif isinstance(found := getattr(mechanism, "certificate", mechanism), Promising) and (
        found.WHOLE_RUN or isinstance(found, Certificate)
    ):
        if found.WHOLE_RUN and (block is not None or point_masses):
            raise UsageError("a training is charged for the whole data: block and point_masses are not for it")
        found.parse(found.body)  # the digest shows edits: a smaller epsilon must not be charged
        if isinstance(found, Certificate):
            charge = Charge.of_certificate(found, block, point_masses)
        else:
            charge = Charge.of_training(found)
        asked = json.dumps([_question(charge), {"schema": found.SCHEMA, **found.claims}], sort_keys=True)
    elif (
        isinstance(stated := getattr(mechanism, "charge", None), dict)
        and stated.get("kind") == PER_ENTRY
        and (guarantee := stated.get("guarantee")) is not None
    ):
        charge = Charge.per_entry(guarantee)
        about = getattr(mechanism, "certificate", None)
        about = about.claims if isinstance(about, PerEntryCertificate) else about  # which no version of fugu changes
        asked = json.dumps([charge.text(), about], sort_keys=True, default=str)
    else:
        raise UsageError(
            f"a ledger charges a mechanism from calibrate, a certificate, a PerEntryDP or a Charge, got "
            f"{type(mechanism).__name__}; for a mechanism of your own that is private for each entry, give "
            "fugu.ledger.Charge.per_entry(epsilon)"
        )
    if charge.kind != LAW and (block is not None or point_masses):
        raise UsageError("block and point_masses are about law-based releases; charges for each entry add without them")
    return charge, hashlib.sha256(asked.encode()).hexdigest()


def _question(charge: Charge) -> str:
    """What a charge asks, for the name of its question: the second epsilon follows from the rest, and versions before
    0.4 wrote none."""
    return replace(charge, anybody=None).text()


def finite(guarantee: Guarantee) -> bool:
    """Whether the guarantee promises anything: some finite epsilon. What exceeds all doubles counts as infinite."""
    if isinstance(guarantee, Composed):
        return all(finite(part.whole) for part, _ in guarantee.parts)
    try:
        return any(not math.isinf(e) for _, e in guarantee.orders)
    except OverflowError:
        return False


def _anybody(certificate: Certificate) -> Fraction | None:
    """The epsilon of a release against anybody, without a delta; None where no finite one holds."""
    found = certificate.anybody
    return exact(found.epsilon) if isinstance(found, Pure) else None
