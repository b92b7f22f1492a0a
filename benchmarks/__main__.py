"""`python -m benchmarks [topic ...] [--quick] [--json FILE]`: measure, and print a table.

The topics `growth`, `channel-growth`, `dimensions`, `figure`, `limits` and `pictures` run only if named; they write
docs/scaling.*, channel-growth.*, growth.*, training.svg, limits.* and concepts/*.svg."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    calibration,
    channels,
    charges,
    columns,
    concepts,
    covariance,
    fields,
    gaussian,
    growth,
    growth_channels,
    growth_dimensions,
    histograms,
    imports,
    influence,
    iterate,
    ledger,
    limits,
    memory,
    pairs,
    profiles,
    records,
    renyi,
    sampler,
    sessions,
    sets,
    spark,
    tight,
    training_figure,
    translate,
    transport,
    trees,
    vectors,
)
from benchmarks.measure import Row, Size

TOPICS: dict[str, tuple[Callable[[Size], Iterator[Row]], ...]] = {
    "epsilon": (tight.epsilon,),
    "delta": (tight.delta,),
    "calibration": (calibration.search, calibration.whole, calibration.many),
    "sets": (sets.sets,),
    "columns": (columns.columns,),
    "pairs": (pairs.together,),
    "sampler": (sampler.draws,),
    "gaussian": (gaussian.calibration, gaussian.sums),
    "renyi": (renyi.divergence, renyi.calibration),
    "transport": (transport.line, transport.plane, transport.plans),
    "vectors": (vectors.vectors,),
    "histograms": (histograms.thresholds, histograms.wide, histograms.groups),
    "sessions": (sessions.many, sessions.groups),
    "covariance": (covariance.optimum, covariance.unequal),
    "channels": (channels.points,),
    "fields": (fields.translations,),
    "influence": (influence.curves, influence.lengths),
    "iterate": (iterate.allocation, iterate.epoch, iterate.budget),
    "ledger": (ledger.charges,),
    "profiles": (profiles.states, profiles.lengths, profiles.gain),
    "trees": (trees.nodes, trees.values, trees.hidden, trees.gain),
    "translate": (translate.states, translate.lengths, translate.numbers, translate.many, translate.gain),
    "records": (records.thresholds, records.tables),
    "charges": (charges.few, charges.many),
    "memory": (memory.peaks,),
    "spark": (spark.column,),
    "import": (imports.imports,),
    "growth": (growth.growth,),
    "channel-growth": (growth_channels.channels,),
    "dimensions": (growth_dimensions.dimensions,),
    "figure": (training_figure.figure,),
    "limits": (limits.figure,),
    "pictures": (concepts.pictures,),
}
_COLOURS = {"met": "green", "missed": "red", "": "default"}
_WIDTH = 118
_WRITING = ("growth", "channel-growth", "dimensions", "figure", "limits", "pictures")
"""Topics that write pages of the documentation."""
_NAMES = ", ".join(TOPICS)


def main() -> int:
    """Run the topics asked for: all but `growth`, unless named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, and print a table.")
    parser.add_argument("topics", nargs="*", metavar="topic", help=f"any of {_NAMES}; all but growth if none")
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, fewer laps")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows there")
    asked = parser.parse_args()
    unknown = [topic for topic in asked.topics if topic not in TOPICS]
    if unknown:
        parser.error(f"unknown topic {unknown[0]!r}; choose from {_NAMES}")
    rows: list[Row] = []
    try:
        _run(asked.topics or [topic for topic in TOPICS if topic not in _WRITING], Size(asked.quick), rows)
    finally:  # what was measured before a failure is still worth reading
        console = Console()
        console.width = max(console.width, _WIDTH)
        console.print(_table(rows))
        if asked.json:
            found = [{**asdict(row), "target": row.target, "verdict": row.verdict} for row in rows]
            text = json.dumps({"quick": asked.quick, "rows": found}, indent=1)
            asked.json.write_text(text + "\n", encoding="utf-8")
    return 0


def _run(topics: list[str], size: Size, rows: list[Row]) -> None:
    """Add all rows, with a line that says what is being measured."""
    with Console(stderr=True).status("starting") as status:
        for topic in topics:
            for part in TOPICS[topic]:
                status.update(f"{topic}: {part.__name__}")
                rows.extend(part(size))


def _table(rows: list[Row]) -> Table:
    title = "Best laps of one run; targets are information, machines differ"
    table = Table(title=title, title_justify="left")
    for heading in ("topic", "case", "measured", "unit", "target", ""):
        table.add_column(heading, justify="right" if heading == "measured" else "left")
    topic = ""
    for row in rows:
        opens, topic = row.topic != topic, row.topic
        if opens:
            table.add_section()
        verdict = f"[{_COLOURS[row.verdict]}]{row.verdict}[/]"
        table.add_row(topic if opens else "", row.case, f"{row.value:.3g}", row.unit, row.target, verdict)
    return table


if __name__ == "__main__":
    sys.exit(main())
