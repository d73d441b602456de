"""A server that listens on loopback, for clients."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from flask import Flask
from werkzeug.serving import make_server

from tests.bare import DatabaseUnderTest
from tests.web.people import People, Program
from tests.web.shelves import use_hashed_words


@dataclass(frozen=True)
class Served:
    """An application, where it listens, and a member's program."""

    app: Flask
    url: str
    people: People
    program: Program


@pytest.fixture
def database(sqlite_database: DatabaseUnderTest) -> DatabaseUnderTest:
    """Clients know nothing of databases."""
    return sqlite_database


@pytest.fixture
def served(own_app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server whose address and token are in the environment."""
    use_hashed_words(own_app)
    server = make_server("127.0.0.1", 0, own_app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    people = People(own_app)
    place = Served(own_app, f"http://127.0.0.1:{server.server_port}", people, people.program())
    monkeypatch.setenv("DOCMILL_URL", f"{place.url}/")
    monkeypatch.setenv("DOCMILL_TOKEN", place.program.token)
    yield place
    server.shutdown()
    thread.join()
    server.server_close()
