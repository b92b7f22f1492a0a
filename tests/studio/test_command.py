"""`fugu studio`: what it refuses, what it prints, and that it ends."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from importlib import resources

import pytest
from studios import tables
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.cli import studio


def said(*words):
    done = CliRunner().invoke(cli.app, ["studio", *words])
    return done.exception


def test_what_is_missing_is_said_at_once(tmp_path, monkeypatch):
    folder = tables(tmp_path)
    reference = str(folder / "clinic_reference.csv")
    for words, why in (
        ((), "give the REFERENCE"), (("--check", reference), "officer's screen alone"),
        ((reference, "--table", "nothing.csv"), "is not a file"), ((str(folder),), "."), (("nothing.csv",), "."),
    ):  # fmt: skip
        with pytest.raises(cli.FuguError, match=why):
            raise said(*words)
    monkeypatch.setattr(studio, "find_spec", lambda name: None)
    with pytest.raises(cli.MissingExtra, match=re.escape("pip install 'fugu-privacy[studio]'")):
        raise said(reference)


def test_it_imports_nothing_that_reads_tables():
    code = "import sys, fugu.cli.studio, fugu.studio.app; print({'numpy', 'duckdb', 'flint'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"set()"


def test_it_opens_prints_its_address_once_and_ends_with_ctrl_c(tmp_path):
    folder = tables(tmp_path)
    told = tomllib.loads(resources.files("fugu.cli").joinpath("commands.toml").read_text("utf-8"))
    program, *words = shlex.split(told["Start"]["studio"]["example"])  # as its help says
    (folder / "clinic_reference.csv").rename(folder / words[1])
    (folder / "clinic_today.csv").rename(folder / words[3])
    begun = time.monotonic()
    run = subprocess.Popen(
        [sys.executable, "-m", program, *words, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=folder,
    )  # fmt: skip
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", run.stderr.readline())[0]
        told = urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(address, timeout=60)
        assert "What do we know already?" in told.read().decode() and time.monotonic() - begun < 30
        run.send_signal(signal.SIGINT)
        out, rest = run.communicate(timeout=30)
    finally:
        run.kill()
        run.communicate()
    assert out == "" and "Traceback" not in rest and "127.0.0.1" not in rest
