"""Twelve jobs on real data: the error before sessions, now, and by ordinary differential privacy.

    python examples/jobs.py              lists the jobs
    FUGU_DATA=folder python examples/jobs.py run > docs/results-users.md

Every table is cut in two at random: one half is the private table, the other one the reference. Errors are those that
the noise makes on average, in the unit of the answer; no private number is looked at. "before" is version 0.2: one
statistic of a table, histograms with noise 2 / epsilon. "ordinary" is differential privacy for independent records,
which makes no promise about what the columns of a record tell about its secret beyond its own epsilon; of several
questions each has an equal share of it.
"""

from __future__ import annotations

import csv
import gzip
import math
import os
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import fugu
from fugu.queries.kinds import KINDS
from fugu.queries.law_price import LawPrice

Columns = dict[str, list[str] | list[float]]
ADULT = [
    "age",
    "workclass",
    "weight",
    "education",
    "years",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
]
HEART = [
    "age",
    "sex",
    "cp",
    "trestbps",
    "chol",
    "fbs",
    "restecg",
    "thalach",
    "exang",
    "oldpeak",
    "slope",
    "ca",
    "thal",
    "num",
]


@dataclass(frozen=True)
class Job:
    """Questions about one table: who asks, what is hidden, and under which epsilon. A `column` is published row by row
    in place of questions."""

    who: str
    data: str
    hide: str
    epsilon: float
    questions: tuple[dict[str, object], ...] = ()
    column: str = ""

    def __str__(self) -> str:
        asked = ", ".join(str(q["query"]) for q in self.questions) or f"{self.column}, row by row"
        return f"{self.who}: {asked}; hide {self.hide}, epsilon {self.epsilon:g}"


def _q(query: str, bounds: tuple[float, float] | None = None, step: float | None = None) -> dict[str, object]:
    told = {"query": query, "bounds": bounds, "step": step}
    return {name: value for name, value in told.items() if value is not None}


HOURS, AGE = _q("mean(hours)", (0, 100), 1), _q("mean(age)", (15, 90), 1)
JOBS = (
    Job("hospital", "heart", "num>0", 0.5, (_q("mean(chol)", (100, 400), 5),)),
    Job("hospital", "heart", "num>0", 0.5, (_q("histogram(restecg)"),)),
    Job("hospital", "heart", "num>0", 1, (_q("histogram(cp)"), _q("histogram(sex)"), _q("mean(age)", (20, 80), 1))),
    Job("hospital", "heart", "num>0", 1, column="chol"),
    Job("statistics office", "adult", "sex", 0.5, (_q("histogram(education)"),)),
    Job("statistics office", "adult", "sex", 0.5, (HOURS,)),
    Job("statistics office", "adult", "sex", 1, (_q("histogram(education)"), HOURS)),
    Job("statistics office", "adult", "income", 0.5, (_q("histogram(education)"), _q("histogram(sex)"))),
    Job("statistics office", "adult", "income", 1, (_q("count(sex=Female)"), HOURS, AGE)),
    Job("bank", "bank", "loan", 0.5, (_q("mean(balance)", (-1000, 5000), 50),)),
    Job("bank", "bank", "loan", 0.5, (_q("histogram(job)"), _q("histogram(marital)"), _q("histogram(education)"))),
    Job("engineer", "adult", "income", 1, column="age"),
)


def tables(name: str, folder: Path) -> tuple[Columns, Columns]:
    """The two halves of a data set: private, reference."""
    rows, names = READERS[name](folder)
    random.Random(15).shuffle(rows)
    half = len(rows) // 2
    private, reference = (
        {n: _column([row[k] for row in part]) for k, n in enumerate(names)} for part in (rows[:half], rows[half:])
    )
    return private, reference


def _column(cells: list[str]) -> list[str] | list[float]:
    """Numbers where all cells are."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return cells


def _adult(folder: Path) -> tuple[list[list[str]], Sequence[str]]:
    with gzip.open(folder / "adult" / "adult.data.csv.gz", "rt") as lines:
        return [[cell.strip() for cell in row] for row in csv.reader(lines) if len(row) == len(ADULT)], ADULT


def _heart(folder: Path) -> tuple[list[list[str]], Sequence[str]]:
    with (folder / "heart" / "processed.cleveland.data").open() as lines:
        return [row for row in csv.reader(lines) if len(row) == len(HEART)], HEART


def _bank(folder: Path) -> tuple[list[list[str]], Sequence[str]]:
    with gzip.open(folder / "bank" / "bank-full.csv.gz", "rt") as lines:
        names, *rows = csv.reader(lines, delimiter=";")
    return rows, names


READERS: dict[str, Callable[[Path], tuple[list[list[str]], Sequence[str]]]] = {
    "adult": _adult,
    "heart": _heart,
    "bank": _bank,
}


def error(rate: float) -> float:
    """E|N| of lattice Laplace noise with P(N = k) proportional to e^(-rate |k|)."""
    small = math.exp(-rate)
    return 2 * small / (1 - small * small)


def now(job: Job, private: Columns, reference: Columns) -> list[float]:
    """The errors of all questions in one session, nothing asked in earnest."""
    session = fugu.Session(private, reference, job.hide, fugu.Pure(job.epsilon))
    found = session.rehearse(job.questions, job.epsilon).questions
    return [error(float(asked.rates[""][0])) * unit(job.questions[k], private) for k, asked in enumerate(found)]


def unit(question: dict[str, object], private: Columns) -> float:
    """What one step of the noise is in the answer."""
    mean = str(question["query"]).startswith("mean")
    return float(str(question["step"])) / rows_of(private) if mean else 1.0


def ordinary(job: Job, private: Columns) -> list[float]:
    """The errors by differential privacy with an equal share of epsilon each."""
    share, found = job.epsilon / len(job.questions), []
    for question in job.questions:
        kind = str(question["query"]).split("(")[0]
        low, high = question.get("bounds", (0, 1))  # type: ignore[misc]
        steps = (high - low) / float(str(question.get("step", 1))) if KINDS[kind].summed else 2
        found.append(error(share / steps) * unit(question, private))
    return found


def before(job: Job, private: Columns, reference: Columns) -> list[float] | None:
    """The error of one statistic as version 0.2 released it; it refused a second one of the same table."""
    if len(job.questions) > 1:
        return None
    question = job.questions[0]
    if not str(question["query"]).startswith("mean"):
        return ordinary(job, private)
    told = {name: question[name] for name in ("bounds", "step")}
    budget = fugu.Pure(job.epsilon)
    price = LawPrice.of(reference, str(question["query"]), job.hide, budget, **told)  # type: ignore[arg-type]
    made = price.open(private)
    return [made.mechanisms[""].expected_error() * unit(question, private)]


def rows_of(table: Columns) -> int:
    """How many rows a table has."""
    return len(next(iter(table.values())))


def column(job: Job, reference: Columns) -> tuple[str, str, str, str]:
    """A column, row by row: exact noise, the best that is released, local differential privacy, and the verdict."""
    scenario = fugu.Scenario.from_table(reference, publish=job.column, protect=job.hide, missing="drop")
    found = fugu.compare(scenario, fugu.Pure(job.epsilon))
    exact = next(row for row in found.rows if row.method == "exact" and row.noise == "laplace")
    local = found.ordinary[0].expected_absolute if found.ordinary else math.nan
    return _short(exact.expected_absolute), _short(found.best.expected_absolute), _short(local), found.usable.verdict


def main(words: Sequence[str]) -> int:
    """List the jobs, or run them."""
    folder = os.environ.get("FUGU_DATA")
    if list(words) != ["run"] or not folder:
        print(__doc__)
        for number, job in enumerate(JOBS, 1):
            print(f"{number:3} {job}")
        return 0
    print(HEAD)
    for number, job in enumerate(JOBS, 1):
        private, reference = tables(job.data, Path(folder))
        if job.column:
            cells = column(job, reference)
        else:
            old, new, dp = before(job, private, reference), now(job, private, reference), ordinary(job, private)
            times = [plain / own for plain, own in zip(dp, new, strict=True)]
            shown = "refused" if old is None else _several(old)
            cells = (shown, _several(new), _several(dp), _verdict(times))
        print(f"| {number} | {job} | " + " | ".join(cells) + " |", flush=True)
    return 0


HEAD = """# Twelve jobs on real data

Written by `FUGU_DATA=folder python examples/jobs.py run`; the script says what the columns are. Errors are those that
the noise makes on average, one for each question, in the unit of the answer. Tables of the UCI repository, each cut in
two at random: one half is private, the other one is the reference.

| | job | error before | now | ordinary differential privacy | verdict |
|---|---|---|---|---|---|"""


def _verdict(times: Sequence[float]) -> str:
    least, most = min(times), max(times)
    return f"{least:.3g} x less" if most - least < 0.05 * most else f"{least:.3g} to {most:.3g} x less"


def _several(numbers: Sequence[float]) -> str:
    return ", ".join(map(_short, numbers))


def _short(number: float) -> str:
    return f"{number:.3g}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
