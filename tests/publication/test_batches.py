"""A column of files of any size: what goes out does not depend on batches, parts or forms; a change while it is read is
noticed; what is wrong leaves nothing behind; a process that is killed anywhere is finished by the next."""

from __future__ import annotations

import gzip
import os
import signal
import stat
import sys
from contextlib import suppress
from itertools import count, pairwise

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import fugu
from fugu.data import Table, csv_text, files, parts
from fugu.data.files import Dialect, shown_columns
from fugu.data.parts import Parts
from fugu.documents.release import PrivatePart, commit_table
from fugu.errors import BadTable, FuguError, MissingExtra, RepeatedUnit, UsageError
from fugu.ledger import Books, books, fingerprints, gathering
from fugu.mechanism import drawing
from fugu.noise.bits import RngBits
from fugu.publication import column as batches
from fugu.publication.drafts import PENDING
from fugu.releasing.column_route import scenario_of
from hunting import search

RNG = np.random.default_rng
CELLS = ["200", "240", "241.5", "", "n/a", '"', "a\nb", "1e300", "-7", " 310", "260.0", "300,5", "\u00e9", "0"]


def written(table, path):
    """A table of texts as CSV, with quotes where they are needed, or as Parquet."""
    if path.suffix == ".csv":
        path.write_text(csv_text(table), newline="")
        return path
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({name: pa.array(cells, type=pa.string()) for name, cells in table.items()}), path)
    return path


def some_table(rng, rows):
    cells = [CELLS[k] for k in rng.integers(len(CELLS), size=rows)]
    return {"who": [f"p{k}" for k in range(rows)], "v": cells, "x": rng.integers(9, size=rows).astype(str).tolist()}


def known(folder):
    """A reference in this folder."""
    path, rng = folder / "ref.csv", RNG(0)
    ill = np.repeat(["yes", "no"], 200)
    values = 200 + 20 * rng.integers(6, size=400) + 20 * (ill == "yes")
    rows = {"who": [f"r{k}" for k in range(400)], "ill": ill.tolist(), "v": values.tolist()}
    path.write_text(csv_text(rows))
    return path


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return known(tmp_path_factory.mktemp("reference"))


def plan(reference, **more):
    return {"publish": "v", "protect": "ill", "epsilon": 1, "reference": str(reference), **more}


def cut(rng, table, place, form):
    """The same rows in a folder of parts, some of them empty."""
    place.mkdir(parents=True)
    rows = len(table["v"])
    ends = [0, *sorted(rng.integers(rows + 1, size=rng.integers(4)).tolist()), rows]
    for k, (a, b) in enumerate(pairwise(ends)):
        written({name: cells[a:b] for name, cells in table.items()}, place / f"{k:03}{form}")
    return place


@search("columns in random batches, parts and forms", quick=4)
def test_what_goes_out_does_not_depend_on_how_the_table_comes(rng, tmp_path):
    """The bytes of the file are those of the column drawn in memory from the same bits, written as ever."""
    reference = known(tmp_path)
    table = some_table(rng, int(rng.integers(1, 90)))
    more = {} if rng.integers(2) else {"clip": "150,400", "round": "0.5"}
    question = fugu.Question(**plan(reference, **more))
    scenario = scenario_of(question, str(reference))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "BLOCK", 16)
        from fugu.releasing.column_route import made

        mechanism = made(question, scenario, fugu.Pure(1))
        column, scalar = mechanism._column(table["v"], False)
        values = mechanism._released(column, scalar, RngBits(RNG(7))).values
        expected = csv_text(shown_columns({"v": values})).encode()
        for turn in range(3):
            patch.setattr(files, "BLOCK", int(rng.integers(1, 300)))
            patch.setattr(files, "CHUNK", int(rng.integers(1, 30)))
            patch.setattr(parts, "ROWS", int(rng.integers(1, 30)))
            patch.setattr(batches, "LOOKED", int(rng.integers(1, 100)))
            patch.setattr(batches, "OS", RngBits(RNG(7)))
            form = (".csv", ".parquet")[rng.integers(2)]
            where = tmp_path / f"{turn}{rng.integers(1 << 30)}"
            where.mkdir()
            source = cut(rng, table, where / "in", form) if rng.integers(2) else written(table, where / f"t{form}")
            out = where / ("out", "out.csv", "out.parquet")[rng.integers(3) if source.is_dir() else rng.integers(1, 3)]
            went = fugu.release(question, source, out, ledger=False)
            assert csv_text({"v": went.values}).encode() == expected
            assert out.suffix != ".csv" or out.read_bytes() == expected
            assert fugu.examine(where / "out.certificate.json", published=out, data=source,
                                private=where / "out.private.json").holds  # fmt: skip
    return 3


@search("texts cut at their separators, and by the parser", quick=60)
def test_text_is_cut_as_the_parser_cuts_it(rng, tmp_path):
    """Blank lines, ends of lines, quotes, short and long rows: the cells, or the refusal, of Python's csv alone."""
    some = ["a", "bc", "", '"x,y"', '"', " ", "\u00e9", "\r", "\x00", ";"]
    width, lines = int(rng.integers(1, 4)), []
    for _ in range(rng.integers(0, 12)):
        size = width if rng.random() < 0.95 else int(rng.integers(0, 5))
        lines.append(",".join(some[k if rng.random() < 0.3 else k % 3] for k in rng.integers(len(some), size=size)))
    ends = ("\n", "\r\n")[rng.integers(2)]
    text = ends.join([",".join("xyz"[:width]), *lines]) + (ends if rng.integers(2) else "")
    path = tmp_path / f"t{rng.integers(1 << 40)}.csv"
    path.write_bytes(text.encode())

    def read():
        try:
            table = files.read_table(path, Dialect(","))
            return {name: table.raw(name).to_list() for name in table.columns}
        except BadTable as error:
            return str(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", int(rng.integers(1, 60)))
        own = read()
        patch.setattr(files, "_cut", lambda *_: None)
        patch.setattr(files, "BLOCK", 1 << 20)
        assert own == read(), text
    return 1


@search("cells told apart by their bytes", quick=60)
def test_cells_are_told_apart_by_their_bytes_as_by_themselves(rng):
    """Few cells or many, short or long, alike in their first or last bytes, with nothing in them, of any letters."""
    letters = ["a", "b", " ", "\u00e9", "\U0001f600", "\x01", "0"][: int(rng.integers(1, 8))]
    stem = "".join(rng.choice(letters, size=rng.choice([0, 0, 7, 8, 62, 70])))
    pool = [stem + "".join(rng.choice(letters, size=rng.integers(0, rng.choice([2, 5, 12])))) for _ in range(40)]
    pool += [cell + "\ud800"[: rng.integers(2)] for cell in pool[:3]] + [cell[::-1] for cell in pool]
    width, rows = int(rng.integers(1, 4)), int(rng.integers(1, 400))
    own = [rng.permutation(pool[: int(rng.integers(1, len(pool)))]) for _ in range(width)]
    table = [[str(cells[k % len(cells)]) for k in (rng.integers(0, 10**6, rows) if rng.random() < 0.7 else range(rows))]
             for cells in own]  # fmt: skip
    text = "\n".join(map(",".join, zip(*table, strict=True))) + "\n"
    cut = files._cut(text, ",", width)
    assert (cut is None) == (width > 1 and "\n\n" in text)
    for cells, column in zip(table, cut or (), strict=bool(cut)):
        found, codes = column.coded()
        assert list(column) == cells and len(column) == len(cells)
        assert (found, codes.tolist()) == (list(dict.fromkeys(cells)), [*map(list(dict.fromkeys(cells)).index, cells)])
    return width


# --- what is wrong, and what changes ----------------------------------------------------------------------------------


def nothing_but(folder, *names):
    """Nothing else lies there, hidden or not."""
    return sorted(path.name for path in folder.iterdir()) == sorted(names)


def bad(folder):
    """Tables that are none, by what is said of them."""
    good = some_table(RNG(2), 12)
    lacking = {name: cells for name, cells in good.items() if name != "x"}
    made = {}

    def parts_of(name, **files):
        (folder / name).mkdir()
        for stem, write in files.items():
            write(folder / name / stem.replace("_", "."))
        return folder / name

    made["other columns"] = parts_of("lacks", a_csv=lambda p: written(good, p), b_csv=lambda p: written(lacking, p))
    made["two kinds"] = parts_of("mixed", a_csv=lambda p: written(good, p), b_parquet=lambda p: written(good, p))
    made["is empty"] = parts_of("empty", a_csv=lambda p: written(good, p), b_csv=lambda p: p.write_text(""))
    made["not a table"] = parts_of("stray", a_csv=lambda p: written(good, p), b_txt=lambda p: p.write_text("x"))
    made["folder inside"] = parts_of("deep", a_csv=lambda p: written(good, p), b=lambda p: p.mkdir())
    made["holds no files"] = parts_of("none", _SUCCESS=lambda p: p.write_text(""))
    made["none is named 'v'"] = written({"w": ["1"]}, folder / "other.csv")
    made["no rows"] = written({name: [] for name in good}, folder / "bare.parquet")
    (folder / "cut.parquet").write_bytes((folder / "bare.parquet").read_bytes()[:-9])
    made["damaged"] = folder / "cut.parquet"
    made["must have 3 cells"] = folder / "ragged.csv"
    (folder / "ragged.csv").write_text(csv_text(good) + "1,2\n")
    made["is an address"] = "https://example.org/t.csv"
    made["no file"] = folder / "missing.parquet"
    return made


def test_what_is_no_table_is_refused_in_words_and_leaves_nothing(tmp_path, reference):
    (tmp_path / "tables").mkdir()
    for said, table in bad(tmp_path / "tables").items():
        place = tmp_path / "out"
        place.mkdir()
        for out in ("o.csv", "o.parquet", "o/"):
            with pytest.raises(FuguError, match=said):
                fugu.release(plan(reference), table, f"{place}/{out}", place / "l.db")
        assert nothing_but(place)
        place.rmdir()


def test_where_nothing_can_be_written_nothing_is_opened(tmp_path, reference, monkeypatch):
    good = written(some_table(RNG(2), 12), tmp_path / "t.csv")
    parts = cut(RNG(3), some_table(RNG(2), 12), tmp_path / "in", ".parquet")
    monkeypatch.setattr(batches.OpenedColumn, "of", None)  # an error that is none of fugu's
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "own.txt").write_text("mine")
    for table, out, said in (
        (good, "o.xlsx", "ends in .csv, .parquet or /"), (good, "s3://bucket/o.parquet", "is an address"),
        (parts, tmp_path / "in" / "o.csv", "would lie in the folder"), (parts, f"{tmp_path / 'in'}/", "is read"),
        (good, f"{tmp_path}/", "holds 't.csv', which is read"), (good, tmp_path / "no" / "o.parquet", "does not exist"),
        (good, f"{tmp_path / 'full'}/", "something else than the release"), (good, tmp_path / "t.csv", "is read"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            fugu.release(plan(reference), table, out, ledger=False, force=True)
    with pytest.raises(UsageError, match="exists"):
        fugu.release(plan(reference), good, f"{tmp_path / 'full'}/", ledger=False)
    monkeypatch.setattr(batches, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"fugu-privacy\[parquet\]"):
        fugu.release(plan(reference), good, tmp_path / "o.parquet", ledger=False)


def test_no_room_on_the_disk_leaves_nothing(tmp_path, reference, monkeypatch):
    table = cut(RNG(3), some_table(RNG(2), 40), tmp_path / "in", ".parquet")
    sync = os.fsync
    for out in ("o/", "o.parquet", "o.csv"):
        passed = count()

        def full(file, passed=passed):
            if next(passed) == 0:
                raise OSError(28, "No space left on device")
            sync(file)

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(UsageError, match="No space left"):
            fugu.release(plan(reference), table, f"{tmp_path}/{out}", ledger=False)
        monkeypatch.setattr(os, "fsync", sync)
        assert nothing_but(tmp_path, "in")


def in_place(path):
    """The same bytes but one, of the same length, at the same time as before."""
    found, raw = path.stat(), bytearray(path.read_bytes())
    raw[-2] ^= 1
    path.write_bytes(bytes(raw))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


CHANGES = {
    "a row more": lambda path: path.write_text(path.read_text() + "pz,1,1\n"),
    "a row less": lambda path: path.write_text("\n".join(path.read_text().split("\n")[:-3]) + "\n"),
    "one byte": in_place,
    "another file": lambda path: (
        path.with_name("b").write_bytes(path.read_bytes()),
        path.with_name("b").replace(path),
    ),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("out", ["o.csv", "o.parquet", "o"])
def test_a_table_that_changes_while_it_is_read_is_noticed(change, out, tmp_path, reference, monkeypatch):
    (tmp_path / "in").mkdir()
    table = written({**some_table(RNG(5), 60), "v": ["200"] * 60}, tmp_path / "in" / "a.csv")
    written({**some_table(RNG(5), 3), "who": ["q1", "q2", "q3"]}, tmp_path / "in" / "c.csv")
    before, times = table.read_bytes(), table.stat()
    monkeypatch.setattr(drawing, "BLOCK", 16)
    changed = []

    def meanwhile(what, done, total):
        if what == "rows drawn" and not changed:
            changed.append(CHANGES[change](table))

    monkeypatch.setattr(batches, "report", meanwhile)
    ledger = tmp_path / "l.db"
    with pytest.raises(BadTable, match="changed while it was read"):
        fugu.release(plan(reference, unit="who"), tmp_path / "in", tmp_path / out, ledger)
    assert changed
    assert nothing_but(tmp_path, "in", "l.db", "l.db.key")
    assert [e.state for e in Books(ledger).read(books.history)] == ["failed"]
    table.write_bytes(before)
    os.utime(table, ns=(times.st_atime_ns, times.st_mtime_ns))
    went = fugu.release(plan(reference, unit="who"), tmp_path / "in", tmp_path / out, ledger)  # under the same charge
    assert len(went.values) == 63
    assert [e.state for e in Books(ledger).read(books.history)] == ["settled"]


def test_a_part_that_is_added_is_noticed(tmp_path):
    place = cut(RNG(1), some_table(RNG(1), 9), tmp_path / "in", ".csv")
    found = Parts.of(place, Dialect())
    found.require_same()
    (place / "_SUCCESS").write_text("")
    found.require_same()
    written(some_table(RNG(1), 1), place / "zzz.csv")
    with pytest.raises(BadTable, match="changed"):
        found.require_same()


# --- who is in it, and what it is recognised by -----------------------------------------------------------------------


@pytest.mark.parametrize("names", [["a", "b", "a"], ["7", "8", "07"], ["x", "", "y"], ["\u00e9", "e\u0301", "z"]])
def test_a_person_who_comes_again_in_another_part_is_refused(names, tmp_path, reference):
    (tmp_path / "in").mkdir()
    for k, name in enumerate(names):
        written({"who": [name], "v": ["200"]}, tmp_path / "in" / f"{k}.csv")
    with pytest.raises(RepeatedUnit):
        fugu.release(plan(reference, unit="who"), tmp_path / "in", tmp_path / "o.csv", tmp_path / "l.db")
    assert nothing_but(tmp_path, "in")


def test_names_of_one_hash_are_not_one_person(monkeypatch):
    monkeypatch.setattr(gathering, "text_bits", lambda names: np.full(len(names), 7, dtype=np.uint64))
    batches.require_once(gathering.People.of(["a", "b", "c"]), "who")
    with pytest.raises(RepeatedUnit):
        batches.require_once(gathering.People.of(["a", "b", "c", "b"]), "who")


@pytest.mark.parametrize("form", [".csv", ".parquet"])
def test_a_ledger_knows_a_table_however_it_comes(form, tmp_path, reference, monkeypatch):
    """Marks of batches of parts are those of the table in memory; so is who is in it."""
    monkeypatch.setattr(gathering, "ROOM", 8)
    monkeypatch.setattr(parts, "ROWS", 7)
    monkeypatch.setattr(files, "BLOCK", 50)
    table = some_table(RNG(4), 150)
    mechanism = fugu.calibrate(scenario_of(fugu.Question(**plan(reference, unit="who")), str(reference)), fugu.Pure(1))
    opened = batches.OpenedColumn.of(mechanism, str(cut(RNG(2), table, tmp_path / "in", form)), True)
    own = fingerprints(table, table["who"])
    assert dict(opened.marks.named) == dict(own.named) and sum(opened.rows) == 150
    for early in (True, False):
        one, two = (marks.under("key", early) for marks in (opened.marks, own))
        assert one.stored.keys() == {"people", "rows"} and (one.stored, one.marks) == (two.stored, two.marks)


NAMES = [*(f"p{k}" for k in range(30)), "true1x", "7", "08", "9.5", "1e3", "Zoë", "a b", "x;y", 'say "q"', "2020-01-02",
         "0x1", "I", "fan", "Infinity9", *(f"a-{k}@b.org" for k in range(9))]  # fmt: skip
"""People, each in one spelling."""


@search("who is in a table, however it comes", quick=6)
def test_people_and_rows_have_the_same_digests_on_every_engine_and_nobody_comes_twice(rng, tmp_path):
    """Any order, any parts, any spelling of a number, any engine; one who comes again in whatever part is refused."""
    place = tmp_path / f"{rng.integers(1 << 40)}"
    place.mkdir()
    reference = known(place)
    mechanism = fugu.calibrate(scenario_of(fugu.Question(**plan(reference, unit="who")), str(reference)), fugu.Pure(1))
    table = some_table(rng, int(rng.integers(30, len(NAMES))))
    table["who"] = rng.permutation(NAMES)[: len(table["v"])].tolist()
    own, key, early = fingerprints(table, table["who"]), rng.bytes(32).hex(), bool(rng.integers(2))
    stored = own.under(key, early).stored
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "ROOM", int(rng.choice([2, 16, 2**18])))
        patch.setattr(parts, "ROWS", int(rng.integers(1, 30)))
        patch.setattr(files, "BLOCK", int(rng.integers(1, 300)))
        order = rng.permutation(len(table["v"]))
        mixed = {name: [cells[k] for k in order] for name, cells in table.items()}
        if rng.integers(2):
            mixed["who"] = [f" 0{name}.0" if name == "7" else name for name in mixed["who"]]
        for frame in (pandas.DataFrame(mixed), polars.DataFrame(mixed), pyarrow.table(mixed)):
            found = fingerprints(Table(frame), mixed["who"])
            assert found.named == own.named or "7" in table["who"]
            assert found.under(key, early).stored["people"] == stored["people"]
        form = (".csv", ".parquet")[rng.integers(2)]
        opened = batches.OpenedColumn.of(mechanism, str(cut(rng, mixed, place / "in", form)), True)
        assert opened.marks.under(key, early).stored == stored and {*opened.marks.persons} == {*own.persons}
        again = {name: [*cells, cells[rng.integers(len(cells))]] for name, cells in mixed.items()}
        again["who"][-1] = {"7": "07.00", "1e3": "1000"}.get(name := again["who"][rng.integers(len(order))], name)
        with pytest.raises(RepeatedUnit):
            batches.OpenedColumn.of(mechanism, str(cut(rng, again, place / "twice", form)), True)
    return 5


def test_the_very_reference_is_refused_in_batches(tmp_path, reference, monkeypatch):
    monkeypatch.setattr(files, "BLOCK", 200)
    with pytest.raises(fugu.errors.PriorNotPublic):
        fugu.release(plan(reference), reference, tmp_path / "o.csv", tmp_path / "l.db")
    longer = tmp_path / "longer.csv"
    longer.write_text(reference.read_text() + "rx,no,240\n")
    assert len(fugu.release(plan(reference), longer, tmp_path / "o.csv", tmp_path / "l.db").values) == 401


def test_a_folder_is_committed_to_as_sha256sum_lists_it(tmp_path, reference):
    place = cut(RNG(2), some_table(RNG(4), 30), tmp_path / "in", ".csv")
    went = fugu.release(plan(reference), place, tmp_path / "out", ledger=False)
    private = PrivatePart.load(tmp_path / "out.private.json")
    assert went.document["data"]["commitment"] == commit_table(place, private["data salt"])
    assert went.document["data"]["rows"] == sum(file["rows"] for file in went.document.published) == 30
    assert {file["folder"] for file in went.document.published} == {"out"}
    assert fugu.examine(tmp_path / "out.certificate.json", published=tmp_path / "out").holds
    (tmp_path / "out" / "000.csv").write_text("v\n1.0\n")
    assert not fugu.examine(tmp_path / "out.certificate.json", published=tmp_path / "out").holds


# --- kills ------------------------------------------------------------------------------------------------------------

CALLS = ("fsync", "link", "rename", "unlink", "rmdir", "mkdir", "fchmod", "ftruncate", "pwrite")


def die_at(number):
    """Arm this process: it dies at the so-manieth batch that is looked at or drawn, or call that changes a file."""
    passed = count(1)

    def armed(call):
        def last(*args, **more):
            if next(passed) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **more)

        return last

    for name in CALLS:
        setattr(os, name, armed(getattr(os, name)))
    batches.report = armed(batches.report)


def one_kill(folder, reference, out, number):
    """Whether there was such a moment to die at, after which all is well."""
    table = cut(RNG(2), some_table(RNG(4), 60), folder / "in", ".parquet")

    def release():
        asked = plan(reference, unit="who")
        return fugu.release(asked, table, folder / "made" / out, folder / "ledger" / "l.db")

    for name in ("made", "ledger"):
        (folder / name).mkdir()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            die_at(number)
            release()
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
        return False
    hidden = [path for path in (folder / "made").iterdir() if path.name.startswith(".")]
    covered = (folder / "made" / f"{out.split('.')[0]}.certificate.json").exists()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in hidden}
    assert covered or modes <= {0o600, 0o700}, "a draft that others read before what covers it is there"
    whole = [path for path in hidden if path.name.count(".") > 2 and holds(path)]
    drawn = [csv_of(path) for path in whole]
    went = release()
    assert all(text == csv_text({"v": went.values}) for text in drawn), "drawn again"
    made = [out, *(f"{out.split('.')[0]}{end}" for end in (".certificate.json", ".private.json", ".report.html"))]
    assert nothing_but(folder / "made", *made) and nothing_but(folder / "ledger", "l.db", "l.db.key")
    assert [e.state for e in Books(folder / "ledger" / "l.db").read(books.history)] == ["settled"]
    again = release()
    assert again.repeated and again.values == went.values
    return True


def holds(path):
    """Whether it is a draft with its own digest in its name."""
    from fugu.publication.drafts import content_sha256

    return path.name.endswith(f".{content_sha256(path)}{PENDING}")


def csv_of(path):
    places = sorted(path.iterdir()) if path.is_dir() else [path]
    cells = [x for place in places for (x,) in duckdb.from_parquet(str(place)).fetchall()]
    return csv_text({"v": [float(x) for x in cells]})


@pytest.mark.parametrize("out", ["o", "o.parquet"])
def test_a_release_in_batches_that_is_killed_is_finished_by_the_next(out, tmp_path, reference, monkeypatch):
    """A few moments, evenly over all of them; `make hunt` takes many more."""
    monkeypatch.setattr(parts, "ROWS", 9)
    monkeypatch.setattr(drawing, "BLOCK", 8)
    number, ends = 1, 0
    while one_kill(tmp_path / str(number), reference, out, number):
        number, ends = number + 13, number
    assert 40 < ends < 150


@search("releases in batches that are killed at any moment", quick=1)
def test_kills_at_random_moments(rng, tmp_path):
    died, reference = 0, known(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "ROWS", int(rng.integers(3, 30)))
        patch.setattr(drawing, "BLOCK", int(rng.integers(3, 30)))
        for turn in range(3):
            out = ("o", "o.parquet")[rng.integers(2)]
            died += one_kill(tmp_path / f"{turn}-{rng.integers(1 << 40)}", reference, out, int(rng.integers(1, 110)))
    return died


# --- what an attacker found -----------------------------------------------------------------------------------------


def test_parts_that_differ_in_the_ending_alone_go_out_under_their_whole_names(tmp_path, reference):
    """a.csv and a.csv.gz would both be a.csv: the release was charged, and refused for a change that nobody made."""
    (tmp_path / "in").mkdir()
    table = written(some_table(RNG(3), 5), tmp_path / "in" / "a.csv")
    (tmp_path / "in" / "a.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    went = fugu.release(plan(reference), tmp_path / "in", f"{tmp_path}/out/", tmp_path / "l.db")
    assert len(went.values) == 10 and nothing_but(tmp_path / "out", "a.csv.csv", "a.csv.gz.csv")
    assert fugu.verify(tmp_path / "out.certificate.json", published=tmp_path / "out").holds


@pytest.mark.parametrize("first", ["o", "o.csv"])
def test_a_draft_of_a_run_that_was_killed_does_not_stay_beside_another_draw(first, tmp_path, reference, monkeypatch):
    """Killed before it was settled, and run again under another name, or elsewhere and then here again."""
    table = cut(RNG(3), some_table(RNG(2), 40), tmp_path / "in", ".csv")
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()

    def run(place):
        return fugu.release(plan(reference), table, place, tmp_path / "l.db")

    def killed():
        with monkeypatch.context() as patch:
            patch.setattr("fugu.publication.drafts.content_sha256", lambda place: sys.exit(9))
            with pytest.raises(SystemExit):
                run(here / first)
        assert [path.name.endswith(PENDING) for path in here.iterdir()] == [True]

    killed()
    run(here / "p.parquet")
    assert not [path for path in here.iterdir() if path.name.endswith(PENDING)]
    for path in (tmp_path / "l.db", tmp_path / "l.db.key", *here.iterdir()):
        path.unlink()
    killed()
    other = run(there / first).values
    assert list(run(here / first).values) == list(other)
    assert not [path for path in here.iterdir() if path.name.endswith(PENDING)]


@pytest.mark.parametrize("given", [True, False])
def test_a_folder_that_lacks_a_part_or_has_another_is_not_what_was_published(given, tmp_path, reference):
    """A part that is not there was called not checked, in a folder that was there; strays beside the document were
    looked for only where the folder was named."""
    (tmp_path / "in").mkdir()
    for k in "ab":
        written(some_table(RNG(3), 5), tmp_path / "in" / f"{k}.csv")
    fugu.release(plan(reference), tmp_path / "in", f"{tmp_path}/out/", ledger=False)
    document, out = tmp_path / "out.certificate.json", tmp_path / "out"

    def verified():
        return fugu.examine(document, published=out if given else None).holds

    assert verified()
    (out / "a.csv").rename(tmp_path / "a.csv")
    assert not verified()
    (tmp_path / "a.csv").rename(out / "a.csv")
    assert verified()
    written(some_table(RNG(3), 1), out / "c.csv")
    assert not verified()


def test_what_others_put_beside_published_parts_is_not_removed(tmp_path, reference):
    table = cut(RNG(3), some_table(RNG(2), 9), tmp_path / "in", ".csv")
    for force in (False, True):
        fugu.release(plan(reference), table, f"{tmp_path}/out/", ledger=False, force=force)
    (tmp_path / "out" / "_notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="something else than the release"):
        fugu.release(plan(reference), table, f"{tmp_path}/out/", ledger=False, force=True)
    assert (tmp_path / "out" / "_notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["a\\b", "a\nb", "a\rb", os.fsdecode(b"a\xff")])
def test_a_name_that_no_document_can_state_is_refused_before_anything_is_charged(name, tmp_path, reference):
    """Of a backslash came a certificate that could not be read; of bytes that are no text an error after the charge."""
    (tmp_path / "in").mkdir()
    good = written(some_table(RNG(3), 5), tmp_path / "t.csv")
    (tmp_path / "in" / f"{name}.csv").write_bytes(good.read_bytes())
    for table, out, kind in ((tmp_path / "in", "o.csv", BadTable), (tmp_path / "in", "o/", BadTable),
                             (good, f"{name}.csv", UsageError), (good, f"{name}/", UsageError)):  # fmt: skip
        with pytest.raises(kind, match=r"go(es)? out"):
            fugu.release(plan(reference), table, f"{tmp_path}/{out}", tmp_path / "l.db")
    assert nothing_but(tmp_path, "in", "t.csv")
