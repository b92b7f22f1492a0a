"""Top-3 of activity sequences, 11 states, four groups of eight people: all mechanisms side by side.

The experiment of the composition paper on synthetic chains: the same epsilon of Pufferfish privacy, spent in different
ways. Run with `python examples/sequences.py [repetitions]`: some seconds for 5, about a minute for 100.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
from rich.console import Console
from rich.table import Table

import fugu
from fugu.queries.sequences import SequenceMechanism, States, TopK
from fugu.translation.influence import mqm_exact
from fugu_papers.baselines import accuracy_at, count_error, group_exponential, hit_rate, ndcg, split_laplace

STATES, LENGTH, TRAINING, GROUPS, PEOPLE, TOP = 11, 240, 100, 4, 8, 3


def people(rng: np.random.Generator, transition: np.ndarray, count: int) -> list[list[int]]:
    """Sequences of a sticky chain."""
    found = []
    for _ in range(count):
        state, walk = int(rng.integers(STATES)), []
        for _ in range(LENGTH):
            walk.append(state)
            state = int(rng.choice(STATES, p=transition[state]))
        found.append(walk)
    return found


def sticky(rng: np.random.Generator) -> np.ndarray:
    """A chain that mostly stays, with some states more popular than others."""
    popular = rng.dirichlet(np.full(STATES, 1.5))
    return np.asarray(0.45 * np.eye(STATES) + 0.55 * (0.7 * popular + 0.3 / STATES))


def mechanisms(chain: fugu.MarkovChain, epsilon: float) -> dict[str, SequenceMechanism]:
    """One way each to spend epsilon; every one of them meets it under the fitted chain."""
    states = States(tuple(range(STATES)))
    curve = fugu.influence(chain, max_b=80)
    paper = max(epsilon / LENGTH, *((epsilon - a) / b for b, a in curve.points if b < LENGTH and a < epsilon))
    quilt = float(mqm_exact(chain, epsilon).dp_epsilon)
    best = fugu.dp_budget(chain, epsilon)
    peel = TopK(TOP, states, method="exponential")
    return {
        "influence + exponential (paper)": peel.mechanism(paper),
        "quilts, budget split": split_laplace(TOP, states, quilt),
        "quilts, vector Laplace": TopK(TOP, states, method="laplace").mechanism(quilt),
        "contraction + exponential": peel.mechanism(best),
        "contraction + vector Laplace": TopK(TOP, states, method="laplace").mechanism(best),
        "group + exponential": group_exponential(TOP, states, epsilon, LENGTH),
    }


def main(repetitions: int) -> None:
    """Print the table for several epsilons."""
    rng = np.random.default_rng(46)
    transition = sticky(rng)
    chain = fugu.MarkovChain.fit(people(rng, transition, TRAINING), states=range(STATES), smoothing=1e-5)
    groups = [people(rng, transition, PEOPLE) for _ in range(GROUPS)]
    counts = [Counter(s for walk in group for s in walk) for group in groups]
    for epsilon in (0.5, 1.0, 2.0):
        table = Table(title=f"epsilon {epsilon}", title_justify="left")
        for column in ("mechanism", "per-entry epsilon", "Acc@1", "hit rate", "NDCG", "l1 error"):
            table.add_column(column, justify="left" if column == "mechanism" else "right")
        for name, mechanism in mechanisms(chain, epsilon).items():
            scores = [
                (accuracy_at(1, top, true), hit_rate(top, true), ndcg(top, true), count_error(top, true))
                for group, true in zip(groups, counts, strict=True)
                for top in (tuple(mechanism.simulate(group, rng).value) for _ in range(repetitions))
            ]
            means = np.mean(scores, axis=0)
            shown = [f"{float(mechanism.charge['guarantee'].epsilon):.5f}", *(f"{m:.3f}" for m in means[:3])]
            table.add_row(name, *shown, f"{means[3]:.1f}")
        Console(width=110).print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
