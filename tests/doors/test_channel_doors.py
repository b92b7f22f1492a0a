"""One private record through the doors that channels, confidence, noise on atoms and remaps added: it moves its own
value and nothing else, in memory, through frames and files, and through the command."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hostile import CELLS, as_csv, called, ways
from test_one_row import REFERENCE, ROW, TODAY, column_violations, command, fixed, replaced, silent

import fugu
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.bits import RngBits
from fugu.noise.channel import Channel

__all__ = ["fixed"]
STEPS = fugu.Schema({"v": {"kind": "number", "bounds": (0, 5), "step": 1}})
NAMES = fugu.Schema({"size": {"kind": "category", "values": ["low", "mid", "high"]}})
OTHERS = fugu.Schema({"icd": {"kind": "category", "values": ["250.0", "V27.0", "8"], "outside": "(other)"}})
COLUMNS = (
    {"publish": "v", "confidence": 0.95, "schema": STEPS},
    {"publish": "v", "confidence": 0.95, "bins": [0, 2, 4, 6]},
    {"publish": "size", "confidence": 0.95, "bins": ["low", "mid", "high"]},
    {"publish": "size", "schema": NAMES},
    {"publish": "size", "confidence": 0.95, "schema": NAMES},
    {"publish": "icd", "schema": OTHERS},
)


@pytest.mark.parametrize(("asked", "container"), ways(COLUMNS, [COLUMNS[4]]), ids=called)
def test_one_row_of_a_column(asked, container, tmp_path):
    assert column_violations(silent(**asked), container, CELLS, tmp_path) == []


KINDS = ("atoms", "atoms remapped", "laplace remapped", "optimal", "robust", "nominal")


@cache
def mechanisms() -> dict[str, Mechanism]:
    """What runs, of every new kind; made once, when a test asks for it."""
    plain, budget = fugu.Scenario.from_table(REFERENCE, "v", "s"), fugu.Pure(0.5)
    sure = fugu.Scenario.from_table(REFERENCE, "v", "s", confidence=0.95, schema=STEPS)
    nominal = fugu.Scenario.from_table(REFERENCE, "size", "s", schema=NAMES)
    return {
        "atoms": fugu.calibrate(plain, budget, noise="atoms"),
        "atoms remapped": fugu.calibrate(plain, budget, noise="atoms").remapped(),
        "laplace remapped": fugu.calibrate(plain, budget).remapped("squared"),
        "optimal": fugu.optimal_channel(plain, budget, cap=3),
        "robust": fugu.calibrate(sure, budget, method="robust-channel"),
        "nominal": fugu.calibrate(nominal, budget),
    }


@pytest.mark.parametrize("name", KINDS)
def test_one_value_moves_its_own_output_with_the_same_bits(name):
    """Every row reads as many bits as before, whatever stands in one of them: the other outputs are the same."""
    mechanism = mechanisms()[name]
    column = TODAY[mechanism.context.query["publish"]]

    def drawn(cells):
        found = mechanism.simulate(cells, np.random.default_rng(3)).values
        return found.dtype, found.shape, [x for k, x in enumerate(found.tolist()) if k != ROW]

    base = drawn(column)
    for cell in CELLS:
        assert drawn([*column[:ROW], cell, *column[ROW + 1 :]]) == base


def test_a_sampler_that_reads_bits_by_the_value_is_seen(monkeypatch):
    """The wrong version: rows with a sure output draw nothing, and shift the bits of all others."""

    def thrifty(self, places, source):
        sure = np.array([max(self.rows[x]) == self.total for x in places.tolist()])
        sure |= places == places.max()
        out = np.argmax(np.array([self.rows[x] for x in places.tolist()], dtype=float), axis=1)
        words = source.words(20, int((~sure).sum())) / 2**20
        ends = np.cumsum(self.conditional(), axis=1)
        out[~sure] = [int(np.searchsorted(ends[x], w)) for x, w in zip(places[~sure].tolist(), words, strict=True)]
        return out

    mechanism = mechanisms()["optimal"]
    monkeypatch.setattr(Channel, "move", thrifty)
    column = [1] * 40
    base, moved = (
        mechanism.simulate([*column[:ROW], cell, *column[ROW + 1 :]], np.random.default_rng(3)).values
        for cell in (1, 5)
    )
    assert np.delete(base, ROW).tolist() != np.delete(moved, ROW).tolist()


_STEPS = '[schema.columns.v]\nkind = "number"\nbounds = [0, 5]\nstep = 1\n'
_NAMES = '[schema.columns.size]\nkind = "category"\nvalues = ["low", "mid", "high"]\n'
COMMANDS = (
    (("--publish", "v", "--noise", "atoms", "--remap", "absolute"), None),
    (("--publish", "v", "--mechanism", "optimal", "--cap", "4"), None),
    (("--publish", "v", "--confidence", "0.95"), _STEPS),
    (("--publish", "size"), _NAMES),
)


@pytest.mark.parametrize(("asked", "schema"), COMMANDS, ids=lambda x: " ".join(x)[:40] if isinstance(x, tuple) else "")
def test_one_row_of_a_released_file(asked, schema, tmp_path, fixed):
    as_csv(REFERENCE, tmp_path).rename(tmp_path / "ref.csv")
    if schema is not None:
        (tmp_path / "schema.toml").write_text(schema)
        asked = (*asked, "--schema", tmp_path / "schema.toml")
    as_csv(TODAY, tmp_path)
    fixed()
    base, public = command(tmp_path, *asked)
    assert public[0] == 0
    assert len(base) == 25
    for cell in ("V27.0", "", "inf", "1e308", '"', "a\nb", b"\xff\xfe", "9" * 400, "2.5", "sentinel-7318"):
        as_csv(replaced(asked[1], cell), tmp_path)
        fixed()
        column, said = command(tmp_path, *asked)
        assert said == public
        assert [x for k, x in enumerate(column) if k != ROW + 1] == [x for k, x in enumerate(base) if k != ROW + 1]
        assert not any("sentinel" in path.read_text() for path in published(tmp_path))


def published(folder):
    """What goes out: every file but the private part, which holds what the owner saw of the own table."""
    found = [path for path in folder.glob("out.*") if path.name != "out.private.json"]
    assert len(found) == 3
    return found


class Counting:
    """Bits from a generator, and how many were asked for."""

    def __init__(self):
        self.bits, self.taken = RngBits(np.random.default_rng(8)), []

    def words(self, bits, count):
        self.taken.append((bits, count))
        return self.bits.words(bits, count)


def test_bits_of_a_channel_do_not_follow_the_values():
    """As many words for any column of one length."""
    mechanism, read = mechanisms()["robust"], []
    for column in ([0] * 50, [5] * 50, [0, 5] * 25):
        source = Counting()
        mechanism._draw(np.array(column, dtype=float), source)
        read.append(source.taken)
    assert read[0] == read[1] == read[2] != []
