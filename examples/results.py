"""Write docs/results.md: every experiment of the papers, what fugu saves, and peers on the same work.

    FUGU_DATA=folder python examples/results.py            (make reproduce)

The figures are computed, none is kept. Without the extra `peers` their table says that they are not installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import peers

from fugu_papers.experiment import Setting
from fugu_papers.reproduce import experiments, write
from fugu_papers.results import brief, headline, ratio_table
from fugu_papers.shelf import DataMissing

ROOT = Path(__file__).resolve().parent.parent
_PAGE = """# What fugu saves

Written by `make reproduce`, which runs every experiment of the five papers behind fugu (`fugu reproduce` lists them).

Each method of a paper is computed as it is printed, with the loss that it really has (of paper 003, Algorithm 1 stands
for the condition that its loop looks for). Its noise, error or loss is divided by fugu's at the same proved promise,
and fugu's by what nothing goes below, where that is known: the error of the best channel (which
[`fugu.optimal_channel`](proofs/optimal-channels.md) attains), a linear program, a dual bound. "No noise needed" says
that the beliefs alone keep the promise. Methods that do not keep their own are counted, and not compared.

{headline}
## Case by case

The median over the cases of an experiment, and the range.

{ratios}
## Peers on the same work

{peers}
[Sequences, networks and properties: before and now](before-and-now.md);
[twelve jobs of users](results-users.md); [how far from the limit](limits.md); [growth with size](scaling.md).
"""


def peer_table() -> str:
    """The table of `peers.py`; a sentence if they are not installed."""
    try:
        lines = [line.cells() for line in peers.lines()]
    except ImportError as error:
        return f"Not computed: {error.name} is not installed (the extra `peers`).\n"
    rows = ["| " + " | ".join(cells) + " |" for cells in (peers.HEADER, ["---"] * len(peers.HEADER), *lines)]
    return "\n".join(rows) + "\n"


def main(folder: Path = ROOT / "reproduced") -> None:
    """Run all, write tables and figures into the folder, and the page into docs."""
    runs = []
    for experiment in experiments():
        try:
            runs.append((experiment, experiment.run(Setting())))
        except DataMissing as error:
            sys.exit(f"{experiment.name}: {error}")
        write(*runs[-1], folder)
        print(f"{experiment.name}: {len(runs[-1][1].rows)} rows")
    page = _PAGE.format(headline=headline(runs), ratios=ratio_table(runs), peers=peer_table())
    (ROOT / "docs" / "results.md").write_text(page, encoding="utf-8")
    fill(ROOT / "README.md", brief(runs))


def fill(path: Path, table: str) -> None:
    """Put the table between the two marks of a page."""
    before, _, rest = path.read_text(encoding="utf-8").partition("<!-- results -->\n")
    after = rest.partition("<!-- /results -->")[2]
    path.write_text(f"{before}<!-- results -->\n{table}<!-- /results -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
