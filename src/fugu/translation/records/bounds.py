"""Guarantees for each record, translated with all laws of a belief: the worst adversary, pair and order counts.

And what a proof of a price of several charges proves, in balls, from the laws and the charges alone:

| how       | what it says                                                                                    |
|-----------|-------------------------------------------------------------------------------------------------|
| sum       | nothing about the laws: the per-record epsilons add                                             |
| threshold | all charges as one that moves with any change: log (1 + (a-1) p(S)) / (1 + (a-1) q(S)), largest |
| monotone  | one line, p/q monotone along it: log E_p e^(r f) / E_q e^(r f), exactly                         |
| plan      | weights on pairs of states: the largest sum over x of e^Lam(x, y) pi(x, y) / q(y)               |

Whoever found the plan is not believed: its rows are normalised here, and whatever arrives is summed in balls.

Proofs: docs/proofs/metric-charges.md#a-plan-is-a-proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import CertificateError, NotProvable, UsageError
from fugu.guarantee.asks import exact, outward
from fugu.guarantee.kinds import Approx
from fugu.laws.cells import Counts
from fugu.loss.cells import Ratios, as_meant, hockey_stick, largest, worth
from fugu.numbers import balls
from fugu.numbers.exact import Real, meant_up
from fugu.priors.records import RecordLaw
from fugu.translation.records.problem import PAIRS, Ints, PricingProblem, Rate, RecordCharge, States
from fugu.visible import Json, brief

# Of a record without a law a release says at most its epsilon for each entry, unreduced.
#
# Proofs: docs/proofs/records.md#compose-first, docs/proofs/records.md#epsilon-and-delta.

Laws = Iterable[RecordLaw]
_LARGEST = 74.0
"""Above the logarithm of every finite ratio of two laws."""
_TURNS = 60


def pure(laws: Laws, epsilon0: Real) -> float:
    """max of T(epsilon0; p, q) over the laws; epsilon0 itself where no law is known."""
    own = exact(epsilon0)
    most = math.inf if math.isinf(epsilon0) else as_meant(own, outward(own))
    return _over(laws, 0.0, most, lambda x: (x, limit(x, most)), lambda p, q, x: max(x, worth(p, q, epsilon0)))


def _over(laws: Laws, found: float, plain: float, known: Known, proved: Proved) -> float:
    """`found` once every law is settled; `plain` where no law is known of some records."""
    for law in laws:
        if law.plain:
            return plain
        found = settled(law, found, known, proved)
    return found


def budget(laws: Laws, epsilon: Real) -> float:
    """The largest epsilon0 that is worth at most epsilon, rounded down; inf if the columns may go out as they are."""
    wanted = exact(epsilon)
    least = as_meant(wanted, -outward(-wanted))
    known, less = lambda x: (least, limit(least, x)), lambda p, q, x: min(x, largest(p, q, epsilon))
    return _over(laws, math.inf, least, known, less)


def share(laws: Laws, epsilon: Real) -> float:
    """max of the hockey stick at epsilon: which part of a delta for each record is left; all of it without a law."""
    near = -outward(-exact(epsilon))
    return _over(laws, 0.0, 1.0, lambda x: (near, x), lambda p, q, x: max(x, hockey_stick(p, q, epsilon)))


def approx(laws: tuple[RecordLaw, ...], dp: Approx, most: Real | None = None) -> Approx:
    """(T(epsilon0), E delta0) with E the hockey stick at T; or the least epsilon from there on with E delta0 <= most.

    HS falls with epsilon, and at every epsilon >= T(epsilon0) the pair (epsilon, E delta0) is proved."""
    epsilon, own = pure(laws, dp.epsilon), exact(dp.delta)
    left = _part(laws, epsilon, own)
    if most is None or exact(left) <= exact(most):
        return Approx(epsilon, left)
    low, high = epsilon, _LARGEST
    if high <= low or exact(_part(laws, high, own)) > exact(most):
        raise NotProvable(
            f"no epsilon keeps delta at most {float(most):g}: some values of a record are possible under one secret "
            "only, or no law is known for some records; use a smaller delta for each record"
        )
    for _ in range(_TURNS):
        middle = low + (high - low) / 2
        if exact(_part(laws, middle, own)) <= exact(most):
            high = middle
        else:
            low = middle
    return Approx(high, _part(laws, high, own))


def _part(laws: Laws, epsilon: float, delta0: Fraction) -> float:
    """E delta0, rounded up, never above delta0."""
    left = min(exact(share(laws, epsilon)) * delta0, delta0)
    return as_meant(left, outward(left))


def renyi(laws: Laws, alpha: Fraction, rho: float) -> float:
    """The largest Rényi divergence over the laws, for a release of divergence at most rho for each record."""
    found = 0.0
    for law in laws:
        if law.plain:
            return rho
        found = max(found, *(divergence(p, q, alpha, rho) for _, _, p, q in law.pairs()), 0.0)
    return found


# Rényi divergences for each record against one record's secret: a plan that moves mass from law to law.
#
# If D_a(K_x || K_x') <= rho for all values x, x' of a record, then for every plan pi >= 0 with row sums p
#
#     e^((a - 1) D_a(pK || qK)) <= sum over x' of q(x')^(1 - a) (sum over x of pi(x, x') w(x, x'))^a,
#
# with w = e^((a - 1) rho / a) for x != x' and 1 for x = x'. The best plan levels the ratio r = p / q: it takes mass
# away wherever r is above some l1, and brings it wherever r is below l0 = l1 e^(-rho / a), so that the bound is sum q
# clip(r, l0, l1)^a. Any l0, l1 with w sum (p - l1 q)+ <= sum (l0 q - p)+ are a proof; they are searched in doubles and
# checked in balls.
#
# Proofs: docs/proofs/records.md#renyi.

_BITS = 160
_LARGE = 300.0
_FILLED = 1 + 1e-12
"""How much more mass is brought than is taken, so that the check in balls holds; it costs as much of the bound."""


def divergence(p: Counts, q: Counts, alpha: Fraction, rho: float) -> float:
    """A bound on D_alpha(pK || qK), rounded up, never above rho; one order of the secrets.

    Parameters: `p`, `q` are laws as whole numbers on the same states; `alpha` is a number above 1; `rho` bounds the
    divergence of the release at that order when one record is replaced.

    >>> import numpy as np
    >>> round(divergence(np.array([7, 3]), np.array([4, 6]), Fraction(2), 0.64), 8)
    0.16209675
    """
    if rho == 0:
        return 0.0
    ratios = Ratios(p, q)
    with balls.precision(_BITS):
        kept = _value(ratios, 0.0, None, alpha)
        if rho < _LARGE:
            low = ratios.level(float(alpha), rho) * _FILLED
            high = low * math.exp(rho / float(alpha))
            if balanced(ratios, low, high, alpha, rho):
                kept = min(kept, _value(ratios, low, high, alpha))
        return min(rho, kept)


def _value(ratios: Ratios, low: float, high: float | None, alpha: Fraction) -> float:
    """log (sum of q clip(r, low, high)^alpha) / (alpha - 1), from above; without `high` nothing is taken away."""
    beyond, between, below = ratios.cut(low, math.inf if high is None else high)
    if high is None and beyond != 0:
        return math.inf
    order, least = balls.of(alpha), arb(low)
    total = arb(beyond) * arb(high or 0.0) ** order + arb(below) * least**order
    for ratio, mass in between:
        total += arb(mass) * arb(ratio).max(least) ** order
    return max(0.0, meant_up(balls.upper(total.log() / (order - 1))))


def balanced(ratios: Ratios, low: float, high: float, alpha: Fraction, rho: float) -> bool:
    """Whether the plan that cuts p / q at `high` and fills it up to `low` brings all that it takes, proved.

    w sum (p - high q)+ <= sum (low q - p)+, with w = e^((alpha - 1) rho / alpha)."""
    order = balls.of(alpha)
    weight = ((order - 1) * arb(rho) / order).exp()
    taken, _ = ratios.stick(arb(high) - 1)
    _, spare = ratios.stick(arb(low) - 1)
    return bool(weight * taken <= spare + arb(low) - 1)


# Which pairs of secrets can be the worst at all: hockey sticks of all pairs of a law at once, from above, in doubles.
#
# A thousand secrets are a million ordered pairs, and ten thousand groups are as many laws. Almost all of them are
# proved to be milder than the worst pair known so far by a sum in doubles with a bound on its error; only the others
# are proved one by one. T(epsilon0; p, q) <= epsilon iff HS_epsilon(p || q) <= (e^epsilon - 1) / (e^epsilon0 - 1)
# (docs/proofs/records.md#the-inverse).

Known = Callable[[float], tuple[float, float]]
"""What is known so far -> (epsilon, h): a pair whose hockey stick at epsilon is at most h changes nothing."""
Proved = Callable[[Counts, Counts, float], float]
"""What is known once a pair of laws is proved, too."""
_SAFE = 1e-12
"""Far more than the relative error of two exponentials and a quotient."""
_LARGEST_EXPONENT = 700.0


def limit(epsilon: float, epsilon0: float) -> float:
    """(e^epsilon - 1) / (e^epsilon0 - 1), from below; 0 where that is beyond doubles."""
    if not 0 < epsilon0 <= _LARGEST_EXPONENT:
        return 0.0
    return math.expm1(min(epsilon, _LARGEST_EXPONENT)) / math.expm1(epsilon0) * (1 - _SAFE)


def settled(law: RecordLaw, found: float, known: Known, proved: Proved) -> float:
    """`found` once every ordered pair of a law is proved, or known to change nothing; the most suspect go first."""
    secrets = list(law.given.values())
    rows = np.array(secrets, dtype=np.float64)
    shares = rows / rows.sum(axis=1, keepdims=True)
    done = np.eye(len(secrets), dtype=bool)
    while (pair := suspect(shares, done, *known(found))) is not None:
        done[pair] = True
        found = proved(secrets[pair[0]], secrets[pair[1]], found)
    return found


def suspect(
    shares: NDArray[np.float64], done: NDArray[np.bool_], epsilon: float, most: float
) -> tuple[int, int] | None:
    """The pair with the largest hockey stick at epsilon among those not done; None if all of these are at most `most`.

    A share, e^epsilon (whose exponent may be half a unit off) and their product are within 4 + epsilon roundings, the
    sum of k terms within k roundings of the sum of their sizes: the error is at most (k + 2 epsilon + 8) 2^-52
    (1 + e^epsilon)."""
    near = min(epsilon, _LARGEST_EXPONENT)
    factor = math.exp(near)
    error = (shares.shape[1] + 2 * near + 8) * 2.0**-52 * (1 + factor)
    worst, found = most, None
    for s, row in enumerate(shares):
        sticks = np.maximum(row - factor * shares, 0).sum(axis=1) + error
        sticks[done[s]] = -math.inf
        t = int(np.argmax(sticks))
        if sticks[t] > worst:
            worst, found = float(sticks[t]), (s, t)
    return found


_PLAN_BITS = 128
_LEAST, _MOST = 1e-280, 1e280
"""Weights that are normalised without a thought."""


def check(states: States, p: Ints, q: Ints, charges: Sequence[RecordCharge], proof: Json) -> float:
    """The epsilon that a proof alone proves for p against q: P(E | s) <= e^epsilon P(E | t) for every event E.

    Parameters:
        states: the value of each feature at each state.
        p: whole-number counts of the states given s.
        q: the same given t.
        charges: everything that was released.
        proof: what `price` returned, or anything else; CertificateError if it, or what stands above, proves nothing.
    """
    try:
        problem = PricingProblem.of(states, p, q, charges)
    except UsageError as error:
        raise CertificateError(f"laws or charges that prove nothing: {error}") from None
    return checked(problem, proof)


def checked(problem: PricingProblem, proof: Json) -> float:
    """`check` for states that are merged already."""
    how = proof.get("how") if isinstance(proof, dict) else None
    if how not in ("sum", "threshold", "monotone", "plan") or set(proof) != {"how", *(["plan"] * (how == "plan"))}:
        raise CertificateError(f"{brief(proof)} is not a proof of a price")
    with balls.precision(_PLAN_BITS):
        if how == "plan":
            found = _plan(problem, proof)
        elif how == "monotone":
            found = _monotone(problem)
        elif how == "threshold":  # T of the scalar translation at the widest distance between two states
            found = 0.0 if problem.equal else worth(problem.p, problem.q, problem.widest)
        else:
            found = math.inf
    if not math.isfinite(found):
        return said(problem.own)
    return said(min(max(Fraction(found), Fraction(0)) + problem.apart, problem.own))


def said(x: Fraction) -> float:
    """The float that means x (0.3 means 3/10), if there is one; else one at or above x, as it is and as it is meant."""
    return as_meant(x, outward(x))


def _monotone(problem: PricingProblem) -> float:
    """log E_p e^(rf) / E_q e^(rf) with r > 0 if p/q rises along f, r < 0 if it falls."""
    if len(problem.charges) != 1 or not isinstance(line := problem.charges[0], Rate):
        raise CertificateError("a monotone ratio is proved along one line, and the charges are not one line")
    if (direction := problem.direction) is None:
        raise CertificateError("the ratio of the two laws does not rise or fall all along the line")
    codes = problem.codes[0]
    rate, top = (line.rate, int(codes.max())) if direction >= 0 else (-line.rate, int(codes.min()))
    grown = [balls.of(rate * (int(v) - top)).exp() for v in codes]
    above, below = (
        sum((g * n for g, n in zip(grown, law.tolist(), strict=True)), arb(0)) / int(law.sum())
        for law in (problem.p, problem.q)
    )
    return balls.upper((above / below).log())


def _plan(problem: PricingProblem, proof: Json) -> float:
    i, j, weight = _read(problem, proof["plan"])
    steps, where = np.unique(problem.steps(i, j), axis=1, return_inverse=True)
    powers = []
    for charge, row in zip(problem.charges, steps, strict=True):
        known = {d: balls.of(charge.unit * d).exp() for d in np.unique(row).tolist()}
        powers.append([known[d] for d in row.tolist()])
    grown = [math.prod(column, start=arb(1)) for column in zip(*powers, strict=True)] or [arb(1)]
    rows, masses = [arb(0)] * problem.size, problem.p.tolist()
    parts = [arb(w) for w in weight]
    for x, part in zip(i.tolist(), parts, strict=True):
        rows[x] = rows[x] + part
    share = [arb(n) / total if n else None for n, total in zip(masses, rows, strict=True)]
    arrived = [arb(0)] * problem.size
    for x, y, g, part in zip(i.tolist(), j.tolist(), where.ravel().tolist(), parts, strict=True):
        arrived[y] = arrived[y] + share[x] * part * grown[g]
    scale = arb(int(problem.q.sum())) / int(problem.p.sum())
    most = max((balls.upper(a / n) for a, n in zip(arrived, problem.q.tolist(), strict=True) if n), default=math.inf)
    return balls.upper((arb(most) * scale).log()) if math.isfinite(most) else math.inf


def _read(problem: PricingProblem, plan: Any) -> tuple[Ints, Ints, list[float]]:
    """Pairs and weights, each pair once, from states that s has to states that t has, and a row wherever s has mass."""
    size = problem.size
    if not isinstance(plan, list) or len(plan) > PAIRS * size:
        raise CertificateError("the plan is not a list of [state, state, weight], or a longer one than any plan needs")
    i, j = np.zeros((2, len(plan)), dtype=np.int64)
    weights: list[float] = []
    for place, entry in enumerate(plan):
        if not isinstance(entry, list) or len(entry) != 3:
            raise CertificateError("the plan has an entry that is not [state, state, weight]")
        x, y, weight = entry
        if type(x) is not int or type(y) is not int or not (0 <= x < size and 0 <= y < size):
            raise CertificateError("the plan names a state that there is not")
        if type(weight) not in (int, float) or not _LEAST <= weight <= _MOST:
            raise CertificateError("the plan has a weight that is not a positive number")
        i[place], j[place] = x, y
        weights.append(float(weight))
    if np.unique(i * size + j).size < i.size:
        raise CertificateError("the plan names a pair of states twice")
    if not problem.p[i].all() or not problem.q[j].all():
        raise CertificateError("the plan moves mass that is not there, or to where the other law has none")
    if not np.isin(np.flatnonzero(problem.p), i).all():
        raise CertificateError("the plan leaves out a state that has mass")
    return i, j, weights
