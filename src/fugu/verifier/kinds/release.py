"""Release documents: every certificate inside is proved again, and what is said around them must follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import final

from fugu.documents.document import Document, canonical_json
from fugu.documents.plain_json import reading
from fugu.documents.release import DERIVED, SINCE_0_4, ReleaseDocument
from fugu.errors import CertificateError
from fugu.laws.pair import PairsLike
from fugu.telling import derived, told
from fugu.telling.question import question_words, without_fitted
from fugu.telling.recipes import answers, left_out
from fugu.verifier.kinds.registry import KINDS, Kind, judge, kind, no_laws, own_words, sealed
from fugu.verifier.verdict import Checked, NotChecked, Outcome, Proved, Verdict, checked, settled
from fugu.visible import Json

NOT_CHECKABLE = (
    "the beliefs hold numbers of the private table, so the certificates are withheld; whoever has the "
    "file that is marked not for publication can check them"
)


@final
@kind("release")
class Releases(Kind):
    """What went out, around sealed certificates."""

    document = ReleaseDocument

    def prove(self, document: ReleaseDocument, laws: PairsLike | None) -> Proved:
        """The worst of the certificates inside."""
        no_laws(laws, "a whole release; give its certificate")
        bodies = document.certificates
        return Proved.nothing(NOT_CHECKABLE, "not checked") if bodies is None else _proved(_judged(bodies))

    def check(self, document: ReleaseDocument, proved: Proved, other_laws: bool) -> Iterator[Checked]:  # noqa: ARG002
        """That it is whole, and says of its certificates what they say."""
        bodies = document.certificates
        yield from _checks(document, bodies, {} if bodies is None else _judged(bodies))

    def judge(self, document: ReleaseDocument, laws: PairsLike | None) -> Verdict:
        """Every certificate judged once, for the proof and for the checks."""
        if document.withheld or laws is not None:
            return super().judge(document, laws)
        return judge_opened(document, document.certificates or {})


def judge_opened(document: ReleaseDocument, bodies: Mapping[str, Json]) -> Verdict:
    """The verdict on a release document whose certificates are at hand, also if they were withheld."""
    verdicts = _judged(bodies)
    return settled(_proved(verdicts), _checks(document, bodies, verdicts))


def _checks(
    document: ReleaseDocument, bodies: Mapping[str, Json] | None, verdicts: Mapping[str, Verdict]
) -> Iterator[Checked]:
    """Everything about a release document but the proof."""
    yield from (*sealed(document), *own_words(document))
    if bodies is None:
        yield "certificates", "not checked", NOT_CHECKABLE
        return
    yield from _of_groups(verdicts)
    if len(bodies) > 1:
        says = "each record is in one group of one statistic, so all groups together spend no more than one of them"
        yield checked("groups", says, lambda: _groups(bodies))
    says = "noise, secrets, unit, assumptions and figures are those of the certificates"
    yield checked("what is said", says, lambda: _same(document, bodies))
    says = "the words are those of the recipe, and the certificates answer it"
    yield checked("question", says, lambda: _question(document, bodies))
    yield checked("rows", "as many as the certificates and the published file have", lambda: _rows(document, bodies))
    yield checked("skipped secrets", "no secret is both protected and left out", lambda: _skipped(document, bodies))


def inner(body: Json) -> Document:
    """The certificate inside a release document, read and checked by its own schema."""
    schemas = {name: d for d in (found.document for found in KINDS.values()) for name in (d.SCHEMA, *d.SCHEMAS)}
    found = schemas.get(str(body.get("schema")))
    if found is None or found is ReleaseDocument:
        raise CertificateError("a release document holds something that is no certificate")
    return found.parse(body)


def _judged(bodies: Mapping[str, Json]) -> dict[str, Verdict]:
    return {group: judge(inner(body), None) for group, body in bodies.items()}


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


def _groups(bodies: Mapping[str, Json]) -> None:
    """CertificateError unless several certificates are one statistic, group by group: others do not add up."""
    with reading():
        stated = {group: body.get("statistic") or {} for group, body in bodies.items()}
        asked = {(about.get("query"), about.get("by")) for about in stated.values()}
        named = all(about.get("group") == group for group, about in stated.items())
    if len(asked) > 1 or not named or None in next(iter(asked)):
        raise CertificateError(
            "the document holds several certificates that are not one statistic by group; what releases of one data "
            "set promise alone, they do not promise together"
        )


def _same(document: ReleaseDocument, bodies: Mapping[str, Json]) -> None:
    """CertificateError unless every derived part is what the certificates make of it."""
    with reading():
        own = derived({group: told(inner(body)) for group, body in bodies.items()}, document.withheld)
    for name in (*DERIVED, *(part for part in SINCE_0_4 if part in document.body)):
        if canonical_json(document[name]) != canonical_json(own[name]):
            raise CertificateError(f"the part {name!r} of the document is not what its certificates say")


def _question(document: ReleaseDocument, bodies: Mapping[str, Json]) -> None:
    """CertificateError unless the recipe makes the words, and every certificate answers the question of the recipe."""
    with reading():
        stated = document["question"]
        recipe = stated["recipe"]
        if recipe is None:
            _without_recipe(document, bodies)
            raise NotChecked("there is no recipe: the question was asked in code, or holds what is withheld")
        if stated["words"] != question_words(recipe):
            raise CertificateError("the words of the question are not those of its recipe")
        if recipe["what"] == "statistic" and set(recipe["groups"]) != set(bodies):
            raise CertificateError("the recipe and the certificates are for other groups")
        for group, body in bodies.items():
            if not answers(recipe, group, body):
                raise CertificateError(f"the certificate of group {group!r} is for another question than the recipe")


def _without_recipe(document: ReleaseDocument, bodies: Mapping[str, Json]) -> None:
    """CertificateError if a recipe was taken away from the document, and the certificate of a column still has it."""
    for own in (body.get("recipe") for body in bodies.values()):
        if own is None:
            continue
        if not document.withheld:
            raise CertificateError("the document has no recipe for its question, and its certificate has one")
        if document["question"]["words"] != question_words(without_fitted({"what": "column", **own})):
            raise CertificateError("the words of the question are not those of the certificate's recipe")


def _rows(document: ReleaseDocument, bodies: Mapping[str, Json]) -> None:
    """CertificateError unless the rows that are named are those of the parts that have them, too."""
    with reading():
        recipe, rows = document["question"]["recipe"], document["data"]["rows"]
        what = "" if recipe is None else str(recipe["what"])
        own = {
            "statistic": lambda: sum(recipe["groups"].values()),
            "column": lambda: document.published[0]["rows"],
            "training": lambda: next(iter(bodies.values()))["accountant"]["records"],
            "property": lambda: next(iter(bodies.values()))["property"]["size"],
            "records": lambda: sum(kind["rows"] for kind in next(iter(bodies.values()))["types"]),
        }.get(what)
        if own is None or rows is None:
            raise NotChecked("no other part says how many rows the data has")
        if own() != rows:
            raise CertificateError("the data is said to have another number of rows than was released")


def _skipped(document: ReleaseDocument, bodies: Mapping[str, Json]) -> None:
    """CertificateError unless the skipped secrets are those that certificates name, and none is protected."""
    with reading():
        stated = document["skipped"]
        if stated is None:
            raise NotChecked("which secrets the beliefs leave out is not known of this release")
        for body in bodies.values():
            if (own := left_out(body)) is not None and own != ", ".join(stated):
                raise CertificateError("the certificates leave out other secrets than the document names")
        if both := sorted(set(stated) & set(document["secrets"])):
            raise CertificateError(f"the secret {both[0]!r} is named as protected and as skipped")
