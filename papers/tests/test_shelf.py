"""Data of the papers: found in order, checked, fetched only when asked, and never half written."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO

import pytest

from fugu.errors import UnknownName, UsageError
from fugu_papers import shelf as shelves
from fugu_papers.shelf import DataFile, DataMissing, Shelf, WrongData

INSIDE = b"a;b\n1;2\n"
PATH = "student/student-por.csv"


@pytest.fixture
def own(monkeypatch, tmp_path):
    """One known file, plain and compressed, an empty cache, and no FUGU_DATA."""
    sha = hashlib.sha256(INSIDE).hexdigest()
    files = [DataFile(PATH, sha), DataFile("bank/x.csv.gz", sha), DataFile("heart/z.csv", sha, about="a heart")]
    monkeypatch.setattr(shelves, "FILES", {file.path: file for file in files})
    monkeypatch.delenv("FUGU_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def put(folder, path=PATH, content=INSIDE):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    return folder


def test_a_folder_comes_before_the_variable_and_the_variable_before_the_cache(own, monkeypatch):
    with pytest.raises(DataMissing, match=r"student-por\.csv is needed.*--folder or FUGU_DATA"):
        Shelf().content(PATH)
    put(shelves.cache_folder())
    assert Shelf().find(PATH) == shelves.cache_folder() / PATH
    monkeypatch.setenv("FUGU_DATA", str(put(own / "named")))
    assert Shelf().find(PATH) == own / "named" / PATH
    given = Shelf(put(own / "given"))
    assert (
        given.find(PATH) == own / "given" / PATH and given.content(PATH) == INSIDE and given.text(PATH) == "a;b\n1;2\n"
    )


def test_other_content_half_an_archive_and_no_folder_are_refused(own):
    with pytest.raises(DataMissing, match="no folder"):
        Shelf(own / "nowhere")
    with pytest.raises(WrongData, match="SHA-256"):
        Shelf(put(own / "a", content=INSIDE + b"\n")).content(PATH)
    whole = gzip.compress(INSIDE)
    assert Shelf(put(own / "b", "bank/x.csv.gz", whole)).content("bank/x.csv.gz") == INSIDE
    for broken in (whole[:-9], INSIDE):
        with pytest.raises(WrongData, match="not whole"):
            Shelf(put(own / "c", "bank/x.csv.gz", broken)).content("bank/x.csv.gz")
    with pytest.raises(UnknownName, match=r"did you mean 'student/student-por\.csv'"):
        Shelf().find("student/student-pro.csv")


class Source(BaseHTTPRequestHandler):
    """A source that sends the file, an archive of it, other bytes, or stops in the middle."""

    def do_GET(self):
        archive = BytesIO()
        with zipfile.ZipFile(archive, "w") as opened:
            opened.writestr("inner.csv", INSIDE)
        sent = {"/whole": INSIDE, "/zip": archive.getvalue(), "/other": b"x" * 8, "/stops": INSIDE}.get(self.path)
        if sent is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent[:3] if self.path == "/stops" else sent)

    def log_message(self, *words):
        """Silent."""


@pytest.fixture
def source():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Source)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", [PATH, "bank/x.csv.gz"])
def test_a_download_is_asked_for_checked_and_kept(own, source, monkeypatch, path):
    for place, member in (("/whole", ""), ("/zip", "inner.csv")):
        known = dataclasses.replace(shelves.FILES[path], url=source + place, member=member)
        monkeypatch.setitem(shelves.FILES, path, known)
        with pytest.raises(DataMissing, match="say --download"):
            Shelf().content(path)
        assert Shelf(download=True).content(path) == INSIDE
        assert Shelf().content(path) == INSIDE, "from the cache, without asking again"
        (shelves.cache_folder() / path).unlink()


@pytest.mark.parametrize(
    ("place", "member", "error", "why"),
    [
        ("/other", "", WrongData, "SHA-256"),
        ("/stops", "", UsageError, "interrupted after 3 of 8 bytes|IncompleteRead"),
        ("/gone", "", UsageError, "Not Found"),
        ("/whole", "inner.csv", WrongData, "no archive"),
        ("/zip", "outer.csv", WrongData, "no archive with 'outer.csv'"),
    ],
)
def test_a_download_that_fails_leaves_nothing(own, source, monkeypatch, place, member, error, why):
    known = dataclasses.replace(shelves.FILES[PATH], url=source + place, member=member)
    monkeypatch.setitem(shelves.FILES, PATH, known)
    with pytest.raises(error, match=why):
        Shelf(download=True).content(PATH)
    assert not list(own.rglob("*.*"))


def test_offline_is_said_and_what_has_no_source_is_never_fetched(own, monkeypatch):
    monkeypatch.setitem(shelves.FILES, PATH, dataclasses.replace(shelves.FILES[PATH], url="http://127.0.0.1:9/x"))
    with pytest.raises(UsageError, match=r"could not be fetched from .*nothing was kept"):
        Shelf(download=True).content(PATH)
    with pytest.raises(DataMissing, match=r"z\.csv \(a heart\) is needed") as said:
        Shelf(download=True).content("heart/z.csv")
    assert "--download" not in str(said.value)


def test_sources_are_https_and_every_file_has_one_or_says_what_it_is():
    from fugu_papers.shelf import FILES

    assert all(file.url.startswith("https://") or file.about for file in FILES.values())
    assert all(len(file.sha256) == 64 for file in FILES.values())
