"""A scenario file as text, with a comment for every choice."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from fugu.cli.scenario_file import SECTIONS
from fugu.data.toml import value_text

WORDS: dict[str, str] = {
    "reference": "The table that beliefs are fitted on. Public, or at least not the table that is released.",
    "table": "The private table. fugu release opens it, and nothing else does.",
    "rows": "How many rows it has, which is public: what is shown before it is opened is for that many.",
    "name": "The name of the data in ledger and certificate; the file's own if left out.",
    "other_people": "Data sets of the ledger whose people are others than those of the table: your word.",
    "ledger": "Where releases are booked, so that none is made twice; your own ledger if left out.",
    "output": "Where the published values go; certificate, private part and page lie beside it.",
    "publish": "The column to publish, row by row.",
    "query": 'Statistics in place of a column: "mean(chol)", or a list of several.',
    "weights": 'How the budget is split over several statistics: a number for each, or "error".',
    "route": "records: statistics that compose, charged together; law: one question, which closes the table.",
    "by": "With a query: the public column that groups the rows; for sequences, the user.",
    "bounds": "With a query: values are clipped to these two before they are summed.",
    "step": "With a query: values are rounded to this step before they are summed.",
    "bins": "A number of bins, their edges, or an ordering of categories from low to high.",
    "missing": "Missing cells of the published column: error, drop, or the value they count as.",
    "unit": "The column that names the person; it must not repeat. Left out, one row is one person.",
    "order": "Sequences: the column of times.",
    "state": "Sequences: the column of states.",
    "start": "Sequences: the law of the first entry: fitted, any or stationary.",
    "smoothing": "Sequences: added to every transition count.",
    "length": "Sequences: the length of the prior, if longer.",
    "other": "Sequences: the state that unknown states count as.",
    "repeats": "Sequences: rows of one user at one time: refuse, first, last, or rows (all, as in the file).",
    "columns": "Sequences: wide tables, a column for each time: names, first:last, or a pattern.",
    "end": "Sequences: the column where intervals end; they begin at order.",
    "every": "Sequences: the step of a regular grid of times.",
    "between": "Sequences: the state where no interval is.",
    "overlaps": "Sequences: of intervals that overlap, the first or the last to begin.",
    "backwards": "Sequences: intervals that end before they begin: refuse or drop.",
    "gaps": "Sequences: missing steps are said, or modelled.",
    "inside": "Sequences: intervals: whether it is public or secret when states change inside a record.",
    "clip": "Released values are moved into this range: a function of what goes out, so it costs nothing.",
    "round": "Released values are rounded to multiples of this, in days for dates; free as well.",
    "protect": 'What is secret of a row: a column, "sex=Male", "age>=65", "born<1960-01-01", cut points "age:18,65".',
    "pairs": 'Which secrets must look alike: "all", "adjacent", or "F:M,F:X".',
    "prior": "What is believed: empirical (the counts themselves), gaussian, mixture or shared.",
    "components": "Bells of a mixture; left out, BIC chooses.",
    "confidence": "Hold for every law that the reference cannot rule out at this level.",
    "shift": "With confidence: how far the table's population may be from the reference's, in total variation.",
    "public_reference": "true: the reference is public, and its plain SHA-256 is published.",
    "public_prior": "true: beliefs are fitted on the private table itself; its exact counts stay in the private part.",
    "epsilon": "How much may be learnt: the odds of two secrets change by at most e^epsilon.",
    "delta": "Slack in probability; 0 for a pure guarantee.",
    "alpha": "The order of a Renyi budget, above 1.",
    "total": "Epsilon of all requests to this data; epsilon if left out.",
    "budget_delta": "Delta of all requests, beside total: trainings and statistics then share one budget.",
    "mechanism": "noise, or optimal: the channel of least error for exactly these beliefs.",
    "noise": "best, laplace, gaussian, or atoms, which keeps to the values that there are.",
    "method": "How noise is found: best tries all and takes the least that is proved.",
    "grid": "The lattice step of the noise; auto finds it.",
    "remap": "Move outputs to the value of least expected loss: absolute, squared, zero-one.",
    "loss": "With mechanism optimal: the loss that is made least.",
    "cap": "The most epsilon against anybody, whatever is believed; of a query five times the budget if left out.",
    "allow_no_noise": "true: exact values may go out, where noise that is mostly 0, or none, meets the budget.",
}
"""One sentence for each key."""
_ALWAYS = {
    "data": ("reference", "table", "name", "ledger", "output"),
    "question": ("publish", "query", "bins", "missing", "unit", "clip", "round"),
    "secrets": ("protect", "pairs"),
    "beliefs": ("prior", "confidence"),
    "budget": ("epsilon", "delta"),
    "noise": ("noise", "method", "allow_no_noise"),
}
"""Keys that a new file shows, as a comment where nothing is chosen."""
_LIKE: dict[str, Any] = {
    "table": "today.csv", "name": "visits", "ledger": "ledger.db", "output": "published.csv", "publish": "chol",
    "query": "mean(chol)", "bins": 20, "missing": "drop", "unit": "patient", "protect": "smoker",
    "pairs": "all", "prior": "empirical", "confidence": 0.95, "delta": 0.001, "noise": "best", "method": "best",
    "clip": [0, 100], "round": 1, "allow_no_noise": True, "epsilon": 0.5, "reference": "reference.csv", "rows": 300,
}  # fmt: skip


def scenario_text(
    head: str, chosen: Mapping[str, Mapping[str, Any]], why: Mapping[str, str], schema: str, examples: bool
) -> str:
    """The file: `head` as a comment, what is `chosen` by section and key with the reasons `why`, then `schema`.

    `examples`: whether keys that were not chosen are shown as comments."""
    lines = [*_comment(head), ""]
    for section, keys in SECTIONS.items():
        said = chosen.get(section, {})
        shown = [key for key in keys if key in said or (examples and key in _ALWAYS.get(section, ()))]
        if not shown:
            continue
        lines.append(f"[{section}]")
        for key in shown:
            lines += _comment(" ".join(part for part in (WORDS.get(key, ""), why.get(key, "")) if part))
            lines.append(f"{key} = {value_text(said[key])}" if key in said else f"# {key} = {value_text(_LIKE[key])}")
        lines.append("")
    return "\n".join(lines) + schema


def _comment(text: str) -> list[str]:
    """A text as lines of comment."""
    return [f"# {line}" for part in text.splitlines() for line in textwrap.wrap(part, 116)] if text else []
