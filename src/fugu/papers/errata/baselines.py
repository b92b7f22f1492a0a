"""[C] The experiments: a baseline with too much noise, and a prior that was smoothed."""

from __future__ import annotations

import numpy as np

from fugu.papers.errata.finding import Finding, at_least, at_most
from fugu.papers.errata.registry import erratum
from fugu.priors import MarkovChain
from fugu.translation import dp_budget
from fugu.translation.influence import influence


@erratum(
    "C-section-7",
    where="Section 7, the quilt baseline",
    verdict="a baseline with too much noise",
    printed="The Markov quilt mechanism answers m counts with epsilon / m each.",
    corrected="One entry moves two counts: scale 2 / epsilon on each is enough, whatever m is.",
    section="c-section-7-a-baseline-with-too-much-noise",
)
def section_7() -> Finding:
    m = 78
    counts = np.eye(m, dtype=int)
    moved = max(int(abs(counts[i] - counts[j]).sum()) for i in range(m) for j in range(m))
    what = "the scale that hides one entry, which is the largest l1 change of the counts, at epsilon 1,"
    return Finding("78 counts", at_least(what, moved, m), at_most(what, moved, 2))


@erratum(
    "C-appendix-D.2",
    where="Appendix D.2, smoothing",
    verdict="true of another prior",
    printed="Transitions that were never seen get a small probability, so that influences are finite.",
    corrected="That is the guarantee of the smoothed prior. Without smoothing the budget may still beat the group's.",
    section="c-appendix-d2-what-smoothing-protects",
)
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
