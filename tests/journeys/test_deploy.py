"""docs/deploy.md, walked through: what an image holds is enough, and a Procfile's lines do what hosts expect."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import postgres
from tests.bare import AS_FAST_AS_IT_GOES
from tests.deployed import instructions, procfile
from tests.journeys.site import Installation
from tests.postgres import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the Containerfile copies into an image, and this checkout's packages."""
    folder = tmp_path_factory.mktemp("image")
    for line in instructions("COPY"):
        *sources, target = line.split()
        for source in sources:
            place = folder / target.removeprefix("./") if target != "./" else folder / source
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
            copy(ROOT / source, place)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


@pytest.fixture
def site(image: Path, postgres_server: postgres.Server, worker_id: str, tmp_path: Path) -> Iterator[Installation]:
    """On an empty database, as a host of dynos hands it out."""
    name = f"deployed_{worker_id}"
    urls = postgres_server.create_database(name)
    variables = {
        **AS_FAST_AS_IT_GOES,
        "DATABASE_URL": urls.superuser_url.replace("postgresql://", "postgres://"),
        "DATA_DIR": str(tmp_path / "data"),
        "BLOBS_SHARED": "1",
        "WEB_CONCURRENCY": "1",
        "WORKER_THREADS": "1",
    }
    yield Installation(variables, tmp_path / "site.log", folder=image)
    postgres_server.drop_database(name)


def _line(name: str, **more: str) -> list[str]:
    """A line of the Procfile, as a host with dynos starts it."""
    return ["env", f"DYNO={name}.1", *(f"{key}={value}" for key, value in more.items()), "sh", "-c", procfile()[name]]


def test_the_lines_of_the_procfile(site: Installation) -> None:
    released = _run(site, *_line("release"))
    assert released.returncode == 0, released.stderr
    assert "(head)" in site.flask("db", "current")
    with site.running(*_line("web")), site.running(*_line("worker")):
        site.wait_until_ready()
        site.token = site.flask("tokens", "create", "--org", "Deployed", "--role", "ops")
        (document,) = site.upload({"rye.md": b"# Rye\n\nRye is a kind of grass that is grown for its grain."})
        site.wait_for_status(document["id"], "READY")
        assert site.get("/search?q=rye")["hits"]
    assert "Traceback" not in site.log.read_text()


def test_a_release_that_would_lose_files_is_refused(site: Installation) -> None:
    released = _run(site, *_line("release", BLOBS_SHARED="0"))
    assert released.returncode != 0
    assert "The disk of this host is emptied at each restart" in released.stderr


def test_commands_of_the_other_hosts_do_the_same(site: Installation) -> None:
    """Those that compose.yaml, the units and the cluster have in common; tests/test_deploy.py compares them."""
    migrated = _run(site, ".venv/bin/flask", "--app", "wsgi", "db", "upgrade")
    assert migrated.returncode == 0, migrated.stderr
    with site.running(".venv/bin/gunicorn", "wsgi:app"), site.running(".venv/bin/python", "worker.py"):
        site.wait_until_ready()
        site.token = site.flask("tokens", "create", "--org", "Deployed", "--role", "ops")
        (document,) = site.upload({"rye.md": b"# Rye\n\nRye is a kind of grass that is grown for its grain."})
        site.wait_for_status(document["id"], "READY")


def _run(site: Installation, *command: str) -> "subprocess.CompletedProcess[str]":
    environment = {**site.environment, "PATH": os.environ["PATH"]}
    return subprocess.run(
        command, cwd=site.folder, env=environment, capture_output=True, text=True, check=False, timeout=200
    )
