"""`python -m fugu_papers.catalogue [FOLDER]`: write the pages that are made of the catalogue, in a checkout of fugu."""

from __future__ import annotations

import sys
from pathlib import Path

from fugu.errors import UsageError
from fugu.files import write_text
from fugu_papers.catalogue.pages import pages, with_table

ERRATA = "docs/errata.md"


def write(root: Path) -> list[str]:
    """Write every page that has changed under `root`, the folder of a checkout; their names."""
    if not (root / ERRATA).is_file():
        raise UsageError(f"no checkout of fugu here: {ERRATA} is missing; give its folder")
    made = {**pages(), ERRATA: with_table((root / ERRATA).read_text(encoding="utf-8"))}
    changed = [
        name for name, text in made.items()
        if not (root / name).is_file() or (root / name).read_text(encoding="utf-8") != text
    ]  # fmt: skip
    for name in changed:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(root / name, made[name])
    return changed


if __name__ == "__main__":
    written = write(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    sys.stdout.write("\n".join(written or ["nothing has changed"]) + "\n")
