"""`fugu verify`: prove a certificate again."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Annotated, Any

import typer
from rich.table import Table

import fugu
from fugu.cli import options
from fugu.cli.console import escape, out, print_json, progress, warn
from fugu.documents.document import Document
from fugu.documents.per_entry import PerEntryCertificate
from fugu.errors import CertificateError, UsageError
from fugu.guarantee import Guarantee, Pure, weaknesses
from fugu.mechanism import Certificate
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.scenario import Scenario
from fugu.training.record import TrainingCertificate
from fugu.verifier.verdict import Verdict
from fugu.verifier.verify import document_of


def verify(
    certificate: Annotated[str, typer.Argument(metavar="CERT.json", help="A certificate written by fugu.")],
    reference: Annotated[
        str | None, typer.Option(help="Fit the beliefs again on this table and prove for those.")
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
    """Check a certificate of any kind and prove it again, or for a reference table; exit 4 if it does not hold."""
    from fugu.auditing import guarantee_within

    document = document_of(certificate)
    law_based = isinstance(document, Certificate)
    if within is not None and reference is not None:
        raise UsageError("--within is about beliefs near those in the certificate; give it without --reference")
    if not law_based and (reference is not None or within is not None):
        raise UsageError(f"--reference and --within are for certificates of releases; this one is of a {document.kind}")
    with progress():
        verdict = fugu.verify(document, None if reference is None else _scenario(document, reference))
        nearby = None if within is None else guarantee_within(document, within)
    said = _warnings(document) if verdict.holds else ()
    if as_json:
        told: dict[str, Any] = {k: getattr(verdict, k) for k in ("holds", "epsilon", "delta", "worst_pair", "reason")}
        told["checks"] = [dict(zip(("name", "outcome", "why"), line, strict=True)) for line in verdict.checks]
        told["warnings"] = list(said)
        if nearby is not None:
            told["within"] = {"distance": within, "guarantee": _numbers(nearby)}
        print_json(told)
    else:
        word = "[bold green]holds[/]" if verdict.holds else "[bold red]does not hold[/]"
        out.print(f"{word}: {escape(verdict.reason)}; {_figures(verdict)}")
        out.print(_table(verdict))
        if nearby is not None:
            near = f"whose beliefs about the raw values are within {within:g} of these"
            out.print(f"against every adversary {near}: {escape(repr(nearby))}")
        warn(said)
    if not verdict.holds:
        raise typer.Exit(CertificateError.exit_code)


_COLOURS = {"holds": "green", "fails": "bold red", "not checked": "yellow"}


def _figures(verdict: Verdict) -> str:
    """What is proved, if anything is."""
    if math.isinf(verdict.epsilon) and verdict.delta >= 1:
        return "nothing is proved"
    return f"proved epsilon {verdict.epsilon:.10g}, delta {verdict.delta:.3g}"


def _table(verdict: Verdict) -> Table:
    """What was looked at, one check per line."""
    table = Table("check", "outcome", "why", header_style="bold")
    for name, outcome, why in verdict.checks:
        table.add_row(name, f"[{_COLOURS[outcome]}]{outcome}[/]", escape(why))
    return table


@singledispatch
def _warnings(document: Document) -> tuple[str, ...]:  # noqa: ARG001
    """Why the promise protects hardly anybody, if so."""
    return ()


@_warnings.register
def _(document: Certificate) -> tuple[str, ...]:
    return document.warnings


@_warnings.register
def _(document: SequenceCertificate) -> tuple[str, ...]:
    return weaknesses(Pure(document.asked))


@_warnings.register
def _(document: PerEntryCertificate) -> tuple[str, ...]:
    return weaknesses(document.guarantee)


@_warnings.register
def _(document: TrainingCertificate) -> tuple[str, ...]:
    return weaknesses(document.proved, document.accountant.records)  # the number of records is known


def _numbers(guarantee: Guarantee) -> dict[str, Any]:
    """A guarantee for programs; an epsilon of inf becomes null."""
    told: dict[str, Any] = {"kind": type(guarantee).__name__, "delta": float(guarantee.delta)}
    if guarantee.several:
        return told | {"epsilons": {str(float(a)): float(e) for a, e in guarantee.orders}}
    if guarantee.renyi:
        told["alpha"] = float(guarantee.orders[0][0])
    return told | {"epsilon": float(guarantee.epsilon)}


def _scenario(document: Document, reference: str) -> Scenario:
    recipe = document.body.get("recipe")
    if recipe is None:
        raise UsageError(
            "this certificate does not say how its beliefs were fitted (laws given directly, or a predicate in code); "
            "verify it in Python with fugu.verify(certificate, scenario)"
        )
    return Scenario.from_recipe(reference, recipe)
