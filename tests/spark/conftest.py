"""One Spark session for all tests on it: two threads, no network, as quiet as it gets. Without Java or pyspark they are
skipped, with the reason."""

from __future__ import annotations

import shutil
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
HERE = Path(__file__).parent


def missing():
    """Why there is no Spark here; None if there is."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed: make test-spark installs it"
    return None if shutil.which("java") is not None else "there is no Java, which Spark runs on"


def pytest_collection_modifyitems(items):
    why = missing()
    for item in items:
        if Path(item.fspath).is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"))
            item.add_marker(pytest.mark.filterwarnings("ignore:.*pandas >= 3:FutureWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            if why is not None:
                item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session of two threads, which tries a failed task up to four times."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from spark_session import session

        found = session(tmp_path_factory.mktemp("spark"))
    yield found
    found.stop()


@pytest.fixture(autouse=True)
def by_value(request):
    """Executors cannot import tests."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(request.module)
    yield
    cloudpickle.unregister_pickle_by_value(request.module)
