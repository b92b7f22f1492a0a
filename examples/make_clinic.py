"""Make the two tables of the demo. Everything in them is synthetic: no person stands behind any row.

    python examples/make_clinic.py

writes src/fugu/examples/clinic_reference.csv (last year's register, taken as public) and clinic_today.csv (the table to
be published). Smokers have, on average, 14 mg/dl more cholesterol; wards and ages differ a little between the years.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "src" / "fugu" / "examples"
WARDS = ("north", "south", "west")


def rows(count: int, first: int, rng: np.random.Generator) -> list[tuple[object, ...]]:
    """Synthetic patients: number, age, sex, ward, smoker, cholesterol in mg/dl (steps of 5)."""
    age = rng.integers(25, 86, count)
    smoker = rng.random(count) < np.where(age < 60, 0.34, 0.22)
    chol = 188 + 14 * smoker + 0.35 * (age - 55) + rng.normal(0, 30, count)
    steps = np.clip(5 * np.round(chol / 5), 110, 300).astype(int)
    sex, ward = rng.integers(0, 2, count), rng.integers(0, 3, count)
    return [
        (first + i, int(age[i]), "FM"[sex[i]], WARDS[ward[i]], "yes" if smoker[i] else "no", int(steps[i]))
        for i in range(count)
    ]


def main() -> None:
    """Write both tables, always the same."""
    rng = np.random.default_rng(20240229)
    for name, count, first in (("clinic_reference.csv", 4000, 1), ("clinic_today.csv", 900, 5001)):
        with (FOLDER / name).open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("patient", "age", "sex", "ward", "smoker", "chol"))
            writer.writerows(rows(count, first, rng))
        print(f"wrote {name}: {count} rows")


if __name__ == "__main__":
    main()
