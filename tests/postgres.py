"""A private PostgreSQL server for tests: a cluster in a folder of its own, by a socket and, with TLS, by a port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

OWNER = "postgres"
CONF = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
max_connections = 60
shared_buffers = 16MB
ssl = {ssl}
ssl_cert_file = 'server.crt'
ssl_key_file = 'server.key'
log_min_messages = fatal
"""
HBA = """
local all secretive scram-sha-256
local all all trust
hostssl all all 127.0.0.1/32 scram-sha-256
hostnossl all all 127.0.0.1/32 scram-sha-256
"""


def binaries() -> Path | None:
    """Where the server's programs are: on the path, or where Debian puts them."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else [Path(p) for p in sorted(glob("/usr/lib/postgresql/*/bin"))]
    return next((place for place in reversed(places) if (place / "initdb").exists()), None)


def missing() -> str | None:
    """Why no server can be started here; None where one can."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed: make test-postgres"
    if binaries() is None:
        return "no PostgreSQL server: apt-get install postgresql"
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(OWNER)
        except KeyError:
            return f"initdb refuses root, and there is no user {OWNER!r}"
    return None


class Cluster:
    """A server that is running, until `close`."""

    def __init__(self) -> None:
        self.bin = binaries()
        memory = "/dev/shm"
        self.folder = Path(tempfile.mkdtemp(prefix="fugu", dir=memory if os.access(memory, os.W_OK) else None))
        self.data, self.log = self.folder / "data", self.folder / "log"
        self.user = {"user": OWNER, "group": OWNER, "extra_groups": []} if os.geteuid() == 0 else {}
        if self.user:
            shutil.chown(self.folder, OWNER, OWNER)
        self.folder.chmod(0o755)
        self._run("initdb", "-N", "-A", "trust", "-U", OWNER, "-E", "UTF8", "--locale=C", "-D", self.data)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.tls = self._certificate()
        self.write("postgresql.conf", CONF.format(port=self.port, folder=self.folder, ssl="on" if self.tls else "off"))
        self.write("pg_hba.conf", HBA)
        self._made = 0
        self.start()

    def _run(self, program: str, *arguments: object) -> None:
        subprocess.run([self.bin / program, *map(str, arguments)], check=True, capture_output=True, cwd=self.folder,
                       timeout=120, **self.user)  # fmt: skip

    def write(self, name: str, text: str, mode: int = 0o600) -> None:
        place = self.data / name
        place.write_text(text)
        place.chmod(mode)
        if self.user:
            shutil.chown(place, OWNER, OWNER)

    def _certificate(self) -> bool:
        """A certificate for localhost that signs itself, and one of somebody else."""
        if shutil.which("openssl") is None:
            return False
        for name, host in (("server", "localhost"), ("other", "localhost")):
            subprocess.run(
                ["openssl", "req", "-new", "-x509", "-days", "2", "-nodes", "-subj", f"/CN={host}", "-addext",
                 f"subjectAltName=DNS:{host}", "-keyout",
                 self.data / f"{name}.key", "-out", self.folder / f"{name}.crt"],
                check=True, capture_output=True,
            )  # fmt: skip
            self.write(f"{name}.key", (self.data / f"{name}.key").read_text())
            self.write(f"{name}.crt", (self.folder / f"{name}.crt").read_text())
        return True

    def start(self, *options: str) -> None:
        extra = ("-o", " ".join(options)) if options else ()
        self._run("pg_ctl", "-D", self.data, "-l", self.log, "-w", *extra, "start")

    def stop(self, how: str = "fast") -> None:
        """`immediate` is a kill: nothing is flushed, nobody is asked."""
        self._run("pg_ctl", "-D", self.data, "-m", how, "-w", "stop")

    def kill(self) -> None:
        """SIGKILL to the postmaster; its children notice and die."""
        os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def restart(self, *options: str) -> None:
        self.stop()
        self.start(*options)

    def close(self) -> None:
        try:
            self.stop("immediate")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str, user: str = OWNER) -> str:
        """The address of a database by the socket."""
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}&port={self.port}"

    def database(self, number: int = 0) -> str:
        """The database of a number, by its address."""
        while self._made <= number:
            self.sql("postgres", f"CREATE DATABASE l{self._made} TEMPLATE template0")
            self._made += 1
        return self.url(f"l{number}")

    def clear(self) -> None:
        """No database holds a ledger any more, and nobody is connected."""
        self.sql("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        for number in range(self._made):
            self.sql(f"l{number}", "DROP SCHEMA IF EXISTS fugu CASCADE")

    def sql(self, database: str, *statements: str, user: str = OWNER) -> list:
        """What somebody types into psql; the rows of the last statement."""
        import psycopg

        found = []
        where = self.url(database, user) if "://" not in database else database
        with psycopg.connect(where, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
                found = cursor.fetchall() if cursor.description else []
        return found
