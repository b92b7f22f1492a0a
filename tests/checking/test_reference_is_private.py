"""A reference that the ledger holds as private data is refused, before the private table is opened.

Wrong versions that are rejected: table and reference swapped in a second release, so that exact counts of the private
table stand in a public certificate; the same in another order of rows, or with rows added; a refusal of a reference
that only has a column in common, or whose counts were declared public."""

from __future__ import annotations

import random

import pytest

from release_files import command

COLUMN = ("--publish", "age", "--protect", "sex", "--epsilon", "1")
STATISTIC = ("--query", "mean(age)", "--bounds", "0,100", "--protect", "sex", "--epsilon", "1")


def write(path, rows):
    path.write_text("\n".join(["id,sex,age", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A release of today.csv, charged to a ledger."""
    made, draw = tmp_path_factory.mktemp("swapped"), random.Random(5)
    tables = {
        name: [
            f"{k + 500 * k0 * (k0 > 1)},{draw.choice('FM')},{draw.randrange(90) + draw.random():.3f}"
            for k in range(200)
        ]
        for k0, name in enumerate(("today", "last", "other", "fresh"))
    }
    for name, rows in tables.items():
        write(made / f"{name}.csv", rows)
    write(made / "shuffled.csv", sorted(tables["today"], key=hash))
    write(made / "grown.csv", [*tables["today"], *tables["last"][:50]])
    assert release(made, "today", "last", COLUMN, "first.csv")[0] == 0
    return made


def release(folder, table, reference, question, out, *more):
    return command("release", folder / f"{table}.csv", "--reference", folder / f"{reference}.csv", *question, "-o",
                   folder / out, "--ledger", folder / "books.db", "--force", *more)  # fmt: skip


@pytest.mark.parametrize("reference", ["today", "shuffled", "grown"])
@pytest.mark.parametrize("question", [COLUMN, STATISTIC], ids=["column", "statistic"])
def test_table_and_reference_swapped_are_refused_before_the_table_is_opened(folder, reference, question):
    missing = folder / "never-opened.csv"
    missing.unlink(missing_ok=True)
    write(missing, ["1,F,3"])
    code, text = release(folder, "never-opened", reference, question, "swapped.csv")
    said = " ".join(text.split())
    assert code == 3 and "'today.csv', which this ledger keeps as private data" in said, text
    assert "taken for each other" in said and not (folder / "swapped.certificate.json").exists()


def test_what_the_ledger_cannot_tell_passes(folder):
    """Another reference with the same column of ids, and one whose counts were declared public."""
    assert release(folder, "other", "last", COLUMN, "apart.csv")[0] == 0
    code, text = release(folder, "fresh", "today", COLUMN, "public.csv", "--public-reference")
    assert code == 0, text


def test_the_same_request_is_read_back(folder):
    code, text = command("release", folder / "today.csv", "--reference", folder / "last.csv", *COLUMN, "-o",
                         folder / "first.csv", "--ledger", folder / "books.db")  # fmt: skip
    assert code == 0 and "released before" in text, text


def test_a_table_of_few_rows_is_known_by_all_of_them_together(folder):
    """Too few, or too alike, for chance to be told from a copy: the rows together tell it."""
    rows = [f"{'FM'[k % 2]},{k % 5 + k // 20 + 0.25}" for k in range(24)]
    for name, some in (("few", rows), ("turned", rows[::-1])):
        (folder / f"{name}.csv").write_text("\n".join(["sex,age", *some]) + "\n")
    assert release(folder, "few", "last", COLUMN, "few.out.csv")[0] == 0
    code, text = release(folder, "other", "turned", COLUMN, "turned.out.csv")
    assert code == 3 and "'few.csv', which this ledger keeps" in " ".join(text.split()), text
