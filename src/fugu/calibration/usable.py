"""`usable`: whether what a mechanism publishes can be used, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from fugu.calibration.beside import beside
from fugu.calibration.comparison import Row
from fugu.calibration.driver import best
from fugu.calibration.levers import Levers, pairs_in
from fugu.calibration.offer import Calibrated, Wishes
from fugu.documents.certificate import Certificate
from fugu.errors import UsageError
from fugu.laws.pair import PairsLike, as_pairs
from fugu.mechanism.mechanism import Mechanism
from fugu.scenario.scenario import Scenario
from fugu.utility.figures import Column
from fugu.utility.numbers import Statistic
from fugu.utility.reading import Figures
from fugu.utility.usable import Usable


class Published(Protocol):
    """One released number: its group, its cell, its value."""

    @property
    def group(self) -> str: ...

    @property
    def cell(self) -> str: ...

    @property
    def value(self) -> float: ...


@runtime_checkable
class Answered(Protocol):
    """What `fugu.answer` returns: mechanisms by group, and the numbers that went out."""

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]: ...

    @property
    def cells(self) -> Sequence[Published]: ...


def usable(
    released: Mechanism | Certificate | Answered,
    scenario: PairsLike | None = None,
    *,
    rows: int | None = None,
    levers: bool = True,
) -> Usable:
    """How usable a release is, in figures and in words, and what would help; never looks at a private table.

    Parameters:

    - `released`: a mechanism, its certificate (an old one too), or what `fugu.answer` returned.
    - `scenario`: the scenario or pairs that the mechanism was calibrated on, for levers; without it the laws of the
      certificate are taken, where they are counts.
    - `rows`: how many rows are published; None takes those of the reference, else 1,000.
    - `levers`: False leaves out what would help, which takes up to a dozen calibrations.

    Returns a `Usable`, which prints as a block. Raises `UsageError` for other arguments.

    >>> import fugu
    >>> pair = fugu.LawPair(fugu.Discrete([0, 1, 2, 3], [4, 3, 2, 1]), fugu.Discrete([0, 1, 2, 3], [1, 2, 3, 4]))
    >>> usable(fugu.calibrate(pair, fugu.Pure(0.5))).grade
    'mostly noise'
    """
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise UsageError(f"rows must be a whole number of at least 1, got {rows!r}")
    if isinstance(released, Mechanism | Certificate):
        certificate = released if isinstance(released, Certificate) else released.certificate
        found = Usable.of(certificate, rows)
        return _with_levers(found, released, certificate, scenario, rows) if levers else found
    if isinstance(released, Answered):
        return _answered(released)
    raise UsageError(f"usable takes a mechanism, a certificate or an answer, got {type(released).__name__}")


def _with_levers(
    found: Usable, released: Mechanism | Certificate, certificate: Certificate, scenario: PairsLike | None,
    rows: int | None, known: Callable[[], Sequence[Row]] | None = None,
) -> Usable:  # fmt: skip
    """The same with levers, where the laws are known."""
    if not found.figures or not isinstance(found.figures[0], Column):
        return found
    pairs = tuple(as_pairs(scenario)) if scenario is not None else pairs_in(certificate.laws, certificate.lattice)
    if not pairs or certificate.parts:
        return replace(found, untried=("levers: the laws are not at hand; give the scenario",))
    made = released if isinstance(released, Calibrated) else best(pairs, certificate.budget, Wishes())
    others = known or (lambda: beside(list(pairs), certificate.budget, Wishes()))
    column = certificate.body.get("query") is not None
    measured = Levers(pairs, certificate.budget, made, rows or found.figures[0].rows, others, column).measured()
    return found.with_levers(*measured)


def _answered(answer: Answered) -> Usable:
    """Of an answer: every group beside the number that went out, which is public now."""
    values = {cell.group: cell.value for cell in answer.cells if not cell.cell}
    figures: list[Figures] = []
    read = Usable((), "", why="no group was published")
    for group, mechanism in answer.mechanisms.items():
        read = Usable.of(mechanism.certificate)
        for each in read.figures:
            if isinstance(each, Statistic) and group in values:
                figures.append(replace(each, value=values[group]))
            else:
                figures.append(each)
    return Usable(tuple(figures), read.basis, why=read.why)


def judged(
    source: PairsLike, make: Callable[[], Calibrated], known: Callable[[], Sequence[Row]] | None = None,
    rows: int | None = None,
) -> Usable:  # fmt: skip
    """The same of the mechanism that `calibrate` would take, with what a comparison knows already."""
    made = make()
    if rows is None and isinstance(source, Scenario):
        rows = source.report.used
    found = Usable.of(made.certificate, rows)
    return _with_levers(found, made, made.certificate, source, rows, known)
