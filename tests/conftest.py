"""The tests folder is importable, and property tests have no deadline: speed is measured in benchmarks only."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("fugu", deadline=None, print_blob=True)
settings.load_profile("fugu")
