"""Sequences for Tables 2 to 5, 7 and 8: public stand-ins for the data of the paper, and a synthetic chain.

All that the experiments need of a data set: how often a state follows another in the training part, how often each
state occurs in each group of the test part, and the length of the longest sequence. The check-ins of the whole world
and the Capture24 recordings are not here; check-ins of New York, careers and activities stand in for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.priors.chain import MarkovChain
from fugu_papers.counted import Counts, counted, counts, table_rows, tally
from fugu_papers.experiment import Own, Setting
from fugu_papers.shelf import Shelf

TAU = 1e-5
"""What Appendix D.2 puts in the place of a probability of 0."""
LABELS = 77
"""Categories of check-ins that stay; all others become "other"."""
_CHECKINS = "foursquare/nyc_top193_users.csv.gz"
_MVAD = "activity/mvad.csv.gz"
_HAR = "activity/uci_har_labels.csv.gz"
_WISDM = "activity/wisdm_labels.csv.gz"
_METER = "electricity/ampds2_minutes.csv.gz"
_BIN, _EVERY = 1000, 10
"""Watts in a bin of the meter, and every how many minutes it is read."""
Walks = dict[str, list[list[str]]]
"""Sequences by the group that they belong to; those of "" are for training."""


@dataclass(frozen=True)
class Study:
    """A data set: its `states`, `follows[x][y]` in the training part, `groups` of test counts, the longest `length`."""

    name: str
    states: tuple[str, ...]
    follows: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    length: int

    @cached_property
    def chain(self) -> MarkovChain:
        """The prior of the paper: smoothed frequencies (D.2), stationary, for sequences of this length."""
        return MarkovChain(smoothed(self.follows), self.length, states=self.states)


def smoothed(follows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Appendix D.2: `TAU` for every probability of 0, taken from the others in proportion; unseen rows are uniform.

    >>> smoothed([[1, 3, 0], [0, 0, 0], [1, 1, 2]]).round(5).tolist()[0]
    [0.25, 0.74999, 1e-05]
    """
    seen = np.asarray(follows, dtype=np.float64)
    rows = np.where(seen.sum(axis=1, keepdims=True) == 0, 1.0, seen)
    rows = rows / rows.sum(axis=1, keepdims=True)
    zero = rows == 0
    rows = np.where(zero, TAU, rows * (1 - TAU * zero.sum(axis=1, keepdims=True)))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def studied(name: str, walks: Walks, states: Sequence[str] = ()) -> Study:
    """A study of these sequences; `states`: all of them, if some never occur."""
    known = tuple(states) or tuple(sorted({state for many in walks.values() for walk in many for state in walk}))
    place = {state: at for at, state in enumerate(known)}
    follows = np.zeros((len(known), len(known)), dtype=int)
    for walk in walks[""]:
        codes = [place[state] for state in walk]
        np.add.at(follows, (codes[:-1], codes[1:]), 1)
    groups = [Counter(state for walk in many for state in walk) for group, many in sorted(walks.items()) if group]
    return Study(
        name,
        known,
        tuple(map(tuple, follows.tolist())),
        tuple(tuple(group[state] for state in known) for group in groups),
        max(len(walk) for many in walks.values() for walk in many),
    )


def own_study(own: Own, top: int = 1) -> Study:
    """Sequences of one's own: every fourth user is held out, the others train; of a few users one is."""
    walks: Walks = {"": [], "group": []}
    for number, entries in enumerate(own.walks().values()):
        walks["group" if number % 4 == 1 else ""].append([str(entry) for entry in entries])
    if not walks["group"] or not any(len(walk) > 1 for walk in walks[""]):
        raise UsageError("at least two users are needed, the first with two entries: some train, and some are held out")
    found = studied(own.table.name, walks)
    if len(found.states) < max(top, 2) or found.length < 2:
        raise UsageError(f"there are {len(found.states)} states, and this needs at least {max(top, 2)}")
    return found


def check_ins(setting: Setting) -> Iterator[Study]:
    """Weeks of check-ins of 193 people in New York, if the file is there: ten roots, and 78 labels.

    The first four fifths of a person's weeks are for training, as 400 of 500 days are in the paper; the people are in
    eight groups by their number, in the place of countries."""
    if setting.shelf.find(_CHECKINS) is None:
        return
    rows = list(table_rows(setting.shelf.text(_CHECKINS)))
    for name, column in (("New York, 10 roots", "root_category"), ("New York, 78 labels", "category")):
        weeks: dict[str, dict[str, list[str]]] = {}
        for row in rows:
            weeks.setdefault(row["user_id"], {}).setdefault(row["trajectory_id"], []).append(row[column])
        people = sorted(weeks, key=int)
        walks: Walks = {"": []}
        for number, person in enumerate(people):
            theirs = list(weeks[person].values())
            cut = (4 * len(theirs)) // 5
            walks[""] += theirs[:cut]
            walks.setdefault(f"group {number * 8 // len(people)}", []).extend(theirs[cut:])
        yield studied(name, _merged(walks) if column == "category" else walks)


def _merged(walks: Walks) -> Walks:
    """The most frequent labels of the training part stay; the others become one."""
    often = Counter(state for walk in walks[""] for state in walk)
    kept = {state for state, _ in often.most_common(LABELS)}
    return {
        group: [[state if state in kept else "other" for state in walk] for walk in many]
        for group, many in walks.items()
    }


@counted("sequences-careers", _MVAD)
def _careers(shelf: Shelf) -> Counts:
    """712 people, 72 months; sex and kind of school make four groups, the last eight of each are held out."""
    walks: Walks = {"": []}
    groups: dict[str, list[list[str]]] = {}
    for row in table_rows(shelf.text(_MVAD)):
        cells = list(row.values())
        groups.setdefault(f"group {row['male']} {row['Grammar']}", []).append(cells[-72:])
    for group, many in groups.items():
        walks[""] += many[:-8]
        walks[group] = many[-8:]
    return _told(walks)


@counted("sequences-phones", _HAR)
def _phones(shelf: Shelf) -> Counts:
    """30 people with a phone, windows of 2.56 s; the split is that of the publishers: nine people are held out."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in table_rows(shelf.text(_HAR)):
        found.setdefault((row["split"], row["subject"]), []).append(row["activity"])
    walks: Walks = {"": [], "group": []}
    for (split, _), walk in found.items():
        walks["" if split == "train" else "group"].append(walk)
    return _told(walks)


def activities(setting: Setting) -> Iterator[Study]:
    """Careers and phones from counts that are shipped; windows of another study and a meter, if the files are there."""
    yield _of_counts("careers, 712 people", counts(setting.shelf, "sequences-careers"))
    yield _of_counts("activities, 30 people", counts(setting.shelf, "sequences-phones"))
    if setting.shelf.find(_WISDM) is not None:
        people: dict[str, list[str]] = {}
        for row in table_rows(setting.shelf.text(_WISDM)):
            people.setdefault(row["user"], []).append(row["activity"])
        walks: Walks = {"": [], "group": []}
        for number, person in enumerate(sorted(people, key=int)):
            walks["group" if number % 4 == 3 else ""].append(people[person])
        yield studied("activities, 36 people", walks)
    if setting.shelf.find(_METER) is not None:
        days: dict[str, list[str]] = {}
        for row in table_rows(setting.shelf.text(_METER)):
            if int(row["time_local"][-2:]) % _EVERY == 0:
                days.setdefault(row["time_local"][:10], []).append(f"{int(float(row['main_w'])) // _BIN} kW")
        listed = [days[day] for day in sorted(days)]
        yield studied("electricity, nine days", {"": listed[:-3], "group": listed[-3:]})


def missing(setting: Setting, *paths: str) -> tuple[str, ...]:
    """What is said of files that are not there; `paths`: those looked for."""
    gone = [path for path in paths if setting.shelf.find(path) is None]
    return (f"Left out, as the files are not there (--folder, FUGU_DATA): {', '.join(gone)}.",) if gone else ()


PLACES, ACTIVITIES = (_CHECKINS,), (_WISDM, _METER)
"""The files that the stand-ins of each kind ask for beyond what is shipped."""


def _told(walks: Walks) -> Counts:
    """A study as counts: what follows each state, what each group holds, how long the longest sequence is."""
    pairs = tally((f"after {x}", y) for walk in walks[""] for x, y in pairwise(walk))
    held = tally((group, state) for group, many in walks.items() if group for walk in many for state in walk)
    longest = max(len(walk) for many in walks.values() for walk in many)
    return {**pairs, **held, "longest": {"entries": longest}}


def _of_counts(name: str, found: Counts) -> Study:
    states = tuple(sorted({state for key, sizes in found.items() if key != "longest" for state in sizes}))

    def row(key: str) -> tuple[int, ...]:
        return tuple(found.get(key, {}).get(state, 0) for state in states)

    groups = tuple(row(key) for key in sorted(found) if key.startswith("group"))
    return Study(name, states, tuple(row(f"after {state}") for state in states), groups, found["longest"]["entries"])


def synthetic(setting: Setting) -> Study:
    """A sticky chain of the shape of Capture24: 11 states, 240 entries, 100 people to train on, 4 groups of 8.

    The short form has 6 states and 12 entries."""
    many, length, dice = (6, 12, setting.dice(2)) if setting.short else (11, 240, setting.dice(2))
    step = sticky(dice, many)
    walks = {"": list(_walked(dice, step, length, 100))}
    walks |= {f"group {group}": list(_walked(dice, step, length, 8)) for group in range(4)}
    return studied(f"synthetic, {many} states", walks, [f"{state:02}" for state in range(many)])


def sticky(dice: np.random.Generator, many: int) -> NDArray[np.float64]:
    """Each state is kept with its own probability, and left towards states of different popularity."""
    popular = np.geomspace(4, 1, many)
    rows = 0.8 * popular / popular.sum() + 0.2 * dice.dirichlet(np.ones(many), many)
    stay = dice.uniform(0.2, 0.7, many)[:, None]
    return np.asarray(stay * np.eye(many) + (1 - stay) * rows)


def _walked(dice: np.random.Generator, step: NDArray[np.float64], length: int, people: int) -> Iterable[list[str]]:
    sums = step.cumsum(axis=1)
    for _ in range(people):
        state, walk = int(dice.integers(len(step))), []
        for _ in range(length):
            walk.append(f"{state:02}")
            state = min(int(np.searchsorted(sums[state], dice.random(), side="right")), len(step) - 1)
        yield walk
