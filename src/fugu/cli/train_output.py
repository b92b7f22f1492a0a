"""What `fugu train` prints and writes: the comparison, the guarantee in words, and the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rich.table import Table as Rich

from fugu._version import __version__
from fugu.cli.console import escape, out, say
from fugu.cli.train_data import Bounds, TrainingColumns
from fugu.cli.train_rehearsal import ASKED, CONSTANT, Cost, TrainingRehearsal
from fugu.guarantee import Approx

SCHEMA = "fugu/model/1"
NO_UTILITY = (
    "no utility is reported: a score on private rows, and every other model trained on them, would be a release of its "
    "own; give --reference TABLE, public or past rows with the same columns, to compare all models on those"
)
ONCE = "this was the one training that the guarantee covers: another run on these rows is a second release"

CHARGED = "charged to the ledger: the same command gives this model again, another training of these rows is refused"


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """All that the command computed."""

    fitted: Any
    kind: str
    wanted: TrainingColumns
    budget: Approx
    limits: Bounds
    max_norm: float | None
    costs: list[Cost]
    rehearsal: TrainingRehearsal | None
    records: int
    table: str | None
    """The table that the model was trained on; None in a rehearsal."""
    source: str | None
    public_table: bool
    prior: str
    files: tuple[str, ...]
    charged: dict[str, str] | None = None
    """The request and the data set in the ledger; None if none was charged."""

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        certificate, epsilon = self.fitted.certificate_, float(self.budget.epsilon)
        factor = f"e^{epsilon:g}" + (f" = {math.exp(epsilon):.3g}" if epsilon < 20 else "")
        return (
            f"protected are {certificate.neighbours}. Seeing the model moves the odds between them by a factor of at "
            f"most {factor}, but for a chance of {float(self.budget.delta):g}, for whoever believes: "
            f"{certificate.prior}. Nothing is promised for other beliefs. In short: {certificate.promises}"
        )

    @property
    def notes(self) -> list[str]:
        """What this command did with public knowledge, beyond the assumptions of the certificate."""
        wanted, found = self.wanted, []
        if wanted.order is not None:
            found.append(f"rows were sorted by column {wanted.order!r}, whose values are public")
        if wanted.by is not None:
            found.append(f"column {wanted.by!r}, the group of each row, is public")
        if self.public_table:
            found.append(f"the rows of {self.table!r} were declared public: scores and missing bounds come from them")
        elif self.source is not None:
            found.append(
                f"{self.source!r} is public: scores, and what was not declared (bounds, labels), come from it; the "
                "prior is what is believed about the private rows by somebody who knows it"
            )
        else:
            found.append("features, labels and bounds were declared, and not taken from the table")
        return found


def content(found: TrainedModel) -> dict[str, Any]:
    """Everything as plain data."""
    rehearsal = found.rehearsal
    return {
        "trained": found.table is not None,
        "table": found.table,
        "records": found.records,
        "model": None if found.table is None else model_file(found),
        "guarantee": _budget(found.budget),
        "promise": found.fitted.certificate_.promises,
        "in_words": found.guarantee,
        "comparison": [{**vars(cost), **_scores(rehearsal, cost.name)} for cost in found.costs],
        "rehearsal": NO_UTILITY
        if rehearsal is None
        else {
            "reference": found.source,
            "measure": rehearsal.measure,
            "trained_on": rehearsal.trained,
            "tested_on": rehearsal.tested,
            "constant_guess": _scores(rehearsal, CONSTANT),
            "verdict": rehearsal.verdict or None,
        },
        "files": list(found.files),
        "ledger": found.charged,
    }


def model_file(found: TrainedModel) -> dict[str, Any]:
    """The model in the units of the columns, with what it promises."""
    fitted, certificate = found.fitted, found.fitted.certificate_
    labels = None if found.kind == "linear" else fitted.classes_.tolist()
    return {
        "schema": SCHEMA,
        "fugu": __version__,
        "model": type(fitted).__name__,
        "target": found.wanted.target,
        "classes": labels,
        "predicts": "coefficients * features + intercept" + ("" if labels is None else "; above 0: the second class"),
        "features": list(found.wanted.features),
        "coefficients": [float(x) for x in fitted.coef_.ravel()],
        "intercept": float(fitted.intercept_ if labels is None else fitted.intercept_[0]),
        "bounds": {name: list(pair) for name, pair in found.limits.items()},
        "max_norm": found.max_norm,
        "reading": certificate.body["reading"],
        "noise": fitted.noise_,
        "guarantee": _budget(found.budget),
        "prior": certificate.prior,
        "protected": certificate.neighbours,
        "assumptions": [*certificate.assumptions, *found.notes],
        "certificate": certificate.body["digest"],
    }


def show(found: TrainedModel) -> None:
    """The same for people."""
    if found.wanted.left_out:
        say(f"no features, since they hold no numbers: {', '.join(found.wanted.left_out)}")
    out.print(_comparison(found))
    if found.rehearsal is None:
        say(NO_UTILITY)
    elif found.rehearsal.verdict:
        say(f"on the public rows {found.rehearsal.verdict}")
    if found.table is None:
        say("rehearsed only: no private table was opened, no model was released")
        return
    out.print(_model(found))
    out.print(f"[bold]guarantee[/]: {escape(found.guarantee)}")
    say("assumptions: " + "; ".join([*found.fitted.certificate_.assumptions, *found.notes]))
    say(ONCE if found.charged is None else CHARGED)
    if found.files:
        say(f"wrote {', '.join(found.files)}", soft_wrap=True)


def _comparison(found: TrainedModel) -> Rich:
    rehearsal, where = found.rehearsal, found.table or found.source
    count = len(found.wanted.features)
    title = f"{type(found.fitted).__name__} of {found.wanted.target} from {count} feature{'' if count == 1 else 's'}"
    table = Rich(title=escape(title), title_justify="left", caption_justify="left", header_style="bold")
    for name in ("model", "made for"):
        table.add_column(name, no_wrap=True)
    for name in ("noise × steps", "epsilon"):
        table.add_column(name, justify="right", no_wrap=True)
    if rehearsal is not None:
        table.add_column(f"{rehearsal.measure} (± 95 %)", justify="right", no_wrap=True)
        if rehearsal.aucs:
            table.add_column("AUC (± 95 %)", justify="right", no_wrap=True)
    for cost in found.costs:
        asked = cost.name == ASKED
        score = () if rehearsal is None else _score(rehearsal, cost.name)
        noise = "0" if cost.steps is None else f"{cost.noise:.3g} × {cost.steps}"
        cells = (escape(cost.prior), noise, f"{cost.epsilon:.3g}", *score)
        table.add_row("as asked" if asked else cost.name, *cells, style="bold green" if asked else "")
    if rehearsal is not None:
        table.add_row(CONSTANT, "none", "", "", *_score(rehearsal, CONSTANT))
    remarks = [
        "made for: the prior that the noise was chosen for, at the budget asked for",
        f"noise: standard deviation in each step, on scaled weights, for the {found.records} rows of {where}",
        f"epsilon: proved with that noise at delta {float(found.budget.delta):g}, if the prior {found.prior} is true",
    ]
    if rehearsal is not None:
        count, most = len(rehearsal.scores[ASKED]), rehearsal.tested
        held = f"{count} parts of {found.source}, of up to {most} rows, held out in turn"
        remarks.append(f"{rehearsal.measure}: mean on {held}, after training on {rehearsal.trained} rows of the rest")
        if rehearsal.aucs:
            remarks.append("AUC: how often a row of the second class is ranked above one of the first; 0.5 is chance")
    table.caption = "\n".join(map(escape, remarks))
    return table


def _model(found: TrainedModel) -> Rich:
    told = model_file(found)
    title = f"Trained on the {found.records} rows of {found.table}"
    table = Rich(title=escape(title), title_justify="left", caption_justify="left", header_style="bold")
    table.add_column("feature", no_wrap=True)
    table.add_column("coefficient", justify="right", no_wrap=True)
    for name, value in zip(told["features"], told["coefficients"], strict=True):
        table.add_row(escape(name), f"{value:.6g}")
    table.add_row("intercept", f"{told['intercept']:.6g}", style="dim")
    if told["classes"] is not None:
        table.caption = escape(f"a sum above 0 stands for {told['classes'][1]!r}, else {told['classes'][0]!r}")
    return table


def _score(rehearsal: TrainingRehearsal, name: str) -> tuple[str, ...]:
    """The cells of a model's scores."""
    found = [(rehearsal.mean(name), rehearsal.half(name)), rehearsal.auc(name)][: 2 if rehearsal.aucs else 1]
    return tuple("" if x is None else " ± ".join(f"{n:.3f}" if abs(n) < 10 else f"{n:.1f}" for n in x) for x in found)


def _scores(rehearsal: TrainingRehearsal | None, name: str) -> dict[str, Any]:
    if rehearsal is None:
        return {"utility": None}
    mean, half = rehearsal.mean(name), rehearsal.half(name)
    area = rehearsal.auc(name)
    more = {} if area is None else {"auc": area[0], "auc_interval": [area[0] - area[1], area[0] + area[1]]}
    return {"utility": mean, "interval": [mean - half, mean + half], **more}


def _budget(budget: Approx) -> dict[str, float]:
    return {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
