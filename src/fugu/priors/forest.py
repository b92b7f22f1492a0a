"""Networks whose arrows form a forest: every variable of a component has at most one parent, so it is a tree.

The moral graph of a network marries the parents of a child, so it has no cycle exactly where no variable has two
parents. Parts of a network without a path between them are independent; each is judged by itself. In a tree the law of
every variable follows from that of its parent, and with it the kernels of each edge in both directions:

    P(child = y | parent = x) is the table,    P(parent = y | child = x) = mu_parent(y) table(y, x) / mu_child(x).

Proofs: docs/proofs/trees.md#setting and docs/proofs/trees.md#rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fugu.priors.counted import STEP, Counted, Floats, combine
from fugu.priors.separation import Parents, children


@dataclass(frozen=True)
class Forest:
    """The components of a network that are trees; nodes keep the numbers they have in the network."""

    order: tuple[int, ...]
    """Its nodes, each after its parent."""
    parent: tuple[int, ...]
    """The parent of each node of the network; -1 for a root and for what is not in a tree."""
    below: tuple[tuple[int, ...], ...]
    """The children of each node."""
    laws: dict[int, Floats]
    """The law of each node."""
    tables: dict[int, Floats]
    """P(node | parent) of each node that has a parent."""
    error: float
    """The largest relative error of the laws."""

    def around(self) -> dict[int, int]:
        """For each node, how many nodes its tree has."""
        top: dict[int, int] = {}
        sizes: dict[int, int] = {}
        for v in self.order:
            top[v] = v if self.parent[v] < 0 else top[self.parent[v]]
            sizes[top[v]] = sizes.get(top[v], 0) + 1
        return {v: sizes[top[v]] for v in self.order}


def forest(parents: Parents, order: Sequence[int], tables: Sequence[Counted]) -> Forest:
    """The trees among the components of a network, with the law of each of their nodes.

    `parents`: the parents of each node; `order`: the nodes, each after its parents; `tables`: one axis for each parent,
    the values last. Raises `NotProvable` where a probability is too small for floats."""
    bad = _entangled(parents)
    kept = tuple(v for v in order if not bad[v])
    parent = [-1] * len(parents)
    laws: dict[int, Counted] = {}
    for v in kept:
        if parents[v]:
            parent[v] = parents[v][0]
            laws[v] = combine("p,pv->v", laws[parent[v]], tables[v])
        else:
            laws[v] = tables[v]
    most = max((law.roundings for law in laws.values()), default=0)
    return Forest(
        order=kept,
        parent=tuple(parent),
        below=tuple(tuple(below) if not bad[v] else () for v, below in enumerate(children(parents))),
        laws={v: law.values for v, law in laws.items()},
        tables={v: tables[v].values for v in kept if parents[v]},
        error=1.01 * most * STEP,
    )


def _entangled(parents: Parents) -> list[bool]:
    """Which nodes lie in a component where somebody has two parents."""
    below = children(parents)
    bad = [False] * len(parents)
    todo = [v for v, above in enumerate(parents) if len(above) > 1]
    while todo:
        v = todo.pop()
        if not bad[v]:
            bad[v] = True
            todo += [*parents[v], *below[v]]
    return bad
