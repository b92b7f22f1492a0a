"""The commands that take forms, and these forms: which fields each has an option for. What a command does is a function
of its name in the file that it names first, which is imported when it is run.

A form is what a command is told beside a question: books, where things go, a training, a property to look at. Like
those of `Question`, each field is an option, and a key of scenario files where it names a section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from fugu.aliases import own_method
from fugu.cli.asking import asks
from fugu.question import COLUMN, SEQUENCES, STATISTICS, Question, ask

_LEDGER, _OUTPUT, _TABLES, _MODEL, _BELIEFS = "Ledger", "Output", "Tables", "The model", "Secrets and beliefs"


@final
@dataclass(frozen=True, kw_only=True)
class Booking:
    """Which ledger is charged, under which names, and its budget."""

    data: str | None = ask("data", key="name", like="visits", title=_LEDGER)
    ledger: str | None = ask("data", like="ledger.db", title=_LEDGER, first=9)
    no_ledger: bool = ask("data", default=False, title=_LEDGER)
    request: str | None = ask("data", title=_LEDGER)
    other_people: list[str] | None = ask("data", metavar="NAME", title=_LEDGER)
    total: str | None = ask("budget", flag="--budget", title=_LEDGER)
    budget_delta: str | None = ask("budget", title=_LEDGER)


@final
@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Where a release goes, and what is done before it."""

    output: str | None = ask(
        "data", flag="--output -o", like="published.csv", title=_OUTPUT, first=10, metavar="OUT.csv"
    )
    dry_run: bool = ask("", default=False, title=_OUTPUT, first=11)
    report: str | None = ask("", title=_OUTPUT)
    attack: bool = ask("", default=False, title=_OUTPUT)
    no_check: bool = ask("", default=False, title=_OUTPUT)
    force: bool = ask("", default=False, title=_OUTPUT, first=12)
    as_json: bool = ask("", default=False, flag="--json", title=_OUTPUT, first=13)


@final
@dataclass(frozen=True, kw_only=True)
class Comparing:
    """What `fugu compare` is told beside a question."""

    figure: str | None = ask("", COLUMN, first=10)
    rows_within: str | None = ask("", COLUMN)
    users: int | None = ask("", SEQUENCES)


@final
@dataclass(frozen=True, kw_only=True)
class Training:
    """What `fugu train` is told of the model, its rows and its budget."""

    target: str = ask("training", default="", title=_MODEL, first=1)
    features: str | None = ask("training", title=_MODEL, first=2)
    model: str | None = ask("training", words=("linear", "logistic", "svc"), title=_MODEL)
    prior: str = ask(
        "training", default="", words=("independent", "markov", "groups", "group"), title=_BELIEFS, first=3
    )
    order: str | None = ask("training", title=_BELIEFS)
    by: str | None = ask("training", title=_BELIEFS)
    state: str | None = ask("training", title=_BELIEFS)
    smoothing: float = ask("training", default=0.0, title=_BELIEFS)
    start: str = ask("training", default="fitted", words=("fitted", "any", "stationary"), title=_BELIEFS)
    bounds: list[str] | None = ask("training", title=_MODEL, first=4)
    max_norm: float | None = ask("training", title=_MODEL)
    classes: str | None = ask("training", title=_MODEL)
    private: str = ask("training", default="both", words=("both", "features", "target"), title=_BELIEFS)
    public_table: bool = ask("training", default=False, title=_TABLES)
    rehearse: bool = ask("training", default=False, title=_OUTPUT, first=11)
    folds: int | None = ask("training", title=_OUTPUT)
    output: str | None = ask("training", flag="--output -o", title=_OUTPUT, first=10)


@final
@dataclass(frozen=True, kw_only=True)
class Sharing:
    """What `fugu property` is told: statistics, the property that they hide, and how noise is looked for."""

    statistics: list[str] | None = ask("property", first=2)
    hide: str = ask("property", default="", first=1)
    size: int = ask("property", default=0, first=3)
    tolerance: str = ask("property", default="0.1", first=4)
    values: str | None = ask("property")
    bounds: list[str] | None = ask("property", first=5)
    replacement: bool = ask("property", default=True, flag="--replacement/--no-replacement")
    missing: str = ask("property", default="error")
    method: str = ask("property", default="best", reads=own_method)
    declared_exact: bool = ask("property", default=False)
    floor: float | None = ask("property")
    no_attack: bool = ask("property", default=False)
    sweep: bool = ask("property", default=False)
    draws: int = ask("property", default=100_000)


FORMS = (Booking, Delivery, Training, Sharing)


_BELIEVED = "table rows public_reference public_prior allow_no_noise"
"""What is said of a release alone."""


@asks(
    "calibrating", COLUMN, need="reference publish protect error",
    leave=f"{_BELIEVED} epsilon delta alpha noise method grid remap clip round",
)  # fmt: skip
def plan(question: Question, as_json: bool = False) -> None:
    """Find the least epsilon whose mechanism has at most this expected error."""


@asks("calibrating", COLUMN, need="reference publish protect epsilon", leave=f"{_BELIEVED} error")
def calibrate(
    question: Question,
    output: str | None = None,
    report: str | None = None,
    attack: bool = False,
    as_json: bool = False,
) -> None:
    """Find and prove the least noise; nothing is released. TABLE is the reference that beliefs are fitted on."""


@asks(
    "calibrating", COLUMN, STATISTICS, SEQUENCES, need="reference epsilon",
    leave="table public_reference public_prior allow_no_noise error route noise method remap clip round other",
)  # fmt: skip
def compare(question: Question, more: Comparing, as_json: bool = False) -> None:
    """Show every method's noise side by side. TABLE is the reference that beliefs are fitted on."""


@asks("releasing", need="epsilon", leave="error", argument="table")
def release(question: Question, books: Booking, delivery: Delivery) -> None:
    """Publish statistics or a column of TABLE, or of its sequences: OUT.csv, its certificate and its page."""


@asks(
    "influence", SEQUENCES, need="reference epsilon", metavar="SEQ",
    leave=f"{_BELIEVED} query weights bounds other delta alpha error noise method", first="by",
)  # fmt: skip
def influence(question: Question, plot: str | None = None, as_json: bool = False) -> None:
    """Fit a chain on SEQ: its influence curve, and the largest epsilon for each entry that keeps EPSILON."""


@asks("outside", only="table reference schema no_header unit", need="table", argument="table")
def check(question: Question, ledger: str | None = None, as_json: bool = False) -> None:
    """How your own TABLE is read, column by column, and what of it is elsewhere too: for your eyes, not to publish."""


@asks("property", only="reference epsilon delta alpha", need="reference statistics hide size epsilon")
def property_(
    question: Question, sharing: Sharing, figure: str | None = None, output: str | None = None, as_json: bool = False
) -> None:
    """Hide a property of the whole: noise, record swap and attack, from a reference TABLE. Nothing is released."""


@asks(
    "train", only="table reference schema no_header unit epsilon delta", need="target epsilon prior", argument="table"
)
def train(question: Question, training: Training, books: Booking, force: bool = False, as_json: bool = False) -> None:
    """Train a private model of TABLE once, with its certificate; utility is measured on public rows only.

    The training is charged to a ledger before its first step: the same command gives the same model back, and another
    training of the same rows is refused."""
