"""What is secret, and what adversaries may believe: scenarios that compile to law pairs."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.scenario.query import ColumnQuery as ColumnQuery
    from fugu.scenario.scenario import Report as Report
    from fugu.scenario.scenario import Scenario as Scenario
else:
    __getattr__ = names(__name__)
