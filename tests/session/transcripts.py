"""The exact loss of a whole session about one record, from the definition: every transcript enumerated, others known.

Given the others, a transcript z has the likelihood g_z(x) = prod of P(answer_j = z_j | record = x), and the loss of s
against t is the largest log (sum_x p(x) g_z(x)) / (sum_x q(x) g_z(x)). Lattice Laplace likelihoods are
e^(-r abs(z - f(x))): beyond the range of f the ratio no longer changes, so whole z from min f to max f are all there
is; for cells, z is below or at one. What permute-and-flip chooses has finitely many values, with exact masses.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from fugu.queries.kinds import FLIP
from selection_laws import permute_and_flip_law


def likelihoods(noised, group, states, others):
    """One row for each outcome of the question, one column for each state: likelihoods up to a common factor."""
    rates = noised.rates[group]
    if noised.facts.summed:
        parts = []
        for feature, rate in zip(noised.features, rates, strict=True):
            values = states[feature.name]
            z = np.arange(values.min(), values.max() + 1)[:, None]
            parts.append(np.exp(-float(rate) * np.abs(z - values[None, :])))
        return products(parts)
    (feature,) = noised.features
    values, size = states[feature.name], feature.top + 1
    if noised.law == FLIP:
        columns = []
        for value in values:
            counts = np.bincount(np.append(others[feature.name], value).astype(int), minlength=size)
            columns.append([float(m) for m in permute_and_flip_law(noised.facts.utilities(noised, counts), rates[0])])
        return np.array(columns).T
    cells = sorted(set(values.tolist()))
    a = math.exp(float(rates[0]))
    rows = []
    for above in itertools.product((False, True), repeat=len(cells)):
        up = dict(zip(cells, above, strict=True))
        rows.append([a if up[v] else 1 / a for v in values.tolist()])
    return np.array(rows)


def products(parts):
    found = parts[0]
    for more in parts[1:]:
        found = (found[:, None, :] * more[None, :, :]).reshape(-1, found.shape[1])
    return found


def loss(questions, group_of, states, p, q, others):
    """The largest log ratio over all transcripts of these questions, p against q."""
    g = products([likelihoods(noised, group_of(noised), states, others) for noised in questions])
    top, bottom = g @ (p / p.sum()), g @ (q / q.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.where(top > 0, np.log(top) - np.log(bottom), -np.inf)))
