"""The name of a request is a digest of what is asked: 475 random commands keep the names that they had in fugu 0.3.

Another name for the same question would be charged again, for a second answer."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.errors import FuguError
from fugu.releasing import dispatch as releasing

NAMES = Path(__file__).with_name("request_names.txt")
SCHEMA = (
    "[schema.columns.v]\nkind = 'number'\nbounds = [0, 9]\n[schema.columns.s]\nkind = 'category'\nvalues = ['a', 'b']\n"
)
ROUTES = (
    ("--publish v --protect s", ("--pairs --bins --missing --unit --prior --components --confidence --shift --noise "
     "--method --grid --remap --mechanism --loss --cap --clip --round --alpha --delta --rows")),
    ("--query Q --protect s", "--by --bounds --step --weights --route --bins --missing --unit --delta --cap --rows"),
    ("--query P --order t --state x", ("--by --smoothing --start --length --other --confidence --weights --method "
     "--noise --bounds --bins --repeats --end --every --between --overlaps --backwards --gaps --inside --columns")),
    ("--hide s=a --statistics S", "--size --tolerance --shares --bounds --missing --method --rows --delta --alpha"),
)  # fmt: skip
VALUES = {
    "Q": ("mean(v)", "count", "count, mean(v) by s", "count; mean( v ) by s", "histogram(s)", "quantile(v, 0.5)"),
    "P": ("top3", "histogram", "top2, histogram", "count(a); mean(x)"), "S": ("mean(v)", "mean(v),count(s=b)"),
    "--pairs": ("all", "adjacent", "a:b"), "--bins": ("5", "0,2,4", "low,mid"), "--missing": ("error", "drop", "3"),
    "--unit": ("id",), "--prior": ("empirical", "gaussian", "mixture"), "--components": ("2", "3"),
    "--confidence": ("0.95", ".9"), "--shift": ("0", "0.01"), "--noise": ("best", "laplace", "Lap", "atoms"),
    "--method": ("best", "exact", "closeness"), "--grid": ("auto", "0.1", "1/3"), "--remap": ("absolute", "squared"),
    "--mechanism": ("noise", "optimal"), "--loss": ("absolute",), "--cap": ("3", "2.5"), "--clip": ("0,9",),
    "--round": ("1", "0.5"), "--alpha": ("2", "8"), "--delta": ("0", "1e-6", "0.001"), "--rows": ("60", "7"),
    "--by": ("s", "id"), "--bounds": ("0,9", "v:0:9"), "--step": ("1", "v:2"), "--weights": ("2,1", "error"),
    "--route": ("records", "law"), "--smoothing": ("0", "1", "0.5"), "--start": ("any", "stationary"),
    "--length": ("12", "30"), "--other": ("a",), "--repeats": ("first", "rows"), "--end": ("e",),
    "--every": ("1h", "2"),
    "--between": ("a",), "--overlaps": ("last",), "--backwards": ("drop",), "--gaps": ("modelled", "said"),
    "--inside": ("secret",), "--columns": ("m1,m2", "m*"), "--size": ("60", "7"), "--tolerance": ("0.2", "0.1"),
    "--shares": ("0.4,0.5",), "--epsilon": ("1", "0.5", "1.0", "1e-1"),
}  # fmt: skip


def commands():
    """The same 640 command lines for ever: the options of one route, and at times one of another's."""
    rng = random.Random(26)
    for number in range(640):
        start, own = ROUTES[number % 4]
        words = [rng.choice(VALUES[word]) if word in VALUES else word for word in start.split()]
        given = [name for name in own.split() if rng.random() < rng.choice((0.05, 0.3))]
        if rng.random() < 0.1:
            given.append(
                rng.choice([name for name in VALUES if name.startswith("--") and name not in (*given, *words)])
            )
        for name in ("--epsilon", *(name for name in given if name != "--epsilon")):
            words += [name, rng.choice(VALUES[name])]
        words += ["--public-prior"] if rng.random() < 0.2 else ["--reference", "ref.csv"]
        words += ["--schema", "schema.toml"] if rng.random() < 0.2 else []
        yield ["release", "today.csv", "-o", "out.csv", *words]


class Reached(Exception):
    """Where a command has named its request and has done nothing else."""


def names_of(words, monkeypatch):
    """The name of the request, and the one of fugu 0.3 where that may be another; "-" for what is refused before."""
    made = []

    class Book:
        def __init__(self, place, request, *more):
            made.append(request)

        def told(self):
            return {}

        def knows(self, request):
            made.append(request)
            return False

    def stop(*_, **__):
        raise Reached

    monkeypatch.setattr(releasing, "ReleaseAccount", Book)
    monkeypatch.setattr(releasing, "ready", stop)
    found = CliRunner().invoke(cli.app, words).exception
    assert isinstance(found, Reached | FuguError | SystemExit), (words, found)
    return " | ".join(made) if isinstance(found, Reached) else "-"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("ref.csv", "today.csv"):
        (tmp_path / name).write_text("id,s,v\n1,a,2\n2,b,3\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FUGU_LEDGER", str(tmp_path / "books.db"))


def test_every_request_keeps_its_name(folder, monkeypatch):
    names = NAMES.read_text().splitlines()
    listed = list(commands())
    assert len(names) == len(listed) and sum(name != "-" for name in names) > 400
    assert len(set(names)) > 400  # another question has another name
    for words, name in zip(listed, names, strict=True):
        assert names_of(words, monkeypatch) == name, words
