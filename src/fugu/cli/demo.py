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
from fugu.cli import picture
from fugu.cli.charging import Account
from fugu.cli.console import comparison_table, escape, out, progress
from fugu.cli.paging import DRAWS, Kept
from fugu.data import read_table
from fugu.errors import AlreadyReleased
from fugu.ledger import fingerprints
from fugu.publication.drafts import drafted
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.publication.releasing import release_column
from fugu.visible import several

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
        f"[bold]{comparison.best.method}[/] wins: the noise is {plain.scale / comparison.best.scale:.0f} times "
        "smaller than what "
        "sensitivity alone would ask for, and the guarantee is the same. 'true epsilon' is what each scale "
        "really leaks: whoever "
        f"leaks less than {_EPSILON} has added more noise than needed.\n"
    )

    out.rule("[bold]3  One release")
    private = read_table(today)
    true = private.column("chol")
    with progress(), tempfile.TemporaryDirectory() as books:
        account = Account(Path(books) / "ledger.db", "chol", budget, "today")
        marks = fingerprints(private)
        with fugu.Ledger(account.ledger, budget, data=account.data, fingerprint=marks) as ledger:
            released = ledger.spend("chol", mechanism, lambda: release_column(mechanism, private))
        audit = fugu.audit(mechanism, draws=DRAWS, through_files=0)
        _publish(folder, scenario, released, reference, today, account, audit)
    off = np.abs(released.values - true)
    out.print(
        f"{several(len(released), 'value')} went out, typically {mechanism.expected_error():.3g} mg/dl off (here "
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

    out.rule("[bold]4  Checked from outside, and attacked")
    with progress():
        verdict = fugu.examine(folder, reference=reference, twice=True)
    word = "[bold green]holds[/]" if verdict.holds else "[bold red]does not hold[/]"
    out.print(
        f"fugu verify {folder} --reference ... --twice: {word}. {several(len(verdict.checks), 'check')}: epsilon <= "
        f"{verdict.epsilon:.10g} for every pair of secrets, in both orders, by ball arithmetic and by a second proof "
        "in whole numbers; the published file is the one that the certificate names. Then an attack: "
        f"{DRAWS:,} draws from the path that really runs show that epsilon is at least {audit.epsilon_lower:.3g}.\n"
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


def _publish(
    folder: Path,
    scenario: fugu.Scenario,
    released: fugu.Release,
    reference: Path,
    today: Path,
    account: Account,
    audit: fugu.Audit,
) -> None:
    """The column, its release document, what stays at home, and the page."""
    files = Files(folder / "chol.csv")
    going = Outgoing(
        certificates={"": released.certificate},
        table=today,
        data="clinic, today",
        rows=len(released),
        recipe={"what": "column", **(scenario.recipe or {})},
        beliefs=Beliefs(reference=reference),
        ledger=account.entry(),
    )
    columns = {"chol": released.values}
    publish(files, going, drafted(files.published, columns), columns, Kept(audit).after(files, account))
