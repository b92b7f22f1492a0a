"""Beliefs near the true ones: no term of Theorem 5.6 is dropped; 5.7 beside the triangle inequality."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fugu.auditing.theorems import nearby_laws
from fugu.errors import BadBudget, NotProvable
from fugu_papers.close_beliefs import theorem_5_7, translated_scale


def test_theorem_5_6_needs_every_term():
    """f_i puts 0.1 where g_i has nothing: dropping eta1 claims (e, 0)."""
    assert 0.1 <= nearby_laws(0, 0, 0, 0.1, 0, 0).delta < 0.1 + 1e-15
    with pytest.raises(NotProvable):
        nearby_laws(1, 0, 0, 0.5, 0, 0.3)
    with pytest.raises(NotProvable):
        nearby_laws(math.inf, 0, 0, 0, 0, 0)
    with pytest.raises(BadBudget):
        nearby_laws(1, 0, -1, 0, 0, 0)


def test_theorem_5_7_is_the_printed_formula_and_the_triangle_inequality_is_better():
    found = theorem_5_7(1, 1e-3, 0.25, 1e-2)
    assert found.epsilon == 1.5
    assert found.delta == pytest.approx((1 + math.exp(1.25)) * 1e-2 + math.exp(0.25) * 1e-3, rel=1e-13)
    shift, w, total = 2.0, 0.5, 1.0
    best = min(2 * (shift / (total - 2 * x)) ** 2 + 2 * (w / x) ** 2 for x in np.linspace(0.001, 0.499, 999))
    scale = translated_scale(shift, w, total)
    assert scale == 3 and 2 * float(scale) ** 2 < best
    with pytest.raises(NotProvable):
        translated_scale(1, 1, 0)
