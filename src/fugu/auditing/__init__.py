"""Looking at a mechanism from outside: `verify`, `audit`, and what holds against other beliefs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fugu.documents.document import Verdict
from fugu.documents.reading import load_json
from fugu.errors import UsageError
from fugu.lazily import names
from fugu.verifier.verify import Source
from fugu.verifier.verify import verify as proved_again

if TYPE_CHECKING:
    from fugu.auditing.against import guarantee_against as guarantee_against
    from fugu.auditing.against import guarantee_within as guarantee_within
    from fugu.auditing.attack import property_attack as property_attack
    from fugu.auditing.outcome import AttackReport as AttackReport
    from fugu.auditing.outcome import Audit as Audit
    from fugu.auditing.release_attack import audit as audit
    from fugu.auditing.theorems import proposition_a7 as proposition_a7
    from fugu.auditing.theorems import theorem_a3 as theorem_a3
    from fugu.auditing.theorems import theorem_a4 as theorem_a4
    from fugu.laws.pair import PairsLike
else:
    __getattr__ = names(__name__)

PathLike = str | os.PathLike[str]
MODEL = "fugu/model/1"


def verify(
    mechanism_or_certificate: Source,
    scenario_or_pairs: PairsLike | None = None,
    *,
    published: PathLike | None = None,
    reference: PathLike | None = None,
    ledger: PathLike | None = None,
    data: PathLike | None = None,
    private: PathLike | None = None,
    signer: PathLike | None = None,
    twice: bool = False,
) -> Verdict:
    """Check a document of any kind and prove again what it promises; of a release also whatever of it is given.

    Parameters:

    - `mechanism_or_certificate`: a mechanism, a certificate (of a release, a mixture, a training, sequences, or per
      entry), the path of its file or of a model, or of a folder that holds one release.
    - `scenario_or_pairs`: laws to prove it for in place of the certificate's own; they are first pushed through the
      certificate's rounding, as the data is. For certificates of releases only, and without any of the following.
    - `published`: the published file; by default the file of that name beside the document, if anything else is given.
    - `reference`: the table that beliefs were fitted on: it must be the file that is named, and give the laws proved.
    - `ledger`: the ledger that was charged: it must be whole, and hold the entry that is named.
    - `data`: the private table; checked against the salted commitment, which needs the private part. Of sequences
      also the lengths, which are public, against the prior.
    - `private`: the private part; by default the one beside the document that belongs to it.
    - `signer`: a file of allowed signers, as of ssh-keygen: one of them must have signed the document (`fugu sign`).
    - `twice`: True to prove everything a second time, by a proof that shares no code with the first.

    Returns a `Verdict`: `holds`, the proved `epsilon` and `delta`, the `worst_pair`, the `reason`, and every check by
    name. Nothing stored is believed but what the document says it runs and what it promises: the noise, the lattice,
    the budget; the query and the chain; the parameters of a training. Raises `CertificateError` for what is not a
    whole, unedited document of fugu, or one whose parts do not belong together; `UsageError` for other arguments."""
    given = {"published": published, "reference": reference, "ledger": ledger, "data": data, "private": private,
             "signer": signer}  # fmt: skip
    outside = twice or any(path is not None for path in given.values())
    if isinstance(source := mechanism_or_certificate, str | os.PathLike) and scenario_or_pairs is None and not outside:
        content = None if Path(source).is_dir() else load_json(source)
        outside = content is None or (isinstance(content, dict) and content.get("schema") == MODEL)
    if not outside:
        return proved_again(mechanism_or_certificate, scenario_or_pairs)
    if scenario_or_pairs is not None:
        raise UsageError("other laws are proved by themselves; give them without files to check, and without twice=")
    from fugu.auditing.examine import examine  # which finds noise again for some references

    return examine(mechanism_or_certificate, **given, twice=twice)
