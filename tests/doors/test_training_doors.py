"""Trainings, one record at a time: replace it by a hostile one, and nothing else may move.

`fit_once` (an estimator, through arrays and frames) and `train_once` (the command, through files) run an entry point
with its noise fixed and give an `Outcome`: all that anybody can see of it but the weights, and the records as they go
into the gradients. `differences` says in which the outcomes of two tables that differ in one record are not alike.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import functools
import json
import math
import random
import re
import warnings
from dataclasses import dataclass, field, fields
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.errors import FuguError
from fugu.iterate import LinearRegression, LinearSVC, LogisticRegression, NoisySGD
from fugu.training import estimators, losses
from hunting import search
from release_files import document_of, public_part

ALL = [LinearRegression, LogisticRegression, LinearSVC]
COUNT, PLACE = 12, 5
stream = np.random.default_rng(8)
ROWS = stream.uniform(0, 10, (COUNT, 2)).round(3).tolist()
TRUTHS = [bool(i % 3) for i in range(COUNT)]
NUMBERS = stream.uniform(-5, 5, COUNT).round(3).tolist()
LABELS = ["no", "yes", "no", "yes", "yes", "no", "yes", "no", "no", "yes", "no", "yes"]

CELLS = [
    math.nan, None, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0, -0.0, True, 10**400, -(10**30), "text", "", "NA",
    "1e999", "inf", "nan", "0x10", "1,5", " 7 ", "=1+1", "\x00", "\ud800", b"\xff\xfe", b"2", 3j, complex(1, 0),
    decimal.Decimal("NaN"), decimal.Decimal("sNaN"), decimal.Decimal("1e999999"), datetime.date(2024, 1, 1),
    np.ma.masked, np.float32(0.1), np.int8(3), np.longdouble("1e4000"), np.timedelta64(5, "s"), pd.NA, pd.NaT,
    [1.0, 2.0], {"a": 1}, object,
]  # fmt: skip
"""What a record may hold in place of a number or a label."""
OBJECTS = [(), (1,), [], [[1]], {}, set(), range(3), Ellipsis, np.array(3.0), np.array([1.0]), np.str_("yes"), len,
           np.bytes_(b"no"), np.datetime64("2020"), datetime.time(1), datetime.timedelta(1), pd.Timestamp("2020"),
           pd.Period("2020"), pd.Interval(0, 1), bytearray(b"1")]  # fmt: skip
LABEL_CELLS = ["other", "YES", " yes ", "yes\n", 1, 0.0, False, *CELLS]
TEXTS = ["", "NA", "text", "inf", "-inf", "1e308", "1e999", "nan", "-1e-400", "true", "1,5", "9" * 5000, "=cmd", "日本"]
"""The same in a file of text."""


@dataclass
class Outcome:
    """`seen`: what can be seen besides weights; `rows`, `targets`, `gradients`: of each record, in the order used."""

    seen: dict[str, Any]
    rows: Any = None
    targets: Any = None
    gradients: Any = None
    weights: Any = None
    plan: Any = field(default=None, repr=False)


class Fixed:
    """A stream of noise that is the same in every training."""

    def __init__(self, length: int, expected: int) -> None:
        self._rng, self._length = np.random.default_rng(99), length

    def __call__(self) -> Any:
        return self._rng.normal(size=self._length)


_solved: dict[Any, Any] = {}
_for_budget = NoisySGD.for_budget


def remembered(self, budget):
    """`for_budget`, which knows public numbers alone, worked out once for each of them."""
    key = (repr([(f.name, getattr(self, f.name)) for f in fields(self)]), budget)
    if key not in _solved:
        _solved[key] = _for_budget(self, budget)
    return _solved[key]


def watched(monkeypatch, call) -> Outcome:
    """Run `call`, which returns what can be seen, and keep what the last training was given."""
    kept: dict[str, Any] = {}

    def spy(rows, targets, objective, accountant, **more):
        weights = losses.train(rows, targets, objective, accountant, **more)
        probe = np.random.default_rng(3).normal(size=(4, rows.shape[1])) * objective.radius / 4
        caps = objective.caps(rows)
        parts = [
            (rows[i : i + 1], targets[i : i + 1], None if caps is None else caps[i : i + 1]) for i in range(len(rows))
        ]
        kept.update(rows=rows.copy(), targets=np.array(targets), weights=weights, plan=accountant,
                    gradients=np.array([[objective.pull(w, *part) for w in probe] for part in parts]))  # fmt: skip
        return weights

    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        patch.setattr(losses, "NormalStream", Fixed)
        patch.setattr(NoisySGD, "for_budget", remembered)
        patch.setattr(estimators, "train", spy)
        try:
            seen = call()
        except Exception as error:
            seen = {"error": type(error).__name__, "message": str(error)}
    seen["warnings"] = sorted({str(warning.message) for warning in said})
    return Outcome(seen, **kept)


def fit_once(monkeypatch, kind, X, y, **options) -> Outcome:
    """`fit` of an estimator, and a prediction for a public row."""
    own = {"target_bounds": (-5, 5)} if issubclass(kind, LinearRegression) else {"classes": ("no", "yes")}
    model = kind(**{"epsilon": 1.0, "delta": 1e-3, "bounds": (0, 10), "epochs": 1, **own, **options})

    def call():
        model.fit(X, y)
        shown = np.asarray(model.predict(X[:1]))
        return {
            "attributes": sorted(vars(model)),
            "classes": None if not hasattr(model, "classes_") else (model.classes_.tolist(), str(model.classes_.dtype)),
            "shapes": [(np.shape(part), np.asarray(part).dtype.str) for part in (model.coef_, model.intercept_)],
            "features": (model.n_features_in_, list(getattr(model, "feature_names_in_", []))),
            "prediction": (shown.shape, shown.dtype.str),
            "noise": model.noise_,
            "guarantee": repr(model.guarantee_),
            "certificate": model.certificate_.text,  # it has no date: even its digest stays
        }

    return watched(monkeypatch, call)


def train_once(monkeypatch, folder, table, *args) -> Outcome:
    """`fugu train`, with its files; coefficients and utility, which noise covers, are blanked out."""
    monkeypatch.chdir(folder)
    for name in ("m.json", "m.certificate.json", "m.private.json", "m.report.html"):
        (folder / name).unlink(missing_ok=True)

    def call():
        words = ["train", table, *map(str, args), "-o", "m.json", "--no-ledger"]
        told = CliRunner().invoke(cli.app, words, env={"COLUMNS": "250"})
        if told.exception is not None and not isinstance(told.exception, SystemExit | FuguError):
            raise told.exception
        code = told.exception.exit_code if isinstance(told.exception, FuguError) else told.exit_code
        seen = {"code": code, "message": str(told.exception or ""), "output": blank(told.output)}
        seen["files"] = sorted(path.name for path in folder.iterdir())
        if (folder / "m.json").exists():
            model = json.loads((folder / "m.json").read_text())
            seen["model"] = {**model, "coefficients": len(model["coefficients"]), "intercept": None}
            seen["document"] = public_part(document_of(folder / "m.json").body)
        return seen

    return watched(monkeypatch, call)


def blank(output: str) -> str:
    """Without the table of the model's own numbers, which is as wide as these."""
    return re.sub(r"(?<=Trained on).*?(?=\nguarantee)", "", output, flags=re.DOTALL)


def differences(first: Outcome, second: Outcome, place: int) -> list[str]:
    """What differs between outcomes of two tables that differ in the record at `place` alone."""
    found = [name for name in first.seen.keys() | second.seen.keys() if first.seen.get(name) != second.seen.get(name)]
    for name in ("rows", "targets", "gradients"):
        one, two = getattr(first, name), getattr(second, name)
        if (one is None) != (two is None) or (one is not None and one.shape != two.shape):
            found.append(f"the shape of {name}")
        elif one is not None and not np.array_equal(np.delete(one, place, axis=0), np.delete(two, place, axis=0)):
            found.append(f"other {name}")
    if not found and first.rows is not None:
        reach = 2 * first.plan.lipschitz * (1 + 1e-9)
        if np.max(np.linalg.norm(first.gradients[place] - second.gradients[place], axis=-1)) > reach:
            found.append("a gradient longer than stated")
        step = float(first.plan.learning_rate) * reach / first.plan.batch_size
        if first.plan.steps == 1 and np.linalg.norm(first.weights - second.weights) > step + 1e-12:
            found.append("weights that moved farther than stated")
    return found


def replaced(cells, cell, place=PLACE):
    return [*cells[:place], cell, *cells[place + 1 :]]


def polars_column(values):
    try:
        return pl.Series(values)
    except Exception:
        texts = [None if v is None or (isinstance(v, float) and math.isnan(v)) else str(v) for v in values]
        plain = all(isinstance(v, str | float | int | bool | None) for v in values)
        return pl.Series(texts) if plain else pl.Series(values, dtype=pl.Object)


CONTAINERS = {
    "lists": lambda columns: [list(row) for row in zip(*columns, strict=True)],
    "objects": lambda columns: objects(*columns),
    "numpy": lambda columns: np.array([list(row) for row in zip(*columns, strict=True)]),
    "masked": lambda columns: masked(*columns),
    "pandas": lambda columns: pd.DataFrame({f"f{i}": column for i, column in enumerate(columns)}),
    "pandas converted": lambda columns: pd.DataFrame({f"f{i}": c for i, c in enumerate(columns)}).convert_dtypes(),
    "polars": lambda columns: pl.DataFrame({f"f{i}": polars_column(column) for i, column in enumerate(columns)}),
}


def objects(*columns):
    found = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        for i, cell in enumerate(column):
            found[i, j] = cell
    return found


def masked(*columns):
    gone = np.array([[cell is None or cell is np.ma.masked for cell in column] for column in columns]).T
    return np.ma.array(objects(*([0 if cell is np.ma.masked else cell for cell in c] for c in columns)), mask=gone)


def built(name, columns):
    """The container, or None if the engine itself refuses these cells: then there is no table to protect."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CONTAINERS[name](columns)
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return None
        raise


def is_table(container):
    """Whether it has rows and columns; a numpy array of lists may have become one of three dimensions."""
    return container is not None and (not isinstance(container, np.ndarray) or container.ndim == 2)


def one_column(container):
    """y from a container of one column, as users hand it over."""
    if isinstance(container, list):
        return [row[0] for row in container]
    if isinstance(container, pd.DataFrame):
        return container["f0"]
    return container["f0"] if isinstance(container, pl.DataFrame) else container[:, 0]


WAYS = [(kind, name) for k, kind in enumerate(ALL) for name in [*CONTAINERS][k :: 1 if k == 0 else 3]]
"""The three read features and labels in one way: every container with one of them, and some with the others."""


@pytest.mark.parametrize(("kind", "name"), WAYS)
def test_one_row_of_features_moves_nothing_but_its_own_gradient(kind, name, monkeypatch):
    target = NUMBERS if kind is LinearRegression else LABELS
    columns = [*(list(column) for column in zip(*ROWS, strict=True)), TRUTHS]
    tried = 0
    for options in ({}, {"bounds": None, "max_norm": 20}):
        plain = fit_once(monkeypatch, kind, built(name, columns), target, **options)
        assert "error" not in plain.seen and plain.seen["warnings"] == [], plain.seen
        for cell in CELLS:
            X = built(name, [replaced(columns[0], cell), columns[1], replaced(TRUTHS, cell)])
            if not is_table(X):
                continue
            found = fit_once(monkeypatch, kind, X, target, **options)
            assert differences(plain, found, PLACE) == [], (cell, found.seen)
            tried += 1
    assert tried > len(CELLS), tried


def opened(kind, X, y):
    """The records as they go into the training, without one."""
    from fugu.training.inputs import Labels, read, rules, target_of
    from fugu.training.scaling import Scaling, TargetScaling

    own = {"target_bounds": (-5, 5)} if kind is LinearRegression else {"classes": ("no", "yes")}
    rule = TargetScaling.of((-5, 5)) if kind is LinearRegression else Labels.of(("no", "yes"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = kind(bounds=(0, 10), **own)._features(X, 2, True)
        scaling = Scaling.of(len(found.columns), (0, 10))
        schema, name = rules(found.texts, scaling, rule)
        rows, targets = read(found.columns, target_of(y), schema, name)
    return scaling.rows(rows), targets, schema.to_json()


def random_cell(rnd):
    """Any kind of cell at all."""
    kind = rnd.choice(["f2", "f4", "f8", "i1", "i8", "u8", "g", "c8", "c16", "?"])
    letters = "".join(
        chr(rnd.choice([rnd.randint(0, 127), rnd.randint(128, 0x2FFF)])) for _ in range(rnd.randint(0, 8))
    )
    spelt = rnd.choice(["%g", "%d ", "+%f", " %e", "%gx"]) % rnd.uniform(-9, 9)
    return rnd.choice([
        rnd.choice(LABEL_CELLS), rnd.uniform(-20, 20), rnd.choice([1, -1]) * 10.0 ** rnd.randint(-320, 308), spelt,
        rnd.randint(-(10 ** rnd.randint(1, 60)), 10 ** rnd.randint(1, 60)), np.dtype(kind).type(rnd.randint(0, 9)),
        decimal.Decimal(rnd.randint(-(10**9), 10**9)).scaleb(rnd.randint(-400, 400)), letters, np.True_,
        fractions.Fraction(rnd.randint(-99, 99), rnd.randint(1, 99)), rnd.choice(OBJECTS), letters.encode("utf-16"),
    ])  # fmt: skip


@search("one record of a training", quick=20)
def test_random_records_move_no_other_record(seed):
    """(Polars is left to the list of cells: it may turn a column into one of truth values by itself.)"""
    rnd, names = random.Random(seed), [name for name in CONTAINERS if name != "polars"]
    columns = [*(list(column) for column in zip(*ROWS, strict=True)), TRUTHS, [i % 4 for i in range(COUNT)]]
    for _ in range(15):
        name, kind, place = rnd.choice(names), rnd.choice(ALL[:2]), rnd.randrange(COUNT)
        target = NUMBERS if kind is LinearRegression else LABELS
        pair = []
        for cell in (lambda: None, lambda: random_cell(rnd)):
            changed = [replaced(column, cell(), place) for column in columns]
            X, y = built(name, changed), built(name, [replaced(target, cell(), place)])
            if is_table(X) and is_table(y):
                pair.append(opened(kind, X, one_column(y)))
        if len(pair) < 2:
            continue
        for one, two in zip(pair[0][:2], pair[1][:2], strict=True):
            assert np.array_equal(np.delete(one, place, axis=0), np.delete(two, place, axis=0)), (name, changed)
        assert pair[0][2] == pair[1][2]
    return 15


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in ALL[:2] for name in CONTAINERS])
def test_one_target_moves_nothing_but_its_own_gradient(kind, name, monkeypatch):
    cells, hostile = (NUMBERS, CELLS) if kind is LinearRegression else (LABELS, LABEL_CELLS)
    plain, tried = fit_once(monkeypatch, kind, ROWS, one_column(built(name, [cells]))), 0
    assert "error" not in plain.seen and plain.seen["warnings"] == []
    for cell in hostile:
        container = built(name, [replaced(cells, cell)])
        if not is_table(container):
            continue
        found = fit_once(monkeypatch, kind, ROWS, one_column(container))
        assert differences(plain, found, PLACE) == [], (cell, found.seen)
        tried += 1
    assert tried > len(CELLS) / 2, tried


@pytest.mark.parametrize("kind", ALL)
def test_a_whole_hostile_record_and_all_records_alike(kind, monkeypatch):
    target, other = (NUMBERS, 3.0) if kind is LinearRegression else (LABELS, "perhaps")
    plain = fit_once(monkeypatch, kind, ROWS, target)
    for cell in CELLS:
        found = fit_once(monkeypatch, kind, replaced(ROWS, [cell, cell]), replaced(target, cell))
        assert differences(plain, found, PLACE) == [], cell
    alike = fit_once(monkeypatch, kind, ROWS, [other] * COUNT)  # one value, or none of the classes
    assert alike.seen == plain.seen


# the command

LINES = [f"{i},{load},{wind},{power},{label}" for i, ((load, wind), power, label) in
         enumerate(zip(ROWS, NUMBERS, LABELS, strict=True))]  # fmt: skip
NAMES = ["time", "load", "wind", "power", "high"]
BUDGET = ["--epsilon", "1", "--delta", "1e-3", "--prior", "independent"]
BOUNDS = ["--features", "load,wind", "--bounds", "load:0:10,wind:0:10"]
POWER = ["--target", "power", *BUDGET, "--order", "time"]
CALLS = {
    "linear": [*POWER, *BOUNDS, "--bounds", "power:-5:5"],
    "max-norm": [*POWER, "--features", "load,wind", "--max-norm", "20", "--model", "linear", "--bounds", "power:-5:5"],
    "logistic": ["--target", "high", *BUDGET, *BOUNDS, "--classes", "no,yes"],
    "svc": ["--target", "high", *BUDGET, *BOUNDS, "--classes", "no,yes", "--model", "svc", "--private", "target"],
    "schema": ["--target", "high", *BUDGET, "--schema", "s.toml"],
    "no header": ["--target", "high", *BUDGET, "--schema", "s.toml", "--no-header", "--features", "load,wind"],
    "reference": [*POWER, "--reference", "past.csv", "--folds", "2"],
    "reference, labels": ["--target", "high", *BUDGET, "--features", "load,wind", "--reference", "past.csv",
                          "--folds", "2"],
}  # fmt: skip
SCHEMA = """
[schema]
[schema.columns.time]
kind = "time"
[schema.columns.load]
kind = "number"
bounds = [0, 10]
missing = 2
[schema.columns.wind]
kind = "number"
bounds = [0, 10]
outside = "missing"
[schema.columns.power]
kind = "identifier"
[schema.columns.high]
kind = "category"
values = ["no", "yes"]
outside = "yes"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    past = [f"{100 + i},{(7 * i) % 10},{(3 * i) % 11},{(i * i) % 7 - 3},{'ny'[i % 2]}{'oe'[i % 2]}{['', 's'][i % 2]}"
            for i in range(40)]  # fmt: skip
    (tmp_path / "past.csv").write_text("\n".join([",".join(NAMES), *past]) + "\n")
    (tmp_path / "s.toml").write_text(SCHEMA)
    monkeypatch.setattr(np.random, "PCG64", functools.partial(np.random.PCG64, 0))
    return tmp_path


def written(folder, columns, header=True):
    """A CSV file of these columns of text."""
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in zip(*columns, strict=True)]
    lines = [",".join(NAMES), *quoted] if header else quoted
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "t.csv"


def texts():
    return [list(column) for column in zip(*(line.split(",") for line in LINES), strict=True)]


@pytest.mark.parametrize("name", CALLS)
def test_one_row_of_a_file_moves_nothing_but_its_own_gradient(name, folder, monkeypatch):
    columns, header = texts(), name != "no header"
    plain = train_once(monkeypatch, folder, written(folder, columns, header), *CALLS[name])
    assert plain.seen["code"] == 0 and plain.seen["files"][:3] == ["m.certificate.json", "m.json", "m.private.json"]
    assert plain.seen["model"]["reading"] == plain.seen["document"]["reading"]
    for text in TEXTS:
        whole = [columns[0], *(replaced(column, text) for column in columns[1:])]
        single = [columns[0], replaced(columns[1], text), *columns[2:]]
        for some in (whole, single):
            found = train_once(monkeypatch, folder, written(folder, some, header), *CALLS[name])
            assert differences(plain, found, PLACE) == [], (text, found.seen)


@pytest.mark.parametrize("name", ["linear", "logistic", "reference"])
def test_one_row_of_a_parquet_file_moves_nothing_but_its_own_gradient(name, folder, monkeypatch):
    """One cell of text makes text of a whole column there."""
    outcomes = []
    for load, high in (("3.5", "no"), ("text", "1"), ("nan", "NA"), ("inf", ""), (None, None), ("1e308", "perhaps")):
        columns = texts()
        columns[1], columns[4] = replaced(columns[1], load), replaced(columns[4], high)
        for kinds in ("DOUBLE", "VARCHAR") if load != "text" else ("VARCHAR",):
            frame = pd.DataFrame(dict(zip(NAMES, columns, strict=True)))  # noqa: F841 - read by name
            duckdb.sql(
                f"COPY (SELECT time::INT AS time, load::{kinds} AS load, wind::{kinds} AS wind, "
                f"power::DOUBLE AS power, high FROM frame) TO '{folder / 't.parquet'}'"
            )
            outcomes.append(train_once(monkeypatch, folder, "t.parquet", *CALLS[name]))
    assert outcomes[0].seen["code"] == 0
    for found in outcomes[1:]:
        assert differences(outcomes[0], found, PLACE) == [], found.seen


def test_a_file_and_its_frames_give_the_same_gradients(folder, monkeypatch):
    """Text, integers, floats and frames of one table are one table."""
    found = train_once(monkeypatch, folder, written(folder, texts()), *CALLS["logistic"])
    for name in CONTAINERS:
        X = built(name, [list(column) for column in zip(*ROWS, strict=True)])
        other = fit_once(monkeypatch, LogisticRegression, X, LABELS)
        assert np.array_equal(found.rows, other.rows) and np.array_equal(found.targets, other.targets)


# the harness sees the defects that were there


class Peeking(LogisticRegression):
    """Takes its classes from the labels."""

    __init__ = LogisticRegression.__init__

    def fit(self, X, y):
        self.set_params(classes=sorted({str(label) for label in y})[:2])
        return self._fit(X, y)


def test_the_harness_sees_classes_that_come_from_the_labels(monkeypatch):
    plain = fit_once(monkeypatch, Peeking, ROWS, LABELS)
    assert "classes" in differences(plain, fit_once(monkeypatch, Peeking, ROWS, replaced(LABELS, "maybe")), PLACE)


def test_the_harness_sees_a_mean_in_place_of_a_missing_cell_and_a_refusal(monkeypatch, folder):
    from fugu.cli.train_reading import TrainingReading
    from fugu.errors import BadTable

    read, rows = estimators.read, TrainingReading.rows

    def filled(columns, *rest):
        column = np.array([math.nan if cell is None else cell for cell in columns[0]])
        found, targets = read(columns, *rest)
        found[:, 0] -= np.nanmean(column)
        return found, targets

    def strict(self, table, *rest):
        if "perhaps" in self.schema.open(table).raw(self.training.target).to_list():
            raise BadTable("a label that is in no class")
        return rows(self, table, *rest)

    columns = texts()
    with monkeypatch.context() as patch:
        patch.setattr(estimators, "read", filled)
        pair = [fit_once(patch, LinearRegression, replaced(ROWS, [cell, 1.0]), NUMBERS) for cell in (1.0, 9.0)]
        assert "other gradients" in differences(*pair, PLACE)
    with monkeypatch.context() as patch:
        patch.setattr(TrainingReading, "rows", strict)
        pair = []
        for label in ("no", "perhaps"):
            columns[4] = replaced(columns[4], label)
            pair.append(train_once(patch, folder, written(folder, columns), *CALLS["logistic"]))
        assert {"code", "message", "files"} <= set(differences(*pair, PLACE))
