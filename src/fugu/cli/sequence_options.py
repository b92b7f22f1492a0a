"""Options that say how a table is read as sequences; [sequence] of a schema file says the same with the same names."""

from __future__ import annotations

from typing import Annotated

import typer

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
Gaps = Annotated[
    str | None,
    typer.Option("--gaps", help="Sequences: missing steps are said, or modelled by the chain (with --every)."),
]
EDGES = 'Discretise: "20", edges "0,10,20", or an ordering "low,mid,high"; sequences: cut points, "LOW:HIGH:STEP".'
"""What `--bins` says in commands that take sequences and other tables."""
Cuts = Annotated[
    str | None,
    typer.Option("--bins", help='States of numbers: cut points "0,200,400", or bins of one width "LOW:HIGH:STEP".'),
]
