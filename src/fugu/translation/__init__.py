"""What per-entry privacy is worth under a prior, and which releases compose."""

from fugu.priors.curve import InfluenceCurve as InfluenceCurve
from fugu.translation.influence import influence as influence
from fugu.translation.translate import dp_budget as dp_budget
from fugu.translation.translate import translate as translate
