"""Sets of laws: what an adversary may believe where no single law is known for sure."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.laws.sets.ball import Ball as Ball
    from fugu.laws.sets.ball import Hull as Hull
    from fugu.laws.sets.ball import law_set_from as law_set_from
    from fugu.laws.sets.box import Band as Band
    from fugu.laws.sets.box import Box as Box
    from fugu.laws.sets.box import Intersection as Intersection
    from fugu.laws.sets.box import winf_ball as winf_ball
    from fugu.laws.sets.confidence import check_confidence as check_confidence
    from fugu.laws.sets.confidence import confidence_set as confidence_set
    from fugu.laws.sets.confidence import secret_error as secret_error
    from fugu.laws.sets.law_set import LawSet as LawSet
    from fugu.laws.sets.levels import mixture_interval as mixture_interval
else:
    __getattr__ = names(__name__)
