"""`PerEntryDP`: mechanisms from outside carry a charge, run once, and are asked for their own epsilon if they know."""

from __future__ import annotations

from fractions import Fraction

import pytest

import fugu
from fugu.errors import AlreadyReleased, BadBudget, NotProvable, UsageError
from fugu.mechanism.per_entry import PerEntryDP


class Measurement:
    """Shaped like an OpenDP measurement."""

    def __init__(self, per_unit, metric="ChangeOneDistance()", measure="MaxDivergence()", delta=None):
        self.per_unit, self.delta, self.calls = per_unit, delta, 0
        self.input_metric, self.output_measure = metric, measure

    def map(self, d_in):
        loss = d_in * self.per_unit
        return loss if self.delta is None else (loss, self.delta)

    def invoke(self, data):
        self.calls += 1
        return len(data)


class Bare:
    """Only invoke and map, no metric."""

    def map(self, d_in):
        return 0.5 * d_in

    def invoke(self, data):
        return len(data)


def test_a_function_runs_once_and_carries_its_charge():
    calls = []
    wrapped = fugu.PerEntryDP(lambda data: calls.append(1) or sum(data), 0.1)
    out = wrapped.release([1, 2, 3])
    assert out.value == 6 and calls == [1]
    assert out.charge == wrapped.charge == {"kind": "per-entry", "guarantee": fugu.Pure(Fraction(1, 10))}
    assert out.epsilon == Fraction(1, 10)
    assert out.certificate["domain"] == "full product" and out.certificate["claimed by"] == "the user"
    with pytest.raises(AlreadyReleased, match="Ledger"):
        wrapped.release([1])
    assert calls == [1]
    assert wrapped.release([1], charged=True).value == 1


def test_delta_is_carried():
    wrapped = PerEntryDP(len, 1, 1e-6)
    assert wrapped.charge["guarantee"] == fugu.Approx(1, Fraction(1, 10**6))


def test_the_epsilon_of_the_map_is_checked():
    assert PerEntryDP(Measurement(0.5), 0.5).release("ab").value == 2
    assert PerEntryDP(Measurement(0.5), 0.75).epsilon == Fraction(3, 4)
    with pytest.raises(NotProvable, match=r"says epsilon 0\.5"):
        PerEntryDP(Measurement(0.5), 0.49)
    with pytest.raises(NotProvable):
        PerEntryDP(Measurement(float("nan")), 1)
    with pytest.raises(NotProvable):
        PerEntryDP(Measurement(float("inf")), 1)


def test_a_float_from_the_map_is_charged_as_the_binary_number_it_is():
    """The double 0.1 is above 1/10: what the map proves is charged, not the decimal below it."""
    assert PerEntryDP(Measurement(0.1), 0.1).epsilon == Fraction(0.1) > Fraction(1, 10)
    assert PerEntryDP(Measurement(0.1), Fraction(1, 10)).epsilon == Fraction(0.1)
    assert PerEntryDP(Measurement(0.1), fugu.Pure(0.2)).epsilon == Fraction(1, 5)
    assert PerEntryDP(lambda data: 0, 0.1).epsilon == Fraction(1, 10)


@pytest.mark.parametrize("metric", ["SymmetricDistance()", "InsertDeleteDistance()"])
def test_one_replacement_is_two_steps_of_add_or_remove(metric):
    """map(1) of such a metric is about adding or removing an entry: half of what a replacement costs."""
    with pytest.raises(NotProvable, match=r"epsilon 1\.0"):
        PerEntryDP(Measurement(0.5, metric), 0.5)
    assert PerEntryDP(Measurement(0.5, metric), 1).epsilon == 1


def test_an_unknown_metric_needs_d_in_and_no_metric_means_one():
    with pytest.raises(NotProvable, match="d_in"):
        PerEntryDP(Measurement(0.5, "AbsoluteDistance(i32)"), 5)
    assert PerEntryDP(Measurement(0.5, "AbsoluteDistance(i32)"), 5, d_in=10).epsilon == 5
    with pytest.raises(NotProvable):
        PerEntryDP(Measurement(0.5, "AbsoluteDistance(i32)"), 5, d_in=11)
    assert PerEntryDP(Bare(), 0.5).release("ab").value == 2
    for wrong in (0, True, 1.5):
        with pytest.raises(UsageError):
            PerEntryDP(Bare(), 5, d_in=wrong)


def test_another_measure_is_refused_and_a_pair_is_read():
    with pytest.raises(NotProvable, match="ZeroConcentrated"):
        PerEntryDP(Measurement(0.5, measure="ZeroConcentratedDivergence()"), 1)
    approximate = Measurement(0.5, measure="Approximate(MaxDivergence)", delta=1e-7)
    assert PerEntryDP(approximate, 0.5, 1e-6).charge["guarantee"] == fugu.Approx(0.5, 1e-6)
    with pytest.raises(NotProvable, match="delta"):
        PerEntryDP(approximate, 0.5)
    with pytest.raises(NotProvable):
        PerEntryDP(Measurement("a profile", measure="SmoothedMaxDivergence()"), 1)


def test_a_map_that_fails_proves_nothing():
    class Broken(Bare):
        def map(self, d_in):
            raise TypeError("no such distance")

    with pytest.raises(NotProvable, match="no such distance"):
        PerEntryDP(Broken(), 1)


@pytest.mark.parametrize("epsilon", [0, -1, float("inf"), float("nan"), True, "1", None])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(BadBudget):
        PerEntryDP(len, epsilon)


@pytest.mark.parametrize("delta", [-0.1, 1, float("nan"), True])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(BadBudget):
        PerEntryDP(len, 1, delta)


def test_a_mechanism_calibrated_to_beliefs_is_no_per_entry_mechanism():
    pair = fugu.LawPair(fugu.Discrete([0, 1], [9, 1]), fugu.Discrete([0, 1], [1, 9]))
    with pytest.raises(NotProvable, match="beliefs"):
        PerEntryDP(fugu.calibrate(pair, fugu.Pure(1)), 1)
    with pytest.raises(UsageError, match="function"):
        PerEntryDP(7, 1)


def test_a_failure_tells_nothing_private_and_counts_as_a_release():
    def fails(data):
        raise ValueError(f"secret {data}")

    wrapped = PerEntryDP(fails, 1)
    with pytest.raises(UsageError, match="ValueError") as caught:
        wrapped.release("hidden")
    assert "hidden" not in str(caught.value) and caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    with pytest.raises(AlreadyReleased):
        wrapped.release("hidden")


def test_no_private_value_in_repr_or_certificate():
    wrapped = PerEntryDP(len, 1)
    assert "hidden" not in repr(wrapped) + str(wrapped.certificate)
