"""The pictures of docs/pictures: every kind of page as people get it, on a phone, a wide screen and paper, light and
dark. `make shots` draws them again; a picture is for looking at, and no test compares pixels."""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import numpy as np
from browser import WHY_NOT, Browser, chromium

sys.path.append(str(Path(__file__).resolve().parents[1]))

import fugu
from release_files import command

ROOT = Path(__file__).resolve().parents[2]
FOLDER, SITE = ROOT / "docs" / "pictures", ROOT / "site" / "index.html"
CLINIC = Path(fugu.__file__).parent / "examples"
DEVICES = {
    "wide": {"width": 1280, "height": 900},
    "phone": {"width": 390, "height": 844, "dark": True},
    "paper": {"width": 657, "media": "print"},
}
_SCALE, _TALL, _GAP, _MARGIN, _COLOURS, _GROUND = 0.66, 1250, 14, 40, 96, (128, 134, 142)
"""How large, how much of the top of a page (in its own pixels), the space between pictures, the margin of paper."""
_FOLLOWS = {"home": (8, 3, 1), "work": (3, 6, 2), "shop": (5, 3, 2)}
"""How often home, work and shop come next."""
_RELEASE = ("release", "patients.csv", "--reference", "last-year.csv", "--no-ledger", "-o", "out.csv")
_WALKS = ("--by", "user", "--order", "time", "--state", "place")
JOBS = {
    "column": (*_RELEASE, "--publish", "chol", "--protect", "smoker", "--unit", "patient", "--epsilon", "1"),
    "statistics": (*_RELEASE, "--query", "count, mean(chol), histogram(ward) by sex", "--protect", "smoker",
                   "--unit", "patient", "--epsilon", "1"),
    "sequence": ("release", "week46.csv", "--reference", "last_month.csv", *_WALKS, "--query", "histogram; top2",
                 "--epsilon", "1", "--no-ledger", "-o", "out.csv"),
    "property": (*_RELEASE, "--hide", "smoker=yes", "--statistics", "mean(chol),count(sex=F)", "--tolerance", "0.02",
                 "--epsilon", "1", "--delta", "1e-3", "--bounds", "chol:100:400"),
    "training": ("train", "meter.csv", "--target", "load", "--order", "hour", "--prior", "ar1:0.3", "--epsilon", "2",
                 "--delta", "1e-5", "--features", "cold,wind", "--bounds", "cold:-10:30,wind:0:15,load:0:100",
                 "--no-ledger", "-o", "out.json"),
    "compare": ("compare", "last-year.csv", "--publish", "chol", "--protect", "smoker", "--epsilon", "0.5", "--delta",
                "1e-6", "--figure", "out.report.html"),
    "tolerance": ("property", "last-year.csv", "--statistics", "mean(chol),mean(age),count(sex=F)", "--hide", "smoker",
                  "--size", "200", "--tolerance", "0.1", "--epsilon", "1", "--delta", "1e-3", "--figure",
                  "out.report.html"),
    "influence": ("influence", "last_month.csv", *_WALKS, "--epsilon", "1", "--length", "50", "--plot",
                  "out.report.html"),
    "channel": (*_RELEASE, "--publish", "chol", "--protect", "smoker", "--unit", "patient", "--epsilon", "0.5",
                "--mechanism", "optimal", "--allow-no-noise"),
    "to-sign": (*_RELEASE[:-2], "--publish", "chol", "--protect", "smoker", "--unit", "patient", "--epsilon", "0.5",
                "--rows", "900", "--dry-run", "--report", "out.report.html"),
}  # fmt: skip
"""Each kind of page, and the command that makes it."""


def tables(folder: Path) -> None:
    """The tables of the tutorials: a clinic, places of users, hours of a meter."""
    for name, source in (("patients", "clinic_today"), ("last-year", "clinic_reference")):
        (folder / f"{name}.csv").write_bytes((CLINIC / f"{source}.csv").read_bytes())
    walk = random.Random(46)
    for name, users, hours in (("last_month", 200, 100), ("week46", 300, 50)):
        lines = ["user,time,place"]
        for user in range(users):
            place = "home"
            for hour in range(hours):
                lines.append(f"u{user},{hour},{place}")
                place = walk.choices(list(_FOLLOWS), _FOLLOWS[place])[0]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", "utf-8")
    draw = np.random.default_rng(1)
    cold, wind = draw.normal(10, 4, 3000), draw.uniform(0, 15, 3000)
    load = 60 - 1.5 * cold + 0.5 * wind + draw.normal(0, 3, 3000)
    rows = [f"{hour},{c:.2f},{w:.2f},{x:.2f}" for hour, (c, w, x) in enumerate(zip(cold, wind, load, strict=True))]
    (folder / "meter.csv").write_text("\n".join(("hour,cold,wind,load", *rows)) + "\n", "utf-8")


def page(name: str, folder: Path) -> Path:
    """The page of such a job, made by the command that people use."""
    own = folder / name
    own.mkdir()
    for table in folder.glob("*.csv"):
        (own / table.name).symlink_to(table)
    done = [str(own / word) if word.endswith((".csv", ".json", ".html")) else word for word in JOBS[name]]
    code, said = command(*done)
    assert code == 0, said
    return own / "out.report.html"


def strip(browser: Browser, path: Path | str, target: Path) -> None:
    """The top of a page on every device, side by side, in few colours."""
    from PIL import Image

    tall, tops = round(_TALL * _SCALE), []
    for device, how in DEVICES.items():
        browser.open(path, **how, scale=_SCALE)
        browser.picture(target)
        browser.run("localStorage.clear()")  # where the site keeps whether it was dark
        with Image.open(target) as whole:
            margin = _MARGIN if device == "paper" else 0
            top = Image.new("RGB", (whole.width + 2 * margin, tall), whole.convert("RGB").getpixel((0, 0)))
            top.paste(whole, (margin, margin))
            tops.append(top)
    drawn = Image.new("RGB", (sum(top.width + _GAP for top in tops) + _GAP, tall + 2 * _GAP), _GROUND)
    left = _GAP
    for top in tops:
        drawn.paste(top, (left, _GAP))
        left += top.width + _GAP
    drawn.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(target, optimize=True)


STUDIO = {
    "studio-sequences": "noise", "studio-noise": "noise", "studio-sign": "sign", "studio-check": "check",
}  # fmt: skip
"""Screens of the studio that have a picture."""


def studio(browser: Browser, names: list[str]) -> None:
    """Draw screens of the studio on the clinic, as far as the officer's."""
    sys.path.append(str(ROOT / "tests" / "studio"))
    from studios import ENTRIES, diaries, running, state_of
    from studios import tables as clinic

    def drawn(client, *wanted: str) -> None:
        for name in (name for name in names if name in wanted):
            strip(browser, client.guard.origin + client.root + STUDIO[name], FOLDER / f"{name}.png")
            print(f"drew docs/pictures/{name}.png")

    def entered(client):
        browser.open(client.address)
        found = browser.call("Network.getCookies", urls=[client.guard.origin + client.root])["cookies"]
        client.cookie = next(f"fugu={cookie['value']}" for cookie in found if cookie["name"] == "fugu")
        return client

    with tempfile.TemporaryDirectory() as place:
        folder = clinic(diaries(Path(place)))
        walked = {**state_of(folder), "reference": str(folder / "last.csv"), "table": "today.csv"}
        with running(walked, str(folder / "today.csv")) as client:
            drawn(entered(client).plan("", ENTRIES), "studio-sequences")
        with running(state_of(folder), str(folder / "clinic_today.csv")) as client:
            entered(client).plan().sign().release()
            out = folder / "out"
            given = [(file, (out / file).read_bytes()) for file in ("release-1.certificate.json", "release-1.csv")]
            client.upload([given[0], (given[1][0], given[1][1].replace(b"1", b"2", 1))], {"twice": "on"})
            client.wait()
            drawn(client, "studio-noise", "studio-sign", "studio-check")


def main(names: list[str]) -> None:
    """Draw these kinds of page, or all; the home page of the site where `make docs` has built it."""
    if chromium() is None:
        raise SystemExit(WHY_NOT)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place, Browser() as browser:
        folder = Path(place)
        tables(folder)
        wanted = names or [*STUDIO, *JOBS, *(["home"] if SITE.exists() else [])]
        if screens := [name for name in wanted if name in STUDIO]:
            studio(browser, screens)
        for name in (name for name in wanted if name not in STUDIO):
            strip(browser, SITE if name == "home" else page(name, folder), FOLDER / f"{name}.png")
            print(f"drew docs/pictures/{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
