"""The commands that take forms, and these forms: which fields each has an option for; bodies are imported when run.

A form is what a command is told beside a question: books, where things go, a training, a property to look at. Like
those of `Question`, each field is an option, and a key of scenario files where it names a section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

import typer

from fugu.aliases import own_method
from fugu.cli.asking import asks
from fugu.question import COLUMN, SEQUENCES, STATISTICS, Question, ask

_LEDGER, _OUTPUT, _TABLES, _MODEL, _BELIEFS = "Ledger", "Output", "Tables", "The model", "Secrets and beliefs"
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist; never a ledger's refusal.")]


@final
@dataclass(frozen=True, kw_only=True)
class Booking:
    """Which ledger is charged, under which names, and its budget."""

    data: str | None = ask(
        "The name of the data, in ledger and certificate; the file's if left out.",
        "data", key="name", like="visits", title=_LEDGER,
    )  # fmt: skip
    ledger: str | None = ask(
        "The ledger that is charged; your own (FUGU_LEDGER) if left out.", "data", like="ledger.db", title=_LEDGER
    )
    no_ledger: bool = ask(
        "Charge no ledger: nothing then prevents a second release.", "data", default=False, title=_LEDGER
    )
    request: str | None = ask(
        "The name of this request in the ledger; a digest of the question if left out.", "data", title=_LEDGER
    )
    other_people: list[str] | None = ask(
        "A data set of the ledger whose people are others than those of TABLE, whatever ids or rows say: your word, "
        "which the ledger records and the certificate prints. May be given again.",
        "data", metavar="NAME", title=_LEDGER,
    )  # fmt: skip
    total: str | None = ask("Epsilon of all requests; --epsilon if left out.", "budget", flag="--budget", title=_LEDGER)
    budget_delta: str | None = ask(
        "Delta of all requests, beside --budget: trainings and statistics then share one budget.",
        "budget", title=_LEDGER,
    )  # fmt: skip


@final
@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Where a release goes, and what is done before it."""

    output: str | None = ask(
        "Where the published file goes (OUT.csv); --dry-run goes without it.",
        "data", flag="--output -o", like="published.csv", title=_OUTPUT,
    )  # fmt: skip
    dry_run: bool = ask(
        "Calibrate and prove; no private table is opened, nothing released or written.",
        "",
        default=False,
        title=_OUTPUT,
    )
    report: str | None = ask(
        "Also write the page to sign here (HTML), from what is public before TABLE is opened.", "", title=_OUTPUT
    )
    attack: bool = ask(
        "Attack the noise first; what it reaches is shown on the page.", "", default=False, title=_OUTPUT
    )
    no_check: bool = ask(
        "Do not check how TABLE is read, for your eyes, before it is released.", "", default=False, title=_OUTPUT
    )
    force: bool = ask("Overwrite files that exist; never a ledger's refusal.", "", default=False, title=_OUTPUT)
    as_json: bool = ask("Print the result as JSON.", "", default=False, flag="--json", title=_OUTPUT)


@final
@dataclass(frozen=True, kw_only=True)
class Comparing:
    """What `fugu compare` is told beside a question."""

    figure: str | None = ask(
        "Write a page with every method, and what other budgets would cost, here (HTML).", "", COLUMN
    )
    rows_within: str | None = ask(
        "Also show how many rows bring noise with confidence this near to that without, e.g. 0.1.", "", COLUMN
    )
    users: int | None = ask("Sequences: how many users the table to be released has; SEQ's if left out.", "", SEQUENCES)


@final
@dataclass(frozen=True, kw_only=True)
class Training:
    """What `fugu train` is told of the model, its rows and its budget."""

    target: str = ask("The column that the model predicts.", "training", default="", title=_MODEL)
    features: str | None = ask(
        'Columns such as "age,bmi"; else all numbers of --reference or --schema.', "training", title=_MODEL
    )
    model: str | None = ask(
        "linear, logistic or svc; else by what is declared or public of the target.",
        "training", words=("linear", "logistic", "svc"), title=_MODEL,
    )  # fmt: skip
    prior: str = ask(
        'What is believed about the other rows: "independent", "ar1:0.3", "mixing:0.3", "markov" (--state), "groups" '
        '(--by), or "group": anything at all.',
        "training", default="", words=("independent", "markov", "groups", "group"), title=_BELIEFS,
    )  # fmt: skip
    order: str | None = ask("The public column of times by which rows are sorted.", "training", title=_BELIEFS)
    by: str | None = ask("With --prior groups: the public column of groups.", "training", title=_BELIEFS)
    state: str | None = ask(
        "With --prior markov: the column of states, fitted on the reference.", "training", title=_BELIEFS
    )
    smoothing: float = ask(
        "With --prior markov: added to every transition count.", "training", default=0.0, title=_BELIEFS
    )
    start: str = ask(
        "With --prior markov: any start (fitted means that, as one sequence fits none), stationary.",
        "training", default="fitted", words=("fitted", "any", "stationary"), title=_BELIEFS,
    )  # fmt: skip
    bounds: list[str] | None = ask(
        'Public bounds of features and target: "age:0:100,bmi:10:60".', "training", title=_MODEL
    )
    max_norm: float | None = ask("A public bound on the length of a row of features.", "training", title=_MODEL)
    classes: str | None = ask('The two labels, such as "no,yes"; else of the reference.', "training", title=_MODEL)
    private: str = ask(
        "What of a row is private: both, features or target.",
        "training", default="both", words=("both", "features", "target"), title=_BELIEFS,
    )  # fmt: skip
    public_table: bool = ask("TABLE itself is public: compare models on it.", "training", default=False, title=_TABLES)
    rehearse: bool = ask(
        "Only compare on the reference; TABLE is not opened.", "training", default=False, title=_OUTPUT
    )
    folds: int | None = ask("Parts of the reference, each held out once; 5.", "training", title=_OUTPUT)
    output: str | None = ask(
        "Write the model here (JSON), its certificate beside it.", "training", flag="--output -o", title=_OUTPUT
    )


@final
@dataclass(frozen=True, kw_only=True)
class Sharing:
    """What `fugu property` is told: statistics, the property that they hide, and how noise is looked for."""

    statistics: list[str] | None = ask(
        'What is published: "mean(age)", "sum(hours)", "count(sex=Female)"; repeat it.', "property"
    )
    hide: str = ask('The property: "income=>50K", or a column with two values.', "property", default="")
    size: int = ask("The number of records of the data set to be published about.", "property", default=0)
    tolerance: str = ask("Shares that differ by at most this must look alike.", "property", default="0.1")
    values: str | None = ask('Only these shares, such as "0.45,0.55"; by default all.', "property")
    bounds: list[str] | None = ask('Clip a column before it is averaged: "age:17,90"; repeat it.', "property")
    replacement: bool = ask(
        "Records are drawn independently, or all different.",
        "property", default=True, flag="--replacement/--no-replacement",
    )  # fmt: skip
    missing: str = ask('Records with missing values: "error" or "drop".', "property", default="error")
    method: str = ask(
        "best, optimal, expected-value, directional, eigenvector, record-group, record-swap, ...",
        "property", default="best", reads=own_method,
    )  # fmt: skip
    declared_exact: bool = ask(
        "The laws are exactly normal: noise may leave out directions.", "property", default=False
    )
    floor: float | None = ask(
        "The least noise variance in every direction, each statistic in units of its own deviation.", "property"
    )
    no_attack: bool = ask("Leave out the attack.", "property", default=False)
    sweep: bool = ask("Also show the least error for other tolerances.", "property", default=False)
    draws: int = ask("Draws of the record swap; more of them find less noise.", "property", default=100_000)


FORMS = (Booking, Delivery, Training, Sharing)


_Attack = Annotated[
    bool, typer.Option("--attack", help="Attack the noise first; what it reaches is shown on the page.")
]
_BELIEVED = "table rows public_reference public_prior allow_no_noise"
"""What is said of a release alone."""


@asks(
    COLUMN, need="reference publish protect error",
    leave=f"{_BELIEVED} epsilon delta alpha noise method grid remap clip round",
)  # fmt: skip
def plan(question: Question, as_json: AsJson = False) -> None:
    """Find the least epsilon whose mechanism has at most this expected error."""
    from fugu.cli.calibrating import plan

    assert question.error is not None
    plan(question, question.error, as_json)


@asks(COLUMN, need="reference publish protect epsilon", leave=f"{_BELIEVED} error")
def calibrate(
    question: Question,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the certificate here (JSON).")] = None,
    report: Annotated[
        str | None, typer.Option(help="Write the page to sign before anything is released here (HTML).")
    ] = None,
    attack: _Attack = False,
    as_json: AsJson = False,
) -> None:
    """Find and prove the least noise; nothing is released. TABLE is the reference that beliefs are fitted on."""
    from fugu.cli.calibrating import calibrate

    calibrate(question, output, report, attack, as_json)


@asks(
    COLUMN, STATISTICS, SEQUENCES, need="reference epsilon",
    leave="table public_reference public_prior allow_no_noise error route noise method remap clip round other",
)  # fmt: skip
def compare(question: Question, more: Comparing, as_json: AsJson = False) -> None:
    """Show every method's noise side by side. TABLE is the reference that beliefs are fitted on."""
    from fugu.cli.calibrating import compare

    compare(question, more, as_json)


@asks(need="epsilon", leave="error", argument="table")
def release(question: Question, books: Booking, delivery: Delivery) -> None:
    """Publish a column or statistics of TABLE, or of its sequences: OUT.csv, its certificate and its page."""
    from fugu.cli.releasing import release

    release(question, books, delivery)


@asks(
    SEQUENCES, need="reference epsilon", metavar="SEQ",
    leave=f"{_BELIEVED} query weights bounds other delta alpha error noise method",
)  # fmt: skip
def influence(
    question: Question,
    plot: Annotated[str | None, typer.Option(metavar="OUT.html", help="Write a page with the curve.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a chain on SEQ: its influence curve, and the largest epsilon for each entry that keeps EPSILON."""
    from fugu.cli.influence import influence

    influence(question, plot, as_json)


@asks(only="table reference schema no_header unit", need="table", argument="table")
def check(
    question: Question,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="A ledger: which of its data sets hold the same people or rows.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How your own TABLE is read, column by column, and what of it is elsewhere too: for your eyes, not to publish."""
    from fugu.cli.releasing import check

    check(question, ledger, as_json)


@asks(only="reference epsilon delta alpha", need="reference statistics hide size epsilon")
def property_(
    question: Question,
    sharing: Sharing,
    figure: Annotated[str | None, typer.Option(help="Write error by tolerance, and the attack, here (HTML).")] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the certificate here (JSON).")] = None,
    as_json: AsJson = False,
) -> None:
    """Hide a property of the whole: noise, record swap and attack, from a reference TABLE. Nothing is released."""
    from fugu.cli.property import property_

    property_(question, sharing, figure, output, as_json)


@asks(only="table reference schema no_header unit epsilon delta", need="target epsilon prior", argument="table")
def train(
    question: Question, training: Training, books: Booking, force: Force = False, as_json: AsJson = False
) -> None:
    """Train a private model of TABLE once, with its certificate; utility is measured on public rows only.

    The training is charged to a ledger before its first step: the same command gives the same model back, and another
    training of the same rows is refused."""
    from fugu.cli.train import train

    train(question, training, books, force, as_json)
