"""What is secret, and what adversaries may believe: scenarios that compile to law pairs."""

from fugu.scenario.query import Query as Query
from fugu.scenario.report import Report as Report
from fugu.scenario.scenario import Scenario as Scenario
