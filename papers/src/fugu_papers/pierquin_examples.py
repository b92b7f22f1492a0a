"""Examples 1 to 3 of paper 000: two correlated bits, two salaries, two records of any dependence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from fugu.drawing.charts import Figure
from fugu.laws import Discrete, LawPair, families
from fugu.loss import renyi
from fugu.loss.cost import log_cost
from fugu.loss.shifts import shift_renyi
from fugu.noise import Gaussian, GeneralizedCauchy, Laplace
from fugu.transport.coupling import monotone
from fugu.transport.plan import plan_log_cost
from fugu_papers.charts import lines
from fugu_papers.examples import example_1, example_2, example_3
from fugu_papers.experiment import PAIRS, Outcome, Row, Setting, experiment
from fugu_papers.pierquin_distances import CHOSEN, LOSS, ORDER, approximate_row, closest, farthest, wasserstein_row

RHOS = (-0.6, -0.3, 0.0, 0.1, 0.3, 0.6, 1.0)
RATED = (0.0, 0.3, 1.0)
"""Correlations at which lambda is also read as a rate."""
_HALF = 0.5
_NEGATIVE = "W_2^2 is 1 + rho for rho < 0, not 1 + 3 rho (fugu errata P-example-1)"
_FAR = "W_inf is 2 only for rho > 0, and 1 for -1 < rho <= 0 (fugu errata P-example-1)"
_RATE = "density (1 + (lambda x)^2)^(-1): a larger lambda is less noise, and the bound falls (fugu errata P-lemma-D.1)"
_LOOSE = "sound, with W_2^2 in place of W_2^2 / 2 (fugu errata P-example-1)"


@experiment(
    "000-example1",
    title="the sum of two correlated bits: what Cauchy noise of scale 1 reveals of one of them",
    measure="bounds on the Rényi divergence of order 2",
    loss="Rényi divergences of order 2",
    columns=("rho", "noise"),
    chosen=(
        "Each bit is 1 with probability 1/2. lambda is read as the scale of the noise, 1; rows at rate 2 show why.",
        (
            "In print are formulas, log(1 + 4) and log(1 + 1 + 3 rho): their values, to four digits, stand there. "
            "They are written for every alpha, and hold for alpha = 2."
        ),
        (
            "fugu's best is the exact divergence at the same noise. Theorems 3.3 and 4.5 are run for Gaussian and "
            "Laplace noise of scale 1, too."
        ),
    ),
    takes=PAIRS,
)
def first(setting: Setting) -> Outcome:
    """Bounds at one noise: from W_inf (GWM), from W_2 as printed, and from the best plan (DAGWM), against the truth; of
    laws of one's own the theorems, pair by pair."""
    if setting.own:
        return Outcome(tuple(row for pair in setting.own.pairs(Discrete) for row in theorem_rows(pair.label, [pair])))
    rhos = RHOS[1:5:3] if setting.short else RHOS
    found = [row for rho in rhos for row in (*bit_rows(rho), *(rate_rows(rho) if rho in RATED else ()))]
    grid = [k / 20 for k in range(-20, 21, 5 if setting.short else 1)]
    return Outcome(tuple(found), (_drawn(grid),))


def bit_rows(rho: float) -> Iterator[Row]:
    """The printed bounds for Cauchy noise, and the theorems that they come from for three noises."""
    pairs, cauchy = example_1(_HALF, rho).law_pairs(), GeneralizedCauchy(1)
    truth, case = renyi(cauchy, pairs, ORDER), (f"{rho:g}", "Cauchy")
    far, near = printed_bound(farthest(pairs)), printed_bound(farthest(pairs, 2))
    yield Row(
        case, "GWM, as printed", _four(printed_bound(2)), far, far, truth, truth, note=_LOOSE if rho > 0 else _FAR
    )
    formula = formula_bound(rho)
    note = _LOOSE if rho >= 0 else _NEGATIVE
    yield Row(case, "DAGWM, as printed", _four(formula), near, near, truth, truth, note=note)
    if rho < 0 and formula is not None:
        yield Row(case, "DAGWM, at the printed W_2", None, formula, formula, truth, truth, note=_NEGATIVE)
    yield from theorem_rows(f"{rho:g}", pairs)


def theorem_rows(name: str, pairs: Sequence[LawPair]) -> Iterator[Row]:
    """Theorems 3.3 and 4.5 for three noises of scale 1, against the truth."""
    for noise in (GeneralizedCauchy(1), Gaussian(1), Laplace(1)):
        loss, case = renyi(noise, pairs, ORDER), (name, noise.name.capitalize())
        shift, moved = shift_renyi(noise, farthest(pairs), ORDER), transported(noise, pairs)
        yield Row(case, "GWM, Theorem 3.3", None, shift, shift, loss, loss)
        yield Row(case, "DAGWM, Theorem 4.5", None, moved, moved, loss, loss)


def rate_rows(rho: float) -> Iterator[Row]:
    """The same formulas for Cauchy noise of the rate 2, which is how the paper defines lambda: of scale 1/2."""
    pairs, rate, case = example_1(_HALF, rho).law_pairs(), 2, (f"{rho:g}", "Cauchy, lambda = 2, a rate")
    truth = renyi(GeneralizedCauchy(Fraction(1, rate)), pairs, ORDER)
    for method, distance in (("GWM, as printed", farthest(pairs)), ("DAGWM, as printed", farthest(pairs, 2))):
        bound = printed_bound(distance / rate)
        yield Row(case, method, None, bound, bound, truth, truth, note=_RATE)


def printed_bound(distance: float) -> float:
    """log(1 + (W / lambda)^2), as in the example; `distance` is W / lambda."""
    return math.log1p(distance**2)


def formula_bound(rho: float) -> float | None:
    """The same at the printed W_2^2 = 1 + 3 rho; None where that is negative."""
    return math.log1p(1 + 3 * rho) if rho >= -1 / 3 else None


def transported(noise: Gaussian | Laplace | GeneralizedCauchy, pairs: Sequence[LawPair]) -> float:
    """log E exp((alpha - 1) D_alpha of a shift by X - Y) / (alpha - 1) under the monotone plan: Theorem 4.5, q = 1."""

    def cost(pair: LawPair) -> float:
        (family,) = families([pair])
        plan = monotone(family.points, *family.laws)
        return plan_log_cost(plan, log_cost(noise, float(ORDER), plan.distances)) / (ORDER - 1)

    return max(cost(pair) for pair in pairs)


def _four(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"


def _drawn(rhos: Sequence[float]) -> Figure:
    pairs = [example_1(_HALF, rho).law_pairs() for rho in rhos]
    formulas = [formula_bound(rho) for rho in rhos]
    series = (
        ("GWM, as printed", rhos, [printed_bound(2) for _ in rhos]),
        ("DAGWM, printed formula", rhos, [math.nan if bound is None else bound for bound in formulas]),
        ("DAGWM, best plan", rhos, [transported(GeneralizedCauchy(1), each) for each in pairs]),
        ("the truth", rhos, [renyi(GeneralizedCauchy(1), each, ORDER) for each in pairs]),
    )
    title = "Sum of two bits: below the true line a bound is no guarantee"
    return lines(title, "correlation of the bits", "Rényi divergence of order 2", series)


_SPARE = 0.003
_SALARIES = (
    "W_inf is 49.5, half of 100 - 1: the average of two independent salaries moves by half of what one moves. 98 is "
    "100 - 2, not halved (fugu errata P-example-2)"
)
_CERTAIN = "given that a salary is 100 it is so for certain: no small delta helps (fugu errata P-example-2)"


@experiment(
    "000-example2",
    title="the average of two salaries, one of which may be 100 times the other",
    measure="distances that noise is scaled to, in units of a salary",
    loss=LOSS,
    columns=("pair",),
    chosen=(*CHOSEN, "All pairs of the three values are secrets, as in the paper; single pairs stand beside them."),
)
def second(setting: Setting) -> Outcome:
    """W_inf for all of the mass, and the closeness for all but 0.003 of it."""
    pairs = example_2().law_pairs()
    found = [
        wasserstein_row(("all",), "GWM, W_inf", pairs, farthest(pairs), "98", _SALARIES),
        approximate_row(("all",), "GAWM, delta 0.003", pairs, closest(pairs, _SPARE), _SPARE, "1", _CERTAIN),
        approximate_row(("all",), "GAWM, at the printed distance 1", pairs, 1.0, _SPARE, note=_CERTAIN),
    ]
    for pair in pairs[:1] if setting.short else pairs:
        found.append(wasserstein_row((pair.label,), "GWM, W_inf", [pair], farthest([pair])))
    return Outcome(tuple(found))


RANGES = ((2.0, 0.5, 1.0), (1.0, 1.0, 1.0), (10.0, 0.1, 3.0))
"""r, r_1, r_2: the example leaves them open."""


@experiment(
    "000-example3",
    title="the sum of two records, each within its own range, of any dependence",
    measure="distances that noise is scaled to",
    loss=LOSS,
    columns=("r, r_1, r_2",),
    chosen=(
        *CHOSEN[:1],
        "r, r_1 and r_2 are open in the paper; the printed formulas r_1 + r_2 and 2 r stand under printed, evaluated.",
        "W_inf is that of the two extreme beliefs, all mass at 0 and all at r_1 + r_2: the supremum over all beliefs.",
    ),
)
def third(_: Setting) -> Outcome:
    """GWM against group privacy."""
    found: list[Row] = []
    for r, one, two in RANGES:
        scenario, case = example_3(one, two), (f"{r:g}, {one:g}, {two:g}",)
        ends = LawPair(Discrete([0]), Discrete([one + two]))
        found.append(wasserstein_row(case, "GWM, W_inf", scenario, farthest([ends]), f"{one + two:.1f}"))
        found.append(wasserstein_row(case, "group privacy, 2 r", scenario, 2 * r, f"{2 * r:.1f}"))
    return Outcome(tuple(found))
