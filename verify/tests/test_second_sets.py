"""Laplace noise on sets of laws, proved twice: the second proof agrees with the first and with the corners of boxes."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import Ball, Box, Discrete, LawPair, Pure
from fugu_verify import prove_again
from honest import honest
from hunting import search


def body_of(mechanism):
    return mechanism.certificate.to_json()


def scaled(body, factor):
    """The same certificate with other noise."""
    scale = Fraction(repr(float(Fraction(body["noise"]["scale"]) * factor)))
    return {**body, "noise": {**body["noise"], "scale": str(scale)}}


def corners(lower, upper):
    """The laws that span a box: all masses but one at an end."""
    n = len(lower)
    for free in range(n):
        for ends in itertools.product((0, 1), repeat=n - 1):
            rest = [(lower, upper)[e][x] for e, x in zip(ends, (x for x in range(n) if x != free), strict=True)]
            mass = 1 - sum(rest)
            if lower[free] - 1e-12 <= mass <= upper[free] + 1e-12:
                yield np.insert(np.array(rest), free, mass)


@search("noise on sets of laws, proved twice", quick=15)
def test_the_second_proof_of_noise_on_sets_agrees_with_the_first_and_with_all_corners(rng):
    """Wrong versions: ratios of one member of each set alone, and noise of 97 % of the scale."""
    values = np.sort(rng.choice(9, 3, replace=False))
    boxes = []
    for _ in range(2):
        middle = rng.dirichlet(np.ones(3) * 4)
        boxes.append((np.maximum(middle - 0.05, 0.01), np.minimum(middle + 0.05, 0.97)))
    pair = LawPair(*(Box(values, low, high) for low, high in boxes), "a vs b")
    mechanism = fugu.calibrate(pair, Pure(float(rng.choice([0.1, 0.5, 1.0]))), noise="laplace")
    if mechanism.noise.scale == 0:
        return 0
    body = body_of(mechanism)
    found, first = prove_again(body), fugu.verify(mechanism)
    assert found.outcome == "holds" and found.agrees_with(first.epsilon, first.delta)
    assert first.epsilon == pytest.approx(float(found.epsilon[1]), rel=1e-9)
    kernel = np.exp(-np.abs(values[:, None] - values[None, :]) / mechanism.noise.scale)
    laws = [list(corners(*box)) for box in boxes]
    truth = max(
        math.log(max((p @ kernel / (q @ kernel)).max(), (q @ kernel / (p @ kernel)).max()))
        for p in laws[0] for q in laws[1]
    )  # fmt: skip
    assert truth == pytest.approx(float(found.epsilon[1]), rel=1e-6)
    assert prove_again(scaled(body, Fraction(97, 100))).outcome == "fails"
    return 1


@pytest.mark.parametrize("name", ["confidence, laplace", "noise for sets"])
def test_confidence_sets_with_added_noise_are_proved_twice(name):
    body = json.loads(honest(name))
    found = prove_again(body)
    assert found.outcome == "holds" and found.epsilon[0] <= found.epsilon[1] <= found.asked.epsilon
    assert prove_again(scaled(body, Fraction(97, 100))).outcome == "fails"


def test_what_is_not_worked_out_says_why():
    sets = LawPair(*(Ball(Discrete([0, 1, 2], w), 0.05) for w in ([5, 3, 2], [2, 3, 5])), "a vs b")
    for budget, noise in ((fugu.Approx(0.4, 0.01), "laplace"), (fugu.Renyi(2, 0.4), "laplace")):
        try:
            body = body_of(fugu.calibrate(sets, budget, noise=noise))
        except fugu.errors.FuguError:
            continue
        found = prove_again(body)
        assert found.outcome == "holds" or "set" in found.why
    training = prove_again(json.loads(honest("training, independent")))
    assert training.outcome == "not checked" and "rest on the same inequality as the first" in training.why
