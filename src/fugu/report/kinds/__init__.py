"""The pages of every kind of document."""

from fugu.report.kinds import channel as channel
from fugu.report.kinds import laws as laws
from fugu.report.kinds import per_entry as per_entry
from fugu.report.kinds import records as records
from fugu.report.kinds import release as release
from fugu.report.kinds import sequences as sequences
from fugu.report.kinds import training as training
from fugu.report.kinds.registry import PAGES as PAGES
from fugu.report.kinds.registry import Said as Said
from fugu.report.kinds.registry import parts_of as parts_of
