"""The verifier is independent of how noise is found: it can be imported without any of that, and is short."""

import subprocess
import sys

import pytest

import structure

FORBIDDEN = sorted(structure.NOT_FOR_THE_VERIFIER)


def loaded(module: str) -> set[str]:
    """The rooms that importing a module, in a process of its own, brings in."""
    code = f"import sys, {module}; print(*{{m.split('.')[1] for m in sys.modules if m.startswith('fugu.')}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_imports_nothing_that_finds_noise():
    assert not loaded("fugu.verifier") & set(FORBIDDEN)


def test_the_check_sees_what_another_room_brings_in():
    assert {"scenario", "calibration"} <= loaded("fugu.calibration.compare")


@pytest.mark.parametrize(
    "name", ["verifier/verify.py", "queries/records_certificate.py", "documents/certificate.py", "loss/door.py"]
)
def test_structure_rejects_a_verifier_that_calibrates(name, tmp_path, monkeypatch):
    source = tmp_path / "fugu"
    for path in structure.SRC.rglob("*.py"):
        copy = source / path.relative_to(structure.SRC)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    monkeypatch.setattr(structure, "SRC", source)
    assert structure.dependent_verifier(sorted(source.rglob("*.py"))) == []
    changed = source / name
    changed.write_text(changed.read_text() + "\nfrom fugu.calibration import calibrate\n")
    (found,) = structure.dependent_verifier(sorted(source.rglob("*.py")))
    assert "reaches fugu.calibration" in found


def test_structure_rejects_a_verifier_that_nobody_reads(monkeypatch):
    monkeypatch.setattr(structure, "AN_HOUR", 10)
    (found,) = structure.dependent_verifier(sorted(structure.SRC.rglob("*.py")))
    assert "nobody reads" in found
