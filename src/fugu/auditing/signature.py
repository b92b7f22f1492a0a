"""A signature over the bytes of a document, by a person's own SSH key: made and checked by `ssh-keygen`.

`ssh-keygen -Y sign -n fugu-release` writes DOCUMENT.sig beside the document. Who may sign is said by a file of allowed
signers (a line for each: principals, key type, key; see ssh-keygen(1)), which whoever checks has from elsewhere. The
key may be in an agent; fugu never reads it. A signature says who stands by these bytes, not what they prove."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import which

from fugu.auditing.beside import Exhibit, find
from fugu.documents.document import Checked, NotChecked
from fugu.errors import CertificateError, MissingExtra, UsageError
from fugu.files import discard, write_bytes
from fugu.visible import visible

NAMESPACE = "fugu-release"
"""What a signature is for: one over the same bytes for another purpose does not count."""
_TOOL = "ssh-keygen"
_MISSING = f"there is no {_TOOL} on this computer; it comes with OpenSSH (on Debian: apt-get install openssh-client)"
_LONG = 60
"""Seconds within which a check ends."""


def signature_of(document: Path) -> Path:
    """The file beside a document that holds its signature."""
    return document.with_name(document.name + ".sig")


def sign(document: str | os.PathLike[str], key: str | os.PathLike[str], force: bool = False) -> Path:
    """Sign the bytes of a document with an SSH key, a private one or the public half of one in an agent; `ssh-keygen`
    asks for what the key asks for. `force`: a signature that is there is replaced. Returns the file it is in.

    Raises `UsageError` where the document, the key or a fresh place for the signature is missing, `CertificateError`
    for what is no whole document, `MissingExtra` without ssh-keygen."""
    path, found = Path(document), find(document)
    file, target = _file(found), signature_of(path)
    if file is None or not path.is_file():
        raise UsageError(f"{path.name!r} is not one document; name the certificate that is signed")
    if not Path(key).is_file():
        raise UsageError(f"there is no key {str(key)!r}; ssh-keygen -t ed25519 makes one")
    if target.exists() and not force:
        raise UsageError(f"{target.name!r} exists: the document is signed; --force replaces the signature")
    if which(_TOOL) is None:
        raise MissingExtra(_MISSING)
    before = target.read_bytes() if target.exists() else None
    discard(target)  # ssh-keygen asks before it replaces one
    words = (_TOOL, "-q", "-Y", "sign", "-f", str(Path(key).absolute()), "-n", NAMESPACE, str(path.absolute()))
    done = subprocess.run(words, check=False, stdout=subprocess.DEVNULL)  # it asks for a passphrase on the terminal
    if done.returncode or not target.is_file():
        if before is not None:
            write_bytes(target, before)
        raise UsageError(f"{_TOOL} did not sign {path.name!r} with this key; what it says stands above")
    return target


def signature_checks(found: Exhibit, signers: str | os.PathLike[str] | None) -> Iterator[Checked]:
    """The line about the signature: holds for one by an allowed signer over exactly these bytes; it fails where signers
    are named and there is none, or one of somebody else. Without signers it is said not to be checked, if it is there.

    Raises `UsageError` where the file of signers is not there."""
    if signers is None:
        file = _file(found)
        if file is not None and signature_of(file).is_file():
            yield "signature", "not checked", "who may sign was not said (--signer, a file of allowed signers)"
        return
    if not Path(signers).is_file():
        raise UsageError(f"--signer: {str(signers)!r} is not a file; it has a line for each who may sign")
    try:
        yield "signature", "holds", signed_by(found, signers)
    except NotChecked as why:
        yield "signature", "not checked", str(why)
    except CertificateError as error:
        yield "signature", "fails", str(error)


def signed_by(found: Exhibit, signers: str | os.PathLike[str]) -> str:
    """Who signed the document, in words. Raises `CertificateError` where nobody who is allowed did, `NotChecked` where
    that cannot be found out here."""
    file = _file(found)
    if file is None:
        raise NotChecked("a signature is over the bytes of a file, and this document is none")
    signature = signature_of(file)
    if not signature.is_file():
        raise CertificateError(f"nobody signed it: there is no {signature.name}")
    if which(_TOOL) is None:
        raise NotChecked(_MISSING)
    if Path(signers).read_bytes().startswith((b"ssh-", b"ecdsa-", b"sk-")):
        raise UsageError(
            f"{Path(signers).name!r} is a key, not a list of who may sign: that has a line for each of them, with the "
            "name before the key"
        )
    beside, allowed = ("-s", str(signature.absolute())), ("-f", str(Path(signers).absolute()))
    told = _asked("find-principals", *beside, *allowed).splitlines()
    if not told:
        raise CertificateError(f"{signature.name} is by no key that is allowed to sign")
    content = file.read_bytes()
    for principal in told:
        said = _asked("verify", *allowed, "-I", principal, "-n", NAMESPACE, *beside, stdin=content)
        if said:
            return f"signed by {visible(principal)}, {visible(said.splitlines()[0].rpartition(' with ')[2])}"
    raise CertificateError(f"{signature.name} is not over these bytes: the document was changed after it was signed")


def _file(found: Exhibit) -> Path | None:
    return None if found.folder is None or found.name is None else found.folder / found.name


def _asked(action: str, *words: str, stdin: bytes = b"") -> str:
    """What ssh-keygen says if it agrees; else nothing. `NotChecked` where it cannot do this at all."""
    call: Sequence[str] = (_TOOL, "-Y", action, *words)
    try:
        done = subprocess.run(call, input=stdin, capture_output=True, timeout=_LONG, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotChecked(f"{_TOOL} did not answer ({type(error).__name__})") from None
    if b"nsupported" in done.stderr or b"usage:" in done.stderr.lower():
        raise NotChecked(f"this {_TOOL} is too old to check signatures (OpenSSH 8.2 or later does)")
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
