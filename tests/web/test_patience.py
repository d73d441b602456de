"""However many connections say nothing, the server answers those who do."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.postgres import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.alone]

THREADS = 2
ANSWER_SECONDS = 20
HEADERS = b"GET / HTTP/1.1\r\nHost: test\r\nX-Unfinished: "
BODY = b"POST /sign-in HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\nhalf"
UPLOAD = b"POST /documents HTTP/1.1\r\nHost: test\r\nContent-Length: 8\r\n\r\nhalf"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("patience")
    address, config = folder / "web.sock", folder / "empty.py"
    config.touch()
    command = [sys.executable, "-m", "gunicorn", "--config", str(config), "--threads", str(THREADS)]
    command += [
        "--worker-class",
        "tests.web.hurried.HurriedWorker",
        "--bind",
        f"unix:{address}",
        "tests.web.hurried:app",
    ]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "Booting worker" in line:
            break
    yield address
    process.terminate()
    process.communicate(timeout=20)


def connected(address: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(ANSWER_SECONDS)
    connection.connect(str(address))
    return connection


def read_all(connection: socket.socket) -> bytes:
    received = b""
    while data := connection.recv(4096):
        received += data
    return received


@pytest.mark.parametrize("half", [HEADERS, BODY, UPLOAD], ids=["headers", "body", "upload"])
def test_half_requests_keep_nobody_out(address: Path, half: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(3 * THREADS):
            stack.enter_context(connected(address)).sendall(half)
        whole = stack.enter_context(connected(address))
        whole.sendall(b"GET / HTTP/1.0\r\nHost: test\r\n\r\n")
        assert read_all(whole).endswith(b"\r\n\r\n0")


@pytest.mark.parametrize("half", [HEADERS, BODY], ids=["headers", "body"])
def test_trickling_is_no_way_around_it(address: Path, half: bytes) -> None:
    with connected(address) as slow:
        slow.sendall(half)
        slow.settimeout(0.1)
        received, ended = b"", False
        for _ in range(200):
            try:
                slow.sendall(b"x")
                data = slow.recv(4096)
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                ended = True
                break
            received += data
            if not data:
                ended = True
                break
        assert ended


def test_an_upload_may_take_its_time(address: Path) -> None:
    with connected(address) as slow:
        slow.sendall(UPLOAD.replace(b"Length: 8", b"Length: 24") + b"")
        slow.settimeout(0.3)
        for _ in range(10):
            # Slower than anything else may be, yet never silent for long.
            with pytest.raises(TimeoutError):
                slow.recv(1)
            slow.sendall(b"12")
        slow.settimeout(ANSWER_SECONDS)
        assert slow.recv(4096).startswith(b"HTTP/1.1 200 OK")
