"""How long requests take while 10,000 documents are tagged, deleted and restored, beside the same requests in peace.

Run as `python -m bench.bulk [--only postgresql]`. The ids are sent as a form sends them: ten thousand ticked rows. A
thread of this process works the operation off, as in an embedded installation, while the library is asked for again and
again; each request, that which begins the operation included, is to take less than a second.
"""

import argparse
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any
from urllib.parse import urlencode

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from bench import _crowd
from bench._databases import DATABASES
from bench._table import p50_p99, row, title
from bench.pages import _fill, _signed_in
from webapp.app import create_app
from webapp.config import Settings
from webapp.db import db, reading
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.library.bulk import IDS_MAX
from webapp.pipeline.handlers import HANDLERS
from webapp.runs.stages import BULK
from webapp.worker.attempt import Attempts
from webapp.worker.policy import ExecutionPolicy

DOCUMENTS = 20_000
WANTED_MS = 1_000
ASKED = ("/documents", "/documents?q=invoice", "/documents?status=ready", "/bin")
ROUNDS = 40
_JSON = {"Accept": "application/json"}


def main() -> None:
    """Measure on both databases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(DATABASES))
    options = parser.parse_args()
    for name, opened in DATABASES.items():
        if options.only in {None, name}:
            with opened() as variables:
                _measure(name, variables)


def _measure(name: str, variables: dict[str, str]) -> None:
    settings = Settings.from_environment({"SECRET_KEY": "for a benchmark only", "EXECUTION": "", **variables})
    _fill(settings, variables, DOCUMENTS)
    app = create_app(settings)
    with app.app_context():
        client = _signed_in(app)
        found = re.search(r'name="csrf_token" value="([^"]+)"', client.get("/").text)
        assert found
        token = {"csrf_token": found[1]}
        with reading(_crowd.ORG) as session:
            of_org = select(Document.id).where(Document.org_id == _crowd.ORG, in_library)
            ids = [str(each) for each in session.scalars(of_org.order_by(Document.id).limit(IDS_MAX))]
    title(f"{len(ids):,} of {DOCUMENTS:,} documents changed at once, {name}")
    asked = cycle(ASKED)
    alone = [_seconds(lambda: client.get(next(asked), headers=_JSON))[0] for _ in range(ROUNDS)]
    with _working(app):
        tagged = _operation(client, alone, "tag", {**token, "action": "tag", "tags": "many", "id": ids})
        deleted = _operation(client, alone, "delete", {**token, "action": "delete", "id": ids})
        _operation(client, alone, "restore", token, f"/bulk/{deleted}/undo")
        _operation(client, alone, "untag", token, f"/bulk/{tagged}/undo")
    with app.app_context():
        db.engine.dispose()


def _operation(client: FlaskClient, alone: list[float], name: str, form: dict[str, Any], address: str = "/bulk") -> str:
    """Begin an operation and wait until it is done; its id."""
    took = []
    if address == "/bulk":
        # The question before it.
        seconds, answer = _seconds(lambda: _post(client, address, form))
        took.append(seconds)
        assert answer.status_code == 200, answer.text[:500]
    seconds, answer = _seconds(lambda: _post(client, address, {**form, "confirmed": "1"}))
    took.append(seconds)
    assert answer.status_code == 303, answer.text[:500]
    operation = answer.location.rpartition("/")[2]
    began_at, meanwhile, asked = time.perf_counter(), [], cycle((f"/bulk/{operation}", *ASKED))
    while True:
        seconds, answer = _seconds(lambda: client.get(next(asked), headers=_JSON))
        meanwhile.append(seconds)
        state = answer.get_json().get("state")
        if state not in {None, "QUEUED", "RUNNING"}:
            break
    body = answer.get_json()
    assert (body["state"], body["done"]) == ("SUCCEEDED", IDS_MAX), body
    worst, p50, usual = max(took + meanwhile) * 1000, p50_p99(meanwhile)[0], p50_p99(alone)[0]
    took_in_all = time.perf_counter() - began_at
    begun = " and ".join(f"{each * 1000:.0f}" for each in took)
    row(
        f"{name}: slowest request ({begun} to begin)",
        f"{worst:.0f} ms",
        wanted=f"≤ {WANTED_MS} ms",
        holds=worst <= WANTED_MS,
    )
    beside = f"in peace {usual:.0f} ms"
    row(f"{name}: pages meanwhile, p50; in all", f"{p50:.0f} ms; {took_in_all:.1f} s", beside=beside)
    return str(operation)


def _post(client: FlaskClient, address: str, form: dict[str, Any]) -> Any:
    body = urlencode(form, doseq=True)
    return client.post(address, data=body, content_type="application/x-www-form-urlencoded")


def _seconds(ask: Callable[[], Any]) -> tuple[float, Any]:
    began_at = time.perf_counter()
    answer = ask()
    return time.perf_counter() - began_at, answer


@contextmanager
def _working(app: Flask) -> Iterator[None]:
    """A thread that works off operations, and nothing else."""
    services, ending = app.extensions["docmill"], threading.Event()
    attempts = Attempts(services, ExecutionPolicy.of(services.settings), {BULK: HANDLERS[BULK]})

    def work() -> None:
        with app.app_context():
            while not ending.wait(0.01):
                services.queue.wake_delayed()
                for claimed in attempts.claim("bench"):
                    attempts.run(claimed, ending)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


if __name__ == "__main__":
    main()
