"""`fugu influence`, `fugu field`: how much the entries of sequences and fields say about each other, and its price."""

from __future__ import annotations

import csv
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import fugu
from fugu.cli.asking import asks
from fugu.cli.console import escape, grid, out, print_json, progress
from fugu.data.layout import MODELLED
from fugu.data.sequences import Timed, declared_states, spacing
from fugu.errors import UsageError
from fugu.files import check_apart
from fugu.guarantee import ZCDP, Approx
from fugu.numbers.exact import Real, as_fraction, float_down, read_number
from fugu.priors.gaussian_field import FieldInfluence, GaussianField
from fugu.progress import report, stage
from fugu.queries.sequence_prior import Chain, believed, chain_json, steps_of
from fugu.question import Question
from fugu.releasing import options
from fugu.releasing.sequence_route import EntryColumns, columns_of, stated_chain, unprotected
from fugu.visible import several

_USUAL, _FEW = 0.95, 12
"""The confidence that is shown beside a chain that was fitted without one, and up to how many declared states."""
_AT = (1, 2, 3, 5, 8, 12, 20, 35, 60, 100)


def influence(question: Question, plot: str | None, as_json: bool) -> None:
    """The influence curve of a chain fitted on the reference, and what each entry may cost."""
    table, smoothing, start, length = str(question.reference), question.smoothing, question.start, question.length
    asked, level = options.positive("epsilon", question.epsilon), options.confidence(question.confidence, smoothing)
    if plot is not None:
        check_apart(plot, table, question.schema)
    with progress():
        stage("reading the sequences")
        wanted = columns_of(question)
        by_hand = stated_chain(question)
        known, told_before = wanted.timed(table if by_hand is None else wanted.stand_in(by_hand))[1], wanted.told
        stage("fitting the chain")
        modelled = told_before.sequence.gaps == MODELLED and length is None and level is None
        steps = steps_of(known.plan, known.sequences) if modelled else None
        chain: Chain = by_hand or believed(known, told_before, wanted.state, smoothing, length, start, level, steps)
        written = chain_json(chain)
        beside = _beside(wanted, known, length, start, asked) if not (by_hand or level or smoothing) else None
        stage("the curve of influence")
        curve = fugu.influence(chain)
        at = (*(b for b in _AT if b < chain.length), chain.length)
        points = []
        for place, b in enumerate(at):
            report("entries set aside", place, len(at))
            points.append((b, curve(b)))
        report("entries set aside", len(at), len(at))
        stage("the largest epsilon for each entry")
        best = fugu.dp_budget(chain, asked)
        group = as_fraction(asked) / chain.length
    told: dict[str, Any] = {
        "users": 0 if by_hand else len(known.sequences), "states": list(chain.states), "length": chain.length,
        "smoothing": smoothing,
        "start": written["initial"], "forbidden transitions": written["forbidden transitions"],
        **({"confidence": written["confidence"]["confidence"]} if "confidence" in written else {}),
        "skipped": list(chain.skipped), "influence": [{"b": b, "a": a} for b, a in points], "epsilon": float(asked),
        "epsilon per entry": {
            "best rule": best, "group": float_down(group),
            **({} if beside is None else {f"with confidence {_USUAL:g}": beside}),
        },
        "assumptions": [*chain.assumptions, *told_before.sequence.sentences(), *spacing(known.plan)],
    }  # fmt: skip
    if plot is not None:
        from fugu.report import write
        from fugu.report.page import influence_page

        write(plot, influence_page(points, f"{chain.size} states, length {chain.length}"))
        told["plot"] = plot
    if as_json:
        print_json(told)
    else:
        _show(told, group)


def _beside(columns: EntryColumns, known: Timed, length: int | None, start: str, asked: Real) -> float | str | None:
    """The same budget for every chain that the reference does not rule out; or why it is not known; None if no states
    were declared, which limits need, or too many to do unasked."""
    told = columns.told
    declared = declared_states(told, columns.state)
    if not declared or len(declared) > _FEW:
        return None
    try:
        return fugu.dp_budget(believed(known, told, columns.state, 0.0, length, start, _USUAL), asked)
    except UsageError as error:
        return f"not worked out, because {error}"


def _show(told: dict[str, Any], group: Fraction) -> None:
    """Influences are shown rounded up, budgets rounded down."""
    names = [str(name) for name in told["states"]]
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    sure = ""
    if "confidence" in told:
        level = float(Fraction(told["confidence"]))
        sure = f"; every chain between limits that hold the truth with confidence {level:.10g} over the draw of SEQ"
    whose = f"{told['users']} users" if told["users"] else "stated by hand"
    out.print(
        f"{whose}; {several(len(names), 'state')} ({escape(listed)}); length {told['length']}; "
        f"{told['forbidden transitions']} of {len(names) ** 2} transitions forbidden; smoothing {told['smoothing']:g}; "
        f"{told['start'] if isinstance(told['start'], str) else 'fitted' if told['users'] else 'stated'} start{sure}"
        f"{escape(unprotected(told['skipped']))}",
        soft_wrap=True,
    )
    rows = [(str(point["b"]), shown(point["a"], ROUND_CEILING)) for point in told["influence"]]
    out.print(grid(None, ("entries set aside, b", "influence of the others, a(b)"), rows=rows))
    best = told["epsilon per entry"]["best rule"]
    out.print(
        f"for epsilon {told['epsilon']:g}: {shown(best, ROUND_FLOOR)} for each entry by the best rule; "
        f"{shown(group, ROUND_FLOOR)} by the group bound epsilon / {told['length']}",
        soft_wrap=True,
    )
    for line in told["assumptions"]:
        if line.startswith("Gaps in time"):
            out.print(escape(line), soft_wrap=True)
    if (beside := told["epsilon per entry"].get(f"with confidence {_USUAL:g}")) is not None:
        found = beside if isinstance(beside, str) else f"{shown(beside, ROUND_FLOOR)} for each entry"
        out.print(
            "that is for the fitted chain; for every chain that SEQ does not rule out "
            f"(--confidence {_USUAL:g}): {escape(found)}",
            soft_wrap=True,
        )


def shown(number: Real, rounding: str) -> str:
    """Six digits, rounded to the safe side: influences and losses up, budgets down."""
    if isinstance(number, float) and not math.isfinite(number):
        return "inf"
    exact = as_fraction(number)
    digits = Context(prec=6, rounding=rounding).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return f"{digits.normalize():g}"


_DELTA = "1e-6"


@asks(argument="covariance", metavar="COV.csv")
def field(
    covariance: str | None = None, width: str = "", ar1: str | None = None, entries: int = 0, variance: str = "1",
    rho: str | None = None, budget: str | None = None, epsilon: str | None = None, delta: str = _DELTA,
    as_json: bool = False,
) -> None:  # fmt: skip
    """Jointly normal entries: what they say about each other, what RHO is worth, and what keeps a budget."""
    if not width:
        raise UsageError("give --width, in the units of the entries: two values at most so far apart must look alike")
    slip = options.positive("delta", delta)
    with progress():
        stage("reading the field")
        prior = _field(covariance, ar1, entries, variance, options.positive("width", width))
        stage("what the entries say of each other")
        curve = fugu.influence(prior)
        assert isinstance(curve, FieldInfluence)
        points = [(b, curve.rho(b)) for b in (*(b for b in _AT[:8] if b < prior.size), prior.size)]
        told: dict[str, Any] = {
            "entries": prior.size,
            "width": float(prior.wide()),
            "influence": [{"b": b, "rho": r} for b, r in points],
            "assumptions": list(prior.assumptions),
        }
        if rho is not None:
            stage("what the release is worth")
            worth = fugu.translate(prior, ZCDP(options.positive("rho", rho)))
            told["worth"] = {"rho per entry": rho, "worth": worth, "approximately": worth.to_approx(slip)}
        if budget is not None and epsilon is not None:
            raise UsageError("give --budget, a rho, or --epsilon with --delta, not both")
        asked: ZCDP | Approx | None = None if budget is None else ZCDP(options.positive("budget", budget))
        if epsilon is not None:
            asked = Approx(options.positive("epsilon", epsilon), slip)
        if asked is not None:
            stage("the largest rho for each entry")
            told["kept"] = {"budget": asked, "rho per entry": float(fugu.dp_budget(prior, asked).rho)}
    if as_json:
        print_json(told)
    else:
        _show_field(told)


def _field(path: str | None, ar1: str | None, entries: int, variance: str, width: Any) -> GaussianField:
    """The field of the file, or the sequence that was described."""
    if (path is None) == (ar1 is None):
        raise UsageError("give COV.csv, or --ar1 with --entries")
    if ar1 is not None:
        if entries < 1:
            raise UsageError("--ar1 needs --entries, how many entries there are")
        return GaussianField.ar1(entries, options.number("ar1", ar1), options.positive("variance", variance), width)
    if not Path(str(path)).is_file():
        raise UsageError(f"there is no file {path!r}")
    with Path(str(path)).open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row]
    try:
        return GaussianField([[read_number(cell.strip()) for cell in row] for row in rows], width)
    except (ValueError, TypeError):
        raise UsageError(f"{path!r} must hold a square table of numbers, without names") from None


def _show_field(told: dict[str, Any]) -> None:
    """What is learnt is shown rounded up, what may be spent rounded down."""
    out.print(f"{told['entries']} entries; values of an entry that are at most {told['width']:g} apart must look alike")
    rows = [(str(point["b"]), shown(point["rho"], ROUND_CEILING)) for point in told["influence"]]
    out.print(grid(None, ("entries set aside, b", "what the others say, rho(b)"), rows=rows))
    if "worth" in told:
        found, odds = told["worth"]["worth"], told["worth"]["approximately"]
        out.print(
            f"rho {told['worth']['rho per entry']} for each entry is worth rho {shown(found.rho, ROUND_CEILING)}: "
            f"epsilon {shown(odds.epsilon, ROUND_CEILING)} at delta {float(odds.delta):g}",
            soft_wrap=True,
        )
    if "kept" in told:
        kept = shown(told["kept"]["rho per entry"], ROUND_FLOOR)
        out.print(f"to keep {told['kept']['budget']!r}: rho {kept} for each entry, of all releases together")
