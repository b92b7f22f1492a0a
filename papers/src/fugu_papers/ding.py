"""Paper 001, Ding 2024, "Approximation of Pufferfish Privacy for Gaussian Priors": Theorem 1, Figures 1 and 5.

Figure 2 (many users) is in `ding_users`, Theorem 2 in `ding_averages`, Figures 3 and 4 (mixtures) in `ding_mixtures`.
The paper prints two values, both under Figure 1; the rest is drawn, or stated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from fugu.laws import LawPair, Normal
from fugu.loss import epsilon as true_epsilon
from fugu.loss.search.couplings import tau, theorem1_scale
from fugu.noise import Gaussian, Laplace
from fugu.progress import report
from fugu_papers import ding_averages, ding_mixtures, ding_users
from fugu_papers.charts import lines
from fugu_papers.ding_exact import log_density
from fugu_papers.ding_rules import GAUSSIAN, gaussian_row, laplace_row, least, without_delta
from fugu_papers.experiment import LAWS, Outcome, Row, Setting, experiment

OTHER_FILES = (ding_users, ding_averages, ding_mixtures)
"""They register the other experiments of this paper."""

CASES = (
    (0, 1, 1, 1, 1, 1e-5), (0, 1, 1, 2, 1, 0.01), (0, 1, 1, 2, 1, 1e-5), (0, 1, 0, 2, 0.5, 0.01),
    (0, 1, 5, 1.2, 1, 0.01), (0, 1, 5, 1.2, 1, 1e-6), (10, 3, 12, 4, 0.5, 0.1), (0, 5, 1, 5.1, 0.1, 1e-3),
    (0, 0.1, 0, 1, 1, 1e-3), (0, 1, 3, 10, 2, 0.05), (100, 15, 110, 12, 1, 0.3), (0, 1, 0.05, 1.02, 1, 1e-5),
)  # fmt: skip
"""Mean and standard deviation of the two priors, epsilon, delta. The paper has no table of its own: these are ours."""
FORMS = {
    "Theorem 1, tau of (23)": "lambert",
    "Theorem 1": "quantile",
    "(19) before it is doubled": "two-sided",
    "(35)": "average",
}
"""Rules of the paper from the crudest to the finest: the last two are steps of its own proofs, solved for b."""


@experiment(
    "001-theorem1",
    title="two normal priors: the noise of Theorem 1, of finer steps of its proof, and the least there is",
    measure="scales of Laplace noise, and standard deviations of Gaussian noise",
    columns=("prior given s_i", "prior given s_j", "epsilon", "delta"),
    loss="delta at that epsilon",
    chosen=(
        "The paper has no table for this theorem; the twelve cases are ours.",
        "G(mu, sigma) is read with sigma a standard deviation, as the formulas need it.",
        "Condition (16) is stated and not solved; its least standard deviation is found by bisection.",
        "No limit over all channels is known for priors without atoms; it is 0 where no noise is needed.",
    ),
    takes=(LAWS,),
)
def theorem_1(setting: Setting) -> Outcome:
    """Theorem 1 and its tightenings on twelve pairs of normal laws, or on those of one's own at two budgets."""
    cases: Sequence[tuple[float, ...]] = CASES[1:2] if setting.short else CASES
    if setting.own:
        own = [(cast(Normal, pair.p), cast(Normal, pair.q)) for pair in setting.own.pairs(Normal)]
        cases = [(*map(float, (p.mean, p.std, q.mean, q.std)), 1.0, d) for p, q in own for d in (0.01, 1e-5)]
    found: list[Row] = []
    for number, values in enumerate(cases):
        report("Theorem 1", number, len(cases))
        found += theorem_1_rows(*values)
    return Outcome(tuple(found), remarks=(less_variance(found),))


def theorem_1_rows(
    mean_i: float, std_i: float, mean_j: float, std_j: float, epsilon: float, delta: float
) -> Iterator[Row]:
    """One pair of priors: four scales of Laplace noise, and Gaussian noise."""
    p, q = Normal(mean_i, std_i), Normal(mean_j, std_j)
    pair, best = LawPair(p, q), least(LawPair(p, q), epsilon, delta)
    case = (f"N({mean_i:g}, {std_i:g}^2)", f"N({mean_j:g}, {std_j:g}^2)", f"{epsilon:g}", f"{delta:g}")
    for method, form in FORMS.items():
        scale = theorem1_scale(p, q, epsilon, delta, form)
        note = without_delta(scale, pair) if method == "Theorem 1" else ""
        yield laplace_row(case, method, scale, pair, epsilon, delta, best, note)
    yield gaussian_row(case, p, q, epsilon, delta)


def less_variance(rows: list[Row]) -> str:
    """In how many cases that need noise the least Laplace noise has less variance than the least Gaussian noise."""
    least_of = {(row.case, row.method == GAUSSIAN): row.best for row in rows if row.best}
    both = [
        (2 * scale**2, least_of[case, True] or 0.0)
        for (case, gaussian), scale in least_of.items()
        if scale and not gaussian and (case, True) in least_of
    ]
    fewer = sum(laplace < std**2 for laplace, std in both)
    return (
        f"Of {len(both)} cases that need noise, the least Laplace noise has less variance than the least Gaussian "
        f"noise in {fewer}; section VI-B expects the opposite."
    )


EXAMPLE = Normal(0, 1), Normal(1, 1.6)
"""For Figure 1, whose priors are not given: with Laplace noise of scale 4 they come near the value in print."""
_NOISES: dict[str, Laplace | Gaussian] = {
    "Laplace, scale 4 (variance 32)": Laplace(4),
    "Gaussian, variance 8": Gaussian(math.sqrt(8)),
    "Gaussian, variance 32": Gaussian(math.sqrt(32)),
    "Gaussian, variance 64": Gaussian(8),
}
WINDOWS = (5, 20, 80)
_NOT_GIVEN = "the two priors of the figure are not given, so the value cannot be computed"
_WINDOW = (
    "a largest value over a plotted window: with Gaussian noise the log ratio of two different normal priors has no "
    "bound. And G(0, 8) has variance 8 or 64, Laplace noise of scale 4 has 32: they are not equal"
)


@experiment(
    "001-figure1",
    title="two normal priors under Laplace and Gaussian noise: how far their log densities are apart",
    measure="largest |log ratio| of the two densities, over a window |y| <= w or over all y",
    columns=("noise", "window"),
    chosen=(
        "The priors of the figure are not given. After the first two rows they are N(0, 1) and N(1, 1.6^2).",
        "With these, Laplace noise of scale 4 gives 0.2988, near the 0.2992 in print.",
        "G(0, 8) is read as variance 8 and as standard deviation 8; variance 32 is that of the Laplace noise.",
    ),
    takes=(LAWS,),
)
def figure_1(setting: Setting) -> Outcome:
    """What is in print, and what a window hides; of one's own, the first pair of normal laws."""
    pair, found = setting.own.pairs(Normal)[0] if setting.own else LawPair(*EXAMPLE), [
        Row(("Laplace, scale 4 (variance 32)", "not given"), "Fig. 1(b)", "0.2992", None, note=_NOT_GIVEN),
        Row(("Gaussian, G(0, 8)", "not given"), "Fig. 1(c)", "0.0156", None, 0.0156, math.inf,
            note=f"{_NOT_GIVEN}; it is {_WINDOW}"),
    ][: 0 if setting.own else 2]  # fmt: skip
    for name, noise in _NOISES.items():
        truth = true_epsilon(noise, pair)
        for window in WINDOWS:
            seen = max(log_ratio(noise, np.linspace(-window, window, 2001), pair))
            found.append(Row((name, f"{window}"), "largest value seen", None, seen, truth=truth))
    points = np.linspace(-20, 20, 81 if setting.short else 401)
    series = [(name, points.tolist(), log_ratio(noise, points, pair)) for name, noise in _NOISES.items()]
    title = "The largest loss is bounded under Laplace noise, and grows with the window under Gaussian noise"
    return Outcome(tuple(found), (lines(title, "published value y", "|log ratio| of the densities", series),))


def log_ratio(noise: Laplace | Gaussian, points: np.ndarray, pair: LawPair) -> list[float]:
    """|log f_i(y) - log f_j(y)| of the published value at these points."""
    one, other = (
        log_density(law, noise.name, noise.scale, points) for law in (cast(Normal, pair.p), cast(Normal, pair.q))
    )
    found: list[float] = np.abs(one - other).tolist()
    return found


DELTAS = (1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9)
_ZERO = "the least tau >= 0 with that property is 0, as 0 >= 0; tau > 0 is meant (fugu errata G-equation-22)"


@experiment(
    "001-figure5",
    title="how many standard deviations tau are kept, by delta: the normal quantile and its upper bound",
    measure="tau in standard deviations",
    columns=("delta",),
    loss="P(|Z| > tau), which delta must bound",
    chosen=("The figure draws delta from 0.001 to 0.999; it says (22), which with tau > 0 is (23).",),
)
def figure_5(setting: Setting) -> Outcome:
    """tau as printed in (22), by (23), and by the quantile of (20)."""
    found = []
    for delta in DELTAS:
        for method, value in (
            ("(22) as printed", 0.0), ("(23)", tau(delta, "lambert")), ("(20), the quantile", tau(delta)),
        ):  # fmt: skip
            note = "" if value else _ZERO
            found.append(
                Row((f"{delta:g}",), method, None, value, delta, math.erfc(value / math.sqrt(2)), tau(delta), note=note)
            )
    grid = np.linspace(0.001, 0.999, 60 if setting.short else 400).tolist()
    forms = {"tau by (22), (23)": "lambert", "tau by the normal quantile": "quantile"}
    series = [(name, grid, [tau(delta, form) for delta in grid]) for name, form in forms.items()]
    title = "The bound by the Lambert function keeps more standard deviations than the quantile"
    return Outcome(tuple(found), (lines(title, "delta", "tau", series),))
