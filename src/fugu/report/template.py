"""Pages are templates and facts: `render` puts them together, and nothing that comes from outside can act on a page.

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
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fugu.documents.release import OTHER_PEOPLE
from fugu.documents.sentences import IN_THE_BOX
from fugu.drawing.charts import figure
from fugu.drawing.charts import read as style
from fugu.drawing.html import Html, short
from fugu.numbers import text
from fugu.numbers.exact import read_number
from fugu.report.curves import FLOOR, HIDDEN, MOST, guess, laws, ratio
from fugu.report.facts import beliefs
from fugu.report.figures import covariance_figure, laws_figure, methods_figure, nearby_figure, ratio_figure
from fugu.visible import several, visible

if TYPE_CHECKING:
    from jinja2 import Environment


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

    A line that ends in a statement is followed at once by the next one; `+%}` asks for a blank."""
    lines = (line.strip() for line in _read(f"templates/{name}").split("\n"))
    return "".join(line + ("" if _STATEMENT.search(line) else "\n" if line.endswith(">") else " ") for line in lines)


@cache
def _read(name: str) -> str:
    return files("fugu.report").joinpath(name).read_text("utf-8").replace("\r\n", "\n")
