"""What per-entry privacy is worth under a prior, and which releases compose."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.priors.prior import InfluenceCurve as InfluenceCurve
    from fugu.translation.translate import dp_budget as dp_budget
else:
    __getattr__ = names(__name__)
