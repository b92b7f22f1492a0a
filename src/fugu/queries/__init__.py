"""Questions put to records: columns, statistics by group, and statistics of sequences."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.queries.answered import Answer as Answer
    from fugu.queries.cell import Cell as Cell
    from fugu.queries.statistic import Statistic as Statistic
else:  # a verifier reads queries of sequences, and calibrates nothing
    __getattr__ = names(
        __name__,
        {
            "Answer": "queries.answered",
            "Cell": "queries.cell",
            "Statistic": "queries.statistic",
        },
    )
