"""What is secret, and what adversaries may believe: scenarios that compile to law pairs."""

from fugu.scenario import attributes as attributes
from fugu.scenario import dependent as dependent
from fugu.scenario import diffusion as diffusion
from fugu.scenario import distributions as distributions
from fugu.scenario import groups as groups
from fugu.scenario import property as property
from fugu.scenario import table as table
from fugu.scenario import users as users
from fugu.scenario.query import Query as Query
from fugu.scenario.report import Report as Report
from fugu.scenario.scenario import Scenario as Scenario
