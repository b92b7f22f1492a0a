"""Guessers: each learns from shadow outputs of both hypotheses a score that is larger where the first is likelier."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.auditing.decoder import Decoded, decode
from fugu.auditing.shadows import Floats, Hypothesis, Protection
from fugu.errors import MissingExtra
from fugu.laws.discrete import Discrete
from fugu.laws.places import nearest
from fugu.mechanism.additive import Additive

Score = Callable[[Floats], Floats]
_MOST_VALUES = 200
_CLIP = 700.0
_BLOCK = 2_000_000


def logistic(x1: Floats, x0: Floats) -> tuple[Score, str]:
    """Logistic regression (scikit-learn) on the standardised outputs and their squares."""
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtra(
            "the logistic attack needs scikit-learn; install fugu-privacy[fit], or pass attacks=('likelihood-ratio',)"
        ) from None
    both = _table(np.concatenate([x1, x0]))
    mean, spread = both.mean(axis=0), both.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)

    def features(x: Floats) -> Floats:
        z = (_table(x) - mean) / spread
        return np.hstack([z, z * z])

    model = LogisticRegression(max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(features(np.concatenate([x1, x0])), np.repeat([1, 0], [len(x1), len(x0)]))
    return lambda x: np.asarray(model.decision_function(features(x))), ""


def likelihood_ratio(
    x1: Floats, x0: Floats, laws: tuple[Hypothesis, Hypothesis] | None, mechanism: Protection
) -> tuple[Score, str]:
    """ln p1/p0 of the outputs: the exact ratio of lattice noise on laws with atoms, else counts, else fitted normals.

    The best test at every level is a threshold of the true ratio (Neyman and Pearson 1933)."""
    known = None if laws is None else _known(laws, mechanism)
    if known is not None:
        return known, "exact laws"
    if x1.ndim == 1:
        seen = np.unique(np.concatenate([x1, x0]))
        if len(seen) <= min(_MOST_VALUES, len(x1) // 10):
            return _counted(x1, x0, seen), f"counts of {len(seen)} values"
    return _normal(x1, x0), "fitted normal laws"


class DecoderGuess:
    """The lattice decoder, then the ratio of normal laws fitted on the decoded statistics; no guess where it fails."""

    def __init__(self, directions: ArrayLike, steps: ArrayLike, bounds: ArrayLike) -> None:
        self.directions, self.steps, self.bounds = directions, steps, bounds

    def read(self, x: Floats) -> Decoded:
        """The decoded outputs."""
        return decode(x, self.directions, self.steps, self.bounds)

    def fit(self, x1: Floats, x0: Floats) -> tuple[Score, str]:
        """The score of decoded statistics."""
        read1, read0 = self.read(x1), self.read(x0)
        found1, found0 = read1.values[read1.decoded], read0.values[read0.decoded]
        share = (read1.share * len(x1) + read0.share * len(x0)) / (len(x1) + len(x0))
        note = f"{share:.1%} of the shadow outputs decoded"
        if min(len(found1), len(found0)) < 10:
            return lambda x: np.zeros(len(x)), note
        inner = _normal(found1, found0)

        def score(x: Floats) -> Floats:
            read = self.read(x)
            return np.where(read.decoded, inner(read.values), 0.0)

        return score, note


def _known(laws: tuple[Hypothesis, Hypothesis], mechanism: Protection) -> Score | None:
    """The exact log ratio where both laws have atoms that are numbers and the noise is of the lattice, or none."""
    p, q = laws
    if not isinstance(p, Discrete) or not isinstance(q, Discrete) or p.dimension > 1:
        return None
    if mechanism is None:
        return lambda y: _difference(_mass(p, y), _mass(q, y))
    if not isinstance(mechanism, Additive) or mechanism.post or mechanism.lattice is None or not mechanism.noise.scale:
        return None
    lattice, support, noise = mechanism.lattice, mechanism.support, mechanism.noise
    rate = float(noise.decay)

    def log_mass(law: Discrete, y: Floats) -> Floats:
        from scipy.special import logsumexp

        clean = law.values if support is None else nearest(support, law.values)
        at, weights = lattice.index(clean), law.weights
        at, weights, found = at[weights > 0], weights[weights > 0], []
        for part in np.array_split(lattice.index(y), 1 + len(y) * len(at) // _BLOCK):
            steps = np.abs(part[:, None] - at[None, :]).astype(np.float64)
            found.append(logsumexp(-rate * steps**noise.norm, axis=1, b=weights))
        return np.concatenate(found)

    return lambda y: _difference(log_mass(p, y), log_mass(q, y))


def _mass(law: Discrete, y: Floats) -> Floats:
    at = np.minimum(np.searchsorted(law.values, y), len(law.values) - 1)
    mass = np.where(law.values[at] == y, law.weights[at], 0.0)
    return np.log(mass, out=np.full(len(y), -_CLIP), where=mass > 0)


def _difference(a: Floats, b: Floats) -> Floats:
    return np.clip(a - b, -_CLIP, _CLIP)


def _counted(x1: Floats, x0: Floats, seen: Floats) -> Score:
    """ln of smoothed counts: (c1 + 1/2) / (c0 + 1/2); a value never seen says nothing."""
    c1, c0 = ((np.searchsorted(seen, x)) for x in (x1, x0))
    ratio = np.log(np.bincount(c1, minlength=len(seen)) + 0.5) - np.log(np.bincount(c0, minlength=len(seen)) + 0.5)

    def score(x: Floats) -> Floats:
        at = np.minimum(np.searchsorted(seen, x), len(seen) - 1)
        return np.where(seen[at] == x, ratio[at], 0.0)

    return score


def _normal(x1: Floats, x0: Floats) -> Score:
    """The log ratio of two normal laws with the means and covariances of the shadows, lightly regularised."""
    both = _table(np.concatenate([x1, x0]))
    total = np.atleast_2d(np.cov(both.T))
    ridge = 1e-9 * np.where(np.diag(total) > 0, np.diag(total), 1.0)

    def log_density(sample: Floats) -> Score:
        rows = _table(sample)
        mean, cov = rows.mean(axis=0), np.atleast_2d(np.cov(rows.T)) + np.diag(ridge)
        inverse, (_, logdet) = np.linalg.inv(cov), np.linalg.slogdet(cov)

        def at(x: Floats) -> Floats:
            z = _table(x) - mean
            return np.asarray(-0.5 * (np.einsum("ni,ij,nj->n", z, inverse, z) + logdet))

        return at

    p, q = log_density(x1), log_density(x0)
    return lambda x: _difference(p(x), q(x))


def _table(x: Floats) -> NDArray[np.float64]:
    return x[:, None] if x.ndim == 1 else x
