"""Statistics of independent records: the right law pairs, the right numbers, clear refusals."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu import Approx, Discrete, Laplace, LawPair, Pure, answer, calibrate, delta, epsilon, verify
from fugu.data import Table, read_table
from fugu.errors import (
    FuguError,
    MissingValues,
    NoiselessRelease,
    PriorNotPublic,
    RepeatedUnit,
    UnknownName,
    UsageError,
)
from fugu.queries import StatisticQuestion
from fugu.queries.features import Coded
from fugu.queries.law_price import sum_pairs
from release_files import certificates_of

REFERENCE = str(resources.files("fugu.examples") / "clinic_reference.csv")
TODAY = str(resources.files("fugu.examples") / "clinic_today.csv")
SMALL = {"s": ["a", "b"] * 15, "x": [0, 1, 1, 2, 3, 3] * 5, "g": ["u"] * 20 + ["v"] * 10}
OTHER = {"s": ["a", "b"] * 20, "x": [0, 1, 1, 3] * 10, "g": ["u"] * 40}


def brute_force(given, pooled, rows):
    """P(sum | secret) by enumerating every combination of records, in Fractions."""
    law: dict[int, Fraction] = {}
    for combination in itertools.product(given.items(), *[pooled.items()] * (rows - 1)):
        total, mass = sum(v for v, _ in combination), Fraction(1)
        for _, m in combination:
            mass *= m
        law[total] = law.get(total, Fraction(0)) + mass
    return law


def test_the_law_of_a_sum_given_a_secret_is_the_enumeration():
    a, b = {0: Fraction(1, 2), 1: Fraction(1, 2)}, {1: Fraction(1, 4), 3: Fraction(3, 4)}
    pooled = {0: Fraction(1, 4), 1: Fraction(3, 8), 3: Fraction(3, 8)}
    laws = {"a": Discrete([0, 1]), "b": Discrete([1, 3], [1, 3])}
    (pair,), _ = sum_pairs(laws, Discrete([0, 1, 3], [2, 3, 3]), 4, Pure(1))
    for law, given in ((pair.p, a), (pair.q, b)):
        expected = brute_force(given, pooled, 4)
        parts, total = law.masses.whole()
        found = {int(v): Fraction(m, total) for v, m in zip(law.values, parts, strict=True) if m}
        assert found == expected
    # and a wrong version, the pooled law for all records, is another law
    assert pair.p != Discrete([0, 1, 3], [2, 3, 3]).iid_sum(4)


def test_the_single_record_fallback_is_never_less_noise_than_the_sum_needs():
    laws = {"a": Discrete([0, 1], [9, 1]), "b": Discrete([0, 1], [1, 9])}
    alone = calibrate([LawPair(laws["a"], laws["b"])], Pure(0.5), grid=1).noise.scale
    (pair,), _ = sum_pairs(laws, Discrete([0, 1]), 12, Pure(0.5))
    assert epsilon(Laplace(alone), pair) <= 0.5
    assert calibrate(pair, Pure(0.5), grid=1).noise.scale <= alone


@pytest.mark.parametrize("budget", [Pure(1), Approx(0.3, 1e-4)], ids=str)
@pytest.mark.parametrize("query", ["sum(x)", "mean(x)", "count(s=a)"])
def test_every_group_is_answered_with_an_interval_and_a_certificate(query, budget):
    protect = "g" if query == "count(s=a)" else "s"
    by = None if protect == "g" else "g"
    reference = {**OTHER, "g": ["u", "u", "v", "v"] * 10}
    found = answer(SMALL, query, protect, budget, reference, by=by, bounds=(0, 3), step=1, allow_no_noise=True)
    assert [c.group for c in found.cells] == (["u", "v"] if by else [""])
    assert all(c.low <= c.value <= c.high for c in found.cells)
    for mechanism in found.mechanisms.values():
        assert verify(mechanism.certificate).holds
        assert any("independent" in a for a in mechanism.certificate.assumptions)


def test_the_numbers_are_right_when_nothing_is_added():
    known = {name: column for name, column in OTHER.items() if name != "g"}
    found = answer(SMALL, "mean(x)", "s", Approx(3, 0.4), known, by="g", bounds=(0, 2), step=1, allow_no_noise=True)
    if all(c.scale == 0 for c in found.cells):
        clipped = np.minimum(SMALL["x"], 2)
        assert [c.value for c in found.cells] == pytest.approx([clipped[:20].mean(), clipped[20:].mean()])
    else:
        pytest.fail("the budget was meant to need no noise")


def test_intervals_cover_the_truth_as_often_as_they_say():
    truth = float(np.sum(SMALL["x"]))
    hits = 0
    for _ in range(200):
        (cell,) = answer(SMALL, "sum(x)", "s", Pure(0.5), OTHER, bounds=(0, 3), step=1).cells
        hits += cell.low <= truth <= cell.high
    assert hits >= 178  # 95 % of 200, minus six standard deviations


def test_a_histogram_has_the_cells_of_the_reference_whatever_the_private_table_holds():
    private = {"c": ["x", "y", "zzz-private"], "s": ["a", "b", "a"]}
    found = answer(private, "histogram(c)", "s", Pure(1), {"c": ["x", "y", "w"], "s": ["a", "b", "a"]})
    assert [c.cell for c in found.cells] == ["w", "x", "y", "(other)"]
    assert found.cells[0].scale == 2  # one record moves two counts: 2 / epsilon
    (mechanism,) = found.mechanisms.values()
    assert verify(mechanism.certificate).holds
    # the definition: all pairs of histograms of 3 records that differ in one record, all outputs in a box, exactly
    base = np.array([1, 1, 1, 0])
    for i, j in itertools.permutations(range(4), 2):
        moved = base.copy()
        moved[i] -= 1
        moved[j] += 1
        assert np.abs(moved - base).sum() / found.cells[0].scale <= 1


def test_crosstabs_have_all_combinations():
    found = answer(Table(SMALL), "crosstab(s, g)", "x", Pure(1), SMALL, public_prior=True)
    assert len(found.cells) == 9 and found.cells[0].cell == "a / u"


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: answer(SMALL, "mean(x)", "s", Pure(1), OTHER, bounds=(3, 0)), UsageError, "increasing"),
        (lambda: answer(SMALL, "mean(x)", "s", Pure(1), OTHER, bounds=(0, 3), step=1e-9), UsageError, "step"),
        (lambda: answer(SMALL, "median(x)", "s", Pure(1), OTHER), UnknownName, "query"),
        (lambda: answer(SMALL, "mean x", "s", Pure(1), OTHER), UsageError, "looks like"),
        (lambda: answer(SMALL, "count(x)", "s", Pure(1), OTHER), UsageError, "condition"),
        (lambda: answer(SMALL, "mean(y)", "s", Pure(1), OTHER, bounds=(0, 3)), FuguError, "no column 'y'"),
        (lambda: answer(SMALL, "mean(x)", "s", Pure(1), SMALL, bounds=(0, 3), step=1), PriorNotPublic, "public_prior"),
        (lambda: answer(SMALL, "histogram(s)", "x", Pure(1), SMALL), PriorNotPublic, "very table"),
        (lambda: answer(SMALL, "histogram(s)", "nosuch", Pure(1), OTHER), FuguError, "nosuch"),
        (lambda: answer(SMALL, "sum(x)", "s", Pure(1), OTHER, by="s", bounds=(0, 3)), UsageError, "makes it public"),
        (lambda: answer(SMALL, "sum(x)", "s", Pure(1), OTHER, bounds=(0, 3), step=1, unit="g"), RepeatedUnit, "unit"),
        (
            lambda: answer(SMALL, "mean(x)", "s", Approx(3, 0.4), OTHER, bounds=(0, 2), step=1),
            NoiselessRelease,
            "allow_no_noise",
        ),
        (
            lambda: answer(SMALL, "sum(x)", "s", Pure(1), {**OTHER, "x": [None, *OTHER["x"][1:]]}, bounds=(0, 3)),
            MissingValues,
            "x",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_statistics_read_back_as_they_were_written():
    for text in ("mean(chol)", "count(smoker=yes)", "crosstab(ward, sex)"):
        assert str(StatisticQuestion.of_total(text)) == text


def test_the_command_line_answers_by_group(tmp_path):
    options = "--query mean(chol) --by ward --protect smoker --epsilon 0.5 --bounds 100,300 --step 5 --route law --json"
    args = ["release", TODAY, *options.split(), "--reference", REFERENCE, "-o", str(tmp_path / "m.csv")]
    done = CliRunner().invoke(cli.app, args)
    assert done.exit_code == 0, done.exception
    assert [c["group"] for c in json.loads(done.stdout)["cells"]] == ["north", "south", "west"]
    assert (tmp_path / "m.csv").read_text().splitlines()[0] == "group,value,low,high"
    assert list(certificates_of(tmp_path / "m.csv")) == ["north", "south", "west"]
    assert len(list(tmp_path.glob("*.certificate.json"))) == 1
    true = read_table(TODAY)
    means = [true.column("chol")[true.column("ward") == w].mean() for w in ("north", "south", "west")]
    shown = [c["value"] for c in json.loads(done.stdout)["cells"]]
    assert shown == pytest.approx(means, abs=2.5)


def test_a_query_and_a_column_at_once_are_refused(tmp_path):
    options = "--query mean(chol) --publish chol --protect smoker --epsilon 1 --public-prior"
    args = ["release", TODAY, *options.split(), "-o", str(tmp_path / "m.csv")]
    assert isinstance(CliRunner().invoke(cli.app, args).exception, UsageError)


def test_delta_of_a_pair_of_sums_counts_both_orders():
    laws = {"a": Discrete([0, 1], [9, 1]), "b": Discrete([0, 1], [5, 5])}
    (pair,), _ = sum_pairs(laws, Discrete([0, 1]), 5, Approx(0.1, 0.1))
    assert delta(Laplace(0), pair, 0.1) == delta(Laplace(0), LawPair(pair.q, pair.p), 0.1)


def test_options_that_a_query_does_not_know_are_refused_not_ignored(tmp_path):
    for extra in (
        "--prior gaussian",
        "--noise gaussian",
        "--method exact",
        "--grid 5",
        "--pairs adjacent",
    ):
        options = f"--query mean(chol) --protect smoker --epsilon 1 --public-prior --bounds 100,300 {extra}"
        args = ["release", TODAY, *options.split(), "-o", str(tmp_path / "m.csv")]
        refused = CliRunner().invoke(cli.app, args).exception
        assert isinstance(refused, UsageError) and extra.split()[0] in str(refused)
    assert list(tmp_path.iterdir()) == []


def test_counting_the_secret_itself_is_the_plain_laplace_mechanism():
    """Given the secret, one record adds 0 or 1 for sure: two point masses, and whatever the others add."""
    found = answer(SMALL, "count(s=a)", "s", Pure(0.5), {**OTHER, "s": ["a"] * 10 + ["b"] * 30})
    assert 0 < found.cells[0].scale <= 2


def test_edges_that_are_no_numbers_are_refused():
    """NaN is neither above nor below anything: a comparison that asks for `>=` lets it pass."""
    table, known = {"s": ["a", "b"] * 40, "v": [1, 2] * 40}, {"s": ["a", "b"] * 50, "v": [1, 2, 2, 1] * 25}
    for edges in ([0, float("nan")], [float("nan"), 1], [0, 1, float("nan")], [0, 0]):
        with pytest.raises(UsageError, match=r"increasing numbers|finite numbers"):
            answer(table, "histogram(v)", "s", Pure(1), known, bins=edges)


@pytest.mark.parametrize("query", ["histogram(v)", "crosstab(v, s)", "mean(v)"])
@pytest.mark.parametrize("bins", [{"v": [0, 1, 2]}, ["a", "b"], 7, [0, 1, 2]])
def test_bins_that_do_not_fit_are_refused_before_anything_is_charged(query, bins, tmp_path):
    """A refusal after the draw would cost the whole table, and return nothing."""
    table, known = {"s": ["a", "b"] * 40, "v": [1, 2] * 40}, {"s": ["a", "b"] * 50, "v": [1, 2, 2, 1] * 25}
    ledger, more = tmp_path / "l.db", {"bounds": (0, 2), "step": 1} if query == "mean(v)" else {}
    asked = (table, query, "s", Pure(1), known)
    if bins == [0, 1, 2] and query != "crosstab(v, s)":
        assert answer(*asked, bins=bins, ledger=False, allow_no_noise=True, **more).recipe["bins"] == [0.0, 1.0, 2.0]
        return
    with pytest.raises(UsageError, match="bins"):
        answer(*asked, bins=bins, ledger=ledger, data="d", **more)
    assert not ledger.exists()


THREE = {"a": Discrete([0, 1], [9, 1]), "b": Discrete([0, 1], [5, 5]), "c": Discrete([0, 1], [1, 9])}


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("budget", [Pure(0.5), Approx(0.5, 1e-3)], ids=str)
def test_all_pairs_of_secrets_are_hidden(rows, budget):
    pairs, _ = sum_pairs(THREE, Discrete([0, 1]), rows, budget)
    assert [pair.label for pair in pairs] == ["a vs b", "a vs c", "b vs c"]


def test_a_record_counts_between_its_bounds_whatever_it_holds():
    hostile = np.array([-np.inf, -1e300, -0.0, 0.4, 0.6, 2.4999, 9, 1e300, np.inf])
    assert Coded("x", Fraction(0), Fraction(1), 3).codes(hostile).tolist() == [0, 0, 0, 0, 1, 2, 3, 3, 3]
    assert Coded("x", Fraction(-2), Fraction(1, 2), 4).codes(hostile).tolist() == [0, 0, 4, 4, 4, 4, 4, 4, 4]


def test_a_released_sum_is_of_clipped_values():
    reference = {"s": ["a", "b"] * 20, "x": [0, 1, 2, 1] * 10}
    private = {"s": ["a", "b"] * 10, "x": [-50, 1, 500, 1] * 5}
    (cell,) = answer(
        private, "sum(x)", "s", Approx(3, 0.4), reference, bounds=(0, 2), step=1, allow_no_noise=True
    ).cells
    assert cell.scale == 0 and cell.value == 20
