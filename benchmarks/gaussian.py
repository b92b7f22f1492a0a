"""Normal and mixture beliefs, and sums over many people, each in units of the plainest work of its kind."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import fugu
from benchmarks.measure import Row, Size, race
from fugu.calibration.lattice import least
from fugu.laws.shapes import items
from fugu.loss.densities import NoisedMixture
from fugu.loss.door import delta_bounds
from fugu.noise import Lattice

_BUDGET = fugu.Approx(1, 0.01)
_STRICT = fugu.Approx(0.2, 1e-3)
_NORMALS = fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 2))
_MIXTURES = fugu.LawPair(
    fugu.NormalMixture([2, 5, 3], [-2, 0, 3], [1, 0.8, 1.5]), fugu.NormalMixture([4, 4, 2], [-1, 0.5, 4], [1.2, 0.9, 1])
)


def calibration(size: Size) -> Iterator[Row]:
    """The search for the exact scale against one evaluation of the noised density on 1,000 points; its proof apart."""
    grid = fugu.calibrate(_NORMALS, _BUDGET, noise="laplace").noise.grid
    points, one = np.linspace(-10, 10, 1000), np.ones(1)
    noised = NoisedMixture(0 * one, 0 * one, 0 * one, one / 1.5, laplace=True)  # N(0, 1) + Lap(1.5), in units of 1.5
    normals, mixtures = (items([pair])[0].on(Lattice(grid)) for pair in (_NORMALS, _MIXTURES))
    noise = fugu.Laplace(1.631, grid)
    took = race(
        size.laps,
        density=lambda: noised.log_density(points / 1.5),
        laplace=lambda: least(normals, _BUDGET.asks(), fugu.Laplace),
        gaussian=lambda: least(normals, _BUDGET.asks(), fugu.Gaussian),
        two=lambda: least(normals, _STRICT.asks(), fugu.Laplace),
        three=lambda: least(mixtures, _STRICT.asks(), fugu.Laplace),
        proof=lambda: delta_bounds(normals, noise, Fraction(1)),
        whole=lambda: fugu.calibrate(_NORMALS, _BUDGET, noise="laplace"),
    )
    unit = "x density on 1,000 points"
    yield Row("gaussian", "search, Laplace noise", took["laplace"] / took["density"], unit, 2000)
    yield Row("gaussian", "search, Gaussian noise", took["gaussian"] / took["density"], unit, 2000)
    yield Row("gaussian", "search, three components", took["three"] / took["two"], "x two normals", 20)
    yield Row("gaussian", "proof", took["proof"] / took["density"], unit)
    yield Row("gaussian", "calibrate end to end", took["whole"] / took["density"], unit)


def sums(size: Size) -> Iterator[Row]:
    """The certified law of a sum of a million people with 100 levels against one FFT of the output's length."""
    levels = fugu.Discrete(range(100), np.arange(1, 101))
    people = size.of(10**6)
    law = levels.iid_sum(people)
    signal = np.random.default_rng(0).random(1 << (len(law.values) - 1).bit_length())
    took = race(size.laps, fft=lambda: np.fft.rfft(signal), sum=lambda: levels.iid_sum(people))
    yield Row("sums", f"iid_sum of {people:,} people, 100 levels", took["sum"] / took["fft"], "x one FFT", 50)
