"""The verifier is independent of how noise is found: it can be imported without any of that, and is short."""

import pytest

import structure


@pytest.mark.parametrize("name", ["verifier/verify.py", "loss/door.py"])
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
