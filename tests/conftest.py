"""The tests folder is importable; property tests have no deadline (speed is measured in benchmarks only) and draw the
same cases in every run of `make test`. `make hunt` draws new ones (hunting.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("fugu", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("fugu")


@pytest.fixture(autouse=True)
def own_ledger(tmp_path_factory, monkeypatch):
    """Every test has a ledger of its own: none is ever charged to that of the person who runs them."""
    monkeypatch.setenv("FUGU_LEDGER", str(tmp_path_factory.mktemp("ledger") / "own.db"))


_LONG = (
    "docs/guide.md]",
    "test_hunting.py",
    "test_golden_record.py",
    "examples/",
    "README.md]",
    "test_chain_attack.py",
)
"""Tests of many seconds: they begin first, so that no process waits for one of them at the end."""


def pytest_collection_modifyitems(items):
    """Long tests first; otherwise in order, so that fixtures of a module are made once."""
    items.sort(key=lambda item: not any(part in item.nodeid for part in _LONG))
