"""A scaler and an encoder with declared rules: nothing is learnt from X, and scikit-learn's checks pass."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from fugu.errors import BadTable, UsageError
from fugu.iterate import DeclaredOneHotEncoder, DeclaredScaler, LogisticRegression

CELLS = "it expects an error for what stands in cells: one private record would decide whether there is an output"


@pytest.mark.parametrize(
    "step", [DeclaredScaler((-10, 10)), DeclaredOneHotEncoder([0, 1, 2]), DeclaredOneHotEncoder([0, 1], other=False)]
)
def test_scikit_learns_checks_fail_only_where_declared(step):
    found = check_estimator(step, expected_failed_checks={"check_complex_data": CELLS}, on_fail=None, on_skip=None)
    assert {r["check_name"] for r in found if r["status"] == "failed"} == set() and len(found) > 40


def test_numbers_go_from_their_bounds_to_one():
    made = DeclaredScaler(([0, -5], [10, 5]), missing=[0, 2.5]).fit(np.zeros((1, 2)))
    found = made.transform([[5, 0], [99, -99], [None, "x"], [2.5, float("nan")]])
    assert found.tolist() == [[0, 0], [1, -1], [-1, 0.5], [-0.5, 0.5]]
    assert DeclaredScaler((0, 1), missing=7).fit_transform([[None]]).tolist() == [[1.0]]
    wide = DeclaredScaler((-1e150, 1e150)).fit_transform([[1e308], [-1e308], [0]])
    assert wide.ravel().tolist() == [1, -1, 0]


def test_categories_are_declared_and_one_number_is_one_category():
    made = DeclaredOneHotEncoder([["a", "b"], [1, 2]]).fit([["zz", 9]])
    rows = [["a", 1], ["b", "1.0"], [" a ", 2.0], ["c", None], [["a"], {}]]
    assert made.transform(rows).astype(int).tolist() == [
        [1, 0, 0, 1, 0, 0], [0, 1, 0, 1, 0, 0], [1, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1], [0, 0, 1, 0, 0, 1],
    ]  # fmt: skip
    assert made.get_feature_names_out(["w", "k"])[[0, 2, 3]].tolist() == ["w_a", "w_(other)", "k_1"]
    bare = DeclaredOneHotEncoder(["a", "b"], other=False, missing="b").fit_transform([["c"], [None], ["a"]])
    assert bare.astype(int).tolist() == [[0, 0], [0, 1], [1, 0]]


def test_fit_reads_nothing_of_x_and_a_scaler_that_does_is_seen():
    rng = np.random.default_rng(0)
    one, two = rng.uniform(0, 1, (2, 50, 1))

    def same(step):
        return np.array_equal(clone(step).fit(one).transform(one), clone(step).fit(two).transform(one))

    assert same(DeclaredScaler((0, 1))) and same(DeclaredOneHotEncoder([0, 1]))
    assert not same(StandardScaler())


@pytest.mark.parametrize(
    ("step", "match"),
    [
        (DeclaredScaler(), "give bounds="), (DeclaredScaler((1, 1)), "low < high|range"),
        (DeclaredScaler(([0, 0], [1, 1])), "bounds"), (DeclaredScaler((0, 1), missing=float("nan")), "missing is a"),
        (DeclaredOneHotEncoder(), "give categories="), (DeclaredOneHotEncoder(["a", "a"]), "different texts"),
        (DeclaredOneHotEncoder([]), "different texts"), (DeclaredOneHotEncoder([["a"], ["b"]]), "2 lists"),
        (DeclaredOneHotEncoder(["1", "1.0"]), "same number|different"), (DeclaredOneHotEncoder("ab"), "different"),
        (DeclaredOneHotEncoder(["a"], missing="c"), "missing must be"),
        (DeclaredOneHotEncoder(["a"], other=1), "other"),
        (DeclaredOneHotEncoder(["(other)"]), "none of them"),
    ],
)  # fmt: skip
def test_wrong_declarations_are_refused_before_any_cell_is_read(step, match):
    with pytest.raises(UsageError, match=match):
        step.fit([["SENTINEL"]])


def test_names_of_columns_are_held_against_those_of_fit():
    made = DeclaredScaler((0, 1)).fit(pd.DataFrame({"a": [1]}))
    with pytest.raises(BadTable, match="feature names"):
        made.transform(pd.DataFrame({"b": [1]}))
    with pytest.raises(BadTable, match="feature_names_in_"):
        made.get_feature_names_out(["b"])
    with pytest.raises(BadTable, match="length"):
        made.get_feature_names_out(["a", "b"])


def test_a_pipeline_learns_from_numbers_and_categories():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.uniform(20, 90, 3000), "ward": rng.choice(["a", "b", "c"], 3000)})
    ill = np.where(table.age + 30 * (table.ward == "a") > 65, "yes", "no")
    columns = ColumnTransformer([("n", DeclaredScaler((0, 100)), ["age"]),
                                 ("c", DeclaredOneHotEncoder(["a", "b"]), ["ward"])])  # fmt: skip
    model = LogisticRegression(epsilon=20, bounds=(-1, 1), classes=("no", "yes"))
    whole = make_pipeline(columns, model).fit(table, ill)
    assert whole.score(table, ill) > 0.8 and model.certificate_.verify() is not None
    assert whole[:-1].get_feature_names_out().tolist() == ["n__age", "c__ward_a", "c__ward_b", "c__ward_(other)"]
