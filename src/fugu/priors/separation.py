"""What a directed acyclic graph alone says about independence (Pearl 1988; Koller and Friedman 2009, Algorithm 3.1).

Proofs: docs/proofs/quilts.md#networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fugu.errors import UsageError

Parents = Sequence[Sequence[int]]


def ordered(parents: Parents, names: Sequence[str]) -> tuple[int, ...]:
    """The nodes, each after its parents; a cycle is an error that names its members."""
    below, waiting = children(parents), [len(set(above)) for above in parents]
    placed: list[int] = []
    ready = [v for v, count in enumerate(waiting) if count == 0]
    while ready:
        placed += ready
        following = []
        for v in ready:
            for child in set(below[v]):
                waiting[child] -= 1
                if waiting[child] == 0:
                    following.append(child)
        ready = sorted(following)
    if len(placed) < len(parents):
        members = ", ".join(repr(names[v]) for v in sorted(set(range(len(parents))) - set(placed)))
        raise UsageError(f"the parents form a cycle among {members}; remove one of the arrows")
    return tuple(placed)


def ancestors(parents: Parents, nodes: Iterable[int]) -> set[int]:
    """The nodes and everything above them."""
    found: set[int] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            todo += parents[node]
    return found


def children(parents: Parents) -> list[list[int]]:
    """For each node, the nodes it is a parent of."""
    found: list[list[int]] = [[] for _ in parents]
    for node, above in enumerate(parents):
        for p in above:
            found[p].append(node)
    return found


def blanket(parents: Parents, node: int) -> frozenset[int]:
    """The Markov blanket: parents, children, and the children's other parents."""
    below = children(parents)[node]
    return frozenset({*parents[node], *below, *(p for c in below for p in parents[c])} - {node})


def separated(parents: Parents, node: int, given: set[int]) -> set[int]:
    """Every node outside `given` that is d-separated from `node` by it.

    A trail passes a chain or a fork unless its middle is given, and a collider only if it or something below it is
    given. Nodes separated one by one are separated together (d-separation has the composition property), so the set
    returned is independent of X_node given X_given jointly.

    >>> separated([[], [0], [1]], 0, {1}), separated([[], [], [0, 1]], 0, {2}), separated([[], [], [0, 1]], 0, set())
    ({2}, set(), {1})
    """
    below = children(parents)
    opened = ancestors(parents, given)
    reached: set[int] = set()
    seen: set[tuple[int, bool]] = set()
    todo = [(node, True)]  # True: the trail arrives from below (or starts here)
    while todo:
        v, upward = todo.pop()
        if (v, upward) in seen:
            continue
        seen.add((v, upward))
        if v not in given:
            reached.add(v)
            todo += [(c, False) for c in below[v]]
            if upward:
                todo += [(p, True) for p in parents[v]]
        if not upward and v in opened:
            todo += [(p, True) for p in parents[v]]
    return set(range(len(parents))) - reached - given - {node}
