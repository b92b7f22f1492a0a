"""The same beliefs, known as well as a sample knows them: what a scenario without confidence would need with it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fugu.fixed import Fixed
from fugu.laws import Discrete
from fugu.laws.sets.sampled import Sampled
from fugu.scenario.scenario import Scenario

USUAL = Fraction(19, 20)
"""The confidence that comparisons and pages show beside beliefs that are taken as they are."""
AS_SEEN = "the values seen, as if they had been declared"
_MOST_VALUES = 5_000


def sampled_of(scenario: Scenario, confidence: Fraction = USUAL) -> Sampled | None:
    """The counts behind a scenario at some confidence; None where its beliefs are no counts of a reference.

    Where the scenario has no confidence of its own, the values seen stand in for the declared ones: the figure is for
    comparison, and says too little if other values may come."""
    if scenario.sampled is not None:
        return replace(scenario.sampled, confidence=confidence)
    if scenario.query is None or scenario.empirical is not None or len(scenario.adversaries) != 1:
        return None
    laws = {secret: law for secret, law in scenario.adversaries[0].items() if isinstance(law, Discrete)}
    counted = all(law.masses.parts.dtype == np.int64 and law.dimension == 1 for law in laws.values())
    if len(laws) != len(scenario.adversaries[0]) or not counted:
        return None
    values = np.unique(np.concatenate([law.values for law in laws.values()]))
    if len(values) > _MOST_VALUES:
        return None
    counts = {}
    for secret, law in laws.items():
        row = np.zeros(len(values), dtype=np.int64)
        row[np.searchsorted(values, law.values)] = law.masses.parts
        counts[secret] = tuple(row.tolist())
    apart = scenario.report.overlapping == 0
    ordered = not scenario.query.nominal
    return Sampled(confidence, tuple(values.tolist()), Fixed(counts), ordered, apart, Fraction(0), AS_SEEN)


def counts_of_a_table(scenario: Scenario) -> bool:
    """Whether the beliefs are the frequencies of a reference, taken as they are."""
    return scenario.sampled is None and sampled_of(scenario) is not None


def with_sets(scenario: Scenario, sampled: Sampled) -> Scenario:
    """The scenario with the sets of these counts as beliefs."""
    return replace(scenario, laws=sampled.sets, empirical=sampled.laws, sampled=sampled, report=scenario.report)
