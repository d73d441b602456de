"""The sandbox works where the product runs: in gunicorn's threads, and heartbeats go on beside it."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from tests import samples
from tests.local_providers import PDF, ROOT
from tests.processes import wait_until_gone
from webapp.providers.local.extract import LocalExtractor

pytestmark = [pytest.mark.slow, pytest.mark.alone]

BEAT_SECONDS = 0.05
GAP_SECONDS_MAX = 2.0


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket: no port has to be free."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(str(self._path))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    address, config = tmp_path / "web.sock", tmp_path / "empty.py"
    config.touch()
    command = [sys.executable, "-m", "gunicorn", "--config", str(config), "--preload", "--workers", "2"]
    command += ["--threads", "4", "--bind", f"unix:{address}", "tests.sandbox.gunicorn_app:app"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "Listening at" in line:
            break
    yield address, process
    process.kill()
    process.stderr.close()
    process.wait(20)


def ask(address: Path) -> dict[str, int]:
    connection = Connection(address)
    connection.request("GET", "/")
    answer: dict[str, int] = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def test_every_worker_has_its_own_and_takes_it_along(server: tuple[Path, subprocess.Popen[str]]) -> None:
    address, process = server
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(address), range(40)))
    spawners = {answer["worker"]: answer["spawner"] for answer in answers}
    assert all(spawners[answer["worker"]] == answer["spawner"] for answer in answers)
    assert len(set(spawners.values())) == len(spawners)
    process.send_signal(signal.SIGTERM)
    assert process.wait(40) == 0
    for spawner in spawners.values():
        wait_until_gone(spawner)


def test_heartbeats_go_on_while_a_page_is_parsed(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(samples.many_lines_pdf())
    extractor = LocalExtractor(memory_mb=1024)
    done, beats = threading.Event(), [time.monotonic()]

    def beat() -> None:
        while not done.wait(BEAT_SECONDS):
            beats.append(time.monotonic())

    beater = threading.Thread(target=beat)
    beater.start()
    try:
        extractor.extract(source, PDF, timeout_seconds=50, progress=lambda _: None)
    finally:
        done.set()
        beater.join()
        extractor.close()
    gaps = [later - earlier for earlier, later in pairwise(beats)]
    assert max(gaps) < GAP_SECONDS_MAX
