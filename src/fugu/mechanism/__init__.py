"""Mechanisms: noise plus the certificate that says why it suffices; releases."""

from fugu.mechanism.additive import Additive as Additive
from fugu.mechanism.certificate import Certificate as Certificate
from fugu.mechanism.context import Context as Context
from fugu.mechanism.mechanism import Mechanism as Mechanism
from fugu.mechanism.mixed import Mixed as Mixed
from fugu.mechanism.mixed import mix as mix
from fugu.mechanism.per_entry import PerEntryDP as PerEntryDP
from fugu.mechanism.release import Release as Release
