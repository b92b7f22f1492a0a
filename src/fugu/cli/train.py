"""`fugu train`: a linear model of a private table, trained once, and what it is worth beside others on public rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fugu.cli import options
from fugu.cli.charging import Account, Through, account_of, data_name, ready, say_uncharged
from fugu.cli.console import print_json, progress
from fugu.cli.dispatch import PageFacts
from fugu.cli.forms import Booking, Training
from fugu.cli.train_data import RowBelief, TrainingColumns, TrainingRows, check_private, names_of, read_bounds
from fugu.cli.train_reading import Public, TrainingOptions, TrainingReading
from fugu.data import Schema
from fugu.errors import NotProvable, PriorNotPublic, UsageError
from fugu.guarantee import Approx
from fugu.publication.files import Beliefs, Files, Outgoing, drafted_text, publish
from fugu.question import Question
from fugu.training.record import SECRETS

if TYPE_CHECKING:
    from fugu.priors.coupling import Coupled as Prior

_FOLDS = 5


def train(question: Question, training: Training, books: Booking, force: bool, as_json: bool) -> None:
    """Read, rehearse, charge, train and write; what is wrong is found before the private table is opened."""
    table, output, public_table, rehearse = question.table, training.output, training.public_table, training.rehearse
    private, order, max_norm, folds = training.private, training.order, training.max_norm, training.folds
    files = None if output is None else _targets(output, force, table, question, books)
    source = _source(question, training)
    budget = _budget(question.epsilon, question.delta)
    belief = RowBelief.of(
        training.prior, order, training.by, training.state, training.smoothing, source, training.start
    )
    wanted = TrainingColumns(training.target, names_of(training.features, "--features"), order, training.by)
    given = Schema({}) if question.schema is None else Schema.load(question.schema)
    told = TrainingOptions(
        wanted, given, training.model, training.classes, read_bounds(training.bounds or []), max_norm
    )
    data = data_name(books.data, table or "")
    account = None if rehearse else _account(question, training, books, data, budget, given, files, as_json)
    from fugu.cli.train_output import TrainedModel, content, model_file, show
    from fugu.cli.train_rehearsal import costs
    from fugu.cli.train_rehearsal import rehearse as compare

    with progress():
        known = None if source is None else Public(given.open(source), Path(source).name)
        reading = TrainingReading.of(told, known)
        rules, labels = reading.rules, reading.rules.labels
        check_private(private, labels is None, belief)
        public = None if known is None else rules.public_rows(known.table, known.where, belief.ordered)
        if question.no_header:
            rules = reading.headless(told, known).rules
        rows = public if public_table else None
        opened = None if known is None else known.table
        if table is not None and not rehearse and not public_table:
            opened = rules.schema.open(table)
            rows = rules.rows(opened, Path(table).name, belief.ordered)
            _check_apart(rows, public)

        def make(some: TrainingRows) -> Any:
            believed = belief.prior(some, None if known is None else known.table)
            return _estimator(reading, budget, believed, max_norm, private)

        rehearsal = None
        if public is not None:
            parts, most = _FOLDS if folds is None else folds, None if rows is None else len(rows)
            rehearsal = compare(make, public, parts, order is not None, most)
        stand_in = rows if rows is not None else public
        assert stand_in is not None
        keeper = None if account is None or opened is None else Through(account, opened, rules.schema)
        fitted = make(stand_in).set_params(ledger=keeper)._fit(stand_in.features, stand_in.target, reading=rules.told)
        lines = costs(fitted, belief.text)
    found = TrainedModel(
        fitted, reading.kind, rules.wanted, budget, reading.limits, max_norm, lines, rehearsal, len(stand_in),
        None if rehearse or table is None else Path(table).name, None if source is None else Path(source).name,
        public_table, belief.text, () if files is None else tuple(map(str, files.all())),
        None if account is None else account.told(),
    )  # fmt: skip
    if files is not None:
        assert table is not None
        going = Outgoing(
            certificates={"": fitted.certificate_},
            table=table,
            data=data,
            rows=len(stand_in),
            recipe={
                "what": "training", "model": type(fitted).__name__, "target": training.target,
                "features": list(rules.wanted.features), "secret": SECRETS[private], "prior": belief.text,
            },
            skipped=None,
            beliefs=Beliefs(reference=source, public=public_table, released=public_table),
            ledger=None if account is None else account.entry(),
        )  # fmt: skip
        text = json.dumps(model_file(found), indent=1, ensure_ascii=False) + "\n"
        publish(files, going, drafted_text(files.published, text), None, PageFacts().after(files, account))
    if as_json:
        print_json(content(found))
    else:
        show(found)


def _check_apart(rows: TrainingRows, public: TrainingRows | None) -> None:
    if public is not None and rows.same(public):
        raise PriorNotPublic(
            "the reference holds the very rows to be trained on; give other rows, or --public-table to count those of "
            "TABLE as public"
        )


def _account(
    question: Question, training: Training, books: Booking, data: str, budget: Approx, given: Schema,
    files: Files | None, as_json: bool,
) -> Account | None:  # fmt: skip
    """What a training is charged to; None, said aloud, with --no-ledger. Its files must be ready for it."""
    named = ("prior", "model", "features", "order", "by", "state", "smoothing", "start", "bounds", "classes", "private")
    said = {
        "what": f"train {training.target}", "epsilon": question.epsilon, "delta": question.delta,
        "schema": given.to_json(), "header": not question.no_header, "max norm": training.max_norm,
        "public table": training.public_table, **{name: getattr(training, name) for name in named},
    }  # fmt: skip
    total = options.whole(books.total, books.budget_delta, question.delta)
    account = account_of(books, budget, total, data, said, None, question.unit)
    if files is not None:
        ready(files, account, as_json)
    say_uncharged(account, False)
    return account


def _budget(epsilon: str, delta: str) -> Approx:
    slack = options.number("delta", delta)
    if slack == 0:
        raise NotProvable("training adds Gaussian noise, and Gaussian noise needs a delta: give --delta, such as 1e-5")
    return Approx(options.number("epsilon", epsilon), slack)


def _targets(output: str, force: bool, table: str | None, question: Question, books: Booking) -> Files:
    """The model and what goes with it; no table is ever overwritten, and a model only with --force."""
    if not output.endswith(".json"):
        raise UsageError(f"the model is written as JSON; give a name that ends in .json, not {output!r}")
    files = Files(Path(output), force)
    for file in files.all():
        options.target(str(file), table, question.reference, question.schema, books.ledger)
    return files


def _source(question: Question, training: Training) -> str | None:
    """The file of public rows, if there is one."""
    table, reference, public_table = question.table, question.reference, training.public_table
    rehearse, folds = training.rehearse, training.folds
    if rehearse and (reference is None or public_table or training.output is not None):
        raise UsageError("--rehearse needs --reference and trains no model: give it without --public-table and -o")
    if table is None and not rehearse:
        raise UsageError("give the TABLE to train on, or --rehearse to compare models on --reference alone")
    if public_table and reference is not None:
        raise UsageError("--public-table takes TABLE itself as the reference; leave out one of the two")
    source = table if public_table else reference
    if folds is not None and source is None:
        raise UsageError("--folds are parts of public rows; give --reference, or leave it out")
    return source


def _estimator(reading: TrainingReading, budget: Approx, prior: Prior, max_norm: float | None, private: str) -> Any:
    from fugu.training.estimators import LinearRegression, LinearSVC, LogisticRegression

    wanted, labels, limits = reading.rules.wanted, reading.rules.labels, reading.limits
    low, high = ([limits[name][side] for name in wanted.features if name in limits] for side in (0, 1))
    given: dict[str, Any] = {
        "epsilon": budget.epsilon, "delta": budget.delta, "prior": prior, "private": private, "ordered": True,
        "max_norm": max_norm, "bounds": None if max_norm is not None else (low, high),
    }  # fmt: skip
    if labels is None:
        return LinearRegression(**given, target_bounds=limits[wanted.target])
    kinds: dict[str, Callable[..., Any]] = {"logistic": LogisticRegression, "svc": LinearSVC}
    return kinds[reading.kind](**given, classes=labels)
