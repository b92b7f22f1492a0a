"""Ledgers wherever they lie: what is shown of one in a file is shown of one in a database, by the same test."""

from __future__ import annotations

import pytest

from postgres import Cluster, missing


@pytest.fixture(scope="session")
def cluster():
    """A server of this run's own; skipped, with the reason, where none can be started."""
    if (why := missing()) is not None:
        pytest.skip(why)
    server = Cluster()
    yield server
    server.close()


@pytest.fixture
def server(cluster, tmp_path, monkeypatch):
    """The same for one test: no database of it holds a ledger, and keys lie in a folder of the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    cluster.clear()
    return cluster


@pytest.fixture(params=["file", "database"])
def place(request, tmp_path):
    """A place for a ledger by a name of the test's own: the same name, the same place."""
    if request.param == "file":
        return lambda name: tmp_path / f"{name}.db"
    server, known = request.getfixturevalue("server"), {}
    return lambda name: known.setdefault(name, server.database(len(known)))
