"""Pages of every kind of certificate: vectors, correlated noise, analyses, mixtures of vectors; and the command."""

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import t as student_t
from typer.testing import CliRunner

import fugu
from fugu.cli.app import app
from fugu.report import curves, page
from fugu.report.curves import views
from fugu.report.facts import facts, methods, parts
from fugu.report.figures import covariance_figure
from fugu.report.shapes import limit, visited, window
from fugu.report.template import sheet

EVIL = "<script>alert(1)</script>"
PAIR = fugu.LawPair(fugu.Discrete([[0, 0], [2, 4]], [3, 1]), fugu.Discrete([[2, 0], [0, 4]]), f"{EVIL} vs b")
COV = [[1, 0.3], [0.3, 2]]
NORMAL = fugu.LawPair(fugu.MultivariateNormal([0, 0], COV), fugu.MultivariateNormal([1, 0.5], COV), f"{EVIL} vs b")
NUMBERS = fugu.LawPair(fugu.Discrete([0, 1, 5], [3, 1, 2]), fugu.Discrete([0, 1, 5], [1, 3, 3]), f"{EVIL} vs b")
KINDS = {
    "vector, pure": lambda: fugu.calibrate(PAIR, fugu.Pure(1)),
    "vector, Gaussian": lambda: fugu.calibrate(PAIR, fugu.Approx(1, 1e-3), noise="gaussian"),
    "vector, Renyi": lambda: fugu.calibrate(PAIR, fugu.Renyi(2, 0.5)),
    "vector, shifted": lambda: fugu.calibrate(fugu.Shifted([1, 2, 0]), fugu.Pure(1)),
    "correlated, Renyi": lambda: fugu.calibrate(NORMAL, fugu.Renyi(2, 0.5)),
    "correlated, delta": lambda: fugu.calibrate(NORMAL, fugu.Approx(0.5, 1e-4)),
    "analysis": lambda: fugu.calibrate(NUMBERS, fugu.Renyi(2, 0.05), noise="cauchy"),
    "mixed vectors": lambda: fugu.mix(0.25, fugu.calibrate(PAIR, fugu.Pure(1)), fugu.calibrate(PAIR, fugu.Pure(0.5))),
    "mixed correlated": lambda: fugu.mix(
        0.5, fugu.calibrate(NORMAL, fugu.Renyi(2, 0.5)), fugu.calibrate(NORMAL, fugu.Renyi(2, 0.25))
    ),
}
_MADE = {}


def made(name):
    if name not in _MADE:
        _MADE[name] = KINDS[name]()
    return _MADE[name]


def own(text):
    return text.replace(sheet(), "")


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_a_whole_page_that_stands_alone(name):
    mechanism = made(name)
    text = page(mechanism, query_name=EVIL, secret_name=EVIL)
    outside = own(text)
    assert EVIL not in outside and "http" not in outside.replace("http-equiv", "")
    assert outside.count("<figure>") == outside.count("<svg") // 2 - 2 == outside.count("<figcaption>")
    assert not re.search(r'="[^"]*(nan|inf)\b', outside)
    for title in ("meaning", "laws-title", "ratio-title", "fine-title"):
        assert f'id="{title}"' in text
    for said in ("fugu verify OUT.certificate.json", "Assumptions", mechanism.certificate.body["digest"]):
        assert said in text
    assert ("coordinate by coordinate" in text) == (mechanism.certificate.dimension > 1)
    assert text == page(fugu.Certificate.parse(mechanism.certificate.body), query_name=EVIL, secret_name=EVIL)


@pytest.mark.parametrize("name", KINDS)
def test_the_error_and_the_interval_are_those_of_the_mechanism(name):
    mechanism = made(name)
    f = facts(mechanism.certificate)
    assert f.error == pytest.approx(mechanism.expected_error())
    rounding = 0 if not f.released else f.grid / 2
    assert f.half <= mechanism.interval(0.95)[1] + 1e-9 <= f.half + rounding + 1e-6
    assert f.dimension == mechanism.certificate.dimension


def test_an_analysis_says_loudly_that_nothing_was_released():
    text = own(page(made("analysis")))
    assert text.index("Analysis only: nothing was released") < text.index('id="meaning"')
    assert "Nothing was published" in text and "was published with" not in text
    assert "average error that noise makes" in text and "unlimited" in text
    others = [own(page(made(name))) for name in KINDS if name != "analysis"]
    assert all("Analysis only" not in other for other in others)


def test_the_covariance_is_that_of_the_noise():
    mechanism = made("correlated, delta")
    f = facts(mechanism.certificate)
    heat = covariance_figure(f, [name for name, *_ in f.coordinates[0]])
    assert np.array(heat.cells) == pytest.approx(np.array(mechanism.noise.covariance(), dtype=float), rel=1e-4)
    for j, (_, scale, _, half) in enumerate(facts(mechanism.certificate).coordinates[0]):
        assert scale == pytest.approx(math.sqrt(float(mechanism.noise.covariance()[j][j])))
        assert half > 1.9599 * scale
    assert covariance_figure(facts(made("vector, pure").certificate), ["1", "2"]) is None
    assert "Covariance" not in page(made("vector, pure")) and "covariance-wide-title" in page(mechanism)


def test_views_of_vectors_are_their_coordinates():
    found = views(made("vector, pure").certificate)
    assert sorted(view.coordinate for view in found) == [0, 1]
    for view in found:
        before = curves.laws(view)[0]
        rows = np.array([3 / 4, 1 / 4]), np.array([1 / 2, 1 / 2])
        assert before.heights == pytest.approx(np.stack(rows))
        assert curves.ratio(view).largest <= 1 + 1e-9
    f = facts(made("vector, pure").certificate)
    assert f.leak <= 1 + 1e-9


def test_views_of_normal_vectors_are_bell_curves_with_wider_ones_after_noise():
    mechanism = made("correlated, delta")
    for view in views(mechanism.certificate):
        j = view.coordinate
        law = curves.laws(view)
        for hist, more in ((law[0], 0.0), (law[1], float(mechanism.noise.covariance()[j][j]))):
            mean = float(hist.heights[0] @ hist.values) / hist.heights[0].sum()
            spread = float(hist.heights[0] @ (hist.values - mean) ** 2) / hist.heights[0].sum()
            assert mean == pytest.approx(0, abs=0.05) and spread == pytest.approx(COV[j][j] + more, rel=0.2)
    assert {view.coordinate for view in views(mechanism.certificate)} == {0, 1}


def test_heavy_tails_are_drawn_as_they_are_and_the_limit_holds():
    mechanism = made("analysis")
    (view,) = views(mechanism.certificate)
    index, rows = view.noised
    values = view.values(index)
    scale, grid = float(mechanism.noise.scale), float(view.lattice.grid)
    law = student_t(1, scale=scale)
    expected = sum(
        w * (law.cdf(values - x + grid / 2) - law.cdf(values - x - grid / 2))
        for x, w in zip((0, 1, 5), (3 / 6, 1 / 6, 2 / 6), strict=True)
    )
    assert rows[0] == pytest.approx(expected, rel=1e-3, abs=1e-9)
    dense = np.linspace(-200, 200, 400_001)
    p, q = (sum(w * law.pdf(dense - x) for x, w in zip((0, 1, 5), row, strict=True)) for row in ((3, 1, 2), (1, 3, 3)))
    worst = float(np.abs(np.log(p / 6) - np.log(q / 7)).max())
    assert worst <= view.limit and worst == pytest.approx(curves.ratio(view).drawn, rel=0.02)
    points = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([3]))
    (item,) = fugu.calibrate(points, fugu.Renyi(2, 0.5), noise="cauchy").certificate.laws
    noise = fugu.GeneralizedCauchy(2, tail=4).in_steps(1)
    width = float(item.points[-1])
    shifted = np.abs(np.log((1 + (dense / 2) ** 2) / (1 + ((dense - width) / 2) ** 2)) * 2)
    assert limit(item, noise) == pytest.approx(float(shifted.max()), rel=1e-6)


@pytest.mark.parametrize("budget", [fugu.Pure(0.5), fugu.Approx(0.5, 0.01), fugu.Renyi(2, 0.2)])
def test_methods_that_were_not_tried_are_worked_out_from_the_certificate(budget):
    for pair in (NUMBERS, PAIR):
        mechanism = fugu.calibrate(pair, budget, noise="laplace")
        compared = {(r.method, r.noise): r.scale for r in fugu.compare(pair, budget).rows if r.noise == "laplace"}
        lines = methods(mechanism.certificate)
        assert {line.method for line in lines} == {name for name, _ in compared}
        for line in lines:
            assert line.scale == pytest.approx(compared[line.method, "laplace"], rel=1e-6)
        assert [line.method for line in lines if line.used] == [mechanism.certificate.method]


def test_values_that_go_out_as_they_are_still_have_a_table_of_methods():
    weak = fugu.LawPair(fugu.Discrete([0, 1, 2], [3, 2, 3]), fugu.Discrete([0, 1, 2], [2, 3, 3]), "a vs b")
    certificate = fugu.calibrate(weak, fugu.Pure(3)).certificate
    assert certificate.lattice is None
    scales = {line.method: line.scale for line in methods(certificate)}
    assert scales["exact"] == 0 and scales["l1"] == pytest.approx(2 / 3)


def test_large_problems_keep_to_what_the_certificate_lists():
    n = 300_000
    pair = fugu.LawPair(fugu.Discrete(np.arange(n), np.arange(n) + 1), fugu.Discrete(np.arange(n), np.arange(n, 0, -1)))
    certificate = fugu.calibrate(pair, fugu.Pure(1)).certificate
    assert [line.method for line in methods(certificate)] == list(certificate.scales)


def test_every_noise_that_can_be_certified_can_be_drawn():
    from fugu.noise.kind import kinds

    drawn_number_by_number = {"directed"}  # each of them as Laplace noise
    noises = [kind.at(1.0, Fraction(1)) for name, kind in kinds().items() if name not in drawn_number_by_number]
    assert all(
        not noise.silent and window(noise) >= 0 and visited(noise) >= 0 and len(noise.words) > 20 for noise in noises
    )
    assert parts(made("vector, Gaussian").certificate)[0].certificate.noise.words == fugu.Gaussian(1.0).words


@pytest.mark.parametrize("name", ["vector, pure", "mixed vectors"])
def test_the_command_writes_the_page_once(name, tmp_path):
    cert, target = tmp_path / "c.json", tmp_path / "p.html"
    made(name).certificate.save(cert)
    run = CliRunner()
    assert run.invoke(app, ["report", str(cert), "-o", str(target)]).exit_code == 0
    assert target.read_text("utf-8") == page(made(name))
    again = run.invoke(app, ["report", str(cert), "-o", str(target)])
    assert again.exception is not None and "exists" in str(again.exception)
    told = run.invoke(app, ["report", str(cert), "-o", str(target), "--force", "--json"])
    assert json.loads(told.stdout)["digest"] == made(name).certificate.body["digest"]
