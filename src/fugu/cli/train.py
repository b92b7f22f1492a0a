"""`fugu train`: a linear model of a private table, trained once, and what it is worth beside others on public rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fugu.cli import options
from fugu.cli.charging import Account, Through, account_of, data_name, say_uncharged
from fugu.cli.console import print_json, progress
from fugu.cli.paging import Kept
from fugu.cli.receipts import ready
from fugu.cli.train_data import Rows, Wanted, names_of, read_bounds
from fugu.cli.train_prior import Belief, check_private
from fugu.cli.train_reading import Public, Reading, Told
from fugu.data import Schema
from fugu.errors import NotProvable, PriorNotPublic, UsageError
from fugu.guarantee import Approx, Guarantee
from fugu.publication.drafts import drafted_text
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.training.claims import SECRETS

if TYPE_CHECKING:
    from fugu.priors.coupling import Coupled as Prior

_FOLDS = 5


def train(
    target: Annotated[str, typer.Option(help="The column that the model predicts.")],
    epsilon: options.Epsilon,
    prior: Annotated[
        str,
        typer.Option(
            help='What is believed about the other rows: "independent", "ar1:0.3", "mixing:0.3", "markov" (--state), '
            '"groups" (--by), or "group": anything at all.'
        ),
    ],
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="The private table, a CSV or Parquet file.")
    ] = None,
    delta: Annotated[str, typer.Option(help="Slack in probability, above 0.")] = "0",
    model: Annotated[
        str | None, typer.Option(help="linear, logistic or svc; else by what is declared or public of the target.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help='Columns such as "age,bmi"; else all numbers of --reference or --schema.')
    ] = None,
    schema: options.SchemaFile = None,
    no_header: options.NoHeader = False,
    order: Annotated[str | None, typer.Option(help="The public column of times by which rows are sorted.")] = None,
    by: Annotated[str | None, typer.Option(help="With --prior groups: the public column of groups.")] = None,
    state: Annotated[
        str | None, typer.Option(help="With --prior markov: the column of states, fitted on the reference.")
    ] = None,
    smoothing: Annotated[float, typer.Option(help="With --prior markov: added to every transition count.")] = 0.0,
    start: Annotated[
        str,
        typer.Option(help="With --prior markov: any start (fitted means that, as one sequence fits none), stationary."),
    ] = "fitted",
    bounds: Annotated[
        list[str] | None, typer.Option(help='Public bounds of features and target: "age:0:100,bmi:10:60".')
    ] = None,
    max_norm: Annotated[float | None, typer.Option(help="A public bound on the length of a row of features.")] = None,
    classes: Annotated[
        str | None, typer.Option(help='The two labels, such as "no,yes"; else of the reference.')
    ] = None,
    private: Annotated[str, typer.Option(help="What of a row is private: both, features or target.")] = "both",
    reference: Annotated[
        str | None, typer.Option(help="Public or past rows: bounds are taken from them, and models compared on them.")
    ] = None,
    public_table: Annotated[
        bool, typer.Option("--public-table", help="TABLE itself is public: compare models on it.")
    ] = False,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Only compare on the reference; TABLE is not opened.")
    ] = False,
    folds: Annotated[int | None, typer.Option(help="Parts of the reference, each held out once; 5.")] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the model here (JSON), its certificate beside it.")
    ] = None,
    ledger: options.LedgerFile = None,
    no_ledger: options.NoLedger = False,
    request: options.Request = None,
    total: options.Total = None,
    budget_delta: options.TotalDelta = None,
    data: options.DataName = None,
    unit: options.Unit = None,
    other_people: options.OtherPeople = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Train a private model of TABLE once, with its certificate; utility is measured on public rows only.

    The training is charged to a ledger before its first step: the same command gives the same model back, and another
    training of the same rows is refused."""
    files = None if output is None else _targets(output, force, table, reference, schema, ledger)
    source = _source(table, reference, public_table, rehearse, folds, output)
    budget = _budget(epsilon, delta)
    belief = Belief.of(prior, order, by, state, smoothing, source, start)
    wanted = Wanted(target, names_of(features, "--features"), order, by)
    given = Schema({}) if schema is None else Schema.load(schema)
    told = Told(wanted, given, model, classes, read_bounds(bounds or []), max_norm)
    question = {
        "what": f"train {target}", "epsilon": epsilon, "delta": delta, "prior": prior, "model": model,
        "features": features, "schema": given.to_json(), "header": not no_header, "order": order, "by": by,
        "state": state, "smoothing": smoothing, "start": start, "bounds": bounds, "max norm": max_norm,
        "classes": classes, "private": private, "public table": public_table,
    }  # fmt: skip
    books = Books(
        ledger, no_ledger, request, options.whole(total, budget_delta, delta), data_name(data, table or ""), unit,
        other_people,
    )  # fmt: skip
    account = None if rehearse else books.account(budget, question, files, as_json)
    from fugu.cli.train_output import Found, content, model_file, show
    from fugu.cli.train_rehearsal import costs
    from fugu.cli.train_rehearsal import rehearse as compare

    with progress():
        known = None if source is None else Public(given.open(source), Path(source).name)
        reading = Reading.of(told, known)
        rules, labels = reading.rules, reading.rules.labels
        check_private(private, labels is None, belief)
        public = None if known is None else rules.public_rows(known.table, known.where, belief.ordered)
        if no_header:
            rules = reading.headless(told, known).rules
        rows = public if public_table else None
        opened = None if known is None else known.table
        if table is not None and not rehearse and not public_table:
            opened = rules.schema.open(table)
            rows = rules.rows(opened, Path(table).name, belief.ordered)
            _check_apart(rows, public)

        def make(some: Rows) -> Any:
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
    found = Found(
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
            data=books.data,
            rows=len(stand_in),
            recipe={
                "what": "training", "model": type(fitted).__name__, "target": target,
                "features": list(rules.wanted.features), "secret": SECRETS[private], "prior": belief.text,
            },
            skipped=None,
            beliefs=Beliefs(reference=source, public=public_table, released=public_table),
        )  # fmt: skip
        text = json.dumps(model_file(found), indent=1, ensure_ascii=False) + "\n"
        going = going if account is None else replace(going, ledger=account.entry())
        publish(files, going, drafted_text(files.published, text), None, Kept().after(files, account))
    if as_json:
        print_json(content(found))
    else:
        show(found)


def _check_apart(rows: Rows, public: Rows | None) -> None:
    if public is not None and rows.same(public):
        raise PriorNotPublic(
            "the reference holds the very rows to be trained on; give other rows, or --public-table to count those of "
            "TABLE as public"
        )


@dataclass(frozen=True)
class Books:
    """What the options say of the ledger."""

    ledger: str | None
    no_ledger: bool
    request: str | None
    total: Guarantee | None
    data: str
    unit: str | None
    others: list[str] | None

    def account(self, budget: Approx, question: dict[str, Any], files: Files | None, as_json: bool) -> Account | None:
        """What a training is charged to; None, said aloud, with --no-ledger. Its files must be ready for it."""
        found = account_of(
            self.ledger, self.no_ledger, self.request, budget, self.total, self.data, question, None, self.unit,
            self.others,
        )  # fmt: skip
        if files is not None:
            ready(files, found, as_json)
        say_uncharged(found, False)
        return found


def _budget(epsilon: str, delta: str) -> Approx:
    slack = options.number("delta", delta)
    if slack == 0:
        raise NotProvable("training adds Gaussian noise, and Gaussian noise needs a delta: give --delta, such as 1e-5")
    return Approx(options.number("epsilon", epsilon), slack)


def _targets(output: str, force: bool, *read: str | None) -> Files:
    """The model and what goes with it; no table is ever overwritten, and a model only with --force."""
    if not output.endswith(".json"):
        raise UsageError(f"the model is written as JSON; give a name that ends in .json, not {output!r}")
    files = Files(Path(output), force)
    for file in files.all():
        options.target(str(file), *read)
    return files


def _source(
    table: str | None, reference: str | None, public_table: bool, rehearse: bool, folds: int | None, output: str | None
) -> str | None:
    """The file of public rows, if there is one."""
    if rehearse and (reference is None or public_table or output is not None):
        raise UsageError("--rehearse needs --reference and trains no model: give it without --public-table and -o")
    if table is None and not rehearse:
        raise UsageError("give the TABLE to train on, or --rehearse to compare models on --reference alone")
    if public_table and reference is not None:
        raise UsageError("--public-table takes TABLE itself as the reference; leave out one of the two")
    source = table if public_table else reference
    if folds is not None and source is None:
        raise UsageError("--folds are parts of public rows; give --reference, or leave it out")
    return source


def _estimator(reading: Reading, budget: Approx, prior: Prior, max_norm: float | None, private: str) -> Any:
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
