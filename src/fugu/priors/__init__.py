"""What adversaries may believe about whole data sets: records that depend on each other."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.priors.chain import ChainSet as ChainSet
    from fugu.priors.chain import GapChains as GapChains
    from fugu.priors.chain import MarkovChain as MarkovChain
    from fugu.priors.coupling import DependentGroups as DependentGroups
    from fugu.priors.coupling import IndependentBlocks as IndependentBlocks
    from fugu.priors.interval_chain import IntervalChain as IntervalChain
    from fugu.priors.network import BayesianNetwork as BayesianNetwork
    from fugu.priors.prior import Prior as Prior
    from fugu.priors.records import Records as Records
else:
    __getattr__ = names(__name__)
