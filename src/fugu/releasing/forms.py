"""What a command, or a call, is told beside a question: books, where things go, a training, a property to look at.

Like those of `Question`, each field is an option of the commands that take the form, and a key of scenario files where
it names a section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from fugu.aliases import own_method
from fugu.question import ask

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
