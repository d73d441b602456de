"""Nobody else on the machine reads what Docmill keeps, whatever umask it was started under."""

import os
import re
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import dispose, settings_for
from tests.postgres import ROOT
from tests.worker.bench import wait_for
from webapp.app import create_app
from webapp.private_files import tighten_folder

BIN = Path(sys.executable).parent
OPEN_TO_ALL = 0o022


def loose(folder: Path) -> Iterator[str]:
    """What others may read, list or enter, in this folder and below; the models are no secret."""
    for path in (folder, *folder.rglob("*")):
        if "models" not in path.parts and path.lstat().st_mode & 0o077 and not path.is_symlink():
            yield f"{stat.filemode(path.stat().st_mode)} {path}"


def environment(folder: Path, **variables: str) -> dict[str, str]:
    return {"PATH": f"{BIN}:/usr/bin:/bin", "DATA_DIR": str(folder), "FLASK_SKIP_DOTENV": "1", **variables}


@pytest.mark.slow
@pytest.mark.alone
def test_a_first_start_makes_nothing_that_others_can_read(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    variables = environment(folder, PORT=str(port))
    upgrade = [str(BIN / "flask"), "--app", "wsgi", "db", "upgrade"]
    subprocess.run(upgrade, cwd=ROOT, env=variables, umask=OPEN_TO_ALL, check=True, capture_output=True)
    assert list(loose(folder)) == []
    server = subprocess.Popen(
        [str(BIN / "gunicorn"), "wsgi:app"], cwd=ROOT, env=variables, umask=OPEN_TO_ALL, stderr=subprocess.DEVNULL
    )
    try:
        # Its log exists while somebody has the database open.
        wait_for((folder / "docmill.sqlite3-wal").exists)
        assert list(loose(folder)) == []
    finally:
        server.terminate()
        server.wait(60)


def test_what_an_earlier_version_left_open_is_closed_at_the_start(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    with sqlite3.connect(folder / "docmill.sqlite3") as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (id)")
        for name in ("docmill.sqlite3", "docmill.sqlite3-wal", "docmill.sqlite3-shm"):
            (folder / name).chmod(0o644)
        dispose(create_app(settings_for(folder)))
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert not [line for line in loose(folder) if "sqlite3" in line]
    connection.close()


def test_a_database_elsewhere_is_closed_too(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.sqlite3"
    file.touch()
    file.chmod(0o664)
    dispose(create_app(settings_for(tmp_path / "data", DATABASE_URL=f"sqlite:///{file}")))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_folder_that_all_may_use_stays_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    tighten_folder(shared)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    tighten_folder(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("program", ["gunicorn.conf.py", "worker.py", "wsgi.py"])
def test_each_program_sets_its_umask_before_it_reads_anything_of_ours(program: str) -> None:
    lines = (ROOT / program).read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if "webapp" in line and "import" in line)
    assert "os.umask(0o077)" in lines[:first]


@pytest.mark.parametrize("file", ["Procfile", "Makefile"])
def test_what_serves_or_works_is_not_told_who_owns_the_tables(file: str) -> None:
    starts = [
        part
        for part in (ROOT / file).read_text().split("exec ")
        if re.match(r"\S+ \S+ \S+ \S*(gunicorn|python w)", part)
    ]
    assert len(starts) >= 2
    assert all(start.startswith("env -u DATABASE_OWNER_URL ") for start in starts)


@pytest.mark.parametrize("start", ["runpy.run_path('gunicorn.conf.py')", "worker.main()"])
def test_a_process_that_was_told_forgets_it(start: str, tmp_path: Path) -> None:
    # The settings are wrong, so the start ends where it reads them: by then it must have forgotten.
    code = (
        "import os, runpy, sys, worker\n"
        f"try: {start}\n"
        "except SystemExit: pass\n"
        "sys.exit('DATABASE_OWNER_URL' in os.environ)"
    )
    variables = environment(tmp_path, DATABASE_OWNER_URL="postgresql://owner@localhost/docmill", PORT="wrong")
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=variables, check=False).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_folder_that_holds_files_of_others_stays_open_to_them(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "postgresql").mkdir(parents=True)
    folder.chmod(0o755)
    tighten_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    os.chown(folder / "postgresql", 65534, 65534)
    tighten_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
