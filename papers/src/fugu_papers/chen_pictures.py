"""Paper 004: what statistics look like. Figure 5 (normal or not) and Figure 6 (twenty releases)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.attack import drawn
from fugu.drawing.charts import Figure
from fugu_papers.charts import Series, lines
from fugu_papers.chen_data import NAMES, Question, adult
from fugu_papers.chen_errors import NORMAL, row_of
from fugu_papers.chen_noise import Laws, printed_noise
from fugu_papers.experiment import Outcome, Row, Setting, experiment

Floats = NDArray[np.float64]
SUBSETS = 1000
WOMEN, AGE = 3, 0
_SHARES = ("0.45", "0.55")
_DRAWN = "a variance of 1000 random subsets; within three of its standard deviations, sqrt(2/1000) of itself each"


@experiment(
    "004-figure5",
    title="how statistics of 100 people with a share of 0.45 or 0.55 of high incomes are spread, and normal curves",
    measure="variances of the number of women",
    columns=("share of incomes above 50K",),
    chosen=(
        (
            "Printed are variances of 1000 random subsets; reproduced is the exact variance of independent draws. "
            "Which statistics are drawn is not said: the number of women and the mean age were chosen."
        ),
        "Equal covariances are assumed by every mechanism of the paper that counts on them; these differ by 6 %.",
    ),
)
def figure_5(setting: Setting) -> Outcome:
    """The two printed variances, and histograms of 1000 subsets beside normal densities."""
    question = adult(setting.shelf, "income", 0.1)
    within = 3 * math.sqrt(2 / SUBSETS)
    rows = tuple(
        Row((share,), "variance of the number of women", printed, float(cov[WOMEN, WOMEN]), within=within, note=_DRAWN)
        for share, printed, cov in zip(_SHARES, ("18.31", "18.03"), question.covariances, strict=True)
    )
    count = 200 if setting.short else SUBSETS
    samples = [drawn(question.model, k)(setting.dice(5), count) for k in question.model.counts]
    return Outcome(rows, tuple(_histogram(question, samples, which) for which in (WOMEN, AGE)))


def _histogram(question: Question, samples: list[Floats], which: int) -> Figure:
    """Shares of subsets in each cell, and the normal densities, over one statistic."""
    both = np.concatenate([sample[:, which] for sample in samples])
    edges = np.linspace(both.min() - 1e-9, both.max() + 1e-9, 25)
    if which == WOMEN:
        edges = np.arange(math.floor(both.min()) - 0.5, math.ceil(both.max()) + 1.5, 2.0)
    wide, middles = float(edges[1] - edges[0]), (edges[:-1] + edges[1:]) / 2
    fine = np.linspace(float(edges[0]), float(edges[-1]), 80)
    series: list[Series] = []
    for share, sample, mean, cov in zip(_SHARES, samples, question.means, question.covariances, strict=True):
        seen = np.histogram(sample[:, which], edges)[0] / len(sample) / wide
        spread = float(cov[which, which])
        curve = np.exp(-((fine - mean[which]) ** 2) / (2 * spread)) / math.sqrt(2 * math.pi * spread)
        series += [
            (f"{share}: subsets", middles.tolist(), seen.tolist()),
            (f"{share}: normal", fine.tolist(), curve.tolist()),
        ]
    return lines(f"{NAMES[which]}, of 100 people", NAMES[which], "density", series)


RELEASES = 20


@experiment(
    "004-figure6",
    title="twenty releases of the same five statistics by each mechanism, epsilon 1",
    measure="expected l2 errors of the noise",
    columns=("property", "distance of the shares"),
    loss="epsilon at delta 0.001",
    chosen=(
        "Nothing is printed but the picture: rows are expected errors; the data set and its releases are drawn anew.",
        "Drawn are the number of never married people and the mean age.",
    ),
)
def figure_6(setting: Setting) -> Outcome:
    """Figures 6a (income, shares 0.02 apart) and 6b (work class, 0.04 apart)."""
    rows, shown, rng = [], [], setting.dice(6)
    asked = (("work class", 0.04),) if setting.short else (("income", 0.02), ("work class", 0.04))
    for sensitive, width in asked:
        question = adult(setting.shelf, sensitive, width)
        laws, case = Laws.of(question), (sensitive, f"{width:g}")
        (clean,) = drawn(question.model, question.model.counts[0])(rng, 1)
        rows += [row_of(question, method, case, 1.0, rng) for method in NORMAL]
        error = printed_noise("DP (G)", laws, 1.0, 1e-3).error
        rows.append(Row(case, "DP (G)", None, error, note="it promises nothing of shares"))
        for which in (2, AGE):
            times = list(range(1, RELEASES + 1))
            series: list[Series] = [("without noise", times, [float(clean[which])] * RELEASES)]
            for method in (*NORMAL, "DP (G)"):
                noisy = clean + printed_noise(method, laws, 1.0, 1e-3).draw(rng, RELEASES)
                series.append((method, times, noisy[:, which].tolist()))
            title = f"{NAMES[which]}, hiding {sensitive} {width:g} apart"
            shown.append(lines(title, "release", NAMES[which], series, drawn=True))
    return Outcome(tuple(rows), tuple(shown))
