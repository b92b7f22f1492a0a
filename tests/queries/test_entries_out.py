"""All entries, each with noise of its own: what one replaced entry moves, by the definition; certificates; a field."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import fugu
from fugu.queries.sequences import query_from
from fugu.sequences import Entries, LatticeMechanism, Numbers
from fugu_verify import prove_again
from hunting import search

FIELD = fugu.GaussianField.ar1(4, 0.5, variance=25, width=2)


@search("entries against all changes of one", quick=60)
def test_one_entry_moves_its_own_number_by_no_more_than_stated(rng):
    """Offsets that are no multiple of the step, values beyond the bounds, and missing ones among them."""
    low, steps = Fraction(int(rng.integers(-40, 40)), int(rng.integers(1, 9))), int(rng.integers(1, 7))
    step = Fraction(int(rng.integers(1, 9)), int(rng.integers(1, 5)))
    query = Entries(Numbers(low, low + steps * step), step)
    data = [round(float(x), int(rng.integers(0, 4))) for x in rng.normal(float(low), 3 * float(step * steps), 4)]
    other, place = [*data], int(rng.integers(4))
    other[place] = float(rng.choice([-1e9, 1e9, float(rng.normal(float(low), 5))]))
    one, two = (query.counted(query._read(each)) for each in (data, other))
    moved = [abs(int(a) - int(b)) for a, b in zip(one, two, strict=True)]
    assert sum(x for k, x in enumerate(moved) if k != place) == 0 and moved[place] <= steps
    assert steps**2 == query.shift.square and query.sensitivity == steps * step
    return 1


def test_noise_of_every_entry_is_that_of_the_budget_and_its_own():
    mechanism = LatticeMechanism.under(Entries(Numbers(0, 10), 1), FIELD, fugu.Approx(2, 1e-6))
    drawn = np.array([mechanism.simulate([5, 5, 5, 5], np.random.default_rng(k)).value for k in range(800)])
    spread = np.sqrt(100 / (2 * float(mechanism.rho)))
    assert np.all(np.abs(drawn.std(axis=0) / spread - 1) < 0.1), "one number for all, or noise of another size"
    assert abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.15, "one noise for all"
    inside = np.abs(drawn - 5).max(axis=1) <= mechanism.simulate([5] * 4, np.random.default_rng(1)).interval[1]
    assert 0.92 < inside.mean() <= 1


def test_what_goes_out_is_certified_and_read_back():
    released = LatticeMechanism.under(Entries(Numbers(0, 10), 1), FIELD, fugu.ZCDP(0.1)).release([1, 2, 3, 99])
    assert fugu.verify(released.certificate).holds and len(released.value) == 4
    assert query_from(released.certificate.body) == Entries(Numbers(0, 10), 1)
    pure = Entries(Numbers(0, 10), 1).mechanism(0.5)
    assert fugu.verify(pure.certificate).holds and prove_again(pure.certificate.body).outcome == "holds"
    body = {**pure.certificate.body, "sensitivity": "9"}
    assert prove_again(body).outcome == "fails"
