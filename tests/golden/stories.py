"""The stories of the doors: what somebody does with fugu, from the first look at a table to the last check."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fugu
from golden.doors import Story, command, document, shown
from golden.naming import requests
from golden.stating import guarded, verdict

ASK = ("--publish", "v", "--protect", "s")
LAW = ("--route", "law", "--protect", "s", "--reference", "ref.csv")
RECORDS = ("--protect", "s", "--reference", "ref.csv")
WALKS = ("--by", "user", "--order", "time", "--state", "place")
HIDE = ("--hide", "rich=yes", "--statistics", "mean(age),count(g=x)", "--bounds", "age:18:90", "--shares", "0.4,0.5")


def after(story: Story, name: str, *more: str) -> None:
    """What anybody does with a release: verify it in words and twice, in JSON; its page; the ledger."""
    certificate = f"{name}.certificate.json"
    story.run("verify", certificate)
    story.run("verify", certificate, "--twice", "--reference", "ref.csv", "--json", *more)
    story.run("report", certificate, "-o", f"{name}-again.html")
    story.run("ledger", "show", "--json")


def altered(name: str, change: Callable[[dict], None]) -> None:
    """A document that somebody changed, not sealed again."""
    body = json.loads(Path(name).read_text())
    change(body)
    Path("forged.json").write_text(json.dumps(body))


def looking(story: Story) -> None:
    """Before anything is released: a table, methods, a plan, noise."""
    story.run("check", "today.csv", "--reference", "ref.csv")
    story.run("check", "today.csv", "--reference", "ref.csv", "--json")
    story.run("compare", "ref.csv", *ASK, "--epsilon", "1", "--rows", "60")
    story.run("compare", "ref.csv", *ASK, "--epsilon", "1", "--delta", "1e-6", "--json")
    story.run("compare", "ref.csv", "--query", "mean(v)", "--protect", "s", "--bounds", "0,5", "--step", "1",
              "--epsilon", "1", "--rows", "60")  # fmt: skip
    story.run("plan", "ref.csv", *ASK, "--error", "2")
    story.run("plan", "ref.csv", *ASK, "--error", "2", "--json")
    story.run("calibrate", "ref.csv", *ASK, "--epsilon", "1")
    story.run("calibrate", "ref.csv", *ASK, "--epsilon", "1", "--json", "-o", "noise.json")
    story.run("calibrate", "ref.csv", *ASK, "--epsilon", "1", "--alpha", "4", "--noise", "gaussian", "--json")
    story.run("calibrate", "ref.csv", *ASK, "--epsilon", "1", "--mechanism", "optimal", "--json")
    story.run("verify", "noise.json")
    story.run("audit", "noise.json", "--draws", "20000", "--json")


def column(story: Story) -> None:
    """A column, row by row, with a ledger."""
    released = ("release", "today.csv", *ASK, "--epsilon", "1", "--reference", "ref.csv")
    story.run(*released, "--dry-run")
    story.run(*released, "--dry-run", "--json")
    story.run(*released, "-o", "out.csv", "--budget", "2")
    story.run(*released, "-o", "out.csv", "--budget", "2")
    after(story, "out", "--published", "out.csv")
    story.run("audit", "out.certificate.json", "--draws", "20000", "--json")
    story.run(*released, "-o", "more.csv", "--clip", "0,6", "--round", "1", "--json")
    story.run(*released, "-o", "third.csv", "--noise", "gaussian", "--delta", "1e-6")
    story.run("ledger", "show")
    story.run("ledger", "verify")
    altered("out.certificate.json", lambda body: body.update(kind="nothing"))
    story.run("verify", "forged.json")
    altered("out.certificate.json", lambda body: body["published"][0].update(rows=7))
    story.run("verify", "forged.json", "--json")
    story.run("report", "forged.json", "-o", "forged.html")


def optimal(story: Story) -> None:
    """A table of least error, a remap, bins."""
    released = ("release", "today.csv", *ASK, "--reference", "ref.csv", "--no-ledger", "--epsilon", "1",
                "--allow-no-noise")  # fmt: skip
    story.run(*released, "--mechanism", "optimal", "-o", "best.csv")
    after(story, "best")
    story.run(*released, "--remap", "absolute", "-o", "remapped.csv", "--json")
    story.run(*released, "--bins", "0,2,4,6", "-o", "binned.csv", "--json")
    story.run(*released, "--prior", "gaussian", "-o", "normal.csv", "--json")
    story.run(*released, "--delta", "1e-6", "--public-reference", "-o", "plain.csv", "--json")


def statistics(story: Story) -> None:
    """Statistics by the law of the total."""
    asked = ("--bounds", "0,5", "--step", "1", "--epsilon", "1")
    story.run("release", "today.csv", "--query", "mean(v)", *LAW, *asked, "-o", "mean.csv")
    after(story, "mean")
    story.run("release", "today.csv", "--query", "histogram(v)", *LAW, "--by", "g", "--epsilon", "1", "--no-ledger",
              "-o", "bars.csv", "--json")  # fmt: skip
    story.run("verify", "bars.certificate.json", "--json")
    story.run("release", "today.csv", "--query", "count(v=1)", *LAW, "--epsilon", "1", "--no-ledger", "--dry-run")
    story.run("audit", "mean.certificate.json", "--draws", "20000", "--json")


def records(story: Story) -> None:
    """Several statistics on the records route."""
    asked = ("--query", "count; mean(v); histogram(g)", *RECORDS, "--bounds", "0,5", "--step", "1")
    story.run("release", "today.csv", *asked, "--epsilon", "1", "--dry-run", "--json")
    story.run("release", "today.csv", *asked, "--epsilon", "1", "--budget", "3", "-o", "many.csv")
    after(story, "many", "--published", "many.csv")
    story.run("release", "today.csv", *asked, "--epsilon", "1", "-o", "again.csv")
    story.run("release", "today.csv", "--query", "median(v)", *RECORDS, "--bounds", "0,5", "--step", "1", "--epsilon",
              "1", "-o", "median.csv", "--json")  # fmt: skip
    story.run("release", "today.csv", "--query", "sum(v)", *RECORDS, "--bounds", "0,5", "--step", "1", "--epsilon",
              "5", "-o", "much.csv")  # fmt: skip
    story.run("ledger", "show")


def walks(story: Story) -> None:
    """Sequences."""
    story.run("influence", "last.csv", *WALKS, "--epsilon", "2")
    story.run("influence", "last.csv", *WALKS, "--epsilon", "2", "--json")
    released = ("release", "week.csv", "--query", "histogram", *WALKS, "--epsilon", "2", "--reference", "last.csv")
    story.run(*released, "--dry-run", "--json")
    story.run(*released, "-o", "places.csv")
    story.run("verify", "places.certificate.json")
    story.run("verify", "places.certificate.json", "--twice", "--reference", "last.csv", "--json")
    story.run("ledger", "show", "--json")
    story.run("audit", "places.certificate.json", "--draws", "2000", "--json")


def hidden(story: Story) -> None:
    """A property of the whole table."""
    asked = (*HIDE, "--epsilon", "1", "--delta", "1e-2", "--reference", "ref.csv", "--size", "60")
    story.run("release", "today.csv", *asked, "--dry-run", "--json")
    story.run("release", "today.csv", *asked, "--method", "optimal", "-o", "shares.csv")
    after(story, "shares")


def wrong(story: Story) -> None:
    """Wrong use: every answer says what was expected, with its exit code."""
    (story.folder / "header.csv").write_text("s,v\n")
    base = ("release", "today.csv", "--epsilon", "1")
    for words in (
        ("--help",),
        ("releese",),
        (*base, *ASK),
        (*base, *ASK, "--reference", "ref.csv"),
        (*base, *ASK, "--reference", "ref.csv", "-o", "out.txt"),
        (*base, *ASK, "--reference", "today.csv", "-o", "out.csv"),
        (*base, *ASK, "--reference", "gone.csv", "-o", "out.csv"),
        (*base, *ASK, "--reference", "ref.csv", "-o", "out.csv", "--smoothing", "1"),
        (*base, *ASK, "--reference", "ref.csv", "-o", "out.csv", "--query", "count"),
        (*base, "--publish", "v", "--reference", "ref.csv", "-o", "out.csv"),
        (*base, "--publish", "vv", "--protect", "s", "--reference", "ref.csv", "-o", "out.csv"),
        (*base, *ASK, "--reference", "ref.csv", "-o", "out.csv", "--noise", "laplac"),
        (*base, *ASK, "--reference", "ref.csv", "-o", "out.csv", "--method", "exactt"),
        (*base, *ASK, "--reference", "ref.csv", "-o", "out.csv", "--by", "g"),
        (*base, *ASK, "--reference", "ref.csv", "-o", "out.csv", "--no-ledger", "--ledger", "x.db"),
        (*base, *ASK, "--reference", "ref.csv", "-o", "out.csv", "--hide", "rich=yes"),
        (*base, "--query", "mean(v", "--protect", "s", "--reference", "ref.csv", "-o", "out.csv"),
        (*base, "--query", "mean(v)", "--protect", "s", "--reference", "ref.csv", "-o", "out.csv", "--prior", "shared"),
        (*base, "--query", "mean(v)", "--protect", "s", "--reference", "ref.csv", "-o", "out.csv", "--length", "3"),
        ("release", "week.csv", "--query", "histogram", *WALKS, "--epsilon", "1", "--reference", "last.csv", "-o",
         "out.csv", "--protect", "user"),
        ("release", "today.csv", *ASK, "--epsilon", "-1", "--reference", "ref.csv", "-o", "out.csv"),
        ("release", "today.csv", *ASK, "--epsilon", "much", "--reference", "ref.csv", "-o", "out.csv", "--json"),
        ("release", "header.csv", *ASK, "--epsilon", "1", "--reference", "ref.csv", "-o", "out.csv"),
        ("calibrate", "ref.csv", *ASK),
        ("calibrate", "ref.csv", *ASK, "--epsilon", "1", "--order", "t"),
        ("calibrate", "header.csv", *ASK, "--epsilon", "1"),
        ("compare", "ref.csv", "--epsilon", "1"),
        ("plan", "ref.csv", *ASK),
        ("plan", "ref.csv", *ASK, "--error", "0"),
        ("verify", "gone.json"),
        ("verify", "ref.csv"),
        ("verify", "ref.csv", "--json"),
        ("audit", "ref.csv"),
        ("report", "ref.csv", "-o", "page.html"),
        ("report", "ref.csv"),
        ("ledger", "show"),
        ("ledger", "show", "ref.csv"),
        ("influence", "last.csv", "--epsilon", "1"),
        ("init", "gone.csv"),
        ("check", "gone.csv"),
        ("train", "today.csv", "--epsilon", "1"),
        ("field", "--ar1", "0.5", "--entries", "3"),
        ("property", "ref.csv", "--hide", "rich", "--epsilon", "1"),
    ):  # fmt: skip
        story.run(*words)
    for name in ("release", "calibrate", "compare", "plan", "verify", "audit", "report", "check", "init", "train"):
        all_of_them = "--help-all" if "--help-all" in command(name, "--help")[1] else "--help"
        flags = re.findall(r"(?<!\S)--?[a-z][a-z-]*", command(name, all_of_them)[1])
        story.note(f"{name} --help", " ".join(sorted(set(flags))))


def scenario(story: Story) -> None:
    """A scenario file, written, asked, and changed."""
    story.run("init", "ref.csv", *ASK, "--epsilon", "1", "-o", "scenario.toml")
    story.run("calibrate", "--scenario", "scenario.toml", "--json")
    story.run("release", "today.csv", "--scenario", "scenario.toml", "--reference", "ref.csv", "-o", "out.csv",
              "--json")  # fmt: skip
    story.run("init", "--from", "out.certificate.json", "-o", "back.toml")
    Path("scenario.toml").write_text(Path("scenario.toml").read_text() + "\nunknown = 1\n")
    story.run("calibrate", "--scenario", "scenario.toml")


def trained(story: Story) -> None:
    """A model, and entries that are jointly normal."""
    story.run("train", "today.csv", "--target", "v", "--prior", "independent", "--epsilon", "2", "--delta", "1e-3",
              "--features", "w", "--bounds", "w:0:40,v:0:6", "--model", "linear", "--no-ledger", "-o",
              "model.json")  # fmt: skip
    story.run("verify", "model.certificate.json", "--json")
    story.run("field", "--ar1", "0.5", "--entries", "12", "--width", "0.2", "--rho", "0.01", "--json")


def called(story: Story) -> None:
    """The same doors in Python: a session, an answer, a column, sequences, what notebooks show, audits and verdicts."""
    session = fugu.Session("today.csv", "ref.csv", "s", fugu.Pure(3), rows=60)
    for question, options in (("count", {}), ("mean(v)", {"bounds": (0, 5), "step": 1}), ("histogram(g)", {})):
        answer = session.ask(question, 0.5, **options)
        story.note(f"ask {question}", {"answer": str(answer), "seen": story.seen(answer)})
    story.note("remaining", [repr(session.remaining()), repr(session)])
    story.note("certificate", document(session.certificate.to_json(), story.folder))
    story.note("verdict", _verdict(session.certificate))
    story.note("refused", guarded(lambda: session.ask("mean(v)", 5, bounds=(0, 5), step=1)))
    mean = fugu.answer("today.csv", "mean(v)", "s", fugu.Pure(1), "ref.csv", bounds=(0, 5), step=1, ledger=False)
    story.note("answer", {"answer": str(mean), "seen": story.seen(mean)})
    scenario = fugu.Scenario.from_table("ref.csv", publish="v", protect="s")
    story.note("scenario", {"repr": repr(scenario), "seen": story.seen(scenario)})
    compared = fugu.compare(scenario, fugu.Pure(1))
    story.note("comparison", {"text": shown(str(compared), story.folder), "seen": story.seen(compared)})
    for name, mechanism in {
        "noise": fugu.calibrate(scenario, fugu.Pure(1)),
        "gaussian": fugu.calibrate(scenario, fugu.Approx(1, 1e-6), noise="gaussian"),
        "table": fugu.optimal_channel(scenario, fugu.Pure(1)),
    }.items():
        story.note(name, _mechanism(story, mechanism, scenario))
    story.note("check", story.seen(fugu.check("today.csv", "ref.csv")))


def _mechanism(story: Story, mechanism: Any, scenario: fugu.Scenario) -> dict[str, Any]:
    certificate = mechanism.certificate
    released = mechanism.release([0, 1, 2, 3, 4], allow_no_noise=True, already_mapped=True)
    attacked = fugu.attack(mechanism, scenario, shadow=500, test=500, rng=np.random.default_rng(5))
    usable = fugu.usable(mechanism, scenario, rows=60)
    return {
        "repr": repr(mechanism),
        "seen": [story.seen(thing) for thing in (mechanism, certificate, released)],
        "usable": shown(str(usable), story.folder),
        "within": guarded(lambda: repr(fugu.guarantee_within(mechanism, 0.1))),
        "audit": guarded(lambda: fugu.audit(certificate, draws=20000, rng=np.random.default_rng(5)).clean),
        "attack": shown(str(attacked), story.folder),
        "verdict": _verdict(certificate),
    }


def _verdict(source: Any) -> Any:
    return {
        **verdict(source),
        "examined": guarded(lambda: [f"{c.name}: {c.outcome}" for c in fugu.examine(source, twice=True).checks]),
    }


STORIES = {
    story.__name__: story
    for story in (
        looking,
        column,
        optimal,
        statistics,
        records,
        walks,
        hidden,
        wrong,
        scenario,
        trained,
        called,
        requests,
    )
}
