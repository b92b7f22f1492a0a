"""A second proof of certificates, from the definition: integers and rationals only, and no code of the first proof."""

from fugu_verify.prove import prove_again as prove_again
from fugu_verify.result import BadCertificate as BadCertificate
from fugu_verify.result import Second as Second
