"""Options that say how a table is read as sequences; [sequence] of a schema file says the same with the same names."""

from __future__ import annotations

from typing import Annotated

import typer

from fugu.data.layout import Layout
from fugu.errors import UsageError

UserIfAny = Annotated[
    str | None,
    typer.Option("--by", help="The column that names the user of a row; left out, the file is one user's sequence."),
]
Repeats = Annotated[
    str | None,
    typer.Option(
        "--repeats", help="Sequences: rows of one user at one time: refuse, first, last, or rows (all, as in the file)."
    ),
]
Wide = Annotated[
    str | None,
    typer.Option(
        "--columns", help='Sequences: wide tables, a column for each time: "Jul.93:Jun.99", "m*", or "m1,m2,m3".'
    ),
]
End = Annotated[
    str | None,
    typer.Option("--end", help="Sequences: intervals end in this column; they begin at --order."),
]
Every = Annotated[
    str | None,
    typer.Option("--every", help='Sequences: the step of a regular grid: "1h", "30min", "1d", or a number.'),
]
Between = Annotated[
    str | None, typer.Option("--between", help="Sequences: the state where no interval is; left out, that is refused.")
]
Overlaps = Annotated[
    str | None,
    typer.Option("--overlaps", help="Sequences: of intervals that overlap, the one that begins first or last; refuse."),
]
Backwards = Annotated[
    str | None, typer.Option("--backwards", help="Sequences: intervals that end before they begin: refuse or drop.")
]
Inside = Annotated[
    str | None,
    typer.Option("--inside", help="Sequences: whether it is public or secret when states change inside a record."),
]
Gaps = Annotated[
    str | None,
    typer.Option("--gaps", help="Sequences: missing steps are said, or modelled by the chain (with --every)."),
]
Cuts = Annotated[
    str | None,
    typer.Option("--bins", help='States of numbers: cut points "0,200,400", or bins of one width "LOW:HIGH:STEP".'),
]


def needed(
    query: str | None, by: str | None, order: str | None, state: str | None, schema: str | None, header: bool,
    layout: Layout,
) -> tuple[str, str | None, str | None, str]:  # fmt: skip
    """The query, the user, the time and the state; `UsageError` says what is missing for this layout."""
    from fugu.cli.sequence_reading import Columns

    if query is None:
        raise UsageError("sequences need --query QUERY, such as top3 or histogram")
    columns = Columns.of(by, order, state, schema, header, layout)
    return query, columns.by, columns.order, columns.state
