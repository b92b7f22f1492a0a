"""`fugu train`: a linear model of a private table, trained once, and what it is worth beside others on public rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fugu.cli import options
from fugu.cli.console import print_json, progress
from fugu.cli.train_data import Bounds, Rows, Wanted, declared, names_of, read_bounds, two_labels
from fugu.cli.train_prior import Belief, check_private
from fugu.data import Table, read_table
from fugu.errors import BadTable, NotProvable, PriorNotPublic, UnknownName, UsageError
from fugu.guarantee import Approx
from fugu.report import write

if TYPE_CHECKING:
    from fugu.iterate.priors import Prior

MODELS = ("linear", "logistic", "svc")
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
    model: Annotated[str | None, typer.Option(help="linear, logistic or svc; by the kind of the target.")] = None,
    features: Annotated[str | None, typer.Option(help='Columns such as "age,bmi"; else all that hold numbers.')] = None,
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
    as_json: options.AsJson = False,
) -> None:
    """Train a private model of TABLE once, with its certificate; utility is measured on public rows only."""
    files = {} if output is None else _targets(output, table, reference)
    source = _source(table, reference, public_table, rehearse, folds, output)
    budget = _budget(epsilon, delta)
    belief = Belief.of(prior, order, by, state, smoothing, source, start)
    wanted = Wanted(target, names_of(features, "--features"), order, by)
    if target in wanted.features:
        raise UsageError(f"column {target!r} is the target and cannot be a feature; leave it out of --features")
    from fugu.cli.train_output import Found, content, model_file, show
    from fugu.cli.train_rehearsal import costs
    from fugu.cli.train_rehearsal import rehearse as compare

    with progress():
        known = None if source is None else read_table(source)
        own = None if rehearse or table is None else known if public_table else read_table(table)
        first, where = (known, source) if known is not None else (own, table)
        assert first is not None
        assert where is not None
        wanted = wanted.filled(first)
        kind = _kind(model, classes, first, target, Path(where).name, known is None)
        numbers = kind == "linear"
        check_private(private, numbers, belief)
        public = None if source is None or known is None else _rows(wanted, known, source, numbers, belief)
        rows = None if own is None else public if public_table else _rows(wanted, own, str(table), numbers, belief)
        if public is not None and rows is not None and not public_table and rows.same(public):
            raise PriorNotPublic(
                "the reference holds the very rows to be trained on; give other rows, or --public-table to count "
                "those of TABLE as public"
            )
        labels = None if numbers else _labels(classes, first, target, Path(where).name)
        if numbers and classes is not None:
            raise UsageError(
                "--classes are the labels of a classifier; with --model linear give --bounds of the target"
            )
        for some, path in ((public, source), (rows, table)):
            _check_target(some, wanted, labels, path)
        limits = _limits(bounds or [], max_norm, wanted, numbers, first, public)

        def make(some: Rows) -> Any:
            return _estimator(kind, budget, belief.prior(some, known), limits, max_norm, wanted, labels, private)

        rehearsal = None
        if public is not None:
            most = None if rows is None else len(rows)
            rehearsal = compare(make, public, _FOLDS if folds is None else folds, order is not None, most)
        stand_in = rows if rows is not None else public
        assert stand_in is not None
        fitted = make(stand_in).fit(stand_in.features, stand_in.target)
        lines = costs(fitted, belief.text)
    found = Found(
        fitted, kind, wanted, budget, limits, max_norm, lines, rehearsal, len(stand_in),
        None if rehearse or table is None else Path(table).name, None if source is None else Path(source).name,
        public_table, belief.text, tuple(str(file) for file in files.values()),
    )  # fmt: skip
    if files:
        fitted.certificate_.save(files["certificate"])
        told = json.dumps(model_file(found), indent=1, ensure_ascii=False)
        write(files["model"], told + "\n")  # last: no model is written without what covers it
    if as_json:
        print_json(content(found))
    else:
        show(found)


def _budget(epsilon: str, delta: str) -> Approx:
    slack = options.number("delta", delta)
    if slack == 0:
        raise NotProvable("training adds Gaussian noise, and Gaussian noise needs a delta: give --delta, such as 1e-5")
    return Approx(options.number("epsilon", epsilon), slack)


def _targets(output: str, *read: str | None) -> dict[str, Path]:
    """The model and its certificate; no table is ever overwritten."""
    if not output.endswith(".json"):
        raise UsageError(f"the model is written as JSON; give a name that ends in .json, not {output!r}")
    model = Path(output)
    files = {"model": model, "certificate": model.with_suffix(".certificate.json")}
    for file in files.values():
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


def _kind(model: str | None, classes: str | None, table: Table, target: str, where: str, private: bool) -> str:
    """The model asked for, or the one that fits the target: its type if the rows are private, else its values."""
    if model is not None and model not in MODELS:
        raise UnknownName("model", model, MODELS)
    if classes is not None and model != "linear":
        return model or "logistic"
    column = table.exact(target)
    if private and column.values.dtype != bool:
        if model == "linear" or (model is None and column.numeric):
            return "linear"
        raise UsageError(
            f'give --classes, the two labels of {target!r}, such as "no,yes": fugu does not take them from the private '
            "table, where a rare label belongs to single people. --reference TABLE takes them from public or past rows"
        )
    two = two_labels(column, where)
    if model in ("logistic", "svc") and not two:
        raise BadTable(f"column {target!r} of {where!r} has more than two values; --model {model} is for two labels")
    return model or ("logistic" if two else "linear")


def _rows(wanted: Wanted, table: Table, path: str, numbers: bool, belief: Belief) -> Rows:
    return wanted.rows(table, Path(path).name, numbers, belief.ordered)


def _labels(text: str | None, table: Table, target: str, where: str) -> list[Any]:
    """The two labels, declared or read."""
    column = table.exact(target)
    if text is None:
        return list(column.codes()[1].tolist())
    named: list[Any] = list(names_of(text, "--classes"))
    if len(named) != 2:
        raise UsageError(f"--classes are two labels with a comma between them, got {text!r}")
    if column.numeric:
        try:
            return [float(name) for name in named]
        except ValueError:
            raise UsageError(f"column {target!r} of {where!r} holds numbers; --classes must be two of them") from None
    return named


def _check_target(rows: Rows | None, wanted: Wanted, labels: list[Any] | None, table: str | None) -> None:
    """What is wrong with a target is said with its name, and before any work."""
    if rows is None:
        return
    column = f"column {wanted.target!r} of {Path(str(table)).name!r}"
    if labels is None:
        if np.all(rows.target == rows.target[0]):
            raise BadTable(f"{column} has one value only, so there is nothing to learn")
    elif isinstance(labels[0], str) != (rows.target.dtype.kind == "U") or not np.isin(rows.target, labels).all():
        raise BadTable(f"{column} holds a label that is neither in --classes nor in the reference; correct one of them")


def _limits(
    texts: list[str], max_norm: float | None, wanted: Wanted, numbers: bool, table: Table, public: Rows | None
) -> Bounds:
    """Bounds of the features (unless rows are bounded as a whole) and of a target that is a number."""
    given, target = read_bounds(texts), wanted.target
    if target in given and not numbers:
        raise UsageError(f"--bounds for {target!r}, which holds two labels; leave them out, or give --model linear")
    both = [name for name in wanted.features if name in given]
    if max_norm is not None and both:
        raise UsageError(f"--max-norm bounds whole rows: leave out --bounds of {both[0]!r}, or --max-norm")
    needed = (*(wanted.features if max_norm is None else ()), *((target,) if numbers else ()))
    known = None
    if public is not None:
        known = {name: public.features[:, i] for i, name in enumerate(wanted.features)}
        known |= {target: np.asarray(public.target, dtype=np.float64)} if numbers else {}
    return declared(given, needed, known, {name for name in needed if table.exact(name).values.dtype == bool})


def _estimator(
    kind: str, budget: Approx, prior: Prior, limits: Bounds, max_norm: float | None, wanted: Wanted,
    labels: list[Any] | None, private: str,
) -> Any:  # fmt: skip
    from fugu.iterate.estimators import LinearRegression, LinearSVC, LogisticRegression

    low, high = ([limits[name][side] for name in wanted.features if name in limits] for side in (0, 1))
    given: dict[str, Any] = {
        "epsilon": budget.epsilon, "delta": budget.delta, "prior": prior, "private": private, "ordered": True,
        "max_norm": max_norm, "bounds": None if max_norm is not None else (low, high),
    }  # fmt: skip
    if labels is None:
        return LinearRegression(**given, target_bounds=limits[wanted.target])
    kinds: dict[str, Callable[..., Any]] = {"logistic": LogisticRegression, "svc": LinearSVC}
    return kinds[kind](**given, classes=labels)
