"""Calibration: try methods, keep the least noise that is re-proved."""

from fugu.calibration.calibrate import calibrate as calibrate
from fugu.calibration.compare import compare as compare
from fugu.calibration.comparison import Comparison as Comparison
from fugu.calibration.comparison import Row as Row
from fugu.calibration.plan import plan as plan
