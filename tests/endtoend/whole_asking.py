"""Random questions for the command line: columns, statistics, sequences, trainings, with all that can be said of them.

What is asked need not make sense: a refusal is a good answer. Most of it does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from whole_tables import People, kernel_of, records, walks, write

EPSILONS = ("0.001", "0.1", "0.5", "0.5", "1", "1", "2", "5", "20")


@dataclass(frozen=True)
class Case:
    """A command, and where its files are. Without a reference, beliefs are of the private table itself, or stated."""

    words: tuple[str, ...]
    folder: Path
    data: Path
    published: Path
    reference: Path | None = None
    ledger: Path | None = None

    def command(self) -> list[str]:
        """The whole command line."""
        more = ["-o", str(self.published)]
        more += ["--no-ledger"] if self.ledger is None else ["--ledger", str(self.ledger)]
        if self.words[0] == "release":
            more += ["--public-prior"] if self.reference is None else []
        if self.reference is not None:
            more += ["--reference", str(self.reference)]
        return [self.words[0], str(self.data), *self.words[1:], *more]

    def outside(self) -> dict[str, Path]:
        """What `fugu.examine` is given beside the folder."""
        named = {"reference": self.reference, "ledger": self.ledger, "data": self.data}
        return {name: path for name, path in named.items() if path is not None}


def column(rng: random.Random, folder: Path) -> Case:
    """One column, row by row."""
    people = People.drawn(rng)
    words = ["--publish", people.names[1], *protected(rng, people), *_budget(rng, renyi=True)]
    shape = rng.random()
    if shape < 0.12:
        words[1] = people.names[2]
        words += ["--bins", ",".join(people.levels)]
    elif shape < 0.3:
        words += ["--bins", rng.choice(("2", "5", "12", "0,2,4,100", "-1000000,10,20,1000000"))]
    if people.smooth or rng.random() < 0.1:
        words += ["--prior", rng.choice(("gaussian", "gaussian", "mixture", "shared"))]
        if words[-1] == "shared" or (words[-1] == "mixture" and rng.random() < 0.5):
            words += ["--components", rng.choice(("1", "2"))]
    words += some(rng, 0.35, "--noise", ("laplace", "gaussian"))
    words += some(rng, 0.15, "--method", ("exact", "wasserstein", "closeness", "relaxed", "transport", "l1"))
    words += some(rng, 0.1, "--grid", ("0.5", "1", "1/3", "0.001"))
    return asked(rng, folder, people, words)


def statistic(rng: random.Random, folder: Path) -> Case:
    """A count, a sum, a mean or a table of counts, of all rows or by group."""
    people = People.drawn(rng)
    secret, value, level, group, *_ = people.names
    query = rng.choice((
        f"count({secret}={rng.choice(people.secrets)})", f"count({level}={rng.choice(people.levels)})",
        f"sum({value})", f"mean({value})", f"mean({value})", f"histogram({level})", f"histogram({value})",
        f"crosstab({level}, {secret})",
    ))  # fmt: skip
    words = ["--query", query, *protected(rng, people)[:2], *_budget(rng, renyi=False)]
    law = ["--route", "law"] if rng.random() < 0.8 else []
    if query.startswith(("histogram", "crosstab")) and rng.random() < 0.9:
        words = words[:6]  # tables of counts are for pure budgets
    words += ["--by", group] if rng.random() < 0.45 else []
    top = people.unit * (people.spread + 4)
    if value in query:
        words += [] if rng.random() < 0.1 else ["--bounds", f"0,{top:.10g}"]
        words += [] if rng.random() < 0.5 else ["--step", f"{people.unit:.10g}"]
        words += ["--bins", f"0,{top / 2:.10g},{top:.10g}"] if query.startswith("histogram") else []
    return asked(rng, folder, people, [*words, *law])


def sequence(rng: random.Random, folder: Path) -> Case:
    """A statistic of sequences of states or numbers."""
    numbers = rng.random() < 0.3
    states = ("1", "2", "5", "9") if numbers else ("home", "work", "süd", "a b")
    states = states[: rng.choice((2, 3, 4))]
    names = ("user", "time", "place") if rng.random() < 0.7 else ("gebruiker id", "ζ", "état")
    queries = (f"mean({names[2]})", f"sum({names[2]})") if numbers else (
        "top1", "top2", "histogram", f"count({states[0]})", "transitions", "histogram")  # fmt: skip
    kernel, steps = kernel_of(rng, len(states)), rng.choice((2, 5, 12, 40))
    private = walks(rng, states, rng.choice((1, 3, 12)), steps, kernel)
    public = walks(rng, states, rng.choice((1, 8, 25)), steps, kernel)
    if rng.random() < 0.2:
        private[0][2] = rng.choice(("moon", "", "7"))
    words = ["release", "--query", rng.choice(queries), "--by", names[0], "--order", names[1], "--state", names[2],
             "--epsilon", rng.choice(EPSILONS)]  # fmt: skip
    words += some(rng, 0.4, "--smoothing", ("0.5", "1"))
    words += some(rng, 0.4, "--start", ("any", "stationary", "fitted"))
    words += some(rng, 0.15, "--length", (str(steps + 5),))
    words += ["--bounds", rng.choice(("0,10", "1,5"))] if numbers and rng.random() < 0.5 else []
    words += some(rng, 0.1, "--other", (states[-1],))
    reference = write(folder / "ref.csv", names, public)
    data = write(folder / "data.csv", names, private)
    return _kept(rng, Case(tuple(words), folder, data, folder / "pub" / "out.csv", reference))


def training(rng: random.Random, folder: Path) -> Case:
    """A linear model, small."""
    names = ("time", "load", "wind", "power", "high")
    data = write(folder / "data.csv", names, records(rng, rng.choice((20, 60)), 1000))
    target = rng.choice(("power", "high"))
    words = ["train", "--target", target, "--features", "load,wind", "--bounds", "load:0:100,wind:0:12"]
    words += ["--bounds", "power:0:60"] if target == "power" else ["--classes", "y,n"]
    words += ["--model", rng.choice(("logistic", "svc"))] if target == "high" else []
    words += ["--order", "time", "--prior", rng.choice(("independent", "ar1:0.3", "mixing:0.3", "group"))]
    words += ["--epsilon", rng.choice(("0.5", "2", "8")), "--delta", rng.choice(("1e-5", "1e-3"))]
    words += some(rng, 0.3, "--private", ("features", "target"))
    return _kept(rng, Case(tuple(words), folder, data, folder / "pub" / "model.json"))


def public_prior(rng: random.Random, folder: Path) -> Case:
    """Beliefs of the private table itself, which are withheld."""
    case = rng.choice((column, column, statistic, sequence))(rng, folder)
    return replace(case, reference=None)


def degenerate(rng: random.Random, folder: Path) -> Case:
    """One row, one atom, equal laws, one secret, budgets from nothing to everything."""
    drawn = People.drawn(rng)
    people = replace(drawn, **rng.choice((
        {"spread": 0, "apart": 0, "smooth": False, "gaps": 0}, {"apart": 0}, {"secrets": drawn.secrets[:1]},
        {"spread": 0, "apart": 1, "smooth": False}, {"unit": 1e-9}, {"unit": 1e12}, {"gaps": 0.9},
    )))  # fmt: skip
    epsilon = rng.choice(("0.001", "20", "1", "0.5", "20", "1e-9", "0", "-1", "700"))
    words = ["--publish", people.names[1]] if rng.random() < 0.5 else [
        "--query", f"mean({people.names[1]})", "--bounds", rng.choice(("0,1", "0,1e13", "3,3", "-5,50"))]  # fmt: skip
    words += ["--protect", people.names[0], "--epsilon", epsilon, *some(rng, 0.3, "--delta", ("1e-9", "0.5", "0.9"))]
    return asked(rng, folder, people, words, sizes=(1, 1, 2, 12))


KINDS: dict[str, Callable[[random.Random, Path], Case]] = {
    "column": column,
    "statistic": statistic,
    "sequence": sequence,
    "training": training,
    "public prior": public_prior,
    "degenerate": degenerate,
}
"""The kinds that have a command, and how a case of each is drawn into an empty folder."""


def protected(rng: random.Random, people: People) -> list[str]:
    if rng.random() < 0.15:
        return ["--protect", people.names[4] + rng.choice((">=50", ":30,60"))]
    pairs = ["--pairs", rng.choice(("adjacent", "all", ":".join(people.secrets[:2])))] if rng.random() < 0.2 else []
    return ["--protect", people.names[0], *pairs]


def _budget(rng: random.Random, renyi: bool) -> list[str]:
    words, kind = ["--epsilon", rng.choice(EPSILONS)], rng.random()
    if kind < 0.35:
        words += ["--delta", rng.choice(("1e-9", "1e-5", "0.001", "0.05"))]
    elif kind < 0.6 and renyi:
        words += ["--alpha", rng.choice(("1.5", "2", "8", "32"))]
    return words


def some(rng: random.Random, share: float, option: str, values: tuple[str, ...]) -> list[str]:
    return [option, rng.choice(values)] if rng.random() < share else []


def asked(
    rng: random.Random, folder: Path, people: People, words: list[str], sizes: tuple[int, ...] = (1, 5, 20, 60, 150),
    plainly: bool = False,
) -> Case:  # fmt: skip
    """The case with tables for it; `plainly` without options that only the law route knows."""
    words = ["release", *words]
    if people.gaps and rng.random() < 0.9 and not plainly:
        drop = () if "--query" in words and rng.random() < 0.9 else ("drop",)
        words += ["--missing", rng.choice((*drop, "0", f"{people.unit:.10g}"))]
    words += ["--unit", people.names[5]] if rng.random() < 0.1 else []
    words += ["--allow-no-noise"] if rng.random() < 0.8 and not plainly else []
    words += ["--data", "the táble"] if rng.random() < 0.2 else []
    reference = write(folder / "ref.csv", people.names, people.rows(rng, 2 * rng.choice(sizes), 10**6))
    data = write(folder / "data.csv", people.names, people.rows(rng, rng.choice(sizes)))
    return _kept(rng, Case(tuple(words), folder, data, folder / "pub" / "out.csv", reference))


def _kept(rng: random.Random, case: Case) -> Case:
    return replace(case, ledger=case.folder / "books" / "l.db" if rng.random() < 0.7 else None)
