"""The figure of losses against the distance of beliefs: proved numbers, never below the bound at a point."""

import numpy as np
import pytest

import fugu
from fugu.auditing import guarantee_against, guarantee_within
from fugu.drawing.marks import path
from fugu.guarantee.composition import REMAINDER
from fugu.report import page
from fugu.report.facts import Facts, facts
from fugu.report.figures import curve, nearby_figure
from fugu.report.template import sentence

VALUES = list(range(8))
PAIR = fugu.LawPair(
    fugu.Discrete(VALUES, [9, 5, 3, 2, 1, 1, 1, 1]), fugu.Discrete(VALUES, [1, 1, 1, 2, 3, 4, 5, 9]), "low vs high"
)
BUDGETS = [fugu.Pure(0.5), fugu.Approx(0.5, 0.01), fugu.Renyi(2, 0.1), fugu.RenyiCurve({2: 0.1, 4: 0.3})]


def stated(g):
    if isinstance(g, fugu.RenyiCurve):
        return float(g.epsilons[2])
    return float(g.delta if isinstance(g, fugu.Approx) else g.epsilon)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_curve_starts_at_the_promise_and_lies_above_what_beliefs_lose(budget, noise):
    if isinstance(budget, fugu.Pure) and noise == "gaussian":
        pytest.skip("no pure guarantee")
    mechanism = fugu.calibrate(PAIR, budget, noise=noise)
    found = curve(mechanism.certificate)
    assert found.distances[0] == 0 and found.losses[0] == found.promised == pytest.approx(stated(budget))
    assert list(found.losses) == sorted(found.losses) and found.losses[-1] > found.promised
    for k in (3, 10, 20):
        r = found.distances[k]
        moved = fugu.LawPair(
            fugu.Discrete([v - r for v in VALUES], [9, 5, 3, 2, 1, 1, 1, 1]),
            fugu.Discrete([v + r for v in VALUES], [1, 1, 1, 2, 3, 4, 5, 9]),
        )
        lost = guarantee_against(mechanism, moved)
        if type(lost) is type(budget):
            assert stated(lost) <= found.losses[k] * (1 + 1e-9)
        assert stated(guarantee_within(mechanism, r)) <= found.losses[k] * (1 + 1e-9)


def test_the_line_never_falls_short_between_points():
    """Steps take the height of the farther point, and drawn heights are rounded up."""
    mechanism = fugu.calibrate(PAIR, fugu.Pure(0.5))
    found = curve(mechanism.certificate)
    figure = nearby_figure(found, facts(mechanism.certificate))
    flat, line = figure.panels[0].marks
    assert line.steps == "ahead" and flat.at == 0.5
    assert all(drawn >= true for drawn, true in zip(line.ys, found.losses, strict=True))
    assert np.all(np.isfinite(line.ys))
    corners = [
        tuple(map(float, p.split())) for p in path([(0.0, 9.0), (10.0, 4.0), (20.0, 1.0)], "ahead")[1:].split("L")
    ]
    assert corners == [(0, 9), (0, 4), (10, 4), (10, 1), (20, 1)], "up first (small is high), then to the right"


def test_no_distance_is_drawn_or_told_farther_than_it_was_proved():
    found = Facts(distances=(0.0, 1.000005, 1.66666), losses=(0.5, 0.7, 0.9), promised=0.5, measure="ε", binned=False)
    (panel,) = nearby_figure(found, facts(fugu.calibrate(PAIR, fugu.Pure(0.5)).certificate)).panels
    assert panel.marks[1].xs == (0.0, 1.0, 1.6666) and panel.across.high == 1.6666
    text = sentence("nearby_caption", found, facts(fugu.calibrate(PAIR, fugu.Pure(0.5)).certificate).query)
    assert "at a distance of 1.66, " in text


def test_the_caption_needs_no_paper():
    mechanism = fugu.calibrate(PAIR, fugu.Pure(0.5))
    text = sentence("nearby_caption", curve(mechanism.certificate), facts(mechanism.certificate, "grade").query)
    assert "moving every value" in text and "“grade”" in text and "Wasserstein" not in text


def test_no_figure_without_noise():
    mechanism = fugu.calibrate(PAIR, fugu.Pure(5))
    assert mechanism.noise.scale == 0 and curve(mechanism.certificate) is None
    assert 'id="nearby-wide-title"' not in page(mechanism)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("budget", [fugu.Renyi(2, 0.1), fugu.Renyi(3, 0.1, 0.01), BUDGETS[-1]], ids=str)
def test_renyi_promises_have_pages(budget, noise):
    mechanism = fugu.calibrate(PAIR, budget, noise=noise)
    html = page(mechanism, fugu.compare(PAIR, budget), query_name="grade")
    assert "Rényi divergence" in html and "of order" in html and 'id="nearby-wide-title"' in html
    assert html.count('<desc id="nearby-') == 2
    f = facts(mechanism.certificate)
    odds = budget.to_approx(f.delta)
    assert f.delta == pytest.approx(float(budget.delta) + (1 - float(budget.delta)) * REMAINDER)
    assert f.epsilon == pytest.approx(float(odds.epsilon), rel=1e-9) and f.renyi[0][1] == 0.1
    told = sentence("divergence", f)
    assert "0.1" in told and ("outside events" in told) == (budget.delta > 0)
    assert fugu.verify(mechanism).holds


def test_the_odds_on_a_renyi_page_are_not_those_of_the_divergence():
    """e^epsilon of the divergence bounds no odds: the page must state the larger, converted factor."""
    f = facts(fugu.calibrate(PAIR, fugu.Renyi(2, 0.1)).certificate)
    assert f.epsilon > 1 and f.delta == REMAINDER and f.leak > 0.1


def test_other_promises_say_nothing_of_divergences():
    f = facts(fugu.calibrate(PAIR, fugu.Approx(0.5, 0.01)).certificate)
    assert sentence("divergence", f) == "" and f.renyi == ()
