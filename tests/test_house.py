"""The ratchet itself. Wrong versions that are rejected: a limit that is not held, one that is raised without a word,
one that stays above what was reached, a design that shows other figures."""

from __future__ import annotations

import tomllib

import house

TOLD = tomllib.loads(house.LIMITS.read_text())
NOW = {name: int(limit) for name, limit in TOLD["limits"].items()}


def test_every_figure_has_a_limit_and_the_design_shows_it():
    assert (
        list(TOLD["limits"]) == list(TOLD["0.3"]) == list(house.NAMES) and house.table(TOLD) in house.DESIGN.read_text()
    )
    assert house.problems(NOW, TOLD) == []


def test_what_grows_and_what_falls_is_said():
    for name in house.NAMES:
        (said,) = house.problems({**NOW, name: NOW[name] + 1}, TOLD)
        assert "limit is" in said and "say what it buys" in said
        (said,) = house.problems({**NOW, name: NOW[name] * 9 // 10 - 1}, TOLD)
        assert "--record" in said


def test_a_limit_is_raised_with_a_reason_only():
    raised = {**TOLD, "limits": {**NOW, "lines": 200_000}, "bought": {}}
    said = house.problems({**NOW, "lines": 200_000}, raised)
    assert any("lines" in line and "what that bought" in line for line in said)


def test_recording_lowers_and_never_raises(tmp_path, monkeypatch):
    for name in ("LIMITS", "DESIGN"):
        copy = tmp_path / getattr(house, name).name
        copy.write_text(getattr(house, name).read_text())
        monkeypatch.setattr(house, name, copy)
    house.record({**NOW, "files": 3, "lines": NOW["lines"] + 5}, TOLD)
    told = tomllib.loads(house.LIMITS.read_text())
    assert told == {**TOLD, "limits": {**TOLD["limits"], "files": 3}}
    assert house.table(told) in house.DESIGN.read_text() != house.table(TOLD)


def test_chains_of_imports_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(house, "SRC", tmp_path)
    (tmp_path / "a.py").write_text("from fugu.b import x\n")
    (tmp_path / "b.py").write_text("from fugu import c\nif TYPE_CHECKING:\n    from fugu import a\n")
    (tmp_path / "c.py").write_text("def f():\n    from fugu import a\n")
    assert house.longest_chain(sorted(tmp_path.rglob("*.py"))) == 3
