"""What is promised about one release: `Pure`, `Approx`, `Renyi`, `RenyiCurve`, `ZCDP`. A budget *is* a guarantee.

- Pure(e):            P(S) <= e^e Q(S) for every event S.
- Approx(e, d):       P(S) <= e^e Q(S) + d.
- Renyi(a, e, d):     outside events of probability d on each side, D_a(P || Q) <= e.
- RenyiCurve({a: e}): the same at several orders.
- ZCDP(r):            D_a(P || Q) <= r a at all orders.

`g <= h` reads "g is at least as strong as h" and is decided by proofs (`order`). `conversion` goes from Rényi
divergences to (epsilon, delta); `composition` speaks of independent data sets, and of budgets that protect nobody.
"""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.guarantee.asks import Ask as Ask
    from fugu.guarantee.asks import Divergences as Divergences
    from fugu.guarantee.asks import Proof as Proof
    from fugu.guarantee.asks import Ratio as Ratio
    from fugu.guarantee.composed import Composed as Composed
    from fugu.guarantee.composed import compose as compose
    from fugu.guarantee.composition import independent as independent
    from fugu.guarantee.composition import weaknesses as weaknesses
    from fugu.guarantee.curve import ZCDP as ZCDP
    from fugu.guarantee.curve import Guarantee as Guarantee
    from fugu.guarantee.curve import RenyiCurve as RenyiCurve
    from fugu.guarantee.kinds import Approx as Approx
    from fugu.guarantee.kinds import Pure as Pure
    from fugu.guarantee.kinds import Renyi as Renyi
    from fugu.guarantee.kinds import balle as balle
    from fugu.guarantee.kinds import exact_delta as exact_delta
    from fugu.guarantee.kinds import exact_epsilon as exact_epsilon
    from fugu.guarantee.kinds import implies as implies
    from fugu.guarantee.kinds import is_guarantee as is_guarantee
    from fugu.guarantee.kinds import pure_as_renyi as pure_as_renyi
    from fugu.guarantee.pairs import outputs as outputs
else:
    __getattr__ = names(__name__)
