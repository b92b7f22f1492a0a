"""Where the data of the papers is found: a folder that is given, FUGU_DATA, then a cache; the source only if asked.

Every file is known by its SHA-256, that of what is inside if it is compressed. A file with another one is refused: a
table that was reproduced from other rows is worse than none."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fugu.errors import UnknownName, UsageError
from fugu.files import write_bytes
from fugu.progress import report

_PART = 1 << 16
_PATIENCE = 30.0
"""Seconds that a source may keep silent."""
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"


@dataclass(frozen=True)
class DataFile:
    """A file of a data set: where it lies in a folder, what it must hold, and where it comes from.

    `path` is relative to the folder and ends in .gz if it is compressed there; `sha256` is of the bytes inside; `url`
    is the original source, empty if there is none to name; `member` is the file's name in an archive."""

    path: str
    sha256: str
    url: str = ""
    member: str = ""
    about: str = ""


def _files(*files: DataFile) -> Mapping[str, DataFile]:
    return MappingProxyType({file.path: file for file in files})


FILES = _files(
    DataFile(
        "adult/adult.data.csv.gz",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        _UCI + "adult/adult.data",
    ),
    DataFile(
        "adult/adult.test.csv.gz",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        _UCI + "adult/adult.test",
    ),
    DataFile(
        "student/student-mat.csv",
        "e47f9ee225e1ee6e69b7564e6dac7123e80b8486677fe111f351964cef5dec80",
        _UCI + "00320/student.zip",
        "student-mat.csv",
    ),
    DataFile(
        "student/student-por.csv",
        "a7594a11d7771c0efe1a740824e0e833da9c4cad07c39a9766a874575563fb3f",
        _UCI + "00320/student.zip",
        "student-por.csv",
    ),
    DataFile(
        "bank/bank-full.csv.gz",
        "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
        _UCI + "00222/bank.zip",
        "bank-full.csv",
    ),
    DataFile(
        "heart/processed.cleveland.data",
        "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8",
        _UCI + "heart-disease/processed.cleveland.data",
    ),
    DataFile(
        "heart/processed.hungarian.data",
        "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796",
        _UCI + "heart-disease/processed.hungarian.data",
    ),
    DataFile(
        "foursquare/nyc_top193_users.csv.gz",
        "2e0de76da8dd4fd418fee9d7fa7c7e33ecb6c5524c341d066f6dc290726e3741",
        about="an extract of the check-ins of Yang, Zhang, Zheng and Yu 2015; no open licence",
    ),
    DataFile(
        "foursquare/nyc_tsmc2014_last_part.csv.gz",
        "3a503bba10b2059057d363cd85140a41130ca08c85aa5fd8b17c823092dcfb19",
        about="an extract of the check-ins of Yang, Zhang, Zheng and Yu 2015; no open licence",
    ),
    DataFile(
        "foursquare/category_roots.csv",
        "3101caf183e0a210d74449d038d7137aed067caf9c32dc8732209ab9d1935968",
        about="categories of check-ins, and the ten roots that they belong to",
    ),
    DataFile(
        "activity/mvad.csv.gz",
        "b13ea4bdcd715b6bed9bc75fde5ef0ecd1095e35239e3fdbe5b48c59922998d1",
        about="McVicar and Anyadike-Danes 2002, as distributed with TraMineR",
    ),
    DataFile(
        "activity/uci_har_labels.csv.gz",
        "4ed517936efcdd9ffc11f9e89255b9bccd8277bd9a296b5527a13845e9be15fb",
        about="labels of UCI Human Activity Recognition (2013)",
    ),
    DataFile(
        "activity/wisdm_labels.csv.gz",
        "b3de7a46ecc5996d43ee3ab4417608b3bc34e90e5d8135cec4862d355513f48d",
        about="labels of WISDM activity prediction v1.1 (2010)",
    ),
    DataFile(
        "activity/ordonez_adl.csv",
        "759846bd0e0b74436828521bfc0d3c7098a385666c096a8698388b163cb9da04",
        about="UCI Activities of Daily Living (2013)",
    ),
    DataFile(
        "electricity/ampds2_minutes.csv.gz",
        "b86a69607b230287af56d46ec825981f398f8673bc6301c4a70a5f1113282f40",
        about="minutes of one house, AMPds2 (2016)",
    ),
)
"""Every file that an experiment may ask for, by its path."""


class DataMissing(UsageError):
    """Data of a paper that is in none of the places where it is looked for."""


class WrongData(UsageError):
    """A file with the right name and other content."""


@dataclass(frozen=True)
class Shelf:
    """Finds data files.

    `folder`: looked in first; then the folder that the variable FUGU_DATA names, then the cache. `download`: whether a
    file that is nowhere is fetched from its source into the cache."""

    folder: Path | None = None
    download: bool = False

    def __post_init__(self) -> None:
        if self.folder is not None and not self.folder.is_dir():
            raise DataMissing(f"--folder: no folder {str(self.folder)!r}")
        own = os.environ.get("FUGU_DATA")
        if own and not Path(own).is_dir():
            raise DataMissing(f"FUGU_DATA names no folder: {own!r}")

    def places(self) -> tuple[Path, ...]:
        """The folders, in the order in which they are looked in."""
        own = os.environ.get("FUGU_DATA")
        named = [self.folder, Path(own) if own else None, cache_folder()]
        return tuple(place for place in named if place is not None)

    def find(self, path: str) -> Path | None:
        """The file, wherever it is first found; None if nowhere. Its content is not looked at."""
        known(path)
        return next((place / path for place in self.places() if (place / path).is_file()), None)

    def content(self, path: str) -> bytes:
        """What is in the file, decompressed and checked; DataMissing, WrongData, or a failed download as UsageError."""
        wanted, found = known(path), self.find(path)
        if found is None:
            return self._fetched(wanted)
        inside = _inside(found.read_bytes(), str(found), path.endswith(".gz"))
        _check(inside, wanted, str(found))
        return inside

    def text(self, path: str) -> str:
        """The same as text."""
        return self.content(path).decode("utf-8")

    def _fetched(self, wanted: DataFile) -> bytes:
        looked = ", ".join(repr(str(place)) for place in self.places())
        if not self.download or not wanted.url:
            what = f" ({wanted.about})" if wanted.about else ""
            way = "; or say --download to fetch it from its source" if wanted.url else ""
            raise DataMissing(
                f"{wanted.path}{what} is needed, and was not found in {looked}; put it into a folder and name that "
                f"with --folder or FUGU_DATA{way}"
            )
        inside = fetch(wanted.url, wanted.path)
        if wanted.member:
            inside = _member(inside, wanted)
        _check(inside, wanted, wanted.url)
        _keep(cache_folder() / wanted.path, gzip.compress(inside, mtime=0) if wanted.path.endswith(".gz") else inside)
        return inside


def known(path: str) -> DataFile:
    """The data file of this path; UnknownName, with a suggestion, if there is none."""
    if path not in FILES:
        raise UnknownName("data file", path, FILES)
    return FILES[path]


def cache_folder() -> Path:
    """Where downloads are kept: `fugu/data` in XDG_CACHE_HOME, or in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fugu" / "data"


def fetch(url: str, what: str) -> bytes:
    """What the source sends, all of it; UsageError if it cannot be reached or stops before its end.

    Nothing is written before it is complete and its checksum is right."""
    parts = bytearray()
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as answer:  # the addresses are those above, all https
            length = int(answer.headers.get("Content-Length") or 0)
            while part := answer.read(_PART):
                parts += part
                report(f"fetching {what}", len(parts), max(length, len(parts)))
    except (urllib.error.URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise UsageError(
            f"{what} could not be fetched from {url}: {reason}; nothing was kept. Try again, or put the file into a "
            f"folder and name that with --folder"
        ) from error
    if length and len(parts) != length:
        raise UsageError(f"the download of {what} from {url} was interrupted after {len(parts)} of {length} bytes; "
                         f"nothing was kept. Try again")  # fmt: skip
    return bytes(parts)


def _check(inside: bytes, wanted: DataFile, where: str) -> None:
    found = hashlib.sha256(inside).hexdigest()
    if found != wanted.sha256:
        raise WrongData(
            f"{where} is not {wanted.path}: its SHA-256 is {found}, and should be {wanted.sha256}; remove it, or name "
            f"another folder with --folder"
        )


def _inside(raw: bytes, where: str, compressed: bool) -> bytes:
    try:
        return gzip.decompress(raw) if compressed else raw
    except (OSError, EOFError, zlib.error) as error:
        raise WrongData(f"{where} is not whole: {error}; remove it, or name another folder with --folder") from error


def _member(archive: bytes, wanted: DataFile) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            return opened.read(wanted.member)
    except (zipfile.BadZipFile, KeyError, zlib.error, EOFError) as error:
        raise WrongData(f"{wanted.url} is no archive with {wanted.member!r} in it: {error}") from error


def _keep(path: Path, raw: bytes) -> None:
    """Into the cache, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, raw)
