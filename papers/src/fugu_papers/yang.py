"""Paper 003, Yang, Ding et al., "Noise Reduction for Pufferfish Privacy": Table 4, Figures 2 to 4.

Three rules for the scale of Laplace noise: the l1 sensitivity, the W_1 (Kantorovich) mechanism, and Algorithm 1. The
loop of Algorithm 1 as printed can lose its root (`fugu errata R-algorithm-1`), so "Alg. 1" is the root of condition
(11), which it looks for; on a table of one's own the loop itself is run beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import cast

from fugu.calibration.channel import optimal_channel
from fugu.calibration.driver import calibrate
from fugu.drawing.charts import Figure
from fugu.errors import UsageError
from fugu.guarantee import Pure
from fugu.laws import Discrete, LawPair, families
from fugu.loss import epsilon as true_epsilon
from fugu.noise import Laplace
from fugu.progress import report
from fugu.transport.coupling import Coupling, monotone
from fugu.transport.wasserstein import paper_scale
from fugu_papers.amount import amount
from fugu_papers.charts import Series, lines
from fugu_papers.counted import Counts, counted, counts, laws, table_rows, tally
from fugu_papers.errata.yang import printed_loop
from fugu_papers.experiment import PAIRS, Outcome, Own, Row, Setting, experiment
from fugu_papers.shelf import Shelf

EPSILONS = tuple(k / 10 for k in range(1, 11))
_WHOLE = "10.00 5.00 3.33 2.50 2.00 1.67 1.43 1.25 1.11 1.00"
_PRINTED: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "Table 1": (_WHOLE, _WHOLE, "0.78 0.54 0.44 0.39 0.35 0.33 0.31 0.29 0.28 0.26"),
        "Table 2": (*("30.00 15.00 10.00 7.50 6.00 5.00 4.29 3.75 3.33 3.00",) * 2, _WHOLE),
        "Student": (_WHOLE, _WHOLE, "3.39 1.84 1.31 1.04 0.88 0.77 0.68 0.62 0.57 0.53"),
        "Census": (
            "80.00 40.00 26.67 20.00 16.00 13.33 11.43 10.00 8.89 8.00",
            "20.00 10.00 6.67 5.00 4.00 3.33 2.86 2.50 2.22 2.00",
            "10.00 5.00 3.33 2.50 2.05 1.76 1.54 1.38 1.25 1.15",
        ),
        "Bank": (
            "20.00 10.00 6.67 5.00 4.00 3.33 2.86 2.50 2.22 2.00",
            _WHOLE,
            "2.53 1.42 1.04 0.84 0.72 0.64 0.58 0.53 0.49 0.46",
        ),
    }
)
"""Table 4: for each data set the l1 sensitivity, the W_1 mechanism and Algorithm 1, at the ten epsilons."""
METHODS = ("l1", "W1", "Alg. 1")
LOOP = "Alg. 1, its loop as printed"
_WRONG_DIGIT = "0.54 is a slip: condition (11) has its root at 0.5327 (fugu errata R-table-4)"
_CODES = MappingProxyType(
    {
        "Student": {"no": 0, "yes": 1},
        "Bank": {"married": 0, "single": 1, "divorced": 2},
        "Census": {
            "State-gov": 0, "Self-emp-not-inc": 1, "Private": 2, "Federal-gov": 3, "Local-gov": 4, "?": 5,
            "Self-emp-inc": 6, "Without-pay": 7, "Never-worked": 8,
        },
    }
)  # fmt: skip
"""Codes of categories. The paper does not give them: these are the ones whose rows come out as printed."""
_ADULT = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip


@counted("student-romantic-higher", "student/student-por.csv")
def _student(shelf: Shelf) -> Counts:
    rows = table_rows(shelf.text("student/student-por.csv"), ";")
    return tally((f"higher {row['higher']}", row["romantic"]) for row in rows)


@counted("bank-marital-loan", "bank/bank-full.csv.gz")
def _bank(shelf: Shelf) -> Counts:
    rows = table_rows(shelf.text("bank/bank-full.csv.gz"), ";")
    return tally((f"loan {row['loan']}", row["marital"]) for row in rows)


@counted("census-workclass-marital", "adult/adult.data.csv.gz", "adult/adult.test.csv.gz")
def _census(shelf: Shelf) -> Counts:
    """Both files; a missing work class counts as a value in the first and is left out in the second."""
    both = [
        table_rows(shelf.text(path), names=_ADULT) for path in ("adult/adult.data.csv.gz", "adult/adult.test.csv.gz")
    ]
    rows = [*both[0], *(row for row in both[1] if row["workclass"] != "?")]
    two = {"Never-married", "Married-civ-spouse"}
    return tally((row["marital-status"], row["workclass"]) for row in rows if row["marital-status"] in two)


def pairs(setting: Setting) -> Iterator[tuple[str, LawPair]]:
    """The five pairs of laws of Table 4, s_i first."""
    yield "Table 1", LawPair(Discrete([0, 1], [52, 48]), Discrete([0, 1], [50, 50]), "Table 1")
    one, other = [50001, 0, 1, 49998], [49996, 1, 0, 50003]
    yield "Table 2", LawPair(Discrete(range(4), one), Discrete(range(4), other), "Table 2")
    for name, table, first, second in (
        ("Student", "student-romantic-higher", "higher yes", "higher no"),
        ("Census", "census-workclass-marital", "Never-married", "Married-civ-spouse"),
        ("Bank", "bank-marital-loan", "loan yes", "loan no"),
    ):
        given = laws(counts(setting.shelf, table), _CODES[name])
        yield name, LawPair(given[first], given[second], name)


def scales(pair: LawPair, epsilon: float) -> tuple[float, float, float]:
    """The l1 sensitivity, the largest distance of the plan, and the root of condition (11), each as a Laplace scale."""
    (family,) = families([pair])
    width, moved = float(family.points.max() - family.points.min()), plan(pair)
    return width / epsilon, float(moved.distances.max()) / epsilon, paper_scale(moved, epsilon)


def plan(pair: LawPair) -> Coupling:
    """The monotone plan, which is optimal for W_1 and for W_inf alike."""
    (family,) = families([pair])
    return monotone(family.points, *family.laws)


def rows_of(name: str, pair: LawPair, epsilons: Sequence[float]) -> Iterator[Row]:
    """The three rules at each epsilon, their true losses, the exact scale, and the error of the best channel."""
    printed = [column.split() for column in _PRINTED[name]] if name in _PRINTED else None
    for epsilon in epsilons:
        noise = calibrate(pair, Pure(epsilon), noise="laplace").noise
        best, error = float(getattr(noise, "scale", 0.0)), amount(noise)
        limit = optimal_channel(pair, Pure(epsilon)).optimum.lower
        place = EPSILONS.index(epsilon) if printed and epsilon in EPSILONS else None
        for k, (method, scale) in enumerate(zip(METHODS, scales(pair, epsilon), strict=True)):
            shown = printed[k][place] if printed and place is not None else None
            slip = (name, method, epsilon) == ("Table 1", "Alg. 1", 0.2)
            yield Row(
                (name, f"{epsilon:g}"), method, shown, scale, epsilon, true_epsilon(Laplace(scale), pair),
                best, limit, error, note=_WRONG_DIGIT if slip else "",
            )  # fmt: skip


_CHOSEN = (
    "Codes of categories and the treatment of missing cells are not stated: they are those whose rows come out.",
    "Alg. 1 is its condition, solved safely: the printed loop may lose its bracket (fugu errata R-algorithm-1).",
    "fugu's best is the least scale, exactly. The limit is the error of the best channel, beside that of this noise.",
    "A best of 0 says that these beliefs need no noise for one release; fugu asks before it releases exact values.",
)


@experiment(
    "003-table4",
    title="the scale of Laplace noise, five pairs of laws, ten epsilons",
    measure="scales of Laplace noise",
    columns=("data", "epsilon"),
    chosen=_CHOSEN,
    takes=PAIRS,
)
def table_4(setting: Setting) -> Outcome:
    """Table 4, or the same rules on a table of one's own, with the printed loop run beside them."""
    epsilons = EPSILONS[1::4] if setting.short else EPSILONS
    given = list(own_pairs(setting.own) if setting.own else pairs(setting))
    found: list[Row] = []
    for number, (name, pair) in enumerate(given):
        report("Table 4", number, len(given))
        found += rows_of(name, pair, epsilons)
        if setting.own:
            found += loop_rows(name, pair, epsilons)
    return Outcome(tuple(found), tuple(drawn(name, found) for name, _ in given))


def drawn(name: str, rows: Sequence[Row]) -> Figure:
    """The scales of every rule over epsilon, with fugu's best; like Figures 2b, 3b, 4c, 4d."""
    mine = [row for row in rows if row.case[0] == name]
    methods = list(dict.fromkeys(row.method for row in mine))

    def line(method: str, of: str) -> Series:
        points = [row for row in mine if row.method == method]
        heights = [getattr(row, of) for row in points]
        none = heights.count(0.0)
        gone = "" if not none else ": no noise" if none == len(heights) else "; no noise where it ends"
        return (f"fugu, exact{gone}" if of == "best" else method, [float(row.case[1]) for row in points],
                [math.nan if height is None else height for height in heights])  # fmt: skip

    series = [*(line(method, "reproduced") for method in methods), line(METHODS[0], "best")]
    return lines(
        f"{name}: how much Laplace noise each rule asks for", "epsilon", "scale of the noise", series, log=True
    )


_LEFT: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType(
    {
        ("Table 1", "W1"): ("7.8", "26.5"), ("Table 2", "W1"): ("33.3", "33.3"), ("Student", "W1"): ("34", "53"),
        ("Census", "W1"): ("50", "57"), ("Bank", "W1"): ("25", "46"),
        ("Student", "l1"): ("34", "53"), ("Census", "l1"): ("12", "14"), ("Bank", "l1"): ("13", "23"),
    }
)  # fmt: skip
"""Printed are reductions at epsilon 0.1 and 1 from the W_1 mechanism, 92.2 % to 73.5 %, 66.7 %, 66 % to 47 %, 50 % to
43 %, 75 % to 54 %, and from l1, 66 % to 47 %, 88 % to 86 %, 87 % to 77 %: 100 less these."""
_CUT = "the reduction is printed cut off, 73.5 for 73.57"


def shares(setting: Setting, names: Sequence[str]) -> Outcome:
    """How much noise Algorithm 1 leaves of that of the W_1 mechanism and of l1, at epsilon 0.1 and 1, and how much must
    stay."""
    found, shown, own = [], [], setting.own
    given = own_pairs(own) if own else (each for each in pairs(setting) if each[0] in names)
    for name, pair in given:
        for epsilon in (0.1, 1.0):
            widest, kantorovich, relaxed = scales(pair, epsilon)
            truth, best = true_epsilon(Laplace(relaxed), pair), least(pair, epsilon)
            for other, whole in (("W1", kantorovich), ("l1", widest)):
                if (name, other) not in _LEFT and not own:
                    continue
                printed = None if own else _LEFT[name, other][0 if epsilon < 1 else 1]
                case = name, other, f"{epsilon:g}"
                row = Row(case, "Alg. 1", printed, 100 * relaxed / whole, epsilon, truth, 100 * best / whole)
                found.append(replace(row, note=_CUT) if row.verdict == "differs" else row)
        grid = EPSILONS[::3] if setting.short else tuple(k / 20 for k in range(1, 21))
        shown.append(drawn(name, tuple(rows_of(name, pair, grid))))
    return Outcome(tuple(found), tuple(shown))


def own_pairs(own: Own) -> Iterator[tuple[str, LawPair]]:
    """Every pair of secrets of data of one's own, each order once."""
    found = own.pairs(Discrete)
    if len({float(x) for pair in found for law in (pair.p, pair.q) for x in cast(Discrete, law).values}) == 1:
        raise UsageError(
            f"column {own.publish!r} has one value only: it says nothing of {own.protect!r}, and needs no noise"
        )
    for pair in found:
        yield pair.label, pair


def loop_rows(name: str, pair: LawPair, epsilons: Sequence[float]) -> Iterator[Row]:
    """Algorithm 1 as printed, whatever its loop returns: run, shown, and never released."""
    for epsilon in epsilons:
        found = [_looped(masses, distances, epsilon) for masses, distances in columns(plan(pair))]
        scale = max((each for each in found if each is not None), default=None)
        note = "" if None not in found else "the loop divides by 0 or leaves the doubles in some column"
        case = name, f"{epsilon:g}"
        if scale is None or scale <= 0:
            yield Row(case, LOOP, None, None, epsilon, note=note or "the loop returns no scale")
        else:
            yield Row(
                case, LOOP, None, scale, epsilon, true_epsilon(Laplace(scale), pair), least(pair, epsilon), note=note
            )


def _looped(masses: list[float], distances: list[float], epsilon: float) -> float | None:
    """What the printed loop gives for one column; None if it divides by 0 or overflows."""
    try:
        return printed_loop(masses, distances, epsilon)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def least(pair: LawPair, epsilon: float) -> float:
    """The least Laplace scale that gives epsilon, proved; 0 if the laws alone suffice."""
    return float(getattr(calibrate(pair, Pure(epsilon), noise="laplace").noise, "scale", 0.0))


def columns(moved: Coupling) -> Iterator[tuple[list[float], list[float]]]:
    """For each value x' that receives mass from elsewhere: the masses, and the distances they come from, 0 first."""
    for target in sorted(set(moved.columns.tolist())):
        here = moved.columns == target
        by: dict[float, float] = {0.0: 0.0}
        for distance, mass in zip(moved.distances[here].tolist(), moved.masses[here].tolist(), strict=True):
            by[float(distance)] = by.get(float(distance), 0.0) + mass / moved.total
        if len(by) > 1:
            yield list(by.values()), list(by)


def _register(number: int, names: tuple[str, ...], title: str) -> None:
    """Figures 2 to 4 show the same of different laws."""

    @experiment(
        f"003-figure{number}",
        title=title,
        measure="scales in per cent of that of the other rule",
        columns=("data", "compared with", "epsilon"),
        chosen=_CHOSEN[:2] if number == 4 else _CHOSEN[1:2],
        takes=PAIRS,
    )
    def figure(setting: Setting) -> Outcome:
        return shares(setting, names)


_register(2, ("Table 1",), "two coins that are nearly alike: how much noise is saved")
_register(3, ("Table 2",), "a worst case of the W_1 mechanism: how much noise is saved")
_register(4, ("Student", "Census", "Bank"), "three real data sets: how much noise is saved")
