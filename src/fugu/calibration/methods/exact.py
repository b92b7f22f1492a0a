"""Distances that mass must move, and what a shift leaks: `wasserstein`, `closeness`, `l1`, `cauchy-moments`; and the
least scale there is, by bisection on the tight loss, for sets and counts too: `exact`, `conditioned`."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

from fugu.calibration.comparison import BOUNDED
from fugu.calibration.lattice import least, least_scale
from fugu.calibration.offer import EVERY, RELEASED, UNBOUNDED, Proposal, method
from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family, SetFamily
from fugu.laws.normal import Analytic
from fugu.laws.shapes import Item, Shape
from fugu.loss.divergence import kept, margins, unmoved
from fugu.loss.door import leakage
from fugu.loss.histograms import NO_ORDERS
from fugu.loss.search.shapes import farthest, l1_distance, over
from fugu.loss.shifts import gaussian_mu, shift_renyi
from fugu.loss.vectors import space_of
from fugu.loss.vectors_gaussian import TAU
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.noise.kind import Kind
from fugu.numbers.exact import as_fraction, float_up
from fugu.transport.coupling import Coupling, monotone
from fugu.transport.matching import bottleneck, closeness_index
from fugu.transport.wasserstein import mean_cost, w_inf_index

LEAST = math.sqrt(2 * float(TAU)) * (1 + 1e-9)
"""Gaussian noise on vectors needs this many steps for the smoothing bound."""
_STEP_MORE = "one lattice step is added for rounding"
_NORM = "W_inf in the noise's norm: Song, Wang, Chaudhuri 2017; Pierquin et al. 2024"


@method(
    "wasserstein",
    "Song, Wang, Chaudhuri 2017, Theorem 3.2; equals the Kantorovich W1 mechanism in one dimension",
    place=20,
    beaten_by="exact",
)
def ratio(item: Item, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = max over pairs of W_inf / epsilon: couple the laws within W_inf, then shift by at most W_inf.

    In one dimension the monotone plan is optimal for W_1 and for W_inf alike, so the Kantorovich mechanism, which takes
    the largest distance on the support of a W_1-optimal plan, is the same number."""
    if isinstance(item, Analytic):  # the distance of the means if the spreads agree, else infinite
        p, q = item.p, item.q
        if len(p.stds) != 1 or len(q.stds) != 1 or p.exact_stds != q.exact_stds or item.lattice is None:
            return UNBOUNDED
        distance = abs(p.exact_means[0] - q.exact_means[0]) / item.lattice.grid
        return Proposal(over(float_up(distance) + 1, ask.epsilon), _STEP_MORE)
    moved = max((w_inf_index(item.points, item.laws[i], item.laws[j]) for (i, j), _ in item.different), default=0)
    worst = moved > 0 and moved == l1_distance(item)
    note = "worst case: equal to l1, the beliefs do not help this method" if worst else ""
    return Proposal(over(moved, ask.epsilon), note)


@method(
    "wasserstein",
    "Pierquin et al. 2024, Theorem 3.3: R_alpha(noise, W_inf), for every noise",
    place=20,
    finite=True,
    noises=EVERY,
    beaten_by="exact",
)
def divergences(item: Item, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale with R_alpha(noise, max over pairs of W_inf) <= epsilon."""
    if not isinstance(item, Analytic):
        return Proposal(within(farthest(item), ask, kind))
    shift = item.shift()  # the distance of the means if the spreads agree, else infinite
    if shift is None:
        return UNBOUNDED
    if item.lattice is None or shift.denominator == 1:
        return Proposal(within(int(abs(shift)) if shift.denominator == 1 else float_up(abs(shift)), ask, kind))
    return Proposal(within(math.floor(abs(shift)) + 1, ask, kind), _STEP_MORE)


def within(distance: float, ask: Divergences, kind: Kind) -> float:
    """The least scale with R_alpha(noise, distance) <= epsilon, for every order."""
    if distance == 0:
        return 0.0

    def loss(steps: float, alpha: Fraction) -> float:
        return shift_renyi(kind.at(steps, Fraction(1)), distance, alpha) if steps else math.inf

    return least_excess(ask, loss, ask.start(float(distance)))


def least_excess(ask: Divergences, loss: object, start: float) -> float:
    """The least scale b with loss(b, alpha) <= epsilon(alpha) for every order, for losses that fall with b."""
    if ask.impossible:
        return math.inf
    return least_scale(lambda b: ask.excess(lambda alpha: loss(b, alpha)), ask.target, start)  # type: ignore[operator]


def vectors_moved(close: bool, item: Family, ask: Ask, kind: Kind) -> Proposal:
    """W_inf in the l1 norm, over epsilon; or R_alpha(noise, W_inf) <= epsilon, W_inf in the noise's own norm; `close`:
    W, the distance within which all but delta can be coupled, in place of W_inf."""
    delta = ask.delta if close else Fraction(0)
    if isinstance(ask, Divergences):
        return Proposal(vectors_within(item, ask, kind, delta))
    return Proposal(over(reach(item, kind.norm, delta), ask.epsilon))


method("wasserstein", _NORM, place=20, shapes=("space",), beaten_by="exact")(partial(vectors_moved, False))


@method("wasserstein", _NORM, place=20, shapes=("space",), noises=("gaussian",))
def smooth_vectors(item: Family, ask: Ratio, kind: Kind) -> Proposal:
    """The analytic Gaussian curve at the largest distance; the lattice takes tau squared steps more variance than
    continuous noise (`fugu.loss.vectors_gaussian`)."""
    distance = reach(item, kind.norm, Fraction(0))
    if ask.pure:
        return Proposal(0.0 if item.same else math.inf)
    return Proposal(steps_for(distance, ask))


method("wasserstein", _NORM, place=20, shapes=("space",), finite=True, noises=RELEASED)(partial(vectors_moved, False))


def steps_for(distance: float, ask: Ratio) -> float:
    """Gaussian noise for a shift of a vector by `distance` steps."""
    if not distance:
        return 0.0
    mu = gaussian_mu(ask.epsilon, ask.target)
    return max(LEAST, math.sqrt((distance / mu) ** 2 + float(TAU)) * (1 + 1e-12))


def vectors_within(family: Family, ask: Divergences, kind: Kind, delta: Fraction) -> float:
    """The least scale with R_alpha(noise, z) <= epsilon, z the distance within which all but delta can be coupled."""
    distance = reach(family, kind.norm, delta)
    if distance == 0:
        return 0.0
    if kind.norm == 1:
        return within(int(distance), ask, kind)

    def loss(steps: float, alpha: Fraction) -> float:
        return float(alpha) * distance**2 / (2 * steps**2) if steps else math.inf

    return least_excess(ask, loss, ask.start(distance))


def reach(family: Family, norm: int, delta: Fraction) -> float:
    """The largest distance any pair must be moved, up to a mass delta, in steps."""
    return max((bottleneck(space_of(family, pair, norm), delta)[0] for pair, _ in family.different), default=0.0)


def monotone_plans(item: Family) -> list[Coupling]:
    """The monotone coupling of every pair, optimal for every convex cost at once."""
    return [monotone(item.points, item.laws[i], item.laws[j]) for (i, j), _ in item.different]


# `closeness`: the largest distance all but a share delta of the mass must move.


_CLOSE_VECTORS = "Chen and Ohrimenko 2023, Theorem 4.2, with an exact flow"


@method(
    "closeness",
    "Chen and Ohrimenko 2023, Theorem 4.2, with the exact greedy matching",
    place=30,
    shapes=("line",),
    beaten_by="exact",
)
def close_ratio(item: Family, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = W / epsilon for the least W such that every pair is (W, delta)-close; delta 0 is the wasserstein
    method."""
    note = "" if ask.delta else "delta is 0: the same as wasserstein"
    return Proposal(over(_distance(item, ask.delta), ask.epsilon), note)


@method(
    "closeness",
    "Pierquin et al. 2024, Theorem 4.3, both laws conditioned: no log 1/(1 - delta) terms (docs/proofs/renyi.md)",
    place=30,
    shapes=("line",),
    finite=True,
    noises=EVERY,
    delta=True,
)
def close_divergences(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale with R_alpha(noise, z) <= epsilon, for the least z that couples all but delta of every pair."""
    note = "" if ask.delta else "delta is 0: the same as wasserstein"
    return Proposal(within(_distance(item, ask.delta), ask, kind), note)


method("closeness", _CLOSE_VECTORS, place=30, shapes=("space",), delta=True)(partial(vectors_moved, True))
method("closeness", _CLOSE_VECTORS, place=30, shapes=("space",), finite=True, noises=RELEASED, delta=True)(
    partial(vectors_moved, True)
)


def _distance(family: Family, delta: Fraction) -> float:
    each = (closeness_index(family.points, family.laws[i], family.laws[j], delta) for (i, j), _ in family.different)
    return max(each, default=0)


# `l1`: the largest distance between any value under one secret and any value under the other, over epsilon.


_DWORK = "sensitivity: Dwork, McSherry, Nissim, Smith 2006, Proposition 1"
_L1, _L1_OF_CELLS = f"l1 (group) {_DWORK}", f"l1 {_DWORK}; one record moves two counts by one each"


@method("l1", _L1_OF_CELLS, place=10, shapes=("cells",), beaten_by="exact")
@method("l1", _L1, place=10, shapes=("sets",), beaten_by="exact")
@method("l1", _L1, place=10, beaten_by="exact")
def l1(item: Shape, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = max |x - x'| / epsilon over x possible under one secret and x' under the other; blind to probabilities.

    Of sets of laws over the range of the declared values, which is all that is known of some of them; of counts in
    cells 2, whatever the laws."""
    if isinstance(item, CellFamily):
        return Proposal(0.0 if item.same else over(2, ask.epsilon))
    if isinstance(item, SetFamily):
        return Proposal(over(float(item.points[-1] - item.points[0]), ask.epsilon))
    return Proposal(over(l1_distance(item), ask.epsilon)) if isinstance(item, Family) else UNBOUNDED


# `cauchy-moments`: generalised Cauchy noise from a transport distance of finite order (corrected Corollary 4.1).


@method(
    "cauchy-moments",
    "Pierquin et al. 2024, Corollary 4.1, corrected: W of order tail (alpha - 1) (docs/proofs/renyi.md)",
    place=40,
    shapes=("line",),
    finite=True,
    noises=("cauchy",),
    beaten_by="exact",
    largest=50_000,
)
def cauchy_moments(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale with R_alpha(noise, W) <= epsilon for W = W_{2 nu}, nu = tail (alpha - 1) / 2 a whole number.

    The cost F(u^2 / s^2) is a polynomial of degree nu in u^2 with positive coefficients, so E F <= F(W^2 / s^2) term by
    term (Lyapunov): the formula for a shift by W, although single values may move further than W."""
    noise = kind.at(1.0, Fraction(1))
    assert isinstance(noise, GeneralizedCauchy)
    tail = as_fraction(noise.tail)
    if any((tail * (alpha - 1) / 2).denominator != 1 for alpha, _ in ask.orders):
        return Proposal(math.inf, "tail (alpha - 1) / 2 must be a whole number; raise alpha until it is")
    plans = monotone_plans(item)
    distance = float(farthest(item))
    if distance == 0:
        return Proposal(0.0)
    moved = {alpha: max(mean_cost(plan, tail * (alpha - 1), Fraction(1)) for plan in plans) for alpha, _ in ask.orders}

    def loss(steps: float, alpha: Fraction) -> float:
        return shift_renyi(GeneralizedCauchy(steps), moved[alpha], alpha) if steps else math.inf

    return Proposal(least_excess(ask, loss, ask.start(distance)))


# `exact`: the least scale at which the tight loss meets the budget.


_SUFFICES = "the beliefs alone suffice: no noise is needed"
_SUMMED = "the largest ratio on the product grid, or sums over blocks of outputs (docs/proofs/vectors.md)"


@method("exact", _SUMMED, place=100, shapes=("space",), noises=RELEASED, finite=True)
@method("exact", _SUMMED, place=100, shapes=("space",), noises=RELEASED)
@method(
    "exact",
    "the tight divergence of the two noised laws, proved in docs/proofs/renyi.md",
    place=100,
    finite=True,
    noises=None,
    largest=50_000,
)
@method(
    "exact",
    "the tight loss of the noise that is drawn: proved in docs/proofs/laplace.md and docs/proofs/gaussian.md",
    place=100,
    noises=None,
)
def tight(item: Item, ask: Ask, kind: Kind) -> Proposal:
    """scale = min { b : loss(b) <= budget }, or { b : D_alpha(M_i, M_j) <= epsilon(alpha) in both orders }; 0 when the
    beliefs alone suffice."""
    if item.same:
        return Proposal(0.0, "the laws are the same: nothing to hide")
    steps = least(item, ask, kind)
    unused = "no event is left out: delta is not used" if ask.finite and ask.delta else ""
    return Proposal(steps, unused if steps else _SUFFICES)


# `conditioned`: the tight divergence of the laws given the likeliest events that bring them close.


_NARROW = 0.02
"""Noise of less than this many lattice steps is next to none: it is not looked for."""
_ATOMS = 200
"""Pairs of laws with more atoms than this are not conditioned anew at every scale."""


@method(
    "conditioned",
    "the tight divergence given the events of a sub-coupling of mass 1 - delta (docs/proofs/renyi.md)",
    place=110,
    shapes=("line",),
    finite=True,
    noises=RELEASED,
    delta=True,
    largest=50_000,
)
def conditioned(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale found at which every pair meets the budget as it is, or conditioned as for `partial-transport`.

    The events change with the scale, so the loss need not fall with it: the scale is proved, not surely the least."""
    if not ask.delta:
        return Proposal(math.inf, "delta is 0: the same as exact")
    if len(item.points) > _ATOMS:
        return Proposal(math.inf, f"for laws of at most {_ATOMS} atoms")
    distance = float(farthest(item))
    if distance == 0:
        return Proposal(0.0)
    if ask.impossible:
        return Proposal(math.inf, "epsilon 0 asks for identical outputs")
    alone = list(item.alone())
    start = ask.start(distance)
    return Proposal(least_scale(lambda steps: max(_excess(one, steps, ask, kind) for one in alone), ask.target, start))


def _excess(family: Family, steps: float, ask: Divergences, kind: Kind) -> float:
    """loss / budget of one pair, conditioned if that helps."""
    if 0 < steps < _NARROW:
        return math.inf
    known = leakage(family.shape, kind.name)
    bare = known.guess(family, steps, ask)
    if bare <= 1:
        return bare
    pair = family.pairs[0]
    if steps == 0:
        return min(bare, unmoved(family, pair, ask.delta))
    noise = kind.at(steps, Fraction(1))
    rest = margins(family, kept(family, pair, noise, ask.highest, ask.delta), family.labels[0])
    return min(bare, known.guess(rest, steps, ask)) if rest.different else 0.0


# Methods for sets of laws: the loss of the worst laws in the sets, exactly for ratios; bounds for all else.


_ENVELOPE = "the envelope and its dual over the worst laws in the sets: proved in docs/proofs/sets.md"


@method(
    "exact",
    "the tight loss of the worst laws in the sets: proved in docs/proofs/sets.md",
    place=100,
    shapes=("sets",),
    noises=BOUNDED,
    beaten_by="envelope",
)
def sets_exact(item: SetFamily, ask: Ratio, kind: Kind) -> Proposal:
    """scale = min { b : max over the declared values of ln N / D <= epsilon }; 0 when the beliefs alone suffice."""
    steps = least(item, replace(ask, delta=ask.delta * 0), kind)
    return Proposal(steps, ("delta is not used" if ask.delta else "") if steps else _SUFFICES)


def least_known(note: str, silent: str, item: SetFamily | CellFamily, ask: Ask, kind: Kind) -> Proposal:
    """The least scale that the table knows, and what is to be said of it, or of none.

    Of sets a scale at which the bound on delta is within it, never above what the pure loss asks for, up to rounding;
    or those on the divergences within epsilon: then no event is left out for a delta. Of counts in cells 2 / epsilon_0
    for a pure budget, with T(epsilon_0) = epsilon; else min { b : delta(b) <= delta }."""
    steps = least(item, ask, kind)
    return Proposal(steps, note if steps else silent)


_bound = partial(least_known, "a bound, not exact", _SUFFICES)
method("envelope", _ENVELOPE, place=90, shapes=("sets",), noises=RELEASED, delta=True)(_bound)
method("envelope", _ENVELOPE, place=90, shapes=("sets",), noises=RELEASED, finite=True)(_bound)


# Histograms: the least noise in every count.


_CELLS = ("cells",)
method(
    "exact",
    "the tight loss of one record's cell in a histogram: proved in docs/proofs/histograms.md",
    place=100,
    shapes=_CELLS,
    noises=None,
)(partial(least_known, "", "the beliefs about one record's cell alone suffice: no noise is needed"))


@method("exact", "docs/proofs/histograms.md#5-what-is-not-proved", place=100, shapes=_CELLS, finite=True, noises=None)
def no_orders(item: CellFamily, ask: Divergences, kind: Kind) -> Proposal:  # noqa: ARG001
    """Refused: no divergence of a histogram is proved."""
    raise NotProvable(NO_ORDERS)
