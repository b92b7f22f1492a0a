"""An experiment of a paper: what it needs, what it printed, and what comes out when it is run again.

Every row says five things of one printed method in one case: the value in print, the value reproduced, the loss that
the method claims and the loss that it really has at that noise, and fugu's best at the same promise. A method whose
true loss is above its claim is shown, and never released."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from fugu.drawing.charts import Figure
from fugu.errors import MissingValues, UsageError
from fugu.laws import LawPair
from fugu.question import Question
from fugu.releasing.column_route import scenario_in
from fugu.releasing.sequence_route import columns_of
from fugu.scenario.scenario import Scenario
from fugu_papers.shelf import Shelf

Verdict = Literal["reproduced", "differs", "not reproducible", "not printed"]
NOT_PROTECTED = "the table was read as it is, and what is shown is not protected: use a public or a reference table"
"""Said of every run on a table of one's own: on screen, in JSON and in the files that are written."""
_NUMBERS = ("reproduced", "claim", "truth", "best", "limit", "error", "within")
"""The numbers of a row."""
_SLACK = 1e-9
"""What counts as equal to a claim: losses are rounded up."""


@dataclass(frozen=True)
class Row:
    """One method of a paper in one case.

    `case`: what the columns of the experiment say; `method`: the name in the paper; `printed`: the value in print, with
    its digits and its unit, None if the paper only draws it; `converted`: the same in the measure of the experiment,
    where that is another one; `reproduced`: the same, computed; None if it cannot be. `claim` and
    `truth`: the loss that is promised, and the one that the method really has at the reproduced noise. `best`: fugu's
    value at the claimed loss; `limit`: what nothing goes below (of an attack: above); `error`: what is compared with
    the limit, if that is not `best` itself. `within`: how far, in relative terms, a value that rests on random draws
    may be from print; `note`: why it differs, or what was chosen."""

    case: tuple[str, ...]
    method: str
    printed: str | None = None
    reproduced: float | None = None
    claim: float | None = None
    truth: float | None = None
    best: float | None = None
    limit: float | None = None
    error: float | None = None
    within: float = 0.0
    note: str = ""
    converted: str | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the printed value came out again, to its last digit or within `within`.

        >>> Row((), "Alg. 1", "0.54", 0.5327).verdict, Row((), "W1", "3.33", 10 / 3).verdict
        ('differs', 'reproduced')
        """
        if self.reproduced is None:
            return "not reproducible"
        stated = self.printed if self.converted is None else self.converted
        if stated is None:
            return "not printed"
        near = 0.5 * 10.0 ** -len(stated.partition(".")[2]) * (1 + 1e-9)
        away = abs(self.reproduced - float(stated))
        return "reproduced" if away <= max(near, self.within * abs(float(stated))) else "differs"

    @property
    def sound(self) -> bool | None:
        """Whether the true loss is within the claim; None if no loss is claimed or known."""
        if self.claim is None or self.truth is None:
            return None
        return self.truth <= self.claim * (1 + _SLACK) + _SLACK**2

    @property
    def ratio(self) -> float | None:
        """The method's value over fugu's best at the same promise; None for a method that does not keep its own.

        >>> Row((), "W1", None, 3.0, 1.0, 0.5, best=1.5).ratio
        2.0
        """
        if self.reproduced is None or self.best is None or self.sound is False:
            return None
        if self.best == 0:
            return 1.0 if self.reproduced == 0 else math.inf
        return self.reproduced / self.best

    @property
    def above(self) -> float | None:
        """fugu's value over the limit; None where no limit above 0 is known."""
        reached = self.best if self.error is None else self.error
        return None if reached is None or not self.limit else reached / self.limit

    def to_dict(self, columns: tuple[str, ...]) -> dict[str, object]:
        """Plain content for JSON; `columns` name the parts of the case."""
        numbers = ("printed", "converted", *_NUMBERS, "ratio")
        return {
            **dict(zip(columns, self.case, strict=True)),
            "method": self.method,
            **{name: getattr(self, name) for name in numbers},
            "verdict": self.verdict,
            "sound": self.sound,
            "note": self.note,
        }

    @classmethod
    def of_dict(cls, told: Mapping[str, Any], columns: tuple[str, ...]) -> Row:
        """The row that `to_dict` told; numbers that JSON has no word for are words there."""
        parts: dict[str, Any] = {name: told[name] for name in ("method", "printed", "converted", "note")}
        parts |= {name: float(told[name]) for name in _NUMBERS if told[name] is not None}
        return cls(tuple(told[column] for column in columns), **parts)


@dataclass(frozen=True)
class Outcome:
    """What a run gave: its rows, and figures like those of the paper. `remarks`: sentences about this run."""

    rows: tuple[Row, ...]
    figures: tuple[Figure, ...] = ()
    remarks: tuple[str, ...] = ()


Kind = Literal["table", "laws", "sequences"]
TABLE: Final = "table"
LAWS: Final = "laws"
SEQUENCES: Final = "sequences"
PAIRS: tuple[Kind, ...] = (TABLE, LAWS)
"""What gives pairs of laws."""
_WORDS: Mapping[Kind, str] = {TABLE: "a table", LAWS: "laws", SEQUENCES: "sequences"}


@dataclass(frozen=True)
class Own:
    """Data of one's own in place of the paper's: a table, with its published column and its secret one; a scenario file
    with laws by hand, whose name ends in .toml; or sequences, with the columns of users (None for one), times and
    states."""

    table: Path
    publish: str = ""
    protect: str = ""
    by: str | None = None
    order: str | None = None
    state: str | None = None

    @property
    def kind(self) -> Kind:
        """What an experiment must take to run on it."""
        return LAWS if self.table.suffix == ".toml" else TABLE if self.state is None else SEQUENCES

    @property
    def name(self) -> str:
        """What it is, in words."""
        return f"{self.publish} given {self.protect} in {self.table.name}" if self.kind == TABLE else self.table.name

    def pairs(self, *kinds: type[Any]) -> tuple[LawPair, ...]:
        """Every pair of laws that must look alike; UsageError where a law is of none of these kinds, or of vectors."""
        if self.kind == LAWS:
            found = scenario_in(str(self.table)).law_pairs()
        else:
            found = Scenario.from_table(self.table, publish=self.publish, protect=self.protect).law_pairs()
        for law in (law for pair in found for law in (pair.p, pair.q)):
            if law.dimension > 1 or not isinstance(law, kinds):
                names = " or ".join(kind.__name__ for kind in kinds)
                raise UsageError(
                    f"{self.table.name!r} has a law that this experiment is not about: it takes {names} laws"
                )
        return found

    def walks(self) -> Mapping[Any, Sequence[Any]]:
        """The sequences by user."""
        told = Question(by=self.by, order=self.order, state=self.state)
        return columns_of(told).timed(str(self.table))[1].sequences


@dataclass(frozen=True)
class Setting:
    """How an experiment runs: where data is looked for, the short form or all of it, and a table of one's own."""

    shelf: Shelf = field(default_factory=Shelf)
    short: bool = False
    own: Own | None = None

    def dice(self, which: int = 0) -> np.random.Generator:
        """A generator that gives the same draws in every run: a reproduction can be repeated. Never for a release."""
        return np.random.Generator(np.random.PCG64(20_000 + which))


@dataclass(frozen=True)
class Experiment:
    """A table, figure or example of a paper.

    `name`: "003-table4"; `title` says what it shows; `measure`: what its values are; `loss`: in what losses are
    given; `columns` name the parts of a case; `chosen`: what the paper leaves open, and what was chosen; `files`: data
    that it cannot do without (`shelf.FILES`); `takes`: what data of one's own it runs on."""

    name: str
    title: str
    measure: str
    columns: tuple[str, ...]
    runs: Callable[[Setting], Outcome] = field(repr=False, compare=False)
    loss: str = "epsilon"
    chosen: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    takes: tuple[Kind, ...] = ()

    def run(self, setting: Setting | None = None) -> Outcome:
        """Run it; UsageError if it is given a table that it has no use for, or data is missing.

        The remarks of a run on a table of one's own begin with `NOT_PROTECTED`."""
        how = Setting() if setting is None else setting
        if how.own is not None and how.own.kind not in self.takes:
            more = f"it takes {' or '.join(self.takes)}" if self.takes else "it needs what the paper describes"
            raise UsageError(f"{self.name} does not run on {_WORDS[how.own.kind]} of one's own: {more}")
        if how.own is None:
            return self.runs(how)
        try:
            with np.errstate(all="ignore"):  # what leaves the doubles is refused below, or seen in the table
                found = self.runs(how)
        except MissingValues as error:
            told = str(error).partition(";")[0]
            raise MissingValues(f"{told}; leave those rows out of the table, or fill the cells in, first") from error
        except np.linalg.LinAlgError as error:
            raise UsageError(
                f"{self.name} cannot be computed from this table: given the secret something does not vary, or follows "
                "from the rest, and what the paper prints divides by its spread"
            ) from error
        except ArithmeticError as error:
            raise UsageError(
                f"{self.name} cannot be computed from this table: its numbers are too large, or too near to 0 or to "
                "each other, for doubles; rescale the column"
            ) from error
        return replace(found, remarks=(NOT_PROTECTED, *found.remarks))

    def on(self, own: Own) -> Experiment:
        """The same, described as what it is on a table of one's own: nothing of what was chosen for the paper's."""
        return replace(self, title=f"{own.name}, in place of the paper's data ({self.title})", chosen=())


_known: dict[str, Experiment] = {}


def experiment(
    name: str,
    *,
    title: str,
    measure: str,
    columns: tuple[str, ...],
    loss: str = "epsilon",
    chosen: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    takes: tuple[Kind, ...] = (),
) -> Callable[[Callable[[Setting], Outcome]], Callable[[Setting], Outcome]]:
    """Register a function as an experiment; the parameters are those of `Experiment`."""

    def register(runs: Callable[[Setting], Outcome]) -> Callable[[Setting], Outcome]:
        if name in _known:
            raise ValueError(f"{name!r} is registered already")
        _known[name] = Experiment(name, title, measure, columns, runs, loss, chosen, files, takes)
        return runs

    return register


def registered() -> Mapping[str, Experiment]:
    """What the files imported so far have registered, by name."""
    return _known
