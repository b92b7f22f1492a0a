"""From a table to a release, every step: run it from anywhere.

    python examples/table.py

Last year's register (taken as public) says what adversaries may believe. Today's table is published once: the
cholesterol of each patient, with smoking kept secret. Both tables are synthetic and come with fugu.
"""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path

import fugu
from fugu.data import read_table, write_csv
from fugu.errors import AlreadyReleased
from fugu.report import page, write

TABLES = resources.files("fugu.examples")
BUDGET = fugu.Pure(0.5)


def main() -> None:
    """Beliefs, comparison, calibration, release, certificate, verification."""
    scenario = fugu.Scenario.from_table(
        str(TABLES / "clinic_reference.csv"), publish="chol", protect="smoker", unit="patient"
    )
    print(scenario.report)

    comparison = fugu.compare(scenario, BUDGET)
    print(comparison)

    mechanism = fugu.calibrate(scenario, BUDGET)
    low, high = mechanism.interval(0.95)
    print(f"errors lie between {low:g} and {high:g} mg/dl with 95 %, {mechanism.expected_error():.3g} on average")

    today = read_table(str(TABLES / "clinic_today.csv"))
    released = fugu.release_column(mechanism, today)
    try:
        fugu.release_column(mechanism, today)
    except AlreadyReleased as refusal:
        print(f"a second release is refused: {refusal}")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_csv(folder / "chol.csv", {"chol": released.values})
        mechanism.certificate.save(folder / "chol.certificate.json")
        write(folder / "chol.report.html", page(mechanism, comparison, query_name="chol", secret_name="smoker"))
        print("wrote " + ", ".join(sorted(file.name for file in folder.iterdir())))
        verdict = fugu.verify(folder / "chol.certificate.json")
    print(f"proved again from the file: {verdict.holds}, epsilon at most {verdict.epsilon:.6f}")


if __name__ == "__main__":
    main()
