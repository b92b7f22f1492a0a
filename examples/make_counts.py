"""Count what the experiments of the papers need, from the data files, into `papers/src/fugu_papers/counts`.

    FUGU_DATA=folder python examples/make_counts.py

The data sets are public: UCI Adult (Becker and Kohavi 1996), Student Performance (Cortez and Silva 2008), Bank
Marketing (Moro, Cortez and Rita 2014), Heart Disease (Janosi et al. 1988) and Human Activity Recognition (Anguita et
al. 2013), all CC BY 4.0; mvad (McVicar and Anyadike-Danes 2002), as distributed with TraMineR.
"""

from __future__ import annotations

from pathlib import Path

from fugu_papers.counted import packed, registered
from fugu_papers.reproduce import experiments
from fugu_papers.shelf import Shelf

FOLDER = Path(__file__).resolve().parent.parent / "papers" / "src" / "fugu_papers" / "counts"


def main() -> None:
    """Write one file for every table of counts; the files are checked against their SHA-256 first."""
    experiments()
    FOLDER.mkdir(exist_ok=True)
    for name, table in registered().items():
        found = table.count(Shelf())
        file, content = packed(name, found)
        (FOLDER / file).write_bytes(content)
        print(f"{name}: {sum(sum(sizes.values()) for sizes in found.values())} rows of {', '.join(table.files)}")


if __name__ == "__main__":
    main()
