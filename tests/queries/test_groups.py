"""Groups are public: a column that tells the secret does not make them, however the secret is written."""

from __future__ import annotations

import numpy as np
import pytest

from fugu import Pure, answer
from fugu.data import Table
from fugu.data.secrets import read_protect
from fugu.errors import UsageError
from fugu.queries.groups import require_public_groups

N = 60
REFERENCE = {
    "sex": ["F", "M", "F", "M", "M", "F"] * (N // 6),
    "code": [1, 2, 1, 2, 2, 1] * (N // 6),
    "finer": ["f1", "m1", "f2", "m2", "m1", "f1"] * (N // 6),
    "ward": ["x", "x", "y", "y", "x", "y"] * (N // 6),
    "one": ["only"] * N,
    "id": list(range(N)),
    "age": [30, 50, 70, 40, 60, 20] * (N // 6),
}
PRIVATE = {name: [*column[:30], *column[:5]] for name, column in REFERENCE.items()} | {"age": [33, 47, 41, 58, 39] * 7}
WRITTEN = [
    "sex",
    ["sex"],
    {"F": {"sex": "F"}, "M": {"sex": ["M"]}},
    {"F": lambda t: t["sex"] == "F", "M": lambda t: t["sex"] == "M"},
    {"F": {"sex": lambda s: s == "F"}, "M": lambda t: t["sex"] != "F"},
]


def asked(protect, by, query="mean(age)", reference=REFERENCE):
    bounds = (0, 100) if query.startswith("mean") else None
    return answer(PRIVATE, query, protect, Pure(1), reference, by=by, bounds=bounds, allow_no_noise=True)


@pytest.mark.parametrize("query", ["mean(age)", "count(ward=x)", "histogram(ward)"])
@pytest.mark.parametrize("protect", WRITTEN, ids=["name", "list", "conditions", "functions", "mixed"])
def test_the_secret_and_its_recodings_make_no_groups(protect, query):
    told = {"sex": "makes it public", "code": "determines the secret", "finer": "determines the secret"}
    for by, words in told.items():
        with pytest.raises(UsageError, match=words) as caught:
            asked(protect, by, query)
        assert "'F'" not in str(caught.value) and "f1" not in str(caught.value)
    assert len(asked(protect, "ward", query).mechanisms) == 2
    assert len(asked(protect, "one", query).mechanisms) == 1


def test_a_condition_on_the_column_of_the_groups_is_refused_when_a_function_looks_at_it():
    both = {"old": lambda t: t["age"] >= 50, "young in x": lambda t: (t["age"] < 50) & (t["ward"] == "x")}
    with pytest.raises(UsageError, match="worked out from it"):
        asked(both, "ward", "count(sex=F)")


def test_one_group_with_two_secrets_is_enough_to_determine_nothing():
    mostly = {**REFERENCE, "code": [2, 2, *REFERENCE["code"][2:]]}
    assert asked("sex", "code", reference=mostly)
    without = {name: column for name, column in REFERENCE.items() if name != "code"}
    assert asked("sex", "code", reference=without), "a reference without the column shows nothing"


def test_groups_of_one_row_show_nothing_either_way():
    secrets = read_protect("sex", tuple(REFERENCE)).find(Table(REFERENCE))
    require_public_groups("id", secrets, Table(REFERENCE))
    pairs = {**REFERENCE, "id": [i // 2 for i in np.argsort(REFERENCE["sex"], kind="stable").argsort().tolist()]}
    with pytest.raises(UsageError, match="determines"):
        require_public_groups("id", read_protect("sex", tuple(pairs)).find(Table(pairs)), Table(pairs))


def test_secrets_that_overlap_are_told_apart_by_what_holds_in_a_row():
    table = {"a": [1, 1, 0, 0] * 5, "b": [1, 0, 1, 1] * 5, "g": ["p", "q", "r", "r"] * 5, "h": ["p", "p", "r", "r"] * 5}
    secrets = read_protect({"A": {"a": 1}, "B": {"b": 1}}, tuple(table)).find(Table(table))
    with pytest.raises(UsageError, match="determines"):
        require_public_groups("g", secrets, Table(table))
    require_public_groups("h", secrets, Table(table))
