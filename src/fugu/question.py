"""`Question`: what is asked, once. Options, help, refusals, scenario files and the names of requests are read off it.

A field states its help, its section of a scenario file and the routes that it is for. Whoever adds one writes one
line: every command that asks for such a thing takes the option, every scenario file the key, and the name of a request
counts it where it is given, so that no earlier request gets another name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, final

from fugu.aliases import own_method, own_noise
from fugu.errors import UsageError

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
    `title`: its panel of the help, if other than what section and routes say."""

    help: str
    section: str = ""
    routes: tuple[Route, ...] = ()
    flag: str = ""
    words: tuple[str, ...] = ()
    named: Named = "given"
    name: str = ""
    key: str = ""
    like: Any = None
    reads: Callable[[str], str] | None = None
    title: str = ""
    metavar: str | None = None

    @property
    def panel(self) -> str:
        """Where the help lists it."""
        return self.title or _PANELS.get(
            self.routes[0] if self.section in _LISTED and self.routes else self.section, ""
        )


def ask(help: str, section: str, *routes: Route, default: Any = None, **more: Any) -> Any:
    """A field with its facts; see `Ask`."""
    return field(default=default, metadata={"ask": Ask(help, section, routes, **more)})


def _entry(help: str, **more: Any) -> Any:
    return ask(help, "question", SEQUENCES, named="always", **more)


def _sequence(help: str, **more: Any) -> Any:
    return ask(help, "sequence", SEQUENCES, named="never", **more)


def _hiding(help: str, **more: Any) -> Any:
    return ask(help, "", PROPERTY, named="never", **more)


@lru_cache
def facts(form: type[Any]) -> Mapping[str, Ask]:
    """{field: what it states} of a dataclass whose fields are asked."""
    return {found.name: found.metadata["ask"] for found in fields(form)}


@lru_cache
def defaults(form: type[Any]) -> Mapping[str, Any]:
    """{field: what it is where nothing is given}."""
    listed: tuple[Field[Any], ...] = fields(form)
    return {found.name: found.default for found in listed}


@final
@dataclass(frozen=True, kw_only=True)
class Question:
    """What is published, what is secret of it, what is believed, and the budget; texts as they were typed.

    >>> Question(query="mean(chol)", protect="sex").kind, Question(publish="chol").kind
    ('statistics', 'column')
    >>> Question(publish="chol", step="5").refuse()
    Traceback (most recent call last):
    ...
    fugu.errors.UsageError: --step: for --query only; leave it out (see Statistics in --help)
    """

    publish: str | None = ask("The column to publish, row by row.", "question", COLUMN, named="never", like="chol")
    query: str | None = ask(
        'Or statistics: "mean(chol)", "count, mean(age), histogram(ward) by sex" (all of the list by sex), "count; '
        'mean(age) by sex" (each by itself); of sequences: "top3", "histogram".',
        "question", STATISTICS, SEQUENCES, named="never", like="mean(chol)",
    )  # fmt: skip
    weights: str | None = ask(
        'With several questions: how they share epsilon, "2,1,1"; "error" for the least total error.',
        "question", STATISTICS, SEQUENCES,
    )  # fmt: skip
    route: str | None = ask(
        'With --query: "records" (many questions, one budget; pure epsilon) or "law" (one question, and no other '
        "release of the table); records if left out, where it can be.",
        "question", STATISTICS, words=(RECORDS, LAW), named="never",
    )  # fmt: skip
    by: str | None = ask(
        "With --query: the public column that groups the rows; sequences: the user, left out where the file is one "
        "user's sequence.",
        "question", STATISTICS, SEQUENCES, named="always",
    )  # fmt: skip
    bounds: str | None = ask(
        'With --query: values are clipped to these, "0,400" or "age:0:110,bmi:10:60".',
        "question", STATISTICS, SEQUENCES, PROPERTY, named="always",
    )  # fmt: skip
    step: str | None = ask(
        'With --query: values are rounded to this step, "5" or "age:5,chol:10".',
        "question", STATISTICS, named="always",
    )  # fmt: skip
    bins: str | None = ask(
        'Discretise the published column: "20", edges "0,10,20", ordering "low,mid,high"; sequences: cut points '
        '"0,200,400", or bins of one width "LOW:HIGH:STEP".',
        "question", COLUMN, STATISTICS, SEQUENCES, named="always", like=20,
    )  # fmt: skip
    missing: str = ask(
        'Missing values: "error", "drop", or the value they count as.',
        "question", COLUMN, STATISTICS, PROPERTY, default="error", named="always", like="drop",
    )  # fmt: skip
    unit: str | None = ask(
        "The column that names the person; it must not repeat. Left out, one row is one person.",
        "question", COLUMN, STATISTICS, named="always", like="patient",
    )  # fmt: skip
    order: str | None = _entry("Sequences: the column of times, by which a user's rows are ordered.")
    state: str | None = _entry("Sequences: the column of states, the entries of a sequence.")
    start: str = _entry(
        "Sequences: the law of the first entry: fitted (one sequence fits none: any), any, stationary.",
        default="fitted",
        words=("fitted", "any", "stationary"),
    )
    smoothing: float = _entry("Sequences: added to every transition count; makes another prior.", default=0.0)
    length: int | None = _entry("Sequences: the length of those to be released, if longer.")
    other: str | None = _entry("Sequences: the state that unknown states count as.")
    clip: str | None = ask(
        'Move released values into this range, "0,100"; free, a function of what goes out.',
        "question", COLUMN, like=[0, 100],
    )  # fmt: skip
    round: str | None = ask(
        "Round released values to multiples of this, in days for dates; free.", "question", COLUMN, like=1
    )
    repeats: str | None = _sequence(
        "Sequences: rows of one user at one time: refuse, first, last, or rows (all, as in the file).",
        words=("refuse", "first", "last", "rows"),
    )
    columns: str | None = _sequence(
        'Sequences: wide tables, a column for each time: "Jul.93:Jun.99", "m*", or "m1,m2,m3".'
    )
    end: str | None = _sequence("Sequences: intervals end in this column; they begin at --order.")
    every: str | None = _sequence('Sequences: the step of a regular grid: "1h", "30min", "1d", or a number.')
    between: str | None = _sequence("Sequences: the state where no interval is; left out, that is refused.")
    overlaps: str | None = _sequence(
        "Sequences: of intervals that overlap, the one that begins first or last; refuse.",
        words=("refuse", "first", "last"),
    )
    backwards: str | None = _sequence(
        "Sequences: intervals that end before they begin: refuse or drop.", words=("refuse", "drop")
    )
    gaps: str | None = _sequence(
        "Sequences: missing steps are said, or modelled by the chain (with --every).", words=("said", "modelled")
    )
    inside: str | None = _sequence(
        "Sequences: whether it is public or secret when states change inside a record.", words=("public", "secret")
    )
    hide: str | None = _hiding('Hide which share of all records has this: "smoker=yes"; with --statistics.')
    statistics: str | None = _hiding('With --hide: what is published, "mean(chol),count(sex=F)".')
    size: int | None = _hiding("With --hide: the number of records, which is public; refused if TABLE differs.")
    tolerance: str = _hiding("With --hide: shares that differ by at most this look alike.", default="0.1")
    shares: str | None = _hiding('With --hide: only these shares, "0.45,0.55".')
    protect: str | None = ask(
        'What is secret: "sex", "sex,ward", "sex=Male", "age>=65", "born<1960-01-01", cut points "age:18,40,65".',
        "secrets", COLUMN, STATISTICS, named="always", like="smoker",
    )  # fmt: skip
    pairs: str = ask(
        'Which secrets must look alike: "all", "adjacent", or "F:M,F:X".',
        "secrets", COLUMN, default="all", words=("all", "adjacent"), named="always", like="all",
    )  # fmt: skip
    prior: str = ask(
        "Beliefs fitted on the reference: empirical (the counts themselves), gaussian, mixture, shared.",
        "beliefs", COLUMN, default="empirical", words=("empirical", "gaussian", "mixture", "shared"), named="always",
        like="empirical",
    )  # fmt: skip
    components: int | None = ask(
        "Bells of a mixture or shared prior; left out, BIC chooses for a mixture.", "beliefs", COLUMN, named="always"
    )
    confidence: str | None = ask(
        "Hold for every law that the reference cannot rule out at this level, e.g. 0.95.",
        "beliefs", COLUMN, SEQUENCES, like=0.95,
    )  # fmt: skip
    shift: str = ask(
        "With --confidence: total variation between the reference's population and the table's.",
        "beliefs", COLUMN, default="0", named="never",
    )  # fmt: skip
    public_reference: bool = ask(
        "The reference is public: publish its plain SHA-256.", "beliefs", default=False, named="never"
    )
    public_prior: bool = ask(
        "Fit beliefs on TABLE itself; the private part holds its exact counts.",
        "beliefs", default=False, named="always", name="public prior",
    )  # fmt: skip
    epsilon: str = ask(
        "How much may be learnt: odds change by at most e^epsilon.", "budget", default="", named="always", like=0.5
    )
    delta: str = ask("Slack in probability; 0 for a pure guarantee.", "budget", default="0", named="always", like=0.001)
    alpha: str | None = ask(
        "Order of a Renyi budget, above 1: epsilon then bounds the Renyi divergence.", "budget", named="always"
    )
    error: float | None = ask("The expected absolute error you can live with.", "budget", COLUMN, named="never")
    mechanism: str = ask(
        "noise, or optimal: the channel of least error for exactly these beliefs.",
        "noise", COLUMN, default="noise", words=("noise", "optimal"),
    )  # fmt: skip
    noise: str = ask(
        "best, laplace, gaussian, or atoms, which keeps to the support (cauchy: analysis).",
        "noise", COLUMN, SEQUENCES, default="best", words=("best", "laplace", "gaussian", "atoms"), named="always",
        like="best", reads=own_noise,
    )  # fmt: skip
    method: str = ask(
        "best, exact, relaxed, relaxed-paper, closeness, wasserstein, l1, transport, ...: best takes the least noise "
        "that is proved.",
        "noise", COLUMN, SEQUENCES, PROPERTY, default="best", named="always", like="best",
        reads=own_method,
    )  # fmt: skip
    grid: str = ask(
        'Lattice step of the noise, e.g. "0.1" or "1/3"; "auto" finds it.',
        "noise", COLUMN, default="auto", named="always",
    )  # fmt: skip
    remap: str | None = ask(
        "Move outputs to the value of least expected loss under the beliefs: absolute, squared, zero-one.",
        "noise", COLUMN, words=("absolute", "squared", "zero-one"), metavar="LOSS",
    )  # fmt: skip
    loss: str | None = ask(
        "With --mechanism optimal: the loss made least, absolute, squared or zero-one.",
        "noise", COLUMN, words=("absolute", "squared", "zero-one"),
    )  # fmt: skip
    cap: str | None = ask(
        "The most epsilon against anybody, whatever is believed; with --query five times the budget if left out.",
        "noise", COLUMN, STATISTICS,
    )  # fmt: skip
    allow_no_noise: bool = ask(
        "Publish exact values: no noise is needed, or it is mostly 0.", "noise", default=False, named="never", like=True
    )
    reference: str | None = ask(
        "The table that beliefs are fitted on: public, or at least not the one released.",
        "data", named="never", like="reference.csv",
    )  # fmt: skip
    table: str | None = ask(
        "The private table, a CSV or Parquet file.",
        "data", named="never", like="today.csv",
    )  # fmt: skip
    rows: int | None = ask(
        "The number of rows of the private table, which is public: what is shown before it is opened is for that many; "
        "the reference's number if left out.",
        "data", COLUMN, STATISTICS, PROPERTY, named="never",
    )  # fmt: skip
    schema: str | None = ask(
        "What the columns mean: the \\[schema] part of a TOML file.",
        "", named="never", title=_PANELS["data"], metavar="FILE",
    )  # fmt: skip
    no_header: bool = ask(
        "The table has no line of names: they are the schema's, or the reference's.",
        "", default=False, named="never", title=_PANELS["data"],
    )  # fmt: skip

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
    def published(self) -> str:
        """The column; UsageError where it is not the one thing that is asked for."""
        if self.publish is None or self.query is not None:
            raise UsageError("say what to publish: --publish COLUMN, or --query 'mean(COLUMN)'; one of the two")
        return self.publish

    @property
    def secret(self) -> str:
        """What is to be hidden; UsageError where nobody says it."""
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

    def refuse(self, *more: str, beside: Any = None) -> None:
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
                raise UsageError(f"{shown}: {why}; leave it out (see {panels} in --help)")

    def told(self, schema: Any, sequence: Any, wording: Mapping[str, Any]) -> dict[str, Any]:
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
