"""Random questions with beliefs that are only roughly known, channels of least error, and noise on the values.

The declared values are those of the schema, of edges, of an ordering or of categories, never those of the reference."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from whole_asking import Case, asked, protected, some
from whole_tables import People

from fugu import Schema

LEVELS = ("0.5", "0.9", "0.95", "0.95", "0.999")


def confidence(rng: random.Random, folder: Path) -> Case:
    """The promise for every law that the counts cannot rule out."""
    people = _small(rng)
    words = _column(rng, people, folder)
    words += ["--confidence", rng.choice(LEVELS), *some(rng, 0.3, "--shift", ("0", "0.02", "0.3"))]
    words += some(rng, 0.3, "--mechanism", ("optimal", "noise"))
    return _few_rows(rng, folder, people, words)


def channel(rng: random.Random, folder: Path) -> Case:
    """A channel of least error for laws that are known."""
    people = _small(rng)
    words = _column(rng, people, folder)
    words += ["--mechanism", "optimal", *some(rng, 0.5, "--loss", ("absolute", "squared", "zero-one"))]
    words += some(rng, 0.4, "--cap", ("0.5", "2", "8"))
    return _few_rows(rng, folder, people, words)


def atoms(rng: random.Random, folder: Path) -> Case:
    """Laplace noise on the values themselves, or noise whose outcomes are sent back to them."""
    people = _small(rng)
    words = _column(rng, people, folder)
    words += rng.choice((["--noise", "atoms"], ["--remap", "absolute"], ["--remap", "squared"], ["--noise", "atoms"]))
    return _few_rows(rng, folder, people, words)


KINDS: dict[str, Callable[[random.Random, Path], Case]] = {
    "confidence": confidence,
    "channel": channel,
    "atoms": atoms,
}


def _small(rng: random.Random) -> People:
    """Few values: channels and sets are tables of them."""
    drawn = People.drawn(rng)
    return replace(drawn, spread=rng.choice((1, 2, 4, 9)), smooth=False, gaps=rng.choice((0, 0, 0, 0.1)))


def _column(rng: random.Random, people: People, folder: Path) -> list[str]:
    """A column whose values are declared in one of the ways there are; now and then in none."""
    _, value, level, *_ = people.names
    top = people.unit * (people.spread + 6)
    budget = ["--epsilon", rng.choice(("0.1", "0.5", "1", "1", "2", "5"))]
    budget += some(rng, 0.2, "--delta", ("1e-5", "0.01"))
    how = rng.choice(("schema", "schema", "edges", "ordering", "names", "nothing"))
    named = value if how in ("schema", "edges", "nothing") else level
    words = ["--publish", named, *protected(rng, people), *budget]
    if how == "edges":
        return [*words, "--bins", f"{-top:.10g},{top / 3:.10g},{top / 2:.10g},{2 * top:.10g}"]
    if how == "ordering":
        return [*words, "--bins", ",".join(people.levels)]
    if how == "nothing":
        return words
    told = {"kind": "category", "values": list(people.levels)} if how == "names" else {
        "kind": "number", "bounds": (0, top), "step": people.unit}  # fmt: skip
    Schema({named: told}).save(folder / "schema.toml")
    return [*words, "--schema", str(folder / "schema.toml")]


def _few_rows(rng: random.Random, folder: Path, people: People, words: list[str]) -> Case:
    return asked(rng, folder, people, words, sizes=(2, 20, 60, 200))


def surer(body: dict[str, object]) -> dict[str, object] | None:
    """The same counts at a higher level, in every part that states one; None where no confidence is stated."""
    if "confidence" not in body:
        return None
    text = json.dumps(body)
    level = json.dumps(body["confidence"]["level"])  # type: ignore[index]
    forged: dict[str, object] = json.loads(text.replace(level, '"9999/10000"'))
    return forged


def more_rows(body: dict[str, object]) -> dict[str, object] | None:
    """Every count twice, as if the reference had twice the rows; None where there are no counts."""
    if "confidence" not in body:
        return None
    forged: dict[str, object] = json.loads(json.dumps(body))
    counts = forged["confidence"]["counts"]  # type: ignore[index]
    for secret in counts:
        counts[secret] = [2 * count for count in counts[secret]]
    return forged
