"""What a table is recognised by does not depend on the batches in which it comes, nor on what is spilled; it is what
earlier versions stored, by the definition written out."""

import hashlib
import hmac

import numpy as np
import pytest

from fugu.data.column import Raw
from fugu.ledger import fingerprint, fingerprints, gathering
from fugu.ledger.fingerprint import Gathered, Marks, cells, name_bits
from fugu.ledger.gathering import People, Words, chacha20, digested, in_common, text_bits
from hunting import search

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
            assert listed(marks.rows) == sorted(bits.tolist())


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


def listed(words):
    return [word for block in words.each() for word in block.tolist()]


def test_who_is_in_a_table_does_not_depend_on_how_it_is_told(monkeypatch):
    """Names that are cells as they stand take the bits of the cells; the others their own."""
    monkeypatch.setattr(gathering, "ROOM", 4)
    rng, some = RNG(2), ["Zoë", "a", "7", "b c", "t", "true1x", "TRUE", *(f"p{k}" for k in range(40))]
    for _ in range(100):
        names = [str(name) for name in rng.permutation(some)[: rng.integers(1, 40)]]
        raw = Raw.of("who", names)
        cells(raw)
        assert (
            name_bits(names, raw).tolist()
            == name_bits(names, Raw.of("who", names)).tolist()
            == [int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") for name in names]
        )
        cells(other := Raw.of("who", names[::-1]))
        assert name_bits(names, other).tolist() == name_bits(names, raw).tolist()
        people = People.of(names)
        assert list(people) == names and not people.twice() and People.of([*names, names[0]]).twice()
        for early in (True, False):
            one, two = (Marks({}, persons=People.of(who)).under("k" * 64, early) for who in (names, names[::-1]))
            assert one.stored == two.stored and listed(one.people) == listed(two.people)


def quarter(a, b, c, d):
    """RFC 8439, 2.1."""
    for x, y in ((16, 12), (8, 7)):
        a = (a + b) % 2**32
        d = ((d ^ a) << x | (d ^ a) >> (32 - x)) % 2**32
        c = (c + d) % 2**32
        b = ((b ^ c) << y | (b ^ c) >> (32 - y)) % 2**32
    return a, b, c, d


def block(key, counter, nonce):
    """RFC 8439, 2.3, as it is written there."""
    words = [
        int.from_bytes(text[k : k + 4], "little") for text in (b"expand 32-byte k", key) for k in range(0, len(text), 4)
    ]
    start = [*words, counter, *(int.from_bytes(nonce[k : k + 4], "little") for k in (0, 4, 8))]
    state = list(start)
    for _ in range(10):
        for places in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                       (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):  # fmt: skip
            for place, word in zip(places, quarter(*(state[k] for k in places)), strict=True):
                state[place] = word
    return b"".join(((a + b) % 2**32).to_bytes(4, "little") for a, b in zip(state, start, strict=True))


def test_digests_are_those_of_the_standard():
    key = bytes(range(32))
    told = block(key, 1, bytes.fromhex("000000090000004a00000000")).hex()  # RFC 8439, 2.3.2
    assert told.startswith("10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e")
    assert chacha20(bytes(32), np.zeros(1, dtype=np.uint64)).tobytes().hex() == "76b8e0ada0f13d90"  # A.1, 1
    rng = RNG(6)
    for size in (0, 1, 5, gathering._LANES + 3):
        words, key = rng.integers(0, 2**64, size=size, dtype=np.uint64), rng.bytes(32)
        found = chacha20(key, words).astype("<u8").tobytes()
        for k in {*range(min(size, 40)), *range(max(0, size - 40), size)}:
            assert found[8 * k : 8 * k + 8] == block(key, 0, bytes(4) + int(words[k]).to_bytes(8, "little"))[:8]


def test_what_is_stored_is_what_is_written_here():
    key, names, table = "k" * 64, ["b", "a", "Zoë"], {"x": list(range(40)), "y": [1, 2] * 20}
    marks = fingerprints(table)
    found = Marks({}, persons=People.of(names), rows=marks.rows).under(key, False)
    for kind, what, bits in (("people", "person", text_bits(names).tolist()), ("rows", "row", listed(marks.rows))):
        secret = hmac.digest(key.encode(), f"fugu {what}".encode(), "sha256")
        own = sorted(block(secret, 0, bytes(4) + word.to_bytes(8, "little"))[:8][::-1] for word in bits)
        assert found.stored[kind] == hashlib.sha256(b"".join(part[::-1] for part in own)).hexdigest()


@pytest.mark.parametrize("key", ["", "k", "é" * 32, "k" * 64, "k" * 65, "ab" * 200])
def test_keyed_digests_of_early_ledgers_are_those_of_the_standard(key):
    items = [b"", b"row 1", b"x" * 200, *(b"person %d" % k for k in range(50))]
    own = sorted(int.from_bytes(hmac.digest(key.encode(), item, "sha256")[:8], "little") for item in items)
    assert listed(digested(key, iter(items))) == own


@search("sets of digests, a part after the other", quick=100)
def test_sets_are_compared_as_if_they_lay_in_memory(rng):
    """Whatever is spilled and wherever a part ends; repeats, the ends of the range, empty sets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "ROOM", int(rng.choice([1, 2, 7, 64])))
        pool = np.unique(np.concatenate([rng.integers(0, 2**64, size=60, dtype=np.uint64),
                                         np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64)]))  # fmt: skip
        sets = [rng.choice(pool[: rng.integers(1, len(pool) + 1)], size=rng.integers(0, 200)) for _ in range(4)]
        words = [Words() for _ in sets]
        for numbers, one in zip(sets, words, strict=True):
            for part in np.split(numbers, np.sort(rng.integers(0, len(numbers) + 1, size=3))):
                one.add(part)
        assert [listed(one) for one in words] == [sorted(numbers.tolist()) for numbers in sets]
        own, *others = sets
        inside = {*np.concatenate(others).tolist()}
        assert in_common(words[0], words[1:]) == sum(number in inside for number in own.tolist())
        assert in_common(words[0], []) == 0
        for most in (None, 1, 3):
            parts = list(zip(*gathering.aligned(words, most), strict=True))
            for numbers, cut in zip(sets, parts, strict=True):
                kept = [n for number in sorted({*numbers.tolist()})
                        for n in [number] * min(most or 10**9, int((numbers == np.uint64(number)).sum()))]  # fmt: skip
                assert np.concatenate(cut).tolist() == kept
            place = dict[int, int]()  # equal numbers of all sets are in one part
            for k, together in enumerate(zip(*parts, strict=True)):
                assert all(place.setdefault(number, k) == k for part in together for number in part.tolist())
