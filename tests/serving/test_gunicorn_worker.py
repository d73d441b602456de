"""However many clients are slow, the server answers those who are not."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median

import pytest

from tests.postgres import ROOT
from tests.serving.hurried import CONNECTIONS_PER_ADDRESS, SIZES

pytestmark = [pytest.mark.slow, pytest.mark.alone]

THREADS = 2
ANSWER_SECONDS = 20
HEADERS = b"GET / HTTP/1.1\r\nHost: test\r\nX-Unfinished: "
BODY = b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\nhalf"
CHUNKS = b"POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n500\r\nhalf"
LARGE = b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\nhalf"
UPLOAD = LARGE.replace(b"POST /", b"POST /upload")
PAGE = b"GET /page HTTP/1.1\r\nHost: test\r\n\r\n"
WHOLE = b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"


@contextmanager
def served(folder: Path, worker: str, bind: str) -> Iterator[str]:
    """The small application; where it listens."""
    config = folder / "empty.py"
    config.write_text("keepalive = 5\n")
    command = [sys.executable, "-m", "gunicorn", "--config", str(config), "--threads", str(THREADS)]
    command += ["--worker-class", f"tests.serving.hurried.{worker}", "--bind", bind, "tests.serving.hurried:app"]
    environment = {**os.environ, "HURRIED_GATE": str(folder / "gate")}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    where = bind
    for line in process.stderr:
        found = re.search(r"Listening at: http://([\d.:]+)", line)
        where = found[1] if found else where
        if "Booting worker" in line:
            break
    try:
        yield where
    finally:
        (folder / "gate").touch()
        process.terminate()
        _, said = process.communicate(timeout=20)
    assert "Traceback" not in said
    assert "TIMEOUT" not in said


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("patience")
    with served(folder, "HurriedWorker", f"unix:{folder}/web.sock") as where:
        yield where.removeprefix("unix:")


def connected(address: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(ANSWER_SECONDS)
    connection.connect(address)
    return connection


def read_all(connection: socket.socket) -> bytes:
    received = b""
    while data := connection.recv(4096):
        received += data
    return received


def answered_in(address: str) -> float:
    """The seconds that an ordinary client waits."""
    with connected(address) as whole:
        began = time.perf_counter()
        whole.sendall(WHOLE)
        assert read_all(whole).endswith(b"\r\n\r\n0")
        return time.perf_counter() - began


@pytest.mark.parametrize("closes", [WHOLE, BODY.replace(b"POST /", b"POST /refused").replace(b"1000", b"4")])
def test_a_client_that_does_not_close_delays_nobody(address: str, closes: bytes) -> None:
    with ExitStack() as stack:
        bare = min(answered_in(address) for _ in range(20))
        waits = []
        for _ in range(10):
            # It reads nothing and does not close, which the server has to wait for.
            stack.enter_context(connected(address)).sendall(closes.replace(b"HTTP/1.1", b"HTTP/1.0"))
            waits.append(answered_in(address))
        # If they held threads, all but the first few would wait; on a busy machine some do.
        assert median(waits) < bare + 0.050, waits


def is_cut_off(connection: socket.socket) -> bool:
    """Whether the server has closed it altogether, before long."""
    end = time.perf_counter() + ANSWER_SECONDS
    with suppress(BrokenPipeError, ConnectionResetError):
        while time.perf_counter() < end:
            connection.sendall(b"x")
            connection.recv(1)
        return False
    return True


def test_a_client_that_does_not_close_is_cut_off(address: str) -> None:
    with connected(address) as slow:
        slow.sendall(WHOLE)
        assert read_all(slow)
        assert is_cut_off(slow)


@pytest.mark.parametrize(
    "half", [HEADERS, BODY, CHUNKS, LARGE, UPLOAD], ids=["head", "body", "chunks", "large", "upload"]
)
def test_half_requests_keep_nobody_out(address: str, half: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(3 * THREADS):
            stack.enter_context(connected(address)).sendall(half)
        answered_in(address)


@pytest.mark.parametrize("half", [b"", HEADERS, BODY, CHUNKS], ids=["silence", "head", "body", "chunks"])
def test_what_is_collected_takes_no_thread(address: str, half: bytes) -> None:
    with ExitStack() as stack:
        bare = min(answered_in(address) for _ in range(20))
        for _ in range(10 * THREADS):
            stack.enter_context(connected(address)).sendall(half)
        waits = [answered_in(address) for _ in range(10)]
        assert median(waits) < bare + 0.050, waits


@pytest.mark.parametrize(
    "half", [HEADERS, BODY, CHUNKS, LARGE, UPLOAD], ids=["head", "body", "chunks", "large", "upload"]
)
def test_trickling_is_no_way_around_it(address: str, half: bytes) -> None:
    with connected(address) as slow:
        slow.sendall(half)
        slow.settimeout(0.1)
        received, ended = b"", False
        for _ in range(200):
            try:
                slow.sendall(b"1")
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
        if half in {HEADERS, BODY, CHUNKS}:
            assert received.startswith(b"HTTP/1.1 408 Request Timeout")


def test_an_upload_may_take_its_time(address: str) -> None:
    with connected(address) as slow:
        size = 300_000
        slow.sendall(UPLOAD.replace(b"1000000", str(size).encode()))
        slow.settimeout(0.3)
        for _ in range(10):
            # Slower than anything else may be, yet neither silent for long nor slower than any line.
            with pytest.raises(TimeoutError):
                slow.recv(1)
            slow.sendall(100 * b"x")
        slow.settimeout(ANSWER_SECONDS)
        slow.sendall((size - 1004) * b"x")
        assert slow.recv(4096).startswith(b"HTTP/1.1 200 OK")


def test_a_reader_that_reads_nothing_does_not_keep_its_thread(address: str) -> None:
    with ExitStack() as stack:
        for _ in range(3 * THREADS):
            stack.enter_context(connected(address)).sendall(WHOLE.replace(b"GET /", b"GET /large"))
        answered_in(address)


def test_an_answer_that_nobody_takes_in_needs_no_thread(address: str) -> None:
    with ExitStack() as stack:
        bare = min(answered_in(address) for _ in range(20))
        for _ in range(3 * THREADS):
            # More than the kernel takes; each answer by itself is small.
            stack.enter_context(connected(address)).sendall(20 * PAGE)
        waits = [answered_in(address) for _ in range(10)]
        assert sorted(waits)[-2] < bare + 0.250, waits


def test_a_slow_reader_gets_the_whole_answer(address: str) -> None:
    with connected(address) as late:
        late.sendall(9 * PAGE + PAGE.replace(b"Host", b"Connection: close\r\nHost"))
        answered_in(address)
        received = read_all(late)
    assert received.count(b"HTTP/1.1 200 OK") == 10
    assert received.count(SIZES["/page"] * b"x") == 10


def is_refused(connection: socket.socket) -> bool:
    """Whether the server takes nothing from it any more, before long; nothing is read meanwhile."""
    end = time.perf_counter() + ANSWER_SECONDS
    with suppress(BrokenPipeError):
        while time.perf_counter() < end:
            connection.sendall(b"x")
            time.sleep(0.01)
        return False
    return True


def test_whoever_reads_nothing_of_a_small_answer_is_cut_off(address: str) -> None:
    with connected(address) as slow:
        slow.sendall(20 * PAGE)
        assert is_refused(slow)


def test_requests_follow_one_another_on_one_connection(address: str) -> None:
    kept = WHOLE.replace(b"Connection: close\r\n", b"")
    form = b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\n12345"
    chunks = b"POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    unread = form.replace(b"POST /", b"POST /refused")
    with connected(address) as connection:
        # Behind one another at once, and the last one in two halves.
        connection.sendall(kept + form + unread + chunks + WHOLE[:10])
        connection.sendall(WHOLE[10:])
        lengths = re.findall(rb"\r\n\r\n(\d)", read_all(connection))
    assert lengths == [b"0", b"5", b"0", b"3", b"0"]


def test_a_client_that_expects_100_continue_gets_it_before_its_form(address: str) -> None:
    with connected(address) as connection:
        connection.sendall(
            WHOLE.replace(b"GET", b"POST").replace(
                b"\r\n\r\n", b"\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
            )
        )
        assert connection.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"abc")
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith(b"\r\n\r\n3")


def test_an_answer_reaches_a_client_that_is_still_sending(address: str) -> None:
    with connected(address) as connection:
        connection.sendall(UPLOAD.replace(b"/upload", b"/refused").replace(b"1000000", b"2000000"))
        connection.sendall(1_999_996 * b"x")
        assert read_all(connection).startswith(b"HTTP/1.1 200 OK")


def test_a_head_that_is_too_large_is_refused(address: str) -> None:
    with connected(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n" + 70 * (b"X: " + 1_000 * b"x" + b"\r\n"))
        assert read_all(connection).startswith(b"HTTP/1.1 431 ")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with served(tmp_path_factory.mktemp("counted"), "CountingWorker", "127.0.0.1:0") as where:
        host, _, port = where.partition(":")
        yield host, int(port)


def from_address(place: tuple[str, int], source: str) -> socket.socket:
    return socket.create_connection(place, timeout=ANSWER_SECONDS, source_address=(source, 0))


def test_an_address_that_has_many_connections_loses_those_that_only_wait(counted: tuple[str, int]) -> None:
    with ExitStack() as stack:
        many = [stack.enter_context(from_address(counted, "127.0.0.2")) for _ in range(4 * CONNECTIONS_PER_ADDRESS)]
        for connection in many:
            connection.sendall(HEADERS)
        many[-1].sendall(b"x\r\nConnection: close\r\n\r\n")
        assert read_all(many[-1]).endswith(b"\r\n\r\n0")
        # The first ones were closed long before their time.
        assert is_cut_off(many[0])
        other = stack.enter_context(from_address(counted, "127.0.0.3"))
        other.sendall(WHOLE)
        assert read_all(other).endswith(b"\r\n\r\n0")


def test_the_connection_that_waited_longest_is_closed(tmp_path: Path) -> None:
    with served(tmp_path, "SmallWorker", f"unix:{tmp_path}/web.sock") as where, ExitStack() as stack:
        address = where.removeprefix("unix:")
        for _ in range(4 * CONNECTIONS_PER_ADDRESS):
            stack.enter_context(connected(address)).sendall(HEADERS)
        answered_in(address)


def test_an_address_whose_connections_are_all_busy_is_refused(counted: tuple[str, int]) -> None:
    with ExitStack() as stack:
        refused, began = b"", time.perf_counter()
        # One whose request has not come yet makes room for the next; in the end all are at work.
        while b"429" not in refused and time.perf_counter() - began < ANSWER_SECONDS:
            connection = stack.enter_context(from_address(counted, "127.0.0.4"))
            connection.settimeout(0.2)
            with suppress(OSError):
                connection.sendall(WHOLE.replace(b"GET /", b"GET /wait"))
            with suppress(OSError):
                refused = connection.recv(4096)
        assert b"Too many connections from your address" in refused
        assert b"Retry-After: 5" in refused
