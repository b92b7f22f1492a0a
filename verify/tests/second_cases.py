"""Small certificates of every kind, random and degenerate, for the second proof."""

from __future__ import annotations

import numpy as np

import fugu
from fugu import Approx, Discrete, LawPair, MultivariateNormal, Normal, NormalMixture, Pure, Renyi, RenyiCurve
from fugu.documents.certificate import Certificate
from fugu.errors import FuguError


def content(certificate):
    """What a reader of the file has."""
    return certificate.to_json()


def resealed(certificate, **changed):
    """The certificate with other parts, sealed as if fugu had written it."""
    return Certificate.seal({**certificate.unsealed, **changed}, certificate.laws)


def budget(rng, least=1e-3):
    epsilon, delta = max(least, float(rng.choice([1e-3, 0.1, 0.5, 1, 3, 10]))), float(rng.choice([1e-9, 1e-4, 0.1]))
    alpha = float(rng.choice([1.5, 2, 3.7]))
    return [
        Pure(epsilon), Approx(epsilon, delta), Renyi(alpha, epsilon), RenyiCurve({2: epsilon, 4: 2 * epsilon}),
        Renyi(2, epsilon, delta),
    ][rng.integers(5)]  # fmt: skip


def law(rng, points, dimension):
    weights = [int(rng.choice([0, 1, 2, 7, 10**6])) for _ in points]
    if rng.random() < 0.1:
        weights[0] = 10**300
    used = [(x, w) for x, w in zip(points, weights, strict=True) if w] or [(points[0], 1)]
    return Discrete([list(x) if dimension > 1 else x[0] for x, _ in used], [w for _, w in used])


def atoms(rng, dimension=1):
    """Pairs of laws on a few lattice points; sometimes one atom, sometimes apart."""
    points = sorted({tuple(int(x) for x in rng.integers(0, 6, dimension)) for _ in range(rng.integers(1, 5))})
    return [LawPair(law(rng, points, dimension), law(rng, points, dimension)) for _ in range(rng.integers(1, 3))]


def smooth(rng):
    def one():
        mean, std = float(rng.choice([0, 1, 0.25])), float(rng.choice([1, 2]))
        return Normal(mean, std) if rng.random() < 0.6 else NormalMixture([0.5, 0.5], [0, mean], [1, std])

    return [LawPair(one(), one())]


def normal(rng):
    cov = [[[2, 1], [1, 2]], [[1, 0], [0, 3]]][rng.integers(2)]
    other = cov if rng.random() < 0.7 else [[2, 0], [0, 2]]
    mean = [float(rng.choice([1, 2])), float(rng.choice([0, 1]))]
    return [LawPair(MultivariateNormal([0, 0], cov), MultivariateNormal(mean, other))]


SHAPES = {
    "atoms": atoms,
    "vectors": lambda rng: atoms(rng, 2),
    "smooth": smooth,
    "normal": normal,
}


def calibrated(kind, rng):
    """A certificate that fugu made, or None where it refuses."""
    asked, noise = budget(rng, {"smooth": 0.5, "vectors": 2}.get(kind, 1e-3)), ["laplace", "gaussian"][rng.integers(2)]
    more = {"grid": "1"} if kind == "smooth" else {}
    noise = {} if kind == "normal" else {"noise": noise}
    try:
        with np.errstate(over="ignore"):  # the search for a scale may leave the doubles
            return fugu.calibrate(SHAPES[kind](rng), asked, **noise, **more).certificate
    except FuguError:
        return None
