"""`attack`: how well can somebody guess which of two hypotheses is true, beside what the mechanism promises?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fugu.auditing.bounds import accuracy_implies, error_of, implied_epsilon
from fugu.auditing.contest import exact_score
from fugu.auditing.guessers import (
    Hypothesis,
    Protection,
    Score,
    check_pair,
    decoder,
    draw,
    generator_of,
    hypotheses,
    likelihood_ratio,
    logistic,
    protect,
)
from fugu.auditing.outcome import AttackReport, Attempt
from fugu.errors import UnknownName, UsageError
from fugu.guarantee import Guarantee
from fugu.guarantee.asks import exact, outward
from fugu.laws.pair import LawPair
from fugu.laws.sets.levels import clopper_pearson
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.kind import Floats
from fugu.noise.matrix import CorrelatedGaussian
from fugu.numbers.checks import is_count
from fugu.numbers.exact import Real
from fugu.scenario.property import PropertyModel
from fugu.scenario.scenario import Scenario
from fugu.scenario.swap import model_of

# Guessers are trained on PROTECTED shadow outputs: a guesser trained on clean statistics understates the leakage (this
# is how Table 4 of the paper on distribution privacy came about). The attack proves a lower bound on epsilon at a
# stated confidence; a low bound never proves privacy. All draws come from a seeded generator: experiments only, nothing
# is released and nothing is spent.


AttackName = Literal["logistic", "likelihood-ratio", "decoder"]
ATTACKS: tuple[AttackName, ...] = ("logistic", "likelihood-ratio", "decoder")
_CLEAN = "clean"
_LEAST = 100
_THRESHOLDS = 400


def attack(
    mechanism: Protection,
    first: Scenario | LawPair | Hypothesis | Sequence[Hypothesis],
    second: Hypothesis | None = None,
    *,
    pair: Sequence[str] | None = None,
    attacks: Literal["all"] | AttackName | Iterable[AttackName] = "all",
    directions: ArrayLike | None = None,
    steps: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    shadow: int = 2000,
    test: int = 2000,
    confidence: Real = 0.99,
    delta: Real | None = None,
    guarantee: Guarantee | None = None,
    shadows: Literal["protected", "clean"] = "protected",
    rng: np.random.Generator | None = None,
) -> AttackReport:
    """Train guessers on `shadow` outputs of each hypothesis, then try them on `test` outputs with fair random labels.

    Parameters:

    - `mechanism`: a `Mechanism` (its `simulate` runs, never `release`), a function (values, rng) -> outputs that treats
      the rows independently, or None: what is published unprotected.
    - `first`, `second`: two laws, or two samplers rng -> one draw; or one `LawPair`; or a `Scenario`, with `pair`
      naming two of its secrets if it has more than two.
    - `attacks`: "all", or some of "logistic", "likelihood-ratio" and "decoder". The decoder needs the `directions` of
      rank-deficient noise and the lattice `steps` of the statistics; `bounds`, (d, 2), is the range of each, by default
      what the clean shadows show, widened.
    - `shadow`, `test`: how many outputs, at least 100 of each.
    - `confidence`: in (0, 1). Thresholds are chosen on the shadows only, and 1 - confidence is divided by all
      statements made (Bonferroni): an interval and a bound for each attack.
    - `delta`: at which the lower bound on epsilon is stated; None: that of the guarantee.
    - `guarantee`: what a function claims, as it has none of its own. That of a mechanism speaks of the pairs it was
      calibrated for.
    - `shadows`: "protected", or "clean" to train on unprotected draws and show what that understates.
    - `rng`: a `numpy.random.Generator`; None makes one.

    Returns an `AttackReport`. Raises `UsageError` and `UnknownName` for other arguments.

    >>> import fugu
    >>> p, q = fugu.Discrete([0]), fugu.Discrete([1])
    >>> m = fugu.calibrate(fugu.LawPair(p, q), fugu.Pure(1))
    >>> report = attack(m, p, q, rng=np.random.default_rng(1))
    >>> report.consistent, 0.5 < report.epsilon_lower <= 1, report.guarantee
    (True, True, Pure(epsilon=1))
    """
    laws = hypotheses(first, second, pair)
    promised = guarantee
    if isinstance(mechanism, Mechanism):
        if guarantee is not None:
            raise UsageError("a mechanism brings its own guarantee; guarantee= is for functions")
        promised = mechanism.guarantee
    elif mechanism is not None and not callable(mechanism):
        raise UsageError(f"expected a Mechanism, a function (values, rng) or None, got {type(mechanism).__name__}")
    at = delta
    if at is None and promised is not None and not promised.pure:  # Rényi implies something only above its own delta
        at = outward(exact(promised.delta) + Fraction(1, 1000)) if promised.renyi else promised.delta
    at = at or 0.0
    for name, size in (("shadow", shadow), ("test", test)):
        if not is_count(size, _LEAST):
            raise UsageError(f"{name} must be a whole number of at least {_LEAST}, got {size!r}")
    rng = generator_of(rng)
    names = _names(attacks, directions, steps, shadows)
    level = error_of(confidence) / (2 * len(names))
    clean = draw(laws[0], shadow, rng), draw(laws[1], shadow, rng)
    if clean[0].shape != clean[1].shape:
        one, other = (1 if values.ndim == 1 else values.shape[1] for values in clean)
        raise UsageError(f"the hypotheses give {one} and {other} statistics; they must agree")
    unprotected = shadows == _CLEAN
    train = clean if unprotected else (protect(mechanism, clean[0], rng), protect(mechanism, clean[1], rng))
    right = int(rng.binomial(test, 0.5))
    fresh = [protect(mechanism, draw(law, n, rng), rng) for law, n in zip(laws, (right, test - right), strict=True)]
    if len({x.shape[1:] for x in (*train, *fresh)}) != 1:
        raise UsageError("the outputs under the two hypotheses have different dimensions; they must agree")
    attempts = []
    for name in names:
        if name == "logistic":
            score, note = logistic(*train)
        elif name == "decoder":
            score, note = decoder(*train, directions, steps, bounds, clean)  # type: ignore[arg-type]
        else:
            score, note = likelihood_ratio(*train, None if unprotected else exact_score(laws, mechanism))
        attempts.append(_attempt(name, note, score, train, fresh, level, at))
    known_epsilon = None if promised is None else promised.to_approx(at).epsilon
    return AttackReport(tuple(attempts), promised, known_epsilon, at, confidence, shadow, test)


def _attempt(
    name: str, note: str, score: Score, train: Sequence[Floats], fresh: Sequence[Floats], level: Fraction, delta: Real
) -> Attempt:
    """Fix two thresholds on the training scores, that of most right guesses and that of the largest bound on epsilon
    there; then count guesses on fresh ones."""
    from scipy.special import betainccinv, betaincinv

    s1, s0, t1, t0 = (score(outputs) for outputs in (*train, *fresh))
    n1, n0, alpha, least = len(t1), len(t0), float(level), float(delta)
    seen = np.unique(np.concatenate([s1, s0, [0.0]]))
    if len(seen) > _THRESHOLDS:
        ends = np.linspace(0, len(seen) - 1, _THRESHOLDS).astype(np.int64)
        seen = np.unique(np.concatenate([seen[ends], [0.0]]))
    above = [1 - np.searchsorted(np.sort(s), seen, side="right") / len(s) for s in (s1, s0)]
    m1, m0 = min(n1, len(s1)), min(n0, len(s0))  # rare events seen in few shadows are no safer with many tests
    k1, k0 = m1 * above[0], m0 * above[1]
    low = np.where(k1 > 0, betaincinv(np.maximum(k1, 1e-9), m1 - k1 + 1, alpha / 2), 0.0)
    high = np.where(k0 < m0, betainccinv(k0 + 1, np.maximum(m0 - k0, 1e-9), alpha / 2), 1.0)
    bounds = np.maximum((low - least) / high, (1 - high - least) / (1 - low))
    for_accuracy, for_epsilon = float(seen[np.argmax(above[0] - above[1])]), float(seen[np.argmax(bounds)])
    correct = int(np.sum(t1 > for_accuracy)) + int(np.sum(t0 <= for_accuracy))
    interval = clopper_pearson(correct, n1 + n0, level)
    right, wrong = int(np.sum(t1 > for_epsilon)), int(np.sum(t0 > for_epsilon))
    implied = implied_epsilon(right, n1, wrong, n0, level, delta)
    lower = max(implied.epsilon, accuracy_implies(interval[0], delta))
    return Attempt(name, correct / (n1 + n0), interval, right / n1, wrong / n0, implied, lower, note)


def _names(attacks: str | Iterable[str], directions: object, steps: object, shadows: str) -> tuple[str, ...]:
    if shadows not in (known := ("protected", _CLEAN)):
        raise UnknownName("kind of shadows", shadows, known)
    if (directions is None) != (steps is None):
        raise UsageError("the decoder needs both directions= (of the noise) and steps= (of the statistics)")
    asked = (attacks,) if isinstance(attacks, str) else tuple(attacks)
    if asked == ("all",):
        asked = ATTACKS if directions is not None else ATTACKS[:2]
    for name in asked:
        if name not in ATTACKS:
            raise UnknownName("attack", name, ATTACKS)
    if "decoder" in asked and directions is None:
        raise UsageError("the decoder needs directions= (of the noise) and steps= (of the statistics)")
    if not asked:
        raise UsageError("no attack is asked for; leave attacks='all'")
    return tuple(dict.fromkeys(asked))


# `property_attack`: guess the share of records with a property from published statistics of real data sets.
#
# Both hypotheses are data sets of n records of the reference, a fixed number of them with the property, drawn as the
# model of `Scenario.from_property` says. Nothing is normal here: what a guarantee in the Gaussian model is worth for
# the statistics as they are is what this attack looks at. Where the noise leaves out a direction and the statistics lie
# on a lattice, the decoder is among the attacks.


_CELLS = 2_000_000
_CANDIDATES = 20_000
"""The decoder is tried where it has at most so many candidates for one output."""


def property_attack(
    mechanism: Protection,
    scenario: Scenario | PropertyModel,
    pair: Sequence[str] | None = None,
    *,
    attacks: Literal["all"] | AttackName | Iterable[AttackName] = "all",
    shadow: int = 1000,
    test: int = 1000,
    confidence: Real = 0.99,
    delta: Real | None = None,
    guarantee: Guarantee | None = None,
    directions: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> AttackReport:
    """`fugu.attack` on data sets drawn from the reference's own records; mechanism None: what is published unprotected.

    Parameters:

    - `mechanism`: as in `fugu.attack`; `scenario`: one made by `Scenario.from_property`, or its `property`.
    - `pair`: two shares by name ("p=0.45", "p=0.55") that must look alike; None: the two whose data sets differ in most
      records.
    - `directions`: those of a function's noise, if it leaves some out; a mechanism's own are known.
    - `attacks`, `shadow`, `test`, `confidence`, `delta`, `guarantee`, `rng`: as in `fugu.attack`.

    Returns an `AttackReport`. The guarantee is for the model's laws; these data sets follow the records themselves.

    >>> table = {"rich": ["yes", "no"] * 50, "age": [30 + i % 20 + 25 * (i % 2) for i in range(100)]}
    >>> shares = Scenario.from_property(table, ["mean(age)"], "rich=yes", size=20, tolerance=0.5)
    >>> property_attack(None, shares, shadow=200, test=400, rng=np.random.default_rng(1)).accuracy > 0.99
    True
    """
    model = model_of(scenario)
    if pair is None:
        i, j = max(model.pairs, key=lambda p: abs(model.counts[p[0]] - model.counts[p[1]]))
    else:
        check_pair(pair, "share", model.labels, f", such as {model.labels[:2]}")
        i, j = (model.labels.index(name) for name in pair)
        if (min(i, j), max(i, j)) not in model.pairs:
            raise UsageError(f"{pair[0]} and {pair[1]} differ by more than the tolerance; no guarantee is about them")
    lines = _lines(mechanism, model) if directions is None else None
    if directions is not None:
        if (steps := steps_of(model)) is None:
            raise UsageError("the decoder needs statistics of whole numbers; leave out directions=")
        lines = np.atleast_2d(directions), steps
    if attacks != "all" and "decoder" not in attacks:
        lines = None
    return attack(
        mechanism,
        drawn(model, model.counts[i]),
        drawn(model, model.counts[j]),
        attacks=attacks,
        directions=None if lines is None else lines[0],
        steps=None if lines is None else lines[1],
        shadow=shadow,
        test=test,
        confidence=confidence,
        delta=delta,
        guarantee=guarantee,
        rng=rng,
    )


def drawn(model: PropertyModel, k: int) -> Callable[[np.random.Generator, int], Floats]:
    """A sampler of the statistics of data sets with exactly k records that have the property: A (sum of n records)."""
    factors = np.array([float(a) for a in model.factors])

    def sample(rng: np.random.Generator, count: int) -> Floats:
        total = np.zeros((count, model.having.shape[1]))
        for rows, copies in ((model.having, k), (model.lacking, model.size - k)):
            block = max(1, _CELLS // (copies * rows.shape[1])) if copies and model.replacement else 1
            for start in range(0, count if copies else 0, block):
                part = total[start : start + block]
                if model.replacement:
                    part += rows[rng.integers(len(rows), size=(len(part), copies))].sum(axis=1)
                else:
                    part += rows[rng.choice(len(rows), copies, replace=False, shuffle=False)].sum(axis=0)
        return np.asarray(total * factors)

    return sample


def steps_of(model: PropertyModel) -> Floats | None:
    """The step of each statistic where every record adds a whole number: 1 for sums and counts, 1/n for means."""
    records = np.concatenate([model.having, model.lacking])
    return np.array([float(a) for a in model.factors]) if np.all(records == np.rint(records)) else None


def _lines(mechanism: Protection, model: PropertyModel) -> tuple[Floats, Floats] | None:
    """The directions of noise of deficient rank and the statistics' steps, if the decoder has a chance in time."""
    if not isinstance(mechanism, Mechanism) or mechanism.post:
        return None
    noise = mechanism.noise
    if not isinstance(noise, CorrelatedGaussian) or noise.base:
        return None
    held = [column for column, scale in zip(noise.columns, noise.scales, strict=True) if scale]
    steps = steps_of(model)
    if steps is None or not 0 < len(held) < noise.dimension:
        return None
    if any((Fraction(a) / noise.grid).denominator != 1 for a in model.factors):
        return None  # the statistics are rounded before noise is added: they do not lie on their own lattice any more
    spread = np.sqrt(np.diag(model.classes.cov(model.counts[0])))
    sizes = np.sort(1 + 20 * spread / steps)[: len(held)]
    directions = np.array(held, dtype=np.float64)
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    return (directions / lengths, steps) if np.prod(sizes) <= _CANDIDATES else None
