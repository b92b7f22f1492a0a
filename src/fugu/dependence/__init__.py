"""Records that depend on each other: priors over whole tables, and what per-entry privacy is worth under them."""

from fugu.dependence.chain import MarkovChain as MarkovChain
from fugu.dependence.chains import ChainSet as ChainSet
from fugu.dependence.curve import InfluenceCurve as InfluenceCurve
from fugu.dependence.groups import DependentGroups as DependentGroups
from fugu.dependence.groups import IndependentBlocks as IndependentBlocks
from fugu.dependence.influence import influence as influence
from fugu.dependence.network import BayesianNetwork as BayesianNetwork
from fugu.dependence.translate import dp_budget as dp_budget
from fugu.dependence.translate import translate as translate
