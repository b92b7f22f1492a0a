"""Hidden Markov models, and the Markov quilts of a chain with their exact leakages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, NotProvable, UnknownName
from fugu.numbers.exact import MatrixLike
from fugu.priors.chain import MarkovChain, Start
from fugu.priors.joint import STEP, Floats, Quilts, RoundedFloats, assemble, combine, laws, leaks, log_ratios
from fugu.priors.prior import Belief, of_supports
from fugu.priors.transitions import StepProducts, padded

# Hidden Markov models: what is seen is a noisy picture of a chain; say whether the chain or the picture is secret.
#
# Proofs: docs/proofs/quilts.md#hidden-chains and docs/proofs/trees.md#hidden-chains.

_REACH = 12


class HiddenMarkov(Belief):
    """A Markov chain that is seen only through noisy observations: hidden X_1, ..., X_T a chain, observed Y_t with
    P(Y_t = y | X_t = x) = emission[x, y], independent given the X.

    The releases are per-entry DP in the *observed* entries Y_1, ..., Y_T. What is protected:

    - `protect="hidden"`: the pair X_t = x against X_t = x', for every t. Outside the window of Y between X_{t-a} and
      X_{t+b}, Y depends on X_t only through these two, so the leakages of the hidden chain hold (data processing). As
      X_t is seen through its emission only, an epsilon per entry may be worth less than itself.
    - `protect="observed"`: the pair Y_t = y against Y_t = y'. The same argument with the law of (X_{t-a}, X_{t+b})
      given Y_t.
    - `pairs()`: the chain of (X_t, Y_t), for releases that are per-entry DP in whole pairs and secrets about pairs.

    Parameters: `transition`, `length` and `initial` as in `MarkovChain`, but the start "any" only for hidden states;
    `emission`, one row per hidden state, a law of what is seen; `protect`, "hidden" or "observed".

    Raises `BadLaw` for what is not a law, `UnknownName` for another `protect`, `NotProvable` for "any" with "observed".

    >>> weather = HiddenMarkov([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], length=6)
    >>> weather.pairs().size
    4
    """

    chain: MarkovChain
    emission: RoundedFloats
    protect: str
    nodes: tuple[int, ...]

    def __init__(
        self,
        transition: MatrixLike | Sequence[MatrixLike],
        emission: MatrixLike,
        length: int,
        initial: Start = "stationary",
        protect: Literal["hidden", "observed"] = "hidden",
    ) -> None:
        if protect not in ("hidden", "observed"):
            raise UnknownName("thing to protect", protect, ("hidden", "observed"))
        chain, emitted = MarkovChain(transition, length, initial), laws(emission, "emission")
        if chain.free and protect == "observed":
            raise NotProvable(
                "what an observed entry says of the hidden states depends on the start, and no bound for every start "
                "is proved here; state initial= the law of the first hidden state, or protect the hidden states"
            )
        if emitted.values.ndim != 2 or emitted.values.shape[0] != chain.size:
            raise BadLaw(f"emission needs one row for each of the {chain.size} hidden states")
        vars(self).update(chain=chain, emission=emitted, protect=protect, nodes=tuple(range(1, length + 1)))

    def __repr__(self) -> str:
        seen = self.emission.values.shape[1]
        return f"HiddenMarkov({self.chain.size} hidden states, {seen} seen, length {self.chain.length}, {self.protect})"

    @classmethod
    def example(cls) -> HiddenMarkov:
        return cls([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], length=6)

    @cached_property
    def skipped(self) -> tuple[str, ...]:
        """The hidden states, or the observed values, that an entry never takes: those of what is protected."""
        if self.protect == "hidden":
            return self.chain.skipped
        seen = self.chain.supports.astype(np.int64) @ (self.emission.values > 0) > 0
        return of_supports(tuple(range(seen.shape[1])), seen, self.chain.length)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted."""
        return (*self.chain.assumptions, "each observed entry depends on its hidden state alone, by the stated table")

    @property
    def protects(self) -> str:
        """What the guarantee is about, in words."""
        about = {"hidden": "each hidden state X_t", "observed": "each observed entry Y_t"}[self.protect]
        return f"{about}, against any two values; releases are per-entry DP in the observed entries"

    def pairs(self) -> MarkovChain:
        """The chain of (X_t, Y_t): P((x, y) -> (x', y')) = P(x, x') E(x', y'); pairs with E(x, y) = 0 are left out."""
        emit = self.emission.values
        seen, some = emit.shape[1], emit.ravel() > 0
        steps = [self.chain.transition(t) for t in range(1, 2 if self.chain.homogeneous else self.chain.length)]
        whole = [np.repeat((p[:, :, None] * emit[None]).reshape(len(p), -1), seen, axis=0) for p in steps]
        blocks = [block[np.ix_(some, some)] for block in whole]
        start: Any = "any" if self.chain.free else "stationary"
        if not self.chain.stationary and not self.chain.free:
            start = (self.chain.marginal(1)[:, None] * emit).ravel()[some]
            start = start / start.sum()
        kernel = blocks[0] if self.chain.homogeneous else np.stack(blocks)
        pairs = [(x, y) for x in self.chain.states for y in range(seen)]
        states = [pair for pair, used in zip(pairs, some, strict=True) if used]
        return MarkovChain(kernel / kernel.sum(axis=-1, keepdims=True), self.chain.length, start, states)

    def quilts(self, node: int) -> Quilts:
        """The quilts of entry t: windows of observed entries, shielded by the hidden states at their ends."""
        if self.protect == "hidden":
            return self._hidden.quilts(node)
        length = self.chain.length
        lefts, rights = range(min(_REACH, node - 1) + 1), range(min(_REACH, length - node) + 1)
        law, one, rounded = self._law(node), RoundedFloats(np.eye(self.chain.size)), self.chain.size + 4
        back, kernel = [RoundedFloats(law.values[None, :], law.roundings)], one  # P(X_t = x), as a column
        for a in lefts[1:]:
            kernel = combine("lm,mx->lx", RoundedFloats(self.chain.transition(node - a), rounded), kernel)
            back.append(combine("l,lx->lx", self._law(node - a), kernel))  # P(X_{t-a} = l, X_t = x)
        ahead, kernel = [RoundedFloats(np.ones((self.chain.size, 1)))], one
        for b in rights[1:]:
            kernel = combine("xm,mr->xr", kernel, RoundedFloats(self.chain.transition(node + b - 1), rounded))
            ahead.append(kernel)  # P(X_{t+b} = r | X_t = x)
        cards, costs = [length], [np.where(log_ratios(self._seen(node)) == -np.inf, -np.inf, 0.0)]
        for a in lefts:
            for b in rights:
                if a or b:
                    cards.append((a or node) + (b or length - node + 1) - 1)
                    both = combine("lx,xr->xlr", back[a], ahead[b])
                    costs.append(leaks(combine("xlr,xy->ylr", both, self.emission)))
        return Quilts(length, np.array(cards), np.stack(costs))

    @cached_property
    def _hidden(self) -> ChainQuilts:
        return ChainQuilts(self.chain)

    def _law(self, t: int) -> RoundedFloats:
        errors = self.chain.log_marginals[1]
        row = 0 if self.chain.stationary else t - 1
        values = self.chain.marginal(t)
        if np.any(self.chain.supports[row] & (values < 1e-290)):
            raise NotProvable("some hidden state has a probability below 1e-290; merge rare states")
        return RoundedFloats(values, math.ceil(float(np.ravel(errors)[row]) / STEP) + 64)

    def _seen(self, t: int) -> RoundedFloats:
        """P(Y_t = y), as rows."""
        joint = combine("x,xy->yx", self._law(t), self.emission)
        return RoundedFloats(joint.values.sum(axis=1, keepdims=True), joint.roundings + joint.values.shape[1])

    def given_seen(self, t: int) -> RoundedFloats:
        """P(X_t = x | Y_t = y) in row y, `t` = 1 .. T; a row of zeros where y is never seen.

        Raises `NotProvable` where a probability is too small for floats, or no start is stated."""
        if self.chain.free:
            raise NotProvable("what an entry says of its hidden state depends on the start; state initial= a law")
        joint, seen = combine("x,xy->yx", self._law(t), self.emission), self._seen(t)
        given = np.divide(joint.values, seen.values, out=np.zeros_like(joint.values), where=seen.values > 0)
        return RoundedFloats(given, joint.roundings + seen.roundings + 1)


# Proofs: docs/proofs/quilts.md#chains.

_CELLS = 400_000
_NOTHING = 1e-8


class ChainQuilts:
    """The quilts {X_{t-a}, X_{t+b}}, {X_{t-a}}, {X_{t+b}} and the trivial one, a and b up to `reach`, all nodes.

    Near entries: a + b - 1, T - t + a, t + b - 1 and T. Given X_t the two sides are independent, so the leakage of (x,
    x') is [max_z log P^a(z, x) / P^a(z, x') + log mu_t(x') / mu_t(x)] + [max_y log P^b(x, y) / P^b(x', y)]; a quilt
    without a left end drops the whole first bracket. Any `reach` is sound; a larger one may need less noise.
    """

    def __init__(self, chain: MarkovChain, reach: int | None = None) -> None:
        self.chain = chain
        self.nodes = tuple(range(1, chain.length + 1))
        self.reach = min(chain.length - 1, reach or max(1, int(math.sqrt(_CELLS)) // chain.size))
        if reach is None and chain.homogeneous:  # farther entries would save less than this leakage
            self.reach = next((d for d, r in enumerate(self._right_powers, 1) if r.max() < _NOTHING), self.reach)

    @cached_property
    def _steps(self) -> StepProducts:
        return StepProducts(self.chain, self.reach)

    @cached_property
    def _right_powers(self) -> list[Floats]:
        return [self._steps.of(1, d).ratios() for d in range(1, self.reach + 1)]

    def sides(self, t: int) -> tuple[Floats, Floats]:
        """Upper bounds of the left leakages, a = 1, 2, ..., and of the right ones, b = 1, 2, ...: (distance, k, k)."""
        chain, size = self.chain, self.chain.size
        lefts, rights = range(1, min(self.reach, t - 1) + 1), range(1, min(self.reach, chain.length - t) + 1)
        if chain.homogeneous:
            right, back = self._right_powers[: len(rights)], [self._steps.of(1, d) for d in lefts]
        else:
            ahead, behind = (StepProducts(chain, self.reach, side) for side in (True, False))
            right, back = [ahead.of(t, d).ratios() for d in rights], [behind.of(t - 1, d) for d in lefts]
        shift = np.zeros((size, size))
        with np.errstate(invalid="ignore"):
            if not chain.free:
                logs, errors = chain.log_marginals
                row = 0 if chain.stationary else t - 1
                shift = padded(logs[row][None, :] - logs[row][:, None], 2 * float(np.ravel(errors)[row]))
            left = [b.left_ratios(self.support(t - d), chain.free) + shift for d, b in enumerate(back, 1)]
        empty = np.zeros((0, size, size))
        return (np.stack(left) if left else empty), (np.stack(right) if right else empty)

    def support(self, t: int) -> NDArray[np.bool_]:
        """Which states X_t can have."""
        return np.asarray(self.chain.supports[0 if self.chain.stationary else t - 1])

    def quilts(self, node: int) -> Quilts:
        """All quilts of X_t; pairs with a state that X_t never has are left out."""
        possible = self.support(node)
        pairs = possible[:, None] & possible[None, :]
        left, right = (np.where(pairs, np.maximum(side, 0.0), 0.0) for side in self.sides(node))
        return assemble(self.chain.length, node, left, right, np.where(pairs, 0.0, -np.inf))
