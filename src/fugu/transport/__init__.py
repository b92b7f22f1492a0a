"""How far apart two laws are when mass is moved as well as it can be: exact on the line."""

from fugu.transport.closeness import closeness as closeness
from fugu.transport.wasserstein import wasserstein as wasserstein
