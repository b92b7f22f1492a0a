"""[C] The experiments: a baseline with too much noise, and a prior that was smoothed."""

from __future__ import annotations

import numpy as np

from fugu.priors import MarkovChain
from fugu.translation import dp_budget
from fugu.translation.influence import influence
from fugu_papers.errata.finding import Finding, at_least, at_most
from fugu_papers.errata.registry import refutes


@refutes("C-section-7")
def section_7() -> Finding:
    m = 78
    counts = np.eye(m, dtype=int)
    moved = max(int(abs(counts[i] - counts[j]).sum()) for i in range(m) for j in range(m))
    what = "the scale that hides one entry, which is the largest l1 change of the counts, at epsilon 1,"
    return Finding("78 counts", at_least(what, moved, m), at_most(what, moved, 2))


@refutes("C-appendix-D.2")
def appendix_d_2() -> Finding:
    fitted, tiny = np.array([[0.5, 0.5, 0], [0.3, 0.4, 0.3], [0, 0.5, 0.5]]), 1e-5
    smoothed = np.where(fitted == 0, tiny, fitted)
    smoothed /= smoothed.sum(axis=1, keepdims=True)
    chain, other = (MarkovChain(rows.tolist(), length=100) for rows in (fitted, smoothed))
    return Finding(
        "three states, two transitions never seen, 100 entries",
        at_most("the influence of the fitted chain at b = 1", influence(chain)(1), influence(other)(1)),
        at_least("the budget for each entry under the fitted chain, epsilon 1,", dp_budget(chain, 1), 1 / 100),
    )
