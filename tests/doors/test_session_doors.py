"""One private record, whatever it holds, moves its own contribution to a session's answers and nothing else.

`Facts.open` opens the private table of a session (and `TableBelief.example` a made-up one). A record is replaced by one
with a hostile cell in every column: every feature of every other row is the same, and so are the plans, prices, labels,
notes, refusals and certificates. What noise is added to moves by at most what is charged."""

from __future__ import annotations

import numpy as np
import pytest
from hostile import CELLS, CONTAINERS, random_cell
from test_one_row import REFERENCE, ROW, TODAY, outcome

import fugu
from fugu.noise.selection import permute_and_flip
from fugu.queries import answer
from fugu.queries import statistic as drawing
from fugu.queries.kinds import Options
from fugu.queries.statistic import StatisticQuestion, plan_of
from fugu.session.books import open_session, public_facts
from hunting import search

DRAW, PUBLIC = answer.draw, ("g", "s")
"""Columns that stay as they are: one makes groups, which are public; the other is not asked about."""
ASKED = (
    ("count(v=1)", {}),
    ("proportion(zip=1234567) by g", {}),
    ("count(icd=250.0)", {}),
    ("count(ok=True)", {}),
    ("sum(v)", {"bounds": (0, 5), "step": 0.5}),
    ("mean(f) by g", {"bounds": (0, 4), "step": 0.5}),
    ("mean(size)", {}),
    ("variance(v)", {"bounds": (0, 5), "step": 1}),
    ("histogram(v)", {}),
    ("histogram(f)", {"bins": [0, 1, 2, 4]}),
    ("crosstab(size, ok)", {}),
    ("top(code, 2)", {}),
    ("top(size, 1)", {}),
    ("median(f)", {"grid": [0, 1, 2, 4]}),
    ("quantile(v, 0.9) by g", {"bounds": (0, 5), "step": 1}),
)
SCHEMA = fugu.Schema({"size": {"kind": "ordered", "values": ["low", "mid", "high"]}})


def hostile_record(cell):
    """The table with this cell in every column of one row that is not public."""
    return {n: c if n in PUBLIC else [*c[:ROW], cell, *c[ROW + 1 :]] for n, c in TODAY.items()}


def features_of(table):
    """Every feature of every row, and all that is public about the questions."""
    opened = open_session(*public_facts(REFERENCE, "s", SCHEMA, None), table)
    private, belief = opened.private, opened.belief
    columns, public = [], [belief.fingerprint, len(private)]
    for text, options in ASKED:
        asked = StatisticQuestion.parse(text)
        plan = plan_of(asked, belief.reading, belief.table, Options(**options))
        columns += [feature.of(belief.reading, private.table) for feature in plan.features]
        public += [str(plan)] if asked.by is None else [str(plan), belief.groups.of(asked.by).sizes]
        for found, feature in zip(columns[-len(plan.features) :], plan.features, strict=True):
            assert found.dtype == np.int64 and 0 <= found.min() <= found.max() <= feature.top
    return np.stack(columns), public


def violations(container, cells, folder):
    base = features_of(container(TODAY, folder))
    found = []
    for cell in cells:
        table = container(hostile_record(cell), folder)
        if table is None:
            continue
        values, public = outcome(features_of, table)
        same = public == base[1] and np.array_equal(np.delete(values, ROW, axis=1), np.delete(base[0], ROW, axis=1))
        if not same:
            found.append(cell)
    return found


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda f: f.__name__)
def test_one_record_of_a_session(container, tmp_path):
    if container.__name__ == "inferred_pandas":
        pytest.skip("pandas may make numbers of these codes, which is refused at the schema")
    assert violations(container, CELLS if container is CONTAINERS[0] else CELLS[::10], tmp_path) == []


@search("one hostile record of a session", each=CONTAINERS, quick=1)
def test_one_random_record(container, rng, tmp_path):
    if container.__name__ != "inferred_pandas":
        assert violations(container, [random_cell(rng)], tmp_path) == []


FEW = tuple(ASKED[i] for i in (0, 5, 7, 10, 13))


def answers_of(table, monkeypatch):
    """A whole session with silent noise: its numbers, the utilities that were ranked, and everything else it says."""
    ranked = []

    def chosen(utilities, rate, source):
        ranked.append([float(u) for u in utilities])
        return 0

    monkeypatch.setattr(drawing, "_noise", lambda rates, size, _: np.zeros((len(rates), size), dtype=np.int64))
    monkeypatch.setattr(drawing, "permute_and_flip", chosen)
    session = fugu.Session(table, REFERENCE, "s", fugu.Pure(2), schema=SCHEMA, public=["g"])
    drawn, told = [], []

    def seen(*args):
        drawn.append(DRAW(*args))
        return drawn[-1]

    monkeypatch.setattr(answer, "draw", seen)
    for text, options in FEW:
        found = session.ask(text, 0.2, **options)
        told.append((str(found.question), [(c.group, c.cell, c.scale) for c in found.cells], found.own, found.note))
    certificate = session.certificate.body
    return (drawn, ranked), (told, str(session.spent()), certificate)


def test_answers_certificates_and_prices_are_those_of_any_other_record(monkeypatch):
    (drawn, ranked), public = answers_of(TODAY, monkeypatch)
    for cell in (None, 1e308, "(other)"):
        (own, utilities), said = answers_of(hostile_record(cell), monkeypatch)
        assert said == public
        moves = [sum(abs(a - b) for x, y in zip(p, q, strict=True) for a, b in zip(x, y, strict=True))
                 for p, q in zip(drawn, own, strict=True)]  # fmt: skip
        assert moves[0] <= 1 and moves[1] <= 8 and moves[2] <= 5 + 9 and moves[3] <= 2
        assert np.abs(np.array(ranked) - np.array(utilities)).max() <= 1
    assert permute_and_flip is not drawing.permute_and_flip  # the silent one was used
