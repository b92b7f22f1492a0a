"""Laws of the published value, and the pairs of them that must look alike."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.laws.cells import CellFamily as CellFamily
    from fugu.laws.cells import CellLaw as CellLaw
    from fugu.laws.discrete import Discrete as Discrete
    from fugu.laws.discrete import poisson_binomial as poisson_binomial
    from fugu.laws.discrete import sum_of as sum_of
    from fugu.laws.family import Family as Family
    from fugu.laws.family import SetFamily as SetFamily
    from fugu.laws.multinormal import MultivariateNormal as MultivariateNormal
    from fugu.laws.normal import Analytic as Analytic
    from fugu.laws.normal import Normal as Normal
    from fugu.laws.normal import NormalMixture as NormalMixture
    from fugu.laws.pair import Law as Law
    from fugu.laws.pair import LawPair as LawPair
    from fugu.laws.pair import PairsLike as PairsLike
    from fugu.laws.pair import Shifted as Shifted
    from fugu.laws.pair import as_pairs as as_pairs
    from fugu.laws.shapes import Item as Item
    from fugu.laws.shapes import families as families
else:
    __getattr__ = names(__name__)
