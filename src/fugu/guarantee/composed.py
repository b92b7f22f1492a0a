"""`compose`: what several releases promise together, from the laws of their losses; exact, up to rounding."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from fugu.errors import BadBudget, CertificateError, NotProvable, UsageError
from fugu.guarantee.asks import Ask, check_delta, check_epsilon, exact, outward, plain
from fugu.guarantee.kinds import Approx, Ordered, Pure, is_guarantee
from fugu.numbers.exact import Real, meant_up
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.guarantee.curve import Guarantee, RenyiCurve
    from fugu.guarantee.losslaw import LossLaw
    from fugu.guarantee.pairs import LossPair

_LEAST_CUT, _WORD = 60, 36
_SHOWN = 6
_FARTHEST = Fraction(10**6)
"""An epsilon beyond which no delta is worked out."""


@runtime_checkable
class Lossy(Protocol):
    """Whatever knows the law of its losses: what is private for each entry by itself."""

    def losses(self) -> Composed: ...


@dataclass(frozen=True, eq=False, repr=False)
class Composed(Ordered):
    """Several releases together, each so many times: for every event S and every epsilon, P(S) <= e^epsilon Q(S) +
    delta_at(epsilon), in both orders of every pair of neighbours. Made by `compose`, and by `losses` of noise.

    `parts`: the pairs, each with how often it is in the composition.

    The outputs' losses are independent sums of laws that dominate the losses of each part (Zhu, Dong and Wang 2022);
    they are added in whole numbers and rounded up (docs/proofs/loss-laws.md). Beside it stand the sums of Rényi
    divergences and of epsilons and deltas: of all sound bounds the least is stated.
    """

    parts: tuple[tuple[LossPair, int], ...]
    _known: dict[int, LossLaw] = field(default_factory=dict, init=False)

    @staticmethod
    def of(counts: Mapping[LossPair, int]) -> Composed:
        """Of how often each pair is there, in the order of their texts."""
        return Composed(tuple(sorted(counts.items(), key=lambda item: str(item[0]))))

    @staticmethod
    def read(text: str) -> Composed:
        """What `str` shows between its parentheses."""
        from fugu.guarantee.pairs import pair_from

        counts: Counter[LossPair] = Counter()
        for item in text.split("; "):
            n, _, pair = item.partition(" x ")
            if not (n.isascii() and n.isdigit() and int(n)):
                raise CertificateError("a part of a composition has no count")
            counts[pair_from(pair)] += int(n)
        return Composed.of(counts)

    @property
    def text(self) -> str:
        """The parts, exactly, as `read` takes them."""
        return "; ".join(f"{n} x {part}" for part, n in self.parts)

    @property
    def words(self) -> str:
        """How many releases, and the epsilon at a delta of 1e-6 or next to what it has.

        >>> compose([Pure(0.1)] * 100).words
        '100 releases, together epsilon 4.77457 and delta 1e-6'
        """
        from fugu.guarantee.composition import REMAINDER, promise

        left_out = exact(self.delta)
        one = self.to_approx(plain(left_out + (1 - left_out) * exact(REMAINDER)))
        n = sum(k for _, k in self.parts)
        return f"{n} release{'s' * (n > 1)}, together {promise(one)}"

    @property
    def epsilon(self) -> Real:
        """The sum of the epsilons: what holds at `delta`; inf where a part has none."""
        return plain(self._sums[0]) if self._sums[0] < exact(math.inf) else math.inf

    @property
    def delta(self) -> Real:
        """1 - the product of all 1 - delta: the least delta at which something is promised."""
        return plain(self._sums[1])

    @property
    def _sums(self) -> tuple[Fraction, Fraction]:
        wholes = [(part.whole, n) for part, n in self.parts]
        kept = math.prod(((1 - exact(g.delta)) ** n for g, n in wholes), start=Fraction(1))
        return sum((n * exact(g.epsilon_at(g.delta)) for g, n in wholes), Fraction(0)), 1 - kept

    @property
    def zcdp(self) -> Fraction | None:
        """The sum of what the parts imply."""
        each = [(part.whole.zcdp, n) for part, n in self.parts]
        return None if any(rho is None for rho, _ in each) else sum((n * rho for rho, n in each if rho), Fraction(0))

    def divergence_at(self, alpha: Real) -> Real:
        """The sum of the divergences of the parts, or inf."""
        found = sum((n * exact(part.whole.divergence_at(alpha)) for part, n in self.parts), Fraction(0))
        return plain(found) if found < exact(math.inf) else math.inf

    def law(self, cut: int = _LEAST_CUT) -> LossLaw:
        """The law of the losses, in which what has a probability of at most 2^-cut at the ends is moved up."""
        if cut not in self._known:
            from fugu.guarantee.losslaw import together

            self._known[cut] = together([(_law(part, cut), n) for part, n in self._grouped])
        return self._known[cut]

    @staticmethod
    def cut(delta: Real) -> int:
        """Where the ends of the law are cut for a delta above 0: far below it."""
        return max(_LEAST_CUT, 30 - math.floor(math.log2(exact(delta))))

    @property
    def _grouped(self) -> list[tuple[LossPair, int]]:
        """The parts, with all Rényi guarantees as one where they have a sum."""
        from fugu.guarantee.pairs import RenyiBound

        outside = [(part, n) for part, n in self.parts if isinstance(part, RenyiBound)]
        sums = _divergences(outside)
        if not sums or (len(outside) == 1 and outside[0][1] == 1):
            return list(self.parts)
        return [*((part, n) for part, n in self.parts if not isinstance(part, RenyiBound)), (RenyiBound(sums[0]), 1)]

    @property
    def _others(self) -> list[Guarantee]:
        """What holds beside the law: the plain sums, and sums of divergences where a part is known only as such."""
        from fugu.guarantee.pairs import RenyiBound

        simple = [] if math.isinf(self.epsilon) else [Approx(self.epsilon, self.delta)]
        outside = any(isinstance(part, RenyiBound) for part, _ in self.parts)
        return [*simple, *(_divergences(self.parts) if outside else [])]

    def to_approx(self, delta: Real) -> Approx:
        """The least epsilon that is proved at `delta`, a number in [0, 1), rounded up; inf where none is.

        >>> round(compose([Pure(0.1)] * 100).to_approx(1e-6).epsilon, 9)
        4.774567588
        """
        check_delta(delta)
        allowed = exact(delta)
        bounds = [g.epsilon_at(delta) for g in self._others]
        if allowed > exact(self.delta):
            bounds.append(self.law(self.cut(delta)).epsilon(allowed))
        return Approx(min(bounds, key=exact, default=math.inf), delta)

    def delta_at(self, epsilon: Real) -> float:
        """The least delta that is proved at `epsilon` >= 0, rounded up."""
        from fugu.guarantee.curve import RenyiCurve
        from fugu.numbers import balls

        check_epsilon(epsilon)
        e = exact(epsilon)
        bounds = [1.0, meant_up(balls.upper(self.law().delta(min(e, _FARTHEST))))]
        bounds += [outward(exact(g.delta)) for g in self._others if not g.renyi and exact(g.epsilon) <= e]
        return min(bounds + [g.delta_at(epsilon) for g in self._others if isinstance(g, RenyiCurve)])

    def to_pure(self) -> Pure:
        """The sum of the epsilons; raises `NotProvable` where a part has a delta or no finite epsilon."""
        if self.delta or math.isinf(self.epsilon):
            raise NotProvable("a part of this composition bounds no ratio of probabilities: ask for to_approx(delta)")
        return Pure(self.epsilon)

    def epsilon_at(self, delta: Real) -> Real:
        """The least epsilon proved for every event up to `delta`, or inf."""
        return self.to_approx(delta).epsilon

    def implied_by(self, other: Ordered) -> bool:
        """By a composition of no more, each part no weaker; False means "not proved"."""
        mine, theirs = Counter(dict(self.parts)), Counter(dict(compose([other]).parts))
        mine, theirs = mine - theirs, theirs - mine
        for part, n in theirs.items():
            left = n
            for bound in sorted((one for one in mine if one.general and part.whole <= one.whole), key=str):
                used = min(left, mine[bound])
                left, mine[bound] = left - used, mine[bound] - used
            if left:
                return False
        return True

    def asks(self) -> Ask:
        """Refused: it is what was spent, and no single bound."""
        raise BadBudget("a composition says what several releases promise; for a budget give to_approx(delta) of it")

    def to_json(self) -> Json:
        """Its parts, and how often each is there."""
        return {"kind": "Composed", "parts": [{"pair": str(part), "count": n} for part, n in self.parts]}

    def _key(self) -> tuple[object, ...]:
        return ("composed", self.parts)

    def __str__(self) -> str:
        """All parts, however many."""
        return f"Composed({self.text})"

    def __repr__(self) -> str:
        """The parts, or the first of many."""
        if len(self.parts) <= _SHOWN:
            return str(self)
        return f"{Composed(self.parts[:_SHOWN])!s}"[:-1] + f"; ... of {len(self.parts)} parts)"


def compose(guarantees: Iterable[object]) -> Composed:
    """What all these releases of the same data promise together, in whatever order they are made.

    `guarantees`: of each release its guarantee for the same neighbours (`Pure`, `Approx`, `Renyi`, `RenyiCurve`,
    `ZCDP`), what `losses` of a noise says, or another composition. Each must hold given the outputs of all others: so
    does differential privacy for an entry, and not what `calibrate` proves about laws of values, two of which may leak
    nothing alone and everything together, also where they are translates. Which guarantees they are must not depend on
    earlier outputs (docs/proofs/loss-laws.md#what-is-false).

    Raises `NotProvable` for a mechanism that is proved for laws, `UsageError` for anything else, or for nothing.

    >>> compose([Pure(0.1)] * 100).to_approx(1e-6).epsilon < 4.77457 < Pure(10).epsilon
    True
    """
    from fugu.guarantee.pairs import pair_of

    counts: Counter[LossPair] = Counter()
    for g in guarantees:
        known = g.losses() if isinstance(g, Lossy) else g
        if isinstance(known, Composed):
            counts.update(dict(known.parts))
        elif is_guarantee(known):
            counts[pair_of(known)] += 1
        elif hasattr(g, "certificate"):
            raise NotProvable(
                "this mechanism is proved for laws of values, and such releases do not compose: two that leak nothing "
                "alone can reveal everything together. Compose noise.losses(by), by the most that one record moves "
                "the value, whatever the other records are"
            )
        else:
            raise UsageError(f"expected a guarantee, or what knows its losses, got {type(g).__name__}")
    if not counts:
        raise UsageError("give at least one guarantee")
    return Composed.of(counts)


@lru_cache(maxsize=512)
def _law(part: LossPair, cut: int) -> LossLaw:
    from fugu.numbers import balls

    bits = cut + _WORD
    with balls.precision(bits + 128):
        return part.law(bits, cut)


def _divergences(parts: Iterable[tuple[LossPair, int]]) -> list[RenyiCurve]:
    """Sums of Rényi divergences: of all orders if one is stated so, and at the orders that are listed."""
    from fugu.guarantee.curve import ZCDP, RenyiCurve

    wholes = [(part.whole, n) for part, n in parts]
    found: list[RenyiCurve] = []
    rhos = [(g.zcdp, n) for g, n in wholes]
    if any(isinstance(g, ZCDP) for g, _ in wholes) and all(rho is not None for rho, _ in rhos):
        found.append(ZCDP(plain(sum((n * rho for rho, n in rhos if rho is not None), Fraction(0)))))
    listed = {exact(a): a for g, _ in wholes if g.renyi for a, _ in g.orders}
    orders = {a: sum((n * exact(g.divergence_at(a)) for g, n in wholes), Fraction(0)) for a in listed.values()}
    known: dict[Real, Real] = {a: plain(e) for a, e in orders.items() if e < exact(math.inf)}
    if known:
        left_out = 1 - math.prod(((1 - exact(g.delta)) ** n for g, n in wholes), start=Fraction(1))
        found.append(RenyiCurve(known, plain(left_out)))
    return found
