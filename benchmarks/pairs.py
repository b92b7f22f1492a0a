"""Many secrets: each law is noised once, not once a pair."""

from __future__ import annotations

from collections.abc import Iterator

import fugu
from benchmarks.inputs import GAP, all_pairs
from benchmarks.measure import Row, Size, race

_ATOMS = 10**5
_SECRETS = 10


def together(size: Size) -> Iterator[Row]:
    """`fugu.epsilon` of all 45 pairs of 10 secrets, in units of 45 times the first pair alone."""
    for kind in ("lattice", "real"):
        given = all_pairs(size.of(_ATOMS), kind, _SECRETS)
        for gaps in (10.0, 0.1):
            noise = fugu.Laplace(gaps * GAP)
            took = race(
                size.laps,
                single=lambda noise=noise, given=given: fugu.epsilon(noise, given[0]),
                all=lambda noise=noise, given=given: fugu.epsilon(noise, given),
            )
            ratio = took["all"] / (len(given) * took["single"])
            case = f"{len(given)} pairs, {kind} atoms, scale {gaps:g} gaps"
            yield Row("pairs", case, ratio, "x one by one", 1.0)
