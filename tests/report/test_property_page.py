"""The page about hiding a share: what is drawn is what was computed, and names from outside stay text."""

from __future__ import annotations

import numpy as np
import pytest

import fugu
from fugu.auditing.attack import property_attack
from fugu.calibration.offer import Wishes
from fugu.drawing.marks import Bars, Line, Whiskers
from fugu.errors import NotProvable, UsageError
from fugu.report.compare import (
    TOLERANCES,
    at_tolerance,
    attack_figure,
    best,
    error_figure,
    error_of,
    method_lines,
    property_page,
    swap_figure,
    sweep,
)

BUDGET = fugu.Approx(1, 1e-3)
EVIL = "</script><b>x"


@pytest.fixture(scope="module")
def scenario():
    source = np.random.default_rng(0)
    rich = source.random(600) < 0.4
    table = {
        EVIL: np.where(rich, "yes", "no").tolist(),
        "age": (source.integers(20, 60, 600) + 8 * rich).tolist(),
        "sex": np.where(source.random(600) < 0.3 + 0.3 * rich, "F", "M").tolist(),
    }
    return fugu.Scenario.from_property(table, ["mean(age)", "count(sex=F)"], f"{EVIL}=yes", size=20, tolerance=0.2)


@pytest.fixture(scope="module")
def found(scenario):
    mechanism = fugu.calibrate(scenario, BUDGET)
    source = np.random.default_rng(1)
    before, after = (property_attack(m, scenario, delta=1e-3, shadow=300, test=300, rng=source)
                     for m in (None, mechanism))  # fmt: skip
    swap = swap_figure(scenario, BUDGET, source, draws=20_000)
    return mechanism, sweep(scenario, BUDGET, times=TOLERANCES[::2]), before, after, swap


def test_lines_are_what_compare_and_calibrate_say(scenario, found):
    lines = {line.method: line for line in method_lines(scenario, BUDGET)}
    rows = {row.method: row for row in fugu.compare(scenario, BUDGET).rows}
    assert list(lines) == list(rows)
    for name, row in rows.items():
        assert lines[name].proven == row.proven and lines[name].deviation == pytest.approx(row.scale)
        if row.proven:
            assert row.expected_absolute / np.sqrt(2) <= lines[name].error <= lines[name].deviation, "l1, l2, root mean"
        else:
            assert lines[name].why
    assert best(tuple(lines.values())).error == pytest.approx(error_of(found[0]))
    declared = method_lines(scenario, BUDGET, Wishes(declared_exact=True))
    assert best(declared).error < best(tuple(lines.values())).error and all(
        line.why for line in declared if not line.proven
    )


def test_the_expected_error_is_that_of_the_noise_drawn(found):
    draws = found[0].simulate(np.zeros((20_000, 2)), np.random.default_rng(2)).values
    seen = np.linalg.norm(draws, axis=1).mean()
    assert seen == pytest.approx(error_of(found[0]), rel=0.02)
    assert seen != pytest.approx(found[0].expected_error(), rel=0.1), "the l1 error is another number"


def test_errors_grow_with_the_tolerance_and_the_asked_one_is_among_them(scenario, found):
    by = found[1]
    assert list(by) == [0.05, 0.2, 0.4] and [float(x) for x in TOLERANCES] == [0.25, 0.5, 1, 1.5, 2]
    errors = [best(lines).error for lines in by.values()]
    assert errors == sorted(errors) and errors[0] < errors[-1]
    assert by[0.2] == method_lines(scenario, BUDGET)
    with pytest.raises(UsageError):
        at_tolerance(scenario.property, fugu.numbers.exact.Fraction(3, 2))


def test_one_statistic_has_its_own_methods(scenario):
    model = scenario.property
    table = {"rich": ["yes"] * len(model.having) + ["no"] * len(model.lacking),
             "age": [*model.having[:, 0], *model.lacking[:, 0]]}  # fmt: skip
    one = fugu.Scenario.from_property(table, ["mean(age)"], "rich=yes", size=20, tolerance=0.2)
    lines = method_lines(one, BUDGET)
    assert best(lines).error == pytest.approx(fugu.calibrate(one, BUDGET).expected_error(), rel=1e-6)
    assert best(lines).error < 3 * best(lines).deviation


def test_the_record_swap_needs_a_delta(scenario):
    with pytest.raises(NotProvable, match="delta > 0"):
        swap_figure(scenario, fugu.Renyi(2, 1), np.random.default_rng(0))


def test_figures_hold_the_numbers(found):
    _, by, before, after, swap = found
    (panel,) = error_figure(by, 0.2, swap).panels
    lines, star = [m for m in panel.marks if isinstance(m, Line)], panel.marks[-1]
    proved = {line.method for lines in by.values() for line in lines if line.proven}
    assert {line.name for line in lines} == proved and panel.upward.log
    drawn = {line.name: line for line in lines}
    for name in proved:
        errors = [x.error for at in by.values() for x in at if x.method == name]
        assert [y for y in drawn[name].ys if y == y] == [max(e, panel.upward.low) for e in errors if np.isfinite(e)]
    assert star.ys == (swap.error,) and star.xs == (0.2,) and "no Gaussian model" in star.name
    (panel,) = attack_figure(before, after).panels
    bars = [m for m in panel.marks if isinstance(m, Bars)]
    assert [b.heights for b in bars] == [(before.accuracy,), (after.accuracy,)] and before.accuracy > after.accuracy
    (interval,) = [m for m in panel.marks if isinstance(m, Whiskers)]
    assert interval.highs[0] == before.interval[1] and interval.lows[1] == after.interval[0]
    flat = error_figure({t: [x for x in lines if x.method == "optimal"] for t, lines in list(by.items())[1:]}, 0.2)
    assert not flat.panels[0].upward.log, "no log scale where the errors are alike"


def test_the_page_stands_alone_and_names_stay_text(scenario, found):
    mechanism, by, before, after, swap = found
    html = property_page(scenario.property, BUDGET, by, (before, after), swap, mechanism.certificate.assumptions)
    assert "<html" in html and len(html) < 150_000
    own = html[html.rindex("</head>") :]
    assert EVIL not in own and "&lt;/script&gt;" in own
    assert own.count("<figure>") == 2 and "Gaussian model" in own and "no plain guarantee" in own
    assert "http" not in own
    bare = property_page(scenario.property, BUDGET, by)
    assert "attacker" not in bare[bare.rindex("</head>") :]
