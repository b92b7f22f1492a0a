"""`Part`: what certificates of several kinds may have: a statistic, a query, a reading, a confidence, a remap, a
property of the whole, a record swap. Each part says once what is checked of it, what it adds to the assumptions, and
how it is written; whoever reads a certificate goes through `PARTS` and knows none by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fugu.documents import reading as of
from fugu.documents import sentences as say
from fugu.documents.document import Check, NotChecked, Proved, canonical_json, later, unchecked
from fugu.documents.promises import check_anybody
from fugu.documents.reading import proving, reading
from fugu.documents.remap import Remap
from fugu.documents.swap import EXCHANGE, MOMENTS, WORD, RecordSwap, check_shares, check_swap, proof_of
from fugu.errors import CertificateError
from fugu.laws.family import Family
from fugu.noise.kind import OBJECTIVES
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.data.schema import Schema
    from fugu.documents.certificate import Certificate
    from fugu.laws.pair import PairsLike

_SAME = read_number(1e-9)
"""Errors are summed in doubles: less than this part of them is rounding."""
_EDGES, _LEVEL = of.each(of.either(of.figure, of.text)), {"confidence": of.exact, "shift": of.exact}
_QUERY = of.parts(
    {"publish": of.text, "edges": of.maybe(_EDGES), "categories": of.maybe(of.TEXTS),
     "missing": of.either(of.text, of.figure)},
    {"typical": of.maybe(of.either(of.figure, of.text)), "nominal": of.one_of(True)},
)  # fmt: skip
_RECIPE = of.parts(
    {"publish": of.text, "protect": of.either(of.text, of.items, of.thing),
     "pairs": of.either(of.one_of("all", "adjacent"), of.each(of.each(of.text, 2, 2))),
     "prior": of.one_of("empirical", "gaussian", "mixture", "shared"), "bins": of.maybe(_EDGES),
     "missing": of.either(of.text, of.figure), "unit": of.maybe(of.text)},
    {"public_prior": of.truth, "components": of.maybe(of.either(of.whole, of.text)), **_LEVEL,
     "schema": of.maybe(of.SCHEMA)},
)  # fmt: skip
_STATISTIC = of.parts(
    {"query": of.text, "by": of.maybe(of.text), "group": of.text},
    {"rows": of.whole, "low": of.exact, "step": of.exact, "steps": of.whole, "averaged": of.truth, "cells": of.items},
)
_SAMPLED = of.parts(
    {"level": of.exact, "values": of.each(of.figure), "counts": of.named(of.each(of.whole)), "ordered": of.truth,
     "disjoint": of.truth, "shift": of.exact, "declared": of.text}
)  # fmt: skip
_PROPERTY = of.parts(
    {"name": of.text, "size": of.whole, "tolerance": of.exact, "statistics": of.TEXTS,
     "limits": of.each(of.maybe(of.each(of.exact, 2, 2))), "pairs": of.each(of.each(of.text, 2, 2)), "every": of.truth,
     "shares": of.each(of.parts({"name": of.text, "from": of.whole, "to": of.whole}))},
    {MOMENTS: of.each(of.parts({"mean": of.each(of.exact), "cov": of.each(of.each(of.exact))}), 2, 2)},
)  # fmt: skip
_REMAP = of.parts(
    {"loss": of.one_of("absolute", "squared", "zero-one"), "weight": of.either(of.text, of.thing), "starts": of.items,
     "to": of.items}
)  # fmt: skip
_EXCHANGED = of.parts(
    {"exchanged": of.whole, "counts": of.each(of.whole, 2, 2), "replacement": of.truth,
     "box": of.each(of.each(of.whole, 3, 3))}
)  # fmt: skip
_PROVED = of.parts({"epsilon": of.maybe(of.figure), "delta": of.figure, "holds": of.truth})
_ERROR = of.parts({"absolute": of.maybe(of.figure), "squared": of.maybe(of.figure)})
LAWS = of.listed(
    of.SEALED,
    seal={"fingerprint": of.digest},
    proof={
        "budget": of.GUARANTEE, "noise": of.thing, "families": of.each(of.thing), "share": of.exact,
        "lattice": of.maybe(of.parts({"grid": of.exact, "origin": of.exact})),
        "support": of.maybe(of.either(of.one_of("lattice"), of.items)),
        "parts": of.each(of.thing, 2, 2), "query": of.maybe(_QUERY), "property": _PROPERTY,
        "reading": of.maybe(of.SCHEMA), "confidence": _SAMPLED, "swap": of.thing, "statistic": of.maybe(_STATISTIC),
        "optimum": of.thing, "cap": of.exact, "exchange": _EXCHANGED,
    },
    derived={
        "dimension": of.whole, "proved": of.parts({"epsilon": of.figure, "delta": of.figure}), "worst_pair": of.text,
        "expected_error": _ERROR, "assumptions": of.TEXTS, "unit": of.text, "remap": _REMAP, "warnings": of.TEXTS,
        "anybody": of.maybe(of.GUARANTEE),
    },
    publisher={
        "beliefs": of.digest, "method": of.text, "theorem": of.text, "post": of.TEXTS, "recipe": of.maybe(_RECIPE),
        "scales": of.maybe(of.named(of.maybe(of.figure))), "empirical": of.maybe(_PROVED),
    },
)  # fmt: skip
"""The parts of every certificate with laws, each with its form and what it rests on; a kind leaves out some."""


_SETS = "fugu.documents.confidence"
"""What is known of sets of laws from counts: it reads schemas, so it is imported where a certificate has such."""
_OF_SETS = "the sets of laws are those that the counts give at the confidence stated, or hold them"
_EXCHANGES = "fugu.documents.exchange:RecordExchange"
"""What is known of exchanged records: proved by loss, imported where a certificate exchanges some."""
_OF_EXCHANGES = "shares, laws of one record, their box and the noise of the record exchange belong together"
_LEAST = "outputs go where the stated loss is least for the stated weight, by a table of outputs alone"
_OF_SHARES = "shares, statistics and their ends are those of the laws"
_OF_SWAPS = "plan, noise, shares and counted lengths of the record swap belong together"
Of = Callable[["Certificate"], Any]


@dataclass(frozen=True, eq=False)
class Part:
    """One part by its name, and what each concern asks of a certificate that has it; where nothing is said, nothing.

    `said`: whether anything is to be said of it, by default whether it is stated. `check`: CertificateError unless it
    can be read, and `sure`: what is true then, with its name. `late`: what a verdict looks at. `words`:
    CertificateError unless what it says fits what other parts say. `needed`: assumptions that no certificate may leave
    out; `described`: further ones that follow from it, which versions before 0.4 could leave out. `again`: the part,
    read and written again, by default as it is stated."""

    name: str
    said: Of | None = None
    check: Of = lambda _: None
    sure: tuple[str, str] | None = None
    late: Of = lambda _: ()
    words: Of = lambda _: ()
    needed: Of = lambda _: ()
    described: Of = lambda _: ()
    again: Of | None = None

    def there(self, certificate: Certificate) -> bool:
        """Whether anything is to be said of it."""
        return certificate.body.get(self.name) is not None if self.said is None else bool(self.said(certificate))

    def written(self, certificate: Certificate) -> Any:
        """The part, read and written again."""
        return certificate.body.get(self.name) if self.again is None else self.again(certificate)


def _check_reach(certificate: Certificate) -> None:
    """The laws of a statistic are of codes 0 to `steps` of one record, in steps of 1, or of totals of all `rows` where
    the assumptions say so. What one record can change is read off `steps`, so no law may reach further."""
    stated = certificate.body["statistic"]
    if "steps" not in stated or certificate.noise.silent:  # without noise nothing is promised against anybody
        return
    steps, rows, lattice = read_whole(stated["steps"]), read_whole(stated.get("rows", 1)), certificate.lattice
    if steps < 1 or rows < 1 or lattice is None or lattice.grid != 1 or lattice.origin != 0:
        raise CertificateError("the steps of the certificate's statistic are not those of its lattice")
    totals = any(f"{rows - 1} {say.TOTALS}" in line for line in certificate.assumptions)
    reach, families = steps * (rows if totals else 1), [x for x in certificate.laws if isinstance(x, Family)]
    if any(item.points.min() < 0 or item.points.max() > reach for item in families):
        raise CertificateError("the laws of the certificate reach further than one record of its statistic can")


def _by_row(certificate: Certificate) -> bool:
    """Whether a column is published row by row, and no statistic of it."""
    return certificate.body.get("query") is not None and certificate.body.get("statistic") is None


def _row_lines(certificate: Certificate) -> Iterator[str]:
    if _by_row(certificate):
        yield say.one_row(person(certificate))


def _person_lines(certificate: Certificate) -> Iterator[str]:
    """Of a statistic the person is read as an identifier, by whom nothing is grouped."""
    known = (certificate.body.get("reading") or {}).get("columns", {})
    named = [name for name, how in known.items() if how.get("kind") == "identifier"]
    yield say.one_row(next((name for name in named if name != certificate.body["statistic"]["by"]), None))


def _check_column(certificate: Certificate) -> None:
    """What is published is one thing, in the query, the recipe and the reading."""
    query, recipe, stated = (certificate.body.get(part) for part in ("query", "recipe", "reading"))
    if query is None:
        raise CertificateError("the certificate has a recipe for its beliefs, and does not say what is published")
    if stated is not None and query["publish"] not in stated["columns"]:
        raise CertificateError("the certificate publishes a column that it does not say how to read")
    if recipe is None:
        return
    if (query["publish"], query["missing"]) != (recipe["publish"], recipe["missing"]):
        raise CertificateError("the certificate publishes another column than its recipe, or fills it otherwise")
    bins, laid = recipe["bins"], query["edges"] or (None if query.get("nominal") else query["categories"])
    dated = laid is not None and bins is not None and all(isinstance(edge, str) for edge in bins) and query["edges"]
    same = len(bins or ()) == len(laid or ()) if dated else canonical_json(bins) == canonical_json(laid)
    if not same:
        raise CertificateError("the certificate's bins are not those of its recipe")


def _check_schema(certificate: Certificate) -> None:
    if certificate.body.get("reading") is None:
        raise NotChecked("no schema is stated: the laws were given directly, or the statistics worked out before")
    schema_of(certificate)


def _confident(certificate: Certificate) -> bool:
    """Whether a confidence is stated anywhere: in its own part, the recipe, or the words."""
    asked = (certificate.body.get("recipe") or {}).get("confidence") is not None
    said = any(line.startswith(say.CONFIDENT) for line in certificate.assumptions)
    return asked or "confidence" in certificate.body or said


def _counts(certificate: Certificate) -> Any:
    return later(f"{_SETS}:counts_of")(certificate.body)


def _exchange(certificate: Certificate) -> Any:
    return later(_EXCHANGES).of(certificate)


def _free_reach(certificate: Certificate) -> Iterator[Check]:
    """How far one record moves a statistic without ends; where there are ends, shifts are held against them."""
    if certificate.runs == "correlated":  # laws of the statistics are in it
        return
    stated = certificate.body["property"]
    free = [name for name, ends in zip(stated["statistics"], stated["limits"], strict=True) if ends is None]
    if free:
        why = (
            f"how far one record moves {', '.join(free)} is the range of its column in the reference, by the "
            "publisher's word: no bounds were declared, to which records are clipped and shifts are held against"
        )
        yield unchecked("reach of a record", why)


PARTS = (
    Part(
        "statistic", needed=lambda _: (say.INDEPENDENT_RECORDS, say.SIZES), words=_check_reach, described=_person_lines,
    ),
    Part(
        "query", words=_check_column, described=_row_lines,
        said=lambda c: any(c.body.get(part) is not None for part in ("query", "recipe")),
        needed=lambda c: (say.INDEPENDENT,) if _by_row(c) else (),
    ),
    Part(
        "reading", said=lambda _: True,  # where there is none, that is said
        late=lambda c: [("reading", "records are read by a schema that can be read back", lambda: _check_schema(c))],
        again=lambda c: None if c.body.get("reading") is None else schema_of(c).to_json(),
    ),
    Part(
        "confidence", said=_confident,
        late=lambda c: [("confidence", _OF_SETS, lambda: later(f"{_SETS}:check_sampled")(c))],
        described=lambda c: later(f"{_SETS}:meaning")(_counts(c)) if "confidence" in c.body else (),
        again=lambda c: None if c.body.get("confidence") is None else _counts(c).to_json(),
    ),
    Part(
        "remap", check=lambda c: c.remap,
        late=lambda c: [("remap", _LEAST, lambda: Remap.of_certificate(c).check())],
        needed=lambda c: (say.remapped(c.body["remap"]["loss"], c.body["remap"]["weight"] != "mean"),),
        again=lambda c: Remap.of_certificate(c).to_json(),
    ),
    Part("property", check=check_shares, sure=("property", _OF_SHARES), late=_free_reach),
    Part(
        "swap", check=check_swap, sure=("swap", _OF_SWAPS), late=lambda _: [unchecked("draws", WORD)],
        needed=lambda _: (say.DRAWN_INSIDE,), again=lambda c: RecordSwap.of(c).to_json(),
    ),
    Part(
        EXCHANGE, check=lambda c: _exchange(c).check(c), sure=(EXCHANGE, _OF_EXCHANGES),
        needed=lambda c: _exchange(c).lines_of(c), again=lambda c: _exchange(c).to_json(),
    ),
)  # fmt: skip


def schema_of(certificate: Certificate) -> Schema:
    """By which schema records are read, where the certificate says so: tables are known only then."""
    from fugu.data.schema import Schema

    return Schema.from_json(certificate.body["reading"])


def person(certificate: Certificate) -> str | None:
    """The column that names the person: that of the recipe; where the secret was told in code, the one that is read
    beside the published column."""
    recipe, query = certificate.body.get("recipe"), certificate.body.get("query")
    if recipe is not None:
        return None if recipe["unit"] is None else str(recipe["unit"])
    if query is None or certificate.body.get("reading") is None:
        return None
    beside = set(schema_of(certificate).fields) - {query["publish"]}
    return next(iter(beside)) if len(beside) == 1 else None


def published_unit(certificate: Certificate) -> Fraction:
    """What one step of the laws is in the published numbers: the step of a sum, over the rows of a mean."""
    stated: Json = certificate.body.get("statistic") or {}
    share = read_number(stated["rows"]) if stated.get("averaged") else Fraction(1)
    return (read_number(stated["step"]) if "step" in stated else Fraction(1)) / share


def rules_of(certificate: Certificate) -> tuple[str, ...]:
    """What unusable cells count as, by the query or the schema; not said where it is the private table's median."""
    if certificate.body.get("reading") is None or say.holds_private_numbers(certificate.assumptions):
        return ()
    from fugu.data.secrets import OF_NUMBERS, column_rule, rules

    schema = schema_of(certificate)
    asked, statistic = certificate.body.get("query"), certificate.body.get("statistic")
    if asked is None or statistic is not None:
        sums = tuple(f"{kind}(" for kind in OF_NUMBERS)
        summed = statistic is not None and str(statistic["query"]).startswith(sums)
        said = say.ranges_said(certificate.body.get("assumptions") or ())
        return (*rules(schema, counted=() if summed else None), *said)
    known = schema.fields.get(asked["publish"])
    return () if known is None else (column_rule(asked, known),)


def worked_out_again(certificate: Certificate, proved: Proved, given: PairsLike | None) -> Iterator[Check]:
    """What is stated beside the laws, the noise and the budget follows from them: figures, words, errors."""
    below = "what is stated as proved is not below what is proved now"
    yield "stated figures", below, lambda: _check_figures(certificate, proved, given)
    again = "every part, read and written again, is what the document says"
    yield "writing", again, lambda: _check_written(certificate)
    follow = "unit, query, warnings and what a mixture says follow from the parts"
    yield "words", follow, lambda: _check_words(certificate)
    yield "expected error", "it is that of the noise, worked out again", lambda: _check_errors(certificate)
    yield "assumptions", "nothing that follows from what runs is left out", lambda: _check_assumed(certificate)
    if given is None:
        worst = "no pair needs the noise more than the one that is named"
        yield "worst pair", worst, lambda: _check_worst(certificate, proved.worst_pair)


def _check_figures(certificate: Certificate, proved: Proved, given: PairsLike | None) -> None:
    """CertificateError if a stated figure is smaller than what is proved now: a loss that nobody has proved."""
    if given is not None:
        raise NotChecked("the figures are about the certificate's own laws, and others were given")
    for name, now in (("epsilon", proved.epsilon), ("delta", proved.delta)):
        stated = read_number(certificate.body["proved"][name])
        if now == float("inf") or stated < read_number(now):
            raise CertificateError(f"the certificate states {name} {float(stated):.10g}, and proved is {now:.10g}")


def _check_written(certificate: Certificate) -> None:
    """CertificateError unless every part, read and written again, is what the document says."""
    for name, own in certificate.written():
        if canonical_json(certificate.body.get(name)) != canonical_json(own):
            raise CertificateError(f"the part {name!r} of the certificate is not as fugu writes it: it says more")


def _check_words(certificate: Certificate) -> None:
    """CertificateError unless unit, dimension, query, statistic and warnings are those of the parts."""
    body = certificate.body
    if body["unit"] != certificate.protects:
        raise CertificateError(f"the unit of privacy is {certificate.protects!r}, and the certificate says another")
    if body.get("dimension", 1) != certificate.laws[0].dimension:
        raise CertificateError("the certificate states another dimension than that of its laws")
    for part in certificate.having():
        part.words(certificate)
    if "warnings" in body or "publisher" in body:
        said, now = body.get("warnings", []), list(certificate.warnings)
        past = "publisher" not in body and bool(said) == bool(now) and len(set(said)) == len(said)
        known = all(any(pattern.fullmatch(line) for pattern in say.PAST_WARNINGS) for line in said)
        if said != now and not (past and known):  # of versions before, such as they wrote
            raise CertificateError("the warnings of the certificate are not those that its parts give")


def _check_worst(certificate: Certificate, worst: str) -> None:
    """CertificateError unless the pair that is named needs as much noise as any, or as the one found now."""
    stated = certificate.worst_pair
    running = certificate.parts or (certificate,)
    if stated == worst:
        return
    with reading(), proving():
        alone = ((half, one) for half in running for item in half.laws for one in item.alone())
        proofs = [proof_of(half, (one,)) for half, one in alone if stated in one.labels]
        whole = [proof_of(half, half.laws) for half in running]
        found = max(((proof.epsilon, proof.delta) for proof in proofs), default=None)
        most = max((proof.epsilon, proof.delta) for proof in whole)
    if found is None or not all(_near(a, b) or a > b for a, b in zip(found, most, strict=True)):
        raise CertificateError(f"another pair needs more noise than the one that the certificate names: {worst!r}")


def _check_errors(certificate: Certificate) -> None:
    """CertificateError unless the expected errors are those of the noise, the remap or the channel."""
    stated = certificate.body.get("expected_error")
    if stated is None:
        if certificate.parts:  # each of them states its own
            return
        raise CertificateError("the certificate states no expected error")
    for name in OBJECTIVES:
        with reading(), proving():
            now, said = certificate.expected_error(name), stated[name]
        wrong = (now is None) != (said is None)
        if wrong or (now is not None and not _near(said, now)):
            shown = "none" if now is None else f"{now:.10g}"
            raise CertificateError(f"the expected {name} error is {shown}, and the certificate states another")


def _check_assumed(certificate: Certificate) -> None:
    """CertificateError if a line is left out that the proof rests on, if the publisher's own lines are not marked,
    or if another promise is stated against anybody than holds."""
    check_anybody(certificate)
    said, own = certificate.assumptions, certificate.own_lines()
    for line in certificate.needed():
        if line not in said:
            raise CertificateError(f"the certificate leaves out what its proof rests on: {line!r}")
    marked = certificate.body.get("publisher")
    if certificate.protects == say.ONE_VALUE and not {*say.ENOUGH, say.CELLS} & set(said):
        by_default = {say.EXACT_LAWS, say.BY_HAND} & set(said)
        if marked is not None or by_default or not own:
            raise CertificateError(f"the certificate leaves out what its proof rests on: {say.INDEPENDENT_ROWS!r}")
    if marked is None:
        return
    for line in certificate.described():
        if line not in said:
            raise CertificateError(f"the certificate leaves out what follows from it: {line!r}")
    if len(set(said)) < len(said):
        raise CertificateError("the certificate states an assumption twice")
    fitted = any(certificate.body.get(part) is not None for part in ("query", "statistic", "swap", EXCHANGE))
    fitted = fitted or ("property" in certificate.body and certificate.runs == "correlated")
    by_hand = say.BY_HAND in said and say.UNSEEN_BY_HAND in said and certificate.body.get("recipe") is None
    if fitted and not by_hand and not {say.APART, say.PRIVATE_NUMBERS} & set(said):
        raise CertificateError("the certificate does not say whether the reference is apart from the private table")


def _near(stated: Any, now: float) -> bool:
    return abs(read_number(stated) - read_number(now)) <= _SAME * abs(read_number(now))
