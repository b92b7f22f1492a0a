"""`fugu train`: a linear model of a private table, trained once, and what it is worth beside others on public rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table as Rich

from fugu._version import __version__
from fugu.checking import Check, checked
from fugu.cli.console import escape, grid, head, note, out, present, print_json, progress, say, warn
from fugu.cli.releasing import Terminal
from fugu.cli.train_reading import TrainingOptions, TrainingReading, places
from fugu.data import Schema, Table
from fugu.data.field import Field
from fugu.data.private import open_private
from fugu.errors import BadTable, NotProvable, PriorNotPublic, UnknownName, UsageError
from fugu.files import file_name
from fugu.guarantee import Approx, weaknesses
from fugu.guarantee.composition import UNCHARGED
from fugu.publication.drafts import drafted
from fugu.publication.files import Beliefs, Files, Outgoing, publish
from fugu.publication.releasing import ReleaseAccount, Through
from fugu.question import RECORDS, Question
from fugu.releasing import options
from fugu.releasing.dispatch import account_of, data_name, page_after, ready, seen_by, targets
from fugu.releasing.outcome import Publication
from fugu.releasing.scenario_file import Booking, Training
from fugu.training.record import SECRETS
from fugu.training.utility import ASKED, CONSTANT, TrainingRehearsal, TrainingRows, costs, rehearse

if TYPE_CHECKING:
    from fugu.priors.coupling import Coupled as Prior

SCHEMA = "fugu/model/1"
NO_UTILITY = (
    "no utility is reported: a score on private rows, and every other model trained on them, would be a release of its "
    "own; give --reference TABLE, public or past rows with the same columns, to compare all models on those"
)
ONCE = "this was the one training that the guarantee covers: another run on these rows is a second release"
CHARGED = "charged to the ledger: the same command gives this model again, another training of these rows is refused"
PRIVATE = ("both", "features", "target")
_FOLDS = 5


def train(question: Question, training: Training, books: Booking, force: bool, as_json: bool) -> None:
    """Read, rehearse, charge, train and write; what is wrong is found before the private table is opened."""
    table, public_table, rehearsing = question.table, training.public_table, training.rehearse
    files = None
    if training.output is not None:
        read = (table, question.reference, question.schema, books.ledger)
        files = targets("the model", training.output, ".json", force, *read)
    source, ordered = _checked(question, training)
    slack = options.number("delta", question.delta)
    if slack == 0:
        raise NotProvable("training adds Gaussian noise, and Gaussian noise needs a delta: give --delta, such as 1e-5")
    budget = Approx(options.number("epsilon", question.epsilon), slack)
    prior = training.prior.strip()
    told = TrainingOptions.of(training, question.schema)
    given = told.schema
    data = data_name(books.data, table or "")
    account = None if rehearsing else _account(question, training, books, data, budget, given, files, as_json)
    with progress():
        known = None if source is None else given.open(source)
        told = replace(told, public=known, where="" if source is None else file_name(source))
        reading = told.reading()
        _check_private(training, reading.labels)
        public = None if known is None else reading.public_rows(known, told.where, ordered)
        reading = told.headless(reading) if question.no_header else reading
        rows, opened, seen = public if public_table else None, known, None
        if table is not None and not rehearsing and not public_table:
            opened = reading.schema.open(table)
            rows = reading.rows(opened, file_name(table), ordered)
            if public is not None and rows.same(public):
                raise PriorNotPublic(
                    "the reference holds the very rows to be trained on; give other rows, or --public-table to count "
                    "those of TABLE as public"
                )
            seen = seen_by(Terminal(as_json), partial(_check, opened, reading, known, account))

        def make(some: TrainingRows) -> Any:
            return _estimator(reading, budget, _prior(training, some, known), training)

        rehearsal = None
        if public is not None:
            parts, most = _FOLDS if training.folds is None else training.folds, None if rows is None else len(rows)
            rehearsal = rehearse(make, public, parts, training.order is not None, most)
        stand_in = rows if rows is not None else public
        assert stand_in is not None
        keeper = None if account is None or opened is None else Through(account, opened, reading.schema)
        fitted = make(stand_in).set_params(ledger=keeper)._fit(stand_in.features, stand_in.target, reading=reading.told)
        lines = costs(fitted, prior)
    found = TrainedModel(
        fitted, reading, training, budget, prior, lines, rehearsal, len(stand_in),
        None if rehearsing or table is None else file_name(table), None if source is None else file_name(source),
        () if files is None else tuple(map(str, files.all())), None if account is None else account.told(),
    )  # fmt: skip
    if files is not None:
        assert table is not None
        going = Outgoing(
            certificates={"": fitted.certificate_}, table=table, data=data, rows=len(stand_in),
            recipe={
                "what": "training", "model": type(fitted).__name__, "target": training.target,
                "features": list(reading.features), "secret": SECRETS[training.private], "prior": prior,
            },
            skipped=None, beliefs=Beliefs(reference=source, public=public_table, released=public_table),
            ledger=None if account is None else account.entry(), check=seen,
        )  # fmt: skip
        text = json.dumps(found.file(), indent=1, ensure_ascii=False) + "\n"
        publish(files, going, drafted(files.published, text), None, page_after(files, account))
    if as_json:
        print_json(found.to_json())
    else:
        found.show()


def _account(
    question: Question, training: Training, books: Booking, data: str, budget: Approx, given: Schema,
    files: Files | None, as_json: bool,
) -> ReleaseAccount | None:  # fmt: skip
    """What a training is charged to; None, said aloud, with --no-ledger. Its files must be ready for it."""
    named = ("prior", "model", "features", "order", "by", "state", "smoothing", "start", "bounds", "classes", "private")
    said = {
        "what": f"train {training.target}", "epsilon": question.epsilon, "delta": question.delta,
        "schema": given.to_json(), "header": not question.no_header, "max norm": training.max_norm,
        "public table": training.public_table, **{name: getattr(training, name) for name in named},
    }  # fmt: skip
    total = options.whole(books.total, books.budget_delta, question.delta)
    account = account_of(books, budget, total, data, said, None, question.unit)
    if files is not None and ready(files, account):
        assert account is not None  # only what was charged is known again
        present(Publication.again(files, account.told()), as_json)
        raise typer.Exit
    if account is None:
        note(UNCHARGED)
    return account


def _check(opened: Table, reading: TrainingReading, known: Table | None, account: ReleaseAccount | None) -> Check:
    """How the private rows are read, beside the reference and what the ledger knows: for their owner."""
    private = open_private(opened, reading.schema, (*reading.features, reading.training.target))
    place, data = (None, None) if account is None else (account.ledger, account.data)
    return checked(private, known, ledger=place, data=data)


def _estimator(reading: TrainingReading, budget: Approx, prior: Prior, training: Training) -> Any:
    from fugu.training.estimators import LinearRegression, LinearSVC, LogisticRegression

    limits, max_norm = reading.limits, training.max_norm
    low, high = ([limits[name][side] for name in reading.features if name in limits] for side in (0, 1))
    given: dict[str, Any] = {
        "epsilon": budget.epsilon, "delta": budget.delta, "prior": prior, "private": training.private, "ordered": True,
        "max_norm": max_norm, "bounds": None if max_norm is not None else (low, high),
    }  # fmt: skip
    if reading.labels is None:
        return LinearRegression(**given, target_bounds=limits[training.target])
    kinds: dict[str, Callable[..., Any]] = {"logistic": LogisticRegression, "svc": LinearSVC}
    return kinds[reading.kind](**given, classes=reading.labels)


def _checked(question: Question, training: Training) -> tuple[str | None, bool]:
    """The file of public rows, if there is one, and whether the prior speaks of rows in order; UsageError where what is
    needed is not there, or what is there means nothing."""
    from fugu.training.accountant import prior_from

    table, reference, public_table = question.table, question.reference, training.public_table
    if training.rehearse and (reference is None or public_table or training.output is not None):
        raise UsageError("--rehearse needs --reference and trains no model: give it without --public-table and -o")
    if table is None and not training.rehearse:
        raise UsageError("give the TABLE to train on, or --rehearse to compare models on --reference alone")
    if public_table and reference is not None:
        raise UsageError("--public-table takes TABLE itself as the reference; leave out one of the two")
    source = table if public_table else reference
    if training.folds is not None and source is None:
        raise UsageError("--folds are parts of public rows; give --reference, or leave it out")
    name = training.prior.strip()
    grouped, chained = name == "groups", name == "markov"
    if grouped != (training.by is not None):
        raise UsageError("--prior groups and --by COLUMN, the group of each row, go together; give both")
    if chained != (training.state is not None):
        raise UsageError("--prior markov and --state COLUMN, the state of each row, go together; give both")
    if not chained and (training.smoothing or training.start != "fitted"):
        raise UsageError("--smoothing and --start are for --prior markov; leave them out")
    if chained and source is None:
        raise UsageError("--prior markov is fitted on --reference rows, never on the private ones; give --reference")
    try:
        ordered = chained or (not grouped and prior_from(name).ordered)
    except UsageError as error:
        more = ', "groups" (with --by), "markov" (with --state)' if str(error).startswith("no prior") else ""
        raise UsageError(f"{error}{more}") from None
    if ordered and training.order is None:
        raise UsageError(f"--prior {name} speaks of rows in order: give --order COLUMN, the public column of times")
    return source, ordered


def _check_private(training: Training, labels: list[Any] | None) -> None:
    """What is private is a part of a row, and a label cannot be normal."""
    name, private = training.prior.strip(), training.private
    if private not in PRIVATE:
        raise UnknownName("part of a row for --private", private, PRIVATE)
    if name.startswith("ar1") and labels is not None and private != "features":
        raise NotProvable(
            f"--prior {name} is about normal numbers, and a label is not a number: for a classifier give --prior "
            "mixing:0.3, markov or groups, or keep it with --private features if the labels are public"
        )


def _prior(training: Training, rows: TrainingRows, known: Table | None) -> Prior:
    """The prior of these rows; the chain of states is that of the public table."""
    from fugu.priors.coupling import Groups
    from fugu.training.accountant import prior_from

    state, order = training.state, training.order
    if rows.groups is not None:
        return Groups(rows.groups)
    if state is None or order is None or known is None:
        return prior_from(training.prior.strip())
    from fugu.queries.sequence_prior import chain_of

    column = known.exact(state)
    if column.missing.any():
        raise BadTable(f"column {state!r} of the reference has missing cells; fill them in")
    times = Field("time").read(order, known.raw(order))
    states = column.values[places(times, "reference", True)].tolist()
    return prior_from(chain_of({"reference": states}, state, training.smoothing, len(rows), training.start))


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """All that the command computed."""

    fitted: Any
    reading: TrainingReading
    training: Training
    budget: Approx
    prior: str
    costs: list[dict[str, Any]]
    rehearsal: TrainingRehearsal | None
    records: int
    table: str | None
    """The table that the model was trained on; None in a rehearsal."""
    source: str | None
    files: tuple[str, ...]
    charged: dict[str, str] | None
    """The request and the data set in the ledger; None if none was charged."""

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        certificate, epsilon = self.fitted.certificate_, float(self.budget.epsilon)
        factor = f"e^{epsilon:g}" + (f" = {math.exp(epsilon):.3g}" if epsilon < 20 else "")
        return (
            f"protected are {certificate.neighbours}. Seeing the model moves the odds between them by a factor of at "
            f"most {factor}, but for a chance of {float(self.budget.delta):g}, for whoever believes: "
            f"{certificate.prior}. Nothing is promised for other beliefs"
        )

    @property
    def assumptions(self) -> list[str]:
        """Those of the certificate, and what this command did with public knowledge beyond them."""
        training, found = self.training, list(self.fitted.certificate_.assumptions)
        if training.order is not None:
            found.append(f"rows were sorted by column {training.order!r}, whose values are public")
        if training.by is not None:
            found.append(f"column {training.by!r}, the group of each row, is public")
        if training.public_table:
            found.append(f"the rows of {self.table!r} were declared public: scores and missing bounds come from them")
        elif self.source is not None:
            found.append(
                f"{self.source!r} is public: scores, and what was not declared (bounds, labels), come from it; the "
                "prior is what is believed about the private rows by somebody who knows it"
            )
        else:
            found.append("features, labels and bounds were declared, and not taken from the table")
        return found

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        rehearsal = self.rehearsal
        said = NO_UTILITY if rehearsal is None else rehearsal.told(self.source)
        scored = [{"utility": None} if rehearsal is None else rehearsal.to_json(x["name"]) for x in self.costs]
        costs = [{**cost, **score} for cost, score in zip(self.costs, scored, strict=True)]
        return {
            "trained": self.table is not None, "table": self.table, RECORDS: self.records,
            "model": None if self.table is None else self.file(),
            "guarantee": {name: float(getattr(self.budget, name)) for name in ("epsilon", "delta")},
            "promise": self.fitted.certificate_.promises,
            "quote": self.fitted.certificate_.quoted(), "in_words": self.guarantee, "comparison": costs,
            "rehearsal": said, "files": list(self.files), "ledger": self.charged,
            "warnings": list(weaknesses(self.budget, self.records)),
        }  # fmt: skip

    def file(self) -> dict[str, Any]:
        """The model in the units of the columns, with what it promises."""
        fitted, certificate = self.fitted, self.fitted.certificate_
        labels = None if self.reading.kind == "linear" else fitted.classes_.tolist()
        above = "" if labels is None else "; above 0: the second class"
        return {
            "schema": SCHEMA, "fugu": __version__, "model": type(fitted).__name__, "target": self.training.target,
            "classes": labels, "predicts": f"coefficients * features + intercept{above}",
            "features": list(self.reading.features), "coefficients": [float(x) for x in fitted.coef_.ravel()],
            "intercept": float(fitted.intercept_ if labels is None else fitted.intercept_[0]),
            "bounds": {name: list(pair) for name, pair in self.reading.limits.items()},
            "max_norm": self.training.max_norm, "reading": certificate.body["reading"], "noise": fitted.noise_,
            "guarantee": {name: float(getattr(self.budget, name)) for name in ("epsilon", "delta")},
            "prior": certificate.prior, "protected": certificate.neighbours,
            "assumptions": self.assumptions, "certificate": certificate.body["digest"],
        }  # fmt: skip

    def show(self) -> None:
        """The same for people."""
        head(self.fitted.certificate_.quoted())
        warn(weaknesses(self.budget, self.records))
        if self.reading.left_out:
            say(f"no features, since they hold no numbers: {', '.join(self.reading.left_out)}")
        out.print(self._comparison())
        if self.rehearsal is None:
            say(NO_UTILITY)
        elif self.rehearsal.verdict:
            say(f"on the public rows {self.rehearsal.verdict}")
        if self.table is None:
            say("rehearsed only: no private table was opened, no model was released")
            return
        told, columns = self.file(), ("feature", "coefficient")
        model = grid(f"Trained on the {self.records} rows of {self.table}", columns, columns[:1], columns)
        for name, value in zip(told["features"], told["coefficients"], strict=True):
            model.add_row(escape(name), f"{value:.6g}")
        model.add_row("intercept", f"{told['intercept']:.6g}", style="dim")
        if told["classes"] is not None:
            model.caption = escape(f"a sum above 0 stands for {told['classes'][1]!r}, else {told['classes'][0]!r}")
        out.print(model)
        out.print(f"[bold]guarantee[/]: {escape(self.guarantee)}")
        say("assumptions: " + "; ".join(self.assumptions))
        say(ONCE if self.charged is None else CHARGED)
        if self.files:
            say(f"wrote {', '.join(self.files)}", soft_wrap=True)

    def _comparison(self) -> Rich:
        rehearsal, where, count = self.rehearsal, self.table or self.source, len(self.reading.features)
        title = (
            f"{type(self.fitted).__name__} of {self.training.target} from {count} feature{'' if count == 1 else 's'}"
        )
        columns = ["model", "made for", "noise × steps", "epsilon"]
        remarks = [
            "made for: the prior that the noise was chosen for, at the budget asked for",
            f"noise: standard deviation in each step, on scaled weights, for the {self.records} rows of {where}",
            f"epsilon: proved with that noise at delta {float(self.budget.delta):g}, if the prior {self.prior} is true",
        ]
        if rehearsal is not None:
            columns.append(f"{rehearsal.measure} (± 95 %)")
            held = (
                f"{len(rehearsal.scores[ASKED])} parts of {self.source}, of up to {rehearsal.tested} rows, held out in "
                "turn"
            )
            remarks.append(
                f"{rehearsal.measure}: mean on {held}, after training on {rehearsal.trained} rows of the rest"
            )
            if rehearsal.aucs:
                columns.append("AUC (± 95 %)")
                remarks.append(
                    "AUC: how often a row of the second class is ranked above one of the first; 0.5 is chance"
                )
        table = grid(title, columns, columns[:2], columns)
        for cost in self.costs:
            asked = cost["name"] == ASKED
            noise = "0" if cost["steps"] is None else f"{cost['noise']:.3g} × {cost['steps']}"
            score = () if rehearsal is None else rehearsal.cells(cost["name"])
            cells = (escape(cost["prior"]), noise, f"{cost['epsilon']:.3g}", *score)
            table.add_row("as asked" if asked else cost["name"], *cells, style="bold green" if asked else "")
        if rehearsal is not None:
            table.add_row(CONSTANT, "none", "", "", *rehearsal.cells(CONSTANT))
        table.caption = "\n".join(map(escape, remarks))
        return table
