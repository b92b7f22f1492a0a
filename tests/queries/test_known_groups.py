"""A group is public: an adversary who knows it, and believes the laws given it, learns no more than is stated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fugu import answer
from fugu.data import Table
from fugu.data.secrets import read_protect
from fugu.errors import NoiselessRelease, UsageError
from fugu.guarantee import Approx, Pure
from fugu.queries.groups import require_public_groups
from fugu.queries.law_price import PLAIN_SUM
from hunting import search
from law_route import prepare


def loss(scale, p, q):
    """The tight epsilon of lattice Laplace noise (none at scale 0) between two laws, by direct sums, in both orders."""
    places = np.arange(-3, len(p) + 3)
    far = np.abs(places[:, None] - np.arange(len(p))[None, :])
    kernel = np.exp(-far / scale) if scale else (far == 0).astype(float)
    a, b = kernel @ p, kernel @ q
    seen = (a > 0) | (b > 0)
    with np.errstate(divide="ignore"):
        return float(np.max(np.abs(np.log(a[seen]) - np.log(b[seen]))))


def total(law, others, rows):
    """The law of one record's code plus those of `rows` independent others."""
    for _ in range(rows):
        law = np.convolve(law, others)
    return law


def believed(table, secret, column, top, **known):
    """P(code | secret, known) by counting; of a record of which no secret is known for None."""
    held = [secret in (None, s) for s in table["s"]]
    rows = [i for i, h in enumerate(held) if h and all(table[c][i] == v for c, v in known.items())]
    return np.bincount([table[column][i] for i in rows], minlength=top + 1) / max(len(rows), 1)


def tables(rng, wards=3, rows=400, least=35):
    """A reference in which the value depends on secret and ward in any way, and a private table."""
    chances = rng.dirichlet(np.full(4, 0.7), size=(2, wards))
    ref = {"s": [], "w": [], "x": []}
    for ward in range(wards):
        for secret in range(2):
            for _ in range(int(rng.integers(least, rows))):
                ref["s"].append("ab"[secret])
                ref["w"].append(f"w{ward}")
                ref["x"].append(int(rng.choice(4, p=chances[secret, ward])))
    own = {"s": ["a", "b"] * 30, "w": [f"w{i % wards}" for i in range(60)], "x": rng.integers(0, 4, 60).tolist()}
    return ref, own


@search("groups that an adversary knows, against direct sums", quick=25)
def test_both_adversaries_learn_no_more_than_is_stated(rng):
    ref, own = tables(rng)
    epsilon = float(rng.choice([0.1, 0.5, 1, 2]))
    prepared = prepare(own, "sum(x)", "s", Pure(epsilon), ref, by="w", bounds=(0, 3), step=1)
    for ward, mechanism in prepared.mechanisms.items():
        rows = own["w"].count(ward) - 1
        for known in ({}, {"w": ward}):
            others = believed(ref, None, "x", 3, **known)
            p, q = (total(believed(ref, secret, "x", 3, **known), others, rows) for secret in "ab")
            assert loss(float(mechanism.noise.scale), p, q) <= epsilon * (1 + 1e-9)
    return len(prepared.mechanisms)


def test_the_pooled_law_alone_states_less_than_is_lost():
    """Wrong version: noise for the pooled laws only (adult by occupation: stated .5, true .771)."""
    worst = 0.0
    for seed in range(10):
        ref, own = tables(np.random.default_rng(seed))
        own = {name: column[:1] for name, column in own.items()}
        pooled = prepare(own, "sum(x)", "s", Pure(0.5), ref, bounds=(0, 3), step=1).mechanisms[""]
        for ward in ("w0", "w1", "w2"):
            p, q = (believed(ref, secret, "x", 3, w=ward) for secret in "ab")
            worst = max(worst, loss(float(pooled.noise.scale), p, q))
    assert worst > 0.75


def test_a_value_that_the_ward_turns_into_the_secret_is_protected():
    """x = s xor ward says nothing of s by itself, and everything together with the ward: stated was 0, exact counts."""
    rows = [(s, w) for s in (0, 1) for w in (0, 1) for _ in range(50)]
    ref = {"s": [s for s, _ in rows], "w": [w for _, w in rows], "x": [s ^ w for s, w in rows]}
    own = {name: column[:120] for name, column in ref.items()}
    found = answer(own, "count(x=1)", "s", Pure(0.5), {**ref, "x": ref["x"]}, by="w", public_prior=True)
    assert [cell.scale for cell in found.cells] == pytest.approx([2, 2])
    with pytest.raises(NoiselessRelease):  # without groups the beliefs alone do hide it
        answer(own, "count(x=1)", "s", Pure(0.5), ref, public_prior=True)


@pytest.mark.parametrize("budget", [Pure(0.5), Approx(0.5, 1e-6)])
def test_a_group_without_a_secret_gets_plain_noise_and_says_so(budget):
    """Adult: "Armed-Forces" has men only, and the group was skipped."""
    ref = {"s": ["F", "M"] * 100 + ["M"] * 50, "w": ["office"] * 200 + ["forces"] * 50, "x": [1, 2] * 100 + [3] * 50}
    own = {"s": ["F", "M", "M"] * 10, "w": ["office", "forces", "office"] * 10, "x": [1, 3, 2] * 10}
    prepared = prepare(own, "sum(x)", "s", budget, ref, by="w", bounds=(0, 4), step=1)
    plain = prepared.mechanisms["forces"]
    assert any(PLAIN_SUM in line for line in plain.certificate.assumptions)
    if budget == Pure(0.5):
        assert plain.noise.scale == 4 / 0.5
    assert not any(PLAIN_SUM in line for line in prepared.mechanisms["office"].certificate.assumptions)
    assert "two adversaries" in " ".join(prepared.mechanisms["office"].certificate.assumptions)


def test_thirty_rows_of_every_secret_are_enough_and_29_are_not():
    for rows, plain in ((30, False), (29, True)):
        parts = (("a", "u", 60), ("b", "u", rows), ("a", "v", 40), ("b", "v", 40))
        ref = {"s": [s for s, _, n in parts for _ in range(n)], "w": [w for _, w, n in parts for _ in range(n)]}
        ref["x"] = [i % 2 for _, _, n in parts for i in range(n)]
        ref["x"][0] = 1
        own = {"s": ["a", "b"] * 5, "w": ["u"] * 10, "x": [0, 1] * 5}
        (mechanism,) = prepare(own, "sum(x)", "s", Pure(1), ref, by="w", bounds=(0, 1), step=1).mechanisms.values()
        assert any(PLAIN_SUM in line for line in mechanism.certificate.assumptions) == plain


def test_a_reference_that_cannot_tell_groups_is_an_assumption():
    ref, own = tables(np.random.default_rng(1))
    del ref["w"]
    prepared = prepare(own, "sum(x)", "s", Pure(1), ref, by="w", bounds=(0, 3), step=1)
    for mechanism in prepared.mechanisms.values():
        assert any("the reference has no column 'w'" in line for line in mechanism.certificate.assumptions)


def test_groups_are_compared_as_categories_are_everywhere():
    """Wards 1 and 2 as numbers in the reference, as text and floats in the table."""
    ref, own = tables(np.random.default_rng(2), wards=2)
    ref["w"] = [int(w[1]) for w in ref["w"]]
    for cells in ([0.0, 1.0] * 30, ["0", "1.0"] * 30, [0, 1] * 30):
        prepared = prepare({**own, "w": cells}, "sum(x)", "s", Pure(1), ref, by="w", bounds=(0, 3), step=1)
        assert list(prepared.mechanisms) == ["0", "1"]
        assert all("two adversaries" in " ".join(m.certificate.assumptions) for m in prepared.mechanisms.values())
    assert math.isfinite(loss(1.0, np.array([0.5, 0.5]), np.array([0.2, 0.8])))


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
