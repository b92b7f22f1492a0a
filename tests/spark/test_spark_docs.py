"""docs/scale.md does not lie: its blocks run in order, and print what it says."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLES = {"clinic_reference.csv": "last-year.csv", "clinic_today.csv": "patients.csv"}
BLOCK = re.compile(r"^```py\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def test_the_page_runs_and_prints_what_it_says(spark, tmp_path, monkeypatch):
    for table, copied in TABLES.items():
        shutil.copy(ROOT / "src" / "fugu" / "examples" / table, tmp_path / copied)
    monkeypatch.chdir(tmp_path)
    namespace, blocks = {}, BLOCK.findall((ROOT / "docs" / "scale.md").read_text(encoding="utf-8"))
    assert len(blocks) == 5
    for code, prints in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)  # the project's own documents
        assert printed.getvalue() == prints
