"""What leaks: tight losses of a noise on law pairs, fast for search, proved in balls for what is certified."""

from fugu.loss.atoms.laplace import prove_delta as prove_delta
from fugu.loss.atoms.laplace import prove_pure as prove_pure
from fugu.loss.leakage import PairLoss as PairLoss
from fugu.loss.public import delta as delta
from fugu.loss.public import epsilon as epsilon
from fugu.loss.public import renyi as renyi
from fugu.loss.search.laplace import Worst as Worst
from fugu.loss.search.laplace import delta_loss as delta_loss
from fugu.loss.search.laplace import pure_loss as pure_loss
