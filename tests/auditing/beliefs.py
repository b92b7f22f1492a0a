"""Oracles for losses under other beliefs, written from the definitions alone; and random beliefs."""

import math

import mpmath
import numpy as np

import fugu


def noised(law, noise, reach=400):
    """{lattice index: probability} of a law of whole numbers plus lattice noise of step 1, 50 digits."""
    with mpmath.workdps(50):
        scale = mpmath.mpf(noise.scale)
        laplace = isinstance(noise, fugu.Laplace)
        mass = [mpmath.exp(-k / scale if laplace else -(mpmath.mpf(k) ** 2) / (2 * scale**2)) for k in range(reach + 1)]
        total = mass[0] + 2 * sum(mass[1:])
        atoms = [(int(x), mpmath.mpf(int(w))) for x, w in zip(law.values, law.masses.parts, strict=True) if w]
        whole = sum(w for _, w in atoms)
        low, high = min(x for x, _ in atoms), max(x for x, _ in atoms)
        window = range(low - reach // 2, high + reach // 2)
        return {k: sum(w * mass[min(abs(k - x), reach)] for x, w in atoms) / (total * whole) for k in window}


def losses(pair, noise, epsilon=0.0, alpha=2.0, reach=400):
    """(sup |ln P/Q|, delta(epsilon), D_alpha), each the larger of both orders, summed over a long window."""
    p, q = (noised(law, noise, reach) for law in (pair.p, pair.q))
    both = sorted(set(p) & set(q))
    with mpmath.workdps(50):
        e = mpmath.exp(epsilon)
        pure = max(abs(mpmath.log(p[k] / q[k])) for k in both)
        delta = max(sum(max(a[k] - e * b[k], 0) for k in both) for a, b in ((p, q), (q, p)))
        renyi = [sum(a[k] ** alpha * b[k] ** (1 - alpha) for k in both) for a, b in ((p, q), (q, p))]
        return float(pure), float(delta), float(mpmath.log(max(renyi)) / (alpha - 1))


def beliefs(rng, size=5, secrets=2):
    """Laws of whole numbers with a few atoms, as {secret: Discrete}."""
    values = np.arange(size)
    counts = [np.where(rng.random(size) < 0.3, 0, rng.integers(1, 20, size)) for _ in range(secrets)]
    return {f"s{k}": fugu.Discrete(values, c if c.sum() else np.ones(size, int)) for k, c in enumerate(counts)}


def jittered(rng, laws, distance):
    """Each law with every atom split and the pieces moved by at most `distance`, some of them all the way."""
    found = {}
    for name, law in laws.items():
        values, weights = [], []
        lean = rng.choice([-1.0, 1.0])
        for x, w in zip(law.values, law.masses.parts, strict=True):
            if w == 0:
                continue
            split = int(rng.integers(0, w + 1))
            move = rng.choice([lean, lean, 1.0, -1.0, rng.uniform(-1, 1)], size=2) * distance
            values += [float(x + move[0]), float(x + move[1])]
            weights += [split, int(w) - split]
        joined = {}
        for x, w in zip(values, weights, strict=True):
            joined[round(x, 9)] = joined.get(round(x, 9), 0) + w
        found[name] = fugu.Discrete(list(joined), list(joined.values()))
    return found


def tilted(rng, laws, distance):
    """Each law with its probabilities multiplied by factors within e^+-distance after normalising."""
    found = {}
    for name, law in laws.items():
        factors = np.exp(rng.choice([-0.5, 0.5], size=len(law.weights)) * distance)
        weights = law.weights * factors
        found[name] = fugu.Discrete(law.values, weights / weights.sum())
    return found


def largest(p, q):
    """D_inf both ways of two laws on the same values."""
    held = p.weights > 0
    return float(np.max(np.abs(np.log(p.weights[held] / q.weights[held])))) if held.any() else math.inf


LINE = [fugu.Discrete([k]) for k in range(6)]
PAIRS = [fugu.LawPair(LINE[2], LINE[3], "middle"), *(fugu.LawPair(LINE[k], LINE[k]) for k in (0, 1, 4, 5))]
"""Two point masses a step apart, on a support of six."""
SPREAD = [fugu.LawPair(LINE[1], LINE[4], "outward"), *PAIRS[1:]]
"""The same, each moved by one step, in opposite directions."""
