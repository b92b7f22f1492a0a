"""Questions put to records: columns, statistics by group, and statistics of sequences."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.queries.answer import Answer as Answer
    from fugu.queries.kinds import Cell as Cell
    from fugu.queries.statistic import StatisticQuestion as StatisticQuestion
else:
    __getattr__ = names(__name__)
