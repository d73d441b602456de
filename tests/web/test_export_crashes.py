"""An export whose process is killed at any point: it goes on behind the last part, and its file is whole."""

import io
import threading
import zipfile
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import People, Program
from tests.web.shelves import notes, read_json, services_of, shelve, use_hashed_words, work_off
from webapp.clock import monotonic
from webapp.db import transaction
from webapp.library.exports import operation
from webapp.pipeline import export as stage
from webapp.pipeline.steps import StageContext
from webapp.providers.local.blob import LocalBlobStore
from webapp.runs.stages import EXPORT

DOCUMENTS = 3
# A part for each document, one that finds that there are no more, and the end.
PARTS = DOCUMENTS + 1


class Crash(BaseException):
    """The process is gone."""


def _dies_before(number: int, really: Callable[..., Any]) -> Callable[..., Any]:
    return _dies(number, really, is_before=True)


def _dies_behind(number: int, really: Callable[..., Any]) -> Callable[..., Any]:
    return _dies(number, really, is_before=False)


def _dies(number: int, really: Callable[..., Any], *, is_before: bool) -> Callable[..., Any]:
    """The same function, but that the process dies before or behind its nth call."""
    seen = [0]

    def call(*arguments: Any, **more: Any) -> Any:
        seen[0] += 1
        if seen[0] == number and is_before:
            raise Crash
        result = really(*arguments, **more)
        if seen[0] == number and not is_before:
            raise Crash
        return result

    return call


# Where it dies: while a part or its list is stored, in the commit that notes it, and right after that commit.
POINTS: dict[str, tuple[Any, str, Callable[..., Callable[..., Any]]]] = {
    "before a blob": (LocalBlobStore, "put_file", _dies_before),
    "behind a blob": (LocalBlobStore, "put_file", _dies_behind),
    "before the commit": (operation, "note_part", _dies_before),
    "in the commit": (operation, "note_part", _dies_behind),
    "behind the commit": (stage, "_note", _dies_behind),
    "in the middle of a part": (stage, "write_some", _dies_behind),
    "at the end": (stage, "write_end", _dies_behind),
}


@both_databases
def test_an_export_survives_a_crash_at_any_commit(app: Flask, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    use_hashed_words(app)
    shelf = people.program("ops")
    shelve(shelf, *map(notes, range(DOCUMENTS)))
    work_off(app)
    monkeypatch.setattr(stage, "PART_BYTES", 1)
    for point, (owner, name, dying) in POINTS.items():
        begun = read_json(shelf.post("/bulk", json={"action": "export", "query": ""}))["id"]
        deaths = 0
        # Each attempt gets one call further than the one before.
        for number in (1, 2, 2, 3):
            with monkeypatch.context() as patched:
                patched.setattr(owner, name, dying(number, getattr(owner, name)))
                deaths += _work_until_death(app)
        assert deaths, point
        work_off(app)
        _check_whole(app, shelf, begun, point)


def _work_until_death(app: Flask) -> bool:
    found = services_of(app)
    with app.app_context():
        found.queue.wake_delayed()
        for lease in found.queue.claim("dying", stages=(EXPORT,)):
            context = StageContext(lease, found.queue, found.providers, 1, monotonic() + 60, threading.Event())
            try:
                stage.export(context)
            except Crash:
                with transaction(everywhere=True):
                    found.queue.release([lease])
                return True
    return False


def _check_whole(app: Flask, shelf: Program, operation_id: str, point: str) -> None:
    done = read_json(shelf.get(f"/bulk/{operation_id}"))
    assert (done["state"], done["done"], done["failed"]) == ("SUCCEEDED", DOCUMENTS, 0), point
    opened = zipfile.ZipFile(io.BytesIO(shelf.get(done["file"]["url"]).data))
    assert opened.testzip() is None
    names = opened.namelist()
    assert len(names) == len(set(names)), "nothing is there twice"
    assert sum(name.startswith("files/") for name in names) == DOCUMENTS
    for line in opened.read("SHA256SUMS").decode().splitlines():
        digest, name = line.split("  ", 1)
        assert sha256(opened.read(name)).hexdigest() == digest
    folder = f"{shelf.org_id}/exports/{operation_id}/"
    kept = list(services_of(app).providers.blobs.list(folder))
    if point != "behind the commit":
        # What dead processes left is gone. One that died right after the last commit leaves it to the sweep.
        assert sum(info.size_bytes for info in kept) == done["file"]["size_bytes"], point
    assert list(services_of(app).providers.blobs.incoming().glob("export-*")) == []
