"""Published sequences as they were published, from the folder that FUGU_DATA names: a command reads every file."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.data.layout import BETWEEN
from fugu.data.sequences import spacing
from fugu.errors import BadTable, FuguError
from fugu.question import Question
from fugu.releasing.sequence_route import columns_of

FOLDER = os.environ.get("FUGU_DATA")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="FUGU_DATA is not set: the real data sets are not part of the project"
)
NYC, GLOBAL = "foursquare/nyc_tsmc2014_last_part.csv.gz", "foursquare/nyc_global_last_part.csv.gz"
FILES = {
    "foursquare/nyc_top193_users.csv.gz": (
        ("trajectory_id", None, "root_category"), {"repeats": "rows"}, (3079, 66946, 10, 144)),
    NYC: (("user_id", "utc_time", "category"), {"repeats": "first"}, (1073, 29775, 207, 503)),
    GLOBAL: (("user_id", "utc_time", "category"), {"repeats": "rows"}, (1665, 47062, 317, 1225)),
    "activity/uci_har_labels.csv.gz": (("subject", "window", "activity"), {}, (30, 10299, 6, 409)),
    "activity/wisdm_labels.csv.gz": (("user", "window_id", "activity"), {"repeats": "rows"}, (36, 5418, 6, 273)),
    "activity/ordonez_adl.csv": (
        ("person", "start", "activity"),
        {"end": "end", "every": "10min", "between": "none", "backwards": "drop", "overlaps": "last"},
        (2, 5035, 11, 3047)),
    "activity/mvad.csv.gz": (("id", None, "state"), {"columns": "Jul.93:Jun.99"}, (712, 51264, 6, 72)),
    "electricity/ampds2_minutes.csv.gz": (
        (None, "time_local", "main_w"), {"bins": "0:10200:200", "every": "1min"}, (1, 12960, 47, 12960)),
}  # fmt: skip
"""Columns, layout; users, entries, states that occur, entries of the longest."""


def data(name):
    path = Path(FOLDER or "") / name
    if not path.exists():
        pytest.skip(f"{name} is not in FUGU_DATA")
    return str(path)


def asked(by, order, state, **said):
    """The columns that the options of a command name."""
    return columns_of(Question(by=by, order=order, state=state, **said))


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_read(name):
    columns, said, expected = FILES[name]
    path = data(name)
    _, found = asked(*columns, **said).timed(path)
    entries = found.sequences.values()
    states = {entry for sequence in entries for entry in sequence}
    assert (len(entries), sum(map(len, entries)), len(states), max(map(len, entries))) == expected


@pytest.mark.parametrize("name", [name for name, (_, said, _) in FILES.items() if said.keys() - {"bins", "every"}])
def test_without_its_layout_a_file_is_refused_with_the_option_to_give(name):
    (by, order, state), said, _ = FILES[name]
    option = "--columns" if "columns" in said else "--repeats" if "repeats" in said else "--backwards"
    bare = {k: v for k, v in said.items() if k in ("end", "every")}
    with pytest.raises(FuguError, match=option):
        asked(by, order, state, **bare).timed(data(name))


def test_gaps_are_said():
    (by, order, state), _, _ = FILES[NYC]
    _, found = asked(by, order, state, repeats="first", every="1d").timed(data(NYC))
    assert "58.3 % of the entries" in spacing(found.plan)[0] and "212 missing steps of 1d" in spacing(found.plan)[0]
    (by, order, state), said, _ = FILES["electricity/ampds2_minutes.csv.gz"]
    power = asked(by, order, state, **said).timed(data("electricity/ampds2_minutes.csv.gz"))
    assert "the largest is 653,760 missing steps of 1min (454 d)" in spacing(power[1].plan)[0]
    (by, order, state), said, _ = FILES["activity/ordonez_adl.csv"]
    diary = asked(by, order, state, **said).timed(data("activity/ordonez_adl.csv"))
    shown = Counter(cell for cells in diary[1].plan.cells.values() for cell in cells if cell != BETWEEN)
    assert spacing(diary[1].plan) == () and max(shown.values()) == 61
    bare = asked(by, order, state, **{k: v for k, v in said.items() if k != "overlaps"})
    with pytest.raises(BadTable, match="--overlaps"):
        bare.timed(data("activity/ordonez_adl.csv"))


@pytest.mark.parametrize("name", [name for name, (*_, expected) in FILES.items() if expected[2] <= 11])
def test_a_command_works_out_what_an_entry_of_short_sequences_costs(name):
    (by, order, state), said, _ = FILES[name]
    options = [part for key, value in said.items() for part in (f"--{key}", value)]
    columns = [part for key, value in (("--by", by), ("--order", order)) if value for part in (key, value)]
    found = CliRunner().invoke(cli.app, [
        "influence", data(name), *columns, "--state", state, *options, "--length", "6", "--epsilon", "1", "--json",
    ])  # fmt: skip
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    budget = told["epsilon per entry"]
    assert budget["best rule"] >= budget["group"] > 0
