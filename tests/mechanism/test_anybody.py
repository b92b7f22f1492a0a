"""The second promise of a column: the worst loss between any two values of a record, from the definition.

Wrong versions that are rejected: the range of the laws' likely part, a certificate that states less, a scale just below
what the cap asks for, noise that is mostly 0 without being told so."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest

import fugu
from forging import consistent
from fugu.documents.certificate import Certificate
from fugu.documents.document import digest_of
from fugu.documents.promises import chance_after
from fugu.errors import NoiselessRelease, NotProvable, UsageError
from fugu.guarantee.asks import exact
from fugu.mechanism import post
from hunting import search


def masses(noise, far):
    """P(N = k) for |k| <= far in steps of the lattice, from the definition."""
    s = mpmath.mpf(str(noise.scale)) / mpmath.mpf(noise.grid.numerator) * noise.grid.denominator
    raw = {k: mpmath.exp(-abs(k) / s if noise.name == "laplace" else -(mpmath.mpf(k) ** 2) / (2 * s**2))
           for k in range(-far, far + 1)}  # fmt: skip
    total = mpmath.fsum(raw.values())
    return {k: x / total for k, x in raw.items()}


def worst_loss(mechanism, delta=0):
    """The largest log ratio over all pairs of values; with a delta, the largest one as a function of epsilon."""
    places = mechanism.lattice.index(mechanism.support).tolist()
    span = max(places) - min(places)
    chance = masses(mechanism.noise, 20 * span + 400)
    far = 19 * span + 300
    if not delta:
        return max(
            (float(mpmath.log(chance[y - a] / chance[y - b])) for a, b in permutations(places, 2)
             for y in range(min(places) - 2, max(places) + 3)), default=0.0,
        )  # fmt: skip

    def at(epsilon):
        e = mpmath.exp(epsilon)
        return max(mpmath.fsum(max(chance[y] - e * chance[y - d], 0) for y in range(-far, far)) for d in (span, -span))

    return at


def test_what_one_record_can_change_is_held_against_the_laws():
    """Steps of 1 for codes 0 to 8 said epsilon .2 against anybody where 1.6 is true, and verified."""
    rng = np.random.default_rng(3)
    reference = {"s": ["a"] * 200 + ["b"] * 200, "v": [0, 1, 2, 3, 4] * 40 + [4, 5, 6, 7, 8] * 40}
    for rows, epsilon in ((300, 1), (3, 1)):
        private = {"v": rng.integers(0, 9, rows).tolist()}
        found = fugu.answer(private, "sum(v)", "s", fugu.Pure(epsilon), reference, bounds=(0, 8), step=1)
        (made,) = found.mechanisms.values()
        body = made.certificate.to_json()
        reach = max(max(family["points"]) for family in body["families"])
        assert fugu.verify(made.certificate).holds and reach == (8 if rows == 300 else 24)
        for part, other in (("steps", 1), ("steps", 0), ("rows", 1 if rows == 3 else 0)):
            forged = consistent({**body, "statistic": {**body["statistic"], part: other}})
            assert not fugu.verify(Certificate.parse(forged)).holds, (rows, part, other)
        halves = {**body, "lattice": {"grid": "1/2", "origin": "0"}, "noise": {**body["noise"], "grid": "1/2"}}
        halves["noise"]["scale"] = str(Fraction(halves["noise"]["scale"]) / 2)
        assert not fugu.verify(Certificate.parse(consistent(halves))).holds


def random_pair(rng):
    points = sorted(set(rng.integers(-6, 7, rng.integers(2, 6)).tolist()))
    weights = rng.integers(1, 9, (2, len(points)))
    return fugu.LawPair(*(fugu.Discrete(points, w.tolist()) for w in weights))


@search("columns against any two values", quick=25)
def test_no_two_values_are_told_apart_by_more_than_is_stated(rng):
    pair = random_pair(rng)
    if len(pair.p.values) < 2:
        return 0
    mechanism = fugu.calibrate(pair, fugu.Pure(float(rng.choice([0.1, 0.5, 1, 3]))), noise="laplace")
    stated = mechanism.certificate.anybody
    if mechanism.noise.scale == 0:
        assert stated is None
        return 1
    true = worst_loss(mechanism)
    assert true <= float(stated.epsilon) * (1 + 1e-12) and true >= 0.999999 * float(stated.epsilon)
    assert fugu.verify(mechanism).holds
    return 1


@search("gaussian columns against any two values", quick=2)
def test_with_a_delta_the_pair_is_stated_and_holds(rng):
    pair = random_pair(rng)
    delta = float(rng.choice([1e-2, 1e-4]))
    if len(pair.p.values) < 2:
        return 0
    mechanism = fugu.calibrate(pair, fugu.Approx(float(rng.choice([0.5, 1])), delta), noise="gaussian")
    stated = mechanism.certificate.anybody
    if mechanism.noise.scale == 0 or stated is None:
        return 0
    at = worst_loss(mechanism, delta)
    assert at(float(stated.epsilon)) <= delta * (1 + 1e-9) and stated.delta == delta
    assert stated.epsilon == 0 or at(float(stated.epsilon) * 0.99 - 2e-4) > delta  # not much more than needed
    return 1


def changed(certificate, **parts):
    body = copy.deepcopy(certificate.body) | parts
    return Certificate.parse({**body, "digest": digest_of({k: v for k, v in body.items() if k != "digest"})})


def test_nothing_but_what_holds_can_be_stated():
    mechanism = fugu.calibrate(
        fugu.LawPair(fugu.Discrete([0, 4], [1, 2]), fugu.Discrete([0, 4], [2, 1])), fugu.Pure(0.2)
    )
    stated = exact(mechanism.certificate.anybody.epsilon)
    less = changed(mechanism.certificate, anybody={"kind": "Pure", "epsilon": str(stated * Fraction(999, 1000))})
    assert not fugu.verify(less).holds
    more = changed(mechanism.certificate, anybody={"kind": "Pure", "epsilon": str(stated * 2)})
    assert not fugu.verify(more).holds and not fugu.verify(changed(mechanism.certificate, anybody=None)).holds
    assert not fugu.verify(changed(mechanism.certificate, cap=str(stated * Fraction(999, 1000)))).holds
    before = {k: v for k, v in mechanism.certificate.body.items() if k not in ("anybody", "digest")}
    assert fugu.verify(Certificate.parse({**before, "digest": digest_of(before)})).holds  # as before 0.4


@search("caps of columns", quick=20)
def test_noise_keeps_the_budget_and_the_cap(rng):
    pair, cap = random_pair(rng), float(rng.choice([0.05, 0.4, 1, 2.5]))
    if len(pair.p.values) < 2:
        return 0
    budget = fugu.Pure(float(rng.choice([0.1, 1])))
    kind = ("laplace", "atoms", "best")[rng.integers(3)]
    mechanism, free = (fugu.calibrate(pair, budget, noise=kind, cap=c) for c in (cap, None))
    span = mechanism.lattice.index(mechanism.support).tolist()
    least = Fraction(max(span) - min(span)) * mechanism.noise.grid / Fraction(str(cap))
    assert Fraction(str(mechanism.noise.scale)) >= least
    assert float(mechanism.noise.scale) <= max(float(least), float(free.noise.scale)) * (1 + 1e-8)  # and no more
    assert exact(mechanism.certificate.anybody.epsilon) <= Fraction(str(cap))
    assert fugu.verify(mechanism).holds and mechanism.certificate["cap"] == str(Fraction(str(cap)))
    return 1


@pytest.mark.parametrize("kind", ["best", "laplace", "atoms", "gaussian"])
def test_one_value_keeps_every_cap(kind):
    """Nothing is told of anybody; the certificate was refused, as if nothing were promised."""
    pair = fugu.LawPair(fugu.Discrete([4]), fugu.Discrete([4]))
    for budget in (fugu.Pure(1), fugu.Approx(1, 0.01), fugu.Renyi(2, 1)):
        certificate = fugu.calibrate(pair, budget, noise=kind, cap=0.5).certificate
        assert certificate.anybody == fugu.Pure(0) and fugu.verify(certificate).holds
    pair = fugu.LawPair(*[fugu.Discrete([4, 5])] * 2)
    if kind == "gaussian":
        with pytest.raises(NotProvable, match="gaussian noise bounds no ratio"):
            fugu.calibrate(pair, fugu.Pure(1), noise=kind, cap=0.5)
        return
    two = fugu.calibrate(pair, fugu.Pure(1), noise=kind, cap=0.5)
    assert two.noise.scale == 2 and fugu.verify(two).holds


def test_what_no_noise_can_keep_is_refused():
    with pytest.raises(NotProvable, match="within a support"):
        fugu.calibrate(fugu.Shifted(1), fugu.Pure(1), cap=3)
    pair = fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([1, 2]))
    normal = fugu.MultivariateNormal([0, 0], np.eye(2)), fugu.MultivariateNormal([1, 0], np.eye(2))
    with pytest.raises(NotProvable, match="gaussian noise bounds no ratio"):
        fugu.calibrate(pair, fugu.Approx(1, 0.01), noise="gaussian", cap=3)
    with pytest.raises(UsageError, match="kept within a support"):
        fugu.calibrate(fugu.LawPair(*normal), fugu.Approx(1, 0.01), cap=3)
    for wrong in (0, -1, math.inf, True):
        with pytest.raises(UsageError, match="cap"):
            fugu.calibrate(fugu.Shifted(1), fugu.Pure(1), cap=wrong)


def test_no_support_or_no_noise_or_no_bound_promises_nothing():
    said = "none against anybody"
    assert fugu.calibrate(fugu.Shifted(1), fugu.Pure(1)).certificate.promises.endswith(said)
    alike = fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([0, 1], [2, 3]))
    silent = fugu.calibrate(alike, fugu.Pure(1))
    assert silent.noise.scale == 0 and silent.certificate.promises.endswith(said)
    pair = fugu.LawPair(fugu.Discrete([0, 3], [1, 2]), fugu.Discrete([0, 3], [2, 1]))
    assert fugu.calibrate(pair, fugu.Renyi(2, 0.1), noise="gaussian").certificate.anybody is None
    halves = fugu.calibrate(pair, fugu.Pure(0.2)), fugu.calibrate(pair, fugu.Pure(0.4))
    both = fugu.mix(0.5, *halves)
    assert exact(both.certificate.anybody.epsilon) == max(exact(h.certificate.anybody.epsilon) for h in halves)


def test_channels_state_the_largest_ratio_of_a_column():
    pair = fugu.LawPair(fugu.Discrete([0, 1, 2], [3, 2, 1]), fugu.Discrete([0, 1, 2], [1, 2, 3]))
    for cap in (None, 1.5):
        channel = fugu.optimal_channel(pair, fugu.Pure(0.7), cap=cap)
        rows = channel.noise.matrix() if hasattr(channel.noise, "matrix") else np.array(channel.noise.rows, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = rows[:, None, :] / rows[None, :, :]
        true = math.log(np.nanmax(ratios)) if np.isfinite(np.nanmax(ratios)) else None
        found = channel.certificate.anybody
        assert (found is None) == (true is None) and (true is None or float(found.epsilon) == pytest.approx(true))
        assert cap is None or float(found.epsilon) <= cap


@pytest.mark.parametrize(("epsilon", "exactly"), [(1.0986, False), (1.0987, True), (5, True)])
def test_noise_that_is_mostly_nothing_is_told(epsilon, exactly):
    """On whole numbers a shift by one has rate epsilon: above ln 3 the exact value goes out more often than not."""
    pair = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]))
    mechanism = fugu.calibrate(pair, fugu.Pure(epsilon), grid=1)
    assert mechanism.certificate.exact is exactly
    if not exactly:
        mechanism.release(1)
        return
    with pytest.raises(NoiselessRelease, match="mostly 0: exact: each number goes out without noise with probability"):
        mechanism.release(1)
    assert "is published with probability" in mechanism.certificate["warnings"][-1]
    mechanism.release(1, allow_no_noise=True)


def test_randomised_response_at_ln_3_is_no_exact_value():
    """It keeps three of four answers, and every output is as likely under another value up to a factor of 3."""
    pair = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]))
    assert not fugu.optimal_channel(pair, fugu.Pure(1.09)).certificate.exact
    assert fugu.optimal_channel(pair, fugu.Pure(1.11)).certificate.exact


def test_one_pair_of_close_values_does_not_make_the_others_inexact():
    """Four of five cells went out as they are, and were not called exact for two rare values that look alike."""
    pair = fugu.LawPair(fugu.Discrete(range(4), [17, 3, 3, 15]), fugu.Discrete(range(4), [18, 1, 1, 10]))
    channel = fugu.optimal_channel(pair, fugu.Pure(0.5), cap=2)
    assert channel.certificate.exact and channel.certificate.errors.unchanged > 0.75
    with pytest.raises(NoiselessRelease, match="mostly 0"):
        channel.release([1, 2])
    capped = fugu.optimal_channel(pair, fugu.Pure(0.5), cap=1.09)
    assert not capped.certificate.exact and capped.certificate.anybody.epsilon <= 1.09
    capped.release([1, 2])


def test_what_is_rounded_or_clipped_back_is_exact():
    """Noise on 100, 150, 200, 250, rounded to 50 again: two of three values came back, unsaid.

    Wrong versions that are rejected: the chance before what is done afterwards; the chance of one side of the noise."""
    points = [100, 150, 200, 250]
    pair = fugu.LawPair(fugu.Discrete(points, [40, 30, 20, 10]), fugu.Discrete(points, [26, 30, 24, 20]))
    plain = fugu.calibrate(pair, fugu.Pure(0.5), noise="laplace", grid=1)
    assert not plain.certificate.exact and plain.certificate.exact_chance < 0.1
    for steps in ([post.round_to(50)], [post.clip(100, 250), post.round_to(50)]):
        made = fugu.calibrate(pair, fugu.Pure(0.5), noise="laplace", grid=1)
        for step in steps:
            made = made.then(step)
        values = np.repeat(points, [66, 60, 44, 30])
        drawn = made.simulate(np.tile(values, 200), np.random.default_rng(1)).values
        share = float(np.mean(drawn == np.tile(values, 200)))
        chance = chance_after(made.certificate, made._drawing.processed)
        assert share > 0.51 and chance == pytest.approx(share, abs=0.01)
        with pytest.raises(NoiselessRelease, match="brings exact ones back: each goes out as it is"):
            made.release([100.0, 250.0])
        assert set(made.release([100.0, 250.0], allow_no_noise=True).values.tolist()) <= {
            50.0 * k for k in range(-99, 99)
        }
    plain.then(np.sort).then(post.clip(0, 400)).release([100.0])  # of a function of one's own nothing is known


def test_what_is_refused_whatever_the_table_holds_is_refused_unopened(tmp_path):
    """The file is not there: whoever opened it first would say so."""
    reference = {"s": ["a", "b"] * 100, "v": [0, 1, 1, 0] * 50}
    made = fugu.calibrate(fugu.Scenario.from_table(reference, "v", "s"), fugu.Pure(1))
    with pytest.raises(NoiselessRelease):
        fugu.release_column(made, tmp_path / "private.csv")
