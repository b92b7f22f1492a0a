"""`Comparison`: all methods side by side, as rows; what people call each method."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

from fugu.data.frame import FrameLike, KindName, PublishedColumn, to_frame
from fugu.documents.certificate import Certificate
from fugu.errors import NotProvable
from fugu.guarantee.asks import exact
from fugu.guarantee.curve import Guarantee
from fugu.numbers.text import number
from fugu.shown import Shown
from fugu.visible import Json, several

if TYPE_CHECKING:
    from fugu.utility.usable import Usable


@dataclass(frozen=True, repr=False)
class Row:
    """One method: the scale it asks for, what that costs, what it truly leaks, and whether it is proved."""

    method: str
    noise: str
    scale: float
    expected_absolute: float
    expected_squared: float
    epsilon: float
    proven: bool
    why: str
    note: str
    released: bool = True
    """Whether this noise can be released; analysis only otherwise."""
    standardised: float | None = None
    """For vectors of statistics with units of their own: the expected error, each in its own unit; chosen by."""

    def __repr__(self) -> str:
        shown = f"scale={self.scale:.9g}, expected_absolute={self.expected_absolute:.9g}, proven={self.proven}"
        return f"Row({self.method!r}, {self.noise!r}, {shown})"


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """All methods side by side, what `compare` returns; prints as a table.

    `rows`: one `Row` per noise and method, from the crudest method to the exact one. `budget`: what they were asked to
    meet. `best`: the row that `calibrate` would take. `beside`: rows that it does not take by itself, for laws with
    known values: "constant" (no value is looked at), "atoms" (noise on the atoms), "remapped" (that, each output moved
    to the likeliest middle) and "limit" (the least error of any mechanism for exactly these laws). `ordinary`: what
    ordinary differential privacy would do, for comparison only. `usable`: how usable the best is, and what would help.
    These three are worked out when first looked at."""

    rows: tuple[Row, ...]
    budget: Guarantee
    more: Callable[[], tuple[Row, ...]] = field(default=tuple, compare=False)
    """What works out the rows beside."""
    plain: Callable[[], tuple[Row, ...]] = field(default=tuple, compare=False)
    """What works out the rows of ordinary differential privacy."""
    basis: str = field(default="", compare=False)
    """For how many rows `usable` is, and whether they were declared, in words."""
    judge: Callable[[], Usable] | None = field(default=None, compare=False)
    """What works out how usable the best row is."""
    chosen: Callable[[], Certificate] | None = field(default=None, compare=False)
    """What works out the certificate of the best row."""

    @cached_property
    def beside(self) -> tuple[Row, ...]:
        """Rows that `calibrate` does not take by itself, their errors for a value of the mean law."""
        return self.more()

    @cached_property
    def ordinary(self) -> tuple[Row, ...]:
        """Rows of ordinary differential privacy at the same budget; never released, nothing to choose."""
        return self.plain()

    @cached_property
    def usable(self) -> Usable:
        """How usable the best row is, on the reference or the beliefs, and what would help; see `fugu.usable`."""
        from fugu.utility.usable import Usable

        if self.judge is None:
            return Usable((), "", why="only rows are at hand: ask fugu.usable for a mechanism")
        try:
            return self.judge()
        except NotProvable as reason:
            return Usable((), "", why=str(reason))

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate of what `calibrate` would take; None where nothing is proved, or only rows are at hand."""
        try:
            return None if self.chosen is None else self.chosen()
        except NotProvable:
            return None

    @property
    def promises(self) -> str:
        """Both promises of the best row, in one sentence: the second is not the same for all rows. "" if not known."""
        return "" if self.certificate is None else self.certificate.promises

    @property
    def quoted(self) -> tuple[str, ...]:
        """The same as the lines to quote."""
        return () if self.certificate is None else self.certificate.quoted()

    @property
    def verdict(self) -> str:
        """Which method is best, and how much is gained, in one sentence."""
        if (best := self._taken) is None:
            return "no method is proved to meet the budget"
        if not best.expected_absolute:
            return f"no noise is needed ({best.method}): the beliefs alone suffice"
        times = next(filter(None, map(self.times_less, self.ordinary)), None)
        gain = "" if times is None else f", {number(times)} times less than with ordinary differential privacy"
        error = number(best.expected_absolute, digits=4)
        noise = _SPELT.get(best.noise, best.noise)
        return f"a value is off by {error} on average (method {best.method}, {noise} noise){gain}"

    def times_less(self, row: Row) -> float | None:
        """How many times less error the best row has than this one; None where either has none.

        `row`: one of `ordinary`, `rows` or `beside`."""
        least = min((r.expected_absolute for r in self._proven), default=0.0)
        return row.expected_absolute / least if least > 0 and 0 < row.expected_absolute < math.inf else None

    @property
    def _taken(self) -> Row | None:
        """The best row, if there is one."""
        return self.best if self._proven else None

    @property
    def _proven(self) -> list[Row]:
        """The rows that can be taken."""
        return [r for r in self.rows if r.proven and r.released]

    @property
    def limit(self) -> float | None:
        """The least expected absolute error of any mechanism for exactly these laws, from above; None if not known."""
        return next((row.expected_absolute for row in self.beside if row.method == LIMIT and row.proven), None)

    @property
    def against(self) -> tuple[Row, ...]:
        """What is held against the limit: the proved rows that can be released, then those beside."""
        return (*self._proven, *self.beside)

    def times_limit(self, row: Row) -> float | None:
        """How many times the error of the limit a row has; None where no limit is known, or it is 0.

        `row`: one of `rows` or `beside`."""
        return row.expected_absolute / self.limit if self.limit else None

    def __repr__(self) -> str:
        return f"Comparison({several(len(self.rows), 'row')} for {self.budget!r})"

    @property
    def best(self) -> Row:
        """The proven row of least expected error among the noises that can be released; `NotProvable` if there is
        none."""
        if not self._proven:
            reasons = dict.fromkeys(f"{r.method} ({r.noise}): {r.why}" for r in self.rows if not r.proven)
            raise NotProvable(nothing_proved(self.budget, "no method is proved", reasons))
        errors = [r.expected_absolute if r.standardised is None else r.standardised for r in self._proven]
        return min(zip(errors, self._proven, strict=True), key=lambda both: (both[0], both[1].method != "exact"))[1]

    def to_json(self) -> Json:
        """Rows as plain data; infinite numbers as null."""
        return {
            "budget": self.budget.to_json(),
            "best": self.best.method,
            "promise": self.promises,
            "quote": list(self.quoted),
            "verdict": self.verdict,
            "rows": [self._plain(r) for r in self.rows],
            "beside": [self._plain(r) for r in self.beside],
            "ordinary": [self._plain(r) for r in self.ordinary],
            "usable": self.usable.to_json(),
            "basis": self.basis,
        }

    def to_frame(self, kind: KindName | None = None) -> FrameLike | dict[str, PublishedColumn]:
        """All rows as a frame; `beside` is true of those never taken by `calibrate` itself, `best` of its choice.

        `kind`: "pandas", "polars", "pyarrow", "duckdb", "dict" (of columns), ...; None for the first of pandas, polars
        and pyarrow that is installed. Numbers that are not known are NaN."""
        every = [*((row, False) for row in self.rows), *((row, True) for row in (*self.beside, *self.ordinary))]
        taken = self._taken
        columns: dict[str, PublishedColumn] = {
            name: [getattr(row, name) for row, _ in every]
            for name in (f.name for f in fields(Row))
            if name != "standardised" or any(row.standardised is not None for row, _ in every)
        }
        limits = [self.times_limit(row) for row, _ in every]
        columns["times_limit"] = [math.nan if x is None else x for x in limits]
        columns["beside"] = [apart for _, apart in every]
        columns["best"] = [row is taken for row, _ in every]
        return to_frame(columns, kind)

    def _plain(self, row: Row) -> Json:
        told = {"name": called(row.method, row.noise), "times_limit": self.times_limit(row)}
        less = {"times_less": self.times_less(row)} if row in self.ordinary else {}
        plain = {k: v for k, v in asdict(row).items() if k != "standardised" or v is not None}
        every = {**plain, **told, **less}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in every.items()}

    def __str__(self) -> str:
        names = ("scale", "E|error|", "E error^2", "true epsilon")
        lines = [
            *self.quoted,
            self.verdict,
            "",
            f"{'method':<24}{'noise':<9}" + "".join(f"{name:>14}" for name in names) + "  proven  note",
        ]
        for r in self.rows:
            numbers = _line(r, shown(r.scale), shown(r.expected_absolute), shown(r.expected_squared), shown(r.epsilon))
            lines.append(
                f"{numbers}{'yes' if r.proven else 'no':<6}  {r.note if r.proven else r.note or r.why}".rstrip()
            )
        if self.ordinary:  # and how many times less noise the best row has
            lines += ["", f"{'for comparison':<24}{'noise':<9}{'scale':>14}{'E|error|':>14}{'true epsilon':>14}  note"]
        for r in self.ordinary:
            lines.append(_line(r, shown(r.scale), shown(r.expected_absolute), shown(r.epsilon)) + self.beside_best(r))
        if not self.beside:
            return "\n".join(lines)
        known = any(r.method == LIMIT for r in self.beside)
        title = "how far from the limit" if known else "with those by name only"
        lines += ["", f"{title:<24}{'noise':<9}{'E|error|':>14}{'x limit' if known else '':>14}  note"]
        for r in self.against:
            note = r.note if r in self.beside and r.proven else r.why if not r.proven else ""
            numbers = _line(r, shown(r.expected_absolute), shown(self.times_limit(r) or math.nan, 4))
            lines.append((numbers + note).rstrip())
        return "\n".join(lines)

    def beside_best(self, row: Row) -> str:
        """What a row of ordinary differential privacy says beside the best one.

        `row`: one of `ordinary`."""
        times = self.times_less(row)
        less = "" if times is None else f"the best above has {times:.3g} times less noise"
        return row.why if not row.proven else less or row.why


def _line(row: Row, *numbers: str) -> str:
    return f"{row.method:<24}{row.noise:<9}" + "".join(f"{x:>14}" for x in numbers) + "  "


def shown(x: float, digits: int = 8) -> str:
    """A number of a table; nothing where there is none."""
    return "" if math.isnan(x) else f"{x:.{digits}g}"


def refused(method: str, noise: str, why: str) -> Row:
    """The row of a method that has nothing to offer here, and why."""
    return Row(method, noise, math.inf, math.inf, math.inf, math.inf, False, why, "")


def nothing_proved(budget: Guarantee, what: str, reasons: Iterable[str]) -> str:
    """Why nothing is proved: reason by reason; of an epsilon of 0, which no finite noise reaches, in one sentence."""
    if exact(budget.epsilon) == 0 and exact(budget.delta) == 0:
        return (
            "epsilon 0 asks that nothing at all is learnt, and here what is published differs with the secret: no "
            "finite noise does that; give an epsilon above 0"
        )
    return f"{what} for {budget!r}: " + "; ".join(dict.fromkeys(reasons))


# What people call each method: the one place for it, beside the names that options take.


CONSTANT, ATOMS, REMAPPED, LIMIT = "constant", "atoms", "remapped", "limit"
AT_95, LOCAL, RECORDS = "at 95 %", "local-dp", "record-dp"
"""Rows beside those of methods."""
BESIDE = {
    ATOMS: ("noise on the known values", "--noise atoms", "biased towards the middle at the ends"),
    REMAPPED: ("noise on the known values, remapped", "--noise atoms --remap absolute", "biased"),
    LIMIT: ("the optimal channel", "--mechanism optimal", "safe for exactly these beliefs only"),
}
"""What each of them is as a lever: in words, as an option, and at which price."""
NEEDS = "most values go out as they are, which needs --allow-no-noise"
"""Said of a row whose release is refused without it."""
BOUNDED = ("laplace", ATOMS)
"""Kinds of noise whose masses have bounded ratios."""
NAMES: dict[str, str] = tomllib.loads(files("fugu.calibration").joinpath("names.toml").read_text(encoding="utf-8"))
_SPELT = {"laplace": "Laplace", "gaussian": "Gaussian", "cauchy": "Cauchy"}


def called(method: str, noise: str = "") -> str:
    """The name for people; the method's own where there is none. `noise`: the noise that it is of.

    >>> called("exact", "laplace"), called("exact"), called("mixed")
    ('exact Laplace noise (best for these beliefs)', 'exact noise (best for these beliefs)', 'mixed')
    """
    return NAMES.get(method, method).format(noise=_SPELT.get(noise, noise)).replace("  ", " ")
