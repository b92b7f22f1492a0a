"""A session of many questions, and one question by many groups of few distinct laws."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import fugu
from benchmarks.measure import Row, Size, race

_QUESTIONS: tuple[tuple[str, dict[str, object]], ...] = (
    ("mean(age)", {"bounds": (0, 100), "step": 25}),
    ("histogram(ward)", {}),
    ("mean(stay)", {"bounds": (0, 12), "step": 4}),
    ("count(sex=F) by ward", {}),
    ("median(age)", {"bounds": (0, 100), "step": 25}),
    ("crosstab(ward, sex)", {}),
    ("mean(age) by ward", {"bounds": (0, 100), "step": 25}),
    ("variance(stay)", {"bounds": (0, 12), "step": 4}),
)
_LAWS, _ROWS = 50, 80
_AGE, _CHOL = {"bounds": (0, 100), "step": 5}, {"bounds": (100, 400), "step": 5}
_TWELVE: tuple[tuple[str, dict[str, object]], ...] = (
    ("mean(chol)", _CHOL), ("histogram(ward)", {}), ("count(sex=F)", {}), ("median(chol)", _CHOL), ("mean(age)", _AGE),
    ("histogram(sex)", {}), ("variance(age)", _AGE), ("crosstab(ward, sex)", {}), ("proportion(ward=south)", {}),
    ("quantile(age, 0.9)", _AGE), ("sum(chol)", _CHOL), ("top(ward, 1)", {}),
)  # fmt: skip


def many(size: Size) -> Iterator[Row]:
    """One question after the other, each priced with all before it, in a table with public wards."""
    rng = np.random.default_rng(0)
    session = fugu.Session(_table(rng, 2000), _table(rng, 5000), "ill", fugu.Pure(4), public=["ward"])
    questions = size.of(100)
    start = time.perf_counter()
    for k in range(questions):
        text, options = _QUESTIONS[k % len(_QUESTIONS)]
        session.ask(text, 0.002 + k * 1e-8, **options)  # type: ignore[arg-type]
    took = time.perf_counter() - start
    states = max(len(next(iter(law.given.values()))) for law in session.certificate.laws)
    yield Row("sessions", f"{questions} questions, {states} states, 4 laws", took / questions, "s / question")
    start = time.perf_counter()
    fugu.verify(session.certificate)
    yield Row("sessions", f"verify {questions} questions", time.perf_counter() - start, "s")


def together(size: Size) -> Iterator[Row]:
    """Questions asked together by sex, on the tables of the demo, beside a sort of a million doubles."""
    folder = Path(fugu.__file__).parent / "examples"
    numbers = np.random.default_rng(0).random(1_000_000)
    sort = race(size.laps, sort=lambda: np.sort(numbers))["sort"]
    more = [(f"quantile({name}, {k / 46})", dict(options)) for k in range(1, 45) for name, options in
            (("age", _AGE), ("chol", _CHOL))]  # fmt: skip
    for asked in (_TWELVE, (*_TWELVE, *more[: size.of(88)])):
        items = [{"query": q if "sex" in q else f"{q} by sex", **options} for q, options in asked]
        session = fugu.Session(folder / "clinic_today.csv", folder / "clinic_reference.csv", "smoker", fugu.Pure(1),
                               unit="patient", ledger=False)  # fmt: skip
        start = time.process_time()
        assert session.rehearse(items).certificate.laws
        took = time.process_time() - start
        yield Row("sessions", f"{len(items)} questions together", took, "s of CPU")
        yield Row("sessions", f"{len(items)} questions together", took / sort, "sorts of a million")


def groups(size: Size) -> Iterator[Row]:
    """A mean by many groups that share fifty laws, beside the same by fifty groups."""
    took = {}
    for count in (_LAWS, size.of(10_000)):
        rng = np.random.default_rng(0)
        reference, table = _grouped(rng, count)
        session = fugu.Session(table, reference, "ill", fugu.Pure(1), public=["ward"])
        start = time.perf_counter()
        session.ask("mean(x) by ward", 0.2, bounds=(0, 5), step=1)
        took[count] = time.perf_counter() - start
        yield Row("sessions", f"mean by {count} groups of {_LAWS} laws", took[count], "s")


def _table(rng: np.random.Generator, rows: int) -> dict[str, object]:
    ill = rng.integers(0, 2, rows)
    return {
        "ill": np.where(ill, "y", "n"),
        "age": np.clip(rng.normal(45 + 10 * ill, 12, rows), 18, 90).round().astype(int),
        "ward": rng.choice(["a", "b", "c"], rows),
        "sex": rng.choice(["F", "M"], rows),
        "stay": np.minimum(rng.poisson(3 + ill, rows), 12),
    }


def _grouped(rng: np.random.Generator, count: int) -> tuple[dict[str, object], dict[str, object]]:
    """A reference in which group g has the rows of law g mod 50, and a table of 20 rows in each group."""
    blocks = [rng.choice(6, _ROWS, p=rng.dirichlet(np.full(6, 3.0))) for _ in range(_LAWS)]
    names = np.array([f"w{g}" for g in range(count)])
    reference = {
        "ill": np.tile(["y", "n"], count * _ROWS // 2),
        "x": np.concatenate([blocks[g % _LAWS] for g in range(count)]),
        "ward": np.repeat(names, _ROWS),
    }
    return reference, {"x": rng.integers(0, 6, 20 * count), "ward": np.repeat(names, 20)}
