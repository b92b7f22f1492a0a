"""Contingency counts: how often a value stands beside a secret, counted from the data files, or shipped with fugu.

The counts in `counts/` were made by `python examples/make_counts.py` from the files; where the files are found they are
counted again. So everything that needs no more than counts runs without any download."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import resources

from fugu.errors import UnknownName
from fugu.laws import Discrete
from fugu_papers.shelf import Shelf, known

Counts = dict[str, dict[str, int]]
"""By secret, then by value."""
_MANY = 2000
"""Tables with more counts are shipped compressed."""


@dataclass(frozen=True)
class Counted:
    """A table of counts: its name, the files it is counted from, and how."""

    name: str
    files: tuple[str, ...]
    count: Callable[[Shelf], Counts] = field(repr=False, compare=False)


_known: dict[str, Counted] = {}


def counted(name: str, *files: str) -> Callable[[Callable[[Shelf], Counts]], Callable[[Shelf], Counts]]:
    """Register how a table of counts is made from these files."""

    def register(count: Callable[[Shelf], Counts]) -> Callable[[Shelf], Counts]:
        if name in _known:
            raise ValueError(f"{name!r} is registered already")
        _known[name] = Counted(name, files, count)
        return count

    return register


def registered() -> Mapping[str, Counted]:
    """The tables of counts that the files imported so far have registered."""
    return _known


def counts(shelf: Shelf, name: str) -> Counts:
    """The counts: from the files if the shelf has all of them, or is to download them; else those that are shipped.

    >>> counts(Shelf(), "student-romantic-higher")["higher no"]
    {'no': 34, 'yes': 35}
    """
    if name not in _known:
        raise UnknownName("table of counts", name, _known)
    wanted = _known[name]
    if all(shelf.find(path) or (shelf.download and known(path).url) for path in wanted.files):
        return wanted.count(shelf)
    return shipped(name)


def shipped(name: str) -> Counts:
    """The counts in the package, in the form of `packed`."""
    folder = resources.files("fugu_papers").joinpath("counts")
    large = folder.joinpath(f"{name}.json.gz")
    if large.is_file():
        found: Counts = json.loads(gzip.decompress(large.read_bytes()))
    else:
        found = json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return found


def packed(name: str, found: Counts) -> tuple[str, bytes]:
    """The name and the bytes of the file that ships these counts: lines of JSON; compressed if they are many.

    >>> packed("few", {"s": {"a": 1}})
    ('few.json', b'{\\n "s": {\\n  "a": 1\\n }\\n}\\n')
    """
    if sum(map(len, found.values())) > _MANY:
        return f"{name}.json.gz", gzip.compress(json.dumps(found, separators=(",", ":")).encode(), 9, mtime=0)
    return f"{name}.json", (json.dumps(found, indent=1) + "\n").encode()


def table_rows(text: str, separator: str = ",", names: tuple[str, ...] = ()) -> Iterator[dict[str, str]]:
    """The rows of a data file; `names` if it has no header. Blanks around cells go; empty lines too."""
    lines = csv.reader(text.splitlines(), delimiter=separator, skipinitialspace=True)
    header = names or tuple(next(lines))
    for line in lines:
        if len(line) == len(header):
            yield dict(zip(header, (cell.strip() for cell in line), strict=True))


def tally(pairs: Iterable[tuple[str, str]]) -> Counts:
    """Counts of (secret, value), secrets and values in order."""
    found: dict[str, Counter[str]] = {}
    for secret, value in pairs:
        found.setdefault(secret, Counter())[value] += 1
    return {secret: dict(sorted(found[secret].items())) for secret in sorted(found)}


def laws(found: Counts, codes: Mapping[str, int | Fraction]) -> dict[str, Discrete]:
    """The law of the coded value given each secret, exactly.

    >>> laws({"s": {"a": 1, "b": 3}}, {"a": 0, "b": 1})["s"].weights.tolist()
    [0.25, 0.75]
    """
    return {
        secret: Discrete([codes[value] for value in sizes], list(sizes.values())) for secret, sizes in found.items()
    }
