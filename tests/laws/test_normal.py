"""Normal laws and their mixtures: what is refused, what is exact, and the common view."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu.errors import BadLaw
from fugu.laws.discrete import Discrete
from fugu.laws.normal import Normal, NormalMixture


@pytest.mark.parametrize("std", [-1, -1e-300, math.nan, math.inf, "1", True, None, 1j])
def test_a_bad_std_is_refused(std):
    with pytest.raises(BadLaw, match="std"):
        Normal(0, std)
    with pytest.raises(BadLaw, match="std"):
        NormalMixture([1.0], [0], [std])


@pytest.mark.parametrize("mean", [math.nan, math.inf, -math.inf, "0", None, Fraction(10) ** 400])
def test_a_bad_mean_is_refused(mean):
    with pytest.raises(BadLaw, match="mean"):
        Normal(mean, 1)
    with pytest.raises(BadLaw, match="mean"):
        NormalMixture([1.0], [mean], [1])


@pytest.mark.parametrize(
    ("weights", "means", "stds", "text"),
    [
        ([], [], [], "at least one"),
        ([1], [0, 1], [1, 1], "one weight for each"),
        ([1, 1], [0, 1], [1], "one std for each"),
        ([0.5, 0.4], [0, 1], [1, 1], "sum to 1"),
        ([0.5, math.nan], [0, 1], [1, 1], "finite"),
        ([1.5, -0.5], [0, 1], [1, 1], "negative"),
        ([Fraction(1, 2), Fraction(1, 3)], [0, 1], [1, 1], "exactly 1"),
        ([0, 0], [0, 1], [1, 1], "some mass"),
        ([1, 1], 3, [1, 1], "list"),
    ],
)
def test_a_bad_mixture_is_refused(weights, means, stds, text):
    with pytest.raises(BadLaw, match=text):
        NormalMixture(weights, means, stds)


def test_floats_mean_the_decimals_they_show():
    law = Normal(0.1, 0.3)
    assert law.components().exact_means == (Fraction(1, 10),)
    assert law.components().exact_stds == (Fraction(3, 10),)
    assert Normal(Fraction(1, 10), Fraction(3, 10)) == law
    assert hash(Normal(Fraction(1, 10), Fraction(3, 10))) == hash(law)
    assert Normal(Fraction(1, 3), 1).mean == Fraction(1, 3)
    assert Normal(np.float32(0.5), np.int64(2)) == Normal(0.5, 2)
    assert Normal(0, 1) != Normal(0, 1.0000000001)


def test_weights_are_counts_fractions_or_floats():
    thirds = NormalMixture([1, 2], [0, 1], [1, 1])
    assert thirds == NormalMixture([Fraction(1, 3), Fraction(2, 3)], [0, 1], [1, 1])
    assert NormalMixture([3, 1], [0, 1], [1, 1]) == NormalMixture(np.array([0.75, 0.25]), np.array([0, 1]), [1, 1])
    assert sum(thirds.components().exact_weights) == 1
    tiny = NormalMixture([1e-12, 1 - 1e-12], [0, 1], [1, 1]).components()
    assert sum(tiny.exact_weights) == 1
    assert tiny.exact_weights[0] == pytest.approx(1e-12, rel=1e-9)
    assert NormalMixture(None, [0, 1], [1, 1]).weights == (0.5, 0.5)


def test_moments_and_the_common_shape():
    law = NormalMixture([0.25, 0.75], [0, 4], [1, 2])
    assert law.mean() == 3
    assert law.std() == pytest.approx(math.sqrt(0.25 * 1 + 0.75 * 4 + 0.25 * 9 + 0.75 * 1))
    assert law.error == Normal(0, 1).error == 0.0
    assert law.dimension == Normal(0, 1).dimension == 1


def test_components_of_a_discrete_law_are_point_masses():
    law = Discrete([0, 0.1, 5], [1, 2, 0])
    view = law.components()
    assert view.means.tolist() == [0, 0.1]
    assert view.stds.tolist() == [0, 0]
    assert view.exact_weights == (Fraction(1, 3), Fraction(2, 3))
    assert view.exact_means == (0, Fraction(1, 10))
    assert view.exact_stds == (0, 0)
    same = NormalMixture([1, 2, 0], [0, 0.1, 5], [0, 0, 0]).components()
    assert (same.exact_weights, same.exact_means, same.exact_stds) == (
        view.exact_weights,
        view.exact_means,
        view.exact_stds,
    )
    with pytest.raises(BadLaw, match="dimension"):
        Discrete([[0, 1], [1, 2]]).components()


def test_laws_cannot_be_changed():
    law = Normal(0, 1)
    with pytest.raises(AttributeError):
        law.std = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        NormalMixture([1], [0], [1]).means = (1,)  # type: ignore[misc]
