"""Many statistics of one table of independent records, under one budget."""

from __future__ import annotations

from collections.abc import Iterable

from fugu.documents.records import RecordsCertificate
from fugu.drawing.html import Html, tag
from fugu.drawing.text import clean, epsilon, factor, least, number
from fugu.guarantee import Pure
from fugu.guarantee.promises import PUBLIC
from fugu.queries.noised import FLIP, LAPLACE, Noised
from fugu.queries.session_certificate import exact_numbers, noised_in
from fugu.report.kinds.promise import Promise, told
from fugu.report.kinds.registry import Said, page_of
from fugu.report.sections.usable import shown
from fugu.report.shell import listed, row, stacked
from fugu.telling.records import question_told
from fugu.telling.usefulness import usable_of_records
from fugu.visible import several

_MOST = 60
_BELIEVED = (
    "Somebody who believes what the reference says of one record looks at all answers, one after the other, and may "
    "have chosen each question by the answers before. Whatever they took the odds of one secret against another to be, "
    "afterwards these odds are at most {most} times as large, and at least {least} times as large. The other records "
    "may be anything, even known."
)
_WHATEVER = (
    "If the beliefs are wrong altogether, and records are still independent, the odds change by at most a factor of "
    "{factor} ({epsilon}): the sum of what the questions cost by themselves."
)


@page_of("records")
def of_records(certificate: RecordsCertificate, said: Said) -> Iterable[Html | None]:
    """Both promises, what is spent, and every question with its noise."""
    budget = Pure(certificate.budget.epsilon)
    most, spent, anybody = (float(x) for x in (budget.epsilon, certificate.spent, certificate.any_belief))
    rows = sum(kind.rows for kind in certificate.types)
    plain_rows = sum(kind.rows for kind in certificate.types if kind.plain)
    parts = told(
        Promise(
            certificate,
            said.title,
            f"{several(len(certificate.questions), 'question')} about one table, answered with randomness. All answers "
            "together can change the odds between two protected answers about any one record by at most a factor of "
            f"{factor(spent)} ({epsilon(spent)}), for observers who hold the stated beliefs.",
            certificate.believed,
            "one record",
            (
                _BELIEVED.format(most=factor(spent), least=least(spent)),
                _WHATEVER.format(factor=factor(anybody), epsilon=epsilon(anybody)),
                *(f"{text}." for text in exact_numbers(noised_in(certificate))),
            ),
            (
                (number(most - spent, "down", 4), f"epsilon left of {number(most, 'up', 6)}"),
                (f"× {factor(anybody)}", "most that the odds can change, whatever is believed of one record"),
            ),
            ("Noise was drawn for every answer; these are all questions.",),
            (("Questions", questions_table(certificate)),),
            (
                ("Who is protected", f"each record's secret, every two of: {_names(certificate['secrets'])}"),
                (
                    "Not protected",
                    listed([clean(x, 200) for x in certificate["skipped"][:50]]) if certificate["skipped"] else None,
                ),
                (
                    "Records",
                    f"{rows:,}, of which {plain_rows:,} with no belief used, since the reference is too thin"
                    if plain_rows
                    else f"{rows:,}",
                ),
                ("Laws", f"{len(certificate.laws)}; proofs: {len(certificate.steps)}"),
                ("Public numbers", public_numbers(certificate)),
                ("Spent", f"ε ≤ {number(spent, 'up', 10)} of {number(most, 'up', 10)}"),
                ("Against anybody", f"ε ≤ {number(anybody, 'up', 10)}{_cap(certificate)}"),
            ),
            tuple(str(line) for line in certificate["assumptions"]),
            "The certificate holds every question with its noise, the laws and the plans that prove the promise.",
        )
    )
    first, *others = parts
    return [first, shown(usable_of_records(certificate)), *others]


def public_numbers(certificate: RecordsCertificate) -> str:
    """The exact numbers that go out beside the answers, since whoever asked has declared them known."""
    columns = sorted({by for kind in certificate.types for by in kind.groups})
    groups = f" and of its groups by {', '.join(clean(name, 80) for name in columns)}" if columns else ""
    return f"the number of records of the table{groups}; {PUBLIC}"


def questions_table(certificate: RecordsCertificate) -> Html:
    """A line for each question: its noise, how far answers are off, and its epsilon alone."""
    head = ["question", "noise", "95 % of errors within", "its own ε"]
    asked = noised_in(certificate)
    lines = [_line(found, head) for found in asked[:_MOST]]
    rest = tag("p", tag("small", f"The first {_MOST} of {len(asked):,} questions.")) if len(asked) > _MOST else None
    shown = stacked("Every question, with the noise of its answer", head, tag("tbody", lines))
    return tag("div", shown, rest)


def _line(asked: Noised, head: list[str]) -> Html:
    said = question_told(asked)
    groups = f", {said['groups']:,} groups" if asked.by is not None else ""
    return row(
        clean(asked.query, 120),
        f"{said['words']}{groups}",
        _within(asked),
        number(float(asked.most), "up", 4),
        head=head,
    )


def _within(asked: Noised) -> str:
    """Half the width of the interval, in the units of the sum or count; of the noisiest group."""
    from fugu.queries.drawing import half_width

    if asked.law == LAPLACE:
        half = max(half_width(rates[0]) for rates in asked.rates.values())
        step = float(getattr(getattr(asked.features[0], "coding", None), "step", 1))
        unit = " in the sum" if asked.kind in ("mean", "variance") else " records" if step == 1 else ""
        return f"± {number(half * step, 'up')}{unit}"
    return "some ranks off; no interval of values follows" if asked.law == FLIP else "-"


def _cap(certificate: RecordsCertificate) -> str:
    return "" if certificate.cap is None else f" of {number(float(certificate.cap), 'up', 10)}, the cap"


def _names(names: list[str]) -> str:
    shown = ", ".join(clean(name, 40) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")
