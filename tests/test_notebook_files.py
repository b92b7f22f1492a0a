"""The notebooks in examples/ run from the top, and what they keep is what they show: of fugu, and of no host."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import notebooks


def shown(notebook):
    """Of each cell: its number, and what kinds of things it shows."""
    return [
        (cell.get("execution_count"), [sorted(found.get("data", ("stream",))) for found in cell.get("outputs", ())])
        for cell in notebook["cells"]
    ]


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_keeps_what_it_shows(path, tmp_path, monkeypatch):
    """Wrong versions: a cell that raises, outputs of other cells than these, a path of somebody's machine."""
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).resolve().parent.parent)
    from site_hooks.notebooks import page

    text = path.read_text(encoding="utf-8")
    kept = json.loads(text)
    assert shown(kept) == shown(notebooks.run(path))
    assert not re.search(r"/(home|root|tmp|usr|work|Users)/|0x[0-9a-f]{6}", text) and len(text) < 60_000
    cells = [cell["cell_type"] for cell in kept["cells"]]
    assert page(text).count("```python") == cells.count("code") >= 7 and page(text).count("<table") >= 4


def test_both_kinds_of_tables_have_a_notebook():
    assert [path.stem for path in notebooks.NOTEBOOKS] == ["sequences", "statistics"]
