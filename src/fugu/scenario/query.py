"""`ColumnQuery`: the function from a raw column to published numbers, and whose rows they are."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Schema, Table
from fugu.data.cells import OTHER, Categories, meant, middle, number_text, tallied, text_of
from fugu.data.field import TRUTH, Field
from fugu.data.moments import day_bins, days_text, equal_bins, middles
from fugu.data.private import Private, why_text
from fugu.data.secrets import REFUSE
from fugu.errors import BadTable, CertificateError, ColumnNotFound, MissingValues, RepeatedUnit, UnknownName, UsageError
from fugu.fixed import Fixed
from fugu.laws import Discrete
from fugu.laws.sets.confidence import Sampled
from fugu.numbers.checks import is_list, is_real, is_texts
from fugu.numbers.exact import as_fraction, is_whole, read_number
from fugu.visible import several

_MAX_BINS = 100_000
_DROP = "drop"
_KEYS = ("publish", "edges", "categories", "missing")


@final
@dataclass(frozen=True)
class ColumnQuery:
    """A number as it is; or the middle of its (nearest) bin; or the place of a category in an ordering.

    `missing` is "error", "drop" (the row stays NaN), or the number or category that a missing value becomes.

    >>> ColumnQuery("age", edges=(0.0, 10.0, 20.0), missing=5).apply([3, 19.5, 70, None])
    array([ 5., 15., 15.,  5.])
    >>> ColumnQuery("size", categories=("small", "large")).apply(["large", "small"])
    array([1., 0.])
    """

    publish: str
    edges: tuple[float, ...] | None = None
    categories: tuple[str, ...] | None = None
    missing: str | float = "error"
    typical: float | None = None
    """Of an ordering: the place that a private cell takes which is none of its categories."""
    nominal: bool = False
    """Whether the categories have no order: their places are names, and noise must not be added to them."""

    def __post_init__(self) -> None:
        if self.edges is not None and self.categories is not None:
            raise UsageError("a query has bins of numbers or an ordering of categories, not both")
        if self.edges is not None:
            object.__setattr__(self, "edges", _edges(self.edges))
        if self.categories is not None:
            names = tuple(map(str, self.categories)) if is_texts(self.categories) else ()
            if not names or len(set(names)) < len(names):
                raise UsageError("an ordering of categories must be different pieces of text")
            object.__setattr__(self, "categories", names)
        object.__setattr__(self, "missing", _missing(self.missing, self.categories))
        if self.nominal and self.categories is None:
            raise UsageError("only categories can be without an order")
        if self.typical is not None and self.typical not in range(len(self.categories or ())):
            raise UsageError("typical must be the place of one of the categories")

    @staticmethod
    def fit(
        publish: str, column: Column, bins: object = None, missing: str | float = "error", known: Field | None = None,
        declared: Field | None = None,
    ) -> ColumnQuery:  # fmt: skip
        """The query that `bins` stands for; a number of bins is laid over the range of this (public) column.

        What the schema declares (`known`) counts where `bins` and `missing` say nothing. Categories in no order are
        published as such if the user `declared` which there are: those that a reference shows need not be all."""
        if declared is not None and bins is None and declared.unordered and declared.values is not None:
            values, rules = declared.values, (declared.outside, declared.missing)
            more = {OTHER} - set(values) if OTHER in rules else ()  # where what is outside goes there
            if missing == REFUSE and declared.missing is not None:
                missing = declared.missing
            return ColumnQuery(publish, categories=(*values, *more), missing=missing, nominal=True)
        if known is not None and known.dated:
            bins, missing = _in_days(publish, bins, missing, known)
        if known is not None and missing == REFUSE and known.missing is not None and not known.unordered:
            missing = float(known.missing == "True") if known.values == TRUTH else known.missing
        if known is not None and bins is None and known.ordered and not column.numeric:
            return ColumnQuery(publish, categories=known.values, missing=missing)
        if bins is None:
            return ColumnQuery(publish, missing=missing)
        if is_whole(bins):
            count = int(bins)  # type: ignore[call-overload]
            if not 1 <= count <= _MAX_BINS:
                raise UsageError(f"the number of bins must lie between 1 and {_MAX_BINS}, got {count}")
            numbers = ColumnQuery(publish, missing=missing).apply(column)
            numbers = numbers[~np.isnan(numbers)]
            if numbers.size == 0:
                raise BadTable(f"column {publish!r} has no values over which bins could be laid")
            laid = day_bins if known is not None and known.dated else equal_bins
            edges = laid(float(numbers.min()), float(numbers.max()), count)
            return ColumnQuery(publish, edges, missing=missing)
        items = bins.tolist() if isinstance(bins, np.ndarray) else bins
        if not is_list(items) or not items:
            raise UsageError("bins must be a number of bins, a list of edges, or an ordering of categories")
        if is_texts(items):
            return ColumnQuery(publish, categories=tuple(items), missing=missing)
        return ColumnQuery(publish, edges=tuple(items), missing=missing)

    def apply(self, column: object) -> NDArray[np.float64]:
        """The published numbers of a public column, NaN for rows dropped as missing; a function of each row by itself.

        What a private column could not be refused for is refused here: infinite numbers, categories outside the
        ordering, missing values that nobody gave a meaning."""
        read = Column.of(self.publish, column)
        numbers = self._numbers(read) if self.categories is None else self._places(read)
        gone = np.isnan(numbers)
        if self.missing == REFUSE and gone.any():
            raise MissingValues(
                f"column {self.publish!r} has {several(read.rows(gone), 'missing value')}; say what it means: "
                "missing='drop' leaves them out (which rows is then public), missing=<a number or category> replaces "
                "them"
            )
        if not self.drops:
            numbers[gone] = self._replacement() if gone.any() else 0.0
        return self._binned(numbers)

    def moves(self, column: Column, published: NDArray[np.float64]) -> float:
        """How far, on average, numbers of a public column lie from what is `published` of them; 0 for categories."""
        if self.categories is not None:
            return 0.0
        known = ~np.isnan(published)
        moved = np.abs(replace(self, edges=None).apply(column) - published)[known]
        far, often = tallied(moved, None if column.counts is None else column.counts[known])
        return math.fsum((far * often).tolist()) / int(often.sum()) if known.any() else 0.0

    def of_private(self, private: Private) -> NDArray[np.float64]:
        """The published numbers of a private table, read through the schema that the reference was read through.

        Where `apply` gives a number this is the same one. Where it refuses (a missing cell without a meaning, a
        category outside the ordering) the cell becomes what the schema says, else the median of the reference."""
        column = private.table.exact(self.publish)
        if self.categories is None:
            numbers = private.numbers(self.publish)
        else:
            known = private.schema.fields[self.publish]
            texts = [str(text) for text in known.filled(column).values.tolist()]
            places = Categories(self.categories)
            found = {text: float(places.place(text)) for text in dict.fromkeys(texts)}
            numbers = np.array([found[text] for text in texts], dtype=np.float64)
            numbers[numbers < 0] = 0.0 if self.typical is None else self.typical
        if self.drops:
            numbers[column.missing] = np.nan
        elif self.missing != REFUSE:
            numbers[column.missing] = self._replacement()
        return self._binned(numbers)

    def with_typical(self, published: NDArray[np.float64], counts: NDArray[np.int64] | None = None) -> ColumnQuery:
        """The same query with the median place that the reference publishes, for cells outside an ordering.

        `counts`: how many rows each place stands for."""
        known = ~np.isnan(published)
        if self.categories is None or not known.any():
            return self
        places, often = tallied(published[known], None if counts is None else counts[known])
        return replace(self, typical=float(places[np.argmax(often)] if self.nominal else middle(places, often)))

    def _binned(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.edges is not None:
            inner = np.asarray(self.edges[1:-1])
            middle = middles(self.edges)[np.searchsorted(inner, numbers, "right")]
            numbers = np.where(np.isnan(numbers), np.nan, middle)
        return numbers + 0.0

    @property
    def drops(self) -> bool:
        """Whether rows without a value are left out, so that it is public which they are."""
        return self.missing == _DROP

    def to_json(self) -> dict[str, Any]:
        """The query in JSON types."""
        edges, categories = self.edges, self.categories
        return {
            "publish": self.publish, "edges": None if edges is None else list(edges),
            "categories": None if categories is None else list(categories), "missing": self.missing,
            **({} if self.typical is None else {"typical": self.typical}),
            **({"nominal": True} if self.nominal else {}),
        }  # fmt: skip

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ColumnQuery:
        """The query that `to_json` wrote."""
        keys = set(data) - {"typical", "nominal"} if isinstance(data, Mapping) else set()
        if keys != set(_KEYS) or not isinstance(data["publish"], str):
            raise CertificateError(f"a query has the keys {', '.join(_KEYS)}")
        nominal = data.get("nominal", False) is True
        return ColumnQuery(
            data["publish"], data["edges"], data["categories"], data["missing"], data.get("typical"), nominal
        )

    def _replacement(self) -> float:
        return float(self.categories.index(str(self.missing))) if self.categories else float(self.missing)

    def _numbers(self, column: Column) -> NDArray[np.float64]:
        if not column.numeric:
            raise BadTable(
                f"column {self.publish!r} holds text{why_text(column.each().tolist())}; to publish it as it is give an "
                "ordering of its categories, bins=[...] from low to high, or numeric codes; or declare its categories "
                "in the schema (kind 'category' with values), which publishes them without an order"
            )
        numbers = column.floats()
        infinite = np.isinf(numbers)
        if infinite.any():
            count = column.rows(infinite)
            raise BadTable(f"column {self.publish!r} has {count} infinite values; make them finite or missing")
        return numbers

    def _places(self, column: Column) -> NDArray[np.float64]:
        if column.numeric and not column.missing.all():
            raise BadTable(f"column {self.publish!r} holds numbers; give bins as numbers, not as categories")
        known = Categories(self.categories or ())
        places = np.full(len(column), np.nan)
        present = column.values[~column.missing].tolist()
        found = {text: float(known.place(text)) for text in dict.fromkeys(present)}
        places[~column.missing] = [found[text] for text in present]
        outside = column.rows(places < 0)
        if outside:
            raise BadTable(
                f"column {self.publish!r} has {outside} rows with a category outside the ordering; "
                "name all categories in bins=[...]"
            )
        return places


def _in_days(publish: str, bins: object, missing: str | float, known: Field) -> tuple[object, str | float]:
    """Edges and the rule for missing cells of a column of dates, as days since its origin."""
    if is_list(bins) and bins and is_texts(bins):
        bins = [known.day(edge) for edge in bins]
        if not all(map(math.isfinite, bins)):
            raise UsageError(f"column {publish!r} holds dates, so the edges of its bins are dates, such as 2020-01-31")
    if isinstance(missing, str) and missing not in (REFUSE, _DROP):
        missing = known.day(missing)
        if math.isnan(missing):
            raise UsageError(f"column {publish!r} holds dates, so missing is 'error', 'drop' or a date like 2020-01-31")
    return bins, missing


def _edges(edges: Sequence[object]) -> tuple[float, ...]:
    if len(edges) < 2 or not all(map(is_real, edges)):
        raise UsageError("edges of bins must be at least two numbers (or, for categories, all of them text)")
    numbers = tuple(float(e) + 0.0 for e in edges)  # type: ignore[arg-type]
    if not all(math.isfinite(e) for e in numbers) or any(a >= b for a, b in pairwise(numbers)):
        raise UsageError("edges of bins must be finite and strictly increasing")
    return numbers


def _missing(missing: object, categories: tuple[str, ...] | None) -> str | float:
    if isinstance(missing, str):
        known = (REFUSE, _DROP, *(categories or ()))
        if missing not in known:
            raise UnknownName("way to treat missing values", missing, known)
        return missing
    if categories is not None:
        raise UsageError("missing must be 'error', 'drop' or one of the categories")
    if not is_real(missing) or not math.isfinite(missing):
        raise UsageError("missing must be 'error', 'drop' or a finite number")
    return float(missing)


# One row a person, in a private table too.


def require_one_row_each(table: Table, unit: str | None) -> tuple[str, ...] | None:
    """Refuse a table in which the column that names the person is missing or repeats; never says where or how often.
    Who is in it, each in one spelling; None where no column names the person."""
    if unit is None:
        return None
    column = table.exact(unit)
    found = in_one_spelling(column.values.tolist())
    if column.missing.any() or len(set(found)) < len(found):
        raise repeated(unit)
    return found


def repeated(unit: str) -> RepeatedUnit:
    """The refusal of a table in which a person is missing, or in several rows."""
    return RepeatedUnit(
        f"in the table to release, column {unit!r} names the unit but is missing or repeated in some rows; keep one "
        "row per unit, or one summary value (such as the mean) per unit"
    )


def persons_in(whole: Table, schema: Schema, unit: str | None, different: bool = False) -> tuple[str, ...] | None:
    """The same for a table as it stands: the unit is read as the schema says, else as text. `different`: the engine has
    proved that each row has a name of its own."""
    if unit is None:
        return None
    if unit not in whole.columns:
        raise ColumnNotFound(unit, whole.columns)
    if different and (numbers := whole.raw(unit).array) is not None and numbers.dtype.kind in "iu":
        return tuple(map(str, numbers.tolist()))
    known = schema if unit in schema.fields else schema.with_field(unit, Field("identifier"))
    return require_one_row_each(Table({unit: known.column(unit, whole.raw(unit))}), unit)


ITSELF = r"(?!(?:true|false)$)[a-z][!-~]*|0|[1-9]\d{0,14}"
_ITSELF = re.compile(ITSELF, re.ASCII | re.IGNORECASE)
_ALL_THEMSELVES = re.compile(rf"(?:(?:{ITSELF})\n)*+", re.ASCII | re.IGNORECASE | re.MULTILINE)
"""Names that are spelled in one way: of letters and signs that begin with a letter, and numbers of up to 15 digits."""


def in_one_spelling(names: Sequence[Any]) -> tuple[str, ...]:
    """Each name in one spelling: see `person_of`."""
    if set(map(type, names)) == {str} and _ALL_THEMSELVES.fullmatch("\n".join(names) + "\n"):
        return tuple(names)
    return tuple(map(person_of, names))


def person_of(name: object) -> str:
    """One name in one spelling: "1", "1.0" and "01" may be one person, and so may two spellings of one letter."""
    if type(name) is str and _ITSELF.fullmatch(name):
        return name
    number = meant(name)
    if not math.isnan(number) and abs(number) < 1e15:
        return number_text(number)
    return unicodedata.normalize("NFC", text_of(name))


# What a column may publish, as it was declared before anything was counted.
#
# A confidence set speaks of every value that may come, seen or not. Values, ranges and edges that were read off the
# reference make no such statement: boxes around bins laid on the reference covered 62.5 % where 95 % was said.


_MOST_VALUES = 100_000


@final
@dataclass(frozen=True, eq=False)
class Declared:
    """Every value that may be published, in order; whether they are in order of size; and what was declared."""

    values: NDArray[np.float64]
    ordered: bool
    words: str

    def places(self, published: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each published number moved to the nearest declared value, as a release does; NaN stays."""
        from fugu.laws.components import nearest

        known = ~np.isnan(published)
        moved = published.copy()
        moved[known] = nearest(self.values, published[known])
        return moved


def declared_bins(bins: Any, publish: str, schema: Schema | None) -> Any:
    """Bins as edges that the reference has no part in: a number of bins is laid over the declared bounds."""
    if not is_whole(bins):
        return bins
    known = None if schema is None else schema.fields.get(publish)
    if known is None or known.bounds is None:
        raise UsageError(
            f"with confidence, {bins} bins are laid over the bounds that a schema declares for column {publish!r}, not "
            "over the reference: bins that follow the counts break the confidence. Declare bounds, or give the edges"
        )
    if bins < 1:
        raise UsageError(f"the number of bins must be at least 1, got {bins}")
    return list((day_bins if known.dated else equal_bins)(*known.bounds, int(bins)))


def declared_values(query: ColumnQuery, schema: Schema | None) -> Declared:
    """Every value that the query may publish; UsageError with what to declare where that is not known."""
    known = None if schema is None else schema.fields.get(query.publish)
    if query.edges is not None:
        return Declared(middles(query.edges), ordered=True, words=f"{len(query.edges) - 1} bins by their edges")
    if query.categories is not None:
        count = len(query.categories)
        what = f"{count} categories without an order" if query.nominal else f"an ordering of {count} categories"
        return Declared(np.arange(float(count)), ordered=not query.nominal, words=what)
    if known is not None and known.ordered and known.values == TRUTH:
        return Declared(np.array([0.0, 1.0]), ordered=True, words="the truth values 0 and 1")
    if known is None or not known.numeric or known.bounds is None or known.step is None:
        raise UsageError(
            f"confidence needs to know every value that column {query.publish!r} may publish, and nothing declares it: "
            "a value that nobody has seen may come, however many rows were seen. Give bins by their edges, or a schema "
            'with {"kind": "number", "bounds": (low, high), "step": step}'
        )
    low, high = (as_fraction(x) for x in known.bounds)
    count = int((high - low) / known.step) + 1
    if count > _MOST_VALUES:
        raise UsageError(
            f"column {query.publish!r} has {count} declared values, more than {_MOST_VALUES}: declare a larger step, "
            "or give bins by their edges"
        )
    words = f"numbers from {known.bounds[0]:g} to {known.bounds[1]:g} in steps of {known.step}"
    if known.origin is not None:
        first, last = (days_text(known.origin, end) for end in known.bounds)
        words = f"dates from {first} to {last} in steps of {known.step} days"
    values = np.array([float(low + k * known.step) for k in range(count)])  # all that reading by the field may give
    return Declared(values, ordered=True, words=words)


# Confidence as a user asks for it: when it means something, and what is counted for it.


def level_of(confidence: object, prior: str, public_prior: bool, shift: Fraction) -> Fraction | None:
    """The confidence as an exact number in (0, 1); None without one. Refused where it would mean nothing."""
    if confidence is None:
        if shift:
            raise UsageError("shift widens sets of beliefs, and without confidence there are none; give both, or none")
        return None
    if isinstance(confidence, str):  # of a recipe
        confidence = read_number(confidence)
    if not is_real(confidence) or not 0 < confidence < 1:
        raise UsageError(f"confidence must lie strictly between 0 and 1, for instance 0.95, got {confidence!r}")
    if prior != "empirical":
        raise UsageError(f"confidence is for the counts of a reference, prior='empirical'; {prior!r} fits a shape")
    if public_prior:
        raise UsageError(
            "confidence and public_prior exclude each other: a row that is protected is then in the counts, so the "
            "statement about a fresh draw of the reference does not apply, and the counts would be published. Give a "
            "reference that is independent of the table"
        )
    return as_fraction(confidence)


def moved_by(shift: object) -> Fraction:
    """The declared total variation between two populations, as an exact number in [0, 1)."""
    told = read_number(shift) if isinstance(shift, str) else shift
    if not is_real(told) or not 0 <= told < 1:
        raise UsageError(
            "shift is how far the protected rows may be from the reference's population, in total variation: a number "
            f"of at least 0 and below 1, got {shift!r}"
        )
    return as_fraction(told)


def sampled_of_counts(
    level: Fraction, laws: Mapping[str, Discrete], skipped: Sequence[tuple[str, str]], declared: Declared,
    disjoint: bool, shift: Fraction,
) -> Sampled:  # fmt: skip
    """The counts of every secret on the declared values; a secret without rows is refused: it cannot be ruled out."""
    if skipped:
        raise BadTable(
            f"secret {skipped[0][0]!r} has no rows in the reference, so at no confidence is anything known of its law: "
            "add rows, join it with another secret, or leave confidence out"
        )
    counts = {secret: tuple(int(c) for c in law.masses.parts.tolist()) for secret, law in laws.items()}
    values = tuple(declared.values.tolist())
    return Sampled(level, values, Fixed(counts), declared.ordered, disjoint, shift, declared.words)
