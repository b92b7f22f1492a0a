"""Out of reach is an answer, never a crash: bounded memory, coarser lattices, and no method that hides another."""

from __future__ import annotations

import math
import resource
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.calibration import lattice as lattices
from fugu.calibration import offer as registry
from fugu.calibration import scales
from fugu.calibration.lattice import ladder
from fugu.errors import BadNoise, NotProvable, OutOfReach
from fugu.guarantee.asks import Ratio
from fugu.laws.shapes import items
from fugu.loss.door import delta_bounds
from fugu.loss.search import fast_lattice_delta
from fugu.noise.lattice import Lattice

CENTS = [0.01, 25000.5, 99999.99]
MONEY = fugu.LawPair(fugu.Discrete(CENTS, [1, 2, 3]), fugu.Discrete(CENTS, [3, 2, 1]))
NEAR_AND_FAR = fugu.LawPair(fugu.Discrete([0, 1, 1e12], [1, 2, 3]), fugu.Discrete([0, 1, 1e12], [2, 1, 3]))


def _limited(code: str) -> subprocess.CompletedProcess[str]:
    """Run code with 2 GB of address space beyond what the interpreter and its libraries take."""
    head = (
        "import resource, fugu, scipy.signal, numpy as np\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        f"resource.setrlimit(resource.RLIMIT_AS, (size + {2 * 2**30},) * 2)\n"
    )
    return subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc and limits the address space")
def test_money_in_cents_needs_little_memory() -> None:
    found = _limited(
        f"v = {CENTS}\n"
        "pair = fugu.LawPair(fugu.Discrete(v, [1, 2, 3]), fugu.Discrete(v, [3, 2, 1]))\n"
        "for budget in (fugu.Approx(.5, 1e-6), fugu.Approx(1e-6, 1e-6), fugu.Approx(0, .1), fugu.Renyi(2, .5)):\n"
        "    for noise in ('best', 'laplace', 'gaussian'):\n"
        "        try:\n"
        "            m = fugu.calibrate(pair, budget, noise=noise)\n"
        "            assert fugu.verify(m.certificate).holds\n"
        "            m.release([25000.5], allow_no_noise=True)\n"
        "        except fugu.errors.NotProvable as error:\n"
        "            assert noise == 'gaussian' and 'lattice point' in str(error), error\n"
        "print('peak', int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) // 1024)\n"
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout.split()[-1]) < 700


def test_a_coarser_lattice_is_said_proved_and_drawn() -> None:
    mechanism = fugu.calibrate(MONEY, fugu.Approx(0, 0.1), noise="gaussian")
    grid = mechanism.noise.grid
    assert grid is not None and grid > Fraction(1, 100)
    assert any(f"rounded to multiples of {grid}" in a for a in mechanism.certificate.assumptions)
    assert fugu.verify(mechanism.certificate).holds
    # the laws in the certificate are the rounded ones, and what is released lies on that lattice
    lattice = mechanism.certificate.lattice
    released = mechanism.release([25000.5]).values
    assert lattice is not None and np.array_equal(lattice.value(lattice.index(released)), released)
    coarse = [family.on(lattice) for family in items([MONEY])]
    assert delta_bounds(coarse[0], mechanism.noise, Fraction(0))[0].value <= 0.1
    # wrong version: the scale that the coarse laws need is not that of a scale 3 % smaller
    smaller = fugu.Gaussian(float(mechanism.noise.scale) * 0.97, grid)
    assert delta_bounds(coarse[0], smaller, Fraction(0))[0].value > 0.1
    # and rounding costs next to nothing: continuous noise needs the same
    assert fugu.delta(fugu.Gaussian(float(mechanism.noise.scale) * 0.999), MONEY, 0) > 0.1


def test_a_grid_that_was_asked_for_is_not_replaced() -> None:
    with pytest.raises(NotProvable, match=r"9,999,999, more than 1,000,000; choose a coarser grid"):
        fugu.calibrate(MONEY, fugu.Approx(0.5, 1e-6), noise="gaussian", grid="0.01")
    assert fugu.calibrate(MONEY, fugu.Approx(0.5, 1e-6), grid="0.01").noise.grid == Fraction(1, 100)


def test_a_lattice_that_would_show_is_not_taken() -> None:
    """0 and 1 fall together on every lattice that 1e12 could be reached on: Laplace noise keeps them apart."""
    mechanism = fugu.calibrate(NEAR_AND_FAR, fugu.Approx(0.5, 1e-6))
    assert isinstance(mechanism.noise, fugu.Laplace) and mechanism.noise.grid == 1 and mechanism.noise.scale > 0.5
    with pytest.raises(NotProvable, match=r"1,000,000,000,001, more than 1,000,000"):
        fugu.calibrate(NEAR_AND_FAR, fugu.Approx(0.5, 1e-6), noise="gaussian")


def test_sizes_are_checked_before_anything_is_allocated() -> None:
    item = items([MONEY])[0].on(Lattice(Fraction(1, 100)))
    for check in (
        lambda: fast_lattice_delta(item, 1e8, Ratio(Fraction(1, 2), Fraction(1, 10))),
        lambda: delta_bounds(item, fugu.Gaussian(10**8, 1), Fraction(1, 2)),
    ):
        with pytest.raises(OutOfReach) as refused:
            check()
        assert refused.value.points > refused.value.limit


def test_best_never_refuses_what_a_named_method_proves() -> None:
    budget = fugu.Renyi(2, 0.5)
    best = fugu.calibrate(MONEY, budget)
    named = fugu.calibrate(MONEY, budget, method="transport")
    assert named.noise.scale == pytest.approx(53206.7, abs=0.1)
    assert best.expected_error() <= named.expected_error()
    explicit = fugu.calibrate(MONEY, budget, grid="0.01")  # exact is out of reach on this lattice
    assert explicit.certificate.method in ("transport", "wasserstein")
    rows = {(r.noise, r.method): r for r in fugu.compare(MONEY, budget, grid="0.01").rows}
    assert rows["gaussian", "transport"].proven and not rows["gaussian", "exact"].proven
    assert "lattice points" in rows["gaussian", "exact"].why


@pytest.mark.parametrize("fault", [NotProvable("broken"), OverflowError("broken"), ZeroDivisionError("broken")])
def test_one_failing_method_hides_no_other(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    def broken(*_: object) -> None:
        raise fault

    pair = fugu.LawPair(fugu.Discrete([0, 1, 5], [1, 2, 3]), fugu.Discrete([0, 1, 5], [3, 2, 1]))
    listed = tuple(replace(m, find=broken) if m.name == "exact" else m for m in registry.methods())
    monkeypatch.setattr(registry, "methods", lambda: listed)
    assert fugu.calibrate(pair, fugu.Pure(1)).certificate.method == "relaxed"
    assert fugu.calibrate(pair, fugu.Renyi(2, 1)).certificate.method == "transport"
    for budget in (fugu.Pure(1), fugu.Renyi(2, 1)):
        rows = fugu.compare(pair, budget).rows
        assert any(r.proven for r in rows) and all(not r.proven for r in rows if r.method == "exact")
        assert fugu.compare(pair, budget).best.method != "exact"
    vector = fugu.LawPair(fugu.Discrete([[0, 0], [1, 5]], [1, 2]), fugu.Discrete([[0, 0], [1, 5]], [2, 1]))
    assert fugu.calibrate(vector, fugu.Pure(0.1)).certificate.method == "wasserstein"
    assert fugu.compare(vector, fugu.Pure(0.1)).best.method == "wasserstein"


def test_laplace_that_fails_does_not_hide_gaussian_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(given: object, ask: object, kind: object, grid: object) -> lattices.Problem:
        if kind is fugu.Laplace:
            raise NotProvable("no Laplace today")
        return lattices.problem(given, ask, kind, grid)  # type: ignore[arg-type]

    pair = fugu.LawPair(fugu.Discrete([0, 1], [1, 2]), fugu.Discrete([0, 1], [2, 1]))
    monkeypatch.setattr(scales, "problem", refuse)
    assert isinstance(fugu.calibrate(pair, fugu.Approx(0.1, 0.01)).noise, fugu.Gaussian)


HOSTILE = {
    "cents": MONEY,
    "far": fugu.LawPair(fugu.Discrete([0, 1, 1e12], [1, 2, 3]), fugu.Discrete([0, 1, 1e12], [3, 2, 1])),
    "near and far": NEAR_AND_FAR,
    "1e-300": fugu.LawPair(fugu.Discrete([1e-300, 3e-300], [1, 2]), fugu.Discrete([1e-300, 3e-300], [2, 1])),
    "1e300": fugu.LawPair(fugu.Discrete([-1e300, 1e-300, 1e300], [1, 2, 1]), fugu.Discrete([-1e300, 1e300], [2, 1])),
    "subnormal": fugu.LawPair(fugu.Discrete([5e-324, 1e-323], [1, 2]), fugu.Discrete([5e-324, 1e-323], [2, 1])),
    "normal, far": fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1e9, 1)),
    "normal, thin": fugu.LawPair(fugu.Normal(0, 1e-9), fugu.Normal(1, 1)),
    "shifts": (fugu.LawPair(fugu.Shifted(0), fugu.Shifted(1e9)), fugu.LawPair(fugu.Shifted(0), fugu.Shifted(0.001))),
    "vectors": fugu.LawPair(
        fugu.Discrete([[0.01, 3], [99999.99, 7]], [1, 2]), fugu.Discrete([[0.01, 3], [99999.99, 7]], [2, 1])
    ),
    "1e300 vectors": fugu.LawPair(
        fugu.Discrete([[1e300, 0], [0, 1e-300]], [1, 2]), fugu.Discrete([[1e300, 0], [0, 1e-300]], [2, 1])
    ),
}
BUDGETS = (
    fugu.Pure(0.5), fugu.Pure(1e-9), fugu.Pure(1e-300), fugu.Approx(0.5, 1e-6), fugu.Approx(1e-9, 1e-12),
    fugu.Approx(0.5, 1e-300), fugu.Approx(0, 0.1), fugu.Renyi(1.5, 1e-9), fugu.Renyi(1000, 1e-3), fugu.Renyi(2, 1e-300),
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_numbers_are_proved_or_refused(name: str) -> None:
    """A mechanism whose certificate holds and that can be drawn, or an error that says what to do; no traceback."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = []
    for budget in BUDGETS:
        try:
            mechanism = fugu.calibrate(HOSTILE[name], budget)
        except (NotProvable, BadNoise) as error:
            told.append(str(error))
            continue
        if name == "cents":
            assert fugu.verify(mechanism.certificate).holds
        value = [[0.0, 0.0]] if "vectors" in name else [0.0]
        mechanism.release(value, allow_no_noise=True)
        assert mechanism.interval(0.95)[1] >= 0 and not math.isnan(mechanism.expected_error())
    assert all(any(word in text for word in ("rescale", "choose", "use", "give", "ask")) for text in told), told
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700 * 1024


@pytest.mark.parametrize("name", ["cents", "far", "normal, far", "vectors", "1e300"])
def test_comparisons_of_hostile_numbers_have_a_row_for_every_method(name: str) -> None:
    for budget in (fugu.Approx(0.5, 1e-6), fugu.Pure(1e-300), fugu.Renyi(2, 0.5)):
        for row in fugu.compare(HOSTILE[name], budget).rows:
            assert row.proven or row.why


def test_ladder() -> None:
    assert [ladder(x) for x in (0.1, 1, 1.5, 2, 4.9, 5, 9, 10.1, 1e6, 1.1e12)] == [
        1, 1, 2, 2, 5, 5, 10, 20, 10**6, 2 * 10**12,
    ]  # fmt: skip
