"""Random tables of people, sequences and records to train on: two of a kind, one public and one private.

Names and labels are awkward on purpose: letters of other scripts, spaces, quotes, formulas, words of query languages.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PLAIN = ("sex", "chol", "ward", "age", "bmi", "id")
AWKWARD = (
    "größe",
    "年齢",
    "a b",
    "it's",
    'say "v"',
    "=1+1",
    "select",
    "x.y",
    "Σ",
    "🙂",
    " pad",
    "0",
    "A",
    "a",
    "[b]m[/]",
)
SECRETS = ("F", "M", "X", "yes", "no", "ж", "n/a?", "10", "01", "é", "a,b", "true")
CATEGORIES = ("low", "mid", "high", "höher", "top")
GROUPS = ("north", "süd", "w 3", "=2", "O'", "x")
Rows = list[list[str]]


@dataclass(frozen=True)
class People:
    """How rows of one kind are drawn: columns of secret, number, category, group, age and id, by their names."""

    names: tuple[str, ...]
    secrets: tuple[str, ...]
    unit: float
    spread: int
    apart: float
    groups: tuple[str, ...]
    levels: tuple[str, ...]
    gaps: float
    smooth: bool

    @staticmethod
    def drawn(rng: random.Random) -> People:
        """Two to four secrets, whose numbers overlap more or less."""
        names = PLAIN if rng.random() < 0.6 else tuple(rng.sample(AWKWARD, len(PLAIN)))
        return People(
            names=names,
            secrets=tuple(rng.sample(SECRETS, rng.choice((2, 2, 2, 3, 4)))),
            unit=rng.choice((1, 1, 1, 0.1, 0.5, 5, 0.01, 1000)),
            spread=rng.choice((1, 2, 4, 4, 9, 30)),
            apart=rng.choice((0, 0.3, 1, 1, 3)),
            groups=tuple(rng.sample(GROUPS, rng.choice((1, 2, 3, 5)))),
            levels=CATEGORIES[: rng.choice((2, 3, 5))],
            gaps=rng.choice((0, 0, 0, 0.1)),
            smooth=rng.random() < 0.15,
        )

    def rows(self, rng: random.Random, count: int, at: int = 0) -> Rows:
        """So many people; every secret occurs if there are enough of them."""
        return [self._one(rng, i, at) for i in range(count)]

    def _one(self, rng: random.Random, i: int, at: int) -> list[str]:
        place = i % len(self.secrets) if rng.random() < 0.7 else rng.randrange(len(self.secrets))
        if self.smooth:
            value = round(rng.gauss(20 + self.apart * place, 3), 1)
        else:
            value = (rng.randint(0, self.spread) + round(self.apart * place)) * self.unit
        level = min(len(self.levels) - 1, rng.randrange(len(self.levels)) + (place > 0 and rng.random() < 0.3))
        shown = "" if rng.random() < self.gaps else f"{value:.10g}"
        return [
            self.secrets[place], shown, self.levels[level], rng.choice(self.groups),
            str(rng.randint(18, 80) + 3 * place), f"p{at + i}",
        ]  # fmt: skip


def write(path: Path, names: Sequence[str], rows: Rows) -> Path:
    """A CSV file."""
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows([list(names), *rows])
    return path


def walks(rng: random.Random, states: Sequence[str], users: int, steps: int, kernel: list[list[float]]) -> Rows:
    """Rows (user, time, state), shuffled: every user walks through the states for about so many steps."""
    rows = []
    for user in range(users):
        place = rng.randrange(len(states))
        for time in range(max(1, steps - rng.randint(0, 2))):
            rows.append([f"u{user}", str(time), states[place]])
            place = rng.choices(range(len(states)), kernel[place])[0]
    rng.shuffle(rows)
    return rows


def kernel_of(rng: random.Random, count: int) -> list[list[float]]:
    """How states follow each other: rarely 0."""
    return [[rng.choice((0.0, 1.0, 2.0, 5.0)) + (i == j or j == 0) for j in range(count)] for i in range(count)]


def records(rng: random.Random, count: int, at: int) -> Rows:
    """Rows (time, load, wind, power, high): power is linear in the two, and high says whether it is above 28."""
    rows = []
    for i in range(count):
        load, wind = rng.uniform(10, 90), rng.uniform(1, 11)
        power = 0.2 * load + 3 * wind + rng.gauss(0, 1)
        rows.append([str(at + i), f"{load:.3f}", f"{wind:.3f}", f"{power:.3f}", "ny"[power > 28]])
    return rows
