"""Pages are templates and facts: `render` puts them together, and nothing that comes from outside can act on a page.
Here is also what the sections about one document are told: the `story` of a certificate with laws, what channels
exchange, how sure beliefs are, and the noise of questions in words.

Every value is made visible and escaped where it is printed. There is no script on any page. The style sheet is a
constant file, named in the content policy by its digest: a name that breaks out of its place on the page is only text.
It does not run, loads nothing, sends nothing, and styles nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from fugu.calibration.compare import require_few_steps
from fugu.calibration.lattice import least, problem
from fugu.documents.certificate import Certificate
from fugu.documents.document import NotChecked
from fugu.documents.release import OTHER_PEOPLE
from fugu.documents.sentences import IN_THE_BOX
from fugu.drawing.charts import Heat, figure
from fugu.drawing.charts import read as style
from fugu.drawing.marks import Html, short
from fugu.errors import CertificateError, FuguError
from fugu.guarantee.composition import PUBLIC
from fugu.laws.family import Family
from fugu.laws.pair import LawPair
from fugu.laws.sets.confidence import Sampled
from fugu.laws.shapes import shapes
from fugu.loss.channel import any_belief
from fugu.noise.kind import Noise
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers import text
from fugu.numbers.exact import read_number
from fugu.numbers.text import clean, number, percent
from fugu.numbers.text import epsilon as epsilon_of
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.sequence_certificate import same_query
from fugu.queries.sequence_query import SequenceQuery, Several
from fugu.queries.sequences import ArgMax, Mean, RandomisedResponse, TopK, query_from
from fugu.queries.statistic import NoisedQuestion, question_told
from fugu.report.curves import FLOOR, HIDDEN, MOST, guess, laws, ratio, views
from fugu.report.facts import Facts, beliefs, facts, methods, parts
from fugu.report.figures import covariance_figure, curve, laws_figure, methods_figure, nearby_figure, ratio_figure
from fugu.visible import several, visible

if TYPE_CHECKING:
    from jinja2 import Environment

    from fugu.calibration.comparison import Comparison

_STATEMENT = re.compile("[^+]%}$|#}$")


@cache
def sheet() -> Html:
    """The style sheet, with a rule for each place in the list of pairs; line ends as a browser reads them."""
    views = ",\n".join(f"main:has(#pair-{k}:checked) .view-{k}" for k in range(MOST))
    rules = _read("sheet.css")
    parts = {"VIEWS": f"{views} {{ display: block; }}", "PALETTE": style("palette.css"), "CHARTS": style("charts.css")}
    for name, part in parts.items():
        rules = rules.replace(name, part)
    return Html(rules)


@cache
def policy() -> Html:
    """The content policy of every page: the style sheet, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(sheet().encode()).digest()).decode()
    return Html(f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")


@cache
def words() -> dict[str, Any]:
    """What pages say in the same words wherever it stands."""
    return tomllib.loads(_read("words.toml"))


def render(template: str, **facts: Any) -> str:
    """A self-contained page, with one h1."""
    return _environment().get_template(template).render(facts) + "\n"


def sentence(name: str, *facts: Any, of: str = "words.html") -> str:
    """What a macro of a template says, as plain text on one line."""
    said = getattr(_environment().get_template(of).module, name)(*facts)
    return html.unescape(re.sub("[ \n]+", " ", said).strip())


def noted(note: str) -> str:
    """What a method says of itself, in the words of the page.

    >>> noted("one lattice step is added, delta is 0")
    'one step is added, δ is 0'
    """
    return re.sub(r"\bdelta\b", "δ", re.sub(r"\bepsilon\b", "ε", note.replace("lattice step", "step")))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined, finalize=_shown)
    numbers = (text.number, text.percent, text.factor, text.least, text.epsilon, text.delta, short)
    for shown in numbers:
        made.filters[shown.__name__] = lambda x, *more, shown=shown: shown(float(x), *more)
    made.filters.update(clean=text.clean, quoted=text.quoted, noted=noted, exactly=read_number, several=several,
                        repr=repr, infinite=math.isinf, thousands=lambda x: f"{x:,}")  # fmt: skip
    made.globals.update(figure=figure, beliefs=beliefs, methods_figure=methods_figure, laws_figure=laws_figure,
                        ratio_figure=ratio_figure, nearby_figure=nearby_figure, covariance_figure=covariance_figure,
                        both_laws=laws, log_ratio=ratio, guess=guess, sheet=sheet, policy=policy,
                        words=words(), infinity=math.inf, VALUE=text.VALUE, HIDDEN=HIDDEN, FLOOR=FLOOR,
                        IN_THE_BOX=IN_THE_BOX, OTHER_PEOPLE=OTHER_PEOPLE)  # fmt: skip
    return made


def _shown(value: Any) -> Any:
    """What is printed for a value, before it is escaped: nothing for None, and nothing that cannot be seen."""
    return "" if value is None else value if hasattr(value, "__html__") else visible(value, keep="\n")


def _template(name: str) -> str:
    """A template with its paragraphs on one line each; lines and indentation are for its readers.

    A line that ends in a statement is followed at once by the next one; `+%}` asks for a blank. "package:place" is a
    template of another room."""
    package, _, place = name.rpartition(":")
    lines = (line.strip() for line in _read(*((place, package) if package else (f"templates/{name}",))).split("\n"))
    return "".join(line + ("" if _STATEMENT.search(line) else "\n" if line.endswith(">") else " ") for line in lines)


@cache
def _read(name: str, package: str = "fugu.report") -> str:
    return files(package).joinpath(name).read_text("utf-8").replace("\r\n", "\n")


_LISTED, _TABLED = 100, 8
"""Coordinates that are listed, and up to which a covariance is a table of numbers."""
_DRAWN, _SURE, _LEVELS = 40, 0.999999, (0.5, 0.9, 0.95, 0.99)
"""Of a channel: values drawn one by one, the chance from which a value is surely unchanged, quantiles of its errors."""
_RANKED = "Counts are ranked with randomness, and only the names that come first are published, not the counts."
_MOST = 60
"""Questions that are listed."""
Cards = tuple[tuple[str, str], ...]
_MOST_VALUES, _USUAL = 1000, Fraction(19, 20)


def story(
    certificate: Certificate, comparison: Comparison | None = None, query_name: str | None = None,
    secret_name: str | None = None,
) -> Facts:  # fmt: skip
    """What the sections about a certificate with laws are told: its facts, and what follows."""
    f, noise = pictures(certificate, query_name, secret_name), None if certificate.parts else certificate.noise
    whole, directed = certificate.of_values, noise if isinstance(noise, DirectedLaplace) else None
    return Facts(
        **vars(f),
        # the methods side by side, and whether they were compared
        methods=methods(certificate, comparison),
        compared=comparison is not None,
        # what is left if the beliefs are off; not worked out for swaps, nor for noise of several scales
        losses=curve(certificate) if whole and directed is None else None,
        # lines for the coordinates of each noise, and for each covariance that is small enough
        coordinate_rows=[
            [[clean(name), number(scale, digits=4), number(error, digits=4), f"± {number(half, 'up', 4)}"]
             for name, scale, error, half in each[:_LISTED]]
            for each in f.coordinates
        ],
        covariance_rows=[
            [[clean(name, 20), *(f"{'−' if x < 0 else ''}{number(abs(x), digits=4)}" for x in line)]
             for (name, *_), line in zip(f.coordinates[0], rows, strict=True)]
            for rows in f.covariances
            if len(rows) <= _TABLED
        ],
    )  # fmt: skip


def pictures(certificate: Certificate, query_name: str | None = None, secret_name: str | None = None) -> Facts:
    """What the pictures of its laws are told: its facts, the pairs that are drawn, the one that loses most first, and
    the names of published categories. Whether they are drawn number by number: what record swaps are proved for is not
    the laws of the certificate, which bound them; noise along directions beside the axes is not a noise of each
    number."""
    noise = None if certificate.parts else certificate.noise
    return Facts(
        **vars(facts(certificate, query_name, secret_name)),
        views=views(certificate),
        categories=tuple((certificate.body.get("query") or {}).get("categories") or ()),
        pictured=certificate.of_values and (not isinstance(noise, DirectedLaplace) or noise.axes),
    )


def exchanges(certificate: Certificate) -> list[dict[str, Any]]:
    """Of every channel that may run: what becomes of each value, what goes out exactly, how far others go."""
    return [_exchange(part.certificate) for part in parts(certificate)]


def _exchange(certificate: Certificate) -> dict[str, Any]:
    """`chart`: K(y | x) as colours; neighbours are `gathered` where there are too many values to be drawn."""
    channel, errors = certificate.noise, certificate.errors
    known = list((certificate.body.get("query") or {}).get("categories") or ())
    support = [] if certificate.support is None else certificate.support.tolist()
    names, outputs = (
        [clean(known[int(x)], 28) if x in range(len(known)) else f"{x:g}" for x in values]
        for values in (support, channel.outputs)
    )
    outputs = outputs if channel.names is None else [clean(name, 28) for name in channel.names]
    shares = list(zip(names, errors.kept, strict=True))

    def chart(name: str) -> Heat:
        down, across = (range(0, n, -(-n // _DRAWN)) for n in (len(names), len(outputs)))
        cells = np.add.reduceat(np.add.reduceat(errors.rows, list(across), axis=1), list(down), axis=0)
        cells = cells / np.diff([*down, len(names)])[:, None]
        return Heat(
            name, "What each value is published as",
            "Each line is a value, each column what it is published as; the caption says what colours mean.",
            tuple(names[k] for k in down), tuple(tuple(map(float, line)) for line in cells),
            tuple(outputs[k] for k in across), ("the chance of the likeliest exchange", ""),
        )  # fmt: skip

    return {
        "errors": errors, "optimum": certificate.optimum, "most": any_belief(channel), "names": names,
        "outputs": outputs, "exact": [name for name, kept in shares if kept >= _SURE],
        "mostly": [name for name, kept in shares if 0.5 <= kept < _SURE], "chart": chart,
        "gathered": max(len(names), len(outputs)) > _DRAWN,
        "quantiles": [] if errors.nominal
        else [[percent(level), number(errors.quantile(level), "up", 4)] for level in _LEVELS],
    }  # fmt: skip


def sureness(certificate: Certificate) -> dict[str, Any] | None:
    """How sure beliefs are that come from the counts of a reference; None for others. With `confidence`, they hold for
    all that `rows` cannot rule out, the `fewest` of them those of `secret`; else the noise, of this `scale`, would need
    `needed`."""
    if (stated := certificate.body.get("confidence")) is not None:
        sampled = Sampled.from_json(stated)
        rows = {secret: sum(counts) for secret, counts in sampled.counts.items()}
        few = min(rows, key=lambda secret: rows[secret])
        return {
            "confidence": float(sampled.confidence), "rows": sum(rows.values()), "fewest": rows[few], "secret": few
        }  # fmt: skip
    noise = None if certificate.kind != "additive" else certificate.noise
    recipe = certificate.body.get("recipe") or {}
    if noise is None or recipe.get("prior") != "empirical" or "statistic" in certificate.body:
        return None
    if recipe.get("public_prior"):
        return None  # its counts are the private table's: nothing more is told of them
    try:
        needed = scale_at_95(certificate, noise)
    except (FuguError, ArithmeticError):
        return None
    scale = 0.0 if noise.silent else float(noise.scale)
    return None if needed is None else {"confidence": 0.0, "scale": scale, "needed": needed}


def scale_at_95(certificate: Certificate, noise: Noise) -> float | None:
    """The least scale of this noise, found in doubles, for all laws that the certificate's counts cannot rule out; None
    where its laws are no counts."""
    items, lattice = certificate.laws, certificate.lattice
    if len(items) != 1 or not isinstance(family := items[0], Family) or family.translates or family.inexact:
        return None
    if len(family.points) > _MOST_VALUES or any(law.parts.dtype != np.int64 for law in family.laws):
        return None
    values = family.points.astype(np.float64) if lattice is None else lattice.value(family.points)
    require_few_steps(values.tolist(), certificate.budget.asks())
    counts = {str(i): tuple(law.parts.tolist()) for i, law in enumerate(family.laws)}
    sets = Sampled(_USUAL, tuple(values.tolist()), counts, True, False, Fraction(0), "").sets
    pairs = [LawPair(sets[str(i)], sets[str(j)]) for i, j in family.pairs]
    ask, kind = certificate.budget.asks(), type(noise)
    where = problem(shapes(pairs), ask, kind)
    return max(least(item, ask, kind) for item in where.items) * float(where.lattice.grid)


def noise_of(claims: Mapping[str, Any]) -> tuple[tuple[str, ...], Cards]:
    """Sentences about the noise, and numbers that sum them up; where the document does not describe it, says so."""
    try:
        same_query(claims)
    except (NotChecked, CertificateError) as why:
        return (f"The document does not describe the noise: {clean(why, 300)}.",), ()
    query = query_from(claims)
    if (lattice := claims.get("lattice")) is not None:  # Gaussian noise, question by question
        each = [part for part, _ in query.split()]
        words = [
            f"“{clean(part.name, 80)}”: Gaussian noise, a bell around zero, with a standard deviation of "
            f"{number(math.sqrt(float(read_number(variance))), 'up', 6)} steps; one replaced entry moves what it is "
            f"added to by at most {number(math.sqrt(square), 'up', 6)} steps in length."
            for part, variance, square in zip(each, lattice["variance"], lattice["squared distance"], strict=True)
        ]
        rho = number(float(read_number(lattice["rho"])), "up", 6)
        return (" ".join(words), f"Together that is {rho}-zCDP for each entry."), ()
    epsilon = read_number(claims["epsilon"])
    if isinstance(query, Several):
        return (describe(query, epsilon)[0],), ()
    moved = (
        "Replacing one entry by any other value moves what is asked by at most "
        f"{number(float(query.sensitivity), 'up', 6)} in total; the noise is drawn for that, at "
        f"{epsilon_of(float(epsilon))} for each entry."
    )
    said, cards = describe(query, epsilon)
    return (said, moved), cards


def describe(query: SequenceQuery, epsilon: Fraction) -> tuple[str, Cards]:
    """One sentence about the noise of a query, and numbers: of counts and sums, Laplace noise of scale S / epsilon.

    On steps of width g its mean size is g / sinh(g epsilon / S), which is at most S / epsilon."""
    if isinstance(query, RandomisedResponse):
        kept = float(query.law(epsilon)[0])
        said = f"Every entry is published by itself: as it is with probability {percent(kept)}, else as another state."
        return said, ((percent(kept), "of the published entries are expected to be as they are"),)
    if isinstance(query, TopK | ArgMax):
        return _RANKED, ()
    if isinstance(query, Several):
        each = [
            f"“{clean(part.name, 80)}” ({percent(float(share))} of it): {describe(part, epsilon * share)[0]}"
            for part, share in query.split()
        ]
        return f"{several(len(each), 'question')} share the ε for each entry. " + " ".join(each), ()
    what = "the sum" if isinstance(query, Mean) else "every published number"
    size = number(float(query.sensitivity / epsilon), "up")
    said = (
        f"Laplace noise, a sharp peak at zero, with a scale of {size} is added to {what}: on average it is moved by at "
        f"most {size}, rounding apart."
    )
    if isinstance(query, Mean):
        return f"{said} The mean is that sum divided by the number of entries, which is public.", ()
    return said, ((size, f"scale of the noise on {what}"),)


def questions_of(certificate: RecordsCertificate) -> dict[str, Any]:
    """A line for each question: its noise, how far answers are off, its epsilon alone; how many were `asked`; and the
    exact numbers that go out beside the answers, since whoever asked has declared them known."""
    asked = certificate.questions
    columns = sorted({by for kind in certificate.types for by in kind.groups})
    from fugu.session.checks import usable_of_records

    halves = {each.name: each.half for each in usable_of_records(certificate).figures if each.half is not None}
    groups = f" and of its groups by {', '.join(clean(name, 80) for name in columns)}" if columns else ""
    return {
        "questions": [_row(each, halves) for each in asked[:_MOST]],
        "asked": len(asked),
        "public_numbers": f"the number of records of the table{groups}; {PUBLIC}",
    }


def _row(asked: NoisedQuestion, halves: Mapping[str, float]) -> list[str]:
    """`halves`: by question and group, half the width of the interval, in the unit of what is published; said is that
    of the noisiest group."""
    said = question_told(asked)
    groups = f", {said['groups']:,} groups" if asked.by is not None else ""
    known = [half for name, half in halves.items() if name == asked.query or name.startswith(f"{asked.query}, ")]
    within = f"±\u00a0{number(max(known), 'up')}" if known else "not known"
    return [clean(asked.query, 120), f"{said['words']}{groups}", within, number(float(asked.most), "up", 4)]
