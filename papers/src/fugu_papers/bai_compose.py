"""Theorem 7 against composing first, and the budgets of Algorithms 1 and 2 against the largest that is proved.

The chain is binary, P(0|0) = 0.6 and P(1|1) = 0.8, so long that nothing depends on its length; for two values fugu's
translation is exact (docs/proofs/contraction.md). Composing first adds up the epsilons for each entry and translates
their sum once; with the influence curve that is never worse than Theorem 7 (docs/proofs/composition.md#compose-first),
and no curve is needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fugu.drawing.charts import Figure
from fugu.priors.chain import MarkovChain
from fugu.translation import dp_budget
from fugu.translation.influence import influence
from fugu.translation.translate import translate
from fugu_papers.bai_sequences import own_study
from fugu_papers.charts import lines
from fugu_papers.experiment import SEQUENCES, Outcome, Row, Setting, experiment

P, Q, LENGTH, MOST_B = 0.6, 0.8, 1000, 64
RELEASES: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("1", (1,)), ("1 x 2", (1,) * 2), ("1 x 5", (1,) * 5), ("1 x 20", (1,) * 20), ("0.5 x 10", (0.5,) * 10),
    ("3, 0.5, 0.5", (3, 0.5, 0.5)), ("2, 1, 0.3, 0.1", (2, 1, 0.3, 0.1)),
)  # fmt: skip
BUDGETS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)
Points = Sequence[tuple[int, float]]
BOUNDED = ("with three states or more the true loss is fugu's proved bound, and may be less; so may the limit",)


def binary(p: float = P, q: float = Q, length: int = LENGTH) -> MarkovChain:
    """The chain of Example 6.1."""
    return MarkovChain([[p, 1 - p], [1 - q, q]], length)


def believed(setting: Setting) -> MarkovChain:
    """The chain of the experiment, or of sequences of one's own."""
    return own_study(setting.own).chain if setting.own else binary()


def curve_of(chain: MarkovChain) -> Points:
    """The influence curve as far as it is followed, and the window of all entries."""
    return (*influence(chain, max_b=min(MOST_B, chain.length)).points, (chain.length, 0.0))


def tuned(points: Points, epsilon: float) -> tuple[float, float]:
    """The largest (epsilon - a) / b, and its a: how Theorem 6 is used best."""
    return max(((epsilon - a) / b, a) for b, a in points if a < epsilon)


def least(points: Points, epsilon: float, entries: int) -> float:
    """Algorithms 1 and 2 as printed: the least of the candidates, epsilon / |I| where a is not below epsilon."""
    return min([math.inf, *((epsilon - a) / b if a < epsilon else epsilon / entries for b, a in points)])


@experiment(
    "002-composition",
    title="several releases about one chain: what they cost together",
    measure="epsilons promised for all releases together",
    columns=("releases",),
    chosen=(
        "The chain is not stated: P(0|0) = 0.6, P(1|1) = 0.8, stationary, 1,000 entries, which acts as endless.",
        "Each release is tuned by itself with the best point of the influence curve (Theorem 6).",
        "The true loss and fugu's best are fugu's translation of the sum of the epsilons for each entry.",
        "It is exact for two states: some release with this epsilon for each entry loses that much.",
    ),
    takes=(SEQUENCES,),
)
def composed(setting: Setting) -> Outcome:
    """Every rule on the same releases."""
    chain, rows = believed(setting), list[Row]()
    points = curve_of(chain)
    for name, releases in RELEASES[: 2 if setting.short else None]:
        each = [tuned(points, epsilon) for epsilon in releases]
        spent = math.fsum(entry for entry, _ in each)
        tops = [a for _, a in each]
        truth = translate(chain, spent)
        rules = {
            "added up": math.fsum(releases),
            "Theorem 7": max(tops) + math.fsum(releases) - math.fsum(tops),
            "composed first, by the curve": min(b * spent + a for b, a in points),
        }
        rows += [Row((name,), rule, None, total, total, truth, truth, truth) for rule, total in rules.items()]
    shown = _growing(points, chain, 3 if setting.short else 20)
    return Outcome(tuple(rows), (shown,), BOUNDED if len(chain.states) > 2 else ())


def _growing(points: Points, chain: MarkovChain, most: int) -> Figure:
    """The total over the number of releases of epsilon 1."""
    entry, a = tuned(points, 1.0)
    many = list(range(1, most + 1))
    series = [
        ("added up", many, [float(n) for n in many]),
        ("Theorem 7", many, [n - (n - 1) * a for n in many]),
        ("composed first, by the curve", many, [min(b * n * entry + at for b, at in points) for n in many]),
        ("fugu, exact", many, [translate(chain, n * entry) for n in many]),
    ]
    return lines("Releases of epsilon 1 each: what they cost together", "releases", "epsilon", series)


_MIN = "the least of valid budgets is valid, and wastes the curve (fugu errata C-algorithms-1-2)"


@experiment(
    "002-budget",
    title="one epsilon, and the noise that it asks for on every entry",
    measure="scales of Laplace noise for one count, 1 / epsilon for an entry",
    columns=("epsilon",),
    chosen=(
        "The chain is not stated: P(0|0) = 0.6, P(1|1) = 0.8, stationary, 1,000 entries, which acts as endless.",
        "Algorithms 1 and 2 as printed run over b = 1 .. 64; |I| is the length of the chain.",
        "The true loss is fugu's translation of the budget, which is exact for two states.",
        "The limit is the least scale that is safe whatever is released with this epsilon for each entry.",
    ),
    takes=(SEQUENCES,),
)
def budgets(setting: Setting) -> Outcome:
    """Algorithms 1 and 2 as printed, the best use of the curve, group privacy, and contraction."""
    chain, rows = believed(setting), list[Row]()
    points = curve_of(chain)
    for epsilon in BUDGETS[2:3] if setting.short else BUDGETS:
        best = 1 / dp_budget(chain, epsilon)
        for method, entry, note in (
            ("Algorithms 1 and 2, as printed", least(points[:-1], epsilon, chain.length), _MIN),
            ("Theorem 6, the largest", tuned(points, epsilon)[0], ""),
            ("group privacy", epsilon / chain.length, ""),
        ):
            rows.append(
                Row((f"{epsilon:g}",), method, None, 1 / entry, epsilon, translate(chain, entry), best, best, note=note)
            )
    return Outcome(tuple(rows), remarks=BOUNDED if len(chain.states) > 2 else ())
