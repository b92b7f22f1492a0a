"""Count three real columns for docs/limits.md: `FUGU_DATA=FOLDER python -m benchmarks.limits_counts` writes the counts.

They are facts about public tables (the UCI data sets Adult and Bank Marketing), counted here: how many rows have each
value under each secret. The figure and its tests are made from src/fugu/examples/limits_counts.json alone."""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "src" / "fugu" / "examples" / "limits_counts.json"
ADULT = ("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
         "race", "sex", "capital-gain", "capital-loss", "hours", "country", "income")  # fmt: skip
COLUMNS = (
    ("campaign", "given the answer y", "bank", "campaign", "y"),
    ("age", "given income", "adult", "age", "income"),
    ("hours", "given sex", "adult", "hours", "sex"),
)
"""What the page calls it, in words, the table, the published column, the secret."""


def records(folder: Path, table: str) -> Iterator[dict[str, str]]:
    """The rows of one table, as text."""
    if table == "adult":
        with gzip.open(folder / "adult" / "adult.data.csv.gz", "rt", encoding="utf-8") as file:
            for row in csv.reader(file, skipinitialspace=True):
                if len(row) == len(ADULT):
                    yield dict(zip(ADULT, row, strict=True))
        return
    with gzip.open(folder / "bank" / "bank-full.csv.gz", "rt", encoding="utf-8") as file:
        yield from csv.DictReader(file, delimiter=";")


def counted(folder: Path) -> list[dict[str, object]]:
    """The counts of every column, values in order."""
    found: list[dict[str, object]] = []
    for name, words, table, publish, protect in COLUMNS:
        each: dict[str, Counter[int]] = {}
        for row in records(folder, table):
            each.setdefault(row[protect], Counter())[int(row[publish])] += 1
        values = sorted({value for counts in each.values() for value in counts})
        secrets = {secret: [each[secret][value] for value in values] for secret in sorted(each)}
        found.append({"name": name, "words": words, "values": values, "secrets": secrets})
    return found


def main() -> None:
    """Write the file."""
    folder = os.environ.get("FUGU_DATA")
    if not folder:
        sys.exit("set FUGU_DATA to the folder that holds adult/ and bank/; the data sets are not part of the project")
    lines = ",\n".join(json.dumps(column) for column in counted(Path(folder)))
    OUT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
