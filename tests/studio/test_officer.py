"""The officer's screen: what holds is said to hold, an edited file is found, nothing that is handed in does harm."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from studios import CLINIC, running, tables

import fugu
from fugu.auditing.examine import PRIVATE
from fugu.studio import desk, officer, work
from fugu.studio.jobs import Child


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A release with all its files."""
    place = tables(tmp_path_factory.mktemp("given"))
    plan = fugu.Question(query="mean(chol)", protect="smoker", epsilon=1, reference=place / "clinic_reference.csv")
    fugu.release(plan, place / "clinic_today.csv", place / "out.csv", place / "ledger.db")
    return place


@pytest.fixture(scope="module")
def client(folder):
    with running({"checks": True, "out": str(folder)}, None) as client:
        yield client.enter()


def given(folder, *names, **others):
    return [*((name, (folder / name).read_bytes()) for name in names), *others.items()]


def checked(files, **fields):
    """The page after a check, made in this process."""
    told = [(name, base64.b64encode(content).decode()) for name, content in files]
    answer = work.answered(officer.checked, {"files": told, "twice": "twice" in fields, "attack": False}, io.BytesIO())
    state = {"checks": True, "check": answer}
    return desk.shown({"name": "check", "state": state, "number": "1", "jobs": {}, "query": {}})["html"]


def lines(page):
    return {
        re.sub(r"<[^>]+>", "", name): (re.sub(r"<[^>]+>", "", outcome), re.sub(r"<[^>]+>", "", why))
        for name, outcome, why in re.findall(r'<tr><th scope="row">(.*?)</th><td data-name="outcome"[^>]*>(.*?)</td>'
                                             r'<td data-name="why"[^>]*>(.*?)</td></tr>', page, re.DOTALL)
    }  # fmt: skip


WHOLE = ("out.certificate.json", "out.csv", "clinic_reference.csv")


def test_a_release_holds_line_by_line_with_its_report(client, folder):
    assert client.upload(given(folder, *WHOLE), {"twice": "on"})[1].get("location") == "check"
    client.wait()
    page = client.get("check")[2]
    assert "It holds" in page and "The published numbers" in page and "changes odds about" in page
    found = lines(page)
    assert found["published out.csv"][0] == found["reference laws"][0] == found["second proof"][0] == "holds"
    assert found["ledger"][0] == "not checked" and found["ledger"][1]


def test_an_edited_file_is_found(folder):
    edited = (folder / "out.csv").read_bytes().replace(b"1", b"2", 1)
    page = checked([*given(folder, "out.certificate.json"), ("out.csv", edited)])
    assert (
        "It does not hold" in page
        and lines(page)["published out.csv"][0] == "fails"
        and "The published numbers" not in page
    )
    renamed = checked([*given(folder, "out.certificate.json"), ("out (1).csv", (folder / "out.csv").read_bytes())])
    assert "It holds" in renamed
    certificate = (folder / "out.certificate.json").read_bytes().replace(b'"epsilon":"1"', b'"epsilon":"0.1"')
    assert certificate != (folder / "out.certificate.json").read_bytes()
    assert "It does not hold" in checked([("out.certificate.json", certificate)])


def test_a_private_part_is_refused_unread(folder):
    files = given(folder, "out.certificate.json", "out.private.json")
    page = checked(files)
    assert PRIVATE in page and "It holds" in page
    page = checked(given(folder, "out.private.json"))
    assert PRIVATE in page and "It holds" not in page
    page = checked([*given(folder, "out.certificate.json"), ("x.json", (folder / "out.private.json").read_bytes())])
    assert PRIVATE in page  # under another name it is told by what it is


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen here")
def test_who_signed_it_is_shown(folder, tmp_path):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], check=True)
    fugu.auditing.signature.sign(folder / "out.certificate.json", key)
    signers = f"ada@clinic.example {key.with_suffix('.pub').read_text()}".encode()
    files = [*given(folder, "out.certificate.json", "out.certificate.json.sig"), ("allowed_signers", signers)]
    page = checked(files)
    assert lines(page)["signature"][0] == "holds" and "igned by ada@clinic.example" in page
    other = [
        (
            "ada@clinic.example " + "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZ1Z3VmdWd1ZnVndWZ1Z3VmdWd1ZnVndWZ1Z3VmdWd1"
        ).encode()
    ]
    page = checked([*files[:2], ("allowed_signers", other[0])])
    assert lines(page)["signature"][0] == "fails" and "It does not hold" in page
    (folder / "out.certificate.json.sig").unlink()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000, b'{"schema": "fugu/release/1"}',
        b'{"schema": "fugu/laws/1", "kind": "additive", "epsilon": 1e100000000}', b"9" * 1_000_000,
        b'{"schema": "fugu/release/1", "published": [{"name": "../../x"}]}',
        json.dumps([list(range(1000))] * 1000).encode(),
    ],
    ids=range(12),
)  # fmt: skip
def test_what_is_no_certificate_is_refused_in_words(content):
    page = checked([("a.certificate.json", content)])
    assert "It holds" not in page and (
        "Not yet" in page or "It does not hold" in page or "It cannot be checked" in page
    )
    assert "Traceback" not in page and "please report it" not in page


def test_numbers_of_a_hundred_million_digits_are_not_worked_out(folder):
    text = (folder / "out.certificate.json").read_text()
    bomb = text.replace('"epsilon":"1"', '"epsilon":"1e100000000"')
    assert bomb != text
    assert "It does not hold" in checked([("a.json", bomb.encode())])


def test_names_of_files_lead_nowhere(folder):
    content = (folder / "out.certificate.json").read_bytes()
    page = checked(
        [("../x.json", content), ("../clinic_reference.csv", (CLINIC / "clinic_reference.csv").read_bytes())]
    )
    assert "It holds" in page and not (folder.parent / "x.json").exists()
    csv = (folder / "out.csv").read_bytes()
    page = checked(
        [*given(folder, "out.certificate.json"), ("out.csv", csv), ("out.csv", b"another file of this name")]
    )
    assert "file-3.csv was taken for reference" in page and lines(page)["published out.csv"][0] == "holds"


def test_the_officers_screen_is_alone(client):
    for name in ("tables", "noise", "ledger", "zip", "sign"):
        assert client.get(name)[1].get("location") == "check"
    for name in ("tables", "sign", "release"):
        assert client.post(name, {"rows": "1"})[0] in (303, 400, 403)
    assert "rows" not in client.studio.state and client.studio.table is None


def test_a_check_is_held_to_its_limits():
    code = ("from fugu.studio import work; work.SECONDS = 2; work.limit(); import resource\n"
            "try: bytearray(3 * 2**30); print('memory')\n"
            "except MemoryError: print('kept')\n"
            "while True: pass\n")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert done.stdout.strip() == b"kept" and done.returncode < 0  # ended from outside
    child = Child("check")
    answer = child.ask({"files": [["a.json", base64.b64encode(b"{}").decode()]], "twice": False, "attack": False}, 30)
    child.close()
    assert not answer["holds"] and answer["fails"]


def test_files_go_with_a_check_that_is_killed(folder):
    child = Child("check")
    files = [(name, base64.b64encode((folder / name).read_bytes()).decode()) for name in WHOLE]
    waiting = threading.Thread(target=child.ask, args=({"files": files, "twice": True, "attack": True}, 60))
    waiting.start()
    until, kept = time.monotonic() + 60, []
    while not kept and waiting.is_alive() and time.monotonic() < until:
        kept = [] if child._room is None else list(Path(child._room.name).rglob("out.csv"))
    place = child._room.name
    child.stop()
    waiting.join(30)
    assert kept and not Path(place).exists()
