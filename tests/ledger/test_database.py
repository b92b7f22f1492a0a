"""A ledger in a database: who may do what, what is refused, what is edited, what is copied, and what nobody gets to
see."""

from __future__ import annotations

import io
import json
import pickle
import re
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout, suppress
from fractions import Fraction
from pathlib import Path

import pytest

import fugu
from fugu.cli import main
from fugu.errors import BadLedger, DataKnown, FuguError, LedgerBroken, UsageError
from fugu.guarantee import Pure
from fugu.ledger import Books, Charge, Ledger, books, events, keys
from fugu.ledger.keys import Address, place_of
from ledger_files import edit, key_of, with_key_inside

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: make test-postgres")
from fugu.ledger import connection, database  # noqa: E402

TENTH = Charge.per_entry(0.1)
PASSWORD = "Xk9-hunter2-wQ"
CLINIC = Path(fugu.__file__).parent / "examples"


def never():
    pytest.fail("produce() must not run")


def filled(place, many=3, **more):
    """A ledger with so many settled requests."""
    with Ledger(place, Pure(100), data="d", **more) as ledger:
        for k in range(many):
            ledger.spend(f"q{k}", TENTH, lambda k=k: [k, "x" * 300])
        return ledger.verify()


def run(*arguments):
    """A command: its exit code, and all that it says."""
    out, before = io.StringIO(), sys.argv
    sys.argv = ["fugu", *map(str, arguments)]
    try:
        with redirect_stdout(out), redirect_stderr(out):
            main()
    except SystemExit as end:
        return end.code or 0, out.getvalue()
    finally:
        sys.argv = before
    return 0, out.getvalue()


# Roles.


@pytest.fixture
def roles(server):
    """A ledger with an owner; who charges, who reads, and who may do nothing."""
    url = server.database()
    for role in ("charger", "reader", "stranger"):
        with suppress(psycopg.errors.DuplicateObject):
            server.sql("postgres", f"CREATE ROLE {role} LOGIN")
    assert run("ledger", "init", url, "--role", "nobody")[0] == 2
    code, said = run("ledger", "init", url, "--role", "charger")
    assert code == 0 and "charger may charge it" in said and "ledger-" in said
    server.sql("l0", "GRANT USAGE ON SCHEMA fugu TO reader", "GRANT SELECT ON ALL TABLES IN SCHEMA fugu TO reader")
    return server


REWRITES = (
    "UPDATE fugu.event SET content = ''",
    "DELETE FROM fugu.event",
    "TRUNCATE fugu.event",
    "INSERT INTO fugu.event VALUES (9, '')",
    "UPDATE fugu.head SET seq = 1",
    "DELETE FROM fugu.head",
    "INSERT INTO fugu.head SELECT true, 1, 1, '', 1, 1",
    "ALTER TABLE fugu.event SET UNLOGGED",
    "DROP SCHEMA fugu CASCADE",
    "CREATE OR REPLACE FUNCTION fugu.append(place bigint, added bytea) RETURNS void LANGUAGE sql AS ''",
    "CREATE TABLE fugu.other (x int)",
    "ALTER FUNCTION fugu.append(bigint, bytea) SET fsync = off",
)


def test_who_charges_may_not_rewrite_history(roles):
    url = roles.url("l0", "charger")
    head = filled(url)
    for statement in REWRITES:
        with pytest.raises(psycopg.Error) as refused:
            roles.sql(url, statement)
        assert refused.value.sqlstate in ("42501", "55P02"), statement
        assert Books(place_of(url)).read(books.verify, head) == head
    assert filled(url, 4) != head


def test_what_does_not_follow_is_not_taken_by_the_server_either(roles):
    """A client that was tampered with: events out of order, of another chain, with another hash, elsewhere."""
    url = roles.url("l0", "charger")
    head = filled(url)
    (seq, ends), *_ = roles.sql(url, "SELECT seq, ends FROM fugu.head")

    def refused(content, place=ends):
        with psycopg.connect(url, autocommit=True) as line, pytest.raises(psycopg.Error) as error:
            line.execute("SELECT fugu.append(%s, %b)", (place, content))
        assert error.value.sqlstate.startswith(("FU001", "22"))

    def event(number=seq + 1, previous=head, attached=""):
        return database.log.record(number, previous, "key", "{}", attached)[0]

    def hashed(text):
        return f"{events.sha256(text)} 0 {text}\n".encode()

    for content in (event(seq), event(seq + 2), event(previous="0" * 64), event() + b"x", event()[:-1], b"", b"\n",
                    event().replace(b"key", b"kez"), event(attached="abc")[:-1], b"x" + event()[1:],
                    *map(hashed, ("[]", f'[{seq + 1},"","key",{{}}]', f'[null,"","key",{{}},"{head}"]'))):  # fmt: skip
        refused(content)
    for place in (0, ends - 1, ends + 1):
        refused(event(), place)
    assert Books(place_of(url)).read(books.verify) == head
    roles.sql(url, "SELECT 1")
    with psycopg.connect(url, autocommit=True) as line:  # and the right one is
        line.execute("SELECT fugu.append(%s, %b)", (ends, event()))


def test_who_reads_sees_everything_and_charges_nothing(roles):
    filled(roles.url("l0", "charger"))
    url = roles.url("l0", "reader")
    ledger = Ledger(url, Pure(100), data="d")
    assert ledger.spent() == Pure(Fraction(3, 10)) and ledger.verify() and run("ledger", "show", url)[0] == 0
    assert ledger.spend("q1", TENTH, never)[0] == 1  # what is stored can be read by all
    with pytest.raises(BadLedger, match="role may not do that"):
        ledger.spend("new", TENTH, never)
    with pytest.raises(BadLedger, match="role may not do that"):
        Ledger(url, Pure(1), data="another")
    assert len(Ledger(roles.url("l0"), Pure(100), data="d").history()) == 3


def test_who_has_no_rights_is_told_so(roles):
    with pytest.raises(BadLedger, match="role may not"):
        Ledger(roles.url("l0", "stranger"), Pure(1))
    with pytest.raises(BadLedger, match="role may not"):
        Ledger(roles.database(1).replace("postgres@", "stranger@"), Pure(1))  # and makes none
    assert roles.sql(roles.database(1), "SELECT count(*) FROM pg_namespace WHERE nspname = 'fugu'") == [(0,)]


def test_the_set_up_of_the_page_works_as_it_stands(server):
    page = (Path(__file__).parents[2] / "docs" / "shared-ledger.md").read_text()
    first, second = (
        [s for s in block.split(";") if s.strip()] for block in re.findall(r"```sql\n(.*?)```", page, re.S)
    )
    (init,) = (line for line in page.splitlines() if line.startswith("fugu ledger init"))
    server.sql("postgres", *first)
    try:
        _, _, _, address, *rest = init.split()
        assert address.startswith("postgresql://fugu_owner@") and address.endswith("/privacy")
        assert run("ledger", "init", server.url("privacy", "fugu_owner"), *rest)[0] == 0
        server.sql(server.url("privacy", "fugu_owner"), *second)
        head = filled(server.url("privacy", "fugu_charger"))
        assert Books(place_of(server.url("privacy", "fugu_auditor"))).read(books.verify) == head
        for role in ("fugu_charger", "fugu_auditor"):
            for statement in REWRITES:
                with pytest.raises(psycopg.Error):
                    server.sql(server.url("privacy", role), statement)
    finally:
        connection._close_idle()
        server.sql("postgres", "DROP DATABASE IF EXISTS privacy WITH (FORCE)",
                   *(f"DROP ROLE IF EXISTS fugu_{role}" for role in ("owner", "charger", "auditor")))  # fmt: skip


# A server that may lose what it has committed, or only reads; and one that holds something else.


def test_a_server_without_fsync_charges_nothing(server):
    url = server.database()
    filled(url)
    for setting, words in (("fsync", "fsync is off"), ("full_page_writes", "full_page_writes is off")):
        server.sql("postgres", f"ALTER SYSTEM SET {setting} = off", "SELECT pg_reload_conf()")
        try:
            for _ in range(50):
                if server.sql("postgres", f"SHOW {setting}") == [("off",)]:
                    break
            with pytest.raises(BadLedger, match=words):
                Ledger(url, Pure(100), data="d").spend("new", TENTH, never)
        finally:
            server.sql("postgres", f"ALTER SYSTEM RESET {setting}", "SELECT pg_reload_conf()")


def test_a_table_that_is_not_logged_charges_nothing(server):
    url = server.database()
    filled(url)
    server.sql(url, "ALTER TABLE fugu.event SET UNLOGGED")
    with pytest.raises(BadLedger, match="not logged"):
        Ledger(url, Pure(100), data="d").spend("new", TENTH, never)


def test_a_server_that_only_reads_says_so(server):
    url = server.database()
    filled(url)
    server.sql("postgres", "ALTER DATABASE l0 SET default_transaction_read_only = on")
    connection._close_idle()
    try:
        ledger = Ledger(url, Pure(100), data="d")  # it is there, and can be looked at
        assert ledger.spent() == Pure(Fraction(3, 10))
        with pytest.raises(BadLedger, match="only reads"):
            ledger.spend("new", TENTH, never)
    finally:
        server.sql("postgres", "ALTER DATABASE l0 RESET default_transaction_read_only")
        connection._close_idle()


def test_commits_wait_for_the_disk_whatever_the_database_is_set_to(server, monkeypatch):
    url, seen, real = server.database(), [], connection.Lease.end

    def end(line, how, **more):
        if how == "COMMIT" and line._connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS:
            seen.append(line.value("SELECT current_setting('synchronous_commit')"))
        return real(line, how, **more)

    monkeypatch.setattr(connection.Lease, "end", end)
    server.sql(url, "CREATE SCHEMA evil", "ALTER DATABASE l0 SET search_path = evil, pg_catalog",
               "CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS 'SELECT $1'",
               "ALTER DATABASE l0 SET standard_conforming_strings = off")  # fmt: skip
    for value in ("off", "local", "remote_apply"):
        server.sql("postgres", f"ALTER DATABASE l0 SET synchronous_commit = {value}")
        connection._close_idle()
        seen.clear()
        Ledger(url, Pure(100), data="d").spend(value, TENTH, lambda: 1)
        assert set(seen) <= {"remote_apply" if value == "remote_apply" else "on"} and len(seen) >= 2
    server.sql("postgres", "ALTER DATABASE l0 RESET ALL")
    server.sql("l0", "DROP SCHEMA evil CASCADE")


def test_a_schema_of_somebody_else_is_left_alone(server):
    server.sql(server.database(), "CREATE SCHEMA fugu")
    with pytest.raises(BadLedger, match="no ledger"):
        Ledger(server.database(), Pure(1))
    assert not Books(place_of(server.database())).there()


def test_no_server_no_database_no_login(server):
    gone = server.database().replace(f"port={server.port}", "port=1")
    for url, words in ((gone, "no server answers"), (server.url("nothing"), "no such database"),
                       (server.url("l0", "nobody"), "refused the login")):  # fmt: skip
        with pytest.raises(BadLedger, match=words):
            Ledger(url, Pure(1))
    with pytest.raises(BadLedger, match="no ledger in"):
        Books(place_of(server.database())).read(books.verify)


# Edits, by who owns the database.


LAST = "(SELECT max(start) FROM fugu.event)"
THIRD = "(SELECT start FROM fugu.event ORDER BY start OFFSET 3 LIMIT 1)"
SMALLER = "decode(replace(encode(content, 'escape'), '1/10', '0/10'), 'escape')"
EDITS = {
    "a charge made smaller": f"UPDATE fugu.event SET content = {SMALLER} WHERE content LIKE '%reserved%'",
    "the last event deleted": f"DELETE FROM fugu.event WHERE start = {LAST}",
    "an event in between deleted": f"DELETE FROM fugu.event WHERE start = {THIRD}",
    "all deleted": "TRUNCATE fugu.event",
    "a value changed": "UPDATE fugu.event SET content = overlay(content PLACING 'y' FROM octet_length(content) - 9) "
    "WHERE content LIKE '%settled%'",
    "the head gone": "DELETE FROM fugu.head",
    "another head": "UPDATE fugu.head SET hash = repeat('0', 64)",
    "an event twice": "INSERT INTO fugu.event SELECT (SELECT ends FROM fugu.head), content FROM fugu.event "
    "WHERE content LIKE '%reserved%' LIMIT 1",
    "more events than there are": "UPDATE fugu.head SET seq = seq + 1",
    "a longer row": f"UPDATE fugu.event SET content = content || 'x' WHERE start = {THIRD}",
    "a row in a row": f"INSERT INTO fugu.event VALUES ({THIRD} + 9, 'x')",
    "an empty row": f"INSERT INTO fugu.event VALUES ({THIRD} + 9, '')",
    "a row elsewhere": f"UPDATE fugu.event SET start = start - 1 WHERE start = {THIRD}",
    "a row behind the end": "INSERT INTO fugu.event SELECT ends + 50, 'x' FROM fugu.head",
    "an empty row at the end": "INSERT INTO fugu.event SELECT ends, '' FROM fugu.head",
    "another end": "UPDATE fugu.head SET ends = ends + 1",
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("watched", [True, False])
def test_edits_are_noticed(server, name, watched):
    """By whoever had the ledger open, and by whoever opens it next."""
    url = server.database()
    head = filled(url)
    ledger = Ledger(url, Pure(100), data="d")
    ledger.spent()
    server.sql(url, EDITS[name])
    if not watched:
        ledger = None
    with pytest.raises(LedgerBroken):
        (ledger or Ledger(url, Pure(100), data="d")).spend("new", TENTH, never)
    with pytest.raises((LedgerBroken, FuguError)):
        Books(place_of(url)).read(books.verify, head)


def test_a_database_that_was_put_back_is_noticed_by_who_knew_more(server):
    url = server.database()
    filled(url, 2)
    rows = server.sql(url, "SELECT start, encode(content, 'hex') FROM fugu.event")
    (head,) = server.sql(url, "SELECT base, seq, hash, ends, checkpoint FROM fugu.head")
    ledger = Ledger(url, Pure(100), data="d")
    ledger.spend("more", TENTH, lambda: 1)
    last = ledger.verify()
    values = ", ".join(f"({start}, decode('{content}', 'hex'))" for start, content in rows)
    put_back = "UPDATE fugu.head SET (base, seq, hash, ends, checkpoint) = ROW({}, {}, '{}', {}, {})".format(*head)
    server.sql(url, "TRUNCATE fugu.event", f"INSERT INTO fugu.event VALUES {values}", put_back)
    with pytest.raises(LedgerBroken, match="rolled back"):
        ledger.spend("again", TENTH, never)
    with pytest.raises(LedgerBroken, match="rolled back"):
        Ledger(url, Pure(100), data="d", head=last)
    assert Ledger(url, Pure(100), data="d").spent() == Pure(Fraction(2, 10))  # who knew nothing cannot see it


# Copies.


def test_events_that_are_copied_there_and_back_are_the_same_to_the_byte(server, tmp_path, monkeypatch):
    """With checkpoints, people, a refusal and a failure; the copy is charged on, and copied back."""
    monkeypatch.setattr(events, "EVERY", 6)
    source, back, url = tmp_path / "l.db", tmp_path / "back.db", server.database()
    with Ledger(source, Pure(2), data="d", people=[f"p{k}" for k in range(50)]) as ledger:
        for k in range(12):
            ledger.spend(f"q{k}", TENTH, lambda k=k: k)
        with suppress(FuguError):
            ledger.spend("much", Charge.per_entry(5), never)
        with suppress(RuntimeError):
            ledger.spend("fails", TENTH, lambda: (_ for _ in ()).throw(RuntimeError))
    head = Books(source).read(books.verify)
    for _ in range(2):  # the same copy once more changes nothing
        assert run("ledger", "copy", source, "-o", url)[0] == 0
    assert run("ledger", "copy", url, "-o", back)[0] == 0
    assert (
        source.read_bytes()[1536:] == back.read_bytes()[1536:] and Books(place_of(url)).read(books.verify, head) == head
    )
    with pytest.raises(BadLedger, match="key of the ledger"):
        Ledger(url, Pure(2), data="d").spend("next", TENTH, never)  # the key was not copied
    monkeypatch.setenv("FUGU_LEDGER_KEY", f"{source}.key")
    assert Ledger(url, Pure(2), data="d").spend("q3", TENTH, never) == 3
    assert Ledger(url, Pure(2), data="d").spend("next", TENTH, lambda: 7) == 7
    other = server.database(1)
    assert run("ledger", "copy", url, "-o", other)[0] == 0
    assert Books(place_of(other)).read(books.verify, head) == Books(place_of(url)).read(books.verify)
    code, said = run("ledger", "copy", source, "-o", other)
    assert code == 2 and "holds a ledger already" in said
    assert run("ledger", "copy", url, "-o", source)[0] == 2  # nor is a file written over
    assert Ledger(other, Pure(2), data="d").spent() == Pure(Fraction(14, 10))


def test_a_broken_ledger_and_one_with_its_key_inside_are_not_copied(server, tmp_path):
    broken, early, url = tmp_path / "l.db", tmp_path / "early.db", server.database()
    filled(broken)
    filled(early)
    edit(broken, b"1/10", b"0/10", 9) if b"1/10" in broken.read_bytes() else edit(broken, b"reserved", b"reserver", 9)
    key = with_key_inside(early)
    assert run("ledger", "copy", broken, "-o", url)[0] == 4
    code, said = run("ledger", "copy", early, "-o", url)
    assert code == 2 and "key inside" in said and not Books(place_of(url)).there()
    Ledger(early, Pure(100), data="d").spend("new", TENTH, lambda: 1)  # which moves it out
    assert run("ledger", "copy", early, "-o", url)[0] == 0
    assert key.encode() not in stored(server, url) and key_of(early) == key


def stored(server, url):
    """All that the database holds."""
    return b"".join(content for (content,) in server.sql(url, "SELECT content FROM fugu.event"))


# The key: on every host, never in the database.


def test_the_key_is_on_the_host_and_not_in_the_database(server, tmp_path, monkeypatch):
    url, people = server.database(), [f"patient {k}" for k in range(40)]
    filled(url, people=people)
    (place,) = (tmp_path / "home" / "fugu").glob("ledger-*.key")
    key = place.read_text().split()[-1]
    assert place.stat().st_mode & 0o777 == 0o600 and key.encode() not in stored(server, url)
    assert b"patient" not in stored(server, url)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another host"))
    with pytest.raises(BadLedger, match="every host that charges a database needs a copy"):
        Ledger(url, Pure(100), data="d", people=people).spend("new", TENTH, never)
    monkeypatch.setenv("FUGU_LEDGER_KEY", str(place))
    assert Ledger(url, Pure(100), data="d", people=people).spend("new", TENTH, lambda: 1) == 1


def test_hosts_that_make_one_ledger_at_once_make_one(server):
    from test_ledger_processes import together

    def make(url, name, queue):
        try:
            queue.put(Ledger(url, Pure(1), data=f"d{name}").verify() and 1)
        except BaseException as error:
            queue.put(repr(error))

    assert together(make, [(server.database(), k) for k in range(5)]) == [1] * 5
    assert len(Books(place_of(server.database())).read(lambda view: view.state.sets)) == 5


# TLS, and who logs in.


@pytest.fixture
def login(server):
    """Somebody with a password, and addresses by the port of the server."""
    if not server.tls:
        pytest.skip("no openssl to make a certificate with")
    with suppress(psycopg.errors.DuplicateObject):
        server.sql("postgres", f"CREATE ROLE secretive LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    server.database()

    def url(host="localhost", root="server.crt", more=""):
        return f"postgresql://secretive:{PASSWORD}@{host}:{server.port}/l0?sslrootcert={server.folder / root}{more}"

    return url


def test_a_server_is_reached_over_tls_with_a_certificate_that_was_checked(login, monkeypatch):
    assert filled(login()) and filled(login(more="&sslmode=verify-full"))
    for url in (login(host="127.0.0.1"), login(root="other.crt"), login(root="nothing.crt")):
        with pytest.raises(BadLedger, match="no TLS with a certificate"):
            Ledger(url, Pure(100), data="d")
    for variable, value in (("PGSSLMODE", "disable"), ("PGSSLMODE", "allow"), ("PGREQUIRESSL", "0")):
        monkeypatch.setenv(variable, value)
        with pytest.raises(BadLedger, match="no TLS with a certificate"):
            Ledger(login(root="other.crt"), Pure(100), data="d")
        assert Ledger(login(), Pure(100), data="d").spent()


def test_a_server_without_tls_is_refused_before_anything_is_sent(login, server):
    server.write("postgresql.auto.conf", "ssl = off\n")
    server.restart()
    try:
        with pytest.raises(BadLedger, match="no TLS with a certificate"):
            Ledger(login(), Pure(100), data="d")
    finally:
        server.write("postgresql.auto.conf", "")
        server.restart()


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca"])
def test_less_than_a_checked_certificate_is_refused(mode):
    with pytest.raises(UsageError, match="must be checked"):
        Ledger(f"postgresql://u:{PASSWORD}@db.example.org/l?sslmode={mode}", Pure(1))


@pytest.mark.parametrize(
    "address",
    ["postgresql://u:{}@h:port/l", "postgresql://u:{}@h/l?nothing=1", "postgresql://u:{}@h/l?service=s",
     "postgresql://u:{}@h", "postgresql://u:{}@h/l?gssencmode=require", "postgresql://u:%zz{}@h/l",
     "postgres:/u:{}@h/l", "mysql://u:{}@h/l", "file://u:{}@h/l", "postgresql:u:{}@h/l",
     "postgresql://u:a/{}@h/l", "postgresql://u:{}/a@h/l", "postgresql://u:1/{}@h/l", "postgresql://u:a@{}@h/l",
     "postgresql://u:a@h,u:{}@i/l", "postgresql://u@h/?dbname=postgresql://u:{}@h/l", "postgresql://h/password={}",
     "postgresql://u@h/l?sslmode={}", "host=h user=u password={} dbname=l"],
)  # fmt: skip
def test_an_address_that_cannot_be_read_is_not_repeated(address):
    for opening in (lambda: Ledger(address.format(PASSWORD), Pure(1)),
                    lambda: Books(place_of(address.format(PASSWORD))).there()):  # fmt: skip
        with pytest.raises(UsageError) as refused:
            opening()
        hidden(refused.value)
    code, said = run("ledger", "show", address.format(PASSWORD))
    assert code == 2 and PASSWORD not in said


def hidden(error):
    """Neither an error nor anything behind it, nor their variables, tells the password; the call alone does."""
    waiting, seen = [error], []
    while waiting:
        one = waiting.pop()
        if one is not None and one not in seen:
            seen.append(one)
            waiting += [one.__cause__, one.__context__]
    assert len(seen) >= 1
    for one in seen:
        assert PASSWORD not in repr(one) + str(one) + repr(vars(one))
        for frame, _ in traceback.walk_tb(one.__traceback__):
            if "/fugu/ledger/database" in frame.f_code.co_filename or "psycopg" in frame.f_code.co_filename:
                assert PASSWORD not in repr(frame.f_locals), frame


def test_the_password_is_nowhere_to_be_seen(login, server, tmp_path, monkeypatch):
    """In what is printed, raised, written and stored, whatever happens to the connection."""
    url, said = login(), []
    place = place_of(url)
    ledger = Ledger(url, Pure(100), data="d")
    ledger.spend("q", TENTH, lambda: 1)
    said += [repr(ledger), str(ledger.path), f"{ledger.path}", repr(place), place.name, json.dumps(place),
             str(ledger.history()), json.dumps(ledger.export()), repr(Books(place)), repr(vars(ledger))]  # fmt: skip
    assert isinstance(str(place), Address)  # passed on, it still knows
    out = tmp_path / "out.csv"
    common = [CLINIC / "clinic_today.csv", "--publish", "chol", "--protect", "smoker", "--epsilon", "1", "--reference",
              CLINIC / "clinic_reference.csv", "--schema", CLINIC / "schema.toml"]  # fmt: skip
    common = common[:-2] if not (CLINIC / "schema.toml").exists() else common
    code, text = run("release", *common, "--ledger", url, "-o", out)
    assert code == 0, text
    said.append(text)
    for arguments in (("show", url), ("show", url, "--json"), ("verify", url), ("copy", url, "-o", tmp_path / "c.db"),
                      ("export", url, "-o", tmp_path / "e.json"), ("repair", url), ("init", url, "--role", "secretive"),
                      ("copy", url, "-o", url), ("verify", url, "--head", "0" * 64)):  # fmt: skip
        said.append(run("ledger", *arguments)[1])
    certificate = tmp_path / "out.certificate.json"
    code, text = run("verify", certificate, "--ledger", url)
    assert code == 0 and "ledger entry" in text, text
    said += [text, run("check", CLINIC / "clinic_today.csv", "--ledger", url)[1]]
    monkeypatch.setenv("FUGU_LEDGER", url)
    said += [run("ledger", "show")[1], run("release", *common, "-o", out)[1]]
    said += [run("report", certificate, "-o", tmp_path / "p.html", "--ledger", url, "--data", "clinic_today.csv")[1]]
    said += [file.read_text("utf-8", "replace") for file in tmp_path.rglob("*") if file.is_file()]
    (tmp_path / "s").mkdir()
    errors = []
    for wrong in (login(root="other.crt"), url.replace(PASSWORD, PASSWORD + "x"), login(host="127.0.0.1"),
                  url.replace("/l0?", "/nothing?"), url.replace(str(server.port), "1")):  # fmt: skip
        with pytest.raises(BadLedger) as refused:
            Ledger(wrong, Pure(100), data="d")
        errors.append(refused.value)
        said.append(run("ledger", "show", wrong)[1])
    server.sql("l0", "UPDATE fugu.head SET hash = repeat('0', 64)")
    with pytest.raises(LedgerBroken) as broken:
        ledger.spend("new", TENTH, never)
    server.stop("immediate")
    try:
        with pytest.raises(BadLedger) as gone:
            Ledger(url, Pure(100), data="d", timeout=0.1)
    finally:
        server.start()
    for error in (*errors, broken.value, gone.value):
        hidden(error)
    assert not [text for text in said if PASSWORD in text]
    assert "localhost" in said[0] and "secretive" not in said[0]
    with pytest.raises(TypeError, match="password"):
        pickle.dumps(place)


# Every door.


def test_every_door_takes_an_address(server, tmp_path, monkeypatch):
    url, today, reference = server.database(), CLINIC / "clinic_today.csv", CLINIC / "clinic_reference.csv"
    scenario = fugu.Scenario.from_table(str(reference), publish="chol", protect="smoker", unit="patient")
    mechanism = fugu.calibrate(scenario, Pure(0.5))
    first, again = (fugu.release_column(mechanism, str(today), ledger=url) for _ in range(2))
    assert list(first.values) == list(again.values)
    with pytest.raises(DataKnown):
        fugu.release_column(fugu.calibrate(scenario, Pure(0.5)), str(today), ledger=url, data="another name")
    session = fugu.Session(str(today), str(reference), "smoker", Pure(1), unit="patient", ledger=server.database(1))
    session.ask("mean(chol) by sex", 0.5, bounds=(100, 400), step=5)
    (entry,) = Books(place_of(server.database(1))).read(books.history)
    assert (entry.state, entry.data) == ("settled", "data") and session.spent() > Pure(0)
    plan = tmp_path / "s" / "scenario.toml"
    plan.parent.mkdir()
    plan.write_text(
        f'[data]\ntable = "{today}"\nreference = "{reference}"\nledger = "{server.database(2)}"\noutput = "o.csv"\n'
        '[question]\npublish = "chol"\n[secrets]\nprotect = "smoker"\n[budget]\nepsilon = "1"\n'
    )
    done = fugu.release(plan)
    assert done.repeated is False and fugu.release(plan).repeated is True
    verdict = fugu.verify(tmp_path / "s" / "o.certificate.json", ledger=server.database(2))
    assert {name: state for name, state, _ in verdict.checks}["ledger draw"] == "holds"
    own = Ledger(server.database(2), Pure(1), data="clinic_today.csv")
    assert fugu.release(plan, ledger=own).repeated is True
    code, said = run("check", today, "--reference", reference, "--ledger", server.database(2))
    assert code == 0 and "clinic_today.csv" in said
    monkeypatch.setenv("FUGU_LEDGER", server.database(3))
    fugu.release_column(fugu.calibrate(scenario, Pure(0.5)), str(today))
    assert "clinic_today.csv" in run("ledger", "show")[1]
    assert (
        keys.own_ledger()
        == server.database(3).split("?")[0].replace("postgres@", "") + str(keys.own_ledger()).partition("/l3")[2]
    )
