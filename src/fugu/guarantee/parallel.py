"""Guarantees about independent data sets, each with its own mechanism and its own coins.

`parallel`: every pair of secrets is about one data set (Pierquin et al. 2024, Proposition E.1). Given a secret of block
k the published laws are products whose factors outside k are the same on both sides. Such factors change nothing:
    D_a(P x R || Q x R) = D_a(P || Q),   sup_S (P x R)(S) - e^e (Q x R)(S) = sup_S P(S) - e^e Q(S),
so the largest guarantee of the blocks holds. A pair across two blocks changes two factors and is refused.

`independent`: every data set may change at once. Divergences add, and (e1, d1) with (e2, d2) gives
(e1 + e2, d1 + d2 - d1 d2). Proofs: docs/proofs/composition.md#independent-data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction

from fugu.errors import NotProvable, UsageError
from fugu.guarantee.curve import Guarantee, RenyiCurve
from fugu.guarantee.kinds import Approx, Pure, Renyi
from fugu.guarantee.numbers import exact, plain
from fugu.guarantee.order import is_guarantee
from fugu.numbers.exact import Real

Join = Callable[[list[Fraction]], Fraction]


def parallel(
    *guarantees: Guarantee | Mapping[Hashable, Guarantee], pairs: Iterable[tuple[Hashable, Hashable]] | None = None
) -> Guarantee:
    """The guarantee of publishing every block, for pairs of secrets about one block: the largest one.

    The caller states that the blocks are independent under every belief, that a secret of one block says nothing about
    the others, and that each mechanism tosses its own coins. `pairs` names the block of each of the two secrets.

    >>> parallel(Pure(0.5), Pure(1))
    Pure(epsilon=1)
    >>> parallel({"north": Pure(0.5), "south": Pure(1)}, pairs=[("north", "south")])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    fugu.errors.NotProvable: a pair of secrets names two blocks, 'north' and 'south': both published laws change, ...
    """
    if len(guarantees) == 1 and isinstance(guarantees[0], Mapping):
        blocks: dict[Hashable, Guarantee] = dict(guarantees[0])
    else:
        blocks = dict(enumerate(_checked(guarantees)))
    for one, two in pairs or ():
        for block in (one, two):
            if block not in blocks:
                raise UsageError(f"no block {block!r}; the blocks are {', '.join(map(repr, blocks))}")
        if one != two:
            raise NotProvable(
                f"a pair of secrets names two blocks, {one!r} and {two!r}: both published laws change, and the largest "
                "guarantee does not cover that; use independent() for such pairs"
            )
    return _join(_checked(blocks.values()), max, max)


def independent(*guarantees: Guarantee) -> Guarantee:
    """The guarantee of publishing all of several independent data sets when every one of them may change.

    >>> independent(Approx(0.1, 0.1), Approx(0.2, 0.1))
    Approx(epsilon=0.3, delta=0.19)
    """
    return _join(_checked(guarantees), lambda epsilons: sum(epsilons, Fraction(0)), _either)


def _either(deltas: list[Fraction]) -> Fraction:
    return 1 - math.prod((1 - d for d in deltas), start=Fraction(1))


def _checked(guarantees: Iterable[object]) -> list[Guarantee]:
    found: list[Guarantee] = []
    for g in guarantees:
        if not is_guarantee(g):
            raise UsageError(f"expected a guarantee (Pure, Approx, Renyi, RenyiCurve), got {type(g).__name__}")
        found.append(g.as_ratio())
    if not found:
        raise UsageError("give at least one guarantee")
    return found


def _join(guarantees: list[Guarantee], epsilon: Join, delta: Join) -> Guarantee:
    """In the strongest language that all of them speak: pure, approximate, or Rényi at common orders."""
    total = plain(delta([exact(g.delta) for g in guarantees]))
    simple = [g for g in guarantees if not g.renyi]
    if len(simple) == len(guarantees):
        together = _total([g.epsilon for g in simple], epsilon)
        return Pure(together) if all(g.pure for g in simple) else Approx(together, total)
    if any(g.delta for g in simple):
        raise NotProvable(
            "an Approx guarantee with delta > 0 bounds no Rényi divergence; convert the others with to_approx first"
        )
    listed = {exact(a): a for g in guarantees if g.renyi for a, _ in g.orders}  # 1.1 and 11/10 are one order
    points = [(a, _total([g.divergence_at(a) for g in guarantees], epsilon)) for _, a in sorted(listed.items())]
    # the float 1.1 and Fraction(1.1) are one key but two orders: the lower one stays, with the bound at the higher
    known = {a: e for a, e in points if not math.isinf(e)}
    if not known:
        raise NotProvable("the guarantees have no order at which all of them are finite; convert with to_approx first")
    if len(known) == 1 and not any(g.several for g in guarantees):
        return Renyi(*known.popitem(), total)
    return RenyiCurve(known, total)


def _total(epsilons: list[Real], join: Join) -> Real:
    return math.inf if any(math.isinf(e) for e in epsilons) else plain(join([exact(e) for e in epsilons]))
