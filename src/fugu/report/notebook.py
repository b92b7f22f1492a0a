"""What notebooks show of each object: its sheet, with what its `plot()` draws (`fugu.shown.VIEWS`).

Only what may be seen: laws that were fitted on the private table itself (`public_prior=True`) are exact numbers of it,
and notebooks are handed on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from fugu.auditing.outcome import AttackReport, Audit
from fugu.calibration.comparison import Comparison
from fugu.checking.check import HEAD, OUTSIDE, OWNER, Check
from fugu.data.uses import HEAD as USED
from fugu.data.uses import Description
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.promises import promise_lines
from fugu.drawing.axis import Axis
from fugu.drawing.charts import Chart, Figure, Panel
from fugu.drawing.marks import Html, Line, joined, tag
from fugu.drawing.plots import bars, curve, intervals, laws, level_bars
from fugu.errors import BadNoise, UsageError
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import both, called_exact, in_odds, odds_of, promise
from fugu.guarantee.curve import Guarantee
from fugu.laws.discrete import Discrete
from fugu.laws.normal import Normal, NormalMixture
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.release import Release, SequenceAnswer
from fugu.numbers.text import clean, factor, number
from fugu.priors.gaussian_field import FieldInfluence
from fugu.priors.prior import InfluenceCurve
from fugu.queries.answer import Answer, SessionAnswer, columns_of
from fugu.queries.kinds import Cell as Number
from fugu.queries.statistic import EXACT
from fugu.question import RECORDS
from fugu.scenario.scenario import Scenario
from fugu.shown import Shown
from fugu.training.utility import Assessment
from fugu.utility.usable import Usable
from fugu.visible import brief, several

MOST = 30
"""Lines of a table that are shown; it says how many there are."""
_LONG = 200
_LEFT, _CELL = "text-align: left; padding: .15rem .7rem .15rem 0; vertical-align: top", "padding: .15rem .7rem .15rem 0"
_LOUD = "border-left: .25rem solid #8a2c00; padding-left: .6rem"
Cell = str | float | int | bool | None


@final
@dataclass(frozen=True)
class Sheet:
    """`title`: what it is. `facts`: (name, what is said of it). `head`, `rows`: a table. `notes`: remarks below.
    `warnings`: what must not be overlooked. `plot`: what draws the figure of the same thing, where it has one.
    `promise`: what is to be quoted of it, above all else."""

    title: str
    facts: Sequence[tuple[str, Cell]] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    plot: Callable[[], Any] | None = None
    promise: Sequence[str] = ()

    def html(self) -> Html:
        """A block of HTML without scripts, links, or style for anything around it.

        >>> Sheet("Laws", [("secret", "<script>")]).html().count("<script>")
        0
        """
        parts = [tag("div", tag("b", clean(self.title, _LONG)))]
        parts += [tag("p", tag("b", clean(text, 2 * _LONG))) for text in self.promise]
        parts += [tag("p", clean(text, 2 * _LONG), style=_LOUD) for text in self.warnings]
        if self.facts:
            lines = [tag("tr", tag("th", clean(name), scope="row", style=_LEFT), tag("td", shown(said), style=_LEFT))
                     for name, said in self.facts]  # fmt: skip
            parts.append(tag("table", tag("tbody", lines)))
        if self.head:
            columns = tag("tr", [tag("th", clean(name), scope="col", style=_LEFT) for name in self.head])
            rows = (
                [tag("td", shown(cell), style=_LEFT if isinstance(cell, str) else _CELL) for cell in line]
                for line in self.rows[:MOST]
            )
            parts.append(tag("table", tag("thead", columns), tag("tbody", [tag("tr", row) for row in rows])))
            if (more := len(self.rows) - MOST) > 0:
                parts.append(tag("p", tag("small", f"and {more} more; to_frame() or columns() has all")))
        parts += [tag("p", tag("small", clean(text, 2 * _LONG))) for text in self.notes]
        return joined(tag("div", "\n".join(["", ""]), parts, class_="fugu"))


def shown(cell: Cell) -> str:
    """A cell as text: numbers in six digits, truth values as words, nothing where nothing is known.

    >>> [shown(x) for x in (0.123456789, True, None, float("nan"), "a  b", 3)]
    ['0.123457', 'yes', '', '', 'a b', '3']
    """
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return clean(cell, _LONG) if isinstance(cell, str) else f"{cell:.6g}"


_ROWS = 5
"""Rows of a release that are shown."""
_GRID = 400
"""Points of a density."""
_OWN = "the law in the private table itself, not shown"
_BOUNDS = "low and high: the exact number lies between them with 95 %"
_INFLUENCE = "How much the other entries say about one, once b entries around it are set aside"
Facts = list[tuple[str, Cell]]


def said(thing: Shown) -> Sheet:
    """What an object says in JSON: names and numbers, and its rows as a table."""
    told, rows = thing.to_json(), []
    for name, part in list(told.items()):
        listed = [{name: key, **row} for key, row in part.items()] if isinstance(part, dict) else part
        if isinstance(listed, list) and any(isinstance(row, dict) for row in listed):
            rows, _ = listed, told.pop(name)
    head = tuple(dict.fromkeys(name for row in rows for name in row))
    facts = [(name, _brief(part)) for name, part in told.items() if part not in (None, "", [], {})]
    return Sheet(type(thing).__name__, facts, head, [[_brief(row.get(name)) for name in head] for row in rows])


def _brief(part: Any) -> Cell:
    return ", ".join(map(str, part)) if isinstance(part, list | tuple) else part


def guarantee(promised: Guarantee) -> Sheet:
    """What two secrets, or any two records, may differ by; drawn is what it lets anybody learn."""
    odds = odds_of(promised)
    said = [("outputs differ by", in_odds(promised) or "no finite factor")]
    return Sheet(type(promised).__name__, said, plot=lambda: odds_figure(float(odds.epsilon), float(odds.delta)))


def usable(found: Usable) -> Sheet:
    """Figures, verdict, and what would help."""
    return Sheet("How usable it is", list(found.lines()), notes=[f"on {found.basis}"] if found.basis else [])


def scenario(asked: Scenario) -> Sheet:
    """What is secret, how many pairs must look alike, and what is taken for granted."""
    facts: Facts = [] if asked.query is None else [("published", asked.query.publish)]
    facts += [] if asked.unit is None else [("one row for each", asked.unit)]
    facts += [("secrets", len(asked.secrets)), ("pairs that must look alike", len(asked.law_pairs()))]
    many = len(asked.adversaries) > 1
    rows = [
        (f"adversary {i}: {secret}" if many else secret,
         _OWN if asked.public_prior
         else f"{len(law.values)} values, mean {float(law.mean()):.6g}, standard deviation {law.std():.6g}"
         if isinstance(law, Discrete) and law.dimension == 1 else repr(law))
        for i, beliefs in enumerate(asked.adversaries, start=1)
        for secret, law in beliefs.items()
    ]  # fmt: skip
    notes = [f"left out: {secret}: {why}" for secret, why in asked.report.skipped]
    notes += [f"assumed: {text}" for text in asked.assumptions]
    head = ("secret", "what is believed of the published value")
    return Sheet("Scenario", facts, head, rows, notes, plot=lambda: _believed_figure(asked))


def _believed_figure(asked: Scenario) -> Figure:
    """The laws of the first adversary, before any noise."""
    if asked.public_prior:
        raise UsageError("the beliefs are the table's own counts: a figure of them would show exact numbers of it")
    beliefs = asked.adversaries[0]
    smooth = {
        secret: [(float(w), float(m), float(s)) for w, m, s in law.parts()]
        for secret, law in beliefs.items()
        if isinstance(law, Normal | NormalMixture)
    }
    drawn = [
        (secret, law.values.tolist(), law.weights.tolist())
        for secret, law in beliefs.items()
        if isinstance(law, Discrete) and law.dimension == 1 and not smooth
    ]
    if smooth:
        ends = [(m - 4 * s, m + 4 * s) for parts in smooth.values() for _, m, s in parts]
        grid = np.linspace(min(low for low, _ in ends), max(high for _, high in ends), _GRID)
        for secret, parts in smooth.items():
            bells = [w * np.exp(-0.5 * ((grid - m) / s) ** 2) / (s * math.sqrt(2 * math.pi)) for w, m, s in parts]
            drawn.append((secret, grid.tolist(), np.sum(bells, axis=0).tolist()))
    if len(drawn) < len(beliefs):
        raise UsageError("laws of vectors, shifts and sets of laws have no picture here; fugu.publish writes a page")
    value = "the published value" if asked.query is None else asked.query.publish
    title = f"What is believed of {value}, given each secret, before any noise"
    return laws(title, value, drawn, "density" if smooth else "probability")


def comparison(methods: Comparison) -> Sheet:
    """Every method, ordinary differential privacy last, the one that is taken with a star."""
    head = ("method", "noise", "scale", "E|error|", "E error²", "true epsilon", "proven", "note")
    best = methods._taken
    rows = [
        (f"{r.method} ★" if r is best else r.method, r.noise, r.scale, r.expected_absolute, r.expected_squared,
         r.epsilon, r.proven, r.note if r.proven else r.note or r.why)
        for r in (*methods.rows, *methods.beside, *methods.ordinary)
    ]  # fmt: skip
    notes = (["★: what calibrate takes"] if best else []) + ([f"usable: {methods.basis}"] if methods.basis else [])
    sizes = [
        (f"{r.method}, {r.noise}" + (" ★" if r is best else ""), r.expected_absolute, r is best)
        for r in (*methods.rows, *methods.beside, *methods.ordinary)
        if r.proven or r in methods.ordinary
    ]
    title = f"How far the noise of each method moves a published value on average, for {methods.budget!r}"
    axis = "average error, in units of the published value"
    return Sheet(
        f"Comparison for {methods.budget!r}", [("verdict", methods.verdict)], head, rows, notes,
        plot=lambda: bars(title, axis, sizes), promise=methods.quoted,
    )  # fmt: skip


def mechanism(ready: Mechanism) -> Sheet:
    """What is promised, what it publishes, and how large its errors are."""
    certificate, query, half = ready.certificate, ready.context.query, f"{ready.interval(0.95)[1]:.6g}"
    published = "a published value" if query is None else f"a value of {query['publish']}"
    facts: Facts = [
        ("publishes", published), ("method", certificate.method),
        ("average error", ready.expected_error()), ("error with 95 %", f"within {half}"),
        ("worst pair", certificate.worst_pair),
    ]  # fmt: skip
    bare = ready.noise.silent or certificate.exact
    silent = ["the exact value would go out: say allow_no_noise=True"] if bare else []
    levels = [0.05 * k for k in range(1, 20)] + [0.96, 0.97, 0.98, 0.99]
    return Sheet(
        f"Mechanism: {repr(ready).split('(')[0]}", facts, notes=[f"why: {certificate.theorem}"],
        warnings=[*certificate.warnings, *silent],
        plot=lambda: curve(
            f"How far the noise moves {published}, for {ready.guarantee!r}", f"With 95 % it lies within {half} of it.",
            [(level, ready.interval(level)[1]) for level in levels], "probability", "error at most",
        ),
        promise=certificate.quoted(),
    )  # fmt: skip


def release(out: Release) -> Sheet:
    """The first rows, how far they may be off, and what is promised."""
    columns = out.columns()
    names = out.values.dtype.kind == "U"
    facts: Facts = [("published", f"{several(len(out.values), 'row')} of {', '.join(columns)}")]
    facts += [] if names else [("error with 95 %", f"within {out.interval[1]:.6g}")]
    rows = list(zip(*(np.asarray(column).tolist()[:_ROWS] for column in columns.values()), strict=True))
    rest = [f"the first {_ROWS} of {several(len(out.values), 'row')}"] if len(out.values) > _ROWS else []
    notes = [*rest, *filter(None, [out.note])]
    warnings = out.certificate.warnings
    return Sheet("Release", facts, tuple(columns), rows, notes, warnings, lambda: _released_figure(out),
                 out.certificate.quoted())  # fmt: skip


def _released_figure(out: Release) -> Figure:
    """How often each published value, or range of values, occurs."""
    if out.values.dtype.kind == "U":
        raise UsageError("published names have no axis; count them, for instance with collections.Counter")
    drawn, columns = [], out.columns()
    for name, column in columns.items():
        counts, edges = np.histogram(np.asarray(column, dtype=np.float64), bins=min(40, max(1, len(out.values))))
        drawn.append((name, ((edges[:-1] + edges[1:]) / 2).tolist(), counts.tolist()))
    half = out.interval[1]
    title = f"The {len(out.values)} published values; each is within {half:.6g} of the exact one with 95 %"
    return laws(title, next(iter(columns)), drawn, "rows")


def document(sealed: Document) -> Sheet:
    """What kind it is, and that nothing it says is believed."""
    facts = [(name, str(sealed.body[name])) for name in ("schema", "kind", "digest") if name in sealed.body]
    notes = ["nothing it says is believed: fugu.verify proves it again"]
    return Sheet(type(sealed).__name__, facts, notes=notes, promise=promise_lines(sealed))


def certificate(sealed: Certificate) -> Sheet:
    """What is promised, what runs, and why it holds."""
    facts = [
        ("what runs", sealed.runs), ("method", sealed.method),
        ("worst pair", sealed.worst_pair), ("unit of privacy", str(sealed.body["unit"])), ("why", sealed.theorem),
        ("digest", str(sealed.body["digest"])),
    ]  # fmt: skip
    notes = [*(f"assumed: {text}" for text in sealed.assumptions), "fugu.verify proves it again, and believes nothing"]
    return Sheet(
        "Certificate", facts, notes=notes, warnings=sealed.warnings, plot=sealed.budget.plot, promise=sealed.quoted()
    )


def odds_figure(epsilon: float, delta: float) -> Figure:
    """What somebody may come to believe, against what was believed: odds move by e^epsilon at most, both ways."""
    if not math.isfinite(epsilon):
        raise UsageError("there is nothing to draw: no finite epsilon is promised")
    before = [k / 100 for k in range(101)]
    most = [1.0 if p == 1 else p / (p + (1 - p) * math.exp(-epsilon)) for p in before]
    least = [1 - x for x in reversed(most)]
    marks = (
        Line(tuple(before), tuple(most), "a", "at most"), Line(tuple(before), tuple(least), "b", "at least"),
        Line((0.0, 1.0), (0.0, 1.0), "mark", "nothing learnt"),
    )  # fmt: skip
    slack = "" if not delta else f", but for a chance of {number(delta, 'up')}"
    title = f"What the release can teach about two secrets: odds change by a factor of {factor(epsilon)} at most{slack}"
    half = most[50]
    about = (
        f"Whoever thinks one of two secrets is as likely as the other believes at most {number(half, 'up')} after it."
    )
    axes = Axis("probability of a secret before the release", 0.0, 1.0), Axis("after it", 0.0, 1.0)
    return Chart("odds", title, about, (Panel(marks, *axes, 300.0),))


def answer(out: Answer) -> Sheet:
    """Every released number with its interval."""
    facts: Facts = [("asked", str(out.statistic))]
    loud = dict.fromkeys(text for mechanism in out.mechanisms.values() for text in mechanism.certificate.warnings)
    return _numbers(out.cells, facts, out.note, tuple(loud), str(out.statistic), out.quoted)


def session_answer(out: SessionAnswer) -> Sheet:
    """Every released number with its interval, the promise of all answers so far, and what is left."""
    left = plain(max(exact(out.cap.epsilon) - exact(out.anybody.epsilon), Fraction(0)))
    facts: Facts = [("asked", str(out.question)), ("share, price", both(out.cost, out.own)),
                    ("left", both(out.remaining, left))]  # fmt: skip
    facts += [("verdict", out.usable.verdict)] if out.usable.figures else []
    loud = (called_exact(out.exact),) if out.exact > EXACT else ()
    return _numbers(out.cells, facts, out.note, loud, str(out.question), out.quoted)


def _numbers(
    cells: tuple[Number, ...], facts: Facts, note: str, loud: Sequence[str], asked: str, promise: Sequence[str]
) -> Sheet:
    """Every number; drawn in the interval that holds the exact one with 95 %, or, without one (a quantile), alone."""
    columns = columns_of(cells)
    rows = list(zip(*columns.values(), strict=True))
    known = [cell for cell in cells if math.isfinite(cell.value)]
    names = [", ".join(filter(None, (cell.group, cell.cell))) or asked for cell in known]
    ends = [(c.value, c.value) if math.isnan(c.low) else (c.low, c.high) for c in known]
    title = f"{asked}: published values, each with an interval for the exact one"
    return Sheet("Answer", facts, tuple(columns), rows, [_BOUNDS, *filter(None, [note])], loud,
                 lambda: intervals(title, asked, names, [cell.value for cell in known], ends), promise)  # fmt: skip


def sequence_answer(out: SequenceAnswer) -> Sheet:
    """The released parts; the price of one entry is what it costs by itself."""
    facts: Facts = [("price of one entry", promise(out.guarantee))]
    if out.interval is not None:
        facts.append(("error with 95 %", f"within {out.interval[1]:.6g}, all parts together"))
    loud = out.certificate.exact_values
    title, drawn = "Answer about sequences", lambda: _entries_figure(out)
    if out.interval is None or out.labels is None:
        facts.insert(0, ("value", brief(out.value, 200)))
        return Sheet(title, facts, warnings=loud, plot=drawn, promise=out.certificate.quoted())
    rows = [(str(label), value) for label, value in out.table().items()]
    return Sheet(title, facts, ("part", "value"), rows, (), loud, drawn, out.certificate.quoted())


def _entries_figure(out: SequenceAnswer) -> Figure:
    """The released numbers in their 95 % intervals."""
    if out.interval is None:
        raise BadNoise("a selection has no number and no interval; read its value")
    values = np.asarray(out.value, dtype=np.float64).ravel().tolist()
    low, high = out.interval
    names = [f"part {k + 1}" for k in range(len(values))] if out.labels is None else list(map(str, out.labels))
    title = "Published answer about sequences, with 95 % for all parts together"
    return intervals(title, "value", names, values, [(x + low, x + high) for x in values])


def check(owned: Check) -> Sheet:
    """How a private table was read, for its owner's eyes."""
    rules = [row.rule for row in owned.rows if row.rule and (row.missing or row.unreadable or row.unknown)]
    facts: Facts = [(RECORDS, owned.records), ("marked", OWNER)]
    return Sheet("Check", facts, HEAD, owned.cells(), [*owned.causes, *rules, OUTSIDE], owned.alarms)


def description(seen: Description) -> Sheet:
    """What the columns of a reference may be used for, and why not."""
    reasons = [f"{use}: {why}" for use, why in seen.reasons()]
    return Sheet("What each column may be used for", [(RECORDS, seen.records)], USED, seen.cells(), reasons)


def assessment(scores: Assessment) -> Sheet:
    """Scores of a model beside those of the constant guess."""
    facts: Facts = [(scores.measure, scores.score), ("constant guess", scores.constant)]
    facts += [] if scores.auc is None else [("AUC (a constant guess has 0.5)", scores.auc)]
    facts.append(("public rows", scores.rows))
    return Sheet("Assessment", facts, warnings=[scores.verdict] if scores.verdict else [])


def attacks(found: AttackReport) -> Sheet:
    """What each attack reaches, beside what is promised."""
    promised = "nothing is known" if found.guarantee is None else promise(found.guarantee)
    facts: Facts = [("promised", promised), ("confidence", f"{float(found.confidence):.10g}")]
    facts.append(("test outputs", found.test))
    head = ("attack", "accuracy", "true positives", "false positives", "epsilon, at least", "note")
    rows = [(a.attack, a.accuracy, a.tpr, a.fpr, a.epsilon_lower, a.note) for a in found.attempts]
    limit = None if found.epsilon is None else float(found.epsilon)
    names, shown = [a.attack for a in found.attempts], [a.epsilon_lower for a in found.attempts]
    title = "The least epsilon that each attack leaves possible"
    return Sheet("Attacks", facts, head, rows, ["a bound below what is promised proves nothing"],
                 plot=lambda: level_bars(title, "epsilon", names, shown, limit, "promised"))  # fmt: skip


def audit(outcome: Audit) -> Sheet:
    """What an attack on the release path reaches, beside what is proved."""
    names = ("attacked", "due from so many draws", "at best")
    title = f"What an attack of {outcome.draws} draws shows of epsilon, below what is proved"
    return Sheet(
        "Audit", outcome.rows(), notes=[outcome.verdict], warnings=() if outcome.clean else (outcome.verdict,),
        promise=outcome.quoted,
        plot=lambda: level_bars(
            title, "epsilon", names, (outcome.epsilon_lower, outcome.reach, outcome.ceiling), float(outcome.epsilon),
            "proved",
        ),
    )  # fmt: skip


def influence(bound: InfluenceCurve) -> Sheet:
    """a(b), or of a field rho(b) in zCDP, as a table; drawn is its finite part."""
    if isinstance(bound, FieldInfluence):
        about = f"In zCDP: an upper bound on the Rényi divergence over its order, 0 from {bound.length} entries on."
        title, points, head = "Influence in a field", bound.rhos, "rho, at most"
        axes = ("entries set aside, b", "what the others say, rho(b)")
    else:
        about = f"An upper bound, which is 0 from {bound.length} entries on."
        title, points, head = "Influence curve", bound.points, "influence, at most"
        axes = ("entries set aside, b (each mark is a multiple of the one before)", "influence of the others, a(b)")
    return Sheet(
        title, [("entries", bound.length)], ("entries set aside", head), [(str(b), a) for b, a in points],
        plot=lambda: curve(_INFLUENCE, about, points, *axes, log=True),
    )  # fmt: skip
