"""Paper 000, Pierquin, Bellet, Tommasi, Boussard 2024, "Rényi Pufferfish Privacy": Table 1 and Figures 2 to 4.

What three real data sets ask for: the largest distance between the laws of a column given two values of a secret, W_inf
for the General Wasserstein Mechanism (GWM) and W_2 for its Cauchy form (DAGWM). The examples are in
`pierquin_examples`, iterations (Figures 5 and 6, Theorem 5.2) in `pierquin_iterations`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, combinations
from types import MappingProxyType

from fugu.drawing.axis import Axis
from fugu.drawing.charts import Chart, Figure, Panel
from fugu.drawing.marks import Points
from fugu.laws import Discrete, LawPair
from fugu.progress import report
from fugu_papers import pierquin_examples, pierquin_iterations
from fugu_papers.charts import lines
from fugu_papers.counted import Counts, counted, counts, laws, table_rows, tally
from fugu_papers.experiment import PAIRS, Outcome, Own, Row, Setting, experiment
from fugu_papers.pierquin_distances import (
    BUDGET,
    CHOSEN,
    LOSS,
    beyond,
    cauchy_row,
    compared,
    farthest,
    wasserstein_row,
    width,
)
from fugu_papers.shelf import Shelf

PARTS = (pierquin_examples, pierquin_iterations)
"""The rest of the paper: importing them registers their experiments."""
TABLES: Mapping[str, str] = MappingProxyType(
    {"Student": "student-paid-grade", "Heart": "heart-diagnosis-age", "Adult": "adult-race-income"}
)
PRINTED: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {"Student": ("20", "8", "2.76"), "Heart": ("100", "8", "7.80"), "Adult": ("1", "1", "0.42")}
)
"""Table 1: the sensitivity of a value, W_inf and W_2; 100 is printed as "at least 100"."""
METHODS = ("DP, width", "GWM, W_inf", "DAGWM, W_2")
AS_PRINTED = "GWM, at the printed distance"
_AGES = 100.0
_ALL_AGES = "printed as at least 100: no table says how old people become; 100 was taken"
_DIGITS = "W_2 is 2.276; a digit was lost in print (fugu errata P-table-1-student)"
_PAIRS = "8 is the distance of diagnoses 1 and 2; that of 0 and 2, and of 0 and 4, is 13 (fugu errata P-table-1-heart)"
SHARE = "share with a salary above 50K"
SPARE = 0.05
LOOSE = 5.0
"""A promise at which the noise is small enough for W_inf to show."""


@counted("student-paid-grade", "student/student-mat.csv")
def _student(shelf: Shelf) -> Counts:
    """Final grades in mathematics, by whether extra lessons are paid for."""
    return tally((row["paid"], row["G3"]) for row in table_rows(shelf.text("student/student-mat.csv"), ";"))


@counted("heart-diagnosis-age", "heart/processed.cleveland.data")
def _heart(shelf: Shelf) -> Counts:
    """Ages in whole years, by diagnosis, 0 to 4."""
    names = tuple(map(str, range(14)))
    rows = table_rows(shelf.text("heart/processed.cleveland.data"), names=names)
    return tally((row["13"], str(int(float(row["0"])))) for row in rows)


@counted("adult-race-income", "adult/adult.data.csv.gz")
def _adult(shelf: Shelf) -> Counts:
    """Whether the salary is above 50K, 1, or not, 0, by race."""
    rows = table_rows(shelf.text("adult/adult.data.csv.gz"), names=tuple(map(str, range(15))))
    return tally((row["8"], "1" if row["14"] == ">50K" else "0") for row in rows)


def laws_of(setting: Setting, name: str) -> dict[str, Discrete]:
    """The law of the published column given each secret."""
    found = counts(setting.shelf, TABLES[name])
    return laws(found, {value: int(value) for sizes in found.values() for value in sizes})


def pairs_of(given: Mapping[str, Discrete]) -> list[LawPair]:
    """Every pair of secrets once."""
    return [LawPair(given[a], given[b], f"{a} vs {b}") for a, b in combinations(given, 2)]


_CHOSEN = (
    *CHOSEN,
    (
        "Heart is the Cleveland file, Adult the training file. The laws are the frequencies of these very files, as in "
        "the paper; a release must not take them from the table that it protects."
    ),
    "W_2 cannot be held against W_inf: Cauchy noise has no mean. Each ratio compares noise of one kind.",
)


@experiment(
    "000-table1",
    title="how far the laws of a column are apart, given two values of a secret: three real data sets",
    measure="distances that noise is scaled to, in units of the column",
    loss=LOSS,
    columns=("data",),
    chosen=_CHOSEN,
    takes=PAIRS,
)
def table_1(setting: Setting) -> Outcome:
    """Table 1, or the same three distances for a table of one's own."""
    if setting.own:
        return Outcome(tuple(own_rows(setting.own)))
    names = ("Student",) if setting.short else tuple(TABLES)
    found: list[Row] = []
    for number, name in enumerate(names):
        report("Table 1", number, len(names))
        found += rows_of(name, pairs_of(laws_of(setting, name)), PRINTED[name])
    return Outcome(tuple(found))


def rows_of(name: str, pairs: Sequence[LawPair], printed: Sequence[str | None] = (None,) * 3) -> Iterator[Row]:
    """The width, W_inf and W_2, with the noise that they ask for; and GWM at the distance in print, if that is less."""
    wide, longest = (_AGES if name == "Heart" else width(pairs)), farthest(pairs)
    yield wasserstein_row((name,), METHODS[0], pairs, wide, printed[0], _ALL_AGES if name == "Heart" else "")
    yield wasserstein_row((name,), METHODS[1], pairs, longest, printed[1], _PAIRS if name == "Heart" else "")
    if printed[1] is not None and float(printed[1]) < longest:
        yield too_short(name, pairs, float(printed[1]))
    yield cauchy_row((name,), METHODS[2], pairs, farthest(pairs, 2), printed[2], _DIGITS if name == "Student" else "")


def too_short(name: str, pairs: Sequence[LawPair], distance: float) -> Row:
    """GWM at a distance below W_inf, at a promise that it then does not keep."""
    tight = wasserstein_row((name,), AS_PRINTED, pairs, distance)
    note = (
        f"{beyond(pairs, distance):.3f} of the mass has no partner within {distance:g}, so no theorem covers it. At "
        f"D_2 <= {LOOSE:g} it is too little; at D_2 <= {BUDGET:g} these laws happen to lose {tight.truth:.4f} only"
    )
    return wasserstein_row((name,), f"{AS_PRINTED}, D_2 <= {LOOSE:g}", pairs, distance, note=note, budget=LOOSE)


def own_rows(own: Own) -> Iterator[Row]:
    """The three distances of data of one's own, over all pairs of secrets."""
    yield from rows_of(own.name.partition(" in ")[0], own.pairs(Discrete))


def figure_of(setting: Setting, name: str, said: str, axis: str) -> Outcome:
    """The laws of one data set drawn, and the three mechanisms for each pair of secrets; of one's own without the
    drawing, which is of whole numbers."""
    given = {} if setting.own else laws_of(setting, name)
    every, found = setting.own.pairs(Discrete) if setting.own else pairs_of(given), list[Row]()
    pairs = every[:1] if setting.short else every
    for number, pair in enumerate(pairs):
        report(name, number, len(pairs))
        found += compared(pair.label, [pair], SPARE, cauchy=not setting.short)
    return Outcome(tuple(found), drawn(given, said, axis) if given else ())


def drawn(given: Mapping[str, Discrete], said: str, axis: str) -> tuple[Figure, ...]:
    """The laws: shares by value and, as W_inf is the longest way from one curve to another, shares up to a value."""
    if axis == SHARE:
        return (_shares(given, said),)
    places = sorted({int(x) for law in given.values() for x in law.values})
    grid = range(places[0], places[-1] + 1)
    each = {secret: dict(zip(law.values.tolist(), law.weights.tolist(), strict=True)) for secret, law in given.items()}
    masses = {secret: [held.get(float(x), 0.0) for x in grid] for secret, held in each.items()}
    steps = [x + side for x in grid for side in (-0.5, 0.5)]
    upto = {secret: [total for total in accumulate(held) for _ in (0, 1)] for secret, held in masses.items()}
    return (
        lines(said, axis, "share of the group", [(secret, grid, held) for secret, held in masses.items()]),
        lines(f"{said}: shares up to a value; the longest way across from one curve to another is W_inf", axis,
              "share of the group up to there", [(secret, steps, held) for secret, held in upto.items()]),
    )  # fmt: skip


def _shares(given: Mapping[str, Discrete], said: str) -> Figure:
    """One point for each secret: how much of its law is on 1."""
    heights = tuple(float(law.mean()) for law in given.values())
    told = tuple(f"{secret}: {height:.4f}" for secret, height in zip(given, heights, strict=True))
    places = tuple(map(float, range(len(heights))))
    across = Axis("", -0.5, len(heights) - 0.5, marks=tuple(zip(places, given, strict=True)), named=True)
    points = Points(places, heights, "a", "dot", SHARE, told=told)
    return Chart("shares", said, "; ".join(told), (Panel((points,), across, Axis(SHARE, 0.0, 0.3), 260.0),))


def _register(number: int, name: str, said: str, axis: str) -> None:
    """Figures 2 to 4 show the same of different data."""

    @experiment(
        f"000-figure{number}",
        title=f"{said}, and the mechanisms for each pair",
        measure="distances that noise is scaled to, in units of the column",
        loss=LOSS,
        columns=("pair",),
        chosen=(*_CHOSEN, f"The paper draws the laws only; GAWM at delta {SPARE:g} is run beside the other two."),
        takes=PAIRS,
    )
    def figure(setting: Setting) -> Outcome:
        return figure_of(setting, name, said, axis)


_register(2, "Student", "Grades of students with and without paid lessons", "final grade in mathematics")
_register(3, "Heart", "Ages of patients by the stage of their heart disease", "age in years")
_register(4, "Adult", "Salaries by race", SHARE)
