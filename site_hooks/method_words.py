"""What registries do not say of a method: when it is best, and what it costs in time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """When a method is best, its time, and what beats it where the registry does not know."""

    best: str
    time: str
    beaten: str = ""


_QUICK = "milliseconds, also for thousands of atoms"
_NORMAL = "below a tenth of a second for six statistics"

METHODS = {
    "l1": Words("never; the baseline that uses no beliefs but the range", _QUICK),
    "wasserstein": Words(
        "vectors with Gaussian noise or Rényi budgets, where every move is about as far; else a baseline",
        "milliseconds for one number; for vectors an exact flow between the atoms",
    ),
    "closeness": Words(
        "a delta is allowed, and only a share delta of the mass has far to move (vectors, Rényi budgets)",
        "milliseconds for one number; for vectors an exact flow",
    ),
    "relaxed-paper": Words("never; the rule of the paper, to compare with it", _QUICK),
    "relaxed": Words("never by itself; the sharpest rule that looks only at distances", _QUICK),
    "cauchy-moments": Words(
        "to analyse Cauchy noise when moments of the distance are all that is known; nothing is released",
        "milliseconds",
    ),
    "transport": Words(
        "vectors whose laws differ by a few far moves and many short ones",
        "tens of milliseconds; for vectors a plan between all atoms",
    ),
    "partial-transport": Words(
        "a Rényi budget with a delta, when the exact divergence given likely events is out of reach",
        "a tenth of a second for 300 atoms",
    ),
    "gaussian-prior-lambert": Words("never; the older form of the paper's bound", "a tenth of a second"),
    "gaussian-prior": Words("never by itself; the paper's bound for normal beliefs", "a tenth of a second"),
    "mixture-coupling": Words("never by itself; the sound form of the paper's bound for mixtures", "half a second"),
    "envelope": Words(
        "beliefs are sets of laws (confidence in a reference, total variation balls), with a delta or Rényi orders",
        "about a second for twenty values; grows with the values and the sets",
    ),
    "exact": Words(
        "nearly always: for one number no method needs less of the same noise, but `conditioned` may where a Rényi "
        "budget has a delta",
        "milliseconds with Laplace noise and 3,000 atoms, a quarter of a second with Gaussian noise or normal "
        "beliefs; for vectors it grows with the product of the values of all coordinates",
    ),
    "conditioned": Words(
        "a Rényi budget with a delta, when a few outputs tell almost everything", "a tenth of a second for 30 atoms"
    ),
    "group": Words("never; the paper's baseline for properties of a whole table", "at once", "record-group"),
    "record-group": Words("a property of a whole table for which nobody vouches for normal laws", "at once"),
    "expected-value": Words("never by itself; looks at the distance of the means only", _NORMAL, "optimal"),
    "directional": Words("laws that differ in one direction, exactly normal", _NORMAL, "optimal"),
    "eigenvector": Words("never by itself; noise along one principal direction", _NORMAL, "optimal"),
    "directional-uncertainty": Words(
        "laws that differ in one direction, with spread of their own beside it", _NORMAL, "optimal"
    ),
    "optimal": Words(
        "several statistics with normal laws: the covariance of least error",
        _NORMAL + ", seconds for fifty; it starts from what the others find",
    ),
    "record-swap": Words(
        "a property of a whole table, no normal model, and a delta: the draws say how far swapped records really move",
        "seconds: some hundred thousand draws inside the release",
    ),
    "record-exchange": Words(
        "a property of a whole table and a pure budget: the laws of one record say what exchanging some can show",
        "a second; ten for a grid of half a million values of five statistics",
    ),
    "anisotropic-laplace": Words(
        "several statistics on unlike scales under a pure budget", "milliseconds; Newton's method in the coordinates"
    ),
    "several-directions": Words(
        "vectors that are exact translates along few directions (`declared_exact=True`)", "milliseconds"
    ),
    "optimal-channel": Words(
        "few values: the least error that any mechanism can have under exactly these beliefs; categories without order",
        "a linear program: below a tenth of a second for 30 values; [how it grows](../channel-growth.md)",
    ),
    "robust-channel": Words(
        "few values and sets of laws: the least error that holds for every law in the sets",
        "below a second for 20 values, below a minute for 150",
    ),
}

RULES = {
    "group bound": Words("never; T entries cost T times as much", "at once"),
    "Markov quilts": Words("never; the published rule, to compare with it", "grows with (entries x states)^2"),
    "influence curve, added up": Words("never; each question by itself", "as the influence curve"),
    "influence curve, Theorem 7": Words("never; the paper's rule for several questions", "as the influence curve"),
    "influence curve": Words(
        "beliefs of which nothing but the curve a(b) is known", "milliseconds for chains, then one look for each b"
    ),
    "contraction": Words(
        "every chain: exact for two states, and no worse than the others for more",
        "grows with the length and the cube of the states; one table serves every epsilon",
    ),
}

PRIORS = {
    "MarkovChain": ("contraction, influence, group", "contraction.md"),
    "IntervalChain": ("contraction over all chains between the limits, influence, group", "contraction.md"),
    "BayesianNetwork": ("messages along the edges of a forest, quilts, group", "trees.md"),
    "HiddenMarkov": ("messages along the chain, quilts, group", "trees.md"),
    "Recorded": ("T(epsilon; p, q) of independent records: at most epsilon", "records.md"),
    "object": ("quilts where the prior lists them, else its influence curve; the worst of several", "influence.md"),
}
"""Which bounds of the pure translation a class of priors has, and where they are proved."""

NOISES = {
    "laplace": "every budget; what `best` mostly takes for one number",
    "gaussian": "Rényi, zCDP and small deltas; vectors and sums of many releases",
    "cauchy": "analysis only, because no exact sampler is proved",
    **dict.fromkeys(("cauchy2", "cauchy4", "cauchy6"), "heavy tails: losses that fall to nothing far out, pure too"),
    "atoms": "nothing may be published that is no possible value; asked for by name, because it is biased at the ends",
    "directed": "made by `anisotropic-laplace` and `several-directions`",
}
