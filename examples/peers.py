"""The same work with OpenDP and with Google's dp_accounting, beside fugu.

    pip install -e '.[peers]' && python examples/peers.py

Each line is a guarantee that both sides state for the data at hand, and the noise or epsilon that it takes. OpenDP and
dp_accounting protect one record, or a group of records, whatever is believed; where records or columns depend on each
other they have the group to fall back on. fugu's figures for those rest on the beliefs that are named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import fugu
from fugu.priors.network import household
from fugu_papers import yang
from fugu_papers.experiment import Setting


@dataclass(frozen=True)
class Line:
    """A task, the guarantee, the peer, and both figures; smaller is better."""

    task: str
    guarantee: str
    peer: str
    theirs: float
    ours: float
    remark: str

    def cells(self) -> tuple[str, ...]:
        """For a table."""
        numbers = f"{self.theirs:.4g}", f"{self.ours:.4g}", f"{self.theirs / self.ours:.3g}"
        return (self.task, self.guarantee, self.peer, *numbers, self.remark)


HEADER = ("task", "guarantee", "peer", "theirs", "fugu", "ratio", "remark")
STEP = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]), "one more or less")


def opendp_laplace(moves: int, epsilon: float) -> float:
    """The least scale of integer Laplace noise that OpenDP accepts for values that move by so much."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    return dp.binary_search_param(lambda s: space >> dp.m.then_laplace(s), d_in=moves, d_out=epsilon, T=float)


def opendp_gaussian(epsilon: float, delta: float) -> float:
    """The least scale of integer Gaussian noise that OpenDP accepts for a count."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)

    def measured(scale: float) -> object:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(space >> dp.m.then_gaussian(scale)), delta)

    return dp.binary_search_param(measured, d_in=1, d_out=(epsilon, delta), T=float)


def lines() -> Iterator[Line]:
    """Every task."""
    from dp_accounting.pld import privacy_loss_distribution as losses

    census = dict(yang.pairs(Setting()))["Census"]
    best = yang.least(census, 0.5)
    yield Line("work class, row by row, hide the marital status (Census): scale", "epsilon 0.5", "OpenDP",
               opendp_laplace(8, 0.5), best, "theirs for any belief; fugu's for the census")  # fmt: skip
    home = fugu.dp_budget(household(4, 0.1, 0.5), 1)
    yield Line("infected in a household of four: scale", "epsilon 1", "OpenDP, group of 4",
               opendp_laplace(4, 1.0), 1 / home, "who infects whom with probability 0.5")  # fmt: skip
    hours = fugu.dp_budget(fugu.MarkovChain([[0.9, 0.1], [0.3, 0.7]], length=48), 1)
    yield Line("hours ill of 48, a Markov chain: scale", "epsilon 1", "OpenDP, group of 48", opendp_laplace(48, 1.0),
               1 / hours, "the chain is public")  # fmt: skip
    ours = fugu.calibrate(STEP, fugu.Pure(1)).noise
    yield Line("a count of independent records: scale", "epsilon 1", "OpenDP", opendp_laplace(1, 1.0),
               float(ours.scale), "the same mechanism")  # fmt: skip
    ours = fugu.calibrate(STEP, fugu.Approx(1, 1e-5), noise="gaussian").noise
    yield Line("the same, Gaussian: scale", "(1, 1e-5)", "OpenDP", opendp_gaussian(1.0, 1e-5), float(ours.scale),
               "theirs goes by zCDP, fugu's is exact")  # fmt: skip
    many = losses.from_laplace_mechanism(10.0, value_discretization_interval=1e-4).self_compose(20)
    orders = (1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
    curve = fugu.RenyiCurve({order: 20 * fugu.renyi(fugu.Laplace(10), STEP, order) for order in orders})
    yield Line("20 counts with Laplace noise of scale 10: epsilon", "delta 1e-6", "dp_accounting (PLD)",
               many.get_epsilon_for_delta(1e-6), float(curve.to_approx(1e-6).epsilon),
               "fugu adds Rényi curves, which keeps what dependence needs; PLDs are sharper")  # fmt: skip


def main() -> None:
    """Print the table in Markdown."""
    print("| " + " | ".join(HEADER) + " |")
    print("|" + "---|" * len(HEADER))
    for line in lines():
        print("| " + " | ".join(line.cells()) + " |")


if __name__ == "__main__":
    main()
