"""How far apart two laws are when mass is moved as well as it can be, and the plans that move it."""

from fugu.transport.cells import SubCoupling as SubCoupling
from fugu.transport.closeness import closeness as closeness
from fugu.transport.partial import partial_plan as partial_plan
from fugu.transport.plan import optimal_plan as optimal_plan
from fugu.transport.plan import plan_log_cost as plan_log_cost
from fugu.transport.wasserstein import wasserstein as wasserstein
