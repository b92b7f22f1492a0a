"""`fugu demo`: a table of statistics of a synthetic clinic is published, with every step shown and explained."""

from __future__ import annotations

import math
import tempfile
import tomllib
from importlib import resources
from pathlib import Path

import fugu
from fugu.cli.asking import asks
from fugu.cli.console import escape, grid, out, progress, usable_table
from fugu.data import read_table
from fugu.documents.promises import promise_lines
from fugu.errors import BudgetRefused
from fugu.files import write_bytes
from fugu.releasing.outcome import Publication
from fugu.visible import several

_TABLES = {"last-year.csv": "clinic_reference.csv", "patients.csv": "clinic_today.csv"}


@asks()
def demo(output: str = "demo-output") -> None:
    """Publish a table of statistics of a synthetic clinic, with every step shown and explained."""
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for name, shipped in _TABLES.items():
        write_bytes(folder / name, resources.files("fugu.examples").joinpath(shipped).read_bytes())
    with tempfile.TemporaryDirectory() as books:
        _run(folder, fugu.Ledger(Path(books) / "ledger.db", fugu.Pure(2), data="clinic"))


def _run(folder: Path, ledger: fugu.Ledger) -> None:
    said: dict[str, str] = tomllib.loads(resources.files("fugu.cli").joinpath("demo.toml").read_text("utf-8"))
    reference, private = folder / "last-year.csv", folder / "patients.csv"

    def released(query: str, epsilon: float, name: str) -> Publication:
        plan = fugu.Question(query=query, protect="smoker", epsilon=str(epsilon), reference=str(reference))
        with progress():
            return fugu.release(plan, private, folder / name, ledger, force=True)

    out.rule("[bold]1  The question")
    out.print(said["question"].format(folder=folder))
    first = released("count, mean(chol), histogram(ward) by sex", 1, "demo.csv")
    out.rule("[bold]2  The answer")
    out.print("\n".join(promise_lines(first.document)) + "\n", markup=False)
    columns = ("question", "group", "cell", "published", "within ±", "in truth")
    out.print(grid("What goes out, and beside it what only a demo may show", columns, columns[:3],
                   rows=_beside_the_truth(first, private)))  # fmt: skip
    out.print(usable_table(first.usable))
    out.print(said["answer"])

    out.rule("[bold]3  Checked from outside")
    with progress():
        verdict = fugu.examine(first.files.certificate, reference=reference, twice=True)
    word = "[bold green]holds[/]" if verdict.holds else "[bold red]does not hold[/]"
    out.print(said["checked"].format(folder=folder, word=word, checks=several(len(verdict.checks), "check")))

    out.rule("[bold]4  The table stays open")
    later = released("mean(chol) by ward", 0.5, "later.csv")
    within = max(map(_within, later.summary["answers"][0]["cells"]), key=float)
    out.print(said["later"].format(within=within, promises=later.promises))
    try:
        released("histogram(ward)", 2, "refused.csv")
    except BudgetRefused as refusal:
        out.print("  [bold red]refused[/]:", escape(refusal), "\n")

    out.rule("[bold]5  What the numbers mean")
    factor, prior = math.exp(float(ledger.spent().epsilon)), 0.3
    low, high = prior / (prior + (1 - prior) * factor), prior * factor / (prior * factor + 1 - prior)
    out.print("\n".join(promise_lines(later.document)), markup=False)
    out.print(said["meaning"].format(prior=prior, low=low, high=high))
    out.print(said["look"].format(page=first.files.page, folder=folder))


def _beside_the_truth(published: Publication, private: Path) -> list[tuple[object, ...]]:
    """Every published number, half of its interval, and the number without noise."""
    table = read_table(private)
    rows: list[tuple[object, ...]] = []
    for answer in published.summary["answers"]:
        for cell in answer["cells"]:
            of = table.column("sex") == cell["group"]
            true = (table.column("chol")[of].mean() if answer["query"].startswith("mean")
                    else (of & (table.column("ward") == cell["cell"])).sum() if cell["cell"] else of.sum())  # fmt: skip
            rows.append((answer["query"], cell["group"], cell["cell"], cell["value"], _within(cell), float(true)))
    return rows


def _within(cell: dict[str, float]) -> str:
    return f"{(cell['high'] - cell['low']) / 2:.2g}"
