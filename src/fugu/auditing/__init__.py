"""Looking at a mechanism from outside: `verify`, `audit`, and what holds against other beliefs."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.auditing.against import guarantee_against as guarantee_against
    from fugu.auditing.against import guarantee_within as guarantee_within
    from fugu.auditing.attack import property_attack as property_attack
    from fugu.auditing.outcome import AttackReport as AttackReport
    from fugu.auditing.outcome import Audit as Audit
    from fugu.auditing.release_attack import audit as audit
    from fugu.auditing.theorems import proposition_a7 as proposition_a7
    from fugu.auditing.theorems import theorem_a3 as theorem_a3
    from fugu.auditing.theorems import theorem_a4 as theorem_a4
else:
    __getattr__ = names(__name__)
