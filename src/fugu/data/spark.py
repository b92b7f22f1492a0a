"""Frames of Spark: cells are told apart and counted there; what reaches Python is read as Arrow's columns are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import STRANGE, plain_words
from fugu.errors import BadTable, ColumnNotFound

T = TypeVar("T")

# Which rows a Spark frame has is known only when it runs; two actions may give them in another order, and for some
# frames other ones. So whatever is looked at together is fetched by one action.
#
# Texts travel as their bytes. Spark's own equality of texts may be that of a collation, which joins "a" and "A", and
# its texts need not be UTF-8: bytes that do not decode become U+FFFD, as in a text file, and never an error that quotes
# them. Moments with a zone are instants, and come in UTC, whatever zone the session has.


@final
@dataclass(frozen=True, eq=False, repr=False)
class SparkColumns:
    """A `pyspark.sql.DataFrame`, which is run for what is asked of it."""

    frame: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, as the plan has them: nothing runs."""
        listed = tuple(asked(lambda: self.frame.columns))
        if len(set(listed)) < len(listed):
            raise BadTable("several columns have the same name; rename them")
        return listed

    def fetch(self, names: tuple[str, ...]) -> Mapping[str, object]:
        """These columns, by one action."""
        keyed = self.keyed(names)
        table = settled(asked(keyed.frame.toArrow), keyed.texts)
        return {name: table.column(k) for k, name in enumerate(names)}

    def count(self, names: tuple[str, ...]) -> tuple[Mapping[str, object], NDArray[np.int64]] | None:
        """Of types of which Spark takes two cells for equal only if they are read alike: all zeros are one number, and
        so are all NaN, which are missing."""
        keyed = self.keyed(names)
        if not all(kind in _EQUAL for kind in keyed.kinds):
            return None

        def grouped() -> Any:
            from pyspark.sql import functions

            return keyed.frame.groupBy(*keyed.frame.columns).agg(functions.count(functions.lit(1))).toArrow()

        table = settled(asked(grouped), keyed.texts)
        counts = table.column(len(names)).to_numpy().astype(np.int64)
        return {name: table.column(k) for k, name in enumerate(names)}, counts

    def one_each(self, name: str, absent: Collection[str]) -> bool:
        """By one action, of frames whose plan says that another one gives the same rows."""
        keyed = self.keyed((name,))
        if keyed.kinds[0] not in (*_WHOLE, "StringType"):
            return False

        def told() -> Any:
            from pyspark.sql import functions

            if not self.frame._jdf.queryExecution().analyzed().deterministic():
                return None
            own = keyed.frame[keyed.frame.columns[0]]
            text = own.cast("string")
            plain = ~(text.rlike(STRANGE) | text.isin(plain_words(absent))) if keyed.texts else own.isNotNull()
            rows = functions.count(functions.lit(1)), functions.count_distinct(own), functions.count_if(plain)
            return keyed.frame.agg(*rows).collect()[0]

        found = asked(told)
        return found is not None and found[0] == found[1] == found[2]

    def keyed(self, names: Sequence[str]) -> ByPlace:
        """These columns by their places, since names may differ in case alone or hold dots; texts as their bytes."""
        fields, listed = asked(lambda: list(self.frame.schema)), self.names
        kinds, parts = [], []
        for name in names:
            if name not in listed:
                raise ColumnNotFound(name, listed)
            field = fields[listed.index(name)]
            kinds.append(kind := type(field.dataType).__name__)
            if kind not in (*_EQUAL, *_CARRIED):
                raise BadTable(
                    f"column {name!r} is of Spark's type {field.dataType.simpleString()}, which Arrow does not carry; "
                    "cast it to a text, a number or a date in the frame"
                )
            parts.append(f"k{listed.index(name)}")
        texts = frozenset(k for k, kind in enumerate(kinds) if kind in _TEXTS)

        def selected() -> Any:
            placed = self.frame.toDF(*(f"k{place}" for place in range(len(listed))))
            chosen = [placed[part].cast("binary") if k in texts else placed[part] for k, part in enumerate(parts)]
            return placed.select(*(part.alias(f"c{k}") for k, part in enumerate(chosen)))

        return ByPlace(asked(selected), texts, tuple(kinds))


@final
@dataclass(frozen=True, eq=False)
class ByPlace:
    """Columns c0, c1, ... of a Spark frame; which of them are the bytes of texts; and their kinds."""

    frame: Any
    texts: frozenset[int]
    kinds: tuple[str, ...]


_TEXTS = ("StringType", "CharType", "VarcharType")
_WHOLE = ("ByteType", "ShortType", "IntegerType", "LongType")
_EQUAL = (*_TEXTS, *_WHOLE, "BooleanType", "FloatType", "DoubleType", "DecimalType", "BinaryType", "DateType",
          "TimestampType", "TimestampNTZType")  # fmt: skip
_CARRIED = ("NullType", "DayTimeIntervalType", "TimeType", "ArrayType", "MapType", "StructType")
"""Types that are fetched row by row: Spark does not group by some, and has an equality of its own for others."""


def is_spark(table: object) -> bool:
    """Whether this is a frame of a classic Spark session, by its type: nothing is asked of the table itself."""
    return type(table).__module__ == "pyspark.sql.classic.dataframe"


_FAILED = "the Spark frame could not give the columns ({}); run it alone to see why"


def settled(table: Any, texts: Collection[int]) -> Any:
    """An Arrow table or batch that came from a frame that is `ByPlace`: texts as texts, moments in UTC."""
    import pyarrow as pa

    found = []
    for k, column in enumerate(table.columns):
        if k in texts:
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            whole = pa.chunked_array(map(_decoded, chunks), type=pa.large_string())
            found.append(whole if isinstance(column, pa.ChunkedArray) else whole.combine_chunks())
        elif pa.types.is_timestamp(column.type) and column.type.tz is not None:
            found.append(column.cast(pa.timestamp(column.type.unit, "UTC")))
        else:
            found.append(column)
    return type(table).from_arrays(found, names=table.schema.names)


def _decoded(column: Any) -> Any:
    """The bytes of texts as texts, those that do not decode as a text file's."""
    import pyarrow as pa

    try:
        return column.cast(pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        coded = column.dictionary_encode()
        words = [None if word is None else word.decode("utf-8", "replace") for word in coded.dictionary.to_pylist()]
        return pa.array(words, type=pa.large_string()).take(coded.indices)


def asked(run: Callable[[], T], failed: str = _FAILED) -> T:
    """What Spark gives; what it raises may quote a cell, and is not passed on."""
    try:
        return run()
    except Exception as error:
        raise BadTable(failed.format(type(error).__name__)) from None
