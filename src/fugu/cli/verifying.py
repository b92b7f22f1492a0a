"""`fugu verify`: prove a certificate again."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fugu
from fugu.auditing.verify import Verdict
from fugu.cli import options
from fugu.cli.console import escape, out, print_json, progress, warn
from fugu.errors import CertificateError, UsageError
from fugu.guarantee import Guarantee, Renyi, RenyiCurve, weaknesses
from fugu.mechanism import Certificate
from fugu.scenario import Scenario

if TYPE_CHECKING:
    from fugu.training.record import TrainingCertificate

_MOST_READ = 512 * 1024**2


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
    """Re-prove a certificate from its own laws, or from a reference table; exit 4 if it does not hold."""
    from fugu.auditing import guarantee_within

    document = _load(certificate)
    if within is not None and reference is not None:
        raise UsageError("--within is about beliefs near those in the certificate; give it without --reference")
    with progress():
        if isinstance(document, Certificate):
            verdict = fugu.verify(document, None if reference is None else _scenario(document, reference))
            nearby = None if within is None else guarantee_within(document, within)
        else:
            verdict, nearby = _training(document, reference, within), None
    said = _warnings(document) if verdict.holds else ()
    if as_json:
        told: dict[str, Any] = {k: getattr(verdict, k) for k in ("holds", "epsilon", "delta", "worst_pair", "reason")}
        told["warnings"] = list(said)
        if nearby is not None:
            told["within"] = {"distance": within, "guarantee": _numbers(nearby)}
        print_json(told)
    else:
        word = "[bold green]holds[/]" if verdict.holds else "[bold red]does not hold[/]"
        out.print(f"{word}: {escape(verdict.reason)}; proved epsilon {verdict.epsilon:.10g}, delta {verdict.delta:.3g}")
        if nearby is not None:
            near = f"whose beliefs about the raw values are within {within:g} of these"
            out.print(f"against every adversary {near}: {escape(repr(nearby))}")
        warn(said)
    if not verdict.holds:
        raise typer.Exit(CertificateError.exit_code)


def _load(path: str) -> Certificate | TrainingCertificate:
    """The certificate, of a release or of a training; those of sequences are called what they are."""
    try:
        return Certificate.load(path)
    except CertificateError:
        found = _document(Path(path))
        if found.get("kind") == "training":
            from fugu.training.record import TrainingCertificate

            return TrainingCertificate.load(path)
        if not {"pufferfish", "prior", "neighbours"} <= found.keys():  # what `fugu release --state` writes
            raise
        raise CertificateError(
            f"{path!r} is about sequences, which fugu verify does not prove; the chain is in it: give it and the "
            "epsilon for each entry to fugu.translate in Python"
        ) from None


def _document(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is none."""
    with suppress(OSError, ValueError, RecursionError):
        if path.stat().st_size < _MOST_READ:
            found = json.loads(path.read_text(encoding="utf-8"))
            return found if isinstance(found, dict) else {}
    return {}


def _training(document: TrainingCertificate, reference: str | None, within: float | None) -> Verdict:
    """A training, proved again from its parameters."""
    if reference is not None or within is not None:
        raise UsageError("--reference and --within are for certificates of releases; this one is of a training")
    try:
        found = document.verify()
    except CertificateError as error:
        return Verdict(False, math.inf, 1.0, document.neighbours, str(error))
    reason = f"a training, for adversaries who believe: {document.prior}"
    return Verdict(True, float(found.epsilon), float(found.delta), document.neighbours, reason)


def _warnings(document: Certificate | TrainingCertificate) -> tuple[str, ...]:
    """Why the promise protects hardly anybody, if so; of a training the number of records is known."""
    if isinstance(document, Certificate):
        return document.warnings
    return weaknesses(document.proved, document.accountant.records)


def _numbers(guarantee: Guarantee) -> dict[str, Any]:
    """A guarantee for programs; an epsilon of inf becomes null."""
    told: dict[str, Any] = {"kind": type(guarantee).__name__, "delta": float(getattr(guarantee, "delta", 0))}
    if isinstance(guarantee, RenyiCurve):
        return told | {"epsilons": {str(float(a)): float(e) for a, e in guarantee.epsilons.items()}}
    if isinstance(guarantee, Renyi):
        told["alpha"] = float(guarantee.alpha)
    return told | {"epsilon": float(guarantee.epsilon)}


def _scenario(document: Certificate, reference: str) -> Scenario:
    recipe = document.body.get("recipe")
    if recipe is None:
        raise UsageError(
            "this certificate does not say how its beliefs were fitted (laws given directly, or a predicate in code); "
            "verify it in Python with fugu.verify(certificate, scenario)"
        )
    return Scenario.from_recipe(reference, recipe)
