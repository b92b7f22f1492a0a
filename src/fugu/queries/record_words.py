"""Many statistics of one table in words: what is drawn for each question, and both promises."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from fugu.data.schema import Schema
from fugu.data.secrets import OF_NUMBERS, rules
from fugu.documents.records import RecordsCertificate
from fugu.documents.sentences import RECORDS, Told
from fugu.guarantee.composition import both, called_exact
from fugu.numbers.exact import float_up
from fugu.queries.session_certificate import EXACT, FLIP, LAPLACE, NoisedQuestion, noised_in
from fugu.visible import Json

_PROOF = "docs/proofs/metric-charges.md"


def told_of_records(certificate: RecordsCertificate) -> Told:
    """One mechanism for all questions: their charges are added first and translated once."""
    asked = noised_in(certificate)
    since = "publisher" in certificate.body  # before 0.4 nothing was called exact, and the promises in other words
    questions = [question_told(found, since) for found in asked]
    worst = f"spent {both(certificate.spent, certificate.any_belief)}" if since else _before(certificate)
    any_belief = float_up(certificate.any_belief)
    listed = ", ".join(found.query for found in asked) or "public numbers of rows"
    return Told(
        budget=certificate["budget"], unit="one record", secrets=tuple(certificate["secrets"]),
        pairs=tuple(f"{s} vs {t}" for s, t in combinations(certificate["secrets"], 2)),
        method=f"{len(asked)} question{'' if len(asked) == 1 else 's'}, charged to each record and translated together",
        theorem="charges of independent records add as distances, and any plan between two laws bounds their worth",
        proof=_PROOF,
        noise={"kind": RECORDS, "questions": questions, "words": _summary(questions)},
        figures={"epsilon": certificate["spent"], "delta": 0.0, "any belief": any_belief},
        worst_pair=worst,
        assumptions=tuple(certificate["assumptions"]), reading=certificate["reading"], about={"query": listed},
        rules=_rules(certificate, asked),
    )  # fmt: skip


def _rules(certificate: RecordsCertificate, asked: Sequence[NoisedQuestion]) -> tuple[str, ...]:
    """What cells count as that cannot be used, of the columns that are asked about."""
    each = [(found.kind, name) for found in asked for feature in found.features for name in feature.columns]
    counted = {name for kind, name in each if kind not in OF_NUMBERS}
    return rules(Schema.from_json(certificate["reading"]), dict.fromkeys(name for _, name in each), counted)


def question_told(asked: NoisedQuestion, since: bool = True) -> Json:
    """One question: what is drawn, with the range of its scales over groups, and its own epsilon."""
    scales = [1 / float(rates[0]) for rates in asked.rates.values()]
    low, high = min(scales), max(scales)
    size = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    where = {LAPLACE: _laplace(asked, size), FLIP: f"a choice by counts blurred at a scale of {size} records"}
    words = where.get(asked.law, "a mechanism that fugu does not draw, on the word of whoever charged it")
    said = {"exact": asked.exact} if since and asked.exact > EXACT else {}
    words += f" ({called_exact(asked.exact)})" if said else ""
    return {"query": asked.query, "words": words, "groups": len(asked.rates), "own": str(asked.most), **said}


def _before(certificate: RecordsCertificate) -> str:
    """Both promises as version 0.3 said them."""
    spent, any_belief = (float_up(x) for x in (certificate.spent, certificate.any_belief))
    return f"spent {spent:.6g} of the budget; at most {any_belief:.6g} against any belief about one record"


def _laplace(asked: NoisedQuestion, size: str) -> str:
    what = {"histogram": "every count", "crosstab": "every count", "top": "every count", "count": "the count",
            "proportion": "the count", "variance": "a sum and a sum of squares, the first"}  # fmt: skip
    steps = "" if asked.kind in ("histogram", "crosstab", "top", "count", "proportion") else " in steps of the values"
    return f"Laplace noise of scale {size}{steps} on {what.get(asked.kind, 'the sum')}"


def _summary(questions: list[Json]) -> str:
    if not questions:
        return "no noise: numbers of rows are public"
    first = f"{questions[0]['query']}: {questions[0]['words']}"
    more = len(questions) - 1
    return first if not more else f"{first}; and {more} more question{'' if more == 1 else 's'}, listed below"
