"""No secret in a path is logged, whatever goes wrong while its answer is sent."""

import logging
import socket

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.http.parser import RequestParser

from webapp.serving.gunicorn_worker import GunicornWorker
from webapp.serving.secret_paths import without_secret


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("/s/a-key", "/s/…"),
        ("/s/a-key/documents/1?page=2", "/s/…"),
        ("/sign-in/a-key", "/sign-in/…"),
        ("/%73/a-key", "/s/…"),
        ("//s//a-key", "/s/…"),
        ("https://docs.example.org/s/a-key", "/s/…"),
        ("/sign-in?next=%2Fops", "/sign-in?next=%2Fops"),
        ("/documents/s/1", "/documents/s/1"),
        ("/", "/"),
    ],
)
def test_a_path_is_shown_without_its_secret(uri: str, shown: str) -> None:
    assert without_secret(uri) == shown


def test_a_failure_while_an_answer_is_sent_is_logged_without_the_secret(caplog: pytest.LogCaptureFixture) -> None:
    config = Config()
    worker = object.__new__(GunicornWorker)
    worker.cfg, worker.log = config, Logger(config)
    worker.log.error_log.addHandler(caplog.handler)
    ours, theirs = socket.socketpair()
    try:
        with ours, theirs:
            for path in (b"/s/a-key/documents/1/original", b"/documents/1/original"):
                head = b"GET " + path + b" HTTP/1.1\r\nHost: test\r\n\r\n"
                request = next(RequestParser(config, iter([head]), ("127.0.0.1", 1)))
                worker.handle_error(request, ours, ("127.0.0.1", 1), RuntimeError("the store is gone"))
            assert theirs.recv(1000).startswith(b"HTTP/1.1 500")
    finally:
        worker.log.error_log.removeHandler(caplog.handler)
        logging.getLogger("gunicorn.error").handlers.clear()
    assert "a-key" not in caplog.text
    assert "Error handling request GET /s/…" in caplog.text
    assert "Error handling request GET /documents/1/original" in caplog.text
