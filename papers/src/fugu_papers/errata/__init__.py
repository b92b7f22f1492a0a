"""Slips in the papers behind fugu, each with a counterexample that runs: `errata()` lists them, `run(id)` runs one.

docs/errata.md explains each. A finding is computed, never stored: the printed claim and the corrected one are relations
between numbers, and they hold or fail. `fugu errata` is the same at the command line.

>>> from fugu_papers.errata import errata, run
>>> len(errata()) > 60, run("C-theorem-3").refuted
(True, True)
"""

from fugu_papers.errata.finding import Claim as Claim
from fugu_papers.errata.finding import Finding as Finding
from fugu_papers.errata.registry import Erratum as Erratum
from fugu_papers.errata.registry import errata as errata
from fugu_papers.errata.registry import find as find
from fugu_papers.errata.registry import run as run
from fugu_papers.errata.registry import run_all as run_all
