"""Two hundred clients that mean harm by being slow, beside ten ordinary users of a real server."""

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.journeys.site import BIN, Installation
from tests.postgres import ROOT
from tests.serving.hostile import KINDS, NO_LIMITS, besieged, p99, waits

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.alone, pytest.mark.timeout(300)]

HOSTILE = 200
P99_MS = 250.0
ROUNDS_MOST = 3


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The server that is besieged."""
    with started(tmp_path_factory.mktemp("hostile")) as home:
        yield home


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Another one beside it that nobody besieges: what slows it down as well is the machine's doing."""
    with started(tmp_path_factory.mktemp("peer")) as peer:
        yield peer


@contextmanager
def started(folder: Path) -> Iterator[Installation]:
    variables = {"DATA_DIR": str(folder / "data"), "DRAIN_SECONDS": "1", **NO_LIMITS}
    home = Installation(variables, folder / "server.log")
    upgrade = [str(BIN / "flask"), "--app", "wsgi", "db", "upgrade"]
    subprocess.run(upgrade, cwd=ROOT, env=home.environment, check=True, capture_output=True)
    home.token = home.flask("tokens", "create", "--org", "Home", "--role", "ops")
    with home.running("gunicorn", "wsgi:app"):
        home.wait_until_ready()
        waits(home.port, home.token, requests=10)
        yield home
    said = home.log.read_text()
    assert "Traceback" not in said
    assert "TIMEOUT" not in said
    assert len(re.findall("Docmill is ready", said)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_ordinary_users_notice_nothing(home: Installation, peer: Installation, kind: str) -> None:
    """In one round of three at least: what hostile clients do shows in each round, what else is done here does not."""
    assert any(_is_unnoticed(home, peer, kind) for _ in range(ROUNDS_MOST))


def _is_unnoticed(home: Installation, peer: Installation, kind: str) -> bool:
    with besieged(kind, home.port, HOSTILE, home.token), ThreadPoolExecutor(2) as pool:
        both = [pool.submit(waits, each.port, each.token) for each in (home, peer)]
        besides, bare = (p99(one.result()) for one in both)
    sys.stdout.write(f"{kind}: p99 {besides:.0f} ms beside {HOSTILE} hostile connections, {bare:.0f} ms without\n")
    return besides < max(P99_MS, 3 * bare)
