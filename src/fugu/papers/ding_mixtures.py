"""Paper 001, Figures 3 and 4: mixtures of three normal laws, fitted to two data sets or to a table of one's own.

The noise is that of Theorem 2, which is no guarantee (`ding_averages`): it is run and shown, and never released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from fugu.calibration.channel import optimal_channel
from fugu.drawing.figure import Figure
from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Approx
from fugu.laws import Discrete, LawPair, NormalMixture
from fugu.loss import delta as true_delta
from fugu.loss.search.mixture_coupling import coupled_scale
from fugu.loss.smooth.noised import density
from fugu.mechanism.context import Context
from fugu.noise import Laplace
from fugu.papers.charts import lines
from fugu.papers.counted import Counts, counted, counts, laws, table_rows, tally
from fugu.papers.ding_averages import CORRECTED
from fugu.papers.ding_fit import GAIN, fit
from fugu.papers.ding_rules import gaussian_row, laplace_row, least, pure, theorem_2
from fugu.papers.experiment import Outcome, Own, Row, Setting, experiment
from fugu.papers.shelf import Shelf
from fugu.progress import report
from fugu.scenario.scenario import Scenario

FIT, FREQUENCIES = "mixture of three", "frequencies"
DELTAS = (0.5, 0.3, 0.05, 0.001)
"""The paper draws the first two, at which no noise is needed; the others are ours."""


@counted("adult-education-race", "adult/adult.data.csv.gz")
def _adult(shelf: Shelf) -> Counts:
    rows = table_rows(shelf.text("adult/adult.data.csv.gz"), names=tuple(f"column {k}" for k in range(15)))
    two = {"Black", "Asian-Pac-Islander"}
    return tally((row["column 8"], row["column 4"]) for row in rows if row["column 8"] in two)


@counted("hungarian-cholesterol-sex", "heart/processed.hungarian.data")
def _hungarian(shelf: Shelf) -> Counts:
    """Patients without a cholesterol level are left out."""
    rows = table_rows(shelf.text("heart/processed.hungarian.data"), names=tuple(f"column {k}" for k in range(14)))
    sexes = {"0": "female", "1": "male"}
    return tally((sexes[row["column 1"]], row["column 4"]) for row in rows if row["column 4"] != "?")


_DATA: Mapping[int, tuple[str, str, str, str]] = MappingProxyType(
    {
        3: ("adult-education-race", "Black", "Asian-Pac-Islander", "years of education"),
        4: ("hungarian-cholesterol-sex", "female", "male", "cholesterol in mg/dl"),
    }
)
_CHOSEN = (
    "The fits of the paper are not given. Here: three components by expectation maximisation from the best 3 clusters.",
    "It ends once a round adds less than 0.001 to the mean log likelihood, as in scikit-learn.",
    "The paper draws delta 0.5 and 0.3, at which these priors need no noise at all; 0.05 and 0.001 are added.",
    "A promise for the fit says nothing of the frequencies it was fitted to: their rows hold the same noise to them.",
    "Their limit is the expected absolute error of the best channel; for mixtures none is known.",
)


def of_paper(setting: Setting, number: int) -> tuple[str, LawPair, str]:
    """The frequencies behind Figure 3 or 4: what it is, the pair of laws, and the name of the value."""
    table, first, second, value = _DATA[number]
    found = counts(setting.shelf, table)
    codes = {cell: int(cell) for sizes in found.values() for cell in sizes}
    given = laws(found, codes)
    return table, LawPair(given[first], given[second], f"{first} vs {second}"), value


def own_pairs(own: Own) -> tuple[LawPair, ...]:
    """Every pair of secrets of a table of one's own, by its frequencies."""
    scenario = Scenario.from_table(own.table, publish=own.publish, protect=own.protect)
    if Context.of(scenario).nominal is not None:
        raise UsageError(f"column {own.publish!r} holds categories: a mixture of normal laws needs numbers")
    return scenario.law_pairs()


def fitted(law: Discrete, gain: float = GAIN) -> NormalMixture:
    """Three components for the values of a law, each as often as it occurs there."""
    sizes = np.asarray(law.masses.parts, dtype=np.float64)
    some = sizes > 0
    return fit(law.values[some], sizes[some], gain=gain)


def data_rows(name: str, found: LawPair, deltas: Sequence[float]) -> Iterator[Row]:
    """Theorem 2 for the fits at epsilon 1, Gaussian noise beside it, and the same noise under the frequencies."""
    belief = LawPair(fitted(found.p), fitted(found.q), found.label)
    for delta in deltas:
        case = (name, FIT, f"{delta:g}")
        scale, best = theorem_2(belief.p, belief.q, 1.0, delta), least(belief, 1.0, delta)
        yield laplace_row(case, "Theorem 2", scale, belief, 1.0, delta, best, pure(scale, belief))
        yield corrected_row(case, belief, 1.0, delta, best)
        yield gaussian_row(case, belief, 1.0, delta)
        yield laplace_row(
            (name, FREQUENCIES, f"{delta:g}"), "Theorem 2", scale, found, 1.0, delta, least(found, 1.0, delta),
            limit=limit_of(found, delta),
        )  # fmt: skip


def limit_of(found: LawPair, delta: float) -> float | None:
    """The least expected absolute error of any channel for these frequencies; None if there are too many values."""
    try:
        return float(optimal_channel(found, Approx(1.0, delta)).optimum.lower)
    except NotProvable:
        return None


def corrected_row(case: tuple[str, ...], pair: LawPair, epsilon: float, delta: float, best: float) -> Row:
    """The least of the four sound rules over couplings of components, docs/proofs/mixtures.md."""
    rule = coupled_scale(pair.p, pair.q, epsilon, delta)
    return laplace_row(case, CORRECTED, rule.scale, pair, epsilon, delta, best)


def data(setting: Setting, number: int) -> Outcome:
    """Figure 3 or 4, or the same on a table of one's own."""
    if setting.own:
        value, given = setting.own.publish, own_pairs(setting.own)
        named = [(pair.label, pair) for pair in given]
    else:
        name, pair, value = of_paper(setting, number)
        named = [(name, pair)]
    deltas = DELTAS[1::2] if setting.short else DELTAS
    found: list[Row] = []
    for place, (name, pair) in enumerate(named):
        report(f"Figure {number}", place, len(named))
        found += data_rows(name, pair, deltas)
    return Outcome(tuple(found), tuple(drawn(pair, value) for _, pair in named), tuple(told(pair) for _, pair in named))


def told(found: LawPair) -> str:
    """What no noise at all gives, and how much the printed scale depends on where the fit is ended."""
    belief, to_the_end = (LawPair(fitted(found.p, gain), fitted(found.q, gain)) for gain in (GAIN, 1e-10))
    silent = true_delta(Laplace(0), belief, 1.0)
    early, late = (theorem_2(pair.p, pair.q, 1.0, 0.3) for pair in (belief, to_the_end))
    return (
        f"{found.label}: without any noise delta is {silent:.4g} at epsilon 1. The scale of Theorem 2 at delta 0.3 is "
        f"{early:.4g}; fitted to the end it is {late:.4g}."
    )


def drawn(found: LawPair, value: str) -> Figure:
    """The densities of the fits and of what is published with the noise of Theorem 2, at delta 0.5 and 0.3."""
    fits = fitted(found.p), fitted(found.q)
    names = found.label.split(" vs ") if found.label.count(" vs ") == 1 else ["first secret", "second secret"]
    every = np.concatenate([found.p.values, found.q.values])
    width = 0.15 * float(every.max() - every.min())
    points = np.linspace(float(every.min()) - width, float(every.max()) + width, 201)
    series = [(f"{name}, fitted", points.tolist(), density(law, "laplace", 0.0, points).tolist())
              for name, law in zip(names, fits, strict=True)]  # fmt: skip
    for delta in DELTAS[:2]:
        scale = theorem_2(*fits, 1.0, delta)
        for name, law in zip(names, fits, strict=True):
            seen = density(law, "laplace", scale, points).tolist()
            series.append((f"{name}, scale {scale:.3g} (delta {delta:g})", points.tolist(), seen))
    title = f"{value}: what is believed, and what is seen with the noise of Theorem 2"
    return lines(title, value, "density", series)


def _register(number: int, what: str) -> None:
    """Figures 3 and 4 show the same of two data sets."""

    @experiment(
        f"001-figure{number}",
        title=what,
        measure="scales of Laplace noise, and standard deviations of Gaussian noise",
        columns=("data", "belief", "delta"),
        loss="delta at epsilon 1",
        chosen=(*_CHOSEN, _ROWS_OF[number]),
        table=True,
    )
    def figure(setting: Setting) -> Outcome:
        return data(setting, number)


_ROWS_OF = {
    3: "Rows: the training file of Adult, 32,561 of them (the paper says 32,652); 3,124 and 1,039 of the two.",
    4: "Rows: 271 of the 294 patients of the file (the paper says 293): 23 have no cholesterol level.",
}
_register(3, "education in Adult, race kept secret: the noise for mixtures of three normal laws")
_register(4, "cholesterol of Hungarian patients, sex kept secret: the noise for mixtures of three normal laws")
