"""The experiments of the papers: found, run, and written down.

>>> [experiment.name for experiment in experiments() if experiment.name.startswith("003")][0]
'003-figure2'
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from fugu import __version__
from fugu.errors import UnknownName
from fugu.files import write_text
from fugu.progress import stage
from fugu_papers.experiment import Experiment, Outcome, Row, Setting, registered
from fugu_papers.shelf import FILES

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
        importlib.import_module(f"fugu_papers.{module}")
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


HEADER = ("printed", "converted", "reproduced", "claimed", "true loss", "fugu's best", "ratio", "limit", "verdict")


def cells(row: Row) -> tuple[str, ...]:
    """What a table shows of a row, beside its case and method, under `HEADER`; a claim that the case
    states already is left out."""
    claimed = "" if _number(row.claim) in row.case else _number(row.claim)
    ratio = "not a guarantee" if row.sound is False else "no noise" if row.ratio == math.inf else _number(row.ratio)
    best, limit = _number(row.best), _number(row.limit)
    known = row.printed or "", row.converted or "", _number(row.reproduced), claimed, _number(row.truth)
    return *known, best, ratio, limit, row.verdict


def table(experiment: Experiment, outcome: Outcome) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and lines of an outcome: the case, the method with the number of its note, and `cells`; a column in which
    nothing stands is left out."""
    header, numbered = (*experiment.columns, "method", *HEADER), notes(outcome.rows)
    marks = [f" ({numbered[row.note]})" if row.note else "" for row in outcome.rows]
    lines = [(*r.case, r.method + mark, *cells(r)) for r, mark in zip(outcome.rows, marks, strict=True)]
    kept = [n for n in range(len(header)) if any(line[n] for line in lines)]
    return tuple(header[n] for n in kept), [tuple(line[n] for n in kept) for line in lines]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def markdown(experiment: Experiment, outcome: Outcome) -> str:
    """The outcome as a page: what it is, what was chosen, the table, its remarks."""
    about = f"Values are {experiment.measure}; losses are {experiment.loss}; a true loss that is not known is left out."
    lines = [f"## {experiment.name}: {experiment.title}", "", about, ""]
    lines += [f"- {sentence}" for sentence in (*experiment.chosen, *outcome.remarks)]
    header, told = table(experiment, outcome)
    lines += ["", *(_line(cells) for cells in (header, ["---"] * len(header), *told))]
    lines += ["", *(f"({number}) {note}  " for note, number in notes(outcome.rows).items())]
    return "\n".join(lines).rstrip() + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def notes(rows: Iterable[Row]) -> dict[str, int]:
    """What is remarked on the rows of a table, numbered as it comes."""
    found: dict[str, int] = {}
    for row in rows:
        if row.note:
            found.setdefault(row.note, len(found) + 1)
    return found


def write(experiment: Experiment, outcome: Outcome, folder: Path, made: object = None) -> tuple[Path, ...]:
    """Write NAME.md, NAME.json and a figure for each drawing, NAME.svg or NAME-2.svg, into the folder.

    `made`: what it was made by, as `made_by` says it; who comes back finds it done (`done`)."""
    folder.mkdir(parents=True, exist_ok=True)
    page, plain = folder / f"{experiment.name}.md", folder / f"{experiment.name}.json"
    drawings = [folder / f"{experiment.name}{f'-{n}' if n > 1 else ''}.svg" for n in range(1, len(outcome.figures) + 1)]
    for path, figure in zip(drawings, outcome.figures, strict=True):
        figure.save(path)
    shown = "".join(
        f"\n![{figure.title}]({path.name})\n" for path, figure in zip(drawings, outcome.figures, strict=True)
    )
    write_text(page, markdown(experiment, outcome) + shown)
    write_text(plain, json.dumps({**to_dict(experiment, outcome), "made": made}, indent=1) + "\n")  # last: it is done
    return (page, plain, *drawings)


def made_by(setting: Setting) -> object:
    """The version of fugu, the form, and the data files at hand: what a run can depend on. None on a table of one's
    own, which may have changed."""
    if setting.own is not None:
        return None
    files = sorted(path for path in FILES if setting.shelf.find(path) is not None)
    return {"fugu": __version__, "short": setting.short, "files": files}


def done(experiment: Experiment, folder: Path, made: object) -> Outcome | None:
    """The rows that an earlier run of the same kind wrote into the folder; None if there are none."""
    path = folder / f"{experiment.name}.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if made is None or told.get("made") != made:
            return None
        return Outcome(tuple(Row.of_dict(row, experiment.columns) for row in told["rows"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def to_dict(experiment: Experiment, outcome: Outcome) -> dict[str, object]:
    """Plain content for JSON; what is infinite or not a number is told in words."""
    rows = [{key: _plain(value) for key, value in row.to_dict(experiment.columns).items()} for row in outcome.rows]
    about = {name: getattr(experiment, name) for name in ("name", "title", "measure", "loss", "chosen")}
    return {**about, "remarks": outcome.remarks, "rows": rows}


def _plain(value: object) -> object:
    return repr(value) if isinstance(value, float) and value - value != 0 else value
