"""The figures of trust: the page shows what is recorded, the record is what was gathered, and neither can drift."""

from __future__ import annotations

import json
import re

import pytest

import trust

RECORD = {
    "whole chain": {
        "date": "2030-01-02",
        "open violations": 1,
        "kinds": {
            "column": {"cases": 1200, "refused": 200, "released": 1000, "attacked": 90, "caught: noise": 400},
            "vector": {"cases": 10, "refused": 0, "released": 10, "second proof holds": 9, "caught: budget": 8},
        },
    },
    "core hunts": {"date": "2030-01-03", "open violations": 0, "searches": {"a.py::x": 70_000, "b.py::y": 5}},
    "mutants": {"date": "2030-01-04", "listed": 400, "killed": 399},
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A record of its own, and nothing that takes long."""
    monkeypatch.setattr(trust, "RECORD", tmp_path / "trust.json")
    for name in ("one_row", "old_documents", "counterexamples"):
        monkeypatch.setattr(trust, name, dict)
    return tmp_path


def noted(folder, *cases):
    lines = [json.dumps({"kind": f"whole chain: {kind}", "seed": seed, "facts": facts}) for kind, seed, facts in cases]
    (folder / "notes.jsonl").write_text("".join(line + "\n" for line in lines))


def hunted(folder, searches, violations=()):
    listed = {key: {"cases": count} for key, count in searches.items()}
    content = {"searches": listed, "violations": [{"key": key} for key in violations]}
    (folder / "state.json").write_text(json.dumps(content))
    return folder / "state.json"


def test_the_page_shows_what_is_recorded():
    page = trust.PAGE.read_text(encoding="utf-8")
    assert trust.written(page, trust.load()) == page, "write the page with `make trust`; it is not edited by hand"


def test_a_figure_that_was_edited_by_hand_is_seen():
    page = trust.PAGE.read_text(encoding="utf-8")
    digits = [k for k in range(page.index(trust.BEGIN), page.index(trust.END)) if page[k].isdigit()]
    assert len(digits) > 50
    for place in digits[:: len(digits) // 20]:
        edited = f"{page[:place]}{(int(page[place]) + 1) % 10}{page[place + 1 :]}"
        assert trust.written(edited, trust.load()) == page != edited


def test_the_page_states_dates_and_counts_and_no_place_or_commit():
    shown = trust.section(trust.load())
    assert re.search(r"\| 20\d\d-\d\d-\d\d \|", shown)
    assert not re.search(r"\b[0-9a-f]{7,40}\b|/(home|root|tmp|work|Users)\b|\\", shown)


def test_the_whole_chain_was_walked_often_and_by_every_kind():
    chain = trust.load()["whole chain"]
    assert sum(facts["cases"] for facts in chain["kinds"].values()) >= 2000
    assert len(chain["kinds"]) >= 8 and min(facts["cases"] for facts in chain["kinds"].values()) >= 50


def test_every_figure_comes_from_the_record():
    shown = trust.section(RECORD)
    assert "| random releases through the whole chain | 1,210 | 1 | 2030-01-02 |" in shown
    assert "| core hunts with fresh seeds | 70,005 cases of 2 searches | 0 | 2030-01-03 |" in shown
    assert f"| {trust.WRONG} | 399 of 400 caught | 1 | 2030-01-04 |" in shown
    assert "| column | 1,200 | 200 | 1,000 | 0 | 0 | 90 | 400 |" in shown and "budget 8, noise 400." in shown
    unrecorded = trust.section({name: part for name, part in RECORD.items() if name != "mutants"})
    assert f"| {trust.WRONG} | not recorded yet | | |" in unrecorded


def test_each_seed_counts_once_and_totals_never_go_down(place):
    twice = ("column", 1, {"cases": 1, "released": 1})
    noted(place, twice, twice, ("column", 2, {"cases": 1, "refused": 1}), ("vector", 1, {"cases": 1, "released": 1}))
    chain, core = "endtoend/t.py::x", "loss/t.py::y"
    trust.gather(hunted(place, {chain: 9, core: 50}, [chain, core, core]))
    found = trust.load()
    assert found["whole chain"]["kinds"] == {
        "column": {"cases": 2, "released": 1, "refused": 1},
        "vector": {"cases": 1, "released": 1},
    }
    assert found["whole chain"]["open violations"] == 1
    assert found["core hunts"]["searches"] == {core: 50} and found["core hunts"]["open violations"] == 2
    noted(place, ("column", 7, {"cases": 1, "released": 1}))
    trust.gather(hunted(place, {core: 3, "new.py::z": 1}))
    again = trust.load()
    assert again["whole chain"]["kinds"] == found["whole chain"]["kinds"] and not again["core hunts"]["open violations"]
    assert again["core hunts"]["searches"] == {core: 50, "new.py::z": 1}
    trust.gather(place / "nowhere" / "state.json")
    assert trust.load()["core hunts"] == again["core hunts"] and trust.load()["whole chain"] == again["whole chain"]


def test_a_page_without_the_marks_is_refused():
    with pytest.raises(LookupError, match="lost the marks"):
        trust.written("# no marks", RECORD)
