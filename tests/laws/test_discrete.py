"""Laws are held exactly: counts, decimals, Fractions; nothing is merged by tolerance."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu import Discrete, LawPair, Shifted
from fugu.errors import BadLaw, UsageError
from fugu.laws import as_pairs, families
from fugu.laws.masses import exact_sum
from fugu.noise import Lattice


def test_counts_are_normalised_exactly():
    law = Discrete([2, 0, 1], [1, 1, 2])
    assert law.values.tolist() == [0, 1, 2]
    assert law.weights.tolist() == [0.25, 0.5, 0.25]
    assert law.masses.total == 4
    assert law.error == 0


def test_none_means_equal_weights_and_repeated_values_are_joined():
    assert Discrete([5, 5, 7, 5]).weights.tolist() == [0.75, 0.25]


def test_float_weights_are_read_as_decimals():
    law = Discrete([0, 1, 2], [0.1, 0.2, 0.7])
    assert law.masses.whole() == ([1, 2, 7], 10)
    assert Discrete([0, 0, 1], [0.1, 0.2, 0.7]) == Discrete([0, 1], [0.3, 0.7])  # 0.1 + 0.2 is 0.3 here


def test_long_floats_are_the_binary_numbers_they_are():
    w = np.random.default_rng(0).dirichlet(np.ones(50))
    law = Discrete(np.arange(50), w)
    assert law.masses.total == sum((Fraction(x) for x in w.tolist()), Fraction(0))


def test_fractions_must_sum_to_exactly_one():
    assert Discrete([0, 1], [Fraction(1, 3), Fraction(2, 3)]).masses.whole() == ([1, 2], 3)
    with pytest.raises(BadLaw, match="exactly 1"):
        Discrete([0, 1], [Fraction(1, 3), Fraction(1, 3)])


@pytest.mark.parametrize(
    ("weights", "says"),
    [([0.5, 0.4], "sum to 1"), ([-0.5, 1.5], "negative"), ([math.nan, 1.0], "finite"), ([math.inf, 0.0], "finite"),
     ([-1, 2], "negative"), ([0, 0], "all zero"), ([1.0], "2 weights"), (["a", "b"], "weights must be"), ([3.0, 2.0],
     "sum to 1")],
)  # fmt: skip
def test_weights_that_make_no_law_are_refused(weights, says):
    with pytest.raises(BadLaw, match=says):
        Discrete([0, 1], weights)


@pytest.mark.parametrize(
    ("values", "says"),
    [([], "at least one"), ([math.nan, 1], "finite"), ([math.inf], "finite"), (["a"], "numbers"),
     ([2**53 + 1], "2\\*\\*53"), ([Fraction(1, 3)], "decimals"), ([[[1]]], "shape")],
)  # fmt: skip
def test_values_that_no_double_holds_are_refused(values, says):
    with pytest.raises(BadLaw, match=says):
        Discrete(values)


def test_hostile_but_valid_numbers_are_kept():
    law = Discrete([-0.0, 0.0, 5e-324, 2.0**63, 1e300])
    assert law.values.tolist() == [0.0, 5e-324, 2.0**63, 1e300]
    assert not np.signbit(law.values[0])
    assert Discrete(np.array([100, 100], dtype=np.int8), np.array([100, 100], dtype=np.int8)).masses.total == 200
    assert Discrete([0, 1], [1, 10**18]).masses.total == 10**18 + 1
    assert Discrete([0, 1], [10**30, 1]).masses.whole() == ([10**30, 1], 10**30 + 1)
    assert Discrete([0, 1], np.array([2**63, 1], dtype=np.uint64)).masses.total == 2**63 + 1


def test_a_tiny_mass_is_never_dropped():
    law = Discrete([0, 1], [1.0, 1e-300])
    assert law.weights[1] == pytest.approx(1e-300, rel=1e-12, abs=0)
    assert law != Discrete([0, 1], [1.0, 0.0])


def test_vectors_are_sorted_and_joined():
    law = Discrete([[1, 0], [0, 1], [1, 0]])
    assert law.dimension == 2
    assert law.values.tolist() == [[0, 1], [1, 0]]
    assert law.weights.tolist() == pytest.approx([1 / 3, 2 / 3])


@given(st.lists(st.floats(0, 1e300, allow_nan=False), min_size=1, max_size=40))
def test_exact_sum_is_the_sum_of_fractions(numbers):
    assert exact_sum(np.array(numbers)) == sum((Fraction(x) for x in numbers), Fraction(0))


@given(st.lists(st.integers(0, 50), min_size=2, max_size=30), st.data())
def test_pushing_forward_adds_masses_exactly(counts, data):
    if not any(counts):
        counts[0] = 1
    kind = data.draw(st.sampled_from(["counts", "floats"]))
    weights = counts if kind == "counts" else [Fraction(c, sum(counts)) for c in counts]
    law = Discrete(np.arange(len(counts)) * 0.37, weights)
    family = families([LawPair(law, Discrete([0.0]))])[0].on(Lattice(Fraction(1)))
    expected: dict[int, Fraction] = {}
    for k, c in enumerate(counts):
        index = math.floor(Fraction(37 * k, 100) + Fraction(1, 2))
        expected[index] = expected.get(index, Fraction(0)) + Fraction(c, sum(counts))
    parts, total = family.laws[0].whole()
    found = {int(k): Fraction(p, total) for k, p in zip(family.points, parts, strict=True)}
    assert {k: v for k, v in found.items() if v} == {k: v for k, v in expected.items() if v}


def test_pairs_refuse_what_cannot_be_compared():
    with pytest.raises(BadLaw, match="dimension"):
        LawPair(Discrete([0]), Discrete([[0, 1]]))
    with pytest.raises(BadLaw, match="Shifted"):
        LawPair(Discrete([0]), Shifted(1))
    with pytest.raises(BadLaw, match="finite"):
        Shifted(math.nan)
    with pytest.raises(UsageError, match="nothing to protect"):
        as_pairs([])


class TestLattice:
    def test_the_coarsest_lattice_holds_every_atom(self):
        assert Lattice.holding([np.array([0.1, 0.4])]) == Lattice(Fraction(3, 10), Fraction(1, 10))
        assert Lattice.holding([np.array([0.0, 2.0]), np.array([6.0])]) == Lattice(Fraction(2))
        assert Lattice.holding([np.array([1 / 3, 1.0])]) is None

    @given(
        st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=20),
        st.sampled_from([1, 2, 5, 7]),
        st.integers(0, 4),
    )
    def test_index_inverts_value(self, whole, step, places):
        values = np.array(whole) * step / 10.0**places
        lattice = Lattice.holding([values])
        assert lattice is not None
        assert np.array_equal(lattice.value(lattice.index(values)), values)

    def test_a_grid_too_fine_for_the_values_is_refused(self):
        from fugu.errors import BadNoise

        with pytest.raises(BadNoise, match="too fine"):
            Lattice(Fraction(1, 10**9)).index(np.array([1e300]))
