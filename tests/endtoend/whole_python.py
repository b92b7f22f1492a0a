"""Random scenarios without a command: vectors, properties of the whole, mixtures; certificates and values in files."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from whole_tables import People, write

import fugu
from fugu import Approx, Discrete, LawPair, Pure, Renyi, Scenario
from fugu.mechanism.mechanism import Mechanism

Budget = Pure | Approx | Renyi


def vector(rng: random.Random, folder: Path) -> Mechanism:
    """Laws of points in two or three dimensions, or a shift."""
    d, unit = rng.choice((2, 2, 3)), rng.choice((1, Fraction(1, 10), 7))
    noise = rng.choice(("laplace", "gaussian", "best"))
    if rng.random() < 0.3:
        shift = tuple(rng.choice((1, 2, -3)) * unit for _ in range(d))
        return fugu.calibrate(fugu.Shifted(shift), _budget(rng), noise=noise)
    points = [tuple(rng.randint(-2, 2) * unit for _ in range(d)) for _ in range(rng.choice((2, 3, 5)))]
    points = list(dict.fromkeys(points))
    laws = {name: Discrete(points, [rng.choice((1, 2, 5, 30)) for _ in points]) for name in "ab"}
    return fugu.calibrate(LawPair(laws["a"], laws["b"], "a vs b"), _budget(rng), noise=noise)


def whole(rng: random.Random, folder: Path) -> Mechanism:
    """Statistics of a data set whose share of a secret is hidden."""
    people = People.drawn(rng)
    rows = [row for row in people.rows(rng, 160) if row[1]]
    reference = write(folder / "ref.csv", people.names, rows)
    asked = rng.sample([f"mean({people.names[1]})", f"mean({people.names[4]})", f"sum({people.names[1]})"], 2)
    scenario = Scenario.from_property(
        reference, asked, f"{people.names[0]}={people.secrets[0]}", rng.choice((20, 100)),
        tolerance=rng.choice((0.1, 0.2)), values=None if rng.random() < 0.15 else [0.4, 0.5, 0.6],
    )  # fmt: skip
    return fugu.calibrate(scenario, rng.choice((Approx(1, 1e-3), Approx(0.5, 1e-5), Renyi(4, 1))))


def mixture(rng: random.Random, folder: Path) -> Mechanism:
    """One of two mechanisms for the same laws, by a coin."""
    values = sorted(rng.sample(range(12), rng.choice((2, 3, 6))))
    pair = LawPair(*(Discrete(values, [rng.choice((1, 2, 9)) for _ in values]) for _ in range(2)), "a vs b")
    grid, many = rng.choice((1, Fraction(1, 2))), rng.random() < 0.3
    halves = [fugu.calibrate(pair, _budget(rng, renyi=many), grid=grid, noise=kind) for kind in ("laplace", "best")]
    share = rng.choice((Fraction(1, 3), 0.5, 0.9))
    return fugu.mix(share, *halves)


KINDS: dict[str, Callable[[random.Random, Path], Mechanism]] = {
    "vector": vector,
    "property": whole,
    "mixture": mixture,
}
"""The kinds that have no command, and how a mechanism of each is made."""


def published(mechanism: Mechanism, rng: random.Random, folder: Path) -> Path:
    """Release random values once; write them, and the certificate beside them."""
    count, dimension = rng.choice((1, 4, 30)), mechanism.certificate.body.get("dimension")
    generator = np.random.default_rng(rng.getrandbits(32))
    shape: tuple[int, ...] = (count,) if dimension is None else (count, int(dimension))
    if mechanism.certificate.kind == "correlated":
        shape = shape[1:]  # one data set goes out once
    values = generator.integers(-3, 12, shape).astype(float)
    drawn = np.atleast_2d(np.asarray(mechanism.release(values, allow_no_noise=True).values, dtype=float).T).T
    names = [f"v{k}" for k in range(drawn.shape[1])]
    (folder / "pub").mkdir(exist_ok=True)
    mechanism.certificate.save(folder / "pub" / "out.certificate.json")
    return write(folder / "pub" / "out.csv", names, [[repr(float(x)) for x in row] for row in drawn])


def _budget(rng: random.Random, renyi: bool = True) -> Budget:
    epsilon = rng.choice((0.001, 0.1, 0.5, 1, 1, 2, 20))
    kind = rng.random()
    if kind < 0.4:
        return Pure(epsilon)
    return Renyi(rng.choice((2, 8)), epsilon) if renyi and kind < 0.6 else Approx(epsilon, rng.choice((1e-5, 0.01)))
