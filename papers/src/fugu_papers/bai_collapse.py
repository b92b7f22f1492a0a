"""Examples 4.1 to 4.3: mechanisms that leak little once, and everything when they run again.

The laws of the examples are left open in the paper; those here are stated. Leakages are enumerated over all outputs,
numbers of runs are exact fractions (`collapse`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from fugu_papers.charts import lines
from fugu_papers.collapse import Collapse, box_epsilon, every_bit, many_priors, softened, two_secrets
from fugu_papers.compose import composition
from fugu_papers.experiment import Outcome, Row, Setting, experiment

Box = tuple[float, float, float, float]
"""The least and largest P(1a | s1), then P(2a | not s1)."""
LAWS = (0.5, 0.3, 0.2), (0.6, 0.25, 0.1, 0.05)
BOX: Box = (0.1, 0.2, 0.7, 0.8)
ETAS = (0.01, 0.1, 0.3)
_MEASURE = "epsilons of so many runs, or the expected number of runs until the data set is known"
_ONCE = "what one run leaks"
_TWICE = "what two runs leak"
_RUNS = "expected runs until all is known"
STYLE, CONDITION = "data set by data set", "the condition of Theorem 4"
_EXACT = "the limit is the exact number"
_TOLD = "linear composition of runs that leak nothing would promise 0"


def _leaks(case: str, found: Collapse) -> Iterator[Row]:
    """One run and two, with what linear composition would promise."""
    for what, runs, printed, note in ((_ONCE, 1, "0", ""), (_TWICE, 2, None, _TOLD)):
        leaked = found.leakage(runs)
        yield Row((case, what), "M*", printed, leaked, 0.0, leaked, note=note)


@experiment(
    "002-example4.1",
    title="a true data set beside a fake one: nothing is leaked once, everything twice",
    measure=_MEASURE,
    columns=("case", "quantity"),
    chosen=(
        "The laws are not stated: three data sets with s1 (0.5, 0.3, 0.2), four with s2 (0.6, 0.25, 0.1, 0.05).",
        "Softened: with probability eta the output is uniform. Two data sets on each side then, equally likely.",
        "Data set by data set: as in differential privacy, each against a single other one, and runs add up.",
        "The condition of Theorem 4, corrected, also suffices up to a constant (docs/proofs/composition.md).",
        "fugu's best enumerates the outputs of few runs.",
    ),
)
def example_1(setting: Setting) -> Outcome:
    """Theorem 1, and what is left of the example if its output is softened."""
    found, case = two_secrets(*LAWS), "as printed"
    rows = list(_leaks(case, found))
    bound = 1 + 1 / (1 - max(map(max, LAWS)))
    for place, true in enumerate(("s1", "s2")):
        law = [*(LAWS[0] if place == 0 else [0] * 3), *(LAWS[1] if place else [0] * 4)]
        exact = float(found.expected_runs(law))
        rows.append(Row((case, f"{_RUNS}, {true} true"), "Theorem 1, a bound", None, bound, limit=exact, note=_EXACT))
    runs = [2, 4] if setting.short else [2, 4, 8, 16]
    heights: dict[str, list[float]] = {STYLE: [], CONDITION: [], "true": []}
    for eta in ETAS:
        soft = softened((0.5, 0.5), (0.5, 0.5), eta)
        pair, case = soft.pairs[0], f"softened, eta {eta:g}"
        whole, single = composition([soft.mechanism], *pair), _single(soft)
        rows.append(
            Row((case, "each of many runs"), STYLE, None, single, single, whole.epsilon, whole.epsilon, whole.lower)
        )
        for many in runs if eta == ETAS[-1] else runs[-1:]:
            leaked, proved = soft.leakage(many), whole.after(many)
            told = case, f"what {many} runs leak"
            rows.append(Row(told, STYLE, None, many * single, many * single, leaked, leaked, leaked))
            rows.append(Row(told, CONDITION, None, proved, proved, leaked, leaked, leaked))
            if eta == ETAS[-1]:
                for name, height in zip(heights, (many * single, proved, leaked), strict=True):
                    heights[name].append(height)
    shown = lines(
        f"Runs of a softened mechanism (eta {ETAS[-1]:g}) that leaks nothing once", "runs", "epsilon",
        [(name, runs, height) for name, height in heights.items()],
    )  # fmt: skip
    return Outcome(tuple(rows), (shown,))


def _single(found: Collapse) -> float:
    """The largest over data sets of s1, over orders, of the least epsilon towards a single data set of s2."""
    (first, second) = found.pairs[0]

    def towards(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> float:
        rows = found.mechanism
        return max(
            min(
                max(math.log(a / b) for a, b in zip(rows[d], rows[e], strict=True) if a > 0)
                for e, mass in enumerate(q)
                if mass > 0
            )
            for d, here in enumerate(p)
            if here > 0
        )

    return max(towards(first, second), towards(second, first))


@experiment(
    "002-example4.2",
    title="every bit of a fair data set is a secret: nothing is leaked once, everything twice",
    measure=_MEASURE,
    columns=("case", "quantity"),
    chosen=("The number of bits is any from 3 on: 3, 4 and 5 here.",),
)
def example_2(setting: Setting) -> Outcome:
    """Theorem 2 by enumeration."""
    rows: list[Row] = []
    for bits in (3,) if setting.short else (3, 4, 5):
        found, case = every_bit(bits), f"{bits} bits"
        rows += _leaks(case, found)
        runs = found.expected_runs([Fraction(1, 2**bits)] * 2**bits)
        rows.append(Row((case, _RUNS), "Theorem 2", "3", float(runs)))
        rows.append(Row((case, "two different outputs tell all"), "Theorem 2", "1", float(found.revealing())))
    return Outcome(tuple(rows))


@experiment(
    "002-example4.3",
    title="many priors near each other: a small epsilon once, everything twice",
    measure=_MEASURE,
    columns=("case", "quantity"),
    chosen=(
        "The bounds are not stated: P(1a | s1) in [0.1, 0.2] and P(2a | not s1) in [0.7, 0.8]; then random boxes.",
        "The four corners of the box are among the priors.",
        "Of random boxes the row with the largest excess is shown, and how many are excessive is said below.",
    ),
)
def example_3(setting: Setting) -> Outcome:
    """Theorem 3, in one order as printed and in both."""
    rows = [_box_row("stated bounds", BOX), Row(("stated bounds", _RUNS), "Theorem 3", "3", _runs(BOX))]
    leaked = many_priors(*BOX).leakage(2)
    once = box_epsilon(*BOX)
    rows.append(Row(("stated bounds", _TWICE), "M*", None, leaked, 2 * once, leaked, note="2 epsilon is promised"))
    dice, tried = setting.dice(3), 50 if setting.short else 2000
    drawn = np.sort(dice.uniform(0.01, 0.99, (tried, 2, 2)).round(3), axis=2).tolist()
    boxes: list[Box] = [(*true, *false) for true, false in drawn]
    printed = [box_epsilon(*box, both=False) for box in boxes]
    right = [box_epsilon(*box) for box in boxes]
    short = sum(a < b * (1 - 1e-12) for a, b in zip(printed, right, strict=True))
    worst = max(range(tried), key=lambda at: right[at] - printed[at])
    rows.append(_box_row("the worst of random bounds", boxes[worst]))
    said = f"Of {tried} random boxes the printed epsilon is too small in {short}; the corrected one in none."
    return Outcome(tuple(rows), (), (said,))


def _runs(box: Box) -> float:
    return float(many_priors(*box).expected_runs([Fraction(1, 4)] * 4))


def _box_row(case: str, box: Box) -> Row:
    """The printed epsilon of one run, and the true one, by enumeration in both orders."""
    claim, truth = box_epsilon(*box, both=False), many_priors(*box).leakage(1)
    note = "one order only (fugu errata C-theorem-3)"
    return Row((case, _ONCE), "Theorem 3, as printed", None, claim, claim, truth, box_epsilon(*box), truth, note=note)
