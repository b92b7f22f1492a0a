"""`fugu train`: the private table is used once, scores are of public rows, certificates are proved again, refusals."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.errors import FuguError
from release_files import certificate_of

BUDGET = ["--epsilon", "2", "--delta", "1e-5"]
BOUNDS = ["--features", "load,wind", "--bounds", "load:0:100,wind:0:12"]
POWER = ["--target", "power", "--order", "time", "--prior", "ar1:0.3", *BUDGET]
WHOLE = [*POWER, *BOUNDS, "--bounds", "power:0:60"]
HIGH = ["--target", "high", "--prior", "independent", *BUDGET, *BOUNDS]
LABELS = ["--classes", "y,n"]


class Result:
    """What a call of the command gave."""

    def __init__(self, *args):
        found = CliRunner().invoke(cli.app, [str(a) for a in args], env={"COLUMNS": "200"})
        self.out, self.code, self.message = found.stdout, found.exit_code, ""
        if isinstance(found.exception, FuguError):
            self.code, self.message = found.exception.exit_code, str(found.exception)
        elif found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception

    @property
    def told(self):
        assert self.code == 0, self.message
        return json.loads(self.out)


def train(*args):
    """One training, charged to nothing: the same rows are trained on again and again here."""
    return Result("train", *args, "--no-ledger")


def rows_of(count, start, stream):
    """power = 0.2 load + 3 wind + noise, shuffled, so that the order must come from the column of times."""
    load, wind = stream.uniform(10, 90, count), stream.uniform(1, 11, count)
    power = 0.2 * load + 3 * wind + stream.normal(0, 1, count)
    high = ["ny"[int(p > 28)] for p in power]
    return [f"{start + i},{load[i]:.3f},{wind[i]:.3f},{power[i]:.3f},{high[i]},h{i // 30},{'ab'[i % 2]}"
            for i in stream.permutation(count)]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, stream = tmp_path_factory.mktemp("power"), np.random.default_rng(5)
    for name, count, start in (("today", 300, 1000), ("past", 200, 0)):
        lines = ["time,load,wind,power,high,house,mode", *rows_of(count, start, stream)]
        (path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture
def trainings(monkeypatch):
    """Every training that is run: (where, number of rows, targets)."""
    from fugu.training import estimators, utility

    seen = []
    for where in (utility, estimators):
        name, before = where.__name__.rpartition(".")[2], where.train

        def spy(rows, targets, *rest, name=name, before=before, **more):
            seen.append((name, len(rows), targets))
            return before(rows, targets, *rest, **more)

        monkeypatch.setattr(where, "train", spy)
    return seen


def test_the_private_table_is_used_once_and_all_scores_are_of_the_reference(trainings):
    told = train("today.csv", *WHOLE, "--reference", "past.csv", "--json").told
    assert told["model"]["model"] == "LinearRegression"
    assert [where for where, count, _ in trainings if count == 300] == ["estimators"]  # a score would need a second
    assert {count for where, count, _ in trainings if where == "utility"} == {160} and len(trainings) == 16
    by_name = {line["name"]: line for line in told["comparison"]}
    assert list(by_name) == ["non-private", "group-private", "DP-independent", "asked"]
    assert (
        by_name["non-private"]["utility"] > by_name["DP-independent"]["utility"] > by_name["group-private"]["utility"]
    )
    assert by_name["non-private"]["utility"] > 0.9 > 0.1 > told["rehearsal"]["constant_guess"]["utility"]
    epsilons = {name: line["epsilon"] for name, line in by_name.items()}
    assert epsilons["non-private"] is None and epsilons["group-private"] < 2 < epsilons["DP-independent"]
    assert 1.999 < epsilons["asked"] <= 2
    assert told["rehearsal"] | {"constant_guess": 0, "verdict": None} == {
        "reference": "past.csv", "measure": "R²", "trained_on": 160, "tested_on": 40, "constant_guess": 0,
        "verdict": None,
    }  # fmt: skip


def test_without_a_reference_no_score_is_told_and_nothing_else_is_trained(trainings):
    found = train("today.csv", *WHOLE)
    assert found.code == 0 and "no utility is reported" in found.out and "R²" not in found.out
    assert [where for where, _, _ in trainings] == ["estimators"]
    for words in ("group-private", "DP-independent", "as asked", "e^2 = 7.39", "0.3^|i-j|", "sorted by column 'time'",
                  "second release", "assumptions:"):  # fmt: skip
        assert words in " ".join(found.out.split()), words
    told = train("today.csv", *WHOLE, "--prior", "independent", "--json").told
    assert told["comparison"][2]["utility"] is None and "release of its own" in told["rehearsal"]


def test_a_rehearsal_opens_no_private_table(trainings):
    found = train("nowhere.csv", *POWER, "--features", "load,wind", "--reference", "past.csv", "--rehearse", "--json")
    assert found.told["trained"] is False and found.told["model"] is None and found.told["table"] is None
    shown = train(*POWER, "--reference", "past.csv", "--rehearse", "--folds", "3")
    assert shown.code == 0 and "no private table was opened" in shown.out and "coefficient" not in shown.out
    assert max(count for _, count, _ in trainings) == 200


def test_rows_are_sorted_by_the_public_column(trainings, folder):
    train("today.csv", *WHOLE)
    lines = [line.split(",") for line in (folder / "today.csv").read_text().split()[1:]]
    scaled = {name: [(float(row[3]) - 30) / 30 for row in some]
              for name, some in (("file", lines), ("time", sorted(lines, key=lambda row: int(row[0]))))}  # fmt: skip
    assert np.allclose(trainings[0][2], scaled["time"]) and not np.allclose(trainings[0][2], scaled["file"])


def test_model_and_certificate_are_written_and_proved_again(folder, tmp_path):
    found = train("today.csv", *WHOLE, "--epsilon", "500", "-o", tmp_path / "m.json")
    assert found.code == 0 and {p.name for p in tmp_path.iterdir()} == {
        "m.json",
        "m.certificate.json",
        "m.private.json",
        "m.report.html",
    }
    model = json.loads((tmp_path / "m.json").read_text())
    assert model["features"] == ["load", "wind"] and model["target"] == "power" and model["classes"] is None
    assert np.allclose(model["coefficients"], [0.2, 3], atol=[0.05, 0.4])  # in scaled units: about 0.5 and 0.8
    assert model["guarantee"] == {"epsilon": 500.0, "delta": 1e-5} and "0.3^|i-j|" in model["prior"]
    assert model["bounds"] == {"load": [0, 100], "wind": [0, 12], "power": [0, 60]}
    assert model["certificate"] == certificate_of(tmp_path / "m.json").digest
    told = Result("verify", tmp_path / "m.certificate.json", "--json").told
    assert told["holds"] is True and told["epsilon"] == 500 and told["delta"] <= 1e-5
    assert "holds: a training" in Result("verify", tmp_path / "m.certificate.json").out
    for option in (("--within", "1"), ("--against", "past.csv")):
        refused = Result("verify", tmp_path / "m.certificate.json", *option)
        assert refused.code == 2 and "of a training" in refused.message
    lines = {c["name"]: c for c in Result("verify", tmp_path, "--reference", "past.csv", "--json").told["checks"]}
    assert lines["reference laws"]["outcome"] == lines["reference file"]["outcome"] == "not checked"


def test_a_forged_certificate_exits_4(tmp_path):
    from fugu.documents.document import digest_of

    assert train("today.csv", *WHOLE, "-o", tmp_path / "m.json").code == 0
    path = tmp_path / "m.certificate.json"
    whole = json.loads(path.read_text())
    body = whole["certificates"][0]["certificate"]
    body["accountant"]["noise"] *= 0.97
    path.write_text(json.dumps(whole))
    edited = Result("verify", path)
    assert edited.code == 4 and "edited" in edited.message
    for part in (body, whole):
        part["digest"] = digest_of({key: value for key, value in part.items() if key != "digest"})
    path.write_text(json.dumps(whole))
    forged = Result("verify", path)
    said = " ".join(forged.out.split())  # wherever the line is broken
    assert forged.code == 4 and "does not hold" in said and "than can be proved" in said
    assert json.loads(Result("verify", path, "--json").out)["holds"] is False


@pytest.mark.parametrize(("model", "name"), [("logistic", "LogisticRegression"), ("svc", "LinearSVC")])
def test_classifiers_learn_two_labels(model, name):
    told = train("today.csv", *HIGH, "--model", model, "--epsilon", "200", "--reference", "past.csv", "--json").told
    by_line = {line["name"]: line["utility"] for line in told["comparison"]}
    assert told["model"]["model"] == name and told["model"]["classes"] == ["n", "y"]
    assert "DP-independent" not in by_line and by_line["asked"] > 0.8 > told["rehearsal"]["constant_guess"]["utility"]
    assert min(told["model"]["coefficients"]) > 0  # more load, more wind: "y"; swapped labels would turn the signs
    assert told["rehearsal"]["measure"] == "accuracy"


def test_bounds_come_from_the_reference_and_text_is_left_out(folder):
    found = train("today.csv", *POWER, "--reference", "past.csv", "--prior", "independent", "--folds", "2")
    assert found.code == 0 and "no features, since they hold no numbers: high, house, mode" in found.out
    told = train("today.csv", *POWER, "--reference", "past.csv", "--bounds", "wind:0:12", "--folds", "2", "--json").told
    loads = [float(line.split(",")[1]) for line in (folder / "past.csv").read_text().split()[1:]]
    assert told["model"]["bounds"]["load"] == [min(loads), max(loads)] and told["model"]["bounds"]["wind"] == [0, 12]


def test_groups_and_chains_of_states_as_priors():
    groups = ["--target", "power", "--prior", "groups", "--by", "house", *BUDGET, *BOUNDS, "--bounds", "power:0:60"]
    told = train("today.csv", *groups, "--reference", "past.csv", "--folds", "2", "--json").told
    assert "records of one group" in told["in_words"] and any("'house'" in a for a in told["model"]["assumptions"])
    independent = next(line for line in told["comparison"] if line["name"] == "DP-independent")
    assert independent["epsilon"] > 20  # 30 rows of one house move together
    chain = ["--target", "high", "--order", "time", "--prior", "markov", "--state", "mode", "--smoothing", "500"]
    told = train("today.csv", *chain, *BUDGET, *BOUNDS, "--reference", "past.csv", "--folds", "2", "--json").told
    assert "MarkovChain(2 states, length 300" in told["in_words"]


def test_a_public_parquet_table_is_compared_on_itself(tmp_path, trainings):
    path = tmp_path / "today.parquet"
    duckdb.sql(f"COPY (SELECT load, wind, wind > 6 AS gusty, power FROM 'today.csv') TO '{path}'")
    told = train(path, "--target", "power", "--prior", "independent", *BUDGET, "--public-table", "--json").told
    assert told["model"]["bounds"]["gusty"] == [0, 1] and told["rehearsal"]["reference"] == "today.parquet"
    assert any("declared public" in a for a in told["model"]["assumptions"])
    assert [count for where, count, _ in trainings if where == "estimators"] == [300]


def test_two_labels_are_declared_or_of_public_rows(trainings):
    for more in (LABELS, ["--reference", "past.csv", "--folds", "2"]):
        told = train("today.csv", *HIGH, *more, "--json").told
        assert told["model"]["model"] == "LogisticRegression" and told["model"]["classes"] == ["n", "y"]
    told = train("today.csv", *HIGH, "--classes", "y,no", "--json").told  # "n" counts as the first
    assert told["model"]["classes"] == ["no", "y"] and trainings[-1][2].tolist() == [1.0] * 300
    assert told["model"]["reading"]["columns"]["high"] == {
        "kind": "category", "values": ["y", "no"], "outside": "y", "missing": "y",
    }  # fmt: skip
    found = train("today.csv", *HIGH, "--classes", "y,no", "--reference", "past.csv")
    assert (
        found.code == 2 and "column 'high' of 'past.csv' holds a label" in found.message
    )  # public rows may be refused


def test_a_shuffled_copy_of_the_private_rows_is_no_reference(folder):
    first, *rows = (folder / "today.csv").read_text().splitlines()
    (folder / "copy.csv").write_text("\n".join([first, *sorted(rows)]) + "\n")
    (folder / "other.csv").write_text("\n".join([first, *sorted(rows)[1:], "1,2,3,4,n,h1,a"]) + "\n")
    for args in ([*HIGH, "--folds", "2"], [*WHOLE, "--prior", "independent", "--folds", "2"]):
        found = train("today.csv", *args, "--reference", "copy.csv")
        assert found.code == 3 and "the very rows" in found.message
        assert train("today.csv", *args, "--reference", "other.csv").code == 0


def test_what_private_rows_hold_decides_neither_the_model_nor_the_labels(folder):
    """Two values of a number would otherwise be printed as labels; so would a label that one person has."""
    (folder / "rare.csv").write_text("load,cost\n" + "".join(f"{i},{1234.5 if i == 3 else 0}\n" for i in range(20)))
    number = ["--target", "cost", "--prior", "independent", *BUDGET, "--features", "load", "--bounds", "load:0:20"]
    told = train("rare.csv", *number, "--bounds", "cost:0:2000", "--json")
    assert told.told["model"]["model"] == "LinearRegression" and "1234" not in told.out
    for args in (["rare.csv", *number], ["today.csv", *HIGH, "--model", "svc"], ["today.csv", *HIGH]):
        found = train(*args)
        assert found.code == 2 and ("--classes" in found.message or "'cost'" in found.message) and not found.out


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--target", "power", "--prior", "ar1:0.3", *BUDGET], 2, "give --order COLUMN"),
        ([*POWER, *BOUNDS], 2, "give --model, with --bounds of 'power'"),
        ([*POWER, *BOUNDS, "--model", "linear"], 2, "give public bounds for 'power'"),
        ([*POWER, "--features", "load", "--model", "linear"], 2, "values of single people"),
        ([*POWER, "--bounds", "load:0:100,wind:0:12,power:0:60"], 2, "give --features"),
        ([*POWER, "--features", "laod", "--reference", "past.csv"], 2, "did you mean 'load'"),
        (
            [*POWER, "--features", "laod", "--bounds", "laod:0:1,power:0:60"],
            2,
            "has 7 columns, and none is named 'laod'",
        ),
        ([*POWER, "--features", "load,mode", "--reference", "past.csv"], 2, "'mode' holds text"),
        ([*WHOLE, "--order", "wnid"], 2, "has 7 columns, and none is named 'wnid'"),
        ([*WHOLE, "--no-header"], 2, "--no-header needs the names"),
        ([*WHOLE, "--schema", "nowhere.toml"], 2, "'nowhere.toml'"),
        ([*HIGH, "--classes", "1,1.0"], 2, "must not be one number"),
        ([*HIGH, "--classes", "NA,y"], 2, "a missing cell"),
        ([*POWER, "--features", "power"], 2, "is the target"),
        ([*WHOLE, "--bounds", "mode:0:1"], 2, "'mode', which are not needed"),
        ([*WHOLE, "--bounds", "power:0:50"], 2, "given twice"),
        ([*WHOLE, "--max-norm", "10"], 2, "leave out --bounds of 'load'"),
        ([*POWER, *BOUNDS, "--bounds", "power:5:5"], 2, "low < high"),
        ([*POWER, *BOUNDS, "--bounds", "power:5"], 2, "two numbers"),
        ([*POWER, *BOUNDS, "--bounds", "power:0:inf"], 2, "finite"),
        ([*WHOLE, "--delta", "0"], 4, "needs a delta"),
        ([*WHOLE, "--epsilon", "x"], 2, "epsilon"),
        ([*WHOLE, "--prior", "ar2"], 2, '"groups" (with --by)'),
        ([*WHOLE, "--order", "mode"], 2, "column 'mode' must hold numbers"),
        ([*WHOLE, "--by", "house"], 2, "go together"),
        ([*WHOLE, "--state", "mode"], 2, "go together"),
        ([*WHOLE, "--smoothing", "1"], 2, "--smoothing"),
        ([*WHOLE, "--prior", "markov", "--state", "mode"], 2, "never on the private ones"),
        ([*WHOLE, "--classes", "a,b", "--model", "linear"], 2, "--classes"),
        ([*WHOLE, "--model", "forest"], 2, "'forest'"),
        ([*WHOLE, "--model", "svc", "--prior", "independent"], 2, "give --classes"),
        ([*WHOLE, "--model", "svc", "--prior", "independent", "--public-table"], 2, "more than two values"),
        ([*WHOLE, "--private", "all"], 2, "'all'"),
        ([*HIGH, *LABELS, "--prior", "ar1:0.3", "--order", "time"], 4, "a label is not a number"),
        ([*HIGH, *LABELS, "--bounds", "high:0:1"], 2, "which holds two labels"),
        ([*HIGH, "--target", "house"], 2, "belongs to single people"),
        ([*HIGH, "--target", "house", "--public-table"], 2, "more than two labels"),
        ([*WHOLE, "--folds", "3"], 2, "--folds"),
        ([*WHOLE, "--reference", "past.csv", "--folds", "1"], 2, "--folds must be at least 2"),
        ([*WHOLE, "--rehearse"], 2, "--rehearse needs --reference"),
        ([*WHOLE, "--reference", "past.csv", "--rehearse", "-o", "x.json"], 2, "trains no model"),
        ([*WHOLE, "--reference", "past.csv", "--public-table"], 2, "leave out one of the two"),
        ([*WHOLE, "--reference", "today.csv"], 3, "the very rows"),
        ([*WHOLE, "-o", "m.csv"], 2, ".json"),
        ([*WHOLE, "-o", "no/m.json"], 2, "the folder of 'm.json'"),
    ],
)
def test_refusals(args, code, words, folder):
    before = sorted(folder.iterdir())
    found = train("today.csv", *args)
    assert found.code == code and words in found.message and not found.out
    assert sorted(folder.iterdir()) == before


def rows_with(path, change, everywhere=False):
    rows = [{"time": str(i), "load": str(40 + i), "wind": "5", "power": str(i)} for i in range(20)]
    for row in rows if everywhere else rows[3:4]:
        row.update(change)
    path.write_text("\n".join(["time,load,wind,power", *(",".join(row.values()) for row in rows)]) + "\n")
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"load": ""}, "column 'load' of 't.csv' has missing cells"),
        ({"load": "inf"}, "column 'load' of 't.csv' holds numbers that are not finite"),
        ({"power": "20"}, "column 'power' of 't.csv' has one value only"),
    ],
)
def test_cells_that_cannot_be_used_are_refused_in_public_rows_only(change, words, tmp_path):
    path = rows_with(tmp_path / "t.csv", change, everywhere=change == {"power": "20"})
    given = [*POWER, "--features", "load,wind", "--bounds", "wind:0:12"]
    found = train("today.csv", *given, "--reference", path, "--folds", "2")
    assert found.code == 2 and words in found.message and not found.out
    assert train(path, *WHOLE).code == 0
    assert train(path, *WHOLE, "--reference", "past.csv", "--folds", "2").code == 0


def test_a_time_that_is_repeated_is_refused_since_times_are_public(tmp_path):
    for time, words in (("7", "repeats a time"), ("", "is declared public and has missing cells"), ("x", "must hold")):
        found = train(rows_with(tmp_path / "t.csv", {"time": time}), *WHOLE)
        assert found.code == 2 and words in found.message and "column 'time'" in found.message and not found.out


SCHEMA = """
[schema]
separator = ";"
decimal = ","
absent = ["", "-"]
[schema.columns.time]
kind = "time"
[schema.columns.load]
kind = "number"
bounds = [0, 100]
missing = 40
[schema.columns.wind]
kind = "ordered"
values = ["calm", "windy", "storm"]
[schema.columns.high]
kind = "category"
values = ["n", "y"]
outside = "y"
"""


def test_a_schema_names_features_and_labels_and_says_how_cells_are_read(trainings, tmp_path):
    (tmp_path / "s.toml").write_text(SCHEMA)
    rows = ["3;50,5;calm;n", "1;-;storm;y", "2;1e9;windy;perhaps", "4;x;breeze;-"]
    call = ["--target", "high", "--order", "time", "--prior", "independent", *BUDGET, "--schema", tmp_path / "s.toml"]
    (tmp_path / "t.csv").write_text("\n".join(["time;load;wind;high", *rows]) + "\n")
    told = train(tmp_path / "t.csv", *call, "--json").told
    assert told["model"]["features"] == ["load", "wind"] and told["model"]["classes"] == ["n", "y"]
    assert told["model"]["bounds"] == {"load": [0, 100], "wind": [0, 2]}
    assert told["model"]["reading"]["decimal"] == "," and told["model"]["reading"]["separator"] == ";"
    assert trainings[-1][2].tolist() == [1, 1, -1, -1]  # times 1, 2 (outside: y), 3, 4 (missing: the first)
    (tmp_path / "u.csv").write_text("\n".join(rows) + "\n")
    assert train(tmp_path / "u.csv", *call, "--no-header").code == 0
    assert trainings[-1][2].tolist() == [1, 1, -1, -1] and trainings[-1][1] == 4
    found = train(tmp_path / "u.csv", *call)  # a record stands in place of the names, and is not shown
    assert found.code == 2 and "50" not in found.message and "4 columns" in found.message
    assert train(tmp_path / "t.csv", *call, "--target", "load", "--json").told["model"]["features"] == ["wind"]
    for more, words in (
        (["--bounds", "load:0:1"], "leave out one of them"),
        (["--features", "other"], "give public bounds for 'other'"),
        (["--target", "wind"], "more than two labels"),
    ):
        found = train(tmp_path / "t.csv", *call, *more)
        assert found.code == 2 and words in found.message


def test_a_model_is_overwritten_only_by_force(tmp_path):
    call = ["today.csv", *WHOLE, "--prior", "independent", "-o", tmp_path / "m.json"]
    assert train(*call).code == 0
    before = (tmp_path / "m.json").read_bytes()
    found = train(*call)
    assert found.code == 2 and "'m.json' exists" in found.message and "--force" in found.message
    assert (tmp_path / "m.json").read_bytes() == before
    assert train(*call, "--force").code == 0 and (tmp_path / "m.json").read_bytes() != before
    (tmp_path / "m.json").unlink()
    assert "'m.certificate.json' exists" in train(*call).message and not (tmp_path / "m.json").exists()


def test_ties_are_fine_where_order_does_not_matter(tmp_path):
    rows = [f"{i // 2},{i % 7},{i % 3},{i % 5}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["time,load,wind,power", *rows]) + "\n")
    assert train(tmp_path / "t.csv", *WHOLE, "--prior", "independent").code == 0


def test_no_table_is_overwritten(folder, tmp_path):
    link = tmp_path / "m.json"
    link.symlink_to(folder / "past.csv")
    before = (folder / "past.csv").read_bytes()
    found = train("today.csv", *WHOLE, "--reference", "past.csv", "-o", link)
    assert found.code == 2 and "would overwrite 'past.csv'" in found.message
    assert (folder / "past.csv").read_bytes() == before
    assert train().code == 2 and "TABLE" in train(*WHOLE).message


def test_the_interval_knows_that_the_rows_trained_on_overlap():
    from fugu.training.utility import TrainingRehearsal

    found = TrainingRehearsal("R²", trained=160, tested=40, scores={"asked": (0.1, 0.2, 0.3, 0.4)})
    uncorrected = 3.182446305284 * (0.05 / 3 / 4) ** 0.5
    assert found.mean("asked") == (pytest.approx(0.25), pytest.approx(2**0.5 * uncorrected))


@pytest.mark.parametrize("kind", ["ordered", "drawn", "groups"])
def test_what_is_held_out_is_not_trained_on(kind):
    from fugu.training.utility import TrainingRows, _splits

    labels = np.arange(103) % 10 if kind == "groups" else None
    rows = TrainingRows(np.zeros((103, 1)), np.zeros(103), labels)
    splits = _splits(rows, 5, kind == "ordered", 60 if kind == "ordered" else None)
    assert sorted(np.concatenate([held for _, held in splits])) == list(range(103))
    for rest, held in splits:
        assert not set(rest) & set(held)
        if kind == "groups":
            assert not set(labels[rest]) & set(labels[held]) and len(rest) + len(held) == 103
        else:
            assert len(rest) == (60 if kind == "ordered" else 82)
            assert bool(np.ptp(held) == len(held) - 1) is (kind == "ordered")


def test_labels_that_are_spelt_otherwise_are_told_to_the_owner_and_to_nobody_else(tmp_path):
    rng = np.random.default_rng(7)
    lines = [f"{x:.2f},{'yes' if x > 0 else 'no'}" for x in rng.normal(size=300)]
    (tmp_path / "ref.csv").write_text("\n".join(["x,buys", *lines[:150], ""]))
    today = "\n".join(["x,buys", *lines[150:], ""])
    published = {}
    for name, text in (("same", today), ("other", today.replace("yes", "YES."))):
        (tmp_path / f"{name}.csv").write_text(text)
        out = tmp_path / f"{name}.json"
        found = Result("train", tmp_path / f"{name}.csv", "--reference", tmp_path / "ref.csv", "--target", "buys",
                       "--features", "x", "--bounds", "x:-4:4", "--prior", "independent", "--epsilon", "2", "--delta",
                       "1e-4", "--no-ledger", "-o", out)  # fmt: skip
        assert found.code == 0
        alarms = json.loads(out.with_suffix(".private.json").read_text())["check"]["alarms"]
        assert any("buys" in alarm for alarm in alarms) == (name == "other"), alarms
        texts = (out, out.with_suffix(".certificate.json"), out.with_suffix(".report.html"))
        assert all("YES." not in path.read_text() for path in texts) and "YES." not in found.out
        published[name] = set(json.loads(out.with_suffix(".certificate.json").read_text()))
    assert published["same"] == published["other"]
