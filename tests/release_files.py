"""What tests ask of the files of a release: releases of every kind, the certificates inside, and what verify says."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.documents.document import digest_of
from fugu.documents.kinds import inner
from fugu.documents.release import PrivatePart, ReleaseDocument
from fugu.errors import FuguError

DRAWN = ("fugu", "digest", "date")
"""Parts of a release document that every run writes anew."""


def document_of(path):
    """The release document that lies beside the published file `path`, or is `path`."""
    path = Path(path)
    return ReleaseDocument.load(path if path.name.endswith(".certificate.json") else _beside(path, "certificate"))


def certificates_of(path):
    """{group: certificate} inside it, each read by its own schema; from the private part where they are withheld."""
    document = document_of(path)
    bodies = document.certificates
    if bodies is None:
        plain = Path(str(path).replace(".certificate.json", ".csv"))
        bodies = document.opened(PrivatePart.load(_beside(plain, "private")))
    return {group: inner(body) for group, body in bodies.items()}


def certificate_of(path):
    """The only certificate inside it."""
    (found,) = certificates_of(path).values()
    return found


def public_part(body):
    """What a reader learns of the release itself: a document without what is drawn anew for every run, and without
    the sizes and digests of the published files, which are those of drawn values."""
    kept = {name: part for name, part in body.items() if name not in DRAWN}
    if "data" in kept:
        for salted in ("data", "beliefs"):
            kept[salted] = {name: part for name, part in kept[salted].items() if name != "commitment"}
        kept["published"] = [
            {name: part for name, part in file.items() if name not in ("sha256", "bytes")} for file in kept["published"]
        ]
    return kept


def _beside(path, part):
    return path.with_suffix(f".{part}.json")


# --- releases of every kind, through the command ---------------------------------------------------------------------

HEAD = "g,s,v,u,t"
LAW = ("--route", "law")
RELEASES = {
    "column": ("--publish", "v", "--protect", "s"),
    "binned": ("--publish", "v", "--protect", "s", "--bins", "0,2,4,6"),
    "mean": ("--query", "mean(v)", *LAW, "--protect", "s", "--bounds", "0,5", "--step", "1"),
    "sum": ("--query", "sum(v)", *LAW, "--protect", "s", "--bounds", "0,5", "--step", "1"),
    "count": ("--query", "count(v=1)", *LAW, "--protect", "s"),
    "groups": ("--query", "mean(v)", *LAW, "--protect", "s", "--by", "g", "--bounds", "0,5", "--step", "1"),
    "histogram": ("--query", "histogram(v)", *LAW, "--protect", "s"),
    "histograms": ("--query", "histogram(v)", *LAW, "--protect", "s", "--by", "g"),
    "edges": ("--query", "histogram(v)", *LAW, "--protect", "s", "--bins", "0,2,4,6"),
    "crosstab": ("--query", "crosstab(g, v)", *LAW, "--protect", "s"),
    "many": ("--query", "count; mean(v); histogram(v) by g", "--protect", "s", "--bounds", "0,5", "--step", "1"),
    "sequence": ("--query", "histogram", "--by", "u", "--order", "t", "--state", "g"),
    "top": ("--query", "top2", "--by", "u", "--order", "t", "--state", "g"),
}
TRAIN = ("--target", "v", "--prior", "independent", "--epsilon", "2", "--delta", "1e-3", "--features", "t",
         "--bounds", "t:0:10,v:0:6", "--model", "linear")  # fmt: skip


def written_table(path, rows, seed):
    """A table of `rows` rows for all of them: group, secret, value, user, time."""
    draw = random.Random(seed)
    lines = [f"{'xyz'[draw.randrange(3)]},{'ab'[i % 2]},{draw.randrange(4) + i % 2},u{i // 6},{i % 6}"
             for i in range(rows)]  # fmt: skip
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return path


def prepared(folder, seed=0):
    """A folder with ref.csv and today.csv."""
    written_table(folder / "ref.csv", 240, 2 * seed)
    written_table(folder / "today.csv", 60, 2 * seed + 1)
    return folder


def copied(made, place):
    """A copy of a folder that several tests share, for one of them to change."""
    return Path(shutil.copytree(made, place / "f"))


def command(*words):
    """(exit code, what is printed or the message of the error) of a command."""
    found = CliRunner().invoke(cli.app, [str(word) for word in words], env={"COLUMNS": "200"})
    if isinstance(found.exception, FuguError):
        return found.exception.exit_code, str(found.exception)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout


def released(folder, kind, *more, out="out.csv", source=("--reference", "ref.csv"), books=("--no-ledger",)):
    """Release one of `RELEASES` (or train a model) into `folder`/made; the published file."""
    (folder / "made").mkdir(exist_ok=True)
    if kind == "model":
        target = folder / "made" / "model.json"
        code, said = command("train", folder / "today.csv", *TRAIN, *books, "-o", target, *more)
    else:
        target = folder / "made" / out
        source = (source[0], *(folder / name for name in source[1:]))
        exact = () if kind in ("top", "many") else ("--allow-no-noise",)
        asked = (*RELEASES[kind], "--epsilon", "1", *source, *books, *exact)
        code, said = command("release", folder / "today.csv", *asked, "-o", target, *more)
    assert code == 0, said
    return target


def beside(path):
    """The release document beside a published file."""
    return path.with_suffix(".certificate.json")


def checks(*words):
    """(exit code, {name: (outcome, why)}) of `fugu verify --json`."""
    code, said = command("verify", *words, "--json")
    told = json.loads(said)
    assert told["holds"] == (code == 0)
    return code, {line["name"]: (line["outcome"], line["why"]) for line in told["checks"]}


def resealed(body):
    """What a forger does last: digests that match, at every level."""
    body = {name: part for name, part in body.items() if name != "digest"}
    if isinstance(body.get("certificates"), list):
        body["certificates"] = [{**part, "certificate": resealed(part["certificate"])} for part in body["certificates"]]
    if "families" in body:
        body["fingerprint"] = digest_of(body["families"])
    return {**body, "digest": digest_of(body)}


def forged(path, change):
    """Let `change` edit the release document at `path`, and seal it again."""
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(resealed(body)))
    return path
