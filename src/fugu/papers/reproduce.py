"""The experiments of the papers: found, run, and written down.

>>> [experiment.name for experiment in experiments() if experiment.name.startswith("003")][0]
'003-figure2'
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from fugu.errors import UnknownName
from fugu.files import write_text
from fugu.papers.experiment import Experiment, Outcome, Row, Setting, registered
from fugu.progress import stage

PAPERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "000": ("pierquin", "Pierquin, Bellet, Tommasi, Boussard 2024: Rényi Pufferfish Privacy"),
        "001": ("ding", "Ding 2024: Approximation of Pufferfish Privacy for Gaussian Priors"),
        "002": ("bai", "Bai, He, Gu, Kifer, Maeng: Composition for Pufferfish Privacy"),
        "003": ("yang", "Yang, Ding et al.: Noise Reduction for Pufferfish Privacy"),
        "004": ("chen", "Chen, Ohrimenko 2023: Protecting Global Properties of Datasets"),
    }
)
"""What a name begins with: the file that holds the experiments, and the paper."""


@cache
def experiments() -> tuple[Experiment, ...]:
    """Every experiment, paper by paper."""
    for module, _ in PAPERS.values():
        importlib.import_module(f"fugu.papers.{module}")
    return tuple(sorted(registered().values(), key=lambda each: each.name))


def find(name: str) -> Experiment:
    """The experiment of this name, in upper or lower case; UnknownName, with a suggestion, if there is none.

    >>> find("003-TABLE4").name
    '003-table4'
    """
    known = {each.name.lower(): each for each in experiments()}
    wanted = name.strip().lower()
    if wanted not in known:
        raise UnknownName("experiment", name, known)
    return known[wanted]


def run(name: str, setting: Setting | None = None) -> Outcome:
    """Run one experiment; `setting` says where data is looked for, and whether the short form will do."""
    wanted = find(name)
    stage(wanted.name)
    return wanted.run(setting)


HEADER = ("printed", "reproduced", "claimed", "true", "fugu's best", "ratio", "limit", "verdict")


def cells(row: Row) -> tuple[str, ...]:
    """What a table shows of a row, beside its case and method, under `HEADER`."""
    claim, truth = _number(row.claim), _number(row.truth)
    ratio = "not a guarantee" if row.sound is False else "no noise needed" if row.ratio == float("inf") else None
    said = (row.printed or "", _number(row.reproduced), claim, truth, _number(row.best))
    return (*said, ratio or _number(row.ratio), _number(row.limit), row.verdict)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def markdown(experiment: Experiment, outcome: Outcome) -> str:
    """The outcome as a page: what it is, what was chosen, the table, the notes."""
    header = (*experiment.columns, "method", *HEADER)
    about = f"Values are {experiment.measure}; losses are {experiment.loss}."
    lines = [f"## {experiment.name}: {experiment.title}", "", about, ""]
    lines += [f"- {sentence}" for sentence in (*experiment.chosen, *outcome.remarks)]
    lines += ["", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    numbered = notes(outcome.rows)
    for row in outcome.rows:
        mark = f" ({numbered[row.note]})" if row.note else ""
        told = (cell.replace("|", "\\|") for cell in (*row.case, row.method + mark, *cells(row)))
        lines.append("| " + " | ".join(told) + " |")
    lines += ["", *(f"({number}) {note}  " for note, number in numbered.items())]
    return "\n".join(lines).rstrip() + "\n"


def notes(rows: Iterable[Row]) -> dict[str, int]:
    """The notes of a table, numbered as they come."""
    found: dict[str, int] = {}
    for row in rows:
        if row.note:
            found.setdefault(row.note, len(found) + 1)
    return found


def write(experiment: Experiment, outcome: Outcome, folder: Path) -> tuple[Path, ...]:
    """Write NAME.md, NAME.json and a figure for each drawing, NAME.svg or NAME-2.svg, into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    page, plain = folder / f"{experiment.name}.md", folder / f"{experiment.name}.json"
    drawings = [folder / f"{experiment.name}{f'-{n}' if n > 1 else ''}.svg" for n in range(1, len(outcome.figures) + 1)]
    for path, figure in zip(drawings, outcome.figures, strict=True):
        figure.save(path)
    shown = "".join(
        f"\n![{figure.title}]({path.name})\n" for path, figure in zip(drawings, outcome.figures, strict=True)
    )
    write_text(page, markdown(experiment, outcome) + shown)
    write_text(plain, json.dumps(to_dict(experiment, outcome), indent=1) + "\n")
    return (page, plain, *drawings)


def to_dict(experiment: Experiment, outcome: Outcome) -> dict[str, object]:
    """Plain content for JSON; what is infinite or not a number is told in words."""
    rows = [{key: _plain(value) for key, value in row.to_dict(experiment.columns).items()} for row in outcome.rows]
    about = {name: getattr(experiment, name) for name in ("name", "title", "measure", "loss", "chosen")}
    return {**about, "remarks": outcome.remarks, "rows": rows}


def _plain(value: object) -> object:
    return repr(value) if isinstance(value, float) and value - value != 0 else value
