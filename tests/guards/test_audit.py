"""The audit of locked packages finds a known fault, and never takes silence for a clean bill."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import audit

LOCKED = f"""flask==3.1.3 \\
    --hash=sha256:{"0" * 64}
lxml==6.1.3 \\
    --hash=sha256:{"1" * 64}
"""
FAULT: dict[str, object] = {
    "id": "PYSEC-2026-1",
    "summary": "A fault",
    "aliases": ["CVE-2026-0001"],
    "affected": [
        {
            "package": {"name": "lxml", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "6.1.4"}]}],
            "versions": ["6.1.3"],
        }
    ],
}


@contextmanager
def database(faults: dict[str, list[dict[str, object]]]) -> Iterator[tuple[str, list[str]]]:
    """A database that speaks OSV's protocol: its address, and the packages that it was asked about."""
    asked: list[str] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(405)

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = question["package"]["name"]
            asked.append(f"{name}=={question['version']}")
            body = json.dumps({"vulns": faults[name]} if name in faults else {}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/query", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def locked(tmp_path: Path) -> str:
    path = tmp_path / "locked.txt"
    path.write_text(LOCKED)
    return str(path)


@pytest.mark.slow
def test_packages_without_a_known_fault_pass(locked: str) -> None:
    with database({}) as (url, asked):
        assert audit.main(["--url", url, "--locked", locked]) == 0
    assert sorted(asked) == ["flask==3.1.3", "lxml==6.1.3"]


@pytest.mark.slow
def test_a_known_fault_fails_and_names_the_package(locked: str, capfd: pytest.CaptureFixture[str]) -> None:
    with database({"lxml": [FAULT]}) as (url, _):
        assert audit.main(["--url", url, "--locked", locked]) == 1
    assert "PYSEC-2026-1" in capfd.readouterr().out


@pytest.mark.slow
def test_every_locked_package_is_asked_about() -> None:
    with database({}) as (url, asked):
        assert audit.main(["--url", url]) == 0
    assert len(asked) > 100
    assert "onnx==" in " ".join(asked)


@pytest.mark.parametrize(("arguments", "status"), [([], 1), (["--where-reachable"], 0)])
def test_a_database_that_cannot_be_reached_is_no_clean_bill(
    arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.main(["--url", "http://127.0.0.1:9/v1/query", *arguments]) == status
    assert "NOT audited" in capsys.readouterr().out
