"""docs/reference/api/index.md: every public name, with the page that shows it and the first sentence about it."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import fugu
from site_hooks.menu import MENU, _flat

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference" / "api"
MODULES = ("errors", "iterate", "sequences")
"""Public modules: each is a page, which begins with what it says of itself."""
_SHOWN = re.compile(r"^::: fugu\.(?P<name>[\w.]+)$", re.MULTILINE)
_TITLE = re.compile(r"^# (?P<title>.+)$", re.MULTILINE)

_BEGIN = """# API

Generated from the pages beside it by `python -m site_hooks`; they show what the docstrings say, and so does
`help(fugu.calibrate)`. The site is built by `make docs`. Every name is imported when it is first used, so
`import fugu` is fast; `fugu.__version__` is the version.
"""


def pages() -> list[Path]:
    """The pages that show docstrings, in the order of the menu."""
    order = [name.rpartition("/")[2] for _, entries in MENU for name in _flat(entries) if "/api/" in name]
    found = [path for path in FOLDER.glob("*.md") if path.name != "index.md"]
    return sorted(found, key=lambda path: (order.index(path.name) if path.name in order else len(order), path.name))


def shown(path: Path) -> list[str]:
    """The names that a page shows, without the leading `fugu.`."""
    return [match["name"] for match in _SHOWN.finditer(path.read_text(encoding="utf-8"))]


def public() -> Iterator[str]:
    """Every name that must be shown once: those at the front door, and those of its modules."""
    yield from (name for name in fugu.__all__ if name != "__version__")
    for module in ("iterate", "sequences"):
        yield from (f"{module}.{name}" for name in getattr(fugu, module).__all__)
    yield from (f"errors.{name}" for name, kind in vars(fugu.errors).items()
                if isinstance(kind, type) and issubclass(kind, Exception))  # fmt: skip


def resolve(name: str) -> object:
    """The thing behind a dotted name below `fugu`."""
    parts = ["fugu", *name.split(".")]
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


def page() -> str:
    """The whole page."""
    parts = [_BEGIN]
    for path in pages():
        title = _TITLE.search(path.read_text(encoding="utf-8"))
        assert title is not None, f"{path.name} has no title"
        rows = "\n".join(_row(name, path.name) for name in shown(path) if name not in MODULES)
        parts.append(f"\n## {title['title']}\n\n| name | what it is |\n|---|---|\n{rows}\n")
    return "".join(parts)


def _row(name: str, page: str) -> str:
    thing = resolve(name)
    first = (inspect.getdoc(thing) or "").split("\n\n")[0]
    sentence = re.split(r"(?<=[.;:])\s", " ".join(first.split()), maxsplit=1)[0].rstrip(".;:")
    return f"| [`{name}`]({page}) | {sentence.replace('|', chr(92) + '|').replace('<', '&lt;')} |"
