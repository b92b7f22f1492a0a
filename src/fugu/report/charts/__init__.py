"""Figures in plain SVG: axes with round marks, lines, bars, bands, heat maps. Nothing runs and nothing is loaded."""

from fugu.report.charts.axis import Axis as Axis
from fugu.report.charts.axis import padded as padded
from fugu.report.charts.chart import Chart as Chart
from fugu.report.charts.chart import Panel as Panel
from fugu.report.charts.heat import Heat as Heat
from fugu.report.charts.marks import Band as Band
from fugu.report.charts.marks import Bars as Bars
from fugu.report.charts.marks import Level as Level
from fugu.report.charts.marks import Line as Line
from fugu.report.charts.marks import Mark as Mark
from fugu.report.charts.marks import Note as Note
from fugu.report.charts.marks import Points as Points
from fugu.report.charts.marks import Whiskers as Whiskers
from fugu.report.charts.rows import Bar as Bar
from fugu.report.charts.rows import Rows as Rows
from fugu.report.charts.show import Drawing as Drawing
from fugu.report.charts.show import figure as figure
