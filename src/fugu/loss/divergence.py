"""Proved Rényi divergences of lattice noise, pair by pair, both orders; by a coupling, or given likely events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpz

from fugu.errors import BadBudget, NotProvable
from fugu.guarantee.asks import PairLoss
from fugu.laws.components import Components
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.laws.normal import Analytic
from fugu.laws.shapes import Item
from fugu.loss.atoms import Pair, PowerSum, bare_divergences, blocks, theta, working_bits
from fugu.loss.cost import ball_log_cost, log_cost
from fugu.loss.door import pure_bounds
from fugu.loss.lattice_gaussian import check_window, convolved, prove_renyi_gaussian
from fugu.loss.leakage import require_exact
from fugu.loss.rounded import Span, _both, ball_cells
from fugu.noise import Gaussian, Laplace, LatticeNoise
from fugu.noise.lattice import Lattice
from fugu.numbers import balls
from fugu.numbers.exact import float_up
from fugu.progress import report
from fugu.transport.coupling import Coupling, close_coupling, compact, monotone
from fugu.transport.matching import closeness_index
from fugu.transport.plan import partial_plan
from fugu.transport.wasserstein import w_inf_index

LARGEST = 400_000
"""Most lattice points times laws that one proof visits."""
_NEAR = 100
"""In a gap, points within this many scales of an atom are visited from the start."""
_NOTHING = Fraction(1, 2**80)


def renyi_bounds(item: Item, noise: LatticeNoise, alpha: Fraction | float) -> list[PairLoss]:
    """For each pair a bound on D_alpha of the two noised laws, in both orders, for the lattice noise that is drawn.

    alpha = inf is the pure loss. Laws known up to an error have no finite divergence and are refused."""
    if not alpha > 1:
        raise BadBudget(f"alpha must be a number above 1 (inf allowed), got {alpha!r}")
    if isinstance(alpha, float) and math.isinf(alpha):
        return pure_bounds(item, noise, Fraction(0))
    order = Fraction(alpha)
    if isinstance(item, Analytic):
        return [PairLoss(item.label, prove_renyi_analytic(item, noise, order))]
    require_exact(item)
    with balls.precision(working_bits(order)):
        if noise.scale == 0:
            found = bare_divergences(item, order)
        elif isinstance(noise, Laplace):
            found = _laplace(item, noise.rate, order)
        else:
            found = prove_renyi_gaussian(item, noise.precision, order)
    known = {pair: value for (pair, _), value in zip(item.different, found, strict=True)}
    losses = []
    for pair, label in zip(item.pairs, item.labels, strict=True):
        value = known.get(pair, 0.0)
        if noise.scale:  # alpha W^2 g^2 / (2 s^2) or W g / b, W = W_inf in steps: settles equality, which balls cannot
            steps = w_inf_index(item.points, item.laws[pair[0]], item.laws[pair[1]])
            coupled = order * noise.precision * steps**2 if isinstance(noise, Gaussian) else noise.rate * steps
            value = min(value, float_up(coupled))
        losses.append(PairLoss(label, value, pair))
    return losses


def _laplace(family: Family, rate: Fraction, alpha: Fraction) -> list[float]:
    """c0 { sum over atoms and gaps of S_i^alpha S_j^(1-alpha) + q/(1-q) (the first atom's term + the last one's) }.

    Beyond the first and the last atom both noised laws are multiples of q^distance, so the tails are geometric.
    Inside a gap S(t) = L q^t + R q^(gap-t); the points are visited one by one, except the middle of a long gap, which
    is bounded by its number of points times the larger end: the term falls, then rises
    (docs/proofs/renyi.md#2-in-a-gap-the-terms-fall-then-rise)."""
    sums = PowerSum([pair for pair, _ in family.different], alpha)
    if not sums.pairs:
        return []
    slope, laws, powers = balls.of(rate), len(family.laws), [arb(1)]
    room = LARGEST - laws * min(len(family.points), LARGEST // (2 * laws))
    q = (-slope).exp()
    tail = q / (1 - q)

    def power(t: int) -> arb:
        """q^t."""
        if t < len(powers):
            return powers[t]
        found = (-slope * t).exp()
        if t == len(powers) and t < 100_000:
            powers.append(found)
        return found

    def inside(left: list[arb], beyond: list[arb], gap: int) -> None:
        """The points strictly between two neighbouring atoms, from both ends; `beyond` is what comes from the right,
        measured at the left atom."""
        nonlocal room
        grown = (slope * gap).exp()
        ends = (left, [b * grown for b in beyond])  # L at the left atom, R at the right one
        back = ([x / grown for x in left], beyond)  # L at the right atom, R at the left one
        done, near = 0, math.ceil(_NEAR / rate) + 1
        while True:
            near = min(near, gap // 2)
            room -= 2 * (near - done) * laws
            if room < 0:
                raise NotProvable(
                    f"the Rényi divergence of lattice Laplace noise needs more than {LARGEST:,} lattice points here; "
                    "choose a coarser grid, or bins"
                )
            edges: dict[Pair, arb] = {}
            for t in range(done + 1, near + 1):
                for side in (0,) if 2 * t == gap else (0, 1):
                    own, other = ends[side], back[1 - side]
                    terms = sums.terms([a * power(t) + b / power(t) for a, b in zip(own, other, strict=True)])
                    for order, term in terms.items():
                        sums.sums[order] += term
                        edges[order] = arb.max(edges[order], term) if t == near and order in edges else term
            middle = gap - 1 - 2 * near
            if middle <= 0:
                return
            small = balls.of(_NOTHING)
            if all(middle * edge <= small * sums.sums[order] for order, edge in edges.items()):
                for order, edge in edges.items():
                    sums.sums[order] += middle * edge
                return
            done, near = near, 2 * near

    last: dict[Pair, arb] = {}
    for _, lefts, beyonds, gaps in blocks(family, rate, "proving a Rényi divergence"):
        for k, gap in enumerate(gaps):
            left, beyond = [row[k] for row in lefts], [row[k] for row in beyonds]
            here = sums.terms([a + b for a, b in zip(left, beyond, strict=True)])
            for order, term in here.items():
                sums.sums[order] += term if last else term * (1 + tail)
            last = here
            if gap > 1:
                inside(left, beyond, gap)
    for order, term in last.items():
        sums.sums[order] += term * tail
    return sums.divergences(family, (1 - q) / (1 + q))


_PRECISION = 128


def coupling_bounds(family: Family, noise: LatticeNoise, alpha: Fraction) -> list[PairLoss]:
    """For each pair, log E exp((a-1) D_a(zeta_X, zeta_Y)) / (a-1) under the monotone coupling, rounded up.

    (JC): sum P^a Q^(1-a) is jointly convex in (P, Q), so it is at most its mean over any coupling; the noise is
    symmetric, so one number serves both orders. The points are lattice indices, the noise is on the same lattice."""
    found, grid = [], noise.grid or Fraction(1)
    for pair, label in family.different:
        plan = monotone(family.points, family.laws[pair[0]], family.laws[pair[1]])
        distances, where = np.unique(plan.distances, return_inverse=True)
        sums = plan.sums(where, len(distances)).tolist()  # cells at the same distance are joined first
        with balls.precision(_PRECISION):
            mean = arb(0)
            for k, (steps, mass) in enumerate(zip(distances.tolist(), sums, strict=True)):
                mean += arb(fmpz(mass)) * ball_log_cost(noise, alpha, steps * grid).exp()
                if k % 4096 == 0:
                    report("proving the coupling", k, len(sums))
            loss = max(0.0, balls.upper((mean / arb(fmpz(plan.total))).log() / balls.of(alpha - 1)))
        found.append(PairLoss(label, loss, pair))
    return found or [PairLoss("", 0.0)]


# Laws given likely events: leave out a share delta of the mass where it costs most.
#
# Let gamma be a sub-coupling (row sums at most p, column sums at most q) of mass 1 - d, d <= delta. Accept x with
# probability gamma(x, .) / p(x) and y with gamma(., y) / q(y): events of probability 1 - d under the two secrets, given
# which the laws are the normalised margins of gamma, and gamma itself couples them. So the divergence of the
# conditioned outputs is that of the margins, at most log(sum c gamma / (1 - d)) / (a - 1), in both orders for symmetric
# noise.


_CELLS = 40_000


def kept(family: Family, pair: tuple[int, int], noise: object, alpha: Fraction, delta: Fraction) -> Coupling:
    """A sub-coupling of mass at least 1 - delta: of least cost where the atoms are few, else of least distance.

    Its `total` is the mass it keeps, so that it couples its own normalised margins."""
    i, j = pair
    p, q = family.laws[i], family.laws[j]
    x, y = np.flatnonzero(p.parts != 0), np.flatnonzero(q.parts != 0)
    if len(x) * len(y) > _CELLS or not isinstance(noise, LatticeNoise):
        return close_coupling(family.points, p, q, closeness_index(family.points, p, q, delta))
    distances = np.abs(family.points[x][:, None] - family.points[y][None, :])
    step = float(noise.grid or 1)  # the points are lattice indices, the noise is in the unit of the values
    costs = log_cost(noise, float(alpha), distances.ravel() * step).reshape(distances.shape)
    found = partial_plan(costs, Masses(p.parts[x], p.total), Masses(q.parts[y], q.total), delta)
    rows, columns = x[found.rows], y[found.columns]
    return Coupling(rows, columns, found.masses, sum(found.masses.tolist()), distances[found.rows, found.columns])


def margins(family: Family, plan: Coupling, label: str) -> Family:
    """The two normalised margins of a sub-coupling, as a pair of laws on the family's points."""
    total, size = int(plan.masses.sum()), len(family.points)
    sums = (plan.sums(where, size) for where in (plan.rows, plan.columns))
    return Family(
        family.points, tuple(Masses(compact(each, total), Fraction(total)) for each in sums), ((0, 1),), (label,)
    )


def unmoved(family: Family, pair: tuple[int, int], delta: Fraction) -> float:
    """Without noise: nothing is lost if all but delta of the mass can stay where it is."""
    i, j = pair
    return 0.0 if closeness_index(family.points, family.laws[i], family.laws[j], delta) == 0 else math.inf


_ORDERS = ((0, 1), (1, 0))
_MOST_BITS = 1024


def prove_renyi_analytic(pair: Analytic, noise: LatticeNoise, alpha: Fraction) -> float:
    """A bound on D_alpha of the two rounded and noised laws, both orders; translates by whole steps are bounded by the
    noise's own divergence as well (alpha k^2 g^2 / 2 s^2, or k g / b), in exact rationals."""
    if pair.same:
        return 0.0
    shift = pair.shift()
    known = math.inf
    if shift is not None and shift.denominator == 1 and noise.scale > 0:
        known = float_up(alpha * noise.precision * shift**2 if isinstance(noise, Gaussian) else noise.rate * abs(shift))
    with balls.precision(working_bits(alpha) + 32):
        try:
            if noise.scale > 0 and isinstance(noise, Laplace):
                found = _smooth_laplace(pair, noise.rate, alpha)
            else:
                found = _smooth_gaussian(pair, None if noise.scale == 0 else noise.precision, alpha)  # type: ignore[union-attr]
        except NotProvable:
            if math.isinf(known):
                raise
            found = math.inf
    return min(found, known)


def _smooth_laplace(pair: Analytic, rate: Fraction, alpha: Fraction) -> float:
    """Inside the window point by point. Beyond an end where the ratio is at most rho (`prove_pure_analytic`), at most
    rho^(alpha-1) times the mass of P there, which is at most c0 q/(1-q) L + P(K beyond)."""
    q = (-balls.of(rate)).exp()
    norm, ratio, less = (1 - q) / (1 + q), q / (1 - q), balls.of(alpha - 1)
    laws = _both(pair, rate)
    sums = PowerSum([(0, 1)], alpha)
    for masses in zip(laws[0].total, laws[1].total, strict=True):
        sums.add(list(masses))
    worst = 0.0
    for i, j in _ORDERS:
        a, b = laws[i], laws[j]
        found = norm * sums.sums[i, j]
        ends = ((a.left[-1], a.cells.right, b.total[-1]), (a.right[0], a.cells.left, b.total[0]))
        for near, beyond, bottom in ends:  # P's decayed sum, its mass beyond (plain, tilted), and Q's sum
            if not bottom > 0:
                return math.inf
            rho = (near + beyond[1]) / bottom
            found += (norm * ratio * near + beyond[0]) * (less * rho.upper().log()).exp()
        worst = max(worst, balls.divergence(found, alpha))
    return worst


def _smooth_gaussian(pair: Analytic, precision: Fraction | None, alpha: Fraction) -> float:
    """Inside a window point by point; beyond it by `tail`; +inf where alpha v_q <= (alpha-1) v_p for the widest
    component of Q and some component of P, v the variances after noise: there the sum may diverge.

    Without noise (`precision` None) the cells themselves are compared."""
    assert pair.lattice is not None
    c = None if precision is None else balls.of(precision)
    shapes = [bells(law, pair.lattice, precision) for law in (pair.p, pair.q)]
    first, last = math.inf, -math.inf
    for i, j in _ORDERS:
        ends = reach(shapes[i], shapes[j], float(alpha))
        if ends is None:
            return math.inf
        first, last = min(first, ends[0]), max(last, ends[1])
    check_window(2 * (last - first))
    window = Span(math.floor(first), math.ceil(last))
    # Bits after the point such that every noised mass of the window keeps some 128 bits of its own
    worst = 0.0
    for shape in shapes:
        for step in range(201):
            x = window.first + step / 200 * (len(window) - 1)
            worst = max(worst, min(float(b.decay) * (x - b.centre) ** 2 - b.log_weight for b in shape))
    bits = 256 + math.ceil(1.1 * worst / math.log(2))
    rows = [_noised(law, pair, window, precision, bits) for law in (pair.p, pair.q)]
    sums = PowerSum([(0, 1)], alpha)
    for masses in zip(*rows, strict=True):
        sums.add(list(masses))
    unit = arb(1) if c is None else 1 / theta(c)
    return max(
        balls.divergence((sums.sums[i, j] + tail(shapes[i], shapes[j], window, alpha, c)) * unit, alpha)
        for i, j in _ORDERS
    )


def _noised(law: Components, pair: Analytic, window: Span, precision: Fraction | None, bits: int) -> list[arb]:
    """The masses of the window's points after noise, unnormalised. Cells beyond a margin E contribute between 0 and
    P(K beyond) e^{-c distance^2}."""
    assert pair.lattice is not None
    if bits > _MOST_BITS:  # by Horner's rule, which needs no fixed point
        bits, own = 10**12, 320
    else:
        own = bits + 64
    with balls.precision(own):
        if precision is None:
            return ball_cells(law, pair.lattice, Span(window.first, window.last), None).mass
        widest = max(float(s / pair.lattice.grid) for s in law.exact_stds)
        margin = math.ceil(14 * widest / math.sqrt(1 + 2 * float(precision) * widest**2)) + 2
        span = Span(window.first - margin, window.last + margin)
        cells = ball_cells(law, pair.lattice, span, None)
    atoms = [(span.first + k, mass) for k, mass in enumerate(cells.mass)]
    found = convolved(atoms, window, precision, bits)
    c = balls.of(precision)
    for k, x in enumerate(range(window.first, window.last + 1)):
        rest = cells.left[0] * (-c * ((x - span.first + 1) ** 2)).exp()
        rest += cells.right[0] * (-c * ((span.last + 1 - x) ** 2)).exp()
        half = rest.upper() / 2
        found[k] += arb(half, half)
    return found


# How far out the terms P^alpha Q^(1-alpha) of rounded normal laws matter, and a bound on what lies beyond.
#
# In lattice steps, let K be N(m, s^2) rounded to the nearest integer, plus noise ~ exp(-c k^2), D = 1 + 2 c s^2 and
# kappa = c / D. For a point k with mu = k - m >= 1/2 the unnormalised noised mass lies between
#     D^-1/2 e^{kappa/4 - c s / sqrt D - c/4} e^{-kappa (mu + 1/2)^2}  and
#     2 D^-1/2 e^{kappa/4 + kappa c s^2 / 2} e^{-kappa (mu - 1/2)^2};
# without noise the cell's mass lies between e^{-(mu +- 1/2)^2 / 2 s^2} / (s sqrt(2 pi))
# (docs/proofs/renyi.md#5-rounded-normals-with-gaussian-noise).


_DIGITS = 64.0


@dataclass(frozen=True)
class Bell:
    """One component in lattice steps; `point` is a point mass without noise, which has no tail."""

    weight: Fraction
    mean: Fraction
    std: Fraction
    decay: float
    point: bool
    slack: float
    """ln of how far the two bounds above are apart, but for the half steps."""

    @property
    def centre(self) -> float:
        return float(self.mean)

    @property
    def log_weight(self) -> float:
        return math.log(self.weight.numerator) - math.log(self.weight.denominator)


def bells(law: Components, lattice: Lattice, precision: Fraction | None) -> list[Bell]:
    """The components of a law in lattice steps, with the decay kappa after noise."""
    found = []
    for weight, mean, std in zip(*law.exact, strict=True):
        s, slack = std / lattice.grid, 0.0
        if precision is not None:
            decay, c = float(precision / (1 + 2 * precision * s * s)), float(precision)
            slack = 1.0 + decay * c * float(s) ** 2 / 2 + math.sqrt(c * decay) * float(s) + c / 4
        else:
            decay = float(1 / (2 * s * s)) if s else math.inf
        found.append(
            Bell(weight, (mean - lattice.origin) / lattice.grid, s, decay, precision is None and s == 0, slack)
        )
    return found


def reach(p: list[Bell], q: list[Bell], alpha: float) -> tuple[float, float] | None:
    """A window outside which the terms are small; None where the sum may be infinite. Only sharpness depends on it."""
    first, last = math.inf, -math.inf
    for b in p:
        if b.point:
            first, last = min(first, b.centre - 2), max(last, b.centre + 2)
            continue
        for sign in (-1, 1):
            other = _widest(q, sign)
            fall = math.inf if other is None else alpha * b.decay - (alpha - 1) * other.decay
            if other is None or not fall > 0:
                return None
            top, height = _vertex(b, other, alpha, sign * 0.5, fall)
            true = max(0.0, _vertex(b, other, alpha, 0.0, fall)[1])
            room = _DIGITS - alpha * b.log_weight - (alpha - 1) * other.log_weight + alpha * math.log(len(p))
            room += alpha * (b.slack + other.slack) + max(0.0, height - true)
            end = math.sqrt(room / fall) + 2
            ends = [top + sign * end, b.centre + sign * end, other.centre + sign * end]
            first, last = min(first, *ends), max(last, *ends)
    for b in q:
        first, last = min(first, b.centre - 2), max(last, b.centre + 2)
    return first, last


def _vertex(p: Bell, q: Bell, alpha: float, half: float, fall: float) -> tuple[float, float]:
    """Where -alpha kappa_p (x - m_p - half)^2 + (alpha-1) kappa_q (x - m_q + half)^2 is largest, and its value."""
    a, b = alpha * p.decay, (alpha - 1) * q.decay
    m, n = p.centre + half, q.centre - half
    return (a * m - b * n) / fall, a * b * (m - n) ** 2 / fall


def _widest(bells_: list[Bell], sign: int) -> Bell | None:
    """The component of slowest decay; among equals the one farthest out on that side."""
    held = [b for b in bells_ if not b.point]
    return max(held, key=lambda b: (b.std, sign * b.mean, b.weight)) if held else None


def tail(p: list[Bell], q: list[Bell], window: Span, alpha: Fraction, c: arb | None) -> arb:
    """A bound on the sum of P^alpha Q^(1-alpha) over all points beyond the window, unnormalised.

    (sum of n terms)^alpha <= n^(alpha-1) sum of powers; Q is at least its widest component. What remains is
    e^{quadratic} with a falling quadratic, so each term is at most the first ratio times the one before."""
    a = balls.of(alpha)
    moving = [b for b in p if not b.point]
    found = arb(0)
    for b in moving:
        for sign, end in ((1, window.last + 1), (-1, -(window.first - 1))):
            other = _widest(q, sign)
            if other is None:
                return arb("inf")
            logs = []  # alpha ln(upper bound of P's component) + (1-alpha) ln(lower bound of Q's) at two points
            for place in (end, end + 1):
                inner = balls.of(place - sign * b.mean - Fraction(1, 2))
                outer = balls.of(place - sign * other.mean + Fraction(1, 2))
                high = _log_size(b, c, upper=True) - _decay(b, c) * inner * inner
                low = _log_size(other, c, upper=False) - _decay(other, c) * outer * outer
                logs.append(a * high + (1 - a) * low)
            fall = a * _decay(b, c) - (a - 1) * _decay(other, c)
            ratio = logs[1] - logs[0]
            if not (fall > 0 and ratio < 0 and end - sign * b.mean >= 1 and end - sign * other.mean >= 1):
                return arb("inf")
            found += logs[0].exp() / (1 - ratio.exp())
    return found * ((a - 1) * arb(max(1, len(moving))).log()).exp()


def _decay(b: Bell, c: arb | None) -> arb:
    s = balls.of(b.std)
    return 1 / (2 * s * s) if c is None else c / (1 + 2 * c * s * s)


def _log_size(b: Bell, c: arb | None, upper: bool) -> arb:
    """The logarithm of the factor before the exponential, weight included."""
    s, weight = balls.of(b.std), balls.of(b.weight).log()
    if c is None:
        return weight - (s * (2 * arb.pi()).sqrt()).log()
    d, kappa = 1 + 2 * c * s * s, _decay(b, c)
    size = weight - d.log() / 2 + kappa / 4
    return size + arb(2).log() + kappa * c * s * s / 2 if upper else size - c * s / d.sqrt() - c / 4
