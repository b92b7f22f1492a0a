"""Frames of every engine come in through one reader, and the same kind goes out, without the index."""

from __future__ import annotations

import copy
import pickle
import sys

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fugu
from fugu.data import frame
from fugu.data import frame as kinds
from fugu.data.column import Column, Raw
from fugu.data.frame import FrameKind
from fugu.errors import BadLaw, BadTable, MissingExtra, UsageError
from fugu.ledger.fingerprint import marks_of

REFERENCE = {"s": ["a", "b"] * 60, "v": [0, 1, 2, 3, 1, 2, 5, 4] * 15}
TODAY = {"s": ["a", "b"] * 12, "v": [0, 1, 2, 3, 1, 2] * 4}


def relation(data):
    return duckdb.from_arrow(pa.table(data))


FRAMES = {
    "dict": (dict, dict),
    "pandas": (pd.DataFrame, pd.DataFrame),
    "pandas, arrow": (lambda d: pd.DataFrame(d).convert_dtypes(dtype_backend="pyarrow"), pd.DataFrame),
    "polars": (pl.DataFrame, pl.DataFrame),
    "polars, lazy": (pl.LazyFrame, pl.LazyFrame),
    "pyarrow": (pa.table, pa.Table),
    "a stream of Arrow": (pa.record_batch, pa.Table),
    "duckdb": (relation, duckdb.DuckDBPyRelation),
}


def mechanism(reference=REFERENCE, **more):
    scenario = fugu.Scenario.from_table(reference, **{"protect": "s", "publish": "v", **more})
    return fugu.calibrate(scenario, fugu.Pure(0.5))


def cells(frame, name):
    if isinstance(frame, dict):
        return list(frame[name])
    if isinstance(frame, duckdb.DuckDBPyRelation):
        return [row[0] for row in frame.project(f'"{name}"').fetchall()]
    frame = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    return frame[name].to_pylist() if isinstance(frame, pa.Table) else frame[name].to_list()


@pytest.mark.parametrize(("made", "kind"), FRAMES.values(), ids=FRAMES)
def test_the_kind_that_came_in_goes_out_with_the_published_values(made, kind):
    released = fugu.release_column(mechanism(made(REFERENCE)), made(TODAY))
    frame = released.to_frame()
    assert isinstance(frame, kind) and cells(frame, "v") == released.values.tolist()
    answer = fugu.answer(made(TODAY), "histogram(v)", "s", fugu.Pure(1), reference=made(REFERENCE))
    assert isinstance(answer.to_frame(), kind)
    assert cells(answer.to_frame(), "value") == [cell.value for cell in answer.cells]
    assert cells(answer.to_frame(), "cell") == [cell.cell for cell in answer.cells]


@pytest.mark.parametrize("made", [pair[0] for pair in FRAMES.values()], ids=FRAMES)
def test_a_ledger_knows_a_table_in_every_kind_of_frame(made):
    wide = {"s": ["a", None] * 60, "v": list(range(120)), "w": [0.5, None] * 60}
    assert set(marks_of(made(wide)).named) == set(marks_of(wide).named) and len(marks_of(made(wide)).named) == 2
    other = {**wide, "w": [0.5, 1.0] * 60}
    assert set(marks_of(made(other)).named) != set(marks_of(wide).named)


def test_other_kinds_are_made_on_request_and_unknown_ones_refused(monkeypatch):
    released = fugu.release_column(mechanism(), pd.DataFrame(TODAY))
    assert isinstance(released.to_frame("polars"), pl.DataFrame) and isinstance(released.to_frame("dict"), dict)
    assert list(released.to_frame("duckdb").types) == ["DOUBLE"]
    with pytest.raises(UsageError, match="kind is one of"):
        released.to_frame("excel")
    monkeypatch.setattr(kinds, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="polars, which is not installed"):
        released.to_frame("polars")
    with pytest.raises(MissingExtra, match="kind='dict'"):
        fugu.compare(fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([1, 2])), fugu.Pure(1)).to_frame()


def test_a_file_comes_back_as_the_first_kind_that_is_installed(tmp_path, monkeypatch):
    pd.DataFrame(TODAY).to_csv(tmp_path / "t.csv", index=False)
    released = fugu.release_column(mechanism(), tmp_path / "t.csv")
    assert isinstance(released.to_frame(), pd.DataFrame)
    monkeypatch.setattr(kinds, "find_spec", lambda name: None if name == "pandas" else True)
    assert isinstance(released.to_frame(), pl.DataFrame)


def test_an_index_goes_out_only_if_asked_for_and_is_never_stored():
    named = pd.DataFrame(TODAY, index=[f"patient-{i}" for i in range(24)])
    released = fugu.release_column(mechanism(), named)
    assert released.to_frame().index.tolist() == list(range(24))
    assert released.to_frame(index=True).index.tolist() == named.index.tolist()
    assert "patient" not in repr(released) + repr(released.came) + released._repr_html_()
    stored = pickle.dumps(released)
    assert b"patient" not in stored
    for other in (pickle.loads(stored), copy.deepcopy(released)):
        assert other.to_frame()["v"].tolist() == released.values.tolist()
        with pytest.raises(UsageError, match="index=True"):
            other.to_frame(index=True)
    with pytest.raises(UsageError, match="index=True"):
        released.to_frame("polars", index=True)
    with pytest.raises(UsageError, match="True or False"):
        released.to_frame(index="yes")


def test_a_frame_that_goes_out_shares_no_memory_with_the_release():
    released = fugu.release_column(mechanism(), pd.DataFrame(TODAY))
    before = released.values.tolist()
    frame = released.to_frame("dict")
    frame["v"][:] = -1
    assert released.values.tolist() == before


def test_vectors_get_a_column_for_each_coordinate():
    pair = fugu.LawPair(fugu.Discrete([[0, 0], [1, 1]], [1, 3]), fugu.Discrete([[0, 0], [1, 1]], [3, 1]))
    released = fugu.calibrate(pair, fugu.Pure(0.5)).release([[0, 1], [1, 1], [0, 0]])
    assert released.to_frame("pandas").columns.tolist() == ["value 1", "value 2"]
    assert released.to_frame("pandas").to_numpy().tolist() == released.values.tolist()


def test_a_comparison_is_a_frame_with_one_row_taken():
    found = fugu.compare(fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([1, 2])), fugu.Pure(1))
    frame = found.to_frame()
    assert len(frame) == len(found.rows) + len(found.beside) + len(found.ordinary) and frame["best"].sum() == 1
    assert frame.loc[frame["best"], "method"].item() == found.best.method
    assert frame.loc[~frame["beside"], "scale"].tolist() == [row.scale for row in found.rows]


def test_any_names_of_columns_are_only_names():
    """Columns called `names` and `fetch` were taken for a source of columns."""
    frame = pd.DataFrame({**TODAY, "names": 1, "fetch": 2, "columns": 3, "source": 4})
    assert len(fugu.release_column(mechanism(), frame)) == 24
    again = pd.DataFrame([[0, 1]], columns=["v", "v"])
    for frame in (again, pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["v", "v"])):
        with pytest.raises(BadTable, match="same name"):
            fugu.release_column(mechanism(), frame)
    frame = pd.DataFrame(TODAY)
    frame.columns = pd.MultiIndex.from_tuples([("x", "s"), ("x", "v")])
    with pytest.raises(BadTable, match="names must be text"):
        fugu.release_column(mechanism(), frame)


def test_a_table_is_not_a_column_and_not_a_list_of_sequences():
    """A frame was released as the column of its own names, and a chain fitted on their letters."""
    silent = mechanism()
    for made, _ in FRAMES.values():
        with pytest.raises(BadLaw, match="release_column"):
            silent.release(made(TODAY))
    with pytest.raises(UsageError, match="then the table: got DataFrame first"):
        fugu.release_column(pd.DataFrame(TODAY), silent)
    with pytest.raises(BadTable, match="read_sequences"):
        fugu.MarkovChain.fit(pd.DataFrame(TODAY))
    one, two = fugu.MarkovChain.fit({"uvw": "aabab", "x": "bbaba"}), fugu.MarkovChain.fit(["aabab", "bbaba"])
    assert one.states == two.states == ("a", "b") and one.transition(1).tolist() == two.transition(1).tolist()


def test_an_engine_that_needs_another_one_says_which(monkeypatch):
    class Lazy:
        implementation = type("", (), {"value": "ibis"})

        def select(self, *names):
            return self

        def collect(self):
            raise ModuleNotFoundError("SENTINEL", name="pyarrow.lib")

    monkeypatch.setattr(frame.nw, "LazyFrame", Lazy)
    with pytest.raises(MissingExtra, match="a frame of ibis is read with pyarrow, which is not installed") as told:
        frame.FrameColumns(Lazy()).fetch(("v",))
    assert "SENTINEL" not in str(told.value)
    monkeypatch.setattr(frame, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pyarrow or polars, and neither is installed"):
        fugu.release_column(mechanism(), pa.record_batch(TODAY))
    with pytest.raises(UsageError, match="session of their own"):
        FrameKind("pyspark").frame({"v": [1.0]}, None)


def test_the_core_imports_no_frame_library():
    import subprocess

    heavy = "{'pandas', 'polars', 'pyarrow', 'duckdb', 'sklearn', 'scipy'}"
    code = f"import sys, fugu, fugu.data.frame, fugu.drawing.charts; print({heavy} & {{*sys.modules}})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.strip() == "set()"


@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_estimators_take_frames_that_are_queries():
    iterate = pytest.importorskip("fugu.iterate")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    for made in (pl.LazyFrame, relation, pa.table):
        model = iterate.LogisticRegression(epsilon=50, bounds=(-1, 1), classes=("no", "yes"), epochs=2)
        model.fit(made({"a": X[:, 0], "b": X[:, 1]}), made({"y": y}))
        assert model.predict(made({"a": [-1.0, 1.0], "b": [0.0, 0.0]})).tolist() == ["no", "yes"]


@pytest.mark.parametrize("reader", [Raw.of, Column.of])
def test_an_engine_that_needs_another_package_for_a_column_says_which(monkeypatch, reader):
    """`Column.of` let the ImportError of the engine through."""

    def fails(self):
        raise ImportError("no such package", name="tzdata.zones")

    monkeypatch.setattr(nw.Series, "to_list", fails)
    with pytest.raises(MissingExtra, match="column 'ward' is read with tzdata, which is not installed"):
        reader("ward", nw.from_native(pd.Series(["a", "b"]), series_only=True))
