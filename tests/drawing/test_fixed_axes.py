"""Axes that stand still while a slider moves, and drawings that bring no style. Wrong versions that are rejected:
labels beyond an end, an axis that runs backwards, panels that share what is not theirs, inline style."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from importlib.resources import files

import pytest

import fugu
from fugu.drawing.axis import Axis
from fugu.drawing.plots import bars
from fugu.errors import UsageError
from fugu.report.figures import pair_figures

CLINIC = str(files("fugu.examples") / "clinic_reference.csv")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def shown():
    scenario = fugu.Scenario.from_table(CLINIC, publish="chol", protect="smoker", bins=20)
    return {e: pair_figures(fugu.calibrate(scenario, fugu.Pure(e)).certificate) for e in (0.2, 1)}


def grid(svg):
    """Where the axes and their grid stand, and what is written there."""
    root = ET.fromstring(svg)
    drawn = [e for e in root.iter() if e.get("class") in ("axis", "grid")]
    texts = [e.text for e in root.iter() if e.tag.endswith("text") and e.get("text-anchor") in ("end", "middle")]
    return [tuple(e.get(name) for name in ("x1", "x2", "y1", "y2")) for e in drawn], texts


@pytest.mark.parametrize("which", [0, 1])
def test_two_pictures_over_the_same_axes_have_the_same_grid(which, shown):
    wide, near = shown[0.2][which], shown[1][which]
    assert grid(wide.bare()) != grid(near.bare())
    across, upward = near.ends
    moved = wide.over(across, upward)
    assert moved.ends == near.ends and grid(moved.bare())[1] == grid(near.bare())[1]
    assert grid(moved.bare(400.0)) != grid(near.bare(500.0)) and grid(near.over(across, upward).bare()) == grid(
        near.bare()
    )
    height = [float(ET.fromstring(x.bare()).get("viewBox").split()[3]) for x in (moved, near)]
    places = [float(x) for x in NUMBER.findall(" ".join(re.findall(r'd="([^"]*)"', moved.bare())))]
    assert all(-1 <= x <= max(760, *height) for x in places)  # what is beyond stands at the end


def test_each_panel_has_its_own_upright_axis(shown):
    chart = shown[1][0].over((100, 300), ((0, 0.2), (0, 0.5)))
    assert chart.ends == ((100.0, 300.0), ((0.0, 0.2), (0.0, 0.5)))
    assert chart.over(None, (None, (0, 1))).ends == ((100.0, 300.0), ((0.0, 0.2), (0.0, 1.0)))
    with pytest.raises(UsageError, match="2 panels"):
        chart.over(None, ((0, 1),) * 3)


@pytest.mark.parametrize("ends", [(1, 1), (2, 1), (float("nan"), 1), (0, float("inf"))])
def test_ends_of_an_axis_are_two_numbers_in_order(ends, shown):
    with pytest.raises(UsageError, match="two finite numbers"):
        shown[1][0].over(ends)
    with pytest.raises(UsageError, match="logarithmic"):
        Axis("x", 1, 10, log=True).between((0, 5))


def test_labels_beyond_the_ends_are_left_out():
    axis = Axis("x", 0, 3, marks=((0.0, "a"), (1.0, "b"), (2.0, "c")), named=True)
    assert axis.between((0.5, 2.5)).marks == ((1.0, "b"), (2.0, "c")) and axis.between(None) is axis
    assert not axis.between((5, 6)).named


def test_a_bare_drawing_brings_no_style_and_says_what_is_seen(shown):
    for figure in (*shown[1], bars("Average error", "error", [("a <b>", 1.0, True), ("c", 2.0, False)])):
        root = ET.fromstring(figure.bare())
        assert not [e for e in root.iter() if e.tag.endswith("style") or e.get("style")]
        assert figure.about in root.get("aria-label") and "<b>" not in figure.bare()
        assert len(list(root.iter())) > 10 and "<style>" in figure.svg


def test_every_kind_with_laws_of_values_is_drawn_and_others_are_refused():
    p, q = fugu.Discrete([0, 1, 2], [3, 2, 1]), fugu.Discrete([0, 1, 2], [1, 2, 3])
    pair, vectors = fugu.LawPair(p, q), [fugu.MultivariateNormal([k, 0], [[1, 0.3], [0.3, 1]]) for k in (0, 1)]
    half, whole = (fugu.calibrate(pair, fugu.Pure(e)) for e in (0.5, 1))
    vector = fugu.calibrate(fugu.LawPair(*vectors), fugu.Approx(1, 1e-3))
    for made in (half, fugu.mix(0.5, half, whole), vector, fugu.calibrate(fugu.Shifted(1), fugu.Pure(1))):
        assert [len(chart.bare()) > 1000 for chart in pair_figures(made.certificate)] == [True, True]
    with pytest.raises(UsageError, match="no laws of values"):
        pair_figures(fugu.optimal_channel(pair, fugu.Pure(1)).certificate)
