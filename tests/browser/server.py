"""Docmill as a process of its own, for a browser to visit, and the HTMX that it hands out from this machine."""

import base64
import contextlib
import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.postgres import ROOT
from webapp.web.security import HTMX_INTEGRITY, HTMX_URL

START_SECONDS = 60
STOP_SECONDS = 45
_VERSION = HTMX_URL.partition("@")[2].partition("/")[0]
_LINK = re.compile(r"http://\S+/sign-in/\S+")


class NoHtmx(Exception):
    """The file cannot be had here: there is no npm, or it reaches no registry."""


@dataclass(frozen=True)
class Visit:
    """A running Docmill and the link that lets its owner in."""

    url: str
    link: str


def htmx_file() -> Path:
    """The very file that pages name by its hash, from the package that npm delivers."""
    path = ROOT / ".cache" / f"htmx-{_VERSION}.min.js"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        unpacked = _from_npm(path.parent)
        digest = base64.b64encode(hashlib.sha384(unpacked).digest()).decode()
        if f"sha384-{digest}" != HTMX_INTEGRITY:
            raise NoHtmx(f"htmx.org@{_VERSION} from npm is not the file that pages expect")
        # Another test process may be doing the same.
        partial_path = path.with_suffix(f".{os.getpid()}")
        partial_path.write_bytes(unpacked)
        partial_path.replace(path)
    return path


@contextmanager
def file_server(folder: Path) -> Iterator[str]:
    """Hand out a folder's files to pages of any origin, as a content network does."""
    handler = partial(_Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def docmill(data_dir: Path, htmx_url: str, **variables: str) -> Iterator[Visit]:
    """Migrate, start, wait until it answers; in the end ask it to stop and see that it does."""
    port = str(_free_port())
    environment = _environment(data_dir, PORT=port, HTMX_URL=htmx_url, HTMX_INTEGRITY=HTMX_INTEGRITY, **variables)
    _migrate(environment)
    log = data_dir / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "wsgi:app"], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
        try:
            yield Visit(f"http://127.0.0.1:{port}", _sign_in_link(process, log))
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            finally:
                process.kill()
                process.wait()


class _Quiet(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()

    def log_message(self, *arguments: object) -> None:
        """Nobody reads it."""


def _from_npm(folder: Path) -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise NoHtmx("there is no npm here")
    packed = subprocess.run(
        [npm, "pack", "--silent", f"htmx.org@{_VERSION}"], cwd=folder, capture_output=True, text=True, check=False
    )
    if packed.returncode != 0:
        raise NoHtmx(f"npm could not fetch htmx.org: {packed.stderr[-300:]}")
    archive = folder / packed.stdout.split()[-1]
    try:
        with tarfile.open(archive) as files:
            member = files.extractfile("package/dist/htmx.min.js")
            assert member is not None
            return member.read()
    finally:
        archive.unlink()


def _environment(data_dir: Path, **variables: str) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    own = {
        "DATA_DIR": str(data_dir),
        "MODELS_DIR": str(ROOT / ".cache" / "models"),
        "SECRET_KEY": "for tests only, long",
    }
    return {**inherited, **own, **variables}


def _migrate(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "db", "upgrade"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _sign_in_link(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """The link that a start prints once pages are served."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        text = log.read_text(encoding="utf-8", errors="replace")
        if found := _LINK.search(text):
            return found[0]
        try:
            # Waiting for the process to end is also a pause that ends at once if it does.
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError(f"Docmill did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
