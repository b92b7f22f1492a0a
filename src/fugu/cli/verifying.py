"""`fugu verify`: prove a certificate again."""

from __future__ import annotations

import math
from functools import singledispatch
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import fugu
from fugu.auditing.outside.found import Found, promising
from fugu.cli import options
from fugu.cli.console import escape, out, print_json, progress, warn
from fugu.documents.document import Document
from fugu.documents.per_entry import PerEntryCertificate
from fugu.documents.promising import Promising
from fugu.documents.records import RecordsCertificate
from fugu.documents.release import ReleaseDocument
from fugu.errors import CertificateError, UsageError
from fugu.guarantee import Approx, Guarantee, Pure, weaknesses
from fugu.guarantee.promises import both
from fugu.mechanism import Certificate
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.scenario import Scenario
from fugu.training.record import TrainingCertificate
from fugu.verifier.kinds.release import inner
from fugu.verifier.verdict import Verdict


def verify(
    certificate: Annotated[
        str, typer.Argument(metavar="CERT|FOLDER|MODEL", help="A certificate, a model, or the folder of one release.")
    ],
    published: Annotated[
        str | None, typer.Option(metavar="OUT.csv", help="The published file; else the one beside the certificate.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(metavar="TABLE", help="The reference: its laws must be those that were proved.")
    ] = None,
    ledger: Annotated[str | None, typer.Option(metavar="DB", help="The ledger: it must hold the entry named.")] = None,
    data: Annotated[
        str | None, typer.Option(metavar="TABLE", help="The private table, against the commitment to it.")
    ] = None,
    private: Annotated[
        str | None, typer.Option(metavar="FILE", help="The private part; else the one beside the certificate.")
    ] = None,
    twice: Annotated[
        bool, typer.Option("--twice", help="Prove everything again by a second proof that shares no code.")
    ] = False,
    against: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Prove it for beliefs fitted on another table instead.")
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(
            metavar="DISTANCE",
            help="Also prove what holds against every adversary whose beliefs differ from the certificate's by moving "
            "the raw values, before bins, by at most this much.",
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Check a release from outside: every proof again, the published file, reference, ledger; exit 4 if one fails."""
    from fugu.auditing import guarantee_within
    from fugu.auditing.outside.examine import examine
    from fugu.auditing.outside.found import find

    given = {"published": published, "reference": reference, "ledger": ledger, "data": data, "private": private}
    if (against is not None or within is not None) and (twice or any(given.values())):
        raise UsageError("--against and --within are about other beliefs; give one of them, with no other check")
    if against is not None and within is not None:
        raise UsageError("--within is about beliefs near those in the certificate; give it without --against")
    for path in (*given.values(), against):
        if path is not None and not Path(path).is_file():
            raise UsageError(f"{path!r} is not a file")
    found = find(certificate)
    nearby = None
    with progress():
        if against is None and within is None:
            verdict = examine(certificate, **given, twice=twice)
        else:
            only = _only(found)
            verdict = fugu.verify(only, None if against is None else _scenario(only, against))
            nearby = None if within is None else guarantee_within(only, within)
    said = warnings_of_document(found.document) if verdict.holds else ()
    certified = promising(found, private) if verdict.holds else None
    if as_json:
        told: dict[str, Any] = {k: getattr(verdict, k) for k in ("holds", "epsilon", "delta", "worst_pair", "reason")}
        told["checks"] = [dict(zip(("name", "outcome", "why"), line, strict=True)) for line in verdict.checks]
        told["promise"] = _promised(verdict, certified, against)
        told["warnings"] = list(said)
        if nearby is not None:
            told["within"] = {"distance": within, "guarantee": nearby}
        print_json(told)
    else:
        proved = _promised(verdict, certified, against)
        figures = "nothing is proved" if proved is None else f"proved {escape(proved)}"
        out.print(f"{_word(verdict)}: {escape(verdict.reason)}; {figures}")
        out.print(_table(verdict))
        if nearby is not None:
            near = f"whose beliefs about the raw values are within {within:g} of these"
            out.print(f"against every adversary {near}: {escape(repr(nearby))}")
        warn(said)
    if not verdict.holds:
        raise typer.Exit(CertificateError.exit_code)


def _word(verdict: Verdict) -> str:
    """The verdict in a word: what nobody could check is neither proved nor refuted."""
    if verdict.holds:
        return "[bold green]holds[/]"
    failed = any(outcome == "fails" for _, outcome, _ in verdict.checks)
    return "[bold red]does not hold[/]" if failed else "[bold yellow]not checkable[/]"


def _only(found: Found) -> Certificate:
    """The one certificate with laws that other beliefs can be put into."""
    document = found.document
    if isinstance(document, ReleaseDocument):
        bodies = document.certificates
        if bodies is None or len(bodies) > 1:
            raise UsageError("--against and --within are for a release with one certificate that is not withheld")
        document = inner(next(iter(bodies.values())))
    if not isinstance(document, Certificate):
        raise UsageError(f"--against and --within are for certificates of releases; this one is of a {document.kind}")
    return document


_COLOURS = {"holds": "green", "fails": "bold red", "not checked": "yellow"}


def _promised(verdict: Verdict, certified: Promising | None, against: str | None) -> str | None:
    """Both promises as they are proved now; None if nothing is. The second one only of a document that holds."""
    if math.isinf(verdict.epsilon) and verdict.delta >= 1:
        return None
    found: Guarantee = Approx(verdict.epsilon, verdict.delta) if verdict.delta else Pure(verdict.epsilon)
    if certified is None:
        return both(found, None, "what is stated")
    found = certified.believed if certified.believed.renyi else found
    return certified.promised(found) if against is None else both(found, certified.anybody, "the other table")


def _table(verdict: Verdict) -> Table:
    """What was looked at, one check per line."""
    table = Table("check", "outcome", "why", header_style="bold")
    for name, outcome, why in verdict.checks:
        table.add_row(escape(name), f"[{_COLOURS[outcome]}]{outcome}[/]", escape(why))
    return table


@singledispatch
def warnings_of_document(document: Document) -> tuple[str, ...]:  # noqa: ARG001
    """Why the promise protects hardly anybody, if so."""
    return ()


@warnings_of_document.register
def _(document: Certificate) -> tuple[str, ...]:
    return document.warnings


@warnings_of_document.register
def _(document: ReleaseDocument) -> tuple[str, ...]:
    bodies = (document.certificates or {}).values()
    return tuple(dict.fromkeys(line for body in bodies for line in warnings_of_document(inner(body))))


@warnings_of_document.register
def _(document: SequenceCertificate) -> tuple[str, ...]:
    return document.warnings()


@warnings_of_document.register
def _(document: RecordsCertificate) -> tuple[str, ...]:
    return weaknesses(document.budget, sum(kind.rows for kind in document.types))


@warnings_of_document.register
def _(document: PerEntryCertificate) -> tuple[str, ...]:
    return (*document.exact_values, *weaknesses(document.guarantee))


@warnings_of_document.register
def _(document: TrainingCertificate) -> tuple[str, ...]:
    return weaknesses(document.proved, document.accountant.records)  # the number of records is known


def _scenario(document: Document, reference: str) -> Scenario:
    recipe = document.body.get("recipe")
    if recipe is None:
        raise UsageError(
            "this certificate does not say how its beliefs were fitted (laws given directly, or a predicate in code); "
            "verify it in Python with fugu.verify(certificate, scenario)"
        )
    return Scenario.from_recipe(reference, recipe)
