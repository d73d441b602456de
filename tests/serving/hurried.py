"""A small application under a server with short client limits, for the tests of these."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.worker.bench import wait_for
from webapp.serving.gunicorn_worker import GunicornWorker
from webapp.serving.inflow import ENVIRON_KEY, ClientLimits, Inflow

CONNECTIONS_PER_ADDRESS = 8


class HurriedWorker(GunicornWorker):
    """A GunicornWorker that tests need not wait for."""

    client_limits = ClientLimits(
        head_seconds=0.5,
        body_seconds=1.0,
        silence_seconds=2,
        close_seconds=1.0,
        pace_seconds=1.0,
        bytes_per_second_min=100,
    )


class CountingWorker(HurriedWorker):
    """The same, where nobody may have many connections."""

    client_limits = ClientLimits()
    connections_per_address = CONNECTIONS_PER_ADDRESS


class SmallWorker(HurriedWorker):
    """The same, where only a few connections are possible at all."""

    client_limits = ClientLimits()

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.worker_connections = CONNECTIONS_PER_ADDRESS


# A request to /wait is answered once this file exists.
GATE = Path(os.environ.get("HURRIED_GATE", "/"))
SIZES = {"/large": 64 << 20, "/page": 100_000}


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    inflow: Inflow = environ[ENVIRON_KEY]
    if environ["PATH_INFO"] == "/upload":
        inflow.lift_deadline()
    if environ["PATH_INFO"] == "/wait":
        wait_for(GATE.exists)
    length = 0
    if environ["PATH_INFO"] != "/refused":
        length = len(environ["wsgi.input"].read())
    answer = b"x" * SIZES[environ["PATH_INFO"]] if environ["PATH_INFO"] in SIZES else str(length).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(answer)))])
    return [answer]
