"""What leaks: tight losses of a noise on law pairs, fast for search, proved in balls for what is certified."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.guarantee.asks import PairLoss as PairLoss
    from fugu.loss.atoms import prove_delta as prove_delta
    from fugu.loss.atoms import prove_pure as prove_pure
    from fugu.loss.door import delta as delta
    from fugu.loss.door import epsilon as epsilon
    from fugu.loss.door import renyi as renyi
    from fugu.loss.search.laplace import delta_loss as delta_loss
    from fugu.loss.search.laplace import pure_loss as pure_loss
else:
    __getattr__ = names(__name__)
