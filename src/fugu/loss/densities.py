"""Noised laws as densities, logarithms and tail masses, and a pair of them reduced to what differs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from fugu.errors import BadNoise, UnknownName
from fugu.laws.components import Floats
from fugu.laws.normal import Belief
from fugu.numbers.exact import Real, as_fraction, float_up

# With X ~ N(m, s^2), z = y - m, noise Lap(b), the density of X + noise is (A + B) / 2b and its cdf Phi(z/s) + (A - B)/2
# where A = e^{s^2/2b^2 + z/b} Phi(-z/s - s/b) and B = A(-z)
# (docs/proofs/gaussian.md#8-continuous-noise-on-normal-laws). Logarithms use erfcx where t = z/s + s/b > 0:
# ln A = -z^2/2s^2 + ln(erfcx(t/sqrt 2)/2), and z/b + s^2/2b^2 + ln Phi(-t) elsewhere: neither branch cancels.


KINDS = ("laplace", "gaussian")
_CHUNK = 1 << 18
_ROOT2 = math.sqrt(2.0)
_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


def check_noise(kind: str, scale: float) -> None:
    """Refuse an unknown noise or a scale that is not a finite number >= 0."""
    if kind not in KINDS:
        raise UnknownName("continuous noise", kind, KINDS)
    if isinstance(scale, bool) or not 0 <= scale < math.inf:
        raise BadNoise(f"a scale must be a finite number >= 0, got {scale!r}")


def log_parts(z: Floats, std: Floats) -> tuple[Floats, Floats]:
    """ln A(|z|) and ln A(-|z|) in units of b: the far and the near part of the noised density, far <= near."""
    from scipy.special import erfcx, log_ndtr

    a = np.abs(z)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        u = np.where(std > 0, a / std, np.inf)
        half = 0.5 * u * u
        far = np.log(0.5 * erfcx((u + std) / _ROOT2)) - half
        t = std - u
        inner = np.log(0.5 * erfcx(np.maximum(t, 0) / _ROOT2)) - half
        outer = 0.5 * std * std - a + log_ndtr(-np.minimum(t, 0))
    return np.where(std > 0, far, -np.inf), np.where(std > 0, np.where(t > 0, inner, outer), -a)


def log_laplace(z: Floats, std: Floats) -> Floats:
    """ln of the density at z of N(0, std^2) + Lap(1).

    >>> round(float(log_laplace(np.array([-30.0]), np.array([1.0]))[0]), 12)
    -30.19314718056
    """
    far, near = log_parts(z, std)
    return np.logaddexp(far, near) - math.log(2.0)


def log_normal(z: Floats, std: Floats) -> Floats:
    """ln of the density at z of N(0, std^2), std > 0."""
    with np.errstate(over="ignore"):
        u = z / std
        return -0.5 * u * u - np.log(std) - _LOG_ROOT_2PI


def cdf_laplace(z: Floats, std: Floats) -> Floats:
    """P(N(0, std^2) + Lap(1) <= z); for z <= 0 the relative error is small, for z > 0 the absolute error.

    For z <= 0 it is A/2 + (Phi - B/2) with B <= Phi 2 e^{..}: Phi - B/2 >= 0 keeps at least a fixed share of Phi."""
    from scipy.special import ndtr

    far, near = log_parts(z, std)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        body = np.where(std > 0, ndtr(-np.abs(z) / std), 0.0)
    low = np.maximum(0.0, body - 0.5 * np.exp(far)) + 0.5 * np.exp(near)
    return np.where(z <= 0, low, 1 - low)


def cdf_normal(z: Floats, std: Floats) -> Floats:
    """P(N(0, std^2) <= z), a step for std 0."""
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(std > 0, ndtr(z / np.where(std > 0, std, 1.0)), (z >= 0).astype(np.float64))


@dataclass(frozen=True, eq=False)
class NoisedMixture:
    """sum_k e^log_weights[k] f(y - means[k]; stds[k]): f normal, or (`laplace`) normal plus Lap(1) in units of b.

    A mean is the unevaluated sum high + low of two doubles, so that y - mean has a small relative error wherever y
    lies: ln densities are then right to about 2^-53 (1 + |ln density|) times a small constant."""

    log_weights: Floats
    high: Floats
    low: Floats
    stds: Floats
    laplace: bool

    @cached_property
    def weights(self) -> Floats:
        """The weights; they need not sum to one."""
        return np.exp(self.log_weights)

    def offsets(self, y: Floats) -> Floats:
        """y - mean, points by components."""
        return (y[:, None] - self.high) - self.low

    def logs(self, y: Floats) -> Floats:
        """ln(weight x density), points by components."""
        shape = log_laplace if self.laplace else log_normal
        return shape(self.offsets(y), self.stds) + self.log_weights

    def log_density(self, y: Floats) -> Floats:
        """ln of the density at each point."""
        return self._gather(y, lambda part: log_sum(self.logs(part)))

    def below(self, y: Floats) -> Floats:
        """The mass at or below each point."""
        shape = cdf_laplace if self.laplace else cdf_normal
        return self._gather(y, lambda part: shape(self.offsets(part), self.stds) @ self.weights)

    def above(self, y: Floats) -> Floats:
        """The mass above each point."""

        def shape(z: Floats) -> Floats:
            if self.laplace:
                return cdf_laplace(-z, self.stds)
            return np.where(self.stds > 0, cdf_normal(-z, self.stds), (z < 0).astype(np.float64))

        return self._gather(y, lambda part: shape(self.offsets(part)) @ self.weights)

    def between(self, u: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The mass of (u, v] and a bound of its rounding error; each component is taken from its nearer tail, so the
        error is relative to that tail, and to the whole component only where the cell holds its centre."""
        shape = cdf_laplace if self.laplace else cdf_normal
        found, error = np.empty(u.size), np.empty(u.size)
        for part in chunks(u.size, self.high.size):
            left, right = self.offsets(u[part]), self.offsets(v[part])
            flip = left > 0
            low, high = np.where(flip, -right, left), np.where(flip, -left, right)
            top = shape(high, self.stds)
            found[part] = np.maximum(0, top - shape(low, self.stds)) @ self.weights
            error[part] = 2.0**-49 * (top @ self.weights)
        return found, error

    def _gather(self, y: Floats, each: Callable[[Floats], Floats]) -> Floats:
        found = np.empty(y.size)
        for part in chunks(y.size, self.high.size):
            found[part] = each(y[part])
        return found


def log_sum(logs: Floats) -> Floats:
    """ln of the sum of exponentials along the last axis; -inf for nothing."""
    top = logs.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=-1)) + top[..., 0])


def chunks(count: int, width: int) -> Iterator[slice]:
    """Slices of `count` rows such that a slice times `width` columns stays small."""
    step = max(1, _CHUNK // max(1, width))
    for start in range(0, count, step):
        yield slice(start, min(count, start + step))


# A pair of laws and e^epsilon as P - N: equal components cancelled exactly, in units of the noise, split from atoms.
#
# sup_S P_p(S) - e P_q(S) = int [f_p - e f_q]_+, and f_p - e f_q = sum over the distinct components of (w_p - e w_q)
# f_k. Components of positive and of negative coefficient make two mixtures without a common component, so that no bound
# ever compares a component with itself: laws that share a part are as easy as laws that do not.


Parts = dict[tuple[Fraction, Fraction], Fraction]
LARGEST = 700.0
"""Beyond this epsilon the factor e^epsilon is carried as a logarithm."""
_FAR = Fraction(10) ** 100


@dataclass(frozen=True)
class Units:
    """Origin and unit of length: the Laplace scale, or else the largest standard deviation after normal noise."""

    centre: Fraction
    unit: Fraction
    laplace: bool
    noise: float

    def far(self, keys: Parts) -> bool:
        """Whether some position leaves the range that can be computed."""
        return any(abs(m - self.centre) > _FAR * self.unit or s > _FAR * self.unit for m, s in keys)

    def mixture(self, coefficients: Parts, shift: float = 0.0) -> NoisedMixture | None:
        """The mixture in doubles: a mean as two of them, normal noise added to the stds, weights times e^shift."""
        rows = [(float(w), (m - self.centre) / self.unit, float(s / self.unit)) for (m, s), w in coefficients.items()]
        rows = [row for row in rows if row[0] > 0]
        if not rows:
            return None
        high = np.array([float(m) for _, m, _ in rows])
        low = np.array([float(m - Fraction(h)) for (_, m, _), h in zip(rows, high.tolist(), strict=True)])
        stds = np.array([s for _, _, s in rows])
        stds = stds if self.noise == 0 else np.hypot(stds, self.noise)
        return NoisedMixture(np.log([w for w, _, _ in rows]) + shift, high, low, stds, self.laplace)


def parts(law: Belief) -> Parts:
    """(mean, std) -> weight, exactly, with equal components joined: two laws are equal iff their parts are."""
    found = Parts()
    for w, m, s in zip(*law.components().exact, strict=True):
        found[m, s] = found.get((m, s), Fraction(0)) + w
    return found


def exp_down(epsilon: float) -> float:
    """A float at or below e^epsilon, for the decimal epsilon as for the double: delta falls with it."""
    eps = min(epsilon, LARGEST)
    return math.exp(eps) * (1 - (4 + 2 * eps) * 2.0**-52)


def frame(keys: Parts, kind: str, scale: Real) -> Units:
    """The coordinates for these components and this noise."""
    b = as_fraction(scale)
    means = [m for m, _ in keys]
    centre = (min(means) + max(means)) / 2
    if kind == "laplace" and b > 0:
        return Units(centre, b, True, 0.0)
    unit = Fraction(max(math.hypot(float(s), float(b)) for _, s in keys) or 1.0)
    return Units(centre, unit, False, float(b / unit))


def reduced(
    p: Parts, q: Parts, kind: str, scale: Real, factor: float, shift: float = 0.0
) -> tuple[NoisedMixture | None, NoisedMixture | None, float, float] | None:
    """f_p - factor e^shift f_q as P - N: P, N (None if empty), the excess of the atoms that no noise blurs, and a bound
    of the answer by mass alone; None where the positions leave the range that can be computed.

    With shift > 0 common components cancel as if it were 0, which only lowers N."""
    weigh = Fraction(factor)
    coefficients = {k: w - weigh * q.get(k, 0) for k, w in p.items()}
    coefficients |= {k: -weigh * w for k, w in q.items() if k not in p}
    silent = [k for k in coefficients if not scale and not k[1]]
    atoms = float_up(sum((max(coefficients.pop(k), Fraction(0)) for k in silent), Fraction(0)))
    plus = {k: c for k, c in coefficients.items() if c > 0}
    mass = atoms + float_up(sum(plus.values(), Fraction(0)))
    if not coefficients:
        return None, None, atoms, mass
    axes = frame(coefficients, kind, scale)
    if axes.far(coefficients):
        return None
    minus = {k: -c for k, c in coefficients.items() if c < 0}
    return axes.mixture(plus), axes.mixture(minus, shift), atoms, mass


# Two normal laws: the hockey stick in closed form.


UNIT = 2.0**-53


def normal_hockey_stick(nu: float, ratio: float, epsilon: float) -> float:
    """sup_S n_1(S) - e^epsilon n_2(S), with nu = (m_1 - m_2)/s_2 and ratio = s_1/s_2; at or above the truth.

    With l = ratio and v = (y - m_1)/s_1, u = (y - m_2)/s_2 = l v + nu, the set is (l^2 - 1) v^2 + 2 l nu v + nu^2 > L,
    L = 2 (ln l + epsilon): outside the roots for l > 1, between them for l < 1, where d = nu^2 + (l^2 - 1) L >= 0:
    v = (-l nu +- sqrt d)/(l^2 - 1), u = (-nu +- l sqrt d)/(l^2 - 1)
    (docs/proofs/gaussian.md#8-continuous-noise-on-normal-laws; l = 1 is the formula of Balle and Wang 2018). A root
    off by r costs r^2, so only the rounding of Phi counts: (epsilon + x^2 + 16) units.

    >>> round(normal_hockey_stick(0.0, 0.5, 0.5), 12), normal_hockey_stick(-0.5, 0.5, 1.0)
    (0.064933189863, 0.0)
    """
    big = 2 * (math.log(ratio) + epsilon)
    if ratio == 1:
        gap = abs(nu)
        if gap == 0:
            return 0.0
        return _difference(epsilon, [(1.0, gap / 2 - epsilon / gap, -gap / 2 - epsilon / gap)])
    bend = (ratio - 1) * (ratio + 1)
    d = nu * nu + bend * big
    if d <= -16 * UNIT * (nu * nu + abs(bend * big)):
        return 0.0
    root = math.sqrt(max(0.0, d))
    sign = 1.0 if nu >= 0 else -1.0
    v_sum, u_sum = -(ratio * nu + sign * root), -(nu + sign * ratio * root)
    first = _over(v_sum, bend), _over(u_sum, bend)
    second = _over(nu * nu - big, v_sum), _over(-(nu * nu + ratio * ratio * big), u_sum)
    (v_low, u_low), (v_high, u_high) = sorted((first, second))
    if ratio > 1:
        return _difference(epsilon, [(1.0, v_low, u_low), (1.0, -v_high, -u_high)])
    if v_low + v_high > 0:  # take the smaller tails
        v_low, v_high, u_low, u_high = -v_high, -v_low, -u_high, -u_low
    return _difference(epsilon, [(1.0, v_high, u_high), (-1.0, v_low, u_low)])


def _over(a: float, b: float) -> float:
    """a / b, where a root at infinity is as good as one far out."""
    return a / b if b != 0 else math.copysign(math.inf, a) if a != 0 else 0.0


def _difference(epsilon: float, ends: list[tuple[float, float, float]]) -> float:
    """sum of sign (Phi(v) - e^epsilon Phi(u)), raised by its rounding error."""
    from scipy.special import log_ndtr, ndtr

    total = error = 0.0
    for sign, v, u in ends:
        mine = float(ndtr(v))
        theirs = math.exp(min(epsilon + float(log_ndtr(u)), 700.0))
        total += sign * (mine - theirs)
        error += (mine + theirs) * UNIT * (16 + 4 * epsilon + (2 * min(v * v, 1400.0)) + 2 * min(u * u, 1400.0))
    return min(1.0, max(0.0, total) + error)
