"""`fugu verify`: prove a certificate again."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

import fugu
from fugu.cli import options
from fugu.cli.console import out, print_json, progress
from fugu.errors import CertificateError, UsageError
from fugu.mechanism import Certificate
from fugu.scenario import Scenario


def verify(
    certificate: Annotated[str, typer.Argument(metavar="CERT.json", help="A certificate written by fugu.")],
    reference: Annotated[
        str | None, typer.Option(help="Fit the beliefs again on this table and prove for those.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Re-prove a certificate from its own laws, or from a reference table; exit 4 if it does not hold."""
    document = Certificate.load(certificate)
    with progress():
        verdict = fugu.verify(document, None if reference is None else _scenario(document, reference))
    if as_json:
        print_json({k: getattr(verdict, k) for k in ("holds", "epsilon", "delta", "worst_pair", "reason")})
    else:
        word = "[bold green]holds[/]" if verdict.holds else "[bold red]does not hold[/]"
        out.print(f"{word}: {escape(verdict.reason)}; proved epsilon {verdict.epsilon:.10g}, delta {verdict.delta:.3g}")
    if not verdict.holds:
        raise typer.Exit(CertificateError.exit_code)


def _scenario(document: Certificate, reference: str) -> Scenario:
    recipe = document.body.get("recipe")
    if recipe is None:
        raise UsageError(
            "this certificate does not say how its beliefs were fitted (laws given directly, or a predicate in code); "
            "verify it in Python with fugu.verify(certificate, scenario)"
        )
    return Scenario.from_recipe(reference, recipe)
