"""Pufferfish loss from the definition: every data set, its probability given each secret, every output of a mechanism.

A belief is a list of secrets; a secret is a list of laws over data sets, one for each value that is possible, as arrays
with one axis per cell. A mechanism is an array (data sets, outputs) of probabilities on the whole product domain. The
loss is the largest log P(output | one value) / P(output | another), by summing over data sets. No theorem is used.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product

import numpy as np

from selection_laws import permute_and_flip_law


def tree_law(kernel):
    """The stationary law by spanning trees (weights are sums of products: nothing cancels); irreducible kernels."""
    k = len(kernel)
    weights = np.zeros(k)
    for root in range(k):
        others = [v for v in range(k) if v != root]
        for ends in product(range(k), repeat=k - 1):
            to = dict(zip(others, ends, strict=True))
            if all(_reaches(v, root, to, k) for v in others):
                weights[root] += math.prod(kernel[v][to[v]] for v in others)
    return weights / weights.sum()


def _reaches(v, root, to, k):
    for _ in range(k):
        if v == root:
            return True
        v = to[v]
    return v == root


def outer(*joints):
    """The joint law of independent blocks."""
    return reduce(np.multiply.outer, joints)


def cells(joint):
    """The secrets 'the value of cell i', for every cell: the laws of the whole data set given each possible value."""
    found = []
    for axis in range(joint.ndim):
        laws = []
        for value in range(joint.shape[axis]):
            law = np.zeros_like(joint)
            np.moveaxis(law, axis, 0)[value] = np.moveaxis(joint, axis, 0)[value]
            if law.sum() > 0:
                laws.append(law / law.sum())
        found.append(laws)
    return found


def hidden(joint, emission):
    """The secrets 'the hidden state X_t': laws of the observed data set given each possible value of X_t."""
    return [[seen(law, emission) for law in laws] for laws in cells(joint)]


def seen(law, emission):
    """The law of Y when X has this law: every cell through the emission."""
    for axis in range(law.ndim):
        law = np.moveaxis(np.tensordot(law, emission, axes=(axis, 0)), -1, axis)
    return law


def through(laws, mechanism):
    """P(output | value) in row value; `mechanism` is an array (data sets, outputs), or a list of one channel a cell."""
    if isinstance(mechanism, list):
        table = np.array(laws)
        for axis, channel in enumerate(mechanism, start=1):
            table = np.moveaxis(np.tensordot(table, channel, axes=(axis, 0)), -1, axis)
        return table.reshape(len(laws), -1)
    return np.array([law.ravel() for law in laws]) @ mechanism


def loss(belief, mechanism):
    """max over secrets, ordered pairs of their values and outputs of log P(output | a) / P(output | b)."""
    worst = 0.0
    for laws in belief:
        table = through(laws, mechanism)
        table = table[:, table.max(axis=0) > 0]
        if np.any(table == 0):
            return math.inf
        worst = max(worst, float(np.max(np.log(table.max(axis=0)) - np.log(table.min(axis=0)))))
    return worst


def hockey_stick(belief, mechanism, epsilon):
    """max over secrets and ordered pairs of sum over outputs of (P(output | a) - e^epsilon P(output | b))_+."""
    worst = 0.0
    for laws in belief:
        table = through(laws, mechanism)
        for p, q in product(table, repeat=2):
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    return worst


def renyi(belief, mechanism, alpha):
    """max over secrets and ordered pairs of log(sum p^alpha q^(1 - alpha)) / (alpha - 1)."""
    worst = 0.0
    for laws in belief:
        table = through(laws, mechanism)
        for p, q in product(table, repeat=2):
            worst = max(worst, float(np.log(np.sum(q * (p / q) ** alpha))) / (alpha - 1))
    return worst


def response(k, epsilon):
    """Randomised response: k x k."""
    return np.where(np.eye(k, dtype=bool), math.exp(epsilon), 1.0) / (math.exp(epsilon) + k - 1)


def subsets(k, epsilon):
    """A public random subset, and a coin that says with odds e^epsilon whether the entry is in it: the extreme channel.

    Every output has a likelihood in {1, e^epsilon}, and every such likelihood occurs."""
    sides = [np.array(s, bool) for s in product((0, 1), repeat=k) if 0 < sum(s) < k]
    table = np.array([np.where(s, math.exp(epsilon), 1.0) for s in sides]).T
    return table / table.sum(axis=1, keepdims=True)


def leaky(k, epsilon, delta):
    """With probability delta the entry itself, otherwise randomised response: (epsilon, delta)-DP."""
    return np.hstack([delta * np.eye(k), (1 - delta) * response(k, epsilon)])


def geometric(n, epsilon):
    """A count in 0 .. n plus noise ~ e^(-epsilon |z|): the outputs <= 0 have one likelihood, so have those >= n."""
    r = math.exp(-epsilon)
    table = np.array([[r ** abs(z - c) * (1 - r) / (1 + r) for z in range(n + 1)] for c in range(n + 1)])
    for c in range(n + 1):
        table[c, 0], table[c, n] = r**c / (1 + r), r ** (n - c) / (1 + r)
    return table


def count(shape, epsilon):
    """The number of cells with value 0, plus noise."""
    noise = geometric(len(shape), epsilon)
    return np.array([noise[sum(v == 0 for v in data)] for data in product(*map(range, shape))])


def histogram(shape, epsilon):
    """The number of cells with each value, plus noise of half the rate on each."""
    noise = geometric(len(shape), epsilon / 2)
    k = max(shape)
    return np.array([outer(*(noise[data.count(v)] for v in range(k))).ravel() for data in product(*map(range, shape))])


@lru_cache(maxsize=4096)
def _flip(counts, rate):
    return tuple(float(p.mid()) for p in permute_and_flip_law([Fraction(c) for c in counts], rate))


def arg_max(shape, epsilon):
    """Permute-and-flip over the counts of all values; utilities have sensitivity 1, so the rate is epsilon / 2."""
    k, rate = max(shape), Fraction(epsilon) / 2
    return np.array([_flip(tuple(data.count(v) for v in range(k)), rate) for data in product(*map(range, shape))])


def one_output(likelihood, epsilon):
    """The two-output mechanism whose first output has this likelihood up to scale: per-entry epsilon-DP on all data.

    The second has 1 - c f; with c max f <= (1 - e^-epsilon) / 2 its ratios stay within e^epsilon."""
    f = likelihood.ravel()
    f = f / f.max() * (1 - math.exp(-epsilon)) / 2
    return np.stack([f, 1 - f], axis=1)


def per_entry(mechanism, shape):
    """The largest log ratio between data sets that differ in one cell, over the whole product domain."""
    logs = np.log(mechanism).reshape(*shape, -1)
    return max(float(np.max(logs.max(axis=a) - logs.min(axis=a))) for a in range(len(shape)))


def expand(channels):
    """The array (data sets, outputs) of a mechanism given as one channel a cell."""
    return reduce(np.kron, channels)


def adaptive(first, seconds):
    """The pair of a release and a second one that is chosen by the output of the first."""
    return np.hstack([first[:, [w]] * seconds[w % len(seconds)] for w in range(first.shape[1])])
