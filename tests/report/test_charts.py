"""Drawings by themselves: labels keep apart and inside at any width, lines stay where the numbers are."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.drawing.axis import SIZE, Axis, log_ticks, padded, straight_ticks, width_of, wrapped
from fugu.drawing.charts import Chart, Heat, Panel, Rows, figure
from fugu.drawing.marks import NEAR, Bars, Level, Line, Note, Points, path, specks, thinned
from fugu.numbers.text import factor, least

WIDTHS = (340.0, 760.0)
ends = st.tuples(
    st.floats(-1e9, 1e9), st.floats(-6, 9), st.sampled_from([0.0, 0.5, 2.0])
).map(lambda t: (t[0], t[0] + max(10.0 ** t[1], abs(t[0]) * 1e-9 * (1 + t[2]))))  # fmt: skip


def boxes(svg):
    """(left, right, top, bottom, text) of every label, as wide as the drawing takes it to be."""
    found = []
    for attributes, text in re.findall(r"<text ([^>]*)>([^<]*)</text>", svg):
        if "rotate" in attributes:
            continue
        x, y = (float(re.search(rf'\b{name}="([^"]*)"', attributes)[1]) for name in "xy")
        anchor = re.search(r'text-anchor="(\w+)"', attributes)
        wide = width_of(text, bold="heading" in attributes)
        left = x - {"middle": wide / 2, "end": wide}.get(anchor[1] if anchor else "start", 0.0)
        found.append((left, left + wide, y - 0.8 * SIZE, y + 0.2 * SIZE, text))
    return found


def faults(drawing, width):
    svg, height = drawing.draw(width)
    found, labels = [], boxes(svg)
    for n, (left, right, top, bottom, text) in enumerate(labels):
        if left < -1 or right > width + 1 or top < -1 or bottom > height + 1:
            found.append(f"outside: {text}")
        for other in labels[n + 1 :]:
            if min(right, other[1]) - max(left, other[0]) > 1 and min(bottom, other[3]) - max(top, other[2]) > 1:
                found.append(f"{text} on {other[4]}")
    return found


@settings(max_examples=60, deadline=None)
@given(ends, ends, st.sampled_from(WIDTHS), st.integers(0, 3))
def test_labels_keep_apart_and_inside_for_any_axes(across, upward, width, names):
    marks = tuple(Level(upward[0], "a", f"a name of a line that is rather long, number {n}") for n in range(names))
    panel = Panel(marks, Axis("value of something " * 3, *across), Axis("height " * 20, *upward), 200.0, "heading " * 9)
    assert faults(Chart("x", "t", "d", (panel, panel)), width) == []


@settings(max_examples=60, deadline=None)
@given(st.floats(-300, 300), st.floats(0.05, 20), st.sampled_from(WIDTHS))
def test_log_axes_too(low, decades, width):
    axis = Axis("log", 10.0**low, 10.0 ** min(low + decades, 307), log=True)
    assert faults(Chart("x", "t", "d", (Panel((), axis, axis, 200.0),)), width) == []


@given(st.floats(1e-300, 1e300), st.sampled_from(WIDTHS))
def test_numbers_beside_bars_stay_inside(longest, width):
    """They are bold: room for plain ones cuts off the last sign."""
    axis = Axis("average error", 0.0, longest)
    bars = tuple((f"method {n} " * 5, longest, "1.234 × 10⁻²⁹⁹", "a") for n in range(4))
    assert faults(Rows("x", "t", "d", bars, axis, {"a": "the method taken", "other": "other methods"}), width) == []


@pytest.mark.parametrize("count", [1, 3, 12, 60])
@pytest.mark.parametrize("width", WIDTHS)
def test_heat_maps_of_any_size(count, width):
    names = tuple(f"statistic {n} with a long name" for n in range(count))
    assert faults(Heat("x", "t", "d", names, ((1.0,) * count,) * count), width) == []


def test_the_check_of_labels_can_fail():
    class Shifted(Chart):
        def draw(self, width, pointed=True):
            svg, height = super().draw(width, pointed)
            return str(svg).replace('<text x="', '<text x="9'), height

    panel = Panel((), Axis("x", 0, 1), Axis("y", 0, 1), 200.0)
    assert faults(Chart("x", "t", "d", (panel,)), 340.0) == [] != faults(Shifted("x", "t", "d", (panel,)), 340.0)


@given(ends, st.integers(1, 9))
def test_ticks_are_round_inside_and_equally_far_apart(span, most):
    low, high = span
    ticks = [x for x, _ in straight_ticks(low, high, most)]
    slack = 1e-6 * (high - low) + 1e-9 * max(abs(low), abs(high))
    assert (ticks or most < 3) and all(low - slack <= x <= high + slack for x in ticks) and len(ticks) <= most + 1
    if len(ticks) > 2:
        gaps = np.diff(ticks)
        assert gaps == pytest.approx(gaps[0], rel=1e-5)
        assert round(gaps[0] / 10 ** math.floor(math.log10(gaps[0]) + 1e-9)) in (1, 2, 5, 10)


def test_ticks_are_labelled_by_what_they_are():
    for value, label in (*straight_ticks(-3, 3, 6), *straight_ticks(0, 0.004, 5), *log_ticks(1e-3, 1e3, 9)):
        assert float(label.replace("−", "-").replace(",", "")) == pytest.approx(value)
    assert [label for _, label in log_ticks(1e-12, 1e-1, 5)] == ["10⁻¹²", "10⁻⁹", "10⁻⁶", "0.001"]


def test_names_of_categories_are_never_cut_or_left_out():
    names = ("extremely small", "small", "medium", "rather large")
    marks = tuple((float(k), name) for k, name in enumerate(names))
    for high, where in ((3.5, "beside"), (4.5, "folded"), (15.0, "upright"), (900.0, "title")):
        axis = Axis("size", -0.5, high, marks=marks, named=True)
        chart = Chart("x", "t", "d", (Panel((), axis, Axis("y", 0, 1), 100.0),))
        svg, _ = chart.draw(760.0 if where != "folded" else 560.0)
        shown = " ".join(re.findall(r"<text [^>]*>([^<]*)</text>", svg))
        assert all(name in shown for name in names)
        assert ("rotate" in svg) == (where == "upright") and ("(0: extremely small" in shown) == (where == "title")


@given(st.lists(st.tuples(st.floats(0, 700), st.floats(0, 300)), min_size=1, max_size=60))
def test_a_thinned_line_is_nowhere_far_from_the_true_one(places):
    places = sorted(places)
    kept = thinned(places)
    assert kept[0] == places[0] and kept[-1] == places[-1] and set(kept) <= set(places)
    for x, y in places:
        assert min(_distance((x, y), a, b) for a, b in zip(kept, [*kept[1:], kept[-1]], strict=True)) <= NEAR + 1e-9


def _distance(p, a, b):
    (x, y), (x1, y1), (x2, y2) = p, a, b
    length = (x2 - x1) ** 2 + (y2 - y1) ** 2
    t = 0.0 if length == 0 else min(1.0, max(0.0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length))
    return math.hypot(x - x1 - t * (x2 - x1), y - y1 - t * (y2 - y1))


def test_a_jump_beyond_the_ends_of_a_piece_stays():
    """The wrong version: the distance from the line through the two ends, on which the middle place lies."""
    assert thinned([(5.0, 0.0), (5.0, 200.0), (5.0, 100.0)]) == [(5.0, 0.0), (5.0, 200.0), (5.0, 100.0)]


def test_peaks_of_a_line_stay():
    xs = np.arange(400.0)
    places = [(x, 100.0 - (20.0 if x == 237 else 0.0)) for x in xs.tolist()]
    assert (237.0, 80.0) in thinned(places) and len(thinned(places)) == 5
    assert (237.0, 80.0) not in thinned(places, near=30.0), "a coarser rule would lose it"


def test_steps_change_half_way_or_ahead():
    assert path([(0, 5), (2, 1)], "middle") == "M0 5L1 5L1 1L2 1" and path([(0, 5), (2, 1)], "ahead") == "M0 5L0 1L2 1"
    assert specks([(1, 1), (1.2, 1.1), (9, 9)]).count("M") == 2


def test_values_stand_where_they_are_and_beyond_an_end_at_it():
    straight, log = Axis("", -2, 2), Axis("", 0.01, 100, log=True)
    assert (straight.at(-2), straight.at(1), straight.at(9)) == (0, 0.75, 1)
    assert log.at(1) == pytest.approx(0.5) and log.at(0) == 0
    assert Axis("", -1.7e308, 1.7e308).at(0) == 0.5 and Axis("", 3, 3).at(3) == 0.5
    assert padded(5, 5) == (2.5, 7.5) and padded(0, 0) == (-0.5, 0.5)


def test_marks_are_drawn_at_their_values():
    panel = Panel((Bars((1.0,), (0.5,), "a", 0.4, 0.0), Points((2.0,), (0.25,), "b", "ring", told=("said",)),
                   Line((0.0, 1.0, 2.0, 3.0), (0.0, math.nan, 1.0, 1.0), "ink"), Note("a remark", 0.5)),
                  Axis("x", 0, 4), Axis("y", 0, 1), 100.0)  # fmt: skip
    chart = Chart("x", "t", "d", (panel,))
    svg, _ = chart.draw(400.0)
    bar = {k: float(v) for k, v in re.findall(r'(\w+)="([\d.]+)"', re.search(r"<rect[^>]*>", svg)[0])}
    ring = {k: float(v) for k, v in re.findall(r'(\w+)="([\d.]+)"', re.search(r"<circle[^>]*>", svg)[0])}
    assert bar["height"] == 50 and ring["cy"] == bar["y"] + 25
    assert (ring["cx"] - bar["x"]) / bar["width"] == pytest.approx(1 / 0.4, rel=0.01)
    assert svg.count('class="line ink"') == 2, "a line is interrupted where a height is missing"
    assert "<title>said</title>" in svg and "<title>" not in chart.draw(400.0, pointed=False)[0]
    shown = figure(chart, "caption <&>")
    assert shown.count("<svg") == 2 and "caption &lt;&amp;&gt;" in shown


def test_text_is_wrapped_and_long_words_are_broken():
    assert all(width_of(line) <= 100 for line in wrapped("a" * 50 + " b c d", 100))
    assert "".join(wrapped("a" * 50, 100)) == "a" * 50 and width_of("漢字") > width_of("ab")


@given(st.floats(0, 20))
def test_odds_are_rounded_outward(loss):
    scale = 10.0 ** math.floor(math.log10(math.exp(-loss)))
    read = least(loss).replace("\xa0×\xa010", "e").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    if "10⁻" not in least(loss) or "e" in read:
        assert float(read) <= math.exp(-loss) * (1 + 1e-11) and float(read) >= math.exp(-loss) - 0.02 * scale
    assert factor(loss)
