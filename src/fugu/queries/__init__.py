"""Queries on tables of independent records: counts, sums, means, histograms and cross-tabulations, by group."""

from fugu.queries.answer import answer as answer
from fugu.queries.answered import Answer as Answer
from fugu.queries.answered import Cell as Cell
from fugu.queries.statistic import Statistic as Statistic
