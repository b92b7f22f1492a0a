"""The pages of docs/reference that are written by `python -m site_hooks`, and what each must hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from site_hooks import api, commands, methods

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
PAGES: dict[Path, Callable[[], str]] = {
    REFERENCE / "commands.md": commands.page,
    REFERENCE / "methods.md": methods.page,
    **api.PAGES,
}
