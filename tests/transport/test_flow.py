"""Maximum flow with masses of any size, against all cuts; scipy's own wraps beyond 32 bits."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from fugu.transport.coupling import Coupling
from fugu.transport.flows import max_flow


def least_cut(a, b, rows, columns):
    """min over sets S of rows of a(outside S) + b(the partners of S): max-flow min-cut, every set tried."""
    partners = [sum(1 << j for i, j in zip(rows, columns, strict=True) if i == r) for r in range(len(a))]
    best = None
    for s in range(1 << len(a)):
        inside = [r for r in range(len(a)) if s >> r & 1]
        reached = 0
        for r in inside:
            reached |= partners[r]
        cut = sum(a) - sum(a[r] for r in inside) + sum(b[j] for j in range(len(b)) if reached >> j & 1)
        best = cut if best is None else min(best, cut)
    return best


def masses(rng, size, bits):
    """Masses of very different sizes, up to that many bits."""
    return [int.from_bytes(rng.bytes(40)) >> int(320 - rng.integers(1, bits + 1)) for _ in range(size)]


@pytest.mark.parametrize("bits", [3, 29, 31, 32, 40, 61, 90, 300])
def test_moves_as_much_as_the_least_cut_allows_and_never_more_than_there_is(bits):
    rng = np.random.default_rng(bits)
    for _ in range(25):
        n, m = rng.integers(1, 7, 2)
        a, b = masses(rng, n, bits), masses(rng, m, bits)
        rows, columns = np.nonzero(rng.random((n, m)) < rng.choice([0.2, 0.5, 0.9]))
        kind = np.int64 if bits < 55 else object
        flow = max_flow(np.array(a, dtype=kind), np.array(b, dtype=kind), rows, columns)
        assert all(f >= 0 for f in flow.tolist())
        moved = Coupling(rows, columns, flow, sum(a))
        assert np.all(moved.sums(rows, n) <= np.array(a, dtype=object))
        assert np.all(moved.sums(columns, m) <= np.array(b, dtype=object))
        assert int(flow.sum()) == least_cut(a, b, rows.tolist(), columns.tolist())


def test_scipy_drops_the_high_bits_without_a_word_and_we_do_not():
    big = 2**40
    network = csr_array((np.array([big, big], dtype=np.int64), ([0, 1], [1, 2])), shape=(3, 3))
    try:
        wrapped = maximum_flow(network, 0, 2).flow_value
    except (ValueError, TypeError):  # a version that refuses is as good
        wrapped = None
    assert wrapped != big
    one = np.zeros(1, dtype=np.int64)
    for mass in (big, 2**31, 2**32 + 1, 2**61, 2**200 + 7):
        held = np.array([mass], dtype=object)
        assert max_flow(held, held, one, one).tolist() == [mass]


def test_what_is_not_enough_may_stop_early_but_is_never_called_enough():
    a = np.array([2**80, 5], dtype=object)
    b = np.array([5, 2**80], dtype=object)
    rows, columns = np.array([0, 1]), np.array([0, 0])
    assert int(max_flow(a, b, rows, columns, needed=2**80 + 5).sum()) <= 5
    assert int(max_flow(a, b, rows, columns, needed=5).sum()) == 5
    assert max_flow(a, b, rows[:0], columns[:0]).tolist() == []
