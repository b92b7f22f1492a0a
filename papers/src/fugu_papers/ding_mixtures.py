"""Paper 001, Figures 3 and 4: mixtures of three normal laws, fitted to two data sets or to a table of one's own.

The noise is that of Theorem 2, which is no guarantee (`ding_averages`): it is run and shown, and never released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from fugu.calibration.channel import optimal_channel
from fugu.drawing.charts import Figure
from fugu.errors import NotProvable
from fugu.guarantee import Approx
from fugu.laws import Discrete, LawPair, NormalMixture
from fugu.loss import delta as true_delta
from fugu.loss.search.couplings import coupled_scale
from fugu.noise import Laplace
from fugu.progress import report
from fugu_papers.charts import Series, lines
from fugu_papers.counted import Counts, counted, counts, laws, table_rows, tally
from fugu_papers.ding_averages import CORRECTED, ERRATUM
from fugu_papers.ding_exact import density
from fugu_papers.ding_fit import GAIN, fit
from fugu_papers.ding_rules import gaussian_row, laplace_row, least, theorem_2, without_delta
from fugu_papers.experiment import PAIRS, Outcome, Own, Row, Setting, experiment
from fugu_papers.shelf import Shelf

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
        3: ("adult-education-race", "Black", "Asian-Pac-Islander", "education, level 1 to 16"),
        4: ("hungarian-cholesterol-sex", "female", "male", "cholesterol in mg/dl"),
    }
)
_CHOSEN = (
    "The fits of the paper are not given. Here: three components by expectation maximisation from the best 3 clusters.",
    "It ends once a round adds less than 0.001 to the mean log likelihood, as in scikit-learn.",
    "The paper draws delta 0.5 and 0.3, at which its own priors need no noise at all; 0.05 and 0.001 are added.",
    "A promise for the fit says nothing of the frequencies it was fitted to: their rows hold the same noise to them.",
    "Their limit is the expected absolute error of the best channel; for mixtures none is known.",
    "On whole numbers fugu's noise is whole, and its best is given as the continuous noise that errs as much.",
)


@dataclass(frozen=True)
class Found:
    """How often each value occurs given two secrets, and what these are called."""

    name: str
    first: str
    second: str
    p: Discrete
    q: Discrete

    @property
    def frequencies(self) -> LawPair:
        """The two laws as they were counted."""
        return LawPair(self.p, self.q, f"{self.first} vs {self.second}")

    def fits(self, gain: float = GAIN) -> tuple[NormalMixture, NormalMixture]:
        """Three components for each, fitted to the values as often as they occur."""
        return fitted(self.p, gain), fitted(self.q, gain)


def fitted(law: Discrete, gain: float = GAIN) -> NormalMixture:
    """Three components for the values of a law, each as often as it occurs there."""
    sizes = np.asarray(law.masses.parts, dtype=np.float64)
    return fit(law.values[sizes > 0], sizes[sizes > 0], gain=gain)


def of_paper(setting: Setting, number: int) -> Found:
    """The counts behind Figure 3 or 4."""
    table, first, second, _ = _DATA[number]
    found = counts(setting.shelf, table)
    given = laws(found, {cell: int(cell) for sizes in found.values() for cell in sizes})
    return Found(table, first, second, given[first], given[second])


def of_own(own: Own) -> Iterator[Found]:
    """Every pair of secrets of data of one's own."""
    for pair in own.pairs(Discrete):
        assert isinstance(pair.p, Discrete)
        assert isinstance(pair.q, Discrete)
        first, _, second = pair.label.partition(" vs ")
        yield Found(pair.label, first, second, pair.p, pair.q)


def data_rows(found: Found, deltas: Sequence[float]) -> Iterator[Row]:
    """Theorem 2 for the fits at epsilon 1, Gaussian noise beside it, and the same noise under the frequencies."""
    p, q = found.fits()
    belief = LawPair(p, q)
    for delta in deltas:
        case = (found.name, FIT, f"{delta:g}")
        scale, best = theorem_2(p, q, 1.0, delta), least(belief, 1.0, delta)
        printed = laplace_row(case, "Theorem 2", scale, belief, 1.0, delta, best, without_delta(scale, belief))
        yield printed if printed.sound else replace(printed, note=ERRATUM + printed.note)
        sound = coupled_scale(p, q, 1.0, delta).scale
        yield laplace_row(case, CORRECTED, sound, belief, 1.0, delta, best)
        yield gaussian_row(case, p, q, 1.0, delta)
        known, counted_best = limit_of(found.frequencies, delta), least(found.frequencies, 1.0, delta)
        case = (found.name, FREQUENCIES, f"{delta:g}")
        yield laplace_row(case, "Theorem 2", scale, found.frequencies, 1.0, delta, counted_best, limit=known)


def limit_of(pair: LawPair, delta: float) -> float | None:
    """The least expected absolute error of any channel for these frequencies; None if there are too many values."""
    try:
        return optimal_channel(pair, Approx(1.0, delta)).optimum.lower
    except NotProvable:
        return None


def data(setting: Setting, number: int) -> Outcome:
    """Figure 3 or 4, or the same on a table of one's own."""
    every = list(of_own(setting.own)) if setting.own else [of_paper(setting, number)]
    value = (setting.own.publish or "value") if setting.own else _DATA[number][3]
    rows: list[Row] = []
    for place, found in enumerate(every):
        report(f"Figure {number}", place, len(every))
        rows += data_rows(found, DELTAS[3:] if setting.short else DELTAS)
    return Outcome(tuple(rows), tuple(drawn(found, value) for found in every), tuple(told(found) for found in every))


def told(found: Found) -> str:
    """What no noise at all gives, and how much the printed scale depends on where the fit is ended."""
    silent = true_delta(Laplace(0), LawPair(*found.fits()), 1.0)
    early, late = (theorem_2(*found.fits(gain), 1.0, 0.3) for gain in (GAIN, 1e-10))
    return (
        f"{found.name}: without any noise delta is {silent:.4g} at epsilon 1. The scale of Theorem 2 at delta 0.3 is "
        f"{early:.4g}; with the fit carried on to its end it is {late:.4g}."
    )


def drawn(found: Found, value: str) -> Figure:
    """The densities of the fits and of what is published with the noise of Theorem 2, at delta 0.5 and 0.3."""
    fits = found.fits()
    every = np.concatenate([found.p.values, found.q.values])
    width = 0.15 * float(every.max() - every.min()) or 1.0
    points = np.linspace(float(every.min()) - width, float(every.max()) + width, 201)
    series: list[Series] = []
    for delta in (None, *DELTAS[:2]):
        scale = theorem_2(*fits, 1.0, delta) if delta else 0.0
        how = f"scale {scale:.3g} (delta {delta:g})" if delta else "fitted"
        for name, law in zip((found.first, found.second), fits, strict=True):
            series.append((f"{name}, {how}", points.tolist(), density(law, "laplace", scale, points).tolist()))
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
        takes=PAIRS,
    )
    def figure(setting: Setting) -> Outcome:
        return data(setting, number)


_ROWS_OF = {
    3: "Rows: the training file of Adult, 32,561 of them (the paper says 32,652); 3,124 and 1,039 of the two.",
    4: "Rows: 271 of the 294 patients of the file (the paper says 293): 23 have no cholesterol level.",
}
_register(3, "education in Adult, race kept secret: the noise for mixtures of three normal laws")
_register(4, "cholesterol of Hungarian patients, sex kept secret: the noise for mixtures of three normal laws")
