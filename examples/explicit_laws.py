"""Laws stated by hand: the priors of a published comparison, by every method.

    python examples/explicit_laws.py

prints the table of README.md: the Laplace scale that each method asks for. The four pairs are those of Yang, Ding et
al., "Noise Reduction for Pufferfish Privacy": their Table 2, and three data sets whose counts were recovered by
matching the printed rows of their Table 4. Categories are coded 0, 1, 2, ... in the order given here.
"""

from __future__ import annotations

from fugu import Discrete, LawPair, Pure, compare

PRIORS = {
    "Table 2": LawPair(
        Discrete([0, 1, 2, 3], [0.50001, 0, 0.00001, 0.49998]),
        Discrete([0, 1, 2, 3], [0.49996, 0.00001, 0, 0.50003]),
        "s_i vs s_j",
    ),
    "Student": LawPair(
        Discrete([0, 1], [376, 204]),  # romantic no, yes, given higher=yes
        Discrete([0, 1], [34, 35]),  # given higher=no
        "higher=yes vs higher=no",
    ),
    "Census": LawPair(
        Discrete(range(9), [636, 613, 12243, 368, 798, 766, 211, 6, 7]),  # workclass given never-married
        Discrete(range(9), [890, 2554, 14473, 721, 1536, 636, 1264, 13, 1]),  # given married-civ-spouse
        "never-married vs married",
    ),
    "Bank": LawPair(
        Discrete([0, 1, 2], [4660, 1663, 921]),  # married, single, divorced, given loan=yes
        Discrete([0, 1, 2], [22554, 11127, 4286]),  # given loan=no
        "loan vs no loan",
    ),
}
METHODS = ("l1", "wasserstein", "relaxed-paper", "relaxed", "exact")


def main() -> None:
    """Print one row for each prior and epsilon."""
    print("| prior | epsilon | " + " | ".join(METHODS) + " |")
    print("|---|---:|" + "---:|" * len(METHODS))
    for name, pair in PRIORS.items():
        for epsilon in (0.1, 0.3, 0.5, 1):
            scales = {row.method: row.scale for row in compare(pair, Pure(epsilon)).rows if row.proven}
            figures = (f"{scales[method]:.4f}" if scales[method] else "0" for method in METHODS)
            print(f"| {name} | {epsilon} | " + " | ".join(figures) + " |")


if __name__ == "__main__":
    main()
