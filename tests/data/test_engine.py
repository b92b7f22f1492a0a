"""The engine's temporary files: in a private folder, gone at every exit, and after a kill at the next start."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys

import pytest

from fugu.data import files, read_table
from fugu.data.frame import Relation
from fugu.errors import BadTable

SPILL = """
import time
from fugu.data import files as engine
db = engine.connect()
db.execute("SET memory_limit='60MB'; SET threads=1")
db.execute("CREATE TABLE t AS SELECT range AS x, md5(range::VARCHAR) AS name FROM range(3000000)")
print(engine.spill_folder(), flush=True)
"""


LOOK = """
import os
for at, _, names in os.walk(engine.spill_folder()):
    print(at, len(names), oct(os.stat(at).st_mode))
"""


def run(code, folder):
    made = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen([sys.executable, "-c", code], env=made, cwd=folder, stdout=subprocess.PIPE, text=True)


def test_what_does_not_fit_into_memory_is_private_and_does_not_stay(tmp_path):
    done = run(SPILL + LOOK, tmp_path)
    told = done.communicate(timeout=120)[0].splitlines()
    assert done.returncode == 0
    assert told[1].endswith("0o40700") and any(int(line.split()[1]) for line in told[2:])  # it did spill, there
    assert list(tmp_path.iterdir()) == []  # neither the folder nor ./.tmp


def test_what_a_kill_leaves_is_removed_at_the_next_start_and_what_lives_is_not(tmp_path):
    killed, living = (run(SPILL + "time.sleep(100)", tmp_path) for _ in range(2))
    try:
        left, kept = (process.stdout.readline().strip() for process in (killed, living))
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert os.listdir(left + "/spill") and not (tmp_path / ".tmp").exists()
        strange = tmp_path / "fugu-spill-strange"  # of our name, but open to others: not ours
        strange.mkdir(mode=0o755)
        (tmp_path / "fugu-spill-link").symlink_to(kept)
        other = run("from fugu.data import files as engine; engine.connect()", tmp_path)
        other.communicate(timeout=60)
        assert other.returncode == 0
        assert not os.path.exists(left) and os.path.isdir(kept) and strange.is_dir()
    finally:
        for process in (killed, living):
            process.kill()
            process.communicate()


def test_every_process_has_its_own_folder():
    mine = files.spill_folder()
    assert files.spill_folder() == mine and stat.S_IMODE(mine.stat().st_mode) == 0o700
    child = os.fork()
    if child == 0:
        os._exit(files.spill_folder() == mine)
    assert os.waitpid(child, 0)[1] == 0 and mine.is_dir()


def test_no_table_is_called_damaged_for_want_of_memory(tmp_path, monkeypatch):
    import duckdb

    class Full:
        columns, types = ["x"], ["BIGINT"]

        def project(self, _):
            raise duckdb.OutOfMemoryException("row 7: Ann")

    with pytest.raises(BadTable, match="enough memory"):
        Relation(Full()).fetch(("x",))
    file = tmp_path / "t.csv"
    file.write_text("x\n1\n")

    def full(*_):
        yield [["1"]]
        raise MemoryError

    monkeypatch.setattr("fugu.data.files._chunks", full)
    with pytest.raises(BadTable, match="enough memory"):
        read_table(file).column("x")


def test_other_errors_keep_their_words():
    import duckdb

    assert "enough memory" in str(files.refused(duckdb.OutOfMemoryException("row 7: Ann"), "not a table"))
    assert "no space" in str(files.refused(duckdb.IOException("No space left on device"), "not a table"))
    assert str(files.refused(duckdb.ConversionException("Ann"), "not a table")) == "not a table"
