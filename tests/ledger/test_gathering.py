"""What a table is recognised by does not depend on the batches in which it comes, nor on what is spilled; it is what
earlier versions stored, by the definition written out."""

import hashlib
import hmac

import numpy as np
import pytest

from fugu.data.column import Raw
from fugu.ledger import fingerprint, fingerprints, gathering
from fugu.ledger.fingerprint import Gathered, Marks, cells, digested
from fugu.ledger.gathering import Names, Words

RNG = np.random.default_rng


def by_definition(table):
    """As version 0.3 worked it out: every cell 64 bits, a row their sum under the names of columns, all sorted."""
    rows, named = np.zeros(0), {}
    for k, name in enumerate(sorted(table)):
        bits = cells(table[name])
        salt = np.uint64(int.from_bytes(hashlib.blake2b(f"column {name}".encode(), digest_size=8).digest(), "little"))
        part = fingerprint._mixed(bits ^ salt)
        rows = part if k == 0 else rows + part
        if len(set(bits.tolist())) > 64:
            named[hashlib.sha256(b"fugu column\n" + np.sort(bits).astype("<u8").tobytes()).hexdigest()] = name
    named[hashlib.sha256(b"fugu rows\n" + np.sort(rows).astype("<u8").tobytes()).hexdigest()] = None
    return named, rows


def tables(rng, rows):
    ids = np.array([f"p{k}" for k in rng.permutation(rows)], dtype=object).tolist()
    return {
        "id": ids, "n": rng.integers(-5, 70, size=rows), "x": rng.normal(size=rows),
        "ward": rng.choice(np.array(["a", "NA", "", " b", "true", "7", "7.0"], dtype=object), size=rows).tolist(),
    }  # fmt: skip


@pytest.mark.parametrize("room", [4, 64, 2**18])
def test_batches_in_any_order_give_the_marks_that_are_stored(room, monkeypatch):
    monkeypatch.setattr(gathering, "ROOM", room)
    rng = RNG(3)
    for rows in (1, 40, 700):
        table = tables(rng, rows)
        named, bits = by_definition(table)
        for pieces in (1, 2, 9):
            order, gathered = rng.permutation(rows), Gathered()
            for part in np.array_split(order, pieces):
                gathered.add({name: Raw.of(name, [column[k] for k in part]) for name, column in table.items()})
            marks = gathered.marks(None, dict)
            assert set(marks.named) == set(named) == set(fingerprints(table).named)
            assert sorted(marks.rows.tolist()) == sorted(bits.tolist())


@pytest.mark.parametrize("room", [4, 50, 2**18])
def test_numbers_are_read_in_order_however_they_came(room, monkeypatch):
    monkeypatch.setattr(gathering, "ROOM", room)
    rng = RNG(1)
    for size, most in ((0, 9), (3, 9), (1000, 20), (1000, 2**63), (500, 2)):
        words, added = rng.integers(0, most, size=size, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15), Words()
        for part in np.array_split(words, 7):
            added.add(part)
        for _ in range(2):  # read again, and added to after it was read
            expected = hashlib.sha256(b"b" + np.sort(words).astype("<u8").tobytes()).hexdigest()
            assert added.digest(b"b") == (expected, len(set(words.tolist())))
            runs = list(added)
            values = np.concatenate([run[0] for run in runs])
            assert values.tolist() == sorted(set(words.tolist()))
            assert np.repeat(values, np.concatenate([run[1] for run in runs]).astype(int)).tolist() == sorted(
                words.tolist()
            )
            added.add(words)
            words = np.concatenate([words, words])


def test_plain_names_are_digested_as_they_are_one_by_one():
    rng, some = RNG(5), [*"abzftinAFTIN019 -._é\n", "true", "nat", "inf", "2020-01-01", "nan", "e5", "\u017f", "\u212a"]
    for _ in range(3000):
        names = ["".join(rng.choice(some, size=rng.integers(4))) for _ in range(rng.integers(1, 4))]
        apart = [int(cells(Raw.of("", [name, 7]))[0]) for name in names]  # a number among them: each by itself
        assert cells(Raw.of("", names)).tolist() == apart, names


def test_names_come_back_in_their_order_and_are_digested_as_people(monkeypatch):
    monkeypatch.setattr(gathering, "ROOM", 4)
    names, parts = Names(), [["b", "a\n"], [], ["Zoë"] * 1, [f"person {k}" for k in range(90)]]
    for part in parts:
        names.add(part)
    listed = [name for part in parts for name in part]
    assert list(names) == list(names) == listed and len(names) == len(listed)
    one, two = (Marks({}, persons=who).under("k" * 64) for who in (names, tuple(listed)))
    assert one.people.tolist() == two.people.tolist() and one.who == two.who


@pytest.mark.parametrize("key", ["", "k", "é" * 32, "k" * 64, "k" * 65, "ab" * 200])
def test_keyed_digests_are_those_of_the_standard(key):
    items = [b"", b"row 1", b"x" * 200, *(b"person %d" % k for k in range(50))]
    own = sorted(int.from_bytes(hmac.digest(key.encode(), item, "sha256")[:8], "little") for item in items)
    assert digested(key, iter(items)).tolist() == own
