"""Bayesian networks: variables with parents and tables, what the graph alone says, and forests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from graphlib import CycleError, TopologicalSorter
from itertools import combinations

import numpy as np

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.numbers.exact import TensorLike, is_whole
from fugu.priors.joint import STEP, Floats, Quilts, RoundedFloats, combine, laws, leaks
from fugu.priors.prior import Belief, of_variables, place

# Proofs: docs/proofs/quilts.md#networks and docs/proofs/trees.md#setting.

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST_CELLS = 1 << 20
_MOST_QUILTS = 512
Factor = tuple[tuple[int, ...], RoundedFloats]


class BayesianNetwork(Belief):
    """Entries that depend on their parents in a directed graph: P(X_1, ..., X_n) = product of P(X_v | parents of v),
    each table with one axis per parent and the values last.

    `tables` maps a name to its table, `parents` a name to its parents (none if left out). Rows sum to one within 1e-12.
    Raises `BadLaw` for tables that are not laws or have another shape, `UsageError` for circles and unknown parents.

    >>> rain = BayesianNetwork({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, {"wet": ["rain"]})
    >>> rain.law("wet")
    array([0.76, 0.24])
    >>> round(float(rain.leak("rain", ["wet"])[1, 0]), 6)  # log 0.8 / 0.1
    2.079442
    """

    names: tuple[str, ...]
    nodes: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    tables: tuple[RoundedFloats, ...]
    sizes: tuple[int, ...]

    def __init__(self, tables: Mapping[str, TensorLike], parents: Mapping[str, Sequence[str]] | None = None) -> None:
        names = tuple(tables)
        if not names:
            raise UsageError("a network needs at least one variable")
        vars(self).update(names=names, nodes=tuple(range(len(names))))
        given = dict(parents or {})
        for name in given:
            self.index(name)
        for n in names:
            if isinstance(given.get(n), str):
                raise UsageError(f"the parents of {n!r} must be a list of names, even if there is only one")
        arrows = tuple(tuple(self.index(p) for p in given.get(n, ())) for n in names)
        for node, above in enumerate(arrows):
            if len(set(above)) < len(above):
                raise UsageError(f"{names[node]!r} names a parent twice")
        order = ordered(arrows, names)
        read = tuple(laws(tables[n], f"the table of {n!r}") for n in names)
        sizes = tuple(t.values.shape[-1] for t in read)
        vars(self).update(parents=arrows, order=order, tables=read, sizes=sizes)
        for node, above in enumerate(self.parents):
            expected = (*(self.sizes[p] for p in above), self.sizes[node])
            if self.tables[node].values.shape != expected:
                raise BadLaw(
                    f"the table of {self.names[node]!r} must have shape {expected}: one axis per parent, in the order "
                    f"they are named, then one for its own values; got {self.tables[node].values.shape}"
                )

    def __repr__(self) -> str:
        return f"BayesianNetwork({len(self.names)} variables, {sum(map(len, self.parents))} arrows)"

    @classmethod
    def example(cls) -> BayesianNetwork:
        return household(4, 0.1, 0.5)

    @cached_property
    def skipped(self) -> tuple[str, ...]:
        """The values that a variable never has."""
        known = self.forest.laws
        return of_variables(self.names, [(known[v] if v in known else self.law(v)) > 0 for v in self.nodes])

    @cached_property
    def forest(self) -> Forest:
        """The independent parts in which no variable has two parents, with the law of every variable in them.

        Raises `NotProvable` where a probability is too small for floats."""
        below, bad = children(self.parents), [False] * len(self.parents)
        todo = [v for v, above in enumerate(self.parents) if len(above) > 1]
        while todo:  # a component where somebody has two parents is no tree
            v = todo.pop()
            if not bad[v]:
                bad[v] = True
                todo += [*self.parents[v], *below[v]]
        kept = tuple(v for v in self.order if not bad[v])
        parent = [-1] * len(self.parents)
        laws: dict[int, RoundedFloats] = {}
        for v in kept:
            if self.parents[v]:
                parent[v] = self.parents[v][0]
                laws[v] = combine("p,pv->v", laws[parent[v]], self.tables[v])
            else:
                laws[v] = self.tables[v]
        most = max((law.roundings for law in laws.values()), default=0)
        return Forest(
            order=kept,
            parent=tuple(parent),
            below=tuple(() if bad[v] else tuple(some) for v, some in enumerate(below)),
            laws={v: law.values for v, law in laws.items()},
            tables={v: self.tables[v].values for v in kept if self.parents[v]},
            error=1.01 * most * STEP,
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted."""
        return (f"the {len(self.names)} entries follow the stated network, whose tables are public",)

    def index(self, variable: int | str) -> int:
        """The position of a `variable`, by position or name."""
        return place(variable, self._places)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: n for n, name in enumerate(self.names)}

    def joint(self, variables: Sequence[int | str]) -> RoundedFloats:
        """P(X_A) with one axis for each of the `variables`, in the order asked, by variable elimination (least new
        table first)."""
        wanted = [self.index(v) for v in variables]
        keep = ancestors(self.parents, wanted)
        factors: list[Factor] = [((*self.parents[v], v), self.tables[v]) for v in sorted(keep)]
        left = keep - set(wanted)
        while left:
            node = min(left, key=lambda v: (self._cells(_scope(f for f in factors if v in f[0])), v))
            touched = [f for f in factors if node in f[0]]
            scope = tuple(sorted(_scope(touched) - {node}))
            factors = [f for f in factors if node not in f[0]]
            factors.append((scope, self._product(touched, scope)))
            left.remove(node)
        return self._product(factors, tuple(wanted))

    def law(self, variable: int | str) -> Floats:
        """The law of one `variable`."""
        return self.joint([variable]).values

    def given(self, variable: int | str, others: Sequence[int | str]) -> Floats:
        """P(X_Q | X_i) of the `others` given a `variable`, its value the first axis; rows of an impossible value are
        0."""
        table = self.joint([variable, *others]).values
        sums = table.reshape(table.shape[0], -1).sum(axis=1).reshape(-1, *[1] * (table.ndim - 1))
        return np.asarray(np.divide(table, sums, out=np.zeros_like(table), where=sums > 0))

    def separated(self, variable: int | str, other: int | str, given: Iterable[int | str] = ()) -> bool:
        """Whether the graph alone says that `variable` and `other` are independent given those in `given`
        (d-separation)."""
        found = separated(self.parents, self.index(variable), {self.index(g) for g in given})
        return self.index(other) in found

    def leak(self, variable: int | str, others: Sequence[int | str]) -> Floats:
        """max_q log P(X_Q = q | X_i = x) / P(X_Q = q | X_i = x') for every ordered pair (x, x'), from above.

        X_i is the `variable`, X_Q the `others`."""
        return leaks(self.joint([variable, *others]))

    @lru_cache(maxsize=64)  # noqa: B019  (a network is small and does not change)
    def quilts(self, node: int, most: int | None = None) -> Quilts:
        """The quilts of an entry: all separators X_Q of at most `most` variables, its Markov blanket, and the trivial.

        N is what the graph does not separate from X_i given X_Q. With every separator allowed (the default while there
        are at most 512) this attains the least leakage over all sets of near entries of each size.
        """
        node = self.index(node)
        others = [v for v in self.nodes if v != node]
        if most is None:
            most = len(others) if 1 << len(others) <= _MOST_QUILTS else 2
        sets = {frozenset(s) for r in range(1, most + 1) for s in combinations(others, r)}
        sets = (sets | {blanket(self.parents, node)}) - {frozenset()}
        chosen: list[tuple[int, frozenset[int]]] = [(len(self.nodes), frozenset())]
        for given in sorted(sets, key=lambda s: (len(s), sorted(s))):
            far = separated(self.parents, node, set(given))
            if self._cells({node, *given}) <= _MOST_CELLS:
                chosen.append((len(self.nodes) - len(given) - len(far), given))
        near_empty = len(self.nodes) - len(separated(self.parents, node, set()))
        size = self.sizes[node]
        leaks = [np.zeros((size, size))] + [self.leak(node, sorted(g)) for _, g in chosen[1:]]
        if near_empty < len(self.nodes):  # the rest of the network is another component: independent of the entry
            chosen.append((near_empty, frozenset()))
            leaks.append(np.zeros((size, size)))
        cards = np.array([card for card, _ in chosen])
        return Quilts(len(self.nodes), cards, np.stack(leaks), tuple(tuple(sorted(g)) for _, g in chosen))

    def _cells(self, scope: Iterable[int]) -> int:
        return math.prod(self.sizes[v] for v in scope)

    def _product(self, factors: Sequence[Factor], target: tuple[int, ...]) -> RoundedFloats:
        """The product of factors summed over everything outside `target`; only the last step sums."""

        def step(a: Factor, b: Factor) -> Factor:
            both = tuple(sorted({*a[0], *b[0]}))
            if self._cells(both) > _MOST_CELLS or len(both) > len(_LETTERS):
                raise NotProvable("this network is too densely connected for exact inference; ask for fewer variables")
            return both, combine(f"{_spell(a[0], both)},{_spell(b[0], both)}->{_spell(both, both)}", a[1], b[1])

        found = reduce(step, factors)
        kept = tuple(v for v in target if v in found[0])
        return combine(
            f"{_spell(found[0], found[0])},->{_spell(kept, found[0])}", found[1], RoundedFloats(np.array(1.0))
        )


def _scope(factors: Iterable[Factor]) -> set[int]:
    return {v for scope, _ in factors for v in scope}


def _spell(scope: Sequence[int], among: Sequence[int]) -> str:
    places = {v: _LETTERS[i] for i, v in enumerate(sorted(among))}
    return "".join(places[v] for v in scope)


def household(size: int, prior: float, transmission: float) -> BayesianNetwork:
    """An infection in a household: one member is met first and infected with `prior`; each other one catches it.

    Member 1 is infected with probability `prior`; every other of the `size` members is infected by member 1 with
    probability `transmission`, and from outside with probability `prior`, independently of each other.

    >>> household(3, 0.1, 0.5).names
    ('member 1', 'member 2', 'member 3')
    """
    if not is_whole(size, 1, 20):
        raise UsageError("a household has between 1 and 20 members")
    names = [f"member {i}" for i in range(1, size + 1)]
    return contacts({name: None if i == 0 else names[0] for i, name in enumerate(names)}, prior, transmission)


def contacts(met: Mapping[str, str | None], prior: float, transmission: float) -> BayesianNetwork:
    """An infection that spreads along a tree of contacts, from each person to those who met them later.

    `met` maps each person to the one they met, None for those who met nobody. Each is infected from outside with
    probability `prior`, and by the one they met, if that one is infected, with probability `transmission`,
    independently of each other. Raises `UsageError` for contacts in a circle and for what is not a probability.

    >>> contacts({"Ann": None, "Bob": "Ann", "Cleo": "Ann", "Dan": "Bob"}, 0.02, 0.3)
    BayesianNetwork(4 variables, 3 arrows)
    """
    if not (0 <= prior <= 1 and 0 <= transmission <= 1):
        raise UsageError("prior and transmission are probabilities between 0 and 1")
    outside = [1 - prior, prior]
    escaped = (1 - prior) * (1 - transmission)
    tables = {name: outside if by is None else [outside, [escaped, 1 - escaped]] for name, by in met.items()}
    return BayesianNetwork(tables, {name: [by] for name, by in met.items() if by is not None})


# Networks whose arrows form a forest: every variable of a component has at most one parent, so it is a tree.
#
# The moral graph of a network marries the parents of a child, so it has no cycle exactly where no variable has two
# parents. Parts of a network without a path between them are independent; each is judged by itself. In a tree the law
# of every variable follows from that of its parent, and with it the kernels of each edge in both directions:
#
#     P(child = y | parent = x) is the table,    P(parent = y | child = x) = mu_parent(y) table(y, x) / mu_child(x).
#
# Proofs: docs/proofs/trees.md#setting and docs/proofs/trees.md#rounding.


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


# What a directed acyclic graph alone says about independence (Pearl 1988; Koller and Friedman 2009, Algorithm 3.1).
#
# Proofs: docs/proofs/quilts.md#networks.

Parents = Sequence[Sequence[int]]


def ordered(parents: Parents, names: Sequence[str]) -> tuple[int, ...]:
    """The nodes, each after its parents; a cycle is an error that names its members."""
    sorter = TopologicalSorter(dict(enumerate(parents)))
    try:
        sorter.prepare()
    except CycleError as error:
        members = ", ".join(repr(names[v]) for v in sorted(set(error.args[1])))
        raise UsageError(f"the parents form a cycle among {members}; remove one of the arrows") from None
    placed: list[int] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        placed += ready
        sorter.done(*ready)
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
