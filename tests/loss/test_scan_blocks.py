"""Blocked, doubled and logarithmic scans agree with the plain recurrence, within the bound they state."""

from __future__ import annotations

import numpy as np
import pytest

from fugu.loss.search.laplace import _doubling, _prefix, decayed_sums, log_decayed_sums


def plain(points, weights, scale):
    """L_k = p_k + e^{-gap/b} L_{k-1} in extended precision."""
    out = np.zeros(len(points), dtype=np.longdouble)
    for k in range(len(points)):
        decay = np.exp(-np.longdouble(points[k] - points[k - 1]) / np.longdouble(scale)) if k else 0
        out[k] = weights[k] + decay * (out[k - 1] if k else 0)
    return out


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.05, 1.0, 1e3])
@pytest.mark.parametrize("kind", ["uniform", "clusters", "far", "integers"])
def test_every_scan_is_within_its_stated_error(scale, kind):
    rng = np.random.default_rng(7)
    points = {
        "uniform": np.sort(rng.random(3000)),
        "clusters": np.sort(np.concatenate([rng.random(1000) * 1e-4, 50 + rng.random(1000) * 1e-4])),
        "far": np.array([0.0, 1e-9, 1.0, 1e9, 1e300]),
        "integers": np.unique(rng.integers(0, 10**6, 2000)),
    }[kind]
    weights = rng.random((2, len(points)))
    weights[0, ::7] = 1e-300
    truth = plain(points, weights[0], scale)
    for scan in (_prefix, _doubling):
        found, error = scan(points, weights, scale)
        relative = np.abs(found[0] - truth) / truth
        assert relative.max() <= error
        assert error < 1e-11
    assert np.all(found[0] * (1 - 3e-3) < truth)  # the helper would notice a 0.3 % error: the comparison is not vacuous
    assert not np.all(np.abs(found[0] * 1.003 - truth) / truth <= error)


def test_log_scan_agrees_where_both_apply():
    rng = np.random.default_rng(3)
    points, weights = np.sort(rng.random(500)), rng.random((2, 500))
    plain_sum = decayed_sums(points, weights, 0.01).total(weights)
    assert np.allclose(np.log(plain_sum), log_decayed_sums(points, np.log(weights), 0.01), rtol=0, atol=1e-11)
