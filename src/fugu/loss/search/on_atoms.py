"""Losses of Laplace noise on the atoms in doubles, to search with: c_y S(y) at every atom. Nothing here is a proof."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.loss.atoms.slack import largest_slack
from fugu.loss.search.scan import log_decayed_sums
from fugu.noise.atoms import AtomLaplace
from fugu.numbers.exact import as_fraction


def log_masses(family: Family, steps: float) -> NDArray[np.float64]:
    """ln of the mass of every output under every law, (laws, atoms); `steps` is the scale in lattice steps."""
    logs = np.stack([law.logs() for law in family.laws])
    if steps == 0:
        return logs
    with np.errstate(divide="ignore"):
        own = np.log(AtomLaplace(steps, 1, family.points).masses())
    return np.asarray(log_decayed_sums(family.points, logs, steps) + own)


def fast_atom_delta(family: Family, steps: float, epsilon: float) -> float:
    """max over pairs and orders of sum_y [P - e^epsilon Q]_+."""
    masses = np.exp(log_masses(family, steps))
    e = math.exp(min(epsilon, 700.0))
    worst = 0.0
    for (i, j), _ in family.different:
        for p, q in ((masses[i], masses[j]), (masses[j], masses[i])):
            worst = max(worst, float(np.maximum(p - e * q, 0).sum()))
    return min(1.0, worst + (largest_slack(family, as_fraction(epsilon)) if family.inexact else 0.0))


def fast_atom_renyi(family: Family, steps: float, alpha: float) -> float:
    """max over pairs and orders of D_alpha."""
    logs = log_masses(family, steps)
    worst = 0.0
    for (i, j), _ in family.different:
        for p, q in ((logs[i], logs[j]), (logs[j], logs[i])):
            there = p > -np.inf
            if np.any(q[there] == -np.inf):
                return math.inf
            terms = alpha * p[there] - (alpha - 1) * q[there]
            top = float(terms.max())
            worst = max(worst, (top + math.log(float(np.exp(terms - top).sum()))) / (alpha - 1))
    return worst
