"""`Question`: what is asked, once. Options, help, refusals, scenario files and the names of requests are read off it.

A field states its section of a scenario file and the routes that it is for; what its help says is in options.toml.
Whoever adds one writes these two lines: every command that asks for such a thing takes the option, every scenario file
the key, and the name of a request counts it where it is given, so that no earlier request gets another name."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from datetime import date
from functools import cache, cached_property, lru_cache, partial
from importlib import import_module, resources
from numbers import Number
from typing import Any, Final, Literal, final

from fugu.aliases import own_method, own_noise
from fugu.errors import UsageError
from fugu.shown import Shown
from fugu.visible import Json, brief

Route = Literal["column", "statistics", "sequences", "property"]
COLUMN: Final = "column"
STATISTICS: Final = "statistics"
SEQUENCES: Final = "sequences"
PROPERTY: Final = "property"
RECORDS: Final = "records"
LAW: Final = "law"
"""Two routes for statistics: charged to each record, which composes; or by the law of the total, once."""
Named = Literal["always", "given", "never"]
SECTIONS: Final = (
    "data", "question", "sequence", "secrets", "beliefs", "budget", "noise", "training", "property"
)  # fmt: skip
"""Sections of a scenario file, in their order; the keys of each are the fields that name it."""
SIGN_OFF: Final = "sign-off"
"""A section of its own, and the part of a release document that says the same (`fugu.documents.sign_off`)."""
_PANELS = {
    COLUMN: "A column", STATISTICS: "Statistics", SEQUENCES: "Sequences", PROPERTY: "A property", "data": "Tables",
    "secrets": "Secrets and beliefs", "beliefs": "Secrets and beliefs", "budget": "Budget", "noise": "Noise",
}  # fmt: skip
_LISTED = ("question", "sequence", "")
"""Sections whose options are listed in the help by what is published."""


@final
@dataclass(frozen=True)
class Ask:
    """What a field states of itself.

    `help`: its option's, and the comment of a scenario file; `section` of the file, empty for none; `routes` that it is
    for, none for all; `flag`: the spelling of the option, if other than the field's name; `words` that it may be;
    `named`: whether the name of a request counts it, and as which `name`; `key` in a file, if other than the field's
    name; `like`: an example, which a new file shows; `reads`: makes one spelling of several;
    `title`: its panel of the help, if other than what section and routes say; `first`: its place in the help at first
    sight, 0 where it stands behind --help-all."""

    help: str = ""
    section: str = ""
    routes: tuple[Route, ...] = ()
    flag: str = ""
    words: tuple[str, ...] = ()
    named: Named = "given"
    name: str = ""
    key: str = ""
    like: Any = None
    reads: Callable[..., Any] | None = None
    title: str = ""
    metavar: str | None = None
    first: int = 0

    @property
    def panel(self) -> str:
        """Where the help lists it."""
        return self.title or _PANELS.get(
            self.routes[0] if self.section in _LISTED and self.routes else self.section, ""
        )


def ask(section: str, *routes: Route, default: Any = None, **more: Any) -> Any:
    """A field with its facts; see `Ask`."""
    return field(default=default, metadata={"ask": Ask(section=section, routes=routes, **more)})


_entry = partial(ask, "question", SEQUENCES, named="always")
_sequence = partial(ask, "sequence", SEQUENCES, named="never")
_hiding = partial(ask, "property", PROPERTY, named="never")


@cache
def texts() -> Mapping[str, Mapping[str, Any]]:
    """What options say: {form or command: {name: the help, or what the option states with it}}."""
    return tomllib.loads(resources.files("fugu").joinpath("options.toml").read_text("utf-8"))


@lru_cache
def facts(form: type[Any]) -> Mapping[str, Ask]:
    """{field: what it states} of a dataclass whose fields are asked."""
    said = texts()[form.__name__]
    return {found.name: replace(found.metadata["ask"], help=said[found.name]) for found in fields(form)}


@lru_cache
def defaults(form: type[Any]) -> Mapping[str, Any]:
    """{field: what it is where nothing is given}."""
    listed: tuple[Field[Any], ...] = fields(form)
    return {found.name: found.default for found in listed}


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class Question(Shown):
    """What is published, what is secret of it, what is believed, and the budget: a scenario file as an object.

    Each field is an option of `fugu release`, with an underscore for a dash, and is a text as it would be typed there.
    Numbers, lists, pairs and tables by column are taken for the texts that they stand for.

    >>> Question(query=["count", "mean(chol) by sex"], protect="sex", bounds={"chol": (100, 600)}, epsilon=0.5).bounds
    'chol:100:600'
    >>> Question(query="mean(chol)", protect="sex").kind, Question(publish="chol").kind
    ('statistics', 'column')
    >>> Question(publish="chol", step="5").refuse()
    Traceback (most recent call last):
    ...
    fugu.errors.UsageError: --step: for --query only; leave it out (see Statistics in --help-all)
    """

    publish: str | None = ask("question", COLUMN, named="never", like="chol", first=4, metavar="COLUMN")
    query: str | None = ask(
        "question", STATISTICS, SEQUENCES, named="never", like="mean(chol)", first=3, metavar="QUESTIONS"
    )
    weights: str | None = ask("question", STATISTICS, SEQUENCES)
    route: str | None = ask("question", STATISTICS, words=(RECORDS, LAW), named="never")
    by: str | None = ask("question", STATISTICS, SEQUENCES, named="always")
    bounds: str | None = ask("question", STATISTICS, SEQUENCES, PROPERTY, named="always", first=5, metavar="LOW,HIGH")
    step: str | None = ask("question", STATISTICS, named="always")
    bins: str | None = ask("question", COLUMN, STATISTICS, SEQUENCES, named="always", like=20)
    missing: str = ask("question", COLUMN, STATISTICS, PROPERTY, default="error", named="always", like="drop")
    unit: str | None = ask("question", COLUMN, STATISTICS, named="always", like="patient", first=6, metavar="COLUMN")
    order: str | None = _entry(first=2, metavar="COLUMN")
    state: str | None = _entry(first=2, metavar="COLUMN")
    start: str = _entry(default="fitted", words=("fitted", "any", "stationary"))
    smoothing: float = _entry(default=0.0)
    length: int | None = _entry()
    other: str | None = _entry()
    clip: str | None = ask("question", COLUMN, like=[0, 100])
    round: str | None = ask("question", COLUMN, like=1)
    repeats: str | None = _sequence(words=("refuse", "first", "last", "rows"))
    columns: str | None = _sequence()
    end: str | None = _sequence()
    every: str | None = _sequence()
    between: str | None = _sequence()
    overlaps: str | None = _sequence(words=("refuse", "first", "last"))
    backwards: str | None = _sequence(words=("refuse", "drop"))
    gaps: str | None = _sequence(words=("said", "modelled"))
    inside: str | None = _sequence(words=("public", "secret"))
    chain: str | None = ask("sequence", SEQUENCES, named="given", metavar="JSON")
    hide: str | None = _hiding()
    statistics: str | None = _hiding()
    size: int | None = _hiding()
    tolerance: str = _hiding(default="0.1")
    shares: str | None = _hiding()
    law_error: str = _hiding(default="0", named="given")
    laws: str | None = ask("", COLUMN, title=_PANELS["secrets"], metavar="JSON")
    protect: str | None = ask("secrets", COLUMN, STATISTICS, named="always", like="smoker", first=2, metavar="COLUMN")
    pairs: str = ask("secrets", COLUMN, default="all", words=("all", "adjacent"), named="always", like="all")
    prior: str = ask(
        "beliefs", COLUMN, default="empirical", words=("empirical", "gaussian", "mixture", "shared"), named="always",
        like="empirical",
    )  # fmt: skip
    components: int | None = ask("beliefs", COLUMN, named="always")
    confidence: str | None = ask("beliefs", COLUMN, SEQUENCES, like=0.95)
    shift: str = ask("beliefs", COLUMN, default="0", named="never")
    public_reference: bool = ask("beliefs", default=False, named="never")
    public_prior: bool = ask("beliefs", default=False, named="always", name="public prior")
    epsilon: str = ask("budget", default="", named="always", like=0.5, first=7, metavar="NUMBER")
    delta: str = ask("budget", default="0", named="always", like=0.001)
    alpha: str | None = ask("budget", named="always")
    error: float | None = ask("budget", COLUMN, STATISTICS, named="never")
    mechanism: str = ask("noise", COLUMN, default="noise", words=("noise", "optimal"))
    noise: str = ask(
        "noise", COLUMN, SEQUENCES, default="best", words=("best", "laplace", "gaussian", "atoms"), named="always",
        like="best", reads=own_noise,
    )  # fmt: skip
    method: str = ask(
        "noise", COLUMN, SEQUENCES, PROPERTY, default="best", named="always", like="best", reads=own_method,
    )  # fmt: skip
    grid: str = ask("noise", COLUMN, default="auto", named="always")
    remap: str | None = ask("noise", COLUMN, words=("absolute", "squared", "zero-one"), metavar="LOSS")
    loss: str | None = ask("noise", COLUMN, words=("absolute", "squared", "zero-one"))
    cap: str | None = ask("noise", COLUMN, STATISTICS)
    allow_no_noise: bool = ask("noise", default=False, named="never", like=True)
    reference: str | None = ask("data", named="never", like="reference.csv", first=1, metavar="REFERENCE")
    table: str | None = ask("data", named="never", like="today.csv")
    rows: int | None = ask("data", COLUMN, STATISTICS, PROPERTY, named="never")
    schema: str | None = ask("", named="never", title=_PANELS["data"], metavar="FILE")
    no_header: bool = ask("", default=False, named="never", title=_PANELS["data"])

    def __post_init__(self) -> None:
        for found in fields(self):
            value, reads = getattr(self, found.name), found.metadata["ask"].reads
            if str(found.type).startswith("str") and not isinstance(value, str | None):
                try:
                    value = as_text(found.name, value)
                except UsageError as error:
                    frames = "; frames go to a session, fugu.Session(table, reference, ...)"
                    asks = f"the name of a file is expected{frames}" if found.name in ("table", "reference") else error
                    raise UsageError(f"{found.name}: {asks}") from None
            object.__setattr__(self, found.name, value if reads is None else reads(value))
        if self.table == self.reference == "-":
            raise UsageError("- is one table: TABLE and --reference cannot both come from standard input")

    def __repr__(self) -> str:
        return f"Question({', '.join(f'{name}={said!r}' for name, said in self.to_json().items())})"

    def to_json(self) -> Json:
        """What is given, by field: a plan for `fugu.release`."""
        return {found.name: getattr(self, found.name) for found in fields(self) if self.given(found.name)}

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Question:
        """The question of a scenario file, whose paths are relative to it; `UsageError` says what is wrong with it."""
        found: Question = import_module(_FILES).load_question(path)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a scenario file to `path` that `load` and every command read; its paths are relative to it."""
        import_module(_FILES).save_question(self, path)

    def to_toml(self) -> str:
        """What `save` writes into a file of the working directory."""
        return str(import_module(_FILES).question_text(self))

    @cached_property
    def kind(self) -> Route:
        """What is published: a column, statistics, something of sequences, or what hides a property."""
        if self.hide is not None:
            return PROPERTY
        if self.sequential:
            return SEQUENCES
        return COLUMN if self.query is None else STATISTICS

    @property
    def sequential(self) -> bool:
        """Whether rows are read as entries of sequences."""
        return self.state is not None or self.order is not None or self.columns is not None

    @property
    def by_hand(self) -> bool:
        """Whether what is believed is stated, and nothing is fitted on a table."""
        return self.laws is not None or self.chain is not None

    @property
    def published(self) -> str:
        """The column; UsageError where it is not the one thing that is asked for."""
        if self.laws is not None and self.query is None:
            return self.publish or "value"
        if self.publish is None or self.query is not None:
            raise UsageError("say what to publish: --publish COLUMN, or --query 'mean(COLUMN)'; one of the two")
        return self.publish

    @property
    def secret(self) -> str:
        """What is to be hidden; UsageError where nobody says it."""
        if self.laws is not None:
            return "secret"
        if self.protect is None:
            raise UsageError("say what is secret: --protect COLUMN; or give --order and --state for sequences")
        return self.protect

    @property
    def asked(self) -> str:
        """The questions about sequences or of a table; UsageError where there is none."""
        if self.query is None:
            raise UsageError("sequences need --query QUERY, such as top3 or histogram")
        return self.query

    def given(self, name: str) -> bool:
        """Whether a field says anything."""
        return bool(getattr(self, name) != defaults(Question)[name])

    def refuse(self, *more: str, beside: object = None) -> None:
        """UsageError for what is given and is not for what is asked, with the panel where it belongs.

        `more`: fields that the command does not take for this either; `beside`: a form of the command's own."""
        kind = self.kind
        wrong: dict[str, list[tuple[str, Ask]]] = {}
        for form in (self, *(() if beside is None else (beside,))):
            usual = defaults(form.__class__)
            for name, said in facts(form.__class__).items():
                misfit = name in more or (said.routes and kind not in said.routes)
                if misfit and getattr(form, name) != usual[name]:
                    why = _NOT[kind] if kind == PROPERTY else _ONLY.get(said.routes, _NOT[kind])
                    wrong.setdefault(why, []).append((name, said))
        for why in (*_ONLY.values(), _NOT[kind]):
            if listed := wrong.get(why):
                shown = ", ".join((said.flag or f"--{name.replace('_', '-')}").split()[0] for name, said in listed)
                panels = ", ".join(dict.fromkeys(said.panel for _, said in listed))
                raise UsageError(f"{shown}: {why}; leave it out (see {panels} in --help-all)")

    def told(
        self, schema: Mapping[str, object] | None, sequence: Mapping[str, object] | None, wording: Mapping[str, object]
    ) -> dict[str, object]:
        """What the name of a request is a digest of.

        `schema`, `sequence`: what the columns mean and how rows become entries, in JSON types, the latter None where
        nothing is said of it; `wording`: the questions of a query as they are read. Old requests keep their names:
        what was added later counts only where it is given."""
        said = {
            ask.name or name: getattr(self, name) for name, ask in facts(Question).items()
            if ask.named == "always" or (ask.named == "given" and self.given(name))
        }  # fmt: skip
        said |= {"what": self.query or self.publish, "schema": schema, **wording}
        said |= {} if self.confidence is None else {"shift": self.shift}
        said |= {} if sequence is None else {"sequence": sequence}
        if self.hide is not None:
            said |= {name: getattr(self, name) for name in ("hide", "statistics", "size", "tolerance", "shares")}
            said["what"] = self.statistics
        return said


_ONLY: dict[tuple[Route, ...], str] = {
    (PROPERTY,): "for --hide only", (SEQUENCES,): "for sequences only (--order and --state)"
}  # fmt: skip
_NOT: dict[Route, str] = {
    PROPERTY: "not with --hide", SEQUENCES: "not for sequences", STATISTICS: "for columns only, not with --query",
    COLUMN: "for --query only",
}  # fmt: skip
_FILES = "fugu.releasing.scenario_file"
_BY_COLUMN = ("bounds", "step", "bins")
"""Fields that may say something of each column."""


def as_text(key: str, value: object) -> str:
    """The text of an option: numbers as they are written, lists with commas, pairs with colons, a table as JSON.

    >>> as_text("bounds", [0, 400.5]), as_text("pairs", [["F", "M"], ["F", "X"]]), as_text("bounds", {"age": [0, 110]})
    ('0,400.5', 'F:M,F:X', 'age:0:110')
    """
    if isinstance(value, str | date | os.PathLike):
        return value.isoformat() if isinstance(value, date) else str(os.fspath(value))
    if isinstance(value, Number) and not isinstance(value, bool):
        return repr(float(value)) if isinstance(value, float) else str(value)
    told = key in ("laws", "chain") or (key == "protect" and isinstance(value, dict))
    if told and isinstance(value, dict | list) and value:
        return json.dumps(value, default=str, ensure_ascii=False)  # by secret
    if isinstance(value, list | tuple) and value:
        if key == "query" and all(isinstance(item, str) for item in value):
            return "; ".join(value)  # each of a list stands alone
        return ",".join(":".join(map(_item, x)) if isinstance(x, list | tuple) else _item(x) for x in value)
    if isinstance(value, dict) and value and key in _BY_COLUMN:
        parts = ((name, *(x if isinstance(x, list | tuple) else [x])) for name, x in value.items())
        return ",".join(":".join(map(_item, part)) for part in parts)
    raise UsageError("a text, a number, a truth value or a list of them is expected")


def _item(value: object) -> str:
    text = as_text("", value)
    if isinstance(value, list | tuple) or set(text) & {",", ":", "\n"}:
        raise UsageError(f"a part of a list cannot have a comma or a colon in it: {brief(text, 40)}")
    return text
