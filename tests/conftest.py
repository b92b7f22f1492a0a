"""The tests folder is importable, and property tests have no deadline: machines are noisy, and speed is for benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("fugu", deadline=None, print_blob=True)
settings.load_profile("fugu")
