"""How far apart two laws are when mass is moved as well as it can be, and the plans that move it."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.transport.coupling import Coupling as Coupling
    from fugu.transport.plan import optimal_plan as optimal_plan
    from fugu.transport.plan import partial_plan as partial_plan
    from fugu.transport.plan import plan_log_cost as plan_log_cost
else:
    __getattr__ = names(__name__)
