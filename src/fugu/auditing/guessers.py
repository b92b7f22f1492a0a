"""Shadow data, draws of two hypotheses and what a mechanism makes of them; and guessers, which each learn from shadow
outputs a score of the first hypothesis. The lattice decoder is one."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import MissingExtra, UnknownName, UsageError
from fugu.fixed import fixed
from fugu.laws.discrete import Discrete
from fugu.laws.multinormal import MultivariateNormal
from fugu.laws.pair import Law, LawPair, Shifted, as_law
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.kind import Floats
from fugu.numbers.checks import is_row
from fugu.scenario.scenario import Scenario

Sampler = Callable[..., ArrayLike]
Hypothesis = Law | Sampler
Protection = Mechanism | Callable[[Floats, np.random.Generator], ArrayLike] | None


def hypotheses(first: object, second: object, pair: Sequence[str] | None) -> tuple[Hypothesis, Hypothesis]:
    """The two laws or samplers that the attack is to tell apart."""
    if isinstance(first, Scenario):
        if second is not None:
            raise UsageError("a scenario brings its own laws; name two of its secrets with pair=, and give no second")
        if pair is None:
            found = first.law_pairs()
            if len(found) == 1:
                return found[0].p, found[0].q
            raise UsageError(f"the scenario has {len(found)} pairs; name the one to attack with pair=(first, second)")
        check_pair(pair, "secret", first.secrets)
        having = [laws for laws in first.adversaries if pair[0] in laws and pair[1] in laws]
        if len(having) != 1:
            raise UsageError(f"{len(having)} adversaries have laws for both secrets; give the two laws themselves")
        return having[0][pair[0]], having[0][pair[1]]
    if pair is not None:
        raise UsageError("pair= names two secrets of a Scenario; here the two hypotheses are given themselves")
    both: tuple[Any, Any] = (first, second)
    if second is None and isinstance(first, LawPair):
        both = (first.p, first.q)
    elif second is None and is_row(first) and len(first) == 2:
        both = (first[0], first[1])
    both = as_law(both[0]), as_law(both[1])
    for given in both:
        if not isinstance(given, Law) and not callable(given):
            raise UsageError(
                "an attack tells two hypotheses apart: give two laws or two samplers (functions of a generator), "
                f"or a Scenario and pair=; got {type(given).__name__}"
            )
    return both


def check_pair(pair: Sequence[str], what: str, known: Sequence[str], such: str = "") -> None:
    """Refuse what does not name two different secrets, or shares, that are known."""
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise UsageError(f"pair= takes the names of two different {what}s{such}, got {pair!r}")
    for name in pair:
        if name not in known:
            raise UnknownName(what, str(name), known)


def draw(source: Hypothesis, count: int, rng: np.random.Generator) -> Floats:
    """`count` independent draws, one per data set: (count,) numbers or (count, d) vectors.

    A sampler is called as sampler(rng) for one draw, a number or a vector (or a table, one draw a row); if it needs
    two arguments, as sampler(rng, count) for all. A `Shifted` law is taken as a point, its worst case."""
    if isinstance(source, Shifted):
        return _rows(np.tile([float(x) for x in source.exact], (count, 1)), count)
    if isinstance(source, MultivariateNormal):
        return normal_draws(source, count, rng)
    if isinstance(source, Law):
        law = source if isinstance(source, Discrete) else source.components()
        which = rng.choice(len(law.weights), size=count, p=law.weights / law.weights.sum())
        if isinstance(law, Discrete):
            return np.asarray(law.values[which])
        return np.asarray(law.means[which] + law.stds[which] * rng.standard_normal(count))
    try:
        named = list(inspect.signature(source).parameters.values())
    except (TypeError, ValueError):
        named = []
    if sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in named) > 1:
        return _rows(source(rng, count), count)
    parts: list[Floats] = []
    while sum(map(len, parts)) < count:
        one = np.asarray(source(rng), dtype=np.float64)
        parts.append(one if one.ndim == 2 else one[None])
        if parts[0].shape[1:] != parts[-1].shape[1:] or not parts[-1].size:
            raise UsageError("a sampler must return the same number of statistics, at least one, at every call")
    return _rows(np.concatenate(parts)[:count], count)


def generator_of(rng: object) -> np.random.Generator:
    """The generator that is given, or a fresh one for None."""
    if rng is None:
        return np.random.Generator(np.random.PCG64())
    if not isinstance(rng, np.random.Generator):
        raise UsageError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")
    return rng


def protect(mechanism: Protection, values: Floats, rng: np.random.Generator) -> Floats:
    """Outputs for each row, independent of each other: a coin or a step over the whole column is run row by row."""
    if mechanism is None:
        return values
    if not isinstance(mechanism, Mechanism):
        return _rows(mechanism(values.copy(), rng), len(values))
    if mechanism.noise.halves or mechanism.post:
        each = [np.asarray(mechanism.simulate(value, rng).values, dtype=np.float64).ravel() for value in values]
        if len({one.shape for one in each}) != 1:
            raise UsageError("what follows the mechanism returns outputs of varying length; attack it without that")
        return _rows(np.stack(each), len(values))
    return _rows(mechanism.simulate(values, rng).values, len(values))


def normal_draws(law: MultivariateNormal, count: int, rng: np.random.Generator) -> Floats:
    """mean + root z, in doubles."""
    values, vectors = np.linalg.eigh(law.cov_array)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(law.mean_array + rng.standard_normal((count, law.dimension)) @ root.T)


def _rows(values: Any, count: int) -> Floats:
    """Finite numbers, one row a draw; vectors of one number are numbers."""
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("samplers and mechanisms must return numbers, one row per data set") from None
    if rows.ndim not in (1, 2) or len(rows) != count or rows.size == 0:
        raise UsageError(f"expected {count} numbers, or {count} rows of numbers, got shape {rows.shape}")
    if not np.all(np.isfinite(rows)):
        raise UsageError("samplers and mechanisms must return finite numbers, found NaN or infinity")
    return rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows


Score = Callable[[Floats], Floats]
_MOST_VALUES = 200
_CLIP = 700.0


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


def likelihood_ratio(x1: Floats, x0: Floats, known: Score | None) -> tuple[Score, str]:
    """ln p1/p0 of the outputs: the exact ratio where it is `known`, else counts, else fitted normals.

    The best test at every level is a threshold of the true ratio (Neyman and Pearson 1933)."""
    if known is not None:
        return known, "exact laws"
    if x1.ndim == 1:
        seen = np.unique(np.concatenate([x1, x0]))
        if len(seen) <= min(_MOST_VALUES, len(x1) // 10):
            counts = (np.bincount(np.searchsorted(seen, x), minlength=len(seen)) for x in (x1, x0))
            one, other = (np.log(count + 0.5) for count in counts)  # a value never seen says nothing

            def score(x: Floats) -> Floats:
                at = np.minimum(np.searchsorted(seen, x), len(seen) - 1)
                return np.where(seen[at] == x, (one - other)[at], 0.0)

            return score, f"counts of {len(seen)} values"
    return _normal(x1, x0), "fitted normal laws"


def decoder(
    x1: Floats, x0: Floats, directions: ArrayLike, steps: ArrayLike, bounds: ArrayLike | None, clean: Sequence[Floats]
) -> tuple[Score, str]:
    """The lattice decoder, then the ratio of normal laws fitted on the decoded statistics; no guess where it fails.

    Bounds that are not given are the range of the clean draws, and half of it more at both ends."""
    if bounds is None:
        low, high = (np.atleast_1d(end(np.concatenate(clean), axis=0)) for end in (np.min, np.max))
        bounds = np.stack([low - (high - low) / 2, high + (high - low) / 2], axis=1)
    read1, read0 = (decode(x, directions, steps, bounds) for x in (x1, x0))
    found1, found0 = read1.values[read1.decoded], read0.values[read0.decoded]
    share = (read1.share * len(x1) + read0.share * len(x0)) / (len(x1) + len(x0))
    note = f"{share:.1%} of the shadow outputs decoded"
    if min(len(found1), len(found0)) < 10:
        return lambda x: np.zeros(len(x)), note
    inner = _normal(found1, found0)

    def score(x: Floats) -> Floats:
        read = decode(x, directions, steps, bounds)
        return np.where(read.decoded, inner(read.values), 0.0)

    return score, note


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
    return lambda x: np.clip(p(x) - q(x), -_CLIP, _CLIP)


def _table(x: Floats) -> NDArray[np.float64]:
    return x[:, None] if x.ndim == 1 else x


# The lattice decoder: noise that leaves out a direction hides nothing of statistics that lie on a lattice.
#
# Outputs z = F + Y V, the noise Y V in the span of r < d known directions (the rows of V), each coordinate of F a
# multiple of a known step within known bounds: counts, means of whole numbers over n records. For V in general position
# two lattice points never differ by a vector of the span, so z determines F: run through the values of r coordinates,
# solve for Y, and keep the candidate whose other coordinates lie on the lattice.


LARGEST = 5_000_000
"""Candidates tried for one output at most."""
_DECODED_BLOCK = 500_000
_WORST_CONDITION = 1e6
_FACTOR = 100.0


@dataclass(frozen=True, eq=False)
class Decoded:
    """The nearest candidates, one per row, with how far each is from the lattice (in steps), and the next best one."""

    values: Floats
    residual: Floats
    runner_up: Floats
    decoded: NDArray[np.bool_]
    """Whether the candidate lies on the lattice within the tolerance and no other comes near it."""

    def __post_init__(self) -> None:
        for name in ("values", "residual", "runner_up", "decoded"):
            object.__setattr__(self, name, fixed(getattr(self, name)))

    @property
    def share(self) -> float:
        """The share of outputs that were decoded."""
        return float(self.decoded.mean())

    @property
    def gap(self) -> float:
        """The least distance of a runner-up among the decoded outputs, in steps; 0 if there are none."""
        return float(self.runner_up[self.decoded].min()) if self.decoded.any() else 0.0

    def __repr__(self) -> str:
        return f"Decoded({int(self.decoded.sum())} of {len(self.values)} outputs, runner-up {self.gap:.2g} steps off)"


def decode(
    outputs: ArrayLike, directions: ArrayLike, steps: ArrayLike, bounds: ArrayLike, tolerance: float = 1e-6
) -> Decoded:
    """What is left when noise along few lines alone is removed: the lattice vectors F behind outputs F + Y V; rows of
    noise of full rank are not decoded.

    Parameters: `outputs`, (n, d); `directions`, (r, d) with r < d, the rows of V; `steps`, the lattice step of each
    statistic; `bounds`, (d, 2), the least and the largest value of each. An output counts as decoded if all coordinates
    that were not enumerated lie within `tolerance` steps of the lattice, and the next candidate is 100 times as far.

    Returns a `Decoded`, one row per output. Raises `UsageError` where the shapes do not fit or there are too many
    candidates.

    >>> v = np.array([0.61, 0.65, 0.4532])
    >>> F = np.array([[3.25, 40.0, 7.0]])
    >>> found = decode(F + 12.3456789 * v, v, [0.01, 1, 1], [[0, 10], [0, 100], [0, 100]])
    >>> found.values.round(9), found.share
    (array([[ 3.25, 40.  ,  7.  ]]), 1.0)
    """
    z, V, step, low, high = _checked(outputs, directions, steps, bounds, tolerance)
    choices = []  # r coordinates that determine the noise in a stable way, those with the fewest candidates first
    for chosen in combinations(range(V.shape[1]), V.shape[0]):
        if (condition := float(np.linalg.cond(V[:, chosen]))) < _WORST_CONDITION:
            choices.append((float(np.prod((high - low + 1)[list(chosen)])), condition, list(chosen)))
    if not choices:
        raise UsageError("the directions are not independent in a stable way; give a basis of the span of the noise")
    many, _, picked = min(choices)
    if many > LARGEST:
        raise UsageError(f"{many:.3g} candidates for one output are too many (at most {LARGEST}); give tighter bounds")
    rest = [j for j in range(z.shape[1]) if j not in picked]
    shares: Floats = np.asarray(np.linalg.solve(V[:, picked], V[:, rest]), dtype=np.float64)
    # F_rest = z_rest - (z_picked - F_picked) V_picked^-1 V_rest
    counts = [int(high[j] - low[j]) + 1 for j in picked]
    size = int(np.prod(counts))
    best, second = np.full(len(z), np.inf), np.full(len(z), np.inf)
    values = np.zeros_like(z)
    rows = max(1, min(len(z), _DECODED_BLOCK // size))
    for start in range(0, len(z), rows):
        part = slice(start, start + rows)
        for first in range(0, size, _DECODED_BLOCK):
            index = np.arange(first, min(size, first + _DECODED_BLOCK))
            tried = np.stack(np.unravel_index(index, counts), axis=1) + low[picked]
            moved = z[part][:, None, picked] - (tried * step[picked])[None]
            others = (z[part][:, None, rest] - moved @ shares) / step[rest]
            whole = np.clip(np.rint(others), low[rest], high[rest])
            far = np.abs(others - whole).max(axis=2)  # a value out of bounds is as far as the nearest bound
            lines, nearest = np.arange(len(far)), far.argmin(axis=1)
            distance = far[lines, nearest]
            far[lines, nearest] = np.inf
            won = distance < best[part]
            second[part] = np.where(won, np.minimum(best[part], far.min(axis=1)), np.minimum(second[part], distance))
            best[part][won] = distance[won]
            at = nearest[won]
            values[part][np.ix_(won, picked)] = tried[at] * step[picked]
            values[part][np.ix_(won, rest)] = whole[lines[won], at] * step[rest]
    lone = second > _FACTOR * np.maximum(best, tolerance)
    return Decoded(values, best, second, (best <= tolerance) & lone)


def _checked(outputs: Any, directions: Any, steps: Any, bounds: Any, tolerance: float) -> tuple[Floats, ...]:
    z, V = np.atleast_2d(np.asarray(outputs, dtype=np.float64)), np.atleast_2d(np.asarray(directions, dtype=np.float64))
    d = z.shape[1]
    step, ends = np.asarray(steps, dtype=np.float64), np.asarray(bounds, dtype=np.float64)
    if z.ndim != 2 or V.ndim != 2 or V.shape[1] != d or step.shape != (d,) or ends.shape != (d, 2):
        raise UsageError(
            f"for outputs of {d} statistics give directions of {d} coordinates, {d} steps and {d} rows of bounds; "
            f"got shapes {V.shape}, {step.shape} and {ends.shape}"
        )
    if V.shape[0] >= d:
        raise UsageError(f"noise along {V.shape[0]} directions of {d} leaves nothing out; fewer are needed to decode")
    if not all(np.all(np.isfinite(a)) for a in (z, V, step, ends)) or np.any(step <= 0) or not 0 < tolerance < 0.5:
        raise UsageError("outputs, directions and bounds must be finite, steps positive, the tolerance below 1/2")
    low, high = np.ceil(ends[:, 0] / step - 1e-9), np.floor(ends[:, 1] / step + 1e-9)
    if np.any(low > high):
        raise UsageError("no multiple of the step lies within the bounds of some statistic")
    return z, V, step, low, high
