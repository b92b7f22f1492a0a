"""`fugu demo`: a column of a synthetic clinic table is published, with every step shown and explained."""

from __future__ import annotations

import math
import tempfile
import tomllib
from importlib import resources
from pathlib import Path

import numpy as np

import fugu
from fugu.cli.asking import asks
from fugu.cli.console import comparison_table, escape, out, progress
from fugu.data import read_table
from fugu.errors import AlreadyReleased
from fugu.ledger import fingerprints
from fugu.mechanism import Certificate
from fugu.publication.files import Beliefs, Files, Outgoing, drafted, publish
from fugu.publication.releasing import ReleaseAccount, release_column
from fugu.releasing.dispatch import DRAWS, page_after
from fugu.report.curves import distribution, groups, views
from fugu.visible import several

_EPSILON = 0.5


@asks()
def demo(output: str = "demo-output") -> None:
    """Publish a table of statistics and a column of a synthetic clinic, with every step shown and explained."""
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        resources.as_file(resources.files("fugu.examples") / "clinic_reference.csv") as reference,
        resources.as_file(resources.files("fugu.examples") / "clinic_today.csv") as today,
    ):
        _run(reference, today, folder)


def _run(reference: Path, today: Path, folder: Path) -> None:
    said: dict[str, str] = tomllib.loads(resources.files("fugu.cli").joinpath("demo.toml").read_text("utf-8"))
    out.rule("[bold]1  What is published, what is secret")
    out.print(said["secret"])
    scenario = fugu.Scenario.from_table(reference, publish="chol", protect="smoker", unit="patient")
    out.print(f"\n{scenario.report}\n", markup=False)

    out.rule("[bold]2  How much noise each method needs")
    budget = fugu.Pure(_EPSILON)
    with progress():
        comparison = fugu.compare(scenario, budget)
        mechanism = fugu.calibrate(scenario, budget)
    out.print(comparison_table(comparison, f"to hide smoking at epsilon = {_EPSILON}"))
    plain = next(row for row in comparison.rows if row.method == "l1")
    times = plain.scale / comparison.best.scale
    out.print(said["wins"].format(best=comparison.best, times=times, epsilon=_EPSILON))

    out.rule("[bold]3  One release")
    private = read_table(today)
    true = private.column("chol")
    with progress(), tempfile.TemporaryDirectory() as books:
        account = ReleaseAccount(Path(books) / "ledger.db", "chol", budget, "today")
        marks = fingerprints(private)
        with fugu.Ledger(account.ledger, budget, data=account.data, fingerprint=marks) as ledger:
            released = ledger.spend("chol", mechanism, lambda: release_column(mechanism, private))
        audit = fugu.audit(mechanism, draws=DRAWS, through_files=0)
        files, columns = Files(folder / "chol.csv"), {"chol": released.values}
        going = Outgoing(
            certificates={"": released.certificate}, table=today, data="clinic, today", rows=len(released),
            recipe={"what": "column", **(scenario.recipe or {})}, beliefs=Beliefs(reference=reference),
            ledger=account.entry(),
        )  # fmt: skip
        publish(files, going, drafted(files.published, columns), columns, page_after(files, account, audit))
    numbers = {
        "values": several(len(released), "value"), "error": mechanism.expected_error(), "true": true.mean(),
        "off": np.abs(released.values - true).mean(), "half": mechanism.interval(0.95)[1],
        "mean": released.values.mean(),
    }  # fmt: skip
    out.print(said["released"].format(**numbers))
    try:
        mechanism.release(true)
    except AlreadyReleased as refusal:
        out.print(f"  [dim]{escape(refusal)}[/]")
    out.print()
    out.print(laws(mechanism.certificate))

    out.rule("[bold]4  Checked from outside, and attacked")
    with progress():
        verdict = fugu.examine(folder, reference=reference, twice=True)
    word = "[bold green]holds[/]" if verdict.holds else "[bold red]does not hold[/]"
    checks = several(len(verdict.checks), "check")
    out.print(said["checked"].format(folder=folder, word=word, checks=checks, proved=verdict.epsilon, draws=DRAWS,
                                     attacked=audit.epsilon_lower))  # fmt: skip
    out.rule("[bold]5  What the numbers mean")
    factor, prior = math.exp(_EPSILON), 0.3
    low, high = prior / (prior + (1 - prior) * factor), prior * factor / (prior * factor + 1 - prior)
    out.print(said["meaning"].format(prior=prior, low=low, high=high, epsilon=_EPSILON, factor=factor))
    out.print(said["look"].format(page=folder / "chol.report.html", column=folder / "chol.csv"))


_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 64


def laws(certificate: Certificate) -> str:
    """Four lines of bars: both laws before noise, both after; after noise they must look alike."""
    view = views(certificate, most=1)[0]
    # probabilities of equal cells along the axis, one row a law
    points, weights = view.pair.points, view.pair.weights
    first, group = groups(*view.shown, _WIDTH)
    inside = (points >= view.shown[0]) & (points <= view.shown[1])
    place = (points[inside] - first[0]) // group
    before = np.array([np.bincount(place, weights=row[inside], minlength=len(first)) for row in weights])
    after = before
    if view.noisy:
        edges = np.append(first - 1, first[-1] + group - 1)
        after = np.maximum(np.diff(distribution(view, edges), axis=1), 0.0)
    names = (escape(view.first), escape(view.second))
    width = max(len(name) for name in names)
    lines = []
    for when, rows in (("before noise", before), ("after noise", after)):
        lines.append(when)
        for name, row in zip(names, rows, strict=True):
            levels = np.ceil(row / (row.max() or 1.0) * (len(_BARS) - 1)).astype(int)
            lines.append(f"  {name:<{width}} {''.join(_BARS[level] for level in levels)}")
    return "\n".join(lines) + "\n"
