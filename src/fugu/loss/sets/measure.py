"""What is bounded over all outputs: the sum of a convex function f(P, Q), homogeneous of degree 1, of two noised laws.

`Excess`: f = (P - e^epsilon Q)_+, whose sum is delta. `Power`: f = P^a Q^(1-a), whose sum is e^{(a-1) D_a}. Both grow
with P and fall with Q, and f(P, Q) <= P psi where psi = f(N, D) / N at the largest P and the least Q."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from fugu.loss.sets.forms import Floats
from fugu.numbers import balls


class Measure(ABC):
    """One function f."""

    @abstractmethod
    def psi(self, most: Floats, least: Floats) -> Floats:
        """f(N, D) / N in doubles."""

    @abstractmethod
    def f(self, p: Floats, q: Floats) -> Floats:
        """f in doubles."""

    @abstractmethod
    def proved_psi(self, most: arb, least: arb) -> arb:
        """psi of exact numbers, in balls; not finite where there is no bound."""

    @abstractmethod
    def proved_f(self, p: arb, q: arb) -> arb:
        """f of exact numbers, in balls; not finite where there is no bound."""

    @abstractmethod
    def steepest(self, ratio: float) -> tuple[float, float]:
        """How steeply f grows with P and falls with Q at most, where P / Q <= ratio."""

    @abstractmethod
    def loss(self, total: float) -> float:
        """The loss that a sum stands for, in doubles."""

    @abstractmethod
    def proved_loss(self, total: arb) -> float:
        """The same, rounded up."""


@dataclass(frozen=True)
class Excess(Measure):
    """delta at epsilon."""

    epsilon: Fraction

    @property
    def _e(self) -> float:
        return math.exp(min(float(self.epsilon), 700.0))

    def psi(self, most: Floats, least: Floats) -> Floats:
        """(1 - e^epsilon D / N)_+."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.maximum(1 - self._e * least / most, 0.0)
        return np.where(most > 0, np.where(np.isnan(found), 1.0, found), 0.0)

    def f(self, p: Floats, q: Floats) -> Floats:
        """(P - e^epsilon Q)_+."""
        return np.maximum(p - self._e * q, 0.0)

    def proved_psi(self, most: arb, least: arb) -> arb:
        """The same in balls."""
        if most == 0:
            return arb(0)
        return (1 - balls.of(self.epsilon).exp() * least / most).upper().max(arb(0))

    def proved_f(self, p: arb, q: arb) -> arb:
        """The same in balls."""
        return (p - balls.of(self.epsilon).exp() * q).upper().max(arb(0))

    def steepest(self, ratio: float) -> tuple[float, float]:  # noqa: ARG002
        """1 and e^epsilon."""
        return 1.0, self._e

    def loss(self, total: float) -> float:
        """delta is the sum."""
        return total

    def proved_loss(self, total: arb) -> float:
        """delta is the sum, at most 1."""
        return min(1.0, max(0.0, balls.upper(total)))


@dataclass(frozen=True)
class Power(Measure):
    """The Rényi divergence of order alpha > 1."""

    alpha: Fraction

    def psi(self, most: Floats, least: Floats) -> Floats:
        """(N / D)^(a - 1)."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found: Floats = (most / least) ** float(self.alpha - 1)
        return np.where(most > 0, found, 0.0)

    def f(self, p: Floats, q: Floats) -> Floats:
        """P^a Q^(1 - a)."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found: Floats = p * (p / q) ** float(self.alpha - 1)
        return np.where(p > 0, found, 0.0)

    def proved_psi(self, most: arb, least: arb) -> arb:
        """The same in balls."""
        if most == 0:
            return arb(0)
        return ((most / least).log() * balls.of(self.alpha - 1)).exp()

    def proved_f(self, p: arb, q: arb) -> arb:
        """The same in balls."""
        return p * self.proved_psi(p, q)

    def steepest(self, ratio: float) -> tuple[float, float]:
        """a r^(a - 1) and (a - 1) r^a."""
        a = float(self.alpha)
        return a * ratio ** (a - 1), (a - 1) * ratio**a

    def loss(self, total: float) -> float:
        """ln(sum) / (a - 1)."""
        return max(0.0, math.log(total)) / float(self.alpha - 1) if total < math.inf else math.inf

    def proved_loss(self, total: arb) -> float:
        """The same, rounded up."""
        return max(0.0, balls.upper((total.max(arb(1))).log() / balls.of(self.alpha - 1)))
