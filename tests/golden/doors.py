"""What the doors answer: screens, exit codes, JSON, documents and pages of whole stories through the command line.

A story runs in a folder of its own with small tables. Random bits come from one seed, and the record is made with
several: what differs between these is masked, and so are dates, digests that hold a date, and versions. Blanks and
lines of tables do not count.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import patch

from golden.stating import statement

SEEDS = (1, 2, 6)
"""The record is made with all of them, a check with the first."""
_SHOWN = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\d{4}-\d\d-\d\d(?:(?:[T ]|, )\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00| UTC)?)?"), "<date>"),
    (re.compile(r"\b[0-9a-f]{32,}\b"), "<digest>"),
    (re.compile(r"\bfugu \d+\.\d+[\w.]*"), "fugu <version>"),
    (re.compile(r"[\u2500-\u257f]+"), " "),
    (re.compile(r"[^\S\n]+"), " "),
    (re.compile(r" ?\n[ \n]*"), "\n"),
)
_BLOCK = re.compile(r"<(?:p|div|tr|li|h\d|section|figure|figcaption|table|svg|text|title|details|summary|dt|dd)\b")


def shown(text: str, folder: Path) -> str:
    """A screen without what changes by chance or by layout alone."""
    text = text.replace(str(folder), "FOLDER")
    for pattern, instead in _SHOWN:
        text = pattern.sub(instead, text)
    return text.strip()


def page(markup: str, folder: Path) -> str:
    """The text of a page, a line for each block."""
    markup = re.sub(r"<(style|script)\b.*?</\1>", " ", markup, flags=re.DOTALL)
    markup = _BLOCK.sub(lambda found: "\n" + found[0], markup.replace("\n", " "))
    return shown(unescape(re.sub(r"<[^>]*>", " ", markup)), folder)


def document(body: Any, folder: Path) -> Any:
    """A JSON document without digests, dates and versions; long lists, and the order of its keys, by their SHA-256."""
    keys = hashlib.sha256(" ".join(_keys(body)).encode()).hexdigest()[:16]
    return {"keys in order": keys, **_undated(statement(body), folder)} if isinstance(body, dict) else body


def _keys(body: Any) -> Iterator[str]:
    for key, item in body.items() if isinstance(body, dict) else ():
        yield from (key, *(_keys(item) if key != "families" else ()))
    for item in body if isinstance(body, list) else ():
        yield from _keys(item)


def _undated(body: Any, folder: Path) -> Any:
    if isinstance(body, dict):
        kept = {key: item for key, item in body.items() if key not in ("sha256", "date", "bytes")}
        return {key: item if key == "fingerprint" else _undated(item, folder) for key, item in kept.items()}
    if isinstance(body, list):
        return [_undated(item, folder) for item in body]
    return shown(body, folder) if isinstance(body, str) else body


class Story:
    """A folder of tables and the commands that were run in it, with what they answered."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.answers: dict[str, Any] = {}
        self._known: dict[str, float] = {}
        for name, lines in tables():
            (folder / name).write_text("\n".join(lines) + "\n")
        self._files()

    def run(self, *words: object) -> None:
        """Run the command; its exit code, its screens, and the files that it wrote or changed."""
        code, out, err = command(*map(str, words))
        answer: dict[str, Any] = {"exit": code}
        try:
            answer["json"] = document(json.loads(out), self.folder)
        except ValueError:
            answer["screen"] = shown(out, self.folder)
        if said := shown(err, self.folder):
            answer["errors"] = said
        self.note(" ".join(map(str, words)), answer | {name: self._content(name) for name in self._files()})

    def note(self, name: str, answer: Any) -> None:
        """Put an answer on record."""
        self.answers[f"{len(self.answers) + 1:02} {name}"] = answer

    def seen(self, thing: Any) -> str:
        """What a notebook shows of an object."""
        return page(thing._repr_html_(), self.folder)

    def _files(self) -> list[str]:
        now = {path.name: path.stat().st_mtime_ns for path in sorted(self.folder.iterdir()) if path.is_file()}
        new = [name for name, time in now.items() if self._known.get(name) != time]
        self._known = dict(now)
        return [name for name in new if Path(name).suffix in (".csv", ".json", ".html", ".toml")]

    def _content(self, name: str) -> Any:
        text = (self.folder / name).read_text(encoding="utf-8")
        if name.endswith(".csv"):
            rows = list(csv.reader(io.StringIO(text)))
            return {"header": rows[0], "rows": len(rows) - 1}
        if name.endswith(".html"):
            return page(text, self.folder)
        return document(json.loads(text), self.folder) if name.endswith(".json") else shown(text, self.folder)


def command(*words: str, together: bool = False) -> tuple[int, str, str]:
    """Exit code, output and errors of `fugu`, called as the entry point calls it, in this process; errors may be among
    the output."""
    from fugu.cli import main

    out, code = io.StringIO(), 0
    err = out if together else io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", ["fugu", *words]):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return code, out.getvalue(), err.getvalue()


@contextmanager
def screens(width: int) -> Iterator[None]:
    """Screens of this width without colours: those of the commands were measured when they were made."""
    from fugu.cli import console

    plain = {"COLUMNS": str(width), "NO_COLOR": "1", "FORCE_COLOR": "", "TERM": "dumb"}
    with (
        patch.dict(os.environ, plain),
        patch.object(console.out, "_width", width),
        patch.object(console.err, "_width", width),
        patch.object(sys.modules["__main__"], "__package__", ""),  # by which click would call the command
    ):
        yield


@contextmanager
def steady(seed: int) -> Iterator[None]:
    """Bits of the operating system come from this seed; screens are wide and have no colours."""
    bits = random.Random(seed).randbytes
    with patch("os.urandom", bits), patch("random._urandom", bits), screens(400):
        yield


def told(story: Callable[[Story], None], seed: int) -> dict[str, Any]:
    """What a story answers with this seed."""
    with tempfile.TemporaryDirectory() as name, steady(seed), chdir(name):
        with patch.dict(os.environ, {"FUGU_LEDGER": str(Path(name) / "own.db")}):
            place = Story(Path(name))
            story(place)
        return place.answers


# ---- tables --------------------------------------------------------------------------------------------------------


def tables() -> Iterator[tuple[str, list[str]]]:
    """ref.csv and today.csv of people; last.csv and week.csv of sequences."""
    for name, rows, seed in (("ref.csv", 240, 1), ("today.csv", 60, 2)):
        draw = random.Random(seed)
        lines = ["s,v,w,g,rich,age"]
        for i in range(rows):
            secret, rich = i % 2, draw.random() < 0.4
            age = 20 + draw.randrange(40) + 8 * rich
            value, group = draw.randrange(4) + secret, "xyz"[draw.randrange(3)]
            lines.append(f"{'ab'[secret]},{value},{10 * draw.randrange(4)},{group},{'no' if rich else 'yes'},{age}")
        yield name, lines
    for name, users, seed in (("last.csv", 40, 3), ("week.csv", 10, 4)):
        draw = random.Random(seed)
        lines = ["user,time,place"]
        for user in range(users):
            here = 0
            for time in range(12):
                here = here if draw.random() < 0.4 else draw.randrange(3)
                lines.append(f"u{user},{time},{'pqr'[here]}")
        yield name, lines
