"""A session of many questions, and one question by many groups of few distinct laws."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import fugu
from benchmarks.measure import Row, Size

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
