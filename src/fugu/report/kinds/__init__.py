"""The pages of every kind of document."""

from fugu.report.kinds import laws as laws
from fugu.report.kinds import release as release
from fugu.report.kinds.registry import PAGES as PAGES
from fugu.report.kinds.registry import Said as Said
from fugu.report.kinds.registry import parts_of as parts_of
