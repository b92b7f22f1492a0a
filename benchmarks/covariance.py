"""The least covariance for many pairs of normal vectors, alike or not, in units of one Cholesky factorisation."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Row, Size, race

_TARGET = (10, 50)
_LIMIT = 3000.0
_GROWTH = ((10, 100), (20, 200), (50, 500))
_STATISTICS = ((2, 1), (4, 1), (8, 1), (12, 1))
_PAIRS = ((4, 2), (4, 8), (4, 32))
_SEARCH = 5e6
_CALLS = 500
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def optimum(size: Size) -> Iterator[Row]:
    """50 pairs of 10 coordinates against one Cholesky factor of that size; growth to 500 pairs of 50 coordinates."""
    found = _child(*_TARGET, size.laps)
    case = "least trace, {} coordinates, {} pairs"
    yield Row("covariance", case.format(*_TARGET), found["trace"] / found["root"], "x Cholesky 10 x 10", _LIMIT)
    yield Row("covariance", "gap to the lower bound, the same", found["gap"], "relative", 1e-6)
    unit, took = found["root"], {}
    for d, k in _GROWTH[: 2 if size.quick else 3]:
        took[d] = _child(d, k, 1 if d > 20 else size.laps)["trace"] / unit
        yield Row("covariance", case.format(d, k), took[d], "x Cholesky 10 x 10")
    low, high = sorted(took)[-2:]
    exponent = math.log(took[high] / took[low]) / math.log(high / low)
    yield Row("covariance", f"exponent of d from {low} to {high}, 10 d pairs", exponent, "", 6.0)


def unequal(size: Size) -> Iterator[Row]:
    """Laws of two different covariances: the whole search by statistics and by pairs, and its distance to the bound."""
    unit = _child(*_TARGET, size.laps)["root"]
    for name, cases in (("statistics, 1 pair", _STATISTICS), ("pairs of 4 statistics", _PAIRS)):
        for d, k in cases[: 2 if size.quick else None]:
            found = _child(d, k, 1, "unequal")
            count = d if cases is _STATISTICS else k
            case = f"two covariances, {count} {name}"
            yield Row("covariance", case, found["took"] / unit, "x Cholesky 10 x 10", _SEARCH if d <= 12 else None)
            yield Row("covariance", f"gap to the lower bound, {count} {name}", found["gap"], "relative")


def _child(d: int, k: int, laps: int, what: str = "shared") -> dict[str, float]:
    """The times in a process of its own with one thread: matrices this small gain nothing from several."""
    command = [sys.executable, "-m", "benchmarks.covariance", str(d), str(k), str(laps), what]
    environment = {**os.environ, **dict.fromkeys(_THREADS, "1")}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return dict(json.loads(done.stdout))


def _measure(d: int, k: int, laps: int) -> dict[str, float]:
    import numpy as np

    from fugu.calibration.covariance import optimal_covariance

    rng = np.random.default_rng(0)
    D, R = rng.normal(size=(k, d)), rng.normal(size=(k, d, d))
    C = R @ np.swapaxes(R, 1, 2) / d
    C = (C + np.swapaxes(C, 1, 2)) / 2
    warm = optimal_covariance(D[:3], C[:3], 0.4)

    def roots() -> None:
        for _ in range(_CALLS):
            np.linalg.cholesky(C[0])

    sides = {"trace": lambda: optimal_covariance(D, C, 0.4), "root": roots}
    if d <= 20:
        warm = optimal_covariance(D, C, 0.4)
    took = race(laps, **sides)
    return {**took, "root": took["root"] / _CALLS, "gap": warm.value / warm.lower_bound - 1}


def _search(d: int, k: int, laps: int) -> dict[str, float]:
    """All methods for random laws of two covariances, the optimal one last; and how near it is to the bound."""
    import numpy as np

    from fugu import Approx, MultivariateNormal
    from fugu.calibration.covariance.methods import propose
    from fugu.calibration.covariance.optimal import least_trace
    from fugu.calibration.offer import Wishes
    from fugu.laws.multinormal import NormalPair

    rng, ask = np.random.default_rng(1), Approx(1, 1e-3).asks()
    A = rng.normal(size=(d, d))
    pairs = []
    for _ in range(k):
        B = 0.4 * rng.normal(size=(d, d))
        first, second = (np.round(x + x.T, 6) / 2 for x in (A @ A.T + np.eye(d), A @ A.T + np.eye(d) + B @ B.T))
        laws = (MultivariateNormal(m, v) for m, v in ((3 * rng.normal(size=d), first), (np.zeros(d), second)))
        pairs.append(NormalPair(*laws, ""))

    def once() -> None:
        propose(tuple(pairs), ask, Wishes(objective="squared"))

    plan = propose(tuple(pairs), ask, Wishes(objective="squared"))["optimal"]
    assert plan.covariance is not None
    S = plan.laws.own(plan.covariance)
    least = least_trace(plan.laws, ask, plan.floor, plan.cost.weight, S)
    return {"took": race(laps, once=once)["once"], "gap": plan.error / least - 1}


if __name__ == "__main__":
    run = _search if sys.argv[4:] == ["unequal"] else _measure
    print(json.dumps(run(*map(int, sys.argv[1:4]))))
