"""Pages for laws with Gaussian components, for Gaussian noise, for fitted beliefs and for laws known up to an error."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import fugu
from fugu.laws import Discrete
from fugu.noise import Gaussian, GeneralizedCauchy, Laplace
from fugu.noise.atoms import AtomLaplace
from fugu.numbers.text import factor, number, percent
from fugu.report import curves, page
from fugu.report.curves import views
from fugu.report.facts import facts, methods, parts
from fugu.report.template import sentence, words

REFERENCE = Path(fugu.__file__).parent / "examples" / "clinic_reference.csv"
BUDGET = fugu.Approx(1, 0.01)
NORMALS = fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 2), "a vs b")
MIXTURES = fugu.LawPair(
    fugu.NormalMixture([3, 1], [0, 10], [1, 2]), fugu.NormalMixture([1, 1], [0, 8], [1, 2]), "a vs b"
)
ATOMS = fugu.LawPair(fugu.Normal(0, 1), fugu.Discrete([0, 1, 2], [1, 2, 1]), "a vs b")
DISCRETE = fugu.LawPair(fugu.Discrete([0, 1, 2], [3, 2, 1]), fugu.Discrete([0, 1, 2], [1, 2, 1]), "a vs b")
APART = fugu.LawPair(fugu.Discrete([0, 90]), fugu.Discrete([1, 91], [1, 2]), "a vs b")


def fitted(budget=None, prior="gaussian"):
    scenario = fugu.Scenario.from_table(REFERENCE, publish="chol", protect="smoker", prior=prior)
    return fugu.calibrate(scenario, budget or fugu.Approx(0.5, 0.01))


CASES = {
    "normals, Laplace": lambda: fugu.calibrate(NORMALS, BUDGET, noise="laplace"),
    "normals, Gaussian": lambda: fugu.calibrate(NORMALS, BUDGET, noise="gaussian"),
    "normals, pure": lambda: fugu.calibrate(NORMALS, fugu.Pure(1)),
    "normals, no noise": lambda: fugu.calibrate(NORMALS, fugu.Approx(3, 0.5)),
    "mixtures, Laplace": lambda: fugu.calibrate(MIXTURES, BUDGET),
    "mixtures, Gaussian": lambda: fugu.calibrate(MIXTURES, BUDGET, noise="gaussian"),
    "normal against atoms, Laplace": lambda: fugu.calibrate(ATOMS, BUDGET),
    "normal against atoms, Gaussian": lambda: fugu.calibrate(ATOMS, BUDGET, noise="gaussian"),
    "atoms, Gaussian": lambda: fugu.calibrate(DISCRETE, fugu.Approx(0.1, 0.001), noise="gaussian"),
    "atoms apart, Gaussian": lambda: fugu.calibrate(APART, fugu.Approx(1, 0.01), noise="gaussian"),
    "fitted": fitted,
    "coin": lambda: fugu.mix(0.5, fugu.calibrate(NORMALS, BUDGET), fugu.calibrate(NORMALS, BUDGET, noise="gaussian")),
}
_MADE = {}


def made(name):
    if name not in _MADE:
        _MADE[name] = CASES[name]()
    return _MADE[name]


def noised(view):
    """Lattice indices and both noised laws, by the definition: cells of the laws times the masses of the noise."""
    grid, origin = float(view.lattice.grid), float(view.lattice.origin)
    points, steps = view.pair.points, float(view.noise.scale) / grid
    index = np.arange(points[0] - math.ceil(40 * steps), points[-1] + math.ceil(40 * steps) + 1)
    apart = np.abs(np.arange(1 - len(index), len(index))) / steps
    kernel = np.exp(-apart) if isinstance(view.noise, fugu.Laplace) else np.exp(-(apart**2) / 2)
    dense = np.zeros((2, len(index)))
    dense[:, points - index[0]] = view.pair.weights
    middle = len(index) - 1
    rows = np.array([np.convolve(row, kernel / kernel.sum())[middle : middle + len(index)] for row in dense])
    return origin + grid * index, rows


@pytest.mark.parametrize("name", CASES)
def test_page_is_whole(name):
    mechanism = made(name)
    text = page(mechanism)
    own = text[text.index("</head>") :]
    for caption in re.findall(r"<figcaption>(.*?)</figcaption>", own, re.S):
        assert not re.search(r"\b(nan|inf|None)\b", caption)
    for drawn in re.findall(r' d="M([^"]*)"', own):
        places = re.split("L|h0M", drawn.removesuffix("h0"))
        assert np.isfinite(np.array([place.split(" ") for place in places], dtype=float)).all()
    assert len(text) < 150_000
    assert text == page(mechanism)


def test_normal_laws_are_drawn_as_the_masses_of_their_cells():
    (view,) = views(made("normals, Laplace").certificate)
    edges = (np.append(view.pair.points, view.pair.points[-1] + 1) - 0.5) * float(view.lattice.grid)
    for row, law in zip(view.pair.weights, (norm(0, 1), norm(1, 2)), strict=True):
        assert row == pytest.approx(np.diff(law.cdf(edges)), abs=1e-14)
    assert view.pair.weights.sum(axis=1) == pytest.approx([1, 1], abs=1e-12)
    low, high = view.values(np.array(view.shown))
    assert (low, high) == pytest.approx((norm(1, 2).ppf(1e-4), norm(1, 2).ppf(1 - 1e-4)), abs=0.1)


@pytest.mark.parametrize("name", [name for name in CASES if "," in name and "no noise" not in name])
def test_noised_laws_and_guesses_are_the_sums_they_stand_for(name):
    (view,) = views(made(name).certificate)
    values, rows = noised(view)
    drawn = curves.laws(view)[1]
    assert len(drawn.values) <= 400
    for k in range(0, len(drawn.values), 17):
        inside = np.abs(values - drawn.values[k]) < drawn.width / 2
        assert drawn.heights[:, k] == pytest.approx(rows[:, inside].sum(axis=1), abs=1e-10)
    right = [np.maximum(*both).sum() / 2 for both in (view.pair.weights, rows)]
    assert curves.guess(view) == pytest.approx(right, abs=1e-9)
    curve = curves.ratio(view)
    there = np.rint((curve.values - values[0]) / float(view.lattice.grid)).astype(int)
    seen = np.isfinite(curve.after)
    expected = np.log(rows[0, there[seen]] / rows[1, there[seen]])
    assert curve.after[seen] == pytest.approx(expected, abs=1e-6)
    assert np.all(rows[:, there[seen]] > 0)
    if not view.tight:
        assert rows[:, there[seen]].min() > 0.9e-12 * rows.max()


def test_largest_shift_of_pure_noise_is_the_proved_one():
    certificate = made("normals, pure").certificate
    (view,) = views(certificate)
    assert curves.ratio(view).largest == pytest.approx(certificate.proved["epsilon"], abs=1e-8)
    assert facts(certificate).leak == pytest.approx(certificate.proved["epsilon"], abs=1e-8)


def test_shift_without_limit_is_called_so():
    certificate = made("normals, Gaussian").certificate
    (view,) = views(certificate)
    curve, f = curves.ratio(view), facts(certificate)
    assert math.isinf(curve.largest) and math.isinf(f.leak) and 1 < curve.drawn < 20
    caption = sentence("ratio_caption", view, curve, f)
    assert "unlimited" in caption and f"reaches {number(curve.drawn, 'up', 4)}" in caption and "10⁻¹²" in caption
    assert "may shift them by any factor" in sentence("remainder", f) and "knows" not in sentence("remainder", f)


def test_gaussian_noise_tells_no_more_than_the_value_itself():
    """Equal supports: the ratio is at most that without noise, ln 2 here, although the noise alone has no limit."""
    certificate = made("atoms, Gaussian").certificate
    (view,) = views(certificate)
    curve, f = curves.ratio(view), facts(certificate)
    assert f.leak == pytest.approx(math.log(2)) and 0.1 < curve.drawn < f.leak
    assert f"no single value can shift them by more than a factor of {factor(f.leak)}" in sentence("remainder", f)
    assert "unlimited" not in sentence("ratio_caption", view, curve, f)


def test_lines_are_interrupted_where_nothing_is_drawn():
    (view,) = views(made("atoms apart, Gaussian").certificate)
    curve = curves.ratio(view)
    assert np.isnan(curve.after).sum() == 1 and np.all(np.diff(curve.values) > 0)


def test_values_impossible_under_atoms_settle_the_question_before_noise():
    (view,) = views(made("normal against atoms, Laplace").certificate)
    curve = curves.ratio(view)
    assert curve.only_first == pytest.approx(1, abs=0.02) and curve.only_second == 0
    (smooth,) = views(made("normals, Laplace").certificate)
    assert curves.ratio(smooth).only_first == curves.ratio(smooth).only_second == 0


def test_noise_is_named():
    told = {name: sentence("accuracy", facts(made(name).certificate)) for name in CASES}
    assert "Laplace noise" in told["normals, Laplace"] and "Gaussian noise" not in told["normals, Laplace"]
    assert "Gaussian noise" in told["atoms, Gaussian"] and "bell curve" in told["atoms, Gaussian"]
    assert "Laplace noise" in told["coin"] and "Gaussian noise" in told["coin"]
    assert "no noise" in told["normals, no noise"]
    assert [type(part.certificate.noise).__name__ for part in parts(made("coin").certificate)] == [
        "Laplace",
        "Gaussian",
    ]


def test_loss_under_the_reference_itself_stands_beside_the_promise():
    certificate = made("fitted").certificate
    told = certificate.body["empirical"]
    assert told["holds"] is False
    text = sentence("beside", facts(certificate))
    assert "not for the reference values" in text and "would not keep the promise" in text
    assert number(told["delta"], "up") in text
    assert text in page(certificate)
    assert sentence("beside", facts(made("normals, Laplace").certificate)) == ""


@pytest.mark.parametrize(
    ("found", "budget", "said"),
    [
        ({"epsilon": 0.25, "delta": 0.0, "holds": True}, fugu.Approx(0.5, 0.01), "keep the promise too"),
        ({"epsilon": 0.8, "delta": 0.0, "holds": False}, fugu.Pure(0.5), "where ε\xa0=\xa00.5 is promised"),
        ({"epsilon": None, "delta": 0.0, "holds": False}, fugu.Pure(0.5), "no limit on the odds"),
    ],
)
def test_every_way_the_reference_can_turn_out_has_words(found, budget, said):
    body = fugu.calibrate(DISCRETE, budget).certificate.body
    assert said in sentence("beside", facts(fugu.Certificate({**body, "empirical": found})))


def test_methods_carry_the_names_of_their_noises():
    comparison = fugu.compare(NORMALS, BUDGET)
    for name, noise in (("normals, Laplace", "Laplace"), ("normals, Gaussian", "Gaussian")):
        mechanism = made(name)
        lines = methods(mechanism.certificate, comparison)
        assert [(line.method, line.noise) for line in lines if line.used] == [("exact", noise)]
        assert [line.noise for line in lines].count("Gaussian") == 1
        assert all(line.note and line.epsilon is None for line in lines if math.isinf(line.scale))
        text = page(mechanism, comparison)
        assert f'★ used here</th>\n<td data-name="noise">{noise}</td>' in text and ">exact, Gaussian" in text
    assert all(name in words()["methods"] for name in (line.method for line in lines))
    (alone,) = methods(made("atoms, Gaussian").certificate)
    assert (alone.noise, alone.proved, alone.used) == ("Gaussian", True, True)


def test_more_gaussian_noise_is_not_called_proved():
    certificate = made("atoms, Gaussian").certificate
    lines = methods(fugu.Certificate({**certificate.body, "scales": {"l1": 50.0, "exact": 5.9}}))
    assert [line.proved for line in lines] == [None, True]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_laws_known_up_to_an_error_say_so(noise):
    p, q = (Discrete.iid_sum(Discrete([0, 1], w), 40, method="fft") for w in ([1, 1], [2, 3]))
    assert p.error > 0
    mechanism = fugu.calibrate(fugu.LawPair(p, q, "a vs b"), fugu.Approx(1, 0.01), noise=noise)
    (view,) = views(mechanism.certificate)
    f, right = facts(mechanism.certificate), curves.guess(view)
    assert f.unlimited == view.unlimited == "error"
    assert "known up to a small error" in sentence("remainder", f)
    assert percent(max(view.pair.errors), "up") in sentence("laws_caption", view, curves.laws(view), right)
    assert "no limit is known" in sentence("ratio_caption", view, curves.ratio(view), f)
    assert not re.search(r"\bnan\b", page(mechanism))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_pairs_of_three_secrets_are_ranked_worst_first(noise):
    laws = {f"s{k}": fugu.Normal(m, 2) for k, m in enumerate((0, 1, 4))}
    certificate = fugu.calibrate(fugu.Scenario(laws), fugu.Approx(1, 0.01), noise=noise).certificate
    drawn = views(certificate)
    assert [view.label for view in drawn] == ["s0 vs s2", "s1 vs s2", "s0 vs s1"]
    assert facts(certificate).pairs == 3


@pytest.mark.parametrize("jargon", ["hockey", "divergence", "sensitivity", "posterior", "empirical", "convolution"])
def test_new_sentences_are_free_of_jargon(jargon):
    text = [
        *(kind(1.0).words for kind in (Laplace, Gaussian, GeneralizedCauchy, AtomLaplace)),
        *words()["methods"].values(),
    ]
    for name in ("fitted", "normals, Gaussian"):
        certificate = made(name).certificate
        (view,) = views(certificate)
        f = facts(certificate)
        text += [sentence("beside", f), sentence("accuracy", f), sentence("ratio_caption", view, curves.ratio(view), f)]
    assert jargon not in " ".join(text)
