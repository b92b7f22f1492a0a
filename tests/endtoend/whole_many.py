"""Random lists of questions about one table under one budget, and changes to their certificate."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

from whole_asking import Case, asked
from whole_tables import People

from fugu.numbers.exact import read_number

Body = dict[str, Any]


def many(rng: random.Random, folder: Path) -> Case:
    """One to four questions, some by group, now and then one that is refused."""
    people = People.drawn(rng)
    secret, value, level, group, age, _ = people.names
    top = people.unit * (people.spread + 4)
    kinds = (
        "count", f"count by {group}", f"mean({value})", f"mean({age})", f"mean({age}) by {group}", f"sum({value})",
        f"histogram({level})", f"histogram({level}) by {group}", f"count({level}={people.levels[0]})", f"median({age})",
        f"proportion({level}={people.levels[-1]}) by {group}", f"variance({age})", f"top({level}, 1)",
        f"histogram({secret})", f"crosstab({level}, {group})",
    )  # fmt: skip
    queries = rng.sample(kinds, rng.choice((1, 2, 2, 3, 4)))
    words = ["--query", ", ".join(queries), "--protect", secret, "--epsilon", rng.choice(("0.1", "0.5", "1", "2", "5"))]
    told = {value: (f"0:{top:.10g}", f"{people.unit:.10g}"), age: ("0:100", "20")}
    named = [name for name in told if any(f"({name})" in query for query in queries)]
    if named and rng.random() < 0.95:
        words += ["--bounds", ",".join(f"{name}:{told[name][0]}" for name in named)]
        words += ["--step", ",".join(f"{name}:{told[name][1]}" for name in named)]
    if rng.random() < 0.3:
        words += ["--weights", rng.choice(("error", ",".join("12"[k % 2] for k in range(len(queries)))))]
    words += ["--route", "records"] if rng.random() < 0.5 else []
    return asked(rng, folder, people, words, sizes=(2, 40, 120), plainly=True)


def less_noise(body: Body) -> Body | None:
    """Every rate and every charge a tenth larger, consistently; None where nothing was charged."""
    if not read_number(body["spent"]):
        return None
    forged: Body = json.loads(json.dumps(body))
    for question in forged["questions"]:
        for rates in question["rates"].values():
            rates[:] = [_more(rate) for rate in rates]
        for charges in question["charges"].values():
            _all_more(charges)
    for load in forged["loads"]:
        _all_more(load)
    forged["any belief"] = _more(forged["any belief"])
    return forged


def less_stated(body: Body) -> Body | None:
    """Half of what was spent."""
    if not (spent := read_number(body["spent"])):
        return None
    return {**json.loads(json.dumps(body)), "spent": str(spent / 2)}


def less_budget(body: Body) -> Body | None:
    """A budget below what was spent."""
    if not (spent := read_number(body["spent"])):
        return None
    return {**json.loads(json.dumps(body)), "budget": {"kind": "Pure", "epsilon": str(spent * Fraction(9, 10))}}


def _all_more(charges: list[Body]) -> None:
    for charge in charges:
        for name in ("rate", "epsilon"):
            if name in charge:
                charge[name] = _more(charge[name])


def _more(number: object) -> str:
    return str(Fraction(11, 10) * read_number(str(number)))
