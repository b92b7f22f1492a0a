"""Sequences, networks and properties: the figure before, now, and what nothing goes below.

    python examples/before_and_now.py                 lists the lines
    FUGU_DATA=folder python examples/before_and_now.py run > docs/before-and-now.md

"before" is the version before this one, as measured then. "now" is computed. "from below" is what no proof can beat:
the loss of a mechanism that exists (an attack), or the optimum of a linear programme; both are computed here from the
definition. What takes longer is in `before_and_now_measured.md`, with the tests and benchmarks that measure it.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import fugu
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.network import BayesianNetwork, contacts, household

Line = tuple[str, str, str, str, str]
KERNEL = np.array([[0.8, 0.2], [0.3, 0.7]])


def attack(kernel: np.ndarray, first: np.ndarray, length: int, epsilon: float) -> float:
    """The loss of a release that answers for each entry by itself, with a factor 1 or e^epsilon for each of its values:
    the best found by going through the entries on both sides of the middle one, again and again."""
    laws = [first]
    for _ in range(length - 1):
        laws.append(laws[-1] @ kernel)
    middle = (length - 1) // 2
    back = [(laws[t - 1][:, None] * kernel / laws[t][None, :]).T for t in range(1, length)]
    sides = [[kernel] * (length - 1 - middle), back[:middle][::-1]]
    values = range(len(kernel))
    pairs = [(x, y) for x, y in itertools.permutations(values, 2) if min(laws[middle][[x, y]]) > 0]
    return max(epsilon + sum(_one_side(side, x, y, math.exp(epsilon)) for side in sides) for x, y in pairs)


def _one_side(kernels: list[np.ndarray], x: int, y: int, factor: float) -> float:
    """log E[product of factors | x] / E[... | y] along one side of an entry."""
    n, k, best = len(kernels), len(kernels[0]) if kernels else 0, 0.0
    answers = [np.ones(k) for _ in range(n)]
    for _ in range(4):
        beyond = [np.ones(k)]
        for kernel, answer in zip(kernels[:0:-1], answers[:0:-1], strict=True):
            beyond.append(kernel @ (answer * beyond[-1]))
        p, q = np.eye(k)[x], np.eye(k)[y]
        for m in range(n):
            p, q, after = p @ kernels[m], q @ kernels[m], beyond[n - 1 - m]
            order = np.argsort(-p / np.maximum(q, 1e-300))
            tried = [np.where(np.isin(np.arange(k), order[:c]), factor, 1.0) for c in range(k + 1)]
            answers[m] = max(tried, key=lambda g: (p * g * after).sum() / (q * g * after).sum())
            p, q = p * answers[m], q * answers[m]
            p, q = p / q.sum(), q / q.sum()
        best = max(best, math.log(p.sum()))
    return best


def best_mechanism(law: np.ndarray, node: int, epsilon: float) -> float:
    """The largest loss over all mechanisms that are private for each entry: a linear program over all data sets."""
    from scipy.optimize import linprog
    from scipy.sparse import lil_matrix

    cells = list(np.ndindex(*law.shape))
    place = {cell: n for n, cell in enumerate(cells)}
    near = [(d, e) for d in cells for i in range(law.ndim) for v in range(law.shape[i])
            if (e := (*d[:i], v, *d[i + 1 :])) != d]  # fmt: skip
    rows = lil_matrix((len(near), len(cells)))
    for n, (d, e) in enumerate(near):
        rows[n, place[d]], rows[n, place[e]] = 1.0, -math.exp(epsilon)
    given = [np.array([law[c] if c[node] == v else 0.0 for c in cells]) for v in range(law.shape[node])]
    given = [g / g.sum() for g in given]
    found = [linprog(-p, A_ub=rows.tocsr(), b_ub=np.zeros(len(near)), A_eq=q[None], b_eq=[1.0], bounds=(0, None))
             for p, q in itertools.permutations(given, 2)]  # fmt: skip
    return max(math.log(-f.fun) for f in found)


def networks() -> Iterator[Line]:
    """Networks that are trees, and hidden chains."""
    first = np.array([0.6, 0.4])
    names = [f"x{i}" for i in range(11)]
    tables = {n: (KERNEL if i else first).tolist() for i, n in enumerate(names)}
    line = BayesianNetwork(tables, {b: [a] for a, b in itertools.pairwise(names)})
    yield ("chain of 11 entries written as a network, 0.05 for each", "0.55", f"{fugu.translate(line, 0.05):.5f}",
           f"{attack(KERNEL, first, 11, 0.05):.5f}", "attack")  # fmt: skip
    home = household(4, 0.1, 0.5)
    below = max(best_mechanism(home.joint(list(home.nodes)).values, node, 0.5) for node in home.nodes)
    yield (
        "household of four, 0.5 for each",
        "2.0",
        f"{fugu.translate(home, 0.5):.5f}",
        f"{below:.5f}",
        "linear program",
    )
    met = {str(i): None if i == 0 else str((i - 1) // 2) for i in range(15)}
    yield ("tree of 15 contacts, budget for each at epsilon 1", "0.0667",
           f"{fugu.dp_budget(contacts(met, 0.05, 0.3), 1):.4f}", "the same", "two values: attained")  # fmt: skip
    for protect, before in (("hidden", "1.773"), ("observed", "0.873")):
        seen = HiddenMarkov([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], 20, protect=protect)
        now = f"{fugu.translate(seen, 0.1):.5f}"
        yield f"hidden chain of 20, {protect} secrets, 0.1 for each", before, now, now, "two states: attained"


def chains() -> Iterator[Line]:
    """(epsilon, delta), zCDP, and many states."""
    chain = fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=1000)
    found = fugu.translate(chain, fugu.Approx(0.3, 1e-9), delta=1e-8).epsilon
    pure = attack(np.array([[0.6, 0.4], [0.2, 0.8]]), np.array([1, 2]) / 3, 1000, 0.3)
    yield "chain of 1,000, (0.3, 1e-9) for each at delta 1e-8", "1.804", f"{found:.4f}", f"{pure:.4f}", "attack, pure"
    short = fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    rho = fugu.translate(short, fugu.ZCDP(0.02))(2)
    yield "chain of 6, zCDP 0.02 for each, order 2", "0.599", f"{rho:.3f}", "0.183", "a noisy sum, by quadrature"
    for k in (6, 12):
        rng = np.random.default_rng(k)
        rows = 0.96 * np.eye(k) + 0.04 * rng.dirichlet(np.ones(k), size=k)
        slow = fugu.MarkovChain(rows / rows.sum(axis=1, keepdims=True), 72)
        each = fugu.dp_budget(slow, 1)
        below = attack(np.asarray(slow.transition(1)), np.asarray(slow.marginal(1)), 72, each)
        yield (f"slow chain, {k} values, 72 entries: budget for each at epsilon 1", f"{1 / 72:.6f}",
               f"{each:.6f}", f"epsilon {below:.4f} is lost at it", "attack")  # fmt: skip


def fields() -> Iterator[Line]:
    """Jointly normal entries."""
    field = fugu.GaussianField.ar1(24, 0.5, width=0.4)
    found = fugu.translate(field, fugu.ZCDP(0.02))
    yield ("24 jointly normal entries, zCDP 0.02 for each (group bound 11.52)", "refused", f"{float(found.rho):.4f}",
           "0.02", "one entry alone")  # fmt: skip


def real(folder: Path) -> Iterator[Line]:
    """Real sequences and records."""
    with gzip.open(folder / "activity" / "mvad.csv.gz", "rt") as file:
        head, *people = csv.reader(file)
    at = head.index("Jul.93")
    months = [person[at : at + 72] for person in people]
    states = sorted({state for person in months for state in person})
    counts = np.zeros((len(states), len(states)))
    for person in months:
        for a, b in itertools.pairwise(person):
            counts[states.index(a), states.index(b)] += 1
    chain = fugu.MarkovChain(counts / counts.sum(axis=1, keepdims=True), 72, states=states)
    each = fugu.dp_budget(chain, 1)
    below = attack(np.asarray(chain.transition(1)), np.asarray(chain.marginal(1)), 72, each)
    yield ("months of school leavers (mvad), 6 states, 72 entries: budget for each at epsilon 1", "0.013889",
           f"{each:.6f}", f"epsilon {below:.4f} is lost at it", "attack")  # fmt: skip


def properties() -> Iterator[Line]:
    """Vectors with Gaussian noise on a lattice."""
    found = fugu.calibrate(fugu.Shifted((1, 0.5)), fugu.Approx(10, 1e-3), noise="gaussian")
    below = math.hypot(1, 0.5) / 2.462692923338488
    yield ("vector moved by (1, 0.5), (10, 1e-3): Gaussian scale", "0.4836", f"{float(found.noise.scale):.5f}",
           f"{below:.5f}", "exact")  # fmt: skip


LINES: tuple[Callable[[], Iterator[Line]], ...] = (networks, chains, fields, properties)
HEAD = """# Sequences, networks, properties: before, now, and from below

Written by `FUGU_DATA=folder python examples/before_and_now.py run`. Losses are epsilons that a guarantee for each entry
is worth; budgets are what each entry may spend. "from below" is what nothing goes below: the loss of a mechanism that
exists (an attack), or a programme over all mechanisms, computed from the definition.

| what | before | now | from below | how |
|---|---|---|---|---|"""


def main() -> None:
    if sys.argv[1:] != ["run"]:
        print("\n".join(f"{part.__name__}: {part.__doc__}" for part in (*LINES, real)))
        return
    print(HEAD)
    folder = os.environ.get("FUGU_DATA")
    parts = [part() for part in LINES] + ([real(Path(folder))] if folder else [])
    for line in itertools.chain(*parts):
        print("| " + " | ".join(line) + " |", flush=True)
    print(Path(__file__).with_name("before_and_now_measured.md").read_text(), end="")


if __name__ == "__main__":
    main()
