"""The tests folder is importable; property tests have no deadline (speed is measured in benchmarks only) and draw the
same cases in every run of `make test`. `make hunt` draws new ones (hunting.py)."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("fugu", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("fugu")
