"""What `fugu.verify` knows of each kind of document."""

from fugu.verifier.kinds import channel as channel
from fugu.verifier.kinds import laws as laws
from fugu.verifier.kinds import mixed as mixed
from fugu.verifier.kinds import per_entry as per_entry
from fugu.verifier.kinds import records as records
from fugu.verifier.kinds import release as release
from fugu.verifier.kinds import sequences as sequences
from fugu.verifier.kinds import training as training
from fugu.verifier.kinds.registry import KINDS as KINDS
from fugu.verifier.kinds.registry import judge as judge
