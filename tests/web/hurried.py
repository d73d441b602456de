"""A small application under a server whose patience ends soon: for the tests of its patience."""

from collections.abc import Callable, Iterable
from typing import Any

from webapp.serving.patience import PatientWorker


class HurriedWorker(PatientWorker):
    """A PatientWorker that tests need not wait for."""

    silence_seconds = 2
    headers_seconds = 0.5
    body_seconds = 1.0


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    try:
        length = len(environ["wsgi.input"].read())
    except OSError:
        length = -1
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(length).encode()]
