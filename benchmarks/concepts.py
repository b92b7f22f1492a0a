"""The pictures of docs/concepts, from numbers that the pages work out too; writes docs/concepts/*.svg."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import fugu
from benchmarks.boxes import Box, Boxes, Upright
from benchmarks.measure import Row, Size
from fugu.drawing.axis import Axis
from fugu.drawing.charts import Chart, Figure, Panel
from fugu.drawing.marks import Bars, Level, Line
from fugu.report.notebook import odds_figure

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "concepts"
_REFERENCE = Path(fugu.__file__).parent / "examples" / "clinic_reference.csv"
_EPSILON = 0.5
_FACTOR = math.exp(_EPSILON)
_ILL, _WELL = ((1, 2, 3, 4), (1, 12, 48, 64)), ((0, 1, 2, 3), (6859, 1083, 57, 1))
_SMOKES, _NOT = ((0, 1, 2), (1, 4, 5)), ((0, 1, 2), (4, 4, 2))

Counts = tuple[tuple[int, ...], tuple[int, ...]]


def noised(law: Counts, scale: float, outputs: Sequence[int]) -> tuple[float, ...]:
    """The chance of each output if a value of the law is published with lattice Laplace noise of this scale."""
    keep, total = math.exp(-1 / scale), sum(law[1])
    unit = (1 - keep) / (1 + keep) / total
    return tuple(sum(w * unit * keep ** abs(y - x) for x, w in zip(*law, strict=True)) for y in outputs)


def pair(first: Counts, second: Counts) -> fugu.LawPair:
    """The two laws as fugu has them."""
    return fugu.LawPair(fugu.Discrete(*first), fugu.Discrete(*second), "first vs second")


def factor(answers: int, stay: float = 0.9, epsilon: float = _EPSILON) -> float:
    """How much the odds for the state in the middle change if every one of so many noisy answers is the same."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    chances = [0.0, 0.0]
    for path in itertools.product((0, 1), repeat=answers):
        moves = math.prod(stay if a == b else 1 - stay for a, b in itertools.pairwise(path))
        chances[path[answers // 2]] += moves * math.prod(truth if state else 1 - truth for state in path)
    return chances[1] / chances[0]


def _promise() -> Figure:
    return odds_figure(_EPSILON, 0.0)


def _two(
    title: str, about: str, laws: tuple[Counts, Counts], scale: float, names: tuple[str, str], axis: str
) -> Figure:
    """Two noised laws above each other's ratio."""
    outputs = range(min(laws[0][0] + laws[1][0]) - 4, max(laws[0][0] + laws[1][0]) + 5)
    xs, (first, second) = tuple(map(float, outputs)), (noised(law, scale, outputs) for law in laws)
    ratio = tuple(max(p / q, q / p) for p, q in zip(first, second, strict=True))
    across = Axis(axis, xs[0] - 0.4, xs[-1] + 0.4)
    upper = Panel(
        (Line(xs, first, "a", names[0], dots=True), Line(xs, second, "b", names[1], dots=True)),
        across, Axis("chance", 0.0, 1.1 * max(first + second)), 170.0, "Chance of each published value", False,
    )  # fmt: skip
    lower = Panel(
        (
            Line(xs, ratio, "ink", "larger over smaller chance", dots=True),
            Level(_FACTOR, "promised", f"e^0.5 = {_FACTOR:.2f}"),
        ),
        across, Axis("factor", 0.9, 1.12 * max(*ratio, _FACTOR)), 120.0, "By how much odds change",
    )  # fmt: skip
    return Chart("two", title, about, (upper, lower))


def _promise_kept() -> Figure:
    scale = float(fugu.calibrate(pair(_SMOKES, _NOT), fugu.Pure(_EPSILON)).noise.scale)
    title = f"With noise of scale {scale:.3f}, no published value changes odds by more than {_FACTOR:.2f}"
    about = "The two laws overlap; their ratio touches the limit on the left and stays below it everywhere."
    return _two(title, about, (_SMOKES, _NOT), scale, ("she smokes", "she does not"), "published value")


def _household() -> Figure:
    lost = fugu.epsilon(fugu.Laplace(2), pair(_ILL, _WELL))
    title = f"Noise for one record, a household of four: odds change by up to {math.exp(lost):.2f}, not {_FACTOR:.2f}"
    about = "The law of the published count if Ann is ill lies far to the right of that if she is well."
    return _two(title, about, (_ILL, _WELL), 2.0, ("Ann is ill", "Ann is well"), "published count of four people")


def _cases() -> Figure:
    lost = (math.exp(fugu.epsilon(fugu.Laplace(2), pair(_ILL, _WELL))), 9.0, factor(9))
    names = ("household of four", "inhaler and asthma", "nine hours")
    xs = (0.0, 1.0, 2.0)
    told = tuple(f"{name}: {value:.2f}" for name, value in zip(names, lost, strict=True))
    marks = (
        Bars(xs, lost, "a", 0.5, -0.25, "what happens", told),
        Level(_FACTOR, "promised", f"what was promised: {_FACTOR:.2f}"),
    )
    across = Axis(
        "", -0.5, 2.5, marks=tuple((x, f"{n}: {v:.3g}") for x, n, v in zip(xs, names, lost, strict=True)), named=True
    )
    panel = Panel(marks, across, Axis("odds change by a factor of", 0.0, 15.0), 240.0)
    title = "Three times differential privacy keeps its word; what is learnt about the secret"
    return Chart("cases", title, "; ".join(told), (panel,))


def _sequence() -> Figure:
    numbers = range(1, 14, 2)
    xs, ys = tuple(map(float, numbers)), tuple(factor(n) for n in numbers)
    marks = (
        Line(xs, ys, "a", "odds for the hour in the middle", dots=True),
        Level(_FACTOR, "promised", f"promised for each answer: {_FACTOR:.2f}"),
    )
    panel = Panel(marks, Axis("answers that are seen", 0.5, 13.5), Axis("odds change by a factor of", 0.0, 21.0), 240.0)
    title = "Every answer is differentially private; all of them together tell how it was in the middle"
    about = "; ".join(f"{n} answers: {y:.2f}" for n, y in zip(numbers, ys, strict=True))
    return Chart("sequence", title, about, (panel,))


def _wrong() -> Figure:
    scenario = fugu.Scenario.from_table(_REFERENCE, publish="chol", protect="smoker")
    mechanism = fugu.calibrate(scenario, fugu.Pure(_EPSILON))
    xs = tuple(float(x) for x in range(0, 21, 5))
    ys = tuple(float(fugu.guarantee_within(mechanism, int(x)).epsilon) for x in xs)
    marks = (
        Line(xs, ys, "a", "still promised", dots=True),
        Level(_EPSILON, "promised", "promised for the beliefs stated"),
    )
    axes = Axis("how far beliefs are off, in mg/dl", 0.0, 20.5), Axis("epsilon", 0.0, 1.08 * max(ys))
    title = "What is left of epsilon 0.5 against somebody with other beliefs"
    about = "; ".join(f"within {x:g} mg/dl: {y:.2f}" for x, y in zip(xs, ys, strict=True))
    return Chart("wrong", title, about, (Panel(marks, *axes, 220.0),))


def _xor() -> Figure:
    seen = ("nothing", "s xor r", "r", "both")
    after = (0.5, 0.5, 0.5, 1.0)
    xs = (0.0, 1.0, 2.0, 3.0)
    told = tuple(f"{name}: {value:.0%}" for name, value in zip(seen, after, strict=True))
    marks = (Bars(xs, after, "a", 0.5, -0.25, told=told), Level(0.5, "promised", "nothing learnt"))
    across = Axis("what was seen", -0.5, 3.5, marks=tuple(zip(xs, seen, strict=True)), named=True)
    panel = Panel(marks, across, Axis("probability of the true s", 0.0, 1.05), 200.0)
    title = "Two values that tell nothing about a bit, and tell it together"
    return Chart("xor", title, "; ".join(told), (panel,))


def _sum() -> Figure:
    xs = tuple(map(float, range(6)))
    true = tuple(math.log((1 + math.exp(x)) / 2) for x in xs)
    added = tuple(x * true[1] for x in xs)
    marks = (
        Line(xs, true, "a", "what they cost together", dots=True),
        Line(xs, added, "b", "as many times the first: promises too much", dots=True),
    )
    panel = Panel(
        marks,
        Axis("mechanisms with epsilon 1 for each record", -0.1, 5.1, marks=tuple((x, f"{x:g}") for x in xs)),
        Axis("epsilon", 0.0, 4.6),
        230.0,
    )
    title = "Add first, then translate: what several mechanisms cost about the secret"
    about = "; ".join(f"{x:g}: {t:.2f}, added {a:.2f}" for x, t, a in zip(xs, true, added, strict=True))
    return Chart("sum", title, about, (panel,))


def _checks() -> Figure:
    columns = (
        (Box("private table", "never leaves", "home"), Box("reference", "public: the beliefs", "plain")),
        (
            Box("published values", "OUT.csv, or a model", "out"), Box("certificate", "budget, beliefs, noise", "out"),
            Box("page", "the same in words, to sign", "out"), Box("private part", "opens the commitment", "home"),
        ),
        (
            Box("recipient", "is this the file?"), Box("verify", "prove it again, twice"),
            Box("audit", "attack the sampler"), Box("officer", "are the assumptions true?"),
        ),
    )  # fmt: skip
    arrows = (
        ((0, 0), (1, 0)), ((0, 0), (1, 3)), ((0, 1), (1, 1)),
        ((1, 0), (2, 0)), ((1, 1), (2, 0)), ((1, 1), (2, 1)), ((1, 1), (2, 2)), ((1, 2), (2, 3)),
    )  # fmt: skip
    title = "Who gets what, and who checks what: blue goes out, brown stays at home"
    about = (
        "The private table and the private part stay. Values, certificate and page go out. The recipient compares the "
        "file with the certificate, verify proves the certificate again, audit attacks the sampler, the officer reads."
    )
    return Boxes("checks", title, about, columns, arrows)


def _table() -> Figure:
    columns = (
        (
            Box("patients.csv", "900 rows; who smokes is secret", "home"),
            Box("last-year.csv", "what people may know already"),
            Box("budget", "epsilon 2 in all, kept in a ledger"),
        ),
        (
            Box("table.csv", "counts, means within 0.5, histograms within 3: usable", "out"),
            Box("certificate", "odds change by 1.3 at most: proved, and checked by anybody", "out"),
            Box("page", "the same in words, to sign", "out"),
        ),
    )  # fmt: skip
    arrows = (((0, 0), (1, 0)), ((0, 1), (1, 1)), ((0, 2), (1, 2)))
    title = "From a private table to numbers for everybody"
    about = (
        "A private table, a public reference and a budget go in. A table of useful numbers, a certificate and a page "
        "to sign come out; the private table stays."
    )
    return Upright("table", title, about, columns, arrows)


PICTURES: dict[str, Callable[[], Figure]] = {
    "first-table": _table,
    "odds": _promise,
    "two-laws": _promise_kept,
    "household": _household,
    "three-cases": _cases,
    "sequence": _sequence,
    "wrong-beliefs": _wrong,
    "xor": _xor,
    "translate-the-sum": _sum,
    "who-checks": _checks,
}
"""Name of the file, without its ending, and how it is drawn."""


def pictures(_size: Size) -> Iterator[Row]:
    """Write all of them; the row is how many there are."""
    for name, draw in PICTURES.items():
        draw().save(FOLDER / f"{name}.svg")
    yield Row("pictures", "written to docs/concepts", float(len(PICTURES)), "files")
