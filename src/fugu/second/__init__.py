"""A second proof of certificates, from the definition: integers and rationals only, and no code of the first proof."""

from fugu.second.prove import prove_again as prove_again
from fugu.second.result import Second as Second
