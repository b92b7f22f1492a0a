"""Figures in plain SVG: axes with round marks, lines, bars, bands, heat maps. Nothing runs and nothing is loaded."""

from fugu.drawing.charts.axis import Axis as Axis
from fugu.drawing.charts.axis import padded as padded
from fugu.drawing.charts.chart import Chart as Chart
from fugu.drawing.charts.chart import Panel as Panel
from fugu.drawing.charts.heat import Heat as Heat
from fugu.drawing.charts.marks import Band as Band
from fugu.drawing.charts.marks import Bars as Bars
from fugu.drawing.charts.marks import Level as Level
from fugu.drawing.charts.marks import Line as Line
from fugu.drawing.charts.marks import Mark as Mark
from fugu.drawing.charts.marks import Note as Note
from fugu.drawing.charts.marks import Points as Points
from fugu.drawing.charts.marks import Whiskers as Whiskers
from fugu.drawing.charts.rows import Bar as Bar
from fugu.drawing.charts.rows import Rows as Rows
from fugu.drawing.charts.show import Drawing as Drawing
from fugu.drawing.charts.show import figure as figure
