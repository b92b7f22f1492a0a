"""Calibration: try methods, keep the least noise that is re-proved."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison as Comparison
    from fugu.calibration.comparison import Row as Row
else:
    __getattr__ = names(__name__)
