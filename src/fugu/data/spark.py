"""Frames of Spark: cells are told apart and counted there; what reaches Python is read as Arrow's columns are."""

from __future__ import annotations

import marshal
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from fugu._version import __version__
from fugu.data.cells import ITSELF, STRANGE, plain_words
from fugu.errors import BadTable, ColumnNotFound, UsageError

T = TypeVar("T")

# Which rows a Spark frame has is known only when it runs; two actions may give them in another order, and for some
# frames other ones. So whatever is looked at together is fetched by one action, and what several actions look at is
# `fixed` first.
#
# Rows that are only counted stay there: a function of rows that adds up (`tally`) runs where they are, on different
# rows with their numbers, and its whole numbers are added here. A task that runs twice gives the same numbers twice,
# and Spark hands the driver one answer for each partition: retries, races and lost executors change nothing.
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

    def repeated(self, unit: str | None) -> Mapping[str, object]:
        """All columns, in the order of their cells: different rows come here with their numbers, and each is repeated
        here. Nobody is named in them: the column `unit` is empty. Where Spark does not group the cells, as `fetch`."""
        names = tuple(name for name in self.names if name != unit)
        if not names or (found := self.count(names)) is None:
            return self.fetch(self.names)
        import pyarrow as pa
        import pyarrow.compute  # which pyarrow does not bring along

        columns, counts = found
        table = pa.table([columns[name] for name in names], [f"c{k}" for k in range(len(names))])
        places = pa.compute.sort_indices(table, [(name, "ascending") for name in table.column_names]).to_numpy()
        rows = table.take(np.repeat(places, counts[places]))
        given = dict(zip(names, rows.columns, strict=True))
        return {name: given.get(name, pa.nulls(len(rows), pa.string())) for name in self.names}

    def one_each(self, name: str, absent: Collection[str]) -> bool:
        """By one action, of frames whose plan says that another one gives the same rows."""
        keyed = self.keyed((name,))
        if keyed.kinds[0] not in (*_WHOLE, "StringType"):
            return False

        def told() -> Any:
            from pyspark.sql import functions

            if not self.deterministic:
                return None
            own = keyed.frame[keyed.frame.columns[0]]
            text = own.cast("string")
            named = text.rlike(ITSELF) & ~text.rlike(STRANGE)
            small = functions.lower(text)
            plain = named & ~small.isin(plain_words(absent)) if keyed.texts else own.isNotNull()
            rows = functions.count(functions.lit(1)), functions.count_distinct(own), functions.count_if(plain)
            return keyed.frame.agg(*rows).collect()[0]

        found = asked(told)
        return found is not None and found[0] == found[1] == found[2]

    @property
    def deterministic(self) -> bool:
        """Whether the plan draws nothing at random: rand, uuid, numbers of rows."""
        return bool(asked(lambda: self.frame._jdf.queryExecution().analyzed().deterministic()))

    def require_deterministic(self) -> None:
        """Refuse a frame that draws at random: a second look at it, or a second attempt, would find other rows."""
        if not self.deterministic:
            raise UsageError(
                "this frame draws at random (rand, uuid, numbers of rows), so it has other cells every time that it "
                "runs; write it to a table, and release that"
            )

    def fixed(self) -> SparkColumns:
        """The frame with the same rows whenever it runs: itself, where it selects from files; else what one run of it
        gives, which the executors keep as long as it is used. One that draws at random is refused.

        A frame that takes one of several rows (limit, dropDuplicates, first, row_number) may take another one every
        time, and a database may have other ones: two questions would speak of two tables."""
        self.require_deterministic()

        def selects(plan: Any) -> bool:
            kind = plan.getClass().getSimpleName()
            if kind == "LogicalRelation":
                return bool(plan.relation().getClass().getSimpleName() == "HadoopFsRelation")
            below = (seq.apply(k) for seq in (plan.children(), plan.subqueries()) for k in range(seq.size()))
            return kind in _SELECTS and all(map(selects, below))

        if asked(lambda: selects(self.frame._jdf.queryExecution().analyzed())):
            return self
        return SparkColumns(asked(lambda: self.frame.localCheckpoint(eager=True)))

    def rows(self) -> int:
        """How many rows there are."""
        return int(asked(self.frame.count, _NOT_COUNTED))

    def tally(self, names: Sequence[str], fold: Fold) -> tuple[Counter[Any], int]:
        """The sum of what `fold` makes of the rows in these columns, and how many rows there are.

        `fold` gets different rows and how often each occurs; what it makes of the rows of a table is the sum of what it
        makes of those of any parts of it, in whole numbers, and it has a value for every row there can be."""
        keyed = self.keyed(names)
        run = TallyTask(fold, tuple(names), keyed.texts)

        def counted() -> Any:
            from pyspark.sql import functions

            one = functions.lit(1).cast("long")
            if names and all(kind in _EQUAL for kind in keyed.kinds) and _repeats(keyed.frame):
                rows = keyed.frame.groupBy(*keyed.frame.columns).agg(functions.count(one).alias("n"))
            else:
                rows = keyed.frame.select("*", one.alias("n"))
            return rows.mapInArrow(run.__call__, "part int, tally binary, rows long").collect()

        parts = asked(counted, _NOT_COUNTED)
        if len({part["part"] for part in parts}) < len(parts):
            raise BadTable("Spark told twice of one partition, so nothing was counted; this is a fault of Spark")
        found: Counter[Any] = Counter()
        for part in parts:
            found.update(marshal.loads(bytes(part["tally"])))
        return found, sum(part["rows"] for part in parts)

    def different(self, name: str, spell: Spell, itself: str, absent: Collection[str]) -> bool:
        """Whether each row has a name in this column, and each another one, once they are spelled.

        Names of which each is a whole number, or one that this pattern matches and none of the `absent` words, are
        spelled as they stand: they are compared by Spark alone. Without a pattern all of them are spelled."""
        keyed = self.keyed((name,))

        def told(frame: Any, plain: Callable[[Any], Any]) -> tuple[int, int, int]:
            from pyspark.sql import functions

            own = frame[frame.columns[0]]
            counts = functions.count(functions.lit(1)), functions.count_distinct(own), functions.count_if(plain(own))
            rows, distinct, found = frame.agg(*counts).collect()[0]
            return rows, distinct, found

        def as_it_stands(own: Any) -> Any:
            from pyspark.sql import functions

            text = own.cast("string")
            named = text.rlike(rf"(?i)\A(?:{itself})\z") & ~functions.lower(text).isin(plain_words(absent))
            return named if keyed.texts else own.isNotNull()

        if itself and (keyed.texts or keyed.kinds[0] in _WHOLE):
            rows, distinct, plain = asked(lambda: told(keyed.frame, as_it_stands), _NOT_COUNTED)
            if plain == rows:
                return distinct == rows
        spelled = self._spelled(keyed, spell, whole=False)
        rows, distinct, named = asked(lambda: told(spelled, lambda own: own.isNotNull()), _NOT_COUNTED)
        return rows == distinct == named

    def each(self, name: str, spell: Spell) -> Iterator[str]:
        """The names in this column, spelled, a partition after the other."""
        blocks = asked(self._spelled(self.keyed((name,)), spell, whole=True).toLocalIterator, _NOT_COUNTED)
        while (block := asked(lambda: next(blocks, None), _NOT_COUNTED)) is not None:
            yield from marshal.loads(bytes(block[0]))

    def _spelled(self, keyed: ByPlace, spell: Spell, whole: bool) -> Any:
        run = SpellTask(spell, keyed.texts, whole)
        return asked(lambda: keyed.frame.mapInArrow(run.__call__, "name binary"))

    def entries(self, names: Sequence[str], read: ReadEntries) -> Any:
        """A frame of what `read` makes of the rows in these columns: `user` and `entry` as bytes, the `time` as a
        number and as a moment in bytes that are in its order, and `flags`. The executors keep what one run gives, so
        that all that is asked of it is asked of the same rows."""
        self.require_deterministic()
        keyed = self.keyed(names)
        run = EntryTask(read, keyed.texts)
        return asked(lambda: keyed.frame.mapInArrow(run.__call__, _ENTRY).localCheckpoint(eager=True), _NOT_COUNTED)

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


Fold = Callable[[Mapping[str, object], NDArray[np.int64]], Counter[Any]]
"""What is made of different rows and how often each occurs; it adds up over any parts of a table."""
Spell = Callable[[object], list[str | None]]
"""The names in a column, each in one spelling, None where there is none."""
_NOT_COUNTED = (
    "Spark could not count the rows ({}): its log says why. Nothing was drawn. Every executor needs fugu, of the "
    "driver's version"
)
_SELECTS = frozenset(
    ("Project", "Filter", "SubqueryAlias", "View", "LocalRelation", "OneRowRelation", "Range", "Union", "Join", "Sort",
     "Repartition", "RepartitionByExpression", "RebalancePartitions", "ResolvedHint")
)  # fmt: skip
"""Plans whose rows follow from those below them, whatever their order and their partitions."""
_FIRST_ROWS = 10_000
_BLOCK = 2**16


def _repeats(frame: Any) -> bool:
    """Whether equal rows are to be counted by Spark: not where most of the first rows are different."""
    first = frame.limit(_FIRST_ROWS)
    return bool(2 * first.distinct().count() <= _FIRST_ROWS)


@contextmanager
def on_executor(version: str, failed: str) -> Iterator[None]:
    """What an executor does: with the fugu of the driver; and the driver prints what it is told: never a cell."""
    if version != __version__:
        raise RuntimeError(f"the driver runs fugu {version} and this executor {__version__}: install one")
    try:
        yield
    except Exception as error:
        raise RuntimeError(f"{failed} ({type(error).__name__})") from None


def partition() -> int:
    """The number of the partition that an executor works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


@final
@dataclass(frozen=True, repr=False)
class TallyTask:
    """What an executor runs for a partition: the sum of a fold over its rows, of which the last column is a number."""

    fold: Fold
    names: tuple[str, ...]
    texts: frozenset[int]
    version: str = __version__

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """One row that tells the sum."""
        import pyarrow as pa

        found, rows = Counter[Any](), 0
        with on_executor(self.version, "the rows could not be counted"):
            for table in _blocks(batches):
                counts = table.column(len(self.names)).to_numpy().astype(np.int64)
                native = settled(table, self.texts)
                found.update(self.fold({name: native.column(k) for k, name in enumerate(self.names)}, counts))
                rows += int(counts.sum())
        told = (partition(), pa.int32()), (marshal.dumps(dict(found)), pa.binary()), (rows, pa.int64())
        cells = [pa.array([cell], type=kind) for cell, kind in told]
        yield pa.RecordBatch.from_arrays(cells, names=["part", "tally", "rows"])


@final
@dataclass(frozen=True, repr=False)
class SpellTask:
    """What an executor runs for the column that names people: their names, as bytes, or block by block."""

    spell: Spell
    texts: frozenset[int]
    whole: bool
    version: str = __version__

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """One row for each name, null where there is none; or one for each block of names that there are."""
        import pyarrow as pa

        with on_executor(self.version, "the names could not be read"):
            for table in _blocks(batches):
                names = self.spell(settled(table, self.texts).column(0))
                coded = [None if name is None else name.encode("utf-8", "surrogatepass") for name in names]
                cells = [marshal.dumps([name for name in names if name is not None])] if self.whole else coded
                yield pa.RecordBatch.from_arrays([pa.array(cells, pa.binary())], names=["name"])


ReadEntries = Callable[[list[Any]], tuple[list[bytes | None], ...]]
"""Of columns as they stand: for each row its user, its time as a number and as a moment, its entry, and its flags."""
_ENTRY = "user binary, number binary, moment binary, entry binary, flags int"


@final
@dataclass(frozen=True, repr=False)
class EntryTask:
    """What an executor runs where rows become entries of sequences."""

    read: ReadEntries
    texts: frozenset[int]
    version: str = __version__

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """One row for each row."""
        import pyarrow as pa

        with on_executor(self.version, "the entries could not be read"):
            for table in _blocks(batches):
                columns = self.read(list(settled(table, self.texts).columns))
                arrays = [pa.array(cells, pa.binary()) for cells in columns[:-1]]
                arrays.append(pa.array(columns[-1], pa.int32()))
                yield pa.RecordBatch.from_arrays(arrays, names=[part.split()[0] for part in _ENTRY.split(", ")])


def _blocks(batches: Iterable[Any]) -> Iterator[Any]:
    """The rows of several batches as one table, so that different cells are looked at once."""
    import pyarrow as pa

    some: list[Any] = []
    for batch in chain(batches, [None]):
        if some and (batch is None or sum(one.num_rows for one in some) >= _BLOCK):
            yield pa.Table.from_batches(some)
            some = []
        if batch is not None:
            some.append(batch)


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
