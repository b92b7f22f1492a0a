"""How many were infected? A household and a tree of contacts: what the same privacy costs, accounted for in three ways.

Nobody should learn more than epsilon about whether any one person is infected, although an infection says something of
those who met. Run with `python examples/contacts.py [people]`: a few seconds.
"""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

import fugu
from fugu.priors.network import BayesianNetwork, contacts, household
from fugu.translation.influence import quilt_noise

EPSILON, PRIOR, TRANSMISSION = 1.0, 0.03, 0.25
FEW = 16
"""Above, the quilts are too many to list."""


def tree(people: int, rng: np.random.Generator) -> dict[str, str | None]:
    """Each one met somebody who came before, more likely somebody recent."""
    met: dict[str, str | None] = {"person 1": None}
    for n in range(2, people + 1):
        met[f"person {n}"] = f"person {max(1, n - 1 - int(rng.geometric(0.2)))}"
    return met


def deviations(network: BayesianNetwork) -> list[str]:
    """The standard deviation of the noise on a count: all as one group, quilts, contraction."""
    n = len(network.names)
    quilts = quilt_noise(network, EPSILON, per_pair=True).sigma if n <= FEW else None
    scales = (n / EPSILON, quilts, 1 / fugu.dp_budget(network, EPSILON))
    return ["-" if scale is None else f"{np.sqrt(2) * scale:.2f}" for scale in scales]


def main(people: int) -> None:
    """The table."""
    rng = np.random.default_rng(7)
    networks = {
        "a household of 4": household(4, PRIOR, TRANSMISSION),
        "a household of 8": household(8, PRIOR, TRANSMISSION),
        "contacts of 12 people": contacts(tree(12, rng), PRIOR, TRANSMISSION),
        f"contacts of {people} people": contacts(tree(people, rng), PRIOR, TRANSMISSION),
    }
    table = Table(title=f"Noise on the number of infected people, standard deviation, at epsilon {EPSILON:g}")
    for name in ("", "one group", "quilts", "contraction"):
        table.add_column(name, justify="left" if not name else "right")
    for name, network in networks.items():
        table.add_row(name, *deviations(network))
    Console().print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
