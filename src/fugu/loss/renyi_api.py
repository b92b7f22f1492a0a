"""`fugu.renyi`: the tight Rényi divergence of a noise on law pairs, as a float at or above the truth."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from fugu.errors import BadBudget, BadNoise, NotProvable
from fugu.laws.analytic import Analytic
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family
from fugu.laws.items import Item, items
from fugu.laws.pair import PairsLike, as_pairs
from fugu.loss.api import _laws, _on_grid, epsilon
from fugu.loss.atoms.slack import require_exact
from fugu.loss.atoms.subnormal import worst_reading
from fugu.noise import Gaussian, GeneralizedCauchy, Laplace
from fugu.numbers.exact import Real, as_fraction

if TYPE_CHECKING:
    from collections.abc import Callable


def renyi(noise: Laplace | Gaussian | GeneralizedCauchy, pairs: PairsLike, alpha: Real) -> float:
    """The tight D_alpha, max over pairs and both orders; inf where it is not finite, alpha = inf is `epsilon`.

    Lattice noise: proved in balls (`renyi_bounds`). Continuous noise on laws with atoms: quadrature with a proved
    error and a bound on all rounding, for Laplace, Gaussian and GeneralizedCauchy noise. Normal laws: closed forms, or
    rigorous integration in complex balls, for Laplace and Gaussian noise; refused for Cauchy noise, and for Laplace
    noise if a law has both atoms and spread. Laws known up to an error are refused.

    >>> from fugu import Discrete, Gaussian, Laplace, LawPair
    >>> pair = LawPair(Discrete([0]), Discrete([1]))
    >>> round(renyi(Gaussian(1.0), pair, 2), 9), round(renyi(Laplace(1.0), pair, 2), 9)
    (1.0, 0.61912363)
    >>> round(renyi(Gaussian(1.0, grid=1), pair, 2), 9), round(renyi(Laplace(1.0, grid=1), pair, 2), 9)
    (1.0, 0.735325664)
    """
    order = _order(alpha)
    given = as_pairs(pairs)
    if given[0].dimension > 1 and isinstance(noise, Laplace | Gaussian) and order is not None:
        from fugu.loss.vector_api import vector_divergence

        return vector_divergence(noise, given, order)
    known = list(items(given)) if given[0].dimension == 1 else []
    if not isinstance(noise, Laplace | Gaussian | GeneralizedCauchy):
        raise BadNoise(f"expected a noise such as fugu.Laplace(scale), got {type(noise).__name__}")
    if isinstance(noise, GeneralizedCauchy):
        if not known:
            raise NotProvable("Cauchy noise on vectors is bounded through fugu.loss.shifts.shift only")
        return max(worst_reading(item, lambda read: cauchy_divergence(read, noise, order)) for item in known)
    if math.isinf(float(noise.scale)):
        raise BadNoise("the scale is beyond the range of doubles")
    if order is None:
        return epsilon(noise, pairs)
    return max(worst_reading(item, lambda read: _one(read, noise, order)) for item in known)


def _order(alpha: object) -> Fraction | None:
    if isinstance(alpha, bool) or not isinstance(alpha, int | float | Fraction) or not alpha > 1:
        raise BadBudget(f"alpha must be a number above 1 (inf allowed), got {alpha!r}")
    return None if math.isinf(alpha) else as_fraction(alpha)


def _one(item: Item, noise: Laplace | Gaussian, alpha: Fraction) -> float:
    if noise.scale == 0 and noise.grid is None and isinstance(item, Analytic):
        return _smooth(item, noise, alpha)
    if noise.grid is not None or noise.scale == 0:
        from fugu.loss.divergence.lattice import renyi_bounds

        return max(loss.value for loss in renyi_bounds(_on_grid(item, noise), noise, alpha))
    if isinstance(item, Analytic):
        return _smooth(item, noise, alpha)
    from fugu.loss.divergence import continuous as renyi_continuous

    kind, tail = (renyi_continuous.laplace, 0.0) if isinstance(noise, Laplace) else (renyi_continuous.gaussian, -1.0)
    return _atoms(item, as_fraction(noise.scale), tail, alpha, kind)


def _atoms(family: Family, scale: Fraction, tail: float, alpha: Fraction, kind: Callable[..., float]) -> float:
    """Both orders of every pair of laws with atoms."""
    from fugu.loss.divergence.continuous import atoms

    require_exact(family)
    if not family.different:
        return 0.0
    worst = 0.0
    for p, q in _laws(family):
        assert isinstance(p, Discrete)
        assert isinstance(q, Discrete)
        rows = atoms(p, q, scale, tail, as_fraction)
        worst = max(worst, kind(rows[0], rows[1], alpha), kind(rows[1], rows[0], alpha))
    return worst


def _smooth(item: Analytic, noise: Laplace | Gaussian, alpha: Fraction) -> float:
    """Both orders of a pair with Gaussian components."""
    from fugu.loss.divergence.integrals import gaussian_renyi, laplace_renyi, rows

    if item.same:
        return 0.0
    p, q, s = rows(item.p), rows(item.q), as_fraction(noise.scale)
    if isinstance(noise, Gaussian) or s == 0:
        if s == 0 and any(r[2] == 0 for r in p + q):
            raise NotProvable("a law with atoms against one without: the divergence needs noise, or a grid")
        return max(gaussian_renyi(p, q, s * s, alpha), gaussian_renyi(q, p, s * s, alpha))
    return max(laplace_renyi(p, q, s, alpha), laplace_renyi(q, p, s, alpha))


def cauchy_divergence(item: Item, noise: object, alpha: Fraction | None) -> float:
    """Generalised Cauchy noise in the unit of the item's points: laws with atoms only. alpha = inf is refused."""
    from fugu.loss.divergence.cauchy import cauchy

    assert isinstance(noise, GeneralizedCauchy)
    if isinstance(item, Analytic):
        if item.same:
            return 0.0
        raise NotProvable("the Rényi divergence of Cauchy noise on normal laws has no proof; use Laplace or Gaussian")
    if alpha is None:
        raise NotProvable("the pure loss of Cauchy noise is not available here; use a finite alpha")
    if noise.scale == 0:
        return _one(item, Laplace(0), alpha)
    tail = as_fraction(noise.tail)
    return _atoms(item, as_fraction(noise.scale), float(tail), alpha, lambda p, q, a: cauchy(p, q, a, tail))
