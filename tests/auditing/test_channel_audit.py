"""Channels under attack: the release path is as tight as it is proved, and a wrong draw is refuted."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fugu
from fugu import Box, Certificate, Discrete, LawPair, Pure, optimal_channel
from fugu.auditing.contest import Publication
from fugu.errors import NotProvable
from fugu.mechanism.mechanism import Mechanism

PAIR = LawPair(Discrete([0, 1, 3], [3, 1, 2]), Discrete([0, 1, 3], [1, 3, 1]), "a vs b")
BOXES = LawPair(
    Box([0, 1, 3], [0.4, 0.1, 0.2], [0.6, 0.3, 0.5]), Box([0, 1, 3], [0.2, 0.3, 0.1], [0.4, 0.6, 0.3]), "a vs b"
)


@pytest.mark.parametrize("pair", [PAIR, BOXES], ids=["laws", "boxes"])
def test_the_attack_comes_near_what_is_proved_and_not_above(pair):
    made = optimal_channel(pair, Pure(1))
    for source in (made, Certificate.parse(json.loads(made.certificate.to_json()))):
        found = fugu.audit(source, draws=200_000, rng=np.random.default_rng(3))
        assert found.clean and not found.refuted and 0.85 < found.epsilon_lower <= 1


def test_a_draw_from_another_row_is_refuted():
    """The wrong version: values go out as they are. The attack shows more than is proved."""
    made = optimal_channel(PAIR, Pure(0.2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mechanism, "_draw", lambda self, column, source: column)
        found = fugu.audit(made, draws=100_000, rng=np.random.default_rng(3))
    assert found.refuted and found.epsilon_lower > 0.2


def test_the_stated_law_of_outputs_is_the_row():
    made = optimal_channel(PAIR, Pure(1))
    table = Publication.of(made.certificate)
    logs = table.log_mass(np.array([0.2, 1.0, 9.0]), np.array([0.0, 1.0, 3.0, 2.0]))
    rows = made.noise.conditional()
    assert np.allclose(np.exp(logs[:3]).T, rows) and np.all(logs[3] == -np.inf)
    assert table.window(np.array([0.0]), 5)[0].tolist() == [0.0, 1.0, 3.0]


def test_beliefs_within_a_distance_have_no_bound_and_other_beliefs_have():
    made = optimal_channel(PAIR, Pure(1))
    with pytest.raises(NotProvable, match="exchanges values"):
        fugu.guarantee_within(made, 0.1)
    other = LawPair(Discrete([0, 1, 3], [1, 0, 0]), Discrete([0, 1, 3], [0, 0, 1]), "a vs b")
    capped = optimal_channel(PAIR, Pure(1), cap=2)
    assert fugu.guarantee_against(capped, other) <= Pure(2)


def test_guessers_find_no_more_than_is_promised():
    made = optimal_channel(PAIR, Pure(1))
    found = fugu.attack(made, PAIR, rng=np.random.default_rng(8))
    assert found.consistent and found.epsilon_lower > 0.3
