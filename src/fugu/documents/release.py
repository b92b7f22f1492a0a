"""`ReleaseDocument`: what went out, around the certificates that were sealed before anything was drawn.

It is written after the draw, and publishable: it names the data and commits to it, lists the published files with
their SHA-256, and says in words what was asked and what is promised. What it says of the mechanisms is worked out from
the certificates in it, and `fugu.verify` compares: a document that says more than its certificates prove is refused.

`PrivatePart` goes with it and stays at home: the salts of the commitments, and the certificates themselves where they
hold numbers of the private table."""

from __future__ import annotations

import hashlib
import hmac
import io
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from fugu.documents import reading as of
from fugu.documents.document import (
    Check,
    Checked,
    Document,
    NotChecked,
    Outcome,
    Proved,
    Verdict,
    canonical_json,
    checked,
    no_laws,
    settled,
    unchecked,
)
from fugu.documents.kinds import inner
from fugu.documents.promises import weakest
from fugu.documents.reading import guarded
from fugu.documents.sentences import (
    ANSWERS,
    PUBLIC_LAWS,
    UNPUBLISHED,
    derived,
    protected,
    question_words,
    without_fitted,
)
from fugu.documents.sign_off import FORM, check_sign_off, words_of
from fugu.errors import CertificateError, UsageError
from fugu.files import STREAM, opened, parts_of
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import ANYBODY, promise, quote
from fugu.guarantee.curve import budget_from
from fugu.laws.pair import PairsLike
from fugu.question import SIGN_OFF
from fugu.visible import Json

FOLLOW = ("budget", "unit", "secrets", "pairs", "mechanisms", "reading", "assumptions")
"""The parts that are worked out from the certificates."""
SINCE_0_4 = ("rules",)
"""Those of them that earlier versions did not write: what missing and unreadable cells count as, in sentences."""
REFERENCE, PUBLIC_TABLE = "a reference", "the table itself, which is public"
OWN_TABLE, DECLARED = "the private table itself", "declared"
"""Where beliefs come from. The first two are files, named with their SHA-256 if they are public."""
NOT_FOR_PUBLICATION = (
    "NOT FOR PUBLICATION. This file opens the commitments of the release document beside it; whoever has it can test "
    "guesses about the private table."
)
OTHER_PEOPLE = "other people"
"""The publisher's word on data sets of the ledger: their people are others than those of this release."""
NOT_CHECKABLE = (
    "the beliefs hold numbers of the private table, so the certificates are withheld; whoever has the "
    "file that is marked not for publication can check them"
)
_NUMBER = of.maybe(of.exact)
_ASKED = of.with_words({"query": of.text, "own": of.exact, "groups": of.whole})
_NOISE = of.with_words(
    {"kind": of.maybe(of.text), "questions": of.each(_ASKED), "post": of.TEXTS,
     **dict.fromkeys(("scale", "step", "sensitivity", "epsilon per entry", "noise", "share"), _NUMBER)}
)  # fmt: skip
_MECHANISM = of.parts(
    {**dict.fromkeys(("group", "method", "theorem", "proof"), of.text), "about": of.maybe(of.thing), "noise": _NOISE,
     "proved": of.maybe(of.thing), "worst pair": of.maybe(of.text)}
)  # fmt: skip
"""What a release document says of one certificate."""
_FILE = of.parts(
    {"name": of.text, "bytes": of.whole, "sha256": of.digest, "rows": of.maybe(of.whole), "columns": of.TEXTS},
    {"folder": of.text},
)
_SOURCE = of.parts(
    {"from": of.text, "name": of.maybe(of.text), "sha256": of.maybe(of.digest), "commitment": of.maybe(of.digest),
     "declared public": of.truth}
)  # fmt: skip
_LEDGER = of.parts({"data": of.text, "request": of.text, "entry": of.digest}, {"at": of.plain, OTHER_PEOPLE: of.TEXTS})
_CERTIFICATES = of.maybe(of.each(of.parts({"group": of.text, "certificate": of.thing})))
RELEASE = of.listed(
    of.SEALED,
    proof={"certificates": _CERTIFICATES},
    derived={
        "question": of.parts({"words": of.maybe(of.text), "recipe": of.maybe(of.thing)}), "budget": of.GUARANTEE,
        "unit": of.text, "reading": of.maybe(of.SCHEMA), "mechanisms": of.each(_MECHANISM, 200_000),
        **dict.fromkeys(("secrets", "pairs", "assumptions", "rules"), of.TEXTS),
    },
    publisher={
        "date": of.text, "data": of.parts({"name": of.text, "commitment": of.digest, "rows": of.maybe(of.whole)}),
        "published": of.each(_FILE), "skipped": of.maybe(of.TEXTS), "beliefs": _SOURCE, "ledger": of.maybe(_LEDGER),
        "withheld": of.maybe(of.parts({"commitment": of.digest})), SIGN_OFF: FORM,
    },
    inside={"question": {"recipe": of.PUBLISHER}},
)  # fmt: skip
PRIVATE = of.listed(
    of.SEALED,
    proof={"certificates": _CERTIFICATES},
    derived={"marking": of.text},
    publisher={
        "release": of.digest, "recipe": of.maybe(of.thing), "check": of.plain,
        **dict.fromkeys(("data salt", "reference salt", "beliefs salt"), of.maybe(of.text)),
    },
)  # fmt: skip


def lines_of_own(budget: Guarantee) -> tuple[str, ...]:
    """The lines to quote of a release whose beliefs are its own table's, and withheld: see `UNPUBLISHED`."""
    return quote(budget, None, PUBLIC_LAWS, about=ANSWERS, unpromised=UNPUBLISHED)


def promise_of_own(budget: Guarantee) -> str:
    """The same in one sentence."""
    return f"{promise(budget)} {ANSWERS} against whoever believes {PUBLIC_LAWS}; none published {ANYBODY}"


class ReleaseDocument(Document):
    """What went out in one release, why it may, and what binds the files to it."""

    SCHEMA = "fugu/release/1"
    KINDS = ("release",)
    NEEDS = ("fugu", "date", "data", "published", "question", "skipped", "beliefs", "ledger", "certificates",
             "withheld", *FOLLOW)  # fmt: skip
    PARTS = RELEASE
    INDENT = None

    def own_lines(self) -> list[str]:
        """Those of the certificates inside, as far as this document repeats them."""
        if self.withheld:
            return list(self["assumptions"])  # nobody else can check one of them
        inside = [part["certificate"].get("publisher") or {} for part in self["certificates"]]
        own = {line for marks in inside for line in marks.get("assumptions", ())}
        return [line for line in self["assumptions"] if line in own]

    def check_parts(self) -> None:
        """Parts that can be read: digests, counts, names that are no paths; the certificates, or why there are none."""
        names = [file["name"] for file in self.published]
        for file in self.published:
            if not is_name(file["name"]) or not is_name(file.get("folder", file["name"])) or file["bytes"] < 0:
                raise CertificateError("a published file is not described by a name, its size and its SHA-256")
            if (file["rows"] or 0) < 0:
                raise CertificateError("a published file is not described by its rows and the names of its columns")
        if len(set(names)) < len(names):
            raise CertificateError("a published file is named twice")
        if len({file.get("folder") for file in self.published}) > 1:
            raise CertificateError("the published files are not all parts of one folder")
        if not self.published:
            raise CertificateError("the document names no published file, so it binds nothing")
        if not is_name(self["data"]["name"]) or (self["data"]["rows"] or 0) < 0:
            raise CertificateError("the data is not described by a name that is not a path, a commitment and its rows")
        if datetime.fromisoformat(self["date"]).tzinfo is None:
            raise CertificateError("the date of the document has no time zone")
        if (self["certificates"] is None) == (self["withheld"] is None):
            raise CertificateError("a release document holds its certificates, or a commitment to them; one of the two")
        if self["question"]["words"] is None:
            raise CertificateError("the question is not described by words and a recipe")
        if self["certificates"] is not None:
            by_group(self["certificates"])
        _check_beliefs(self["beliefs"], self["withheld"] is not None)

    def prove(self, given: PairsLike | None = None) -> Proved:
        """The worst of the certificates inside; of withheld ones nothing."""
        no_laws(given, "a whole release; give its certificate")
        if (bodies := self.certificates) is None:
            return Proved.nothing(NOT_CHECKABLE, "not checked")
        return _proved({group: inner(body).verdict() for group, body in bodies.items()})

    def verdict(self, given: PairsLike | None = None) -> Verdict:
        """Every certificate judged once, for the proof and for the checks."""
        if self.certificates is None or given is not None or not self.was_read:
            return super().verdict(given)
        with guarded(self.kind):
            return self.judged(self.certificates)

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        del proved, given
        yield from self.own_words()
        yield from self._sign_off()
        yield unchecked("certificates", NOT_CHECKABLE)

    def judged(self, bodies: Mapping[str, Json]) -> Verdict:
        """The verdict with certificates at hand, also if they were withheld."""
        verdicts = {group: inner(body).verdict() for group, body in bodies.items()}
        return settled(_proved(verdicts), self._checked(bodies, verdicts))

    def _checked(self, bodies: Mapping[str, Json], verdicts: Mapping[str, Verdict]) -> Iterator[Checked]:
        """That it is whole, and says of its certificates what they say."""
        yield from self.seals()
        yield from (checked(*check) for check in (*self.own_words(), *self._sign_off()))
        yield from _of_groups(verdicts)
        yield from (checked(*check) for check in self._around(bodies))

    def _sign_off(self) -> Iterator[Check]:
        if SIGN_OFF in self.body:
            says = words_of(self[SIGN_OFF], len(self["assumptions"]))
            yield SIGN_OFF, says, lambda: check_sign_off(self.body)

    def _around(self, bodies: Mapping[str, Json]) -> Iterator[Check]:
        if len(bodies) > 1:
            says = "each record is in one group of one statistic, so all groups together spend no more than one of them"
            yield "groups", says, lambda: _check_groups(bodies)
        says = "noise, secrets, unit, assumptions and figures are those of the certificates"
        yield "what is said", says, lambda: self._check_same(bodies)
        says = "the words are those of the recipe, and the certificates answer it"
        yield "question", says, lambda: self._check_question(bodies)
        yield "rows", "as many as the certificates and the published file have", lambda: self._check_rows(bodies)
        yield "skipped secrets", "no secret is both protected and left out", lambda: self._check_skipped(bodies)

    def _check_same(self, bodies: Mapping[str, Json]) -> None:
        """CertificateError unless every derived part is what the certificates make of it."""
        own = derived({group: inner(body).told() for group, body in bodies.items()}, self.withheld)
        for name in (*FOLLOW, *(part for part in SINCE_0_4 if part in self.body)):
            if canonical_json(self[name]) != canonical_json(own[name]):
                raise CertificateError(f"the part {name!r} of the document is not what its certificates say")

    def _check_question(self, bodies: Mapping[str, Json]) -> None:
        """CertificateError unless the recipe makes the words, and every certificate answers the recipe's question."""
        stated = self["question"]
        recipe = stated["recipe"]
        if recipe is None:  # CertificateError if it was taken away, and the certificate still has it
            for own in (body["recipe"] for body in bodies.values() if body.get("recipe") is not None):
                if not self.withheld:
                    raise CertificateError("the document has no recipe for its question, and its certificate has one")
                if stated["words"] != question_words(without_fitted({"what": "column", **own})):
                    raise CertificateError("the words of the question are not those of the certificate's recipe")
            raise NotChecked("there is no recipe: the question was asked in code, or holds what is withheld")
        if stated["words"] != question_words(recipe):
            raise CertificateError("the words of the question are not those of its recipe")
        if recipe["what"] == "statistic" and set(recipe["groups"]) != set(bodies):
            raise CertificateError("the recipe and the certificates are for other groups")
        for group, body in bodies.items():
            if not inner(body).answers(recipe, group):
                raise CertificateError(f"the certificate of group {group!r} is for another question than the recipe")

    def _check_rows(self, bodies: Mapping[str, Json]) -> None:
        """CertificateError unless the rows that are named are those of the parts that have them, too."""
        recipe, rows, own = self["question"]["recipe"], self["data"]["rows"], None
        if recipe is not None:
            parts = [file["rows"] for file in self.published]
            column = None if None in parts else sum(parts)
            named = {"statistic": sum((recipe.get("groups") or {}).values()), "column": column}
            own = named[recipe["what"]] if recipe["what"] in named else inner(next(iter(bodies.values()))).rows
        if own is None or rows is None:
            raise NotChecked("no other part says how many rows the data has")
        if own != rows:
            raise CertificateError("the data is said to have another number of rows than was released")

    def _check_skipped(self, bodies: Mapping[str, Json]) -> None:
        """CertificateError unless the skipped secrets are those that certificates name, and none is protected."""
        stated = self["skipped"]
        if stated is None:
            raise NotChecked("which secrets the beliefs leave out is not known of this release")
        for body in bodies.values():
            if (own := inner(body).left_out) is not None and own != ", ".join(stated):
                raise CertificateError("the certificates leave out other secrets than the document names")
        if both := sorted(set(stated) & set(self["secrets"])):
            raise CertificateError(f"the secret {both[0]!r} is named as protected and as skipped")

    def quoted(self, found: Guarantee | None = None, about: str = "") -> tuple[str, ...]:
        """As its weakest certificate says it, of the secret that the recipe names; where the certificates are withheld,
        the budget, and why nothing is said to anybody."""
        if self.withheld:
            return lines_of_own(budget_from(self["budget"]) if found is None else found)
        recipe = self["question"]["recipe"] or {}
        named = protected(recipe) if "protect" in recipe else about
        most = weakest(inner(body) for body in (self.certificates or {}).values())
        return () if most is None else most.quoted(found, named)

    @property
    def composes(self) -> bool:
        return "questions" in self["mechanisms"][0]["noise"]

    @property
    def published(self) -> list[Json]:
        """The files that went out: name, bytes, SHA-256, rows, columns."""
        return list(self["published"])

    @property
    def bound(self) -> str:
        """What went out, in one digest: the SHA-256 of the only file, or of the listing of the parts of a folder."""
        if "folder" not in self.published[0]:
            return str(self.published[0]["sha256"])
        lines = sorted((file["name"], file["sha256"]) for file in self.published)
        return hashlib.sha256("".join(f"{sha256}  {name}\n" for name, sha256 in lines).encode()).hexdigest()

    @property
    def withheld(self) -> bool:
        """Whether the certificates hold numbers of the private table, and are in a file that is not for publication."""
        return self["withheld"] is not None

    @property
    def certificates(self) -> dict[str, Json] | None:
        """The sealed certificates by group; the only one is called "". None if they are withheld."""
        return None if self.withheld else by_group(self["certificates"])

    def opened(self, private: PrivatePart) -> dict[str, Json]:
        """The certificates, from the private part that belongs to this document.

        CertificateError if it belongs to another, or does not hold what was committed to."""
        if private["release"] != self["data"]["commitment"]:
            raise CertificateError("the private part belongs to another release")
        if (known := self.certificates) is not None:
            return known
        stated = private["certificates"]
        if stated is None or private["beliefs salt"] is None:
            raise CertificateError("the private part does not hold the withheld certificates")
        found = commit_text(canonical_json(stated), private["beliefs salt"])
        if not same(found, self["withheld"]["commitment"]):
            raise CertificateError("the private part does not hold the certificates that were committed to")
        return by_group(stated)


class PrivatePart(Document):
    """What opens the commitments of one release document; not for publication."""

    SCHEMA = "fugu/release-private/1"
    KINDS = ("release-private",)
    NEEDS = ("marking", "release", "data salt", "reference salt", "beliefs salt", "certificates", "recipe")
    PARTS = PRIVATE

    def check_parts(self) -> None:
        """It says aloud what it is, and names one release."""
        if self["marking"] != NOT_FOR_PUBLICATION:
            raise CertificateError("the private part of a release is not marked as such")


def _proved(verdicts: Mapping[str, Verdict]) -> Proved:
    """The largest figures, and the first group that does not hold."""
    worst = max(verdicts.values(), key=lambda v: (v.epsilon, v.delta))
    wrong = next(((group, v) for group, v in verdicts.items() if not v.holds), None)
    outcome: Outcome = "holds"
    reason = next(iter(verdicts.values())).reason
    if len(verdicts) > 1:
        reason = f"all {len(verdicts)} certificates hold"
    if wrong is not None:
        group, verdict = wrong
        open_only = all(outcome != "fails" for _, outcome, _ in verdict.checks)
        outcome = "not checked" if open_only else "fails"
        reason = f"group {group!r}: {verdict.reason}" if group else verdict.reason
    epsilon, delta = max(v.epsilon for v in verdicts.values()), max(v.delta for v in verdicts.values())
    return Proved(epsilon, delta, worst.worst_pair, outcome, reason)


def _of_groups(verdicts: Mapping[str, Verdict]) -> Iterator[Checked]:
    """The checks of the only certificate, or one line for each name over all groups."""
    if len(verdicts) == 1:
        for name, outcome, why in next(iter(verdicts.values())).checks[:-1]:
            yield f"certificate: {name}", outcome, why
        return
    lines: dict[str, list[tuple[str, Outcome, str]]] = {}
    for group, verdict in verdicts.items():
        for name, outcome, why in verdict.checks[:-1]:
            lines.setdefault(name, []).append((group, outcome, why))
    for name, found in lines.items():
        group, outcome, why = min(found, key=lambda line: ("fails", "not checked", "holds").index(line[1]))
        same = sum(line[1] == outcome for line in found)
        count = f"all {len(found)} groups" if same == len(found) else f"{same} of {len(found)} groups, first {group!r}"
        yield f"certificates: {name}", outcome, f"{count}: {why}"


def _check_groups(bodies: Mapping[str, Json]) -> None:
    """CertificateError unless several certificates are one statistic, group by group: others do not add up."""
    stated = {group: body.get("statistic") or {} for group, body in bodies.items()}
    asked = {(about.get("query"), about.get("by")) for about in stated.values()}
    named = all(about.get("group") == group for group, about in stated.items())
    if len(asked) > 1 or not named or None in next(iter(asked)):
        raise CertificateError(
            "the document holds several certificates that are not one statistic by group; what releases of one data "
            "set promise alone, they do not promise together"
        )


def _check_beliefs(stated: Json, withheld: bool) -> None:
    """One of four sources; a file is named with its digest if it is public, else with a commitment; certificates are
    withheld for one source only."""
    source, name, digest, hidden = (stated[part] for part in ("from", "name", "sha256", "commitment"))
    if source in (REFERENCE, PUBLIC_TABLE):
        named = is_name(name) and (digest is None) != (hidden is None)
        public = digest is not None
    else:
        named, public = (name, digest, hidden) == (None, None, None), True
    if source not in (REFERENCE, PUBLIC_TABLE, OWN_TABLE, DECLARED) or not named:
        raise CertificateError("the beliefs are not described by where they come from")
    if stated["declared public"] is not public or (source == PUBLIC_TABLE and not public):
        raise CertificateError("the beliefs are said to be declared public, or not, against where they come from")
    if withheld != (source == OWN_TABLE):
        raise CertificateError("certificates are withheld if and only if beliefs come from the private table itself")


def by_group(stated: Any) -> dict[str, Json]:
    """{group: body} of a list of certificates, each group once."""
    found: dict[str, Json] = {}
    for part in stated:
        if not isinstance(part, Mapping) or not isinstance(group := part.get("group"), str):
            raise CertificateError("a certificate does not say which group it is for")
        if not isinstance(body := part.get("certificate"), Mapping):
            raise CertificateError(f"group {group!r} has no certificate")
        if group in found:
            raise CertificateError(f"group {group!r} has two certificates")
        found[group] = dict(body)
    if not found:
        raise CertificateError("there is no certificate")
    return found


def is_name(text: Any) -> bool:
    """Whether this names a file, and no place: a document never says where on a machine something was."""
    return isinstance(text, str) and text not in ("", ".", "..") and not set(text) & {"/", "\\", "\0"}


# Commitments: a document names private content without saying anything of it, and whoever has the salt can check it.
#
# A plain digest of a table is a release: who knows all rows but one tries every value of the last. A commitment is
# HMAC-SHA256 under 32 random bytes that stay with the private files. It hides the content as long as the salt is
# secret, and binds it: another content with the same value would be a collision of SHA-256.


_SALT = 32
_CHUNK = 1 << 20


def new_salt() -> str:
    """32 bytes from the operating system, in hexadecimal digits."""
    return secrets.token_hex(_SALT)


def commit_text(text: str, salt: str) -> str:
    """The commitment to a text."""
    return hmac.new(_key(salt), text.encode(), hashlib.sha256).hexdigest()


def commit_file(path: str | os.PathLike[str], salt: str) -> str:
    """The commitment to a file, byte for byte; anybody can work it out again: `openssl dgst -sha256 -mac HMAC`."""
    found = hmac.new(_key(salt), digestmod=hashlib.sha256)
    with _opened(path) as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def listing(files: Iterable[Path]) -> str:
    """The SHA-256 and the name of each file, as `sha256sum *` prints them: what a folder of parts is bound by."""
    return "".join(f"{file_sha256(file)}  {file.name}\n" for file in files)


def commit_table(path: str | os.PathLike[str], salt: str) -> str:
    """The commitment to a file; to a folder of parts, that to the listing of its parts in the order of their names."""
    if os.fspath(path) != STREAM and Path(path).is_dir():
        return commit_text(listing(parts_of(path)), salt)
    return commit_file(path, salt)


def file_sha256(path: str | os.PathLike[str]) -> str:
    """The plain SHA-256 of a file that is public."""
    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two commitments are equal."""
    return hmac.compare_digest(one.encode(), other.encode())


def _key(salt: str) -> bytes:
    try:
        key = bytes.fromhex(salt)
    except (TypeError, ValueError):
        raise CertificateError("the salt of a commitment is not in hexadecimal digits") from None
    if len(key) != _SALT:
        raise CertificateError(f"the salt of a commitment has {len(key)} bytes, and {_SALT} are needed")
    return key


def _opened(path: str | os.PathLike[str]) -> io.BufferedReader | io.BytesIO:
    if os.fspath(path) != STREAM and not Path(path).is_file():
        raise UsageError(f"{Path(path).name!r} is not a file")
    return opened(path)
