"""Paper 004: the records of Adult that its experiments draw from, and the laws of five statistics of 100 of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.laws import Law, MultivariateNormal, Normal
from fugu.scenario.property import PropertyModel, assumptions, given_shares
from fugu.scenario.scenario import Scenario
from fugu_papers.counted import Counts, counted, counts, table_rows, tally
from fugu_papers.experiment import Own
from fugu_papers.shelf import Shelf

Floats = NDArray[np.float64]
Property = Literal["income", "work class"]
SIZE = 100
"""Records of a data set."""
MISSING = "?"
_FILES = ("adult/adult.data.csv.gz", "adult/adult.test.csv.gz")
_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
STATISTICS = (
    "mean(age)", "mean(education-num)", "count(marital-status=Never-married)", "count(sex=Female)",
    "mean(hours-per-week)",
)  # fmt: skip
NAMES = ("mean age", "mean years of education", "never married", "women", "mean hours a week")
"""The statistics, in words."""
_WORDS = {"income": "income=>50K", "work class": "workclass=Private"}
_OTHER = "other"
_KEY = ("income", "workclass", "sex", "marital-status", "education-num", "hours-per-week")
_NUMBERS = {"age", "education-num", "hours-per-week"}


@counted("adult-five-statistics", *_FILES)
def _adult(shelf: Shelf) -> Counts:
    """The 45,222 complete rows of both files: how often each age stands beside all that else matters."""

    def told(row: dict[str, str]) -> tuple[str, str]:
        kept = {
            "workclass": row["workclass"] if row["workclass"] == "Private" else _OTHER,
            "marital-status": row["marital-status"] if row["marital-status"] == "Never-married" else _OTHER,
            "income": row["income"].rstrip("."),
        }
        return "|".join(kept.get(name, row[name]) for name in _KEY), row["age"]

    rows = (row for path in _FILES for row in table_rows(shelf.text(path), names=_COLUMNS))
    return tally(told(row) for row in rows if MISSING not in row.values())


def reference(shelf: Shelf) -> dict[str, NDArray[np.generic]]:
    """The columns that matter, one entry for each of the records; in the order of the counts."""
    found = counts(shelf, "adult-five-statistics")
    kept: dict[str, list[str]] = {name: [] for name in (*_KEY, "age")}
    times: list[int] = []
    for key, ages in found.items():
        for name, cell in zip(_KEY, key.split("|"), strict=True):
            kept[name] += [cell] * len(ages)
        kept["age"] += ages
        times += ages.values()
    return {
        name: np.repeat(np.array(cells, dtype=np.int64 if name in _NUMBERS else np.str_), times)
        for name, cells in kept.items()
    }


@dataclass(frozen=True, eq=False)
class Question:
    """Which of two shares of 100 records has the property, p - width/2 or p + width/2 with p = 1/2; `name` says both.

    Compared by identity: what is computed for a question can be kept with it."""

    name: str
    width: float
    scenario: Scenario

    @property
    def model(self) -> PropertyModel:
        """The records behind the laws."""
        if self.scenario.property is None:
            raise UsageError("these experiments are about a property of the whole: use Scenario.from_property")
        return self.scenario.property

    @property
    def means(self) -> tuple[Floats, Floats]:
        """The expected statistics under the smaller and the larger share."""
        low, high = self.model.counts
        return self.model.classes.mean(low), self.model.classes.mean(high)

    @property
    def covariances(self) -> tuple[Floats, Floats]:
        """Their covariances."""
        low, high = self.model.counts
        return self.model.classes.cov(low), self.model.classes.cov(high)

    @property
    def difference(self) -> Floats:
        """The difference of the means, larger share less smaller."""
        return self.means[1] - self.means[0]


@cache
def _model(shelf: Shelf, sensitive: Property) -> PropertyModel:
    """The records, for the shares 0.45 and 0.55."""
    made = Scenario.from_property(
        reference(shelf), STATISTICS, _WORDS[sensitive], size=SIZE, values=_shares(0.1), tolerance=Fraction(1, 10)
    )
    found = made.property
    assert found is not None
    return found


@cache
def adult(shelf: Shelf, sensitive: Property, width: float) -> Question:
    """The paper's question: five statistics of 100 records, shares 1/2 -+ width/2; exact moments of all records."""
    near = Fraction(str(width))
    model = replace(_model(shelf, sensitive), tolerance=near, proved=given_shares(_shares(width), near))
    named = [(model.labels[i], model.labels[j]) for i, j in model.pairs]
    return Question(sensitive, width, Scenario(model.laws(), named, assumptions=assumptions(model), property=model))


def _shares(width: float) -> tuple[Fraction, Fraction]:
    half = Fraction(str(width)) / 2
    return Fraction(1, 2) - half, Fraction(1, 2) + half


def own_question(own: Own, width: float = 0.1) -> Question:
    """The same question about a table of one's own: data sets of 100 records, or half of a smaller table.

    `own.publish`: statistics such as "mean(age), count(sex=F)", or columns, whose means are then published;
    `own.protect`: the property, COLUMN=VALUE."""
    from fugu.data import read_table

    table = read_table(own.table)
    if "=" not in own.protect:
        raise UsageError(f"--protect: give the property as {own.protect}=VALUE: which share has it is the secret")
    size = min(SIZE, len(table) // 2 // 20 * 20)
    if size == 0:
        raise UsageError(f"the table has {len(table)} rows, and at least 40 are needed")
    scenario = Scenario.from_property(
        table, list(_asked(own.publish)), own.protect, size=size, values=_shares(width), tolerance=Fraction(str(width)),
        missing="drop",
    )  # fmt: skip
    return Question(own.protect, width, scenario)


def _asked(publish: str) -> Iterator[str]:
    """The statistics of --publish: at commas outside of brackets; a bare column is its mean."""
    text, depth = "", 0
    for letter in publish + ",":
        depth += (letter == "(") - (letter == ")")
        if letter != "," or depth > 0:
            text += letter
        elif word := text.strip():
            yield word if "(" in word else f"mean({word})"
            text = ""
        else:
            raise UsageError("--publish: a name is missing beside a comma")


def laws(question: Question, noise: Floats) -> tuple[Law, Law]:
    """The normal laws of the statistics with normal noise of this covariance, the smaller share first."""

    def law(mean: Floats, cov: Floats) -> Law:
        if len(mean) == 1:
            return Normal(float(mean[0]), math.sqrt(float(cov[0, 0])))
        return MultivariateNormal(mean.tolist(), cov.tolist())

    first, second = (law(mean, cov + noise) for mean, cov in zip(question.means, question.covariances, strict=True))
    return first, second
