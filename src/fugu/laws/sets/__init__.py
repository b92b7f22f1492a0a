"""Sets of laws: what an adversary may believe where no single law is known for sure."""

from fugu.laws.sets.ball import Ball as Ball
from fugu.laws.sets.band import Band as Band
from fugu.laws.sets.band import winf_ball as winf_ball
from fugu.laws.sets.box import Box as Box
from fugu.laws.sets.hull import Hull as Hull
from fugu.laws.sets.intersection import Intersection as Intersection
from fugu.laws.sets.law_set import LawSet as LawSet
from fugu.laws.sets.written import law_set_from as law_set_from
