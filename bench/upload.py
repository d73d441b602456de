"""How soon an upload is answered while the workers are busy, and what a large one costs in memory.

Run as `python -m bench.upload [--seconds N] [--large MB]`. Four uploaders post different 1 MB files
without a pause to a real server (embedded on SQLite, web and worker processes on PostgreSQL) that
has a line of documents to process. Beside them, in the same run and on the same machine, it measures the
least that any server could do: a bare Flask view that saves the file, syncs it and answers.
"""

import argparse
import http.client
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from bench._databases import DATABASES
from bench._table import p50_p99, row, title
from tests.emulators.ports import free_port
from tests.samples import report_pdf

ROOT = Path(__file__).resolve().parent.parent
UPLOADERS = 4
BACKLOG = 40
BOUNDARY = "bench-upload"

BARE = """
import os, flask
app = flask.Flask(__name__)

@app.post("/documents")
def documents():
    path = os.path.join(os.environ["DATA_DIR"], os.urandom(8).hex())
    flask.request.files["file"].save(path)
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
    return {"documents": [{}]}

@app.get("/readyz")
def readyz():
    return {}
"""


@contextmanager
def process(*command: str, environment: Mapping[str, str], folder: Path = ROOT) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended, politely, at the end."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=folder, env={**os.environ, **environment}, stdout=quiet, stderr=quiet) as child:
        try:
            yield child
        finally:
            child.terminate()
            child.wait(timeout=60)


def wait_until_ready(port: int, seconds: float = 60) -> None:
    """Until /readyz answers 200."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"no server on port {port} after {seconds} s")


def body(name: str, content: bytes) -> bytes:
    """One file as a browser would send it."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


def post(connection: http.client.HTTPConnection, token: str, data: bytes) -> float:
    """Upload it; the seconds until the whole answer is there."""
    headers = {
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        "Authorization": f"Bearer {token}",
        "Accept": "application/json",
    }
    begun = time.perf_counter()
    connection.request("POST", "/documents", data, headers)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{answer.status}: {text[:300]!r}")
    return time.perf_counter() - begun


def megabyte() -> bytes:
    """A PDF of 1 MB: some pages of text, and a stream that no parser can shorten."""
    pdf = report_pdf(pages=3)
    return pdf + b"\n%" + os.urandom((1 << 20) - len(pdf)).hex().encode()[: (1 << 20) - len(pdf) - 2]


def uploader(port: int, token: str, seconds: float) -> list[float]:
    """Post different files one after the other; the seconds of each."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    template, times = megabyte(), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = body("bench.pdf", template + b"\n%" + os.urandom(16).hex().encode())
        times.append(post(connection, token, data))
    return times


def measure(port: int, token: str, seconds: float) -> list[float]:
    """All uploaders at once, each a process, so that they don't wait for each other."""
    with multiprocessing.get_context("spawn").Pool(UPLOADERS) as pool:
        results = pool.starmap(uploader, [(port, token, seconds)] * UPLOADERS)
    return [seconds_taken for result in results for seconds_taken in result]


def report(name: str, times: list[float], bare: float | None = None) -> float:
    """Print p50 and p99 in milliseconds; the p50."""
    p50, p99 = p50_p99(times)
    if bare is None:
        row(name, f"p50 {p50:.1f} ms, p99 {p99:.1f} ms")
    else:
        row(
            f"{name}, p50",
            f"{p50:.1f} ms",
            wanted="< 40 ms",
            beside=f"bare {bare:.1f} ms, {p50 / bare:.1f} x",
            holds=p50 < 40,
        )
        row(f"{name}, p99", f"{p99:.1f} ms", wanted="< 250 ms", holds=p99 < 250)
    return p50


@contextmanager
def docmill(database: str) -> Iterator[tuple[int, str, psutil.Process]]:
    """A Docmill as people run it: its port, an API token, and the process that serves."""
    port = free_port()
    with ExitStack() as stack:
        environment = stack.enter_context(DATABASES[database]())
        models = os.environ.get("MODELS_DIR", str(ROOT / ".cache" / "models"))
        environment |= {"PORT": str(port), "HOST": "127.0.0.1", "MODELS_DIR": models, "MAX_UPLOAD_MB": "4096"}
        environment |= {"WEB_CONCURRENCY": "1"}
        run = [sys.executable, "-m"]
        flask = [*run, "flask", "--app", "wsgi"]
        subprocess.run(
            [*flask, "db", "upgrade"], cwd=ROOT, env={**os.environ, **environment}, check=True, capture_output=True
        )
        create = [*flask, "tokens", "create", "--org", "bench", "--role", "ops"]
        made = subprocess.run(create, cwd=ROOT, env={**os.environ, **environment}, check=True, capture_output=True)
        web = stack.enter_context(process(*run, "gunicorn", "wsgi:app", environment=environment))
        if database == "postgresql":
            stack.enter_context(process(sys.executable, "worker.py", environment=environment))
        wait_until_ready(port)
        yield port, made.stdout.decode().strip(), psutil.Process(web.pid)


@contextmanager
def bare() -> Iterator[int]:
    """The server that only saves."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bare.py").write_text(BARE)
        command = [sys.executable, "-m", "gunicorn", "bare:app", "-b", f"127.0.0.1:{port}", "-k", "gthread"]
        with process(*command, "--threads", "32", environment={"DATA_DIR": folder}, folder=Path(folder)):
            wait_until_ready(port)
            yield port


def busy(port: int, token: str) -> None:
    """Give the workers more than they can do while the uploads are timed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(BACKLOG):
        post(connection, token, body(f"{number}.pdf", report_pdf(pages=60, paragraphs=5 + number)))


def memory(web: psutil.Process) -> int:
    """Bytes that the serving processes hold; their parsers are not theirs."""
    family = [web, *(child for child in web.children() if "gunicorn" in " ".join(child.cmdline()))]
    return sum(member.memory_info().rss for member in family)


def upload_large(port: int, token: str, web: psutil.Process, megabytes: int) -> float:
    """Stream one large file; how many MB the web process grew by at its worst."""
    before, worst = memory(web), 0
    block = os.urandom(1 << 20).hex().encode()[: 1 << 20]
    frame = body("large.txt", b"\x00").split(b"\x00")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.putrequest("POST", "/documents")
    connection.putheader("Content-Type", f"multipart/form-data; boundary={BOUNDARY}")
    connection.putheader("Content-Length", str(sum(map(len, frame)) + megabytes * len(block)))
    connection.putheader("Authorization", f"Bearer {token}")
    connection.putheader("Accept", "application/json")
    connection.endheaders(frame[0])
    for _ in range(megabytes):
        connection.send(block)
        worst = max(worst, memory(web))
    connection.send(frame[1])
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{answer.status}: {text[:300]!r}")
    return (max(worst, memory(web)) - before) / (1 << 20)


def main() -> None:
    """Measure the bare view, then both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--large", type=int, default=1024, help="MB of the large upload; 0 leaves it out")
    options = parser.parse_args()
    title(f"Uploads of 1 MB by {UPLOADERS} uploaders, the workers busy")
    with bare() as port:
        floor = report("a bare Flask view that saves the file", measure(port, "", options.seconds))
    for database in DATABASES:
        with docmill(database) as (port, token, web):
            measure(port, token, 2)  # warm
            busy(port, token)
            report(database, measure(port, token, options.seconds), floor)
        if options.large:
            with docmill(database) as (port, token, web):
                measure(port, token, 2)
                grew = upload_large(port, token, web, options.large)
                what = f"{database}: memory for an upload of {options.large} MB"
                row(what, f"{grew:.1f} MB", wanted="< 32 MB", holds=grew < 32)


if __name__ == "__main__":
    main()
