"""Limits of what is read: documents above 16 MB are refused unread, and what a small file unpacks to is bounded."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc

import pytest

import fugu
from fugu.auditing.examine import examine
from fugu.data import read_table
from fugu.documents import reading as plain_json
from fugu.documents.reading import MOST_BYTES
from fugu.errors import BadTable, CertificateError, UsageError
from honest import honest
from release_files import command


@pytest.mark.parametrize("door", [fugu.verify, lambda path: examine(path, twice=True)])
def test_a_document_above_the_limit_is_refused_unread(door, tmp_path):
    """Wrong version: 0.3, which parsed 42 MB for 31 seconds before it said no."""
    path = tmp_path / "c.json"
    with open(path, "wb") as out:
        out.write(honest("column").encode())
        out.truncate(3 * MOST_BYTES)
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(CertificateError, match="is not read: it has 50,331,648 bytes, and documents at most"):
        door(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.process_time() - start < 1 and most < 2**20


def test_a_document_at_the_limit_is_read(tmp_path):
    """The limit is in bytes, and spaces count."""
    text = honest("column")
    for more, read in ((0, True), (1, False)):
        (tmp_path / "c.json").write_text(text + " " * (MOST_BYTES - len(text) + more))
        if read:
            assert fugu.verify(tmp_path / "c.json").holds
        else:
            with pytest.raises(CertificateError, match="is not read"):
                fugu.verify(tmp_path / "c.json")


def test_what_no_reader_would_take_is_not_written(tmp_path, monkeypatch):
    """Wrong version: a writer that leaves behind what `verify` then refuses unread."""
    certificate = fugu.Certificate.parse(json.loads(honest("column")))
    size = len(certificate.text.encode())
    monkeypatch.setattr(plain_json, "MOST_BYTES", size)
    certificate.save(tmp_path / "c.json")
    assert fugu.verify(tmp_path / "c.json").holds
    monkeypatch.setattr(plain_json, "MOST_BYTES", size - 1)
    with pytest.raises(UsageError, match="are read by nobody: publish fewer different values"):
        certificate.save(tmp_path / "d.json")
    assert not (tmp_path / "d.json").exists()


@pytest.mark.parametrize("start", ["x,y\n1,", "", 'x,y\n1,"', "x,"])
def test_a_packed_cell_of_300_mb_is_refused_cheaply(start, tmp_path):
    """In a row, as the header, within quotes. Wrong version: 0.3, which took 1.7 GB for it."""
    path, block = tmp_path / "bomb.csv.gz", b"9" * 2**20
    with gzip.open(path, "wb", compresslevel=6) as out:
        out.write(start.encode())
        for _ in range(300):
            out.write(block)
    assert path.stat().st_size < 400_000
    tracemalloc.start()
    with pytest.raises(BadTable):
        read_table(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 200 * 2**20


def test_lines_within_quotes_count_as_one_cell(tmp_path):
    """A cell of many short lines is bounded by its own length."""
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=6) as out:
        out.write(b'x,y\n1,"')
        for _ in range(40):
            out.write(b"99999999999999999999999999999999999999999999999999999999999999\n" * 2**14)
        out.write(b'"\n')
    with pytest.raises(BadTable, match="none of more than 16,777,216 characters"):
        read_table(path)


def test_a_long_cell_is_still_a_cell(tmp_path):
    for name, opener in (("a.csv", open), ("a.csv.gz", gzip.open)):
        with opener(tmp_path / name, "wt") as out:
            out.write("x,y\n1," + "9" * 2**20 + "\n2,3\n")
        assert len(read_table(tmp_path / name)) == 2


@pytest.mark.parametrize("asked", [("--publish", "v"), ("--query", "mean(v)", "--bounds", "0,5", "--step", "1")])
def test_a_release_whose_document_nobody_would_read_costs_nothing(asked, tmp_path, monkeypatch):
    """Wrong version: the charge first, and then a document that is not written."""
    for name, rows in (("ref", 400), ("today", 60)):
        lines = [f"{'ab'[k % 2]},{(k * 7 + k % 2) % 6}" for k in range(rows + rows % 7)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["s,v", *lines]) + "\n")
    ledger = tmp_path / "l.db"
    words = ["release", tmp_path / "today.csv", "--reference", tmp_path / "ref.csv", "--protect", "s", *asked,
             "--epsilon", "0.3", "--allow-no-noise", "--ledger", ledger, "-o", tmp_path / "o.csv"]  # fmt: skip
    monkeypatch.setattr(plain_json, "MOST_BYTES", 1000)
    code, said = command(*words)
    assert code == 2 and "are read by nobody" in said and not ledger.exists() and not (tmp_path / "o.csv").exists()
    monkeypatch.undo()
    assert command(*words)[0] == 0 and ledger.exists()
