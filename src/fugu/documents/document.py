"""`Document`: what every certificate is, whatever it certifies: plain JSON with a schema, a kind and a digest.

A document is sealed once and never changes: `body` is read-only at every depth. Reading one is bounded in size and
depth, and refuses what is truncated, edited or of another schema. The digest detects edits; it is not a signature, and
nothing a document says of itself is believed because of it: `fugu.verify` proves again.

To add a kind: a class with its SCHEMA, PARTS and NEEDS, `check_parts`, `prove`, `late` checks and `told`, and a line
in `SCHEMAS` (`kinds`); reading, limits, digests, verdicts and pages are written once, over these."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import FrozenInstanceError, dataclass, replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NoReturn, Self, TypeVar

from fugu._version import __version__
from fugu.documents import reading as limits
from fugu.documents.reading import (
    SEALED,
    PartForm,
    by_publisher,
    check_plain,
    frozen,
    guarded,
    load_json,
    read_parts,
    reading,
)
from fugu.errors import CertificateError, UsageError
from fugu.files import write_text
from fugu.shown import Shown
from fugu.visible import Json, brief, finite, several, visible_json

if TYPE_CHECKING:
    from fugu.documents.sentences import Told
    from fugu.guarantee import Guarantee
    from fugu.laws.pair import PairsLike


Outcome = Literal["holds", "fails", "not checked"]
Checked = tuple[str, Outcome, str]
"""The name of a check, how it ended, and why."""
Check = tuple[str, str, Callable[[], object]]
"""The name of a check, what is true if it passes, and the check: a CertificateError if it does not."""
BUDGET = "budget"


class NotChecked(Exception):
    """A part that cannot be worked out again from the document; the message says why."""


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """Whether the guarantee holds, the proved upper bounds behind it, and every check by name.

    `holds`: whether no check fails and the budget was proved; what could not be checked is never taken for proved.
    `epsilon`, `delta`: the bounds proved anew. `worst_pair`: the pair that needs the noise most. `reason`: why it holds
    or not. `checks`: (name, "holds" | "fails" | "not checked", why) for each. A verdict is true where it holds."""

    holds: bool
    epsilon: float
    delta: float
    worst_pair: str
    reason: str
    checks: tuple[Checked, ...] = ()

    def __repr__(self) -> str:
        why = f"epsilon={self.epsilon:.9g}, delta={self.delta:.9g}, worst_pair={brief(self.worst_pair)}"
        return f"Verdict(holds={self.holds}, {why}, {several(len(self.checks), 'check')})"

    def __bool__(self) -> bool:
        return self.holds

    def to_json(self) -> Json:
        """All of it in JSON types; an infinite bound as null."""
        listed = [dict(zip(("name", "outcome", "why"), check, strict=True)) for check in self.checks]
        return dict(finite({**vars(self), "checks": listed}))

    def with_checks(self, more: Iterable[Checked]) -> Verdict:
        """The same with further checks, before the budget; one that fails overturns it."""
        listed = (*self.checks[:-1], *more, *self.checks[-1:])
        wrong = next((f"{name}: {why}" for name, outcome, why in listed if outcome == "fails"), None)
        if not self.holds or wrong is None:
            return replace(self, checks=listed)
        return replace(self, holds=False, reason=wrong, checks=listed)


@dataclass(frozen=True)
class Proved:
    """What a proof says of a document: upper bounds, the pair that needs the noise most, whether that is the budget."""

    epsilon: float
    delta: float
    worst_pair: str
    budget: Outcome
    reason: str
    least: Fraction | None = None
    """The epsilon as a number that no double rounds, where that is known."""

    @staticmethod
    def nothing(reason: str, budget: Outcome = "fails", worst_pair: str = "") -> Proved:
        """No bound at all."""
        return Proved(float("inf"), 1.0, worst_pair, budget, reason)


def unchecked(name: str, why: str) -> Check:
    """What is somebody's word, or cannot be worked out from the document."""

    def step() -> None:
        raise NotChecked(why)

    return name, "", step


def checked(name: str, says: str, step: Callable[[], object]) -> Checked:
    """How a step ended: it holds if it raises nothing, and fails whatever is wrong with a part."""
    try:
        with reading():
            step()
    except NotChecked as why:
        return name, "not checked", str(why)
    except CertificateError as error:
        return name, "fails", str(error)
    return name, "holds", says


def settled(proved: Proved, checks: Iterable[Checked]) -> Verdict:
    """The verdict: all checks, the budget last."""
    listed = (*checks, (BUDGET, proved.budget, proved.reason))
    wrong = next((f"{name}: {why}" for name, outcome, why in listed[:-1] if outcome == "fails"), None)
    holds = proved.budget == "holds" and wrong is None
    reason = proved.reason if wrong is None or proved.budget != "holds" else wrong
    return Verdict(holds, proved.epsilon, proved.delta, proved.worst_pair, reason, listed)


T = TypeVar("T")
SEAL = ("schema", "fugu", "publisher", "digest")
"""The parts that sealing adds."""
OWN_WORDS, _MOST_SAID = "publisher's own words", 2_000


class Stated(Generic[T]):
    """A part of a document as an attribute: what `read` makes of it, under its own name or another one."""

    def __init__(self, read: Callable[[Any], T], name: str = "") -> None:
        self._read, self._name = read, name

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, document: Document | None, owner: type) -> T:
        return self if document is None else self._read(document.body[self._name])  # type: ignore[return-value]


class Document(Shown):
    """A sealed document, of which nothing can be set or removed. A subclass says which schema it is of, which kinds
    there are, and what each must hold."""

    body: Json

    SCHEMA: ClassVar[str] = ""
    KINDS: ClassVar[tuple[str, ...]] = ()
    """The kinds of this schema."""
    NEEDS: ClassVar[tuple[str, ...]] = ()
    """The parts without which there is no document."""
    PARTS: ClassVar[Mapping[str, PartForm]] = SEALED
    """Every part that a document may have: its form, and what it rests on."""
    READ: ClassVar[tuple[tuple[str, str], ...]] = ()
    """What `check_parts` makes sure of, by name, with what is true then: a verdict lists it."""
    INDENT: ClassVar[int | None] = 1
    digest = Stated(str)
    """SHA-256 of everything else in the document."""
    was_read = False
    """Whether `parse` made this object, so that its digest matches and its parts were checked; copies lose it."""

    def __init__(self, body: Json) -> None:
        try:
            object.__setattr__(self, "body", frozen(body))
        except RecursionError:
            raise CertificateError("the certificate is nested deeper than any that fugu wrote") from None

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"a document does not change after it is made, so {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"a document does not change after it is made, so {name!r} cannot be removed")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Document) or type(other) is not type(self):
            return NotImplemented
        return bool(self.body == other.body)

    def __hash__(self) -> int:
        return hash(self.body.get("digest"))

    def __getstate__(self) -> Json:
        """The content alone: what was read of it is read again."""
        return {"body": self.body}

    @classmethod
    def sealed(cls, body: Mapping[str, object], draft: Document | None = None) -> Self:
        """The document with the content `body`, under the schema of the class, with the digest of the whole; `draft`:
        the same content, of which parts are read already."""
        full = {"schema": cls.SCHEMA, "fugu": __version__, **Document(dict(body)).body}  # read-only: no copy of a copy
        draft = draft or cls({k: v for k, v in full.items() if k != "publisher"})
        full["publisher"] = {"parts": sorted(by_publisher(draft.PARTS, draft.body)), "assumptions": []}
        with suppress(CertificateError), reading():  # of what cannot be read no line is marked: `parse` refuses it
            full["publisher"] = draft.by_publisher()
        return cls({**full, "digest": digest_of(full)})

    @classmethod
    def parse(cls, content: object) -> Self:
        """The document that `content`, decoded JSON, is. Raises `CertificateError` if it is of another schema or kind,
        if a part is missing or cannot be read, if parts do not belong together, or if the digest does not match."""
        check_plain(content)
        if not isinstance(content, dict) or content.get("schema") != cls.SCHEMA:
            around = isinstance(content, dict) and str(content.get("schema")).startswith("fugu/release/")
            inside = "; this is a release document, with its certificates inside: fugu.ReleaseDocument.load"
            raise CertificateError(f"not a certificate of schema {cls.SCHEMA}{inside if around else ''}")
        if not isinstance(content.get("kind"), str) or content["kind"] not in cls.KINDS:
            raise CertificateError("the certificate is of a kind that this version of fugu does not know")
        made = cls.of_kind(content["kind"])
        if missing := [key for key in ("schema", "kind", *made.NEEDS, "digest") if key not in content]:
            raise CertificateError(f"the certificate lacks {', '.join(missing)}; it may be truncated")
        if digest_of({k: v for k, v in content.items() if k != "digest"}) != content["digest"]:
            raise CertificateError("the certificate's content does not match its digest: it was edited after sealing")
        return made._read(content)

    @classmethod
    def of_kind(cls, name: object) -> type[Self]:
        """The class that reads documents of this kind."""
        del name
        return cls

    @classmethod
    def _read(cls, content: Json) -> Self:
        """The document, each part of its form, and all of them checked."""
        read_parts(cls.PARTS, content)
        document = cls(content)
        with reading():
            document.check_parts()
        object.__setattr__(document, "was_read", True)
        return document

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read the file at `path`; refuses what `parse` refuses. It proves nothing yet."""
        return cls.parse(load_json(path))

    def check_parts(self) -> None:
        """CertificateError unless parts can be read, beyond their forms, and belong together: reading asks it."""

    def sure(self) -> Iterable[tuple[str, str]]:
        """What reading has made sure of: names, and what is true."""
        return self.READ

    def prove(self, given: PairsLike | None = None) -> Proved:
        """What is proved now, of the document's own laws or of those `given`, using no figure that it states."""
        del given
        raise UsageError(f"nothing is proved of a document of kind {self.kind!r}")

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        """Everything else that is looked at, the proof at hand."""
        del proved, given
        yield from ()

    def quoted(self, found: Guarantee | None = None, about: str = "") -> tuple[str, ...]:
        """What is to be quoted of it, in odds: see `fugu.documents.promises.promise_lines`. Nothing for what promises
        nothing."""
        del found, about
        return ()

    def tell(self) -> Told:
        """What it says in the words of all kinds; CertificateError if it cannot be read, or says nothing of itself."""
        with reading():
            return self.told()

    def told(self) -> Told:
        """The same, unguarded."""
        raise CertificateError(f"a document of kind {self.kind!r} says nothing of itself")

    def verdict(self, given: PairsLike | None = None) -> Verdict:
        """The proof first, then every check by its name: the one place that runs them, so that no file, whatever is in
        it, ends in a traceback. What was made in memory is read first, as a file is: it is not believed."""
        if not self.was_read:
            return type(self).parse(self.body).verdict(given)
        with guarded(self.kind):
            proved = self.prove(given)
            return settled(proved, self.checks(proved, given))

    def checks(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Checked]:
        """How every check ended; those that reading has made sure of already hold."""
        yield from self.seals()
        yield from ((name, "holds", says) for name, says in self.sure())
        yield from (checked(*check) for check in self.late(proved, given))

    def seals(self) -> Iterator[Checked]:
        """What the digest and the schema say."""
        yield "digest", "holds", "the content is the one that was sealed"
        yield "kind and schema", "holds", f"{self.kind}, {self.SCHEMA}, with every part that it needs"

    def own_words(self) -> Iterator[Check]:
        """What it leaves to its publisher's word: one line, if there is any; that it is marked is checked."""
        yield "marks", "what does not follow from the document is marked as the publisher's own words", self.check_marks
        own: Json = {}
        with suppress(CertificateError), reading():  # which the check above has named
            own = self.by_publisher()
        if any(own.values()):
            yield unchecked(OWN_WORDS, "; ".join([", ".join(own["parts"]), *own["assumptions"]])[:_MOST_SAID])

    def own_lines(self) -> list[str]:
        """The assumptions that do not follow from the other parts: the publisher's own words."""
        return []

    def by_publisher(self) -> Json:
        """What is the publisher's own words in this document: parts by name, and lines of the assumptions."""
        return {"parts": sorted(by_publisher(self.PARTS, self.body)), "assumptions": self.own_lines()}

    def check_marks(self) -> None:
        """CertificateError unless the publisher's own words are marked as such; before version 0.4 none were."""
        stated = self.body.get("publisher")
        with reading():
            own = self.by_publisher()
        if stated is not None and stated != own:
            raise CertificateError("what does not follow from the certificate is not marked as the publisher's words")

    @property
    def kind(self) -> str:
        """What is certified, one of the kinds of the schema."""
        return str(self.body["kind"])

    def __getitem__(self, name: str) -> Any:
        return self.body[name]

    @property
    def composes(self) -> bool:
        """Whether it is of many questions to one table, charged to each record, which add up."""
        return False

    @property
    def claims(self) -> Json:
        """The body without what sealing adds: what is said, whichever version of fugu said it."""
        return {k: v for k, v in self.body.items() if k not in SEAL}

    def to_json(self) -> Json:
        """The document in JSON types: all of it, as `save` writes it. `text` is the same as text."""
        return dict(json.loads(self.text))

    @property
    def text(self) -> str:
        """What `save` writes."""
        compact = (",", ":") if self.INDENT is None else None
        return visible_json(json.dumps(self.body, ensure_ascii=False, separators=compact, indent=self.INDENT))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document to `path`, whole or not at all; UsageError if it is larger than any reader takes."""
        write_text(path, sized(self.text))

    def __repr__(self) -> str:
        kind, digest = self.body.get("kind"), str(self.body.get("digest"))
        name = next(each.__name__ for each in type(self).__mro__ if "SCHEMA" in vars(each))
        return f"{name}({kind!r}, digest {brief(digest, 12)})"


@cache
def later(place: str) -> Any:
    """What stands at "module:name", imported now: documents of records and entries are proved by rooms further down."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def is_unsealed(content: object) -> bool:
    """Whether this is what version 0.1 wrote for sequences: no schema, no digest."""
    return isinstance(content, dict) and "schema" not in content and {"pufferfish", "prior"} <= content.keys()


def no_laws(given: object, what: str) -> None:
    """Refuse laws where there is nothing to put them in place of."""
    if given is not None:
        raise UsageError(f"laws or a scenario can be given for certificates of releases; this one is of {what}")


def sized(text: str) -> str:
    """The text of a document, if `load` would read it; UsageError, which says what to do, for a larger one."""
    size = len(text.encode())
    if size > limits.MOST_BYTES:
        raise UsageError(
            f"the certificate has {size:,} bytes, and documents of more than {limits.MOST_BYTES:,} are read by "
            "nobody: publish fewer different values (bins, or a coarser step), fewer groups or fewer questions"
        )
    return text


def canonical_json(content: Any) -> str:
    """One text for one content, whatever the order of its names: what digests are taken of."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest_of(content: Any) -> str:
    """SHA-256 of the canonical text."""
    try:
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()
    except UnicodeEncodeError:
        raise UsageError("a name or label holds half of a surrogate pair, which is not text; rename it") from None
