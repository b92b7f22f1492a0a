"""The table of a channel: what is refused, how it is written, and that every output comes as often as it says."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from fugu.errors import BadNoise, CertificateError
from fugu.noise.bits import BitSource, RngBits
from fugu.noise.channel import Channel
from tape import TapeBits

ROWS = [[2, 3, 0], [0, 1, 4], [5, 0, 0]]


class Listed(BitSource):
    """Words in the order given, each used once."""

    def __init__(self, words):
        self.left = list(words)

    def words(self, bits, count):
        assert all(word < 2**bits for word in self.left[:count])
        taken, self.left = self.left[:count], self.left[count:]
        if len(taken) < count:
            raise EOFError
        return np.array(taken, dtype=np.uint64)


@pytest.mark.parametrize("row", range(3))
def test_every_word_leads_to_its_output_and_words_beyond_the_total_are_drawn_again(row):
    """All words of three bits, each once: five are kept, and lead to outputs as often as the row says."""
    channel = Channel([0, 1, 2], ROWS)
    first = Counter()
    for word in range(8):
        try:
            first[int(channel.move(np.array([row]), Listed([word]))[0])] += 1
        except EOFError:
            assert word >= channel.total
    assert [first[y] for y in range(3)] == ROWS[row]
    again = channel.move(np.array([row]), Listed([7, 5, 6, 4]))
    assert again == channel.move(np.array([row]), Listed([4]))


def test_a_draw_by_remainders_would_be_seen():
    """The wrong version: word mod total. It gives the first outputs more than their share."""
    wrong = Counter(int(np.searchsorted(np.cumsum(ROWS[0]), word % 5, side="right")) for word in range(8))
    assert [Fraction(wrong[y], 8) for y in range(3)] != [Fraction(x, 5) for x in ROWS[0]]


def test_totals_beyond_a_machine_word_are_drawn_exactly_too():
    """Of 66 bits, from 32 + 32 + 2 bits: words are taken from the left, and the ends are where the sums are."""
    total = 2**65 + 1
    channel = Channel([0, 1], [[2**65, 1], [1, 2**65]])
    bits = f"{2**65:066b}"
    assert channel.move(np.array([0]), TapeBits(bits)).tolist() == [1]
    assert channel.move(np.array([1]), TapeBits(bits)).tolist() == [1]
    assert channel.move(np.array([0]), TapeBits(f"{2**65 - 1:066b}")).tolist() == [0]
    assert channel.move(np.array([0]), TapeBits(f"{total:066b}{0:066b}")).tolist() == [0]


def test_rows_are_not_mixed_up_in_a_column():
    channel = Channel([0, 1, 2], ROWS)
    places = np.tile([0, 1, 2], 20_000)
    drawn = channel.move(places, RngBits(np.random.default_rng(5)))
    for row in range(3):
        seen = np.bincount(drawn[places == row], minlength=3) / 20_000
        assert np.abs(seen - np.array(ROWS[row]) / 5).max() < 0.02
        assert np.all(seen[np.array(ROWS[row]) == 0] == 0)


def test_a_constant_total_of_one_needs_no_bits():
    assert Channel([7.0], [[1], [1]]).move(np.array([0, 1, 1]), TapeBits("")).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("outputs", "rows", "more"),
    [
        ([0, 1], [[1, 2], [2, 2]], {}),
        ([0, 1], [[1, -1], [0, 0]], {}),
        ([0, 1], [[0, 0], [0, 0]], {}),
        ([0, 1], [[0.5, 0.5], [1, 0]], {}),
        ([0, 1], [[True, False], [False, True]], {}),
        ([1, 0], [[1, 0], [0, 1]], {}),
        ([0, 0], [[1, 0], [0, 1]], {}),
        ([0, np.nan], [[1, 0], [0, 1]], {}),
        ([0, np.inf], [[1, 0], [0, 1]], {}),
        ([], [[]], {}),
        ([0, 1], [], {}),
        ([0, 1], [[1, 0, 0]], {}),
        ([0, 1], [[1, 0], [0, 1]], {"weight": [1]}),
        ([0, 1], [[1, 0], [0, 1]], {"weight": [0, 0]}),
        ([0, 1], [[1, 0], [0, 1]], {"weight": [-1, 2]}),
        ([0, 1], [[1, 0], [0, 1]], {"weight": [np.nan, 1]}),
        ([0, 1], [[1, 0], [0, 1]], {"names": ["a", "a"]}),
        ([0, 1], [[1, 0], [0, 1]], {"names": ["a"]}),
    ],
)
def test_what_is_no_channel_is_refused(outputs, rows, more):
    with pytest.raises(BadNoise):
        Channel(outputs, rows, **more)


def test_a_value_without_a_row_is_refused():
    with pytest.raises(BadNoise, match="no row"):
        Channel([0, 1], [[1, 0], [0, 1]]).move(np.array([2]))


def test_what_is_written_is_read_back_to_the_unit():
    channel = Channel([0.1, 1, 5], [[2**70, 3, 0], [3, 2**70, 0], [0, 0, 2**70 + 3]], [0.1, 0.2, 0.7], ["a", "b", "c"])
    assert Channel.from_json(json.loads(json.dumps(channel.to_json()))) == channel
    assert Channel.from_json(Channel([0], [[4]]).to_json()).weight is None


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "laplace"},
        {"rows": [{"0": "1"}, {"9": "1"}]},
        {"rows": [{"0": "1"}, {"x": "1"}]},
        {"rows": [{"0": "1"}, {"0": "1.5"}]},
        {"outputs": ["0", "1"]},
        {"outputs": [True, 2.0]},
        {"rows": [{"0": "1"}, {"0": "2"}]},
        {"rows": [{"0": "1"}, {"0": "-1", "1": "2"}]},
    ],
)
def test_a_channel_that_cannot_be_read_is_refused(change):
    found = Channel([0, 1], [[1, 0], [0, 1]]).to_json()
    with pytest.raises((CertificateError, BadNoise, ValueError)):
        Channel.from_json({**found, **change})


def test_silent_means_that_the_value_can_be_told():
    assert Channel([0, 1], [[1, 0], [0, 1]]).silent and Channel([0, 1], [[0, 1], [1, 0]]).silent
    assert not Channel([0, 1], [[1, 0], [1, 0]]).silent and not Channel([0, 1], [[2, 1], [0, 3]]).silent
