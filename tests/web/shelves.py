"""Documents for the tests of pages: uploaded through the front door, processed by the real pipeline in this thread."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from itertools import count
from typing import Any

from flask import Flask
from sqlalchemy import event
from werkzeug.datastructures import FileStorage
from werkzeug.test import TestResponse, encode_multipart

from tests.hashed_words import HashedWords
from tests.web.people import Program
from webapp.db import db
from webapp.pipeline.handlers import HANDLERS
from webapp.services import Services
from webapp.worker.attempt import Attempts
from webapp.worker.policy import ExecutionPolicy

NOTES = b"# Milling notes\n\nWheat is ground between *stones*.\n\n## Rye\n\nRye is dark and heavy.\n"

File = tuple[str, bytes]


def services_of(app: Flask) -> Services:
    """What the application works with."""
    found: Services = app.extensions["docmill"]
    return found


def use_hashed_words(app: Flask) -> None:
    """Passages need no model here."""
    found = services_of(app)
    app.extensions["docmill"] = replace(found, providers=replace(found.providers, embedder=HashedWords()))


def send(program: Program, *files: File, folder: str | None = None) -> TestResponse:
    """Upload files in one form."""
    fields: dict[str, object] = {} if folder is None else {"folder": folder}
    # Encoded here: the client would put a large form into a file of its own and leave it open.
    boundary, body = encode_multipart(
        {**fields, "file": [FileStorage(BytesIO(content), name) for name, content in files]}
    )
    return program.post("/documents", data=body, content_type=f"multipart/form-data; boundary={boundary}")


def shelve(program: Program, *files: File) -> list[str]:
    """Upload files that are taken; their ids."""
    answer = send(program, *files)
    assert answer.status_code == 200, answer.text
    return [document["id"] for document in answer.json["documents"]]  # type: ignore[index] # it is a JSON answer


def notes(number: int) -> File:
    """A small file like no other."""
    return f"note-{number:03}.md", NOTES + f"\nNumber {number}.\n".encode()


def work_off(app: Flask, jobs: int | None = None) -> None:
    """Process everything that waits, or so many jobs."""
    found = services_of(app)
    attempts = Attempts(found, ExecutionPolicy.of(found.settings), HANDLERS)
    with app.app_context():
        for _ in count() if jobs is None else range(jobs):
            if not (claimed := attempts.claim("tests")):
                break
            attempts.run(claimed[0], threading.Event())


class Shelf(dict[str, str]):
    """Documents by words for them: each is processed when it is first asked for."""

    def __init__(self, app: Flask, program: Program, files: Mapping[str, tuple[str, Callable[[], bytes]]]) -> None:
        self._app, self._program, self._files = app, program, files

    def __missing__(self, word: str) -> str:
        name, content = self._files[word]
        [self[word]] = shelve(self._program, (name, content()))
        work_off(self._app)
        return self[word]


def read_json(answer: TestResponse) -> dict[str, Any]:
    """The body of an answer that is JSON."""
    assert answer.mimetype in {"application/json", "application/problem+json"}, answer.text
    body: dict[str, Any] = answer.get_json()
    return body


@contextmanager
def counted_queries(app: Flask) -> Iterator[list[str]]:
    """The statements that the database is sent meanwhile."""
    statements: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        statements.append(statement)

    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", note)
