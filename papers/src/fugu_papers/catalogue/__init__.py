"""Every definition, theorem, algorithm, example, table and figure of the five papers, and where it stands in fugu.

One file per paper, plain data: `pierquin.toml`, `ding.toml`, `bai.toml`, `yang.toml`, `chen.toml`. `fugu papers` shows
it, and `python -m fugu_papers.catalogue` writes docs/papers.md, docs/glossary.md and the table of docs/errata.md.

>>> from fugu_papers.catalogue import find, papers
>>> [paper.number for paper in papers()], [result.label for result in find("GWM")][0]
(['000', '001', '002', '003', '004'], 'Theorem 3.3')
"""

from fugu_papers.catalogue.finding import find as find
from fugu_papers.catalogue.reading import VERDICTS as VERDICTS
from fugu_papers.catalogue.reading import Paper as Paper
from fugu_papers.catalogue.reading import Result as Result
from fugu_papers.catalogue.reading import paper as paper
from fugu_papers.catalogue.reading import papers as papers
from fugu_papers.catalogue.reading import results as results
