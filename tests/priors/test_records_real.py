"""What an epsilon buys on published tables: the figures of two independent computations, from FUGU_DATA."""

from __future__ import annotations

import gzip
import math
import os
from functools import cache
from pathlib import Path

import pytest

import fugu
from fugu import Records
from fugu.data import read_table

FOLDER = os.environ.get("FUGU_DATA")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="FUGU_DATA is not set: the real data sets are not part of the project"
)
ADULT = {3: "education", 5: "marital", 6: "occupation", 8: "race", 9: "sex", 14: "income"}
HEART = {2: "cp", 6: "restecg", 13: "num"}
BOUGHT = [  # table, secret, columns, at .5, at 1
    ("adult", "income", "education", 1.3692948901634123, 2.875533109514292),
    ("adult", "income", "sex", 1.7280751273740587, math.inf),
    ("adult", "income", "marital", 0.9269897100681577, 1.9982140782594444),
    ("adult", "income", ["education", "sex"], 1.239593377505416, 2.4377089337664244),
    ("adult", "sex", "education", 4.19043961240198, math.inf),
    ("adult", "sex", "occupation", 1.2057174072265457, 2.191951899765512),
    ("adult", "sex", "income", 1.8211120993217593, 5.3506968245970175),
    ("adult", "race", "education", 1.205511006425972, 2.439930954418118),
    ("bank", "loan", "job", 2.9757776482725755, 4.211097862178452),
    ("bank", "loan", "marital", math.inf, math.inf),
    ("bank", "y", "month", 1.697429015027053, 2.854366324311744),
    ("bank", "default", "education", math.inf, math.inf),
    ("heart", "ill", "cp", 1.0244, 2.6084),
    ("heart", "ill", "restecg", 4.0477, 5.8410),
]


def data(*parts):
    path = Path(FOLDER or "").joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not in FUGU_DATA")
    return path


@cache
def table(name):
    if name == "bank":
        return read_table(data("bank", "bank-full.csv.gz"))
    if name == "adult":
        lines = gzip.decompress(data("adult", "adult.data.csv.gz").read_bytes()).decode().splitlines()
        rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.count(",") == 14]
        return {name: [row[place] for row in rows] for place, name in ADULT.items()}
    rows = [line.split(",") for line in data("heart", "processed.cleveland.data").read_text().splitlines()]
    columns = {name: [row[place] for row in rows] for place, name in HEART.items()}
    return {**columns, "ill": [x != "0" for x in columns["num"]]}


@pytest.mark.parametrize(("name", "secret", "columns", "half", "one"), BOUGHT, ids=str)
def test_what_an_epsilon_buys(name, secret, columns, half, one):
    records = Records(table(name), secret, columns)
    figure = 1e-13 if name != "heart" else 5e-5
    for epsilon, bought in ((0.5, half), (1, one)):
        found = fugu.dp_budget(records, epsilon)
        assert found == pytest.approx(bought, rel=figure) and fugu.translate(records, found) <= epsilon


def test_pooled_laws_are_not_enough_where_the_group_is_public():
    """Adult, count(income) by occupation, protect sex: noise for pooled laws at .5 is worth .7709 in Sales."""
    bought = fugu.dp_budget(Records(table("adult"), "sex", "income"), 0.5)
    grouped = Records(table("adult"), "sex", "income", by="occupation")
    worth = {
        law.who: fugu.translate(Records.of_laws(dict(law.given)), bought) for law in grouped.laws() if not law.plain
    }
    assert worth["records with occupation='Sales'"] == pytest.approx(0.7709, abs=5e-5)
    assert worth["records with occupation='Tech-support'"] == pytest.approx(0.6268, abs=5e-5)
    assert "records with occupation='Armed-Forces'" in grouped.plain, "men only: the plain epsilon, not nothing"
    assert fugu.translate(grouped, bought) == bought
