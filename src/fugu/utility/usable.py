"""`Usable`: whether what is published can be used, in figures and in words, and for how many rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

from fugu.documents.certificate import Certificate
from fugu.documents.reading import reading
from fugu.documents.sentences import holds_private_numbers
from fugu.errors import BadTable, NotProvable, UsageError
from fugu.numbers.checks import is_count
from fugu.utility.figures import COLUMN, GRADES, UNKNOWN, Figures, Lines, short
from fugu.utility.reading import read
from fugu.visible import Json, finite, several

OWN_TABLE = (
    "left out, since the beliefs were fitted on the private table itself: these figures would be exact numbers of it; "
    "beliefs from a reference avoid this"
)
_FEW, _SHOWN = 3, 40
"""So many groups are shown with all their figures; so many of more, with a line each."""
HELPS = 0.98
"""A lever that leaves more than this share of the error does not help."""


@final
@dataclass(frozen=True)
class Lever:
    """Something that could be asked otherwise, with its measured effect.

    `what`: in words; `option`: how the command line says it; `error`: the expected absolute error of a row then, what
    the change itself costs (such as coarser bins) included; `times`: how many times smaller it is than now; `price`:
    what it gives away, in words."""

    what: str
    option: str
    error: float
    times: float
    price: str = ""

    @property
    def told(self) -> str:
        """One sentence."""
        option = f" ({self.option})" if self.option else ""
        price = f"; {self.price}" if self.price else ""
        if self.error == 0:
            return f"{self.what}{option}: no error at all{price}"
        return f"{self.what}{option}: average error {short(self.error)}, {short(self.times)} times less{price}"


@final
@dataclass(frozen=True, repr=False)
class Usable:
    """How usable a release is: worked out on the reference or on the beliefs, never on the private table.

    `figures`: one entry for a column, one for each group of a statistic, one for each number of a vector; empty where
    nothing is known, and then `why` says why. `basis`: what they were worked out on. `levers`: what would help, the
    most effective first, each measured; `untried`: what was not tried, and why. `ordinary`: how many times the average
    error ordinary differential privacy has at the same epsilon, None where that is not known. Prints as a block."""

    figures: tuple[Figures, ...]
    basis: str
    levers: tuple[Lever, ...] = ()
    untried: tuple[str, ...] = ()
    ordinary: float | None = None
    why: str = ""

    @staticmethod
    def of(certificate: Certificate, rows: int | None = None) -> Usable:
        """Figures and verdict of one certificate, without levers; `rows` as published, if that is known.

        Where the beliefs are the private table's own counts, nothing is shown: it would be exact numbers of it."""
        if any(holds_private_numbers(part.assumptions) for part in (certificate, *certificate.parts)):
            return Usable((), "", why=OWN_TABLE)
        with reading():
            try:
                figures, basis = read(certificate, rows)
            except NotProvable as reason:
                return Usable((), "", why=str(reason))
        (first, *others), epsilon, ordinary = figures, float(certificate.budget.epsilon), None
        if not others and first.kind == COLUMN and not certificate.budget.renyi and 0 < epsilon < math.inf:
            width = first.high - first.low  # local differential privacy of a bounded column: range / epsilon
            ordinary = width / epsilon / first.error if first.error > 0 and math.isfinite(width) else None
        return Usable(figures, basis, ordinary=ordinary)

    @property
    def worst(self) -> Figures | None:
        """The figures that the verdict is about: those of the worst grade."""
        return max(self.figures, key=lambda each: GRADES.index(each.grade), default=None)

    @property
    def grade(self) -> str:
        """One of `fugu.utility.figures.GRADES`, from "exact" to "mostly noise" and "not known"."""
        return UNKNOWN if self.worst is None else self.worst.grade

    @property
    def verdict(self) -> str:
        """One sentence; of several groups or numbers, about the worst."""
        if self.worst is None:
            return f"not known: {self.why}"
        if len(self.figures) == 1:
            return self.worst.verdict
        alike = sum(each.grade == self.worst.grade for each in self.figures)
        named = self.worst.name or "all"
        return f"{self.worst.verdict} ({named} is the worst; {alike} of {len(self.figures)} are like it)"

    def with_levers(self, levers: tuple[Lever, ...], untried: tuple[str, ...]) -> Usable:
        """The same with what would help, the most effective first; what does not help is left out."""
        best = sorted((x for x in levers if x.times * HELPS >= 1), key=lambda x: -x.times)
        return replace(self, levers=tuple(best), untried=untried)

    def lines(self) -> Lines:
        """The verdict, every figure of a few groups or numbers as a label and a text, of many one line each, and what
        would help."""
        listed, several = [("verdict", self.verdict)], len(self.figures) > 1
        if len(self.figures) <= _FEW:
            listed += [
                (f"{each.name}: {label}" if several and each.name and each.name != label else label, text)
                for each in self.figures
                for label, text in each.lines
            ]
        else:
            listed += [(each.name or "all", each.verdict) for each in self.figures[:_SHOWN]]
            listed += [("", f"and {rest} more")] if (rest := len(self.figures) - _SHOWN) > 0 else []
        if self.ordinary is not None:
            text = f"would have {short(self.ordinary)} times the average error, and use no beliefs"
            listed.append(("ordinary differential privacy", text))
        listed += [("would help" if k == 0 else "", lever.told) for k, lever in enumerate(self.levers)]
        if self.untried:
            listed.append(("not tried", "; ".join(self.untried)))
        return tuple(listed)

    def to_json(self) -> Json:
        """Plain data; infinite numbers as null."""
        told: Json = finite({
            "verdict": self.verdict,
            "grade": self.grade,
            "basis": self.basis,
            "figures": [each.to_json() for each in self.figures],
            "ordinary_times": self.ordinary,
            "levers": [{"what": x.what, "option": x.option, "error": x.error, "times": x.times, "price": x.price}
                       for x in self.levers],
            "untried": list(self.untried),
        })  # fmt: skip
        return told

    def __repr__(self) -> str:
        return f"Usable({self.grade!r}, {several(len(self.figures), 'figure')}, {several(len(self.levers), 'lever')})"

    def __str__(self) -> str:
        head = f"how usable it is, on {self.basis}" if self.basis else "how usable it is"
        width = max((len(label) for label, _ in self.lines()), default=0)
        return "\n".join([head, *(f"  {label:<{width}}  {text}" for label, text in self.lines())])


GROUPS = "groups and their sizes are the reference's, scaled to that: estimates"


@final
@dataclass(frozen=True)
class RowsFor:
    """For how many rows a rehearsal is. `declared`: the public number of rows of the private table, None if it was not
    said; `reference`: the reference's, which then stands in for it, and is said to. `own`: the table is its own
    reference and counts as public.

    >>> print(RowsFor(None, 303))
    for 303 rows, the reference's; give --rows (rows=) for a table with another number
    >>> RowsFor(1000, 303).number, str(RowsFor(1000, 303))
    (1000, 'for 1,000 rows, as declared')
    """

    declared: int | None
    reference: int
    own: bool = False

    def __post_init__(self) -> None:
        if self.declared is not None and not is_count(self.declared):
            raise UsageError(f"rows is the public number of rows of the private table, got {self.declared!r}")

    @property
    def number(self) -> int:
        """The number that counts."""
        return self.reference if self.declared is None else self.declared

    def require(self, rows: int) -> None:
        """Refuse an opened table that has another number of rows than declared; both numbers are public."""
        if self.declared not in (None, rows):
            raise BadTable(
                f"the table has {rows} rows, and {self.declared} were declared (--rows, rows=); the number of rows is "
                "public, and what was worked out before is for exactly that many"
            )

    def __str__(self) -> str:
        if self.own:
            return f"for {self.reference:,} rows, those of the table, which counts as public"
        if self.declared is None:
            return f"for {self.number:,} rows, the reference's; give --rows (rows=) for a table with another number"
        return f"for {self.number:,} rows, as declared"
