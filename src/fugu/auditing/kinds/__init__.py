"""What `fugu.verify` knows of each kind of document."""

from fugu.auditing.kinds import laws as laws
from fugu.auditing.kinds import mixed as mixed
from fugu.auditing.kinds import per_entry as per_entry
from fugu.auditing.kinds import sequences as sequences
from fugu.auditing.kinds import training as training
from fugu.auditing.kinds.registry import KINDS as KINDS
from fugu.auditing.kinds.registry import judge as judge
