"""`fugu demo`: a first release from beginning to end, explained."""

from __future__ import annotations

import math
import tempfile
from importlib import resources
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import fugu
from fugu.calibration import Comparison
from fugu.cli import picture
from fugu.cli.console import comparison_table, escape, out, progress
from fugu.data import read_table, write_csv
from fugu.errors import AlreadyReleased
from fugu.ledger import fingerprints
from fugu.queries.column import release_column

_EPSILON = 0.5


def demo(
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the files of the demo.")] = "demo-output",
) -> None:
    """Publish a column of a synthetic clinic table, with every step shown and explained."""
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        resources.as_file(resources.files("fugu.examples") / "clinic_reference.csv") as reference,
        resources.as_file(resources.files("fugu.examples") / "clinic_today.csv") as today,
    ):
        _run(reference, today, folder)


def _run(reference: Path, today: Path, folder: Path) -> None:
    out.rule("[bold]1  What is published, what is secret")
    out.print(
        "A clinic publishes the cholesterol of today's patients, row by row. Cholesterol is not secret; "
        "[bold]smoking[/] is, and "
        "smokers have more cholesterol, so each published number says something about it. What adversaries may "
        "believe is "
        "fitted on last year's register (4,000 rows). Both tables are synthetic."
    )
    scenario = fugu.Scenario.from_table(reference, publish="chol", protect="smoker", unit="patient")
    out.print(f"\n{scenario.report}\n", markup=False)

    out.rule("[bold]2  How much noise each method needs")
    budget = fugu.Pure(_EPSILON)
    with progress():
        comparison = fugu.compare(scenario, budget)
        mechanism = fugu.calibrate(scenario, budget)
    out.print(comparison_table(comparison, f"to hide smoking at epsilon = {_EPSILON}"))
    plain = next(row for row in comparison.rows if row.method == "l1")
    out.print(
        f"[bold]{comparison.best.method}[/] wins: the noise is {plain.scale / mechanism.noise.scale:.0f} times "
        "smaller than what "
        "sensitivity alone would ask for, and the guarantee is the same. 'true epsilon' is what each scale "
        "really leaks: whoever "
        f"leaks less than {_EPSILON} has added more noise than needed.\n"
    )

    out.rule("[bold]3  One release")
    with progress(), tempfile.TemporaryDirectory() as books:
        private = read_table(today)
        with fugu.Ledger(Path(books) / "ledger.db", budget, data="today", fingerprint=fingerprints(private)) as ledger:
            released = ledger.spend("chol", mechanism, lambda: release_column(mechanism, private))
    true = private.column("chol")
    write_csv(folder / "chol.csv", {"chol": released.values})
    mechanism.certificate.save(folder / "chol.certificate.json")
    _page(mechanism, comparison, folder / "chol.report.html")
    off = np.abs(released.values - true)
    out.print(
        f"{len(released)} values went out, typically {mechanism.expected_error():.3g} mg/dl off (here "
        f"{off.mean():.3g}), 95 % within "
        f"±{mechanism.interval(0.95)[1]:.3g}. The mean moved from {true.mean():.2f} to "
        f"{released.values.mean():.2f}. (Only a demo "
        "may compare with the truth.) A second release is refused:"
    )
    try:
        mechanism.release(true)
    except AlreadyReleased as refusal:
        out.print(f"  [dim]{escape(refusal)}[/]")
    out.print()
    out.print(picture.laws(mechanism.certificate))

    out.rule("[bold]4  The certificate, proved again from its file")
    verdict = fugu.verify(folder / "chol.certificate.json")
    out.print(
        f"{'[bold green]holds[/]' if verdict.holds else '[bold red]does not hold[/]'}: epsilon <= "
        f"{verdict.epsilon:.10g} for every "
        f"pair of secrets, in both orders, by ball arithmetic; worst pair {verdict.worst_pair!r}.\n"
    )
    out.rule("[bold]5  What the numbers mean")
    _explain(_EPSILON)
    out.print(
        f"\nLook at [bold]{folder / 'chol.report.html'}[/] in a browser; the published column is {folder / 'chol.csv'}."
    )


def _explain(epsilon: float) -> None:
    factor = math.exp(epsilon)
    prior = 0.3
    low, high = prior / (prior + (1 - prior) * factor), prior * factor / (prior * factor + 1 - prior)
    out.print(
        f"Someone who thinks a patient smokes with probability {prior:.0%} will, after seeing the published "
        "number, believe something "
        f"between {low:.0%} and {high:.0%}: the odds change by at most a factor e^{epsilon:g} = {factor:.2f}, "
        "whatever was drawn.\n"
        "That holds for adversaries whose beliefs about cholesterol given smoking are those of the register, for "
        "one release, "
        "and if patients are independent given their own secret. The certificate says so, and embeds the beliefs."
    )


def _page(mechanism: fugu.Mechanism, comparison: Comparison, path: Path) -> None:
    from fugu.report import page, write

    write(path, page(mechanism, comparison, query_name="chol", secret_name="smoker"))
