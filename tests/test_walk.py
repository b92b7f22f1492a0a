"""docs/house-in-an-hour.md names functions that its two releases pass, in the order in which they pass them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import fugu

ROOT = Path(__file__).resolve().parent.parent
SRC = Path(fugu.__file__).resolve().parent
PARTS = (ROOT / "docs" / "house-in-an-hour.md").read_text(encoding="utf-8").split("\n## ")[1:]


def passed(code: str) -> list[str]:
    """The functions of fugu in the order in which the code first passes them, once everything is loaded."""
    exec(code, {})
    seen: dict[str, None] = {}

    def note(frame, event, _):
        where = frame.f_code
        if event == "call" and where.co_filename.startswith(str(SRC)):
            seen.setdefault(f"{Path(where.co_filename).relative_to(SRC).as_posix()}:{where.co_qualname}")

    sys.setprofile(note)
    try:
        exec(code, {})
    finally:
        sys.setprofile(None)
    return list(seen)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.splitlines()[0])
def test_the_walk_is_what_a_release_passes(part, monkeypatch):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    named = re.findall(r"^\| [^|]*\| `([^`]+)` \|", part, re.MULTILINE)
    ways = passed(code.replace("src/fugu/examples/", f"{SRC / 'examples'}/"))
    assert len(named) > 15
    assert [name for name in named if name not in ways] == []
    places = [ways.index(name) for name in named]
    assert places == sorted(places), [b for a, b in zip(named, sorted(named, key=ways.index), strict=True) if a != b][
        :3
    ]
    assert set(named) != set(ways), "a walk, not a list of everything"
