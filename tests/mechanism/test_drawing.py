"""A column that is drawn in batches: the same bits give the same values however it is cut, and wherever it is drawn."""

import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import fugu
from fugu.data.column import Raw
from fugu.errors import AlreadyReleased, NoiselessRelease, UsageError
from fugu.mechanism import post
from fugu.mechanism.drawing import BLOCK, arrow_cells
from fugu.noise.bits import RngBits

RNG = np.random.default_rng
REFERENCE = {
    "ill": ["yes"] * 200 + ["no"] * 200, "chol": [200, 240, 260, 310, 330] * 40 + [190, 240, 240, 280, 330] * 40,
    "ward": ["a", "b", "b", "c"] * 50 + ["a", "a", "b", "c"] * 50,
    "day": ["2020-01-01", "2020-01-05", "2020-02-03", "2020-01-09"] * 50 + ["2020-01-01", "2020-01-09"] * 100,
}  # fmt: skip
WARDS = fugu.Schema({"ward": {"kind": "category", "values": ["a", "b", "c"]}})
CHOL = [200, 241.5, None, "n/a", 1e300, -7, "310", 260, True]


def additive(**more):
    return fugu.calibrate(fugu.Scenario.from_table(REFERENCE, publish="chol", protect="ill", **more), fugu.Pure(0.5))


def gaussian():
    return fugu.calibrate(
        fugu.Scenario.from_table(REFERENCE, publish="chol", protect="ill"), fugu.Approx(0.5, 1e-4), noise="gaussian"
    )


def swapped():
    scenario = fugu.Scenario.from_table(REFERENCE, publish="ward", protect="ill", schema=WARDS)
    return fugu.optimal_channel(scenario, fugu.Pure(0.3), "zero-one")


def dated():
    return fugu.calibrate(fugu.Scenario.from_table(REFERENCE, publish="day", protect="ill"), fugu.Pure(1))


MAKE = {
    "laplace": (additive, CHOL),
    "gaussian": (gaussian, CHOL),
    "bins": (lambda: additive(bins=[100, 250, 400]), CHOL),
    "dropped": (lambda: additive(missing="drop"), CHOL),
    "remapped": (lambda: additive().remapped(), CHOL),
    "rounded": (lambda: additive().then(post.clip(150, 400)).then(post.round_to(0.1)), CHOL),
    "channel": (swapped, ["a", "c", "zz", None, " b "]),
    "dates": (dated, ["2020-01-01", "2020-02-03T10:00", "never", None]),
    "mixed": (lambda: fugu.mix(0.5, additive(), additive()), CHOL),
}


def whole(mechanism, cells, seed):
    """What the mechanism gives of the column in memory, from these bits."""
    column, scalar = mechanism._column(cells, False)
    return mechanism._drawing.written(mechanism._released(column, scalar, RngBits(RNG(seed))).values)


@pytest.mark.parametrize("name", MAKE)
def test_batches_of_any_size_give_the_draws_of_the_column_whole(name, monkeypatch):
    monkeypatch.setattr("fugu.mechanism.drawing.BLOCK", 64)
    make, some = MAKE[name]
    rng = RNG(1)
    cells = [some[k] for k in rng.integers(len(some), size=300)]
    mechanism, coin = make(), RNG(9)
    if name == "mixed":
        monkeypatch.setattr("fugu.mechanism.settled.bernoulli", lambda share, source: True)
    expected = whole(mechanism, cells, 5)
    draw = pickle.loads(pickle.dumps(mechanism.column_draw(allow_no_noise=True)))
    for _ in range(12):
        ends = [0, *sorted(coin.integers(0, 301, size=coin.integers(6)).tolist()), 300]
        pieces = [draw.numbers({draw.name: Raw.of("", cells[a:b])}) for a, b in pairwise(ends)]
        found = [block.values[block.codes] for block in draw.drawing.blocks(pieces, RngBits(RNG(5)))]
        np.testing.assert_array_equal(np.concatenate(found), expected)


@pytest.mark.parametrize("name", MAKE)
def test_an_arrow_batch_is_published_as_the_column_is(name):
    make, some = MAKE[name]
    cells = [None if cell is None else str(cell) for cell in some] * 20
    mechanism = make()
    told = [] if name == "mixed" else whole(mechanism, cells, 5).tolist()  # of a mixture the coin is tossed before
    expected = [None if x != x or x == "" else x for x in told]
    draw = pickle.loads(pickle.dumps(mechanism.column_draw(allow_no_noise=True)))
    batch = pa.RecordBatch.from_pydict({"other": [1] * len(cells), draw.name: pa.array(cells, type=pa.string())})
    out = draw.arrow(batch, RngBits(RNG(5)))
    assert out.schema.names == [draw.name] and out.num_rows == len(cells)
    assert out.schema.field(0).type == (pa.string() if name in ("channel", "dates") else pa.float64())
    assert name == "mixed" or out.column(0).to_pylist() == expected
    assert draw.arrow(batch.slice(0, 0)).schema == out.schema


def test_texts_by_their_dictionary_are_the_texts():
    for kind in (pa.string(), pa.large_string()):
        found = arrow_cells("x", pa.array(["b", None, "a", "b"], type=kind))
        assert found.to_list() == ["b", None, "a", "b"]
    assert arrow_cells("x", pa.array([1, None, 3])).to_list() == [1, None, 3]


def test_a_column_is_drawn_for_batches_once_and_only_where_a_release_would_be():
    mechanism = additive()
    mechanism.column_draw()
    for again in (mechanism.column_draw, lambda: mechanism.release([200.0])):
        with pytest.raises(AlreadyReleased):
            again()
    alike = fugu.Scenario.from_table({"ill": [0, 1] * 9, "x": [1, 1] * 9}, publish="x", protect="ill")
    exact = fugu.calibrate(alike, fugu.Pure(1))
    with pytest.raises(NoiselessRelease):
        exact.column_draw()
    assert exact.column_draw(allow_no_noise=True).name == "x"
    with pytest.raises(UsageError, match="whole column"):
        additive().then(post.clip(0, 400)).then(lambda column: column - column.mean()).column_draw()
    laws = fugu.Scenario({"a": fugu.Discrete([0, 1]), "b": fugu.Discrete([1, 2])})
    with pytest.raises(UsageError, match="bare laws"):
        fugu.calibrate(laws, fugu.Pure(1)).column_draw()


def test_blocks_are_those_of_the_samplers():
    """A column in memory is drawn from the same bits as before it was drawn in blocks."""
    import fugu.noise.gaussian
    import fugu.noise.laplace

    assert BLOCK == fugu.noise.gaussian._CHUNK == fugu.noise.laplace._CHUNK
