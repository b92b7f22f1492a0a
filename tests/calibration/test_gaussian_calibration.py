"""Exact calibration for normal and mixture beliefs, with Laplace and Gaussian noise on a lattice."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from fugu import Approx, Discrete, Gaussian, Laplace, LawPair, Normal, NormalMixture, Pure, calibrate, compare, verify
from fugu.errors import NotProvable

# (mean, std), (mean, std), epsilon, delta, exact continuous Laplace scale, exact continuous Gaussian scale
# (theory/kantorovich-gaussian.md sections 2 and 5)
ROWS = [
    ((0, 1), (1, 1), 1, 1e-5, 0.9992499364, 3.594108010994),
    ((0, 1), (1, 2), 1, 0.01, 1.6309348849, 3.107687040974),
    ((0, 1), (0, 2), 0.5, 0.01, 1.5456595806, 2.889934751903),
    ((0, 5), (1, 5.1), 0.1, 1e-3, 9.8524251824, 17.536181938224),
    ((0, 1), (3, 10), 2, 0.05, 4.1199899793, 8.141514920176),
]
PURE = [((0, 1), (1, 2), 1, 1.8228756555), ((0, 1), (0, 2), 0.5, 1.7320508076), ((10, 3), (12, 4), 0.5, 5.3166247904),
        ((100, 15), (110, 12), 1, 13.0932070281), ((0, 1), (0, 2), 0.1, 7.2758850317)]  # fmt: skip


def cells(law, grid, low, high):
    """P(round(X / grid) = k) for k in low .. high, at 40 digits, from the definition."""
    parts = (
        [(1, law.mean, law.std)]
        if isinstance(law, Normal)
        else list(zip(law.weights, law.means, law.stds, strict=True))
    )

    def cdf(x):
        return sum(mp.mpf(w) * mp.ncdf((x - mp.mpf(m)) / mp.mpf(s)) for w, m, s in parts)

    edges = [cdf((mp.mpf(k) - mp.mpf(1) / 2) * mp.mpf(grid.numerator) / grid.denominator) for k in range(low, high + 2)]
    return [b - a for a, b in pairwise(edges)]


def oracle_delta(p, q, noise, epsilon):
    """sup over events on a wide window of lattice points, by plain convolution at 40 digits; both orders."""
    grid, scale = noise.grid, mp.mpf(float(noise.scale))
    g = mp.mpf(grid.numerator) / grid.denominator
    spread = 9 * max(float(law.std) if isinstance(law, Normal) else law.std() for law in (p, q))
    centres = [float(law.mean) if isinstance(law, Normal) else law.mean() for law in (p, q)]
    low, high = (math.floor((min(centres) - spread) / float(g)), math.ceil((max(centres) + spread) / float(g)))
    reach = math.ceil((40 if isinstance(noise, Laplace) else 9) * float(noise.scale) / float(g))
    k = np.arange(-reach, reach + 1)
    shape = [
        mp.e ** (-abs(int(j)) * g / scale)
        if isinstance(noise, Laplace)
        else mp.e ** (-((int(j) * g) ** 2) / (2 * scale**2))
        for j in k
    ]
    norm = float(mp.fsum(shape))
    kernel = np.array([float(s) / norm for s in shape])
    f = [np.convolve(np.array([float(x) for x in cells(law, grid, low, high)]), kernel) for law in (p, q)]
    e = math.exp(epsilon)
    return max(np.maximum(f[0] - e * f[1], 0).sum(), np.maximum(f[1] - e * f[0], 0).sum())


@pytest.mark.parametrize("row", ROWS, ids=str)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_lattice_scale_is_the_continuous_optimum_within_half_a_percent(row, kind):
    (a, b, epsilon, delta, laplace, gaussian) = row
    pair = LawPair(Normal(*a), Normal(*b), "a vs b")
    mechanism = calibrate(pair, Approx(epsilon, delta), noise=kind)
    wanted = laplace if kind == "laplace" else gaussian
    assert wanted * 0.995 <= mechanism.noise.scale <= wanted * 1.005
    assert mechanism.certificate.proved["delta"] <= delta
    assert verify(mechanism, pair).holds


@pytest.mark.parametrize("row", ROWS[1:4], ids=str)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_an_oracle_from_the_definition_confirms_the_budget_and_catches_a_smaller_scale(row, kind):
    (a, b, epsilon, delta, _, _) = row
    p, q = Normal(*a), Normal(*b)
    noise = calibrate(LawPair(p, q), Approx(epsilon, delta), noise=kind).noise
    assert oracle_delta(p, q, noise, epsilon) <= delta * (1 + 1e-9) + 1e-12
    assert oracle_delta(p, q, type(noise)(float(noise.scale) * 0.98, noise.grid), epsilon) > delta


@pytest.mark.parametrize(("a", "b", "epsilon", "scale"), PURE)
def test_pure_budgets_on_gaussians_are_finite(a, b, epsilon, scale):
    """Theorem G0: the paper's formula gives infinity here."""
    mechanism = calibrate(LawPair(Normal(*a), Normal(*b)), Pure(epsilon))
    assert mechanism.noise.scale == pytest.approx(scale, rel=1e-4)
    assert verify(mechanism).holds


@pytest.mark.parametrize(
    ("p", "q", "scale"),
    [
        (NormalMixture([0.99, 0.01], [0, 0], [1, 1]), NormalMixture([0.99, 0.01], [0, 100], [1, 1]), 19.40881549),
        (NormalMixture([0.5, 0.5], [0, 0], [1, 1]), NormalMixture([0.5, 0.5], [0, 10], [1, 1]), 6.71194939),
    ],
)
def test_mixtures_that_refute_the_printed_theorem_get_what_they_need(p, q, scale):
    mechanism = calibrate(LawPair(p, q), Pure(1))
    assert mechanism.noise.scale == pytest.approx(scale, rel=1e-4)
    printed = sum(float(w) * abs(float(m) - float(n)) for w, m, n in zip(p.weights, p.means, q.means, strict=True))
    assert printed < 0.8 * scale  # Theorem 2's scale, which does not protect


def test_no_noise_when_the_spread_of_the_data_suffices():
    mechanism = calibrate(LawPair(Normal(100, 15), Normal(110, 12)), Approx(1, 0.3))
    assert mechanism.noise.scale == 0
    assert mechanism.certificate.proved["delta"] == pytest.approx(0.12295, abs=5e-4)
    assert calibrate(LawPair(Normal(100, 15), Normal(110, 12)), Approx(1, 0.12)).noise.scale > 0


def test_mixed_kinds_and_points_without_spread():
    mechanism = calibrate(LawPair(Normal(0, 1), Discrete([0, 1, 2])), Approx(1, 0.01))
    assert verify(mechanism).holds and mechanism.noise.scale > 0
    point = calibrate(LawPair(Normal(0, 0), Normal(3, 0)), Pure(0.5), grid=1)
    assert point.noise.scale == 6
    balle_wang = calibrate(LawPair(Normal(0, 0), Normal(1, 0)), Approx(1, 1e-5), noise="gaussian", grid=Fraction(1, 20))
    assert balle_wang.noise.scale == pytest.approx(3.730631634816, rel=2e-3)


def test_gaussian_noise_on_atoms():
    pair = LawPair(Discrete([0, 1, 5], [3, 2, 1]), Discrete([0, 1, 5], [1, 2, 3]))
    mechanism = calibrate(pair, Approx(0.5, 0.01), noise="gaussian")
    assert isinstance(mechanism.noise, Gaussian) and verify(mechanism).holds
    out = mechanism.release([0, 1, 5, 5]).values
    assert np.all(out == np.round(out))
    best = calibrate(pair, Approx(0.5, 0.01))
    other = calibrate(pair, Approx(0.5, 0.01), noise="laplace")
    assert best.expected_error() == min(mechanism.expected_error(), other.expected_error())


def test_pure_with_gaussian_noise_is_refused_with_the_reason():
    with pytest.raises(NotProvable, match="no pure guarantee"):
        calibrate(LawPair(Normal(0, 1), Normal(1, 1)), Pure(1), noise="gaussian")
    same = LawPair(Normal(0, 1), Normal(0, 1))
    assert calibrate(same, Pure(0.1)).noise.scale == 0


def test_compare_lists_the_methods_for_normal_laws():
    rows = {(r.method, r.noise): r for r in compare(LawPair(Normal(0, 1), Normal(1, 2)), Approx(1, 0.01)).rows}
    exact = rows["exact", "laplace"]
    theorem1 = rows["gaussian-prior", "laplace"]
    assert theorem1.scale == pytest.approx(3.57582930 + 0.05, abs=2e-3)  # one lattice step is added for rounding
    assert (
        exact.scale
        < rows["mixture-coupling", "laplace"].scale
        < theorem1.scale
        < rows["gaussian-prior-lambert", "laplace"].scale
    )
    assert math.isinf(rows["wasserstein", "laplace"].scale) and not rows["wasserstein", "laplace"].proven
    assert ("relaxed", "laplace") not in rows


def test_a_certificate_of_normal_laws_survives_its_file_and_a_forgery_does_not(tmp_path):
    import json

    from fugu import Certificate
    from fugu.documents.document import digest_of

    mechanism = calibrate(LawPair(Normal(0, 1), Normal(1, 2), "a vs b"), Approx(1, 0.01))
    mechanism.certificate.save(tmp_path / "c.json")
    assert verify(tmp_path / "c.json").holds
    body = json.loads((tmp_path / "c.json").read_text())
    body["families"][0]["q"]["means"] = ["3/2"]
    body["fingerprint"] = digest_of(body["families"])
    body = {k: v for k, v in body.items() if k != "digest"}
    assert not verify(Certificate.parse({**body, "digest": digest_of(body)})).holds
