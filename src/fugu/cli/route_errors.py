"""`fugu compare --query`: both routes and ordinary differential privacy, with their expected errors."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table as Rich

from fugu.cli import options
from fugu.cli.console import escape, out, print_json, progress, say, usable_table
from fugu.cli.questions import questions_of, show_plan, split, weights_of
from fugu.data import Schema
from fugu.guarantee.promises import both
from fugu.queries.statistic import Question
from fugu.utility.rows import GROUPS, RowsFor
from fugu.utility.usable import Usable

_BASIS, _CHOICES = "the reference, on the records route", "the questions are answered by choices"
_ROUTES = (
    "records: all questions together, and more can be asked later; law: each alone, and nothing else may be released "
    "of the table; plain: ordinary differential privacy for all of them together, which uses no beliefs"
)


def compare_statistics(
    table: str, query: str, by: str | None, bounds: str | None, step: str | None, bins: str | None, protect: str,
    epsilon: str, weights: str | None, unit: str | None, schema: Schema | None, as_json: bool,
    cap: str | None = None, rows: int | None = None,
) -> None:  # fmt: skip
    """Show the expected error of every question on each route, for the declared rows; TABLE is the reference."""
    from fugu.session.books import FOLD
    from fugu.session.comparing import compare_routes

    questions = questions_of(split(query), by, bounds, step, bins)
    plan = [str(question["query"]) for question in questions]
    show_plan(plan, query, as_json)
    allowed = options.positive("--epsilon", epsilon)
    most = FOLD * allowed if cap is None else options.positive("--cap", cap)
    with progress():
        known = (schema or Schema({})).open(table)
        size = RowsFor(rows, len(known))
        found = compare_routes(
            known, questions, protect, allowed, weights_of(weights, questions), schema=schema, unit=unit, cap=most,
            rows=rows,
        )  # fmt: skip
    by_group = any(Question.parse(text).by is not None for text in plan)
    basis = f"{size}; {GROUPS}" if by_group else str(size)
    usable = Usable(tuple(x for one in found for x in one.figures), _BASIS, why=_CHOICES)
    if as_json:
        told = [{**asdict(one), "gain": one.gain, "figures": [x.to_json() for x in one.figures]} for one in found]
        said = {"plan": plan, "epsilon": float(allowed), "cap": float(most), "rows": size.number, "basis": basis}
        print_json({**said, "questions": told, "usable": usable.to_json()})
        return
    title = escape(f"Expected error at {both(allowed, most)}, {size}")
    shown = Rich(title=title, title_justify="left", header_style="bold")
    for name in ("question", "records", "law", "plain DP", "less noise", "in"):
        shown.add_column(name, justify="left" if name in ("question", "in") else "right")
    for one in found:
        law = "-" if one.law is None else f"{one.law:.4g}"
        shown.add_row(
            escape(one.query), f"{one.records:.4g}", law, f"{one.plain:.4g}", f"{one.gain:.3g} x", escape(one.unit)
        )
    out.print(shown)
    out.print(usable_table(usable))
    say(basis)
    say(_ROUTES)
    for why in dict.fromkeys(one.why for one in found if one.why):
        say(why)
