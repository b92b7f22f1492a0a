"""`python -m benchmarks [topic ...] [--quick] [--json FILE]`: measure, and print a table. `growth` writes docs/scaling.*"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from benchmarks import calibration, growth, imports, memory, pairs, sampler, tight
from benchmarks.measure import Row, Size

TOPICS: dict[str, tuple[Callable[[Size], Iterator[Row]], ...]] = {
    "epsilon": (tight.epsilon,),
    "delta": (tight.delta,),
    "calibration": (calibration.search, calibration.whole),
    "pairs": (pairs.together,),
    "sampler": (sampler.draws,),
    "memory": (memory.peaks,),
    "import": (imports.imports,),
    "growth": (growth.growth,),
}
_COLOURS = {"met": "green", "missed": "red", "": "default"}


def main() -> int:
    """Run the topics asked for: all but `growth`, unless named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("topics", nargs="*", metavar="topic", help=f"any of {', '.join(TOPICS)}; growth
    runs only if
   
    named") parser.add_argument("--quick", action="store_true", help="a
    tenth of the size, fewer laps") parser.add_argument("--json", type=Path, metavar="FILE", help="also write the
    rows there") asked = parser.parse_args()
    unknown = [t for t in asked.topics if t not in TOPICS]
    if unknown:
        parser.error(f"unknown topic {unknown[0]!r}; choose from {',
        '.join(TOPICS)}")
    rows = _run(asked.topics or [t for t in TOPICS if t != "growth"], Size(asked.quick))
    Console().print(_table(rows))
    if asked.json:
        found = [{**asdict(row), "target": row.target, "verdict": row.verdict} for row in rows]
        asked.json.write_text(json.dumps({"quick": asked.quick, "rows": found}, indent=1) + "\n", encoding="utf-8")
    return 0


def _run(topics: list[str], size: Size) -> list[Row]:
    """All rows, with a line that says what is being measured."""
    rows: list[Row] = []
    shown = Progress(SpinnerColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True)
    with shown:
        task = shown.add_task("starting")
        for topic in topics:
            for part in TOPICS[topic]:
                shown.update(task, description=f"{topic}: {part.__name__}")
                rows.extend(part(size))
    return rows


def _table(rows: list[Row]) -> Table:
    table = Table(title="Best laps of one run; targets are information, machines differ", title_justify="left")
    for heading in ("topic", "case", "measured", "unit", "target", ""):
        table.add_column(heading, justify="right" if heading == "measured" else "left")
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and before.topic != row.topic:
            table.add_section()
        verdict = f"[{_COLOURS[row.verdict]}]{row.verdict}[/]"
        table.add_row(row.topic, row.case, f"{row.value:.3g}", row.unit, row.target, verdict)
    return table


if __name__ == "__main__":
    sys.exit(main())
