"""A library moves: exported from one installation and imported into another, it looks the same to everybody."""

import contextlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import func, select

from tests import postgres
from tests.applications import MEMORY_MB, Client
from tests.bare import DatabaseUnderTest, dispose, settings_for
from tests.web.databases import both_databases
from tests.web.people import People, Program
from tests.web.shelves import NOTES, notes, read_json, send, shelve, use_hashed_words, work_off
from tests.web.test_field_pages import invoice
from webapp.app import create_app
from webapp.db import reading, session
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import Document
from webapp.jobs.model import Job

_PARTS = ("fields", "tables", "chunks", "connections", "runs", "parts", "outline", "readings")
_QUERIES = ("wheat", "rye stones", "tag:tax", "note", '"dark and heavy"', "in:Tax", "is:favourite", "Milling -rye")
_MICROSECONDS = re.compile(r"(T\d\d:\d\d:\d\d\.\d{3})\d{3}(?=\+00:00)")
# Computed of times, or of vectors.
_TOLD_APART = {"seconds", "duration_seconds", "offset", "took", "result_seconds", "score"}
_CSV = b"item,price\nflour,4\nbran,2\n"


@pytest.fixture
def shelf(app: Flask, people: People) -> Program:
    use_hashed_words(app)
    return people.program("ops")


@dataclass(frozen=True)
class Targets:
    """Makes installations on new databases of either kind."""

    folder: Path
    sqlite: Path
    server: postgres.Server
    template: str

    @contextlib.contextmanager
    def made(self, kind: str) -> Iterator[Flask]:
        """An installation without orgs."""
        name = f"moved_{uuid4().hex[:12]}"
        if kind == "sqlite":
            shutil.copyfile(self.sqlite, self.folder / f"{name}.sqlite3")
            url = f"sqlite:///{self.folder / name}.sqlite3"
        else:
            url = self.server.create_database(name, template=self.template).runtime_url
        app = create_app(settings_for(self.folder / name, DATABASE_URL=url, EXTRACT_MEMORY_MB=str(MEMORY_MB)))
        app.testing, app.test_client_class = True, Client
        use_hashed_words(app)
        try:
            yield app
        finally:
            dispose(app)
            if kind != "sqlite":
                self.server.drop_database(name)


@pytest.fixture
def targets(tmp_path: Path, sqlite_template: Path, postgres_server: postgres.Server, postgres_template: str) -> Targets:
    return Targets(tmp_path, sqlite_template, postgres_server, postgres_template)


def _command(app: Flask, *arguments: object) -> Result:
    return app.test_cli_runner().invoke(args=["library", *map(str, arguments)])


def _said(program: Program, path: str, **body: Any) -> None:
    method = "PATCH" if path.count("/") == 2 else "PUT"
    answer = program.client.open(path, method=method, json=body, headers=program.headers)
    assert answer.status_code in {200, 204}, answer.text


def _archive() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("inner/one.md", NOTES + b"\nIn an archive.\n")
        archive.writestr("two.csv", _CSV + b"semolina,3\n")
    return written.getvalue()


def _fill(app: Flask, program: Program) -> list[str]:
    """A library with something of everything, the last of it not processed yet."""
    one, two, table, bill, archive, gone = shelve(
        program,
        notes(0),
        notes(1),
        ("prices.csv", _CSV),
        ("invoice.rtf", invoice("A-17", "2025-03-04", "120.00")),
        ("box.zip", _archive()),
        ("gone.md", NOTES + b"\nThis lies in the bin.\n"),
    )
    [folded] = [
        each["id"]
        for each in read_json(send(program, ("tax.md", b"# Tax\n\nMills.\n"), folder="Tax/2025"))["documents"]
    ]
    work_off(app)
    _said(program, f"/documents/{one}", title="Mills", tags=["tax", "to pay"], note="Read it again", favourite=True)
    _said(program, f"/documents/{two}", filename="renamed.md", document_date="2024-02-03", kind="letter")
    _said(program, f"/documents/{table}/tables/1/cells/1/1", value="5")
    fields = read_json(program.get(f"/documents/{bill}/fields"))["fields"]
    assert fields, "the invoice has fields"
    _said(program, f"/documents/{bill}/fields/{fields[0]['name']}", value="INV-2025-18")
    program.client.delete(f"/documents/{gone}", headers=program.headers)
    view = read_json(program.post("/views", json={"name": "Taxes", "query": "tag:tax"}))["id"]
    rule = read_json(program.post("/rules", json={"name": "Order", "view_id": view, "tags": ["ordered"]}))["id"]
    assert program.post(f"/rules/{rule}/apply").status_code in {200, 202}
    work_off(app)
    [waiting] = shelve(program, ("waiting.md", b"# Waiting\n\nNobody has read this.\n"))
    return [one, two, table, bill, archive, folded, waiting]


def _seen(program: Program, ids: list[str]) -> dict[str, Any]:
    """All that people and programs see of a library."""
    listed = read_json(program.get("/documents?limit=50"))["documents"]
    everything: dict[str, Any] = {"listed": [each["id"] for each in listed], "bin": read_json(program.get("/bin"))}
    for each in {*ids, *everything["listed"]}:
        everything[each] = read_json(program.get(f"/documents/{each}"))
        for part in _PARTS:
            answer = program.get(f"/documents/{each}/{part}")
            everything[f"{each}/{part}"] = read_json(answer) if answer.status_code == 200 else answer.status_code
        everything[f"{each}/original"] = program.get(f"/documents/{each}/original").data
        everything[f"{each}/markdown"] = program.get(f"/documents/{each}/markdown").text
    views = read_json(program.get("/views"))["views"]
    everything["views"] = [(view["id"], view["name"], view["query"]) for view in views]
    everything["rules"] = read_json(program.get("/rules"))
    for query in _QUERIES:
        found = program.client.get("/search", query_string={"q": query}, headers=program.headers)
        everything[f"search {query}"] = read_json(found)
    return everything


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@both_databases
def test_a_library_is_the_same_in_its_new_place(
    app: Flask, shelf: Program, targets: Targets, kind: str, tmp_path: Path, database: DatabaseUnderTest
) -> None:
    ids = _fill(app, shelf)
    waiting = ids.pop()
    path = tmp_path / "library.zip"
    told = _command(app, "export", "--org", "Ours", path)
    assert told.exit_code == 0, told.output
    work_off(app)
    before = _seen(shelf, ids)
    with targets.made(kind) as target:
        told = _command(target, "import", "--org", "Ours", path)
        assert told.exit_code == 0, told.output
        assert "1 are processed anew" in told.output
        program = People(target).program("ops")
        listed = read_json(program.get(f"/documents/{waiting}"))
        assert listed["status"] == "PROCESSING"
        _check_nothing_is_done_again(target, program)
        work_off(target)
        after = _seen(program, ids)
        is_same = kind == database.name
        for part in before:
            if waiting not in part:
                assert _plain(after[part], is_same) == _plain(before[part], is_same), part
        assert read_json(program.get(f"/documents/{waiting}"))["status"] == "READY"
        _check_again(target, program, path)


def _plain(value: Any, is_same: bool) -> Any:
    """What has to be equal: all of it on databases of one kind.

    Those of another kind have another order of hits, and SQLite knows thousandths of a second: what happened within
    one of them may come in another order.
    """
    if is_same:
        return value
    if isinstance(value, dict) and "hits" in value:
        return sorted(hit["chunk_id"] for hit in value["hits"])
    if isinstance(value, dict) and "events" in value:
        events = sorted((_plain(each, is_same) for each in value["events"]), key=lambda one: (one["at"], str(one)))
        return {**_plain({name: value[name] for name in value.keys() - {"events"}}, is_same), "events": events}
    if isinstance(value, dict):
        return {name: _plain(each, is_same) for name, each in value.items() if name not in _TOLD_APART}
    if isinstance(value, str):
        return _MICROSECONDS.sub(r"\1", value)
    return [_plain(each, is_same) for each in value] if isinstance(value, list) else value


def _check_nothing_is_done_again(target: Flask, program: Program) -> None:
    """One document had not been processed: there is work for it, and nothing else."""
    with target.app_context(), reading(program.org_id):
        assert session().scalar(select(func.count()).select_from(Job)) == 1
        assert session().scalar(select(func.count()).select_from(ProviderCall)) == 0


def _check_again(target: Flask, program: Program, path: Path) -> None:
    """It is not imported twice, and restoring, searching and deleting go on as before."""
    told = _command(target, "import", "--org", "Ours", path)
    assert told.exit_code == 1
    assert "has documents already" in told.output
    told = _command(target, "import", "--org", "Another", path)
    assert told.exit_code == 1
    assert "another organisation of this installation" in told.output
    [binned] = read_json(program.get("/bin"))["documents"]
    assert program.post(f"/documents/{binned['id']}/restore").status_code == 200
    assert read_json(program.get("/search?q=lies+in+the+bin"))["hits"]
    with target.app_context(), reading(program.org_id):
        total = session().scalar(select(func.count()).select_from(Document))
    assert total == json.loads(zipfile.ZipFile(path).read("manifest.json"))["documents"]
