"""What was deleted lies in the bin: in no list and no search, restored exactly, and then gone for good."""

import json
import re
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import func, select

from tests.archives import zipped
from tests.web.databases import both_databases
from tests.web.people import People, Program
from tests.web.shelves import File, counted_queries, read_json, send, services_of, shelve, use_hashed_words, work_off
from webapp.db import Base, reading, session, transaction
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import Document
from webapp.library import bin as library_bin
from webapp.library import deletion
from webapp.web.document import deletion_pages
from webapp.worker import chores

TEXT = "The lighthouse keeper of Skerryvore counts harbour seals with invoice KX-47110-B.\n\n" * 3
GONE: File = ("zephyrine.md", f"# Zephyrine report\n\n{TEXT}".encode())
STAYS: File = ("mistral.md", f"# Mistral report\n\n{TEXT} Also the terns.\n".encode())
# They tell what was done, and which work there was.
HISTORY = {"bin.show", "security.show", "jobs.index", "jobs.show", "people.index"}
_MOVING = re.compile(r'"(?:updated_at|age|seconds)": [^,}]+')


@pytest.fixture
def shelf(app: Flask, people: People) -> Program:
    """A program of the ops; passages need no model here."""
    use_hashed_words(app)
    return people.program("ops")


def _two(app: Flask, ops: Program) -> tuple[str, str]:
    gone, stays = shelve(ops, GONE, STAYS)
    work_off(app)
    for each in (gone, stays):
        tagged = ops.client.patch(f"/documents/{each}", json={"tags": ["seals"]}, headers=ops.headers)
        assert tagged.status_code == 200
    return gone, stays


def _addresses(app: Flask, document_id: str) -> Iterator[tuple[str, str]]:
    """Everything that can be read, about the library and about one document, with questions that find both."""
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or rule.endpoint in HISTORY | {"static"}:
            continue
        if rule.arguments == {"document_id"}:
            yield rule.endpoint, rule.rule.replace("<uuid:document_id>", document_id)
        elif not rule.arguments:
            yield rule.endpoint, rule.rule
    for q in ("zephyr", "tag:seals", "kind:text in:zephyr", "seals harbour", '"harbour seals"', "KX-47110-B"):
        for path in ("/", "/documents", "/fields", "/search", "/suggestions"):
            yield "asked", f"{path}?q={q}"
    yield "asked", "/suggestions?q=in:zeph"
    yield "asked", "/search?q=zephirine"


def _walk(app: Flask, ops: Program, document_id: str) -> dict[str, str]:
    found = {}
    for _, address in _addresses(app, document_id):
        for accept in ("application/json", "text/html"):
            answer = ops.get(address, headers={"Accept": accept})
            assert answer.status_code < 500, address
            found[f"{accept} {address}"] = _text_of(answer.data)
    return found


def _text_of(data: bytes) -> str:
    """An answer as text; of a workbook what its members hold."""
    if not data.startswith(b"PK"):
        return data.decode()
    with zipfile.ZipFile(BytesIO(data)) as workbook:
        return "".join(workbook.read(name).decode() for name in workbook.namelist())


def _shown(ops: Program, document_id: str) -> dict[str, Any]:
    """All that is known of a document, but for its history and what follows from the moment."""
    parts = ("", "/fields", "/tables", "/chunks", "/connections")
    return {part: _stable(read_json(ops.get(f"/documents/{document_id}{part}"))) for part in parts}


def _stable(body: dict[str, Any]) -> str:
    return _MOVING.sub("", json.dumps(body, sort_keys=True))


@both_databases
def test_what_lies_in_the_bin_is_nowhere_else_and_comes_back_as_it_was(app: Flask, shelf: Program) -> None:
    gone, stays = _two(app, shelf)
    before, lists = _shown(shelf, gone), {q: shelf.get(f"/search?q={q}").json for q in ("zephyrine", "harbour seals")}
    assert gone in json.dumps(lists["harbour seals"]), "without the bin it is found"
    assert gone in shelf.get(f"/documents/{stays}/connections").text
    assert any("zephyrine" in text for text in _walk(app, shelf, stays).values())
    assert shelf.client.delete(f"/documents/{gone}", headers=shelf.headers).status_code == 204

    told = {address for address, text in _walk(app, shelf, stays).items() if gone in text or "zephyrine.md" in text}
    assert told == set()
    for rule in app.url_map.iter_rules():
        for method in (rule.methods or set()) - {"OPTIONS"} if rule.arguments == {"document_id"} else ():
            if rule.endpoint not in {"deletion.restore", "deletion.purge", "deletion.confirm_purge"}:
                address = rule.rule.replace("<uuid:document_id>", gone)
                answer = shelf.client.open(address, method=method, headers=shelf.headers)
                assert answer.status_code in {404, 422}, f"{method} {address}"
    [row] = read_json(shelf.get("/bin"))["documents"]
    assert (row["id"], row["filename"], row["deleted_by"], row["days_left"]) == (gone, GONE[0], "tests", 30)

    assert read_json(shelf.post(f"/documents/{gone}/restore"))["id"] == gone
    work_off(app)
    assert _shown(shelf, gone) == before
    assert {q: shelf.get(f"/search?q={q}").json for q in lists} == lists
    assert read_json(shelf.get("/bin"))["documents"] == []
    assert shelf.post(f"/documents/{gone}/restore").status_code == 200, "a second click changes nothing"


@both_databases
def test_after_its_days_nothing_is_left_but_the_ledger(
    app: Flask, shelf: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = _two(app, shelf)
    found, org = services_of(app), shelf.org_id
    shelf.client.delete(f"/documents/{gone}", headers=shelf.headers)
    with app.app_context():
        assert chores.purge_bin(found) == 0, "its days have not passed"
        before = _rows(org)
        with monkeypatch.context() as patched:
            patched.setattr(deletion, "delete_document", _dies)
            with pytest.raises(KeyboardInterrupt):
                _purge_now(app, org)
        assert shelf.post(f"/documents/{gone}/restore").status_code == 404, "what is being deleted can't be restored"
        assert _purge_now(app, org) == 1
        assert _purge_now(app, org) == 0
        after = _rows(org)
    assert after["provider_calls"] == before["provider_calls"] > 0
    assert after["documents"] == 1
    assert stays in shelf.get("/documents").text
    blobs = [blob.path for blob in found.providers.blobs.list()]
    assert not any(gone in path for path in blobs)
    shelf.client.delete(f"/documents/{stays}?purge=1", headers=shelf.headers)
    with app.app_context():
        left = {name for name, number in _rows(org).items() if number}
    assert [blob.path for blob in found.providers.blobs.list()] == []
    assert left <= {"orgs", "api_tokens", "tags", "audit_log", "provider_calls", "org_usage", "embedding_cache"} | {
        "query_embeddings",
        "spending_days",
    }


def _dies(*_: object) -> None:
    raise KeyboardInterrupt


def _purge_now(app: Flask, org: UUID) -> int:
    """Delete for good what lies in the bin, whatever its age."""
    with transaction(org):
        library_bin.mark_all_going(org)
    return chores.purge_bin(services_of(app))


def _rows(org: UUID) -> dict[str, int]:
    with reading(org):
        tables = [table for table in Base.metadata.sorted_tables if "org_id" in table.c]
        return {
            table.name: session().scalar(select(func.count()).select_from(table).where(table.c.org_id == org)) or 0
            for table in tables
        }


@both_databases
def test_uploading_what_lies_in_the_bin_restores_it(app: Flask, shelf: Program, people: People) -> None:
    gone, _ = _two(app, shelf)
    shelf.client.delete(f"/documents/{gone}", headers=shelf.headers)
    [uploaded] = read_json(send(shelf, GONE))["documents"]
    assert (uploaded["id"], uploaded["duplicate_of"], uploaded["restored"]) == (gone, gone, True)
    assert uploaded["status"] == "READY"
    assert read_json(send(shelf, GONE))["documents"][0]["restored"] is False
    assert shelf.get("/search?q=zephyrine").json["hits"]  # type: ignore[index] # it is a JSON answer


def test_where_the_same_file_came_meanwhile_the_bin_keeps_its_own(
    app: Flask, shelf: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, _ = _two(app, shelf)
    shelf.client.delete(f"/documents/{gone}", headers=shelf.headers)
    with monkeypatch.context() as patched:
        patched.setattr(library_bin, "find_contents", lambda *_: None)
        [again] = shelve(shelf, GONE)
    assert again != gone
    answer = shelf.post(f"/documents/{gone}/restore")
    assert (answer.status_code, read_json(answer)["reason"]) == (409, "same_file")
    assert again in shelf.get("/documents").text


@both_databases
def test_work_is_cancelled_and_begins_anew(app: Flask, shelf: Program) -> None:
    [gone] = shelve(shelf, GONE)
    shelf.client.delete(f"/documents/{gone}", headers=shelf.headers)
    work_off(app)
    assert shelf.get(f"/documents/{gone}").status_code == 404
    assert shelf.post(f"/documents/{gone}/restore").status_code == 200
    assert read_json(shelf.get(f"/documents/{gone}/status"))["status"] == "PROCESSING"
    work_off(app)
    assert read_json(shelf.get(f"/documents/{gone}/status"))["status"] == "READY"
    states = [run["state"] for run in read_json(shelf.get(f"/documents/{gone}/runs"))["runs"]]
    assert states == ["SUCCEEDED", "CANCELLED"]


@both_databases
def test_a_container_goes_and_comes_with_its_parts(app: Flask, shelf: Program) -> None:
    [box] = shelve(shelf, ("box.zip", zipped({"one.md": GONE[1], "two.md": STAYS[1]})))
    work_off(app)
    parts = [each["id"] for each in read_json(shelf.get(f"/documents/{box}/parts"))["parts"]]
    assert len(parts) == 2
    shelf.client.delete(f"/documents/{parts[0]}", headers=shelf.headers)
    assert len(read_json(shelf.get(f"/documents/{box}/parts"))["parts"]) == 1
    shelf.client.delete(f"/documents/{box}", headers=shelf.headers)
    assert read_json(shelf.get("/documents"))["documents"] == []
    assert {each["id"] for each in read_json(shelf.get("/bin"))["documents"]} == {box, parts[0]}
    inside = shelf.post(f"/documents/{parts[0]}/restore")
    assert (inside.status_code, read_json(inside)["reason"]) == (409, "in_container")
    shelf.post(f"/documents/{box}/restore")
    assert [each["id"] for each in read_json(shelf.get(f"/documents/{box}/parts"))["parts"]] == [parts[1]]
    shelf.client.delete(f"/documents/{box}?purge=1", headers=shelf.headers)
    assert read_json(shelf.get("/bin"))["documents"] == []


@both_databases
def test_a_container_in_the_library_is_deleted_for_good_with_its_parts(
    app: Flask, shelf: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    [box] = shelve(shelf, ("box.zip", zipped({"one.md": GONE[1], "two.md": STAYS[1]})))
    work_off(app, 2)
    with monkeypatch.context() as patched:
        patched.setattr(deletion, "PARTS_PER_TRANSACTION", 1)
        patched.setattr(deletion, "delete_document", _dies)
        with pytest.raises(KeyboardInterrupt):
            shelf.client.delete(f"/documents/{box}?purge=1", headers=shelf.headers)
    assert read_json(shelf.get("/documents"))["documents"] == []
    assert shelf.post(f"/documents/{box}/restore").status_code == 404, "it is marked before its parts are deleted"
    with app.app_context():
        assert chores.purge_bin(services_of(app)) == 1
        assert _rows(shelf.org_id)["documents"] == 0
    assert shelf.client.delete(f"/documents/{box}?purge=1", headers=shelf.headers).status_code == 404


@both_databases
def test_what_was_restored_in_this_moment_is_not_deleted_for_good(
    app: Flask, shelf: Program, monkeypatch: pytest.MonkeyPatch, people: People
) -> None:
    gone, _ = _two(app, shelf)
    found = services_of(app)
    shelf.client.delete(f"/documents/{gone}", headers=shelf.headers)
    browser = people.browser("ops")
    with monkeypatch.context() as patched:
        # Between the question of what lies there and its answer.
        patched.setattr(deletion_pages, "_name_in_bin", lambda _: "zephyrine.md")
        assert shelf.post(f"/documents/{gone}/restore").status_code == 200
        assert browser.post(f"/documents/{gone}/purge").status_code == 404
    with app.app_context():
        assert not library_bin.purge(found, shelf.org_id, UUID(gone)), "it is not marked"
    assert shelf.get(f"/documents/{gone}").status_code == 200


def test_a_large_container_is_deleted_for_good_behind_the_request(
    app: Flask, shelf: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_bin, "_PURGED_AT_ONCE", 2)
    [box] = shelve(shelf, ("box.zip", zipped({"one.md": GONE[1], "two.md": STAYS[1]})))
    work_off(app)
    assert shelf.client.delete(f"/documents/{box}?purge=1", headers=shelf.headers).status_code == 204
    assert (read_json(shelf.get("/bin"))["documents"], shelf.get(f"/documents/{box}").status_code) == ([], 404)
    with app.app_context():
        assert _rows(shelf.org_id)["documents"] == 3
        assert chores.purge_bin(services_of(app)) == 1
        assert _rows(shelf.org_id)["documents"] == 0


@pytest.mark.parametrize("is_worked_off", [False, True])
@both_databases
def test_the_statements_do_not_grow_with_the_parts(app: Flask, shelf: Program, *, is_worked_off: bool) -> None:
    numbers = []
    for many in (2, 12):
        files = {f"{many}-{number}.md": GONE[1] + b"%d %d" % (many, number) for number in range(many)}
        [box] = shelve(shelf, (f"box-{many}.zip", zipped(files)))
        work_off(app, None if is_worked_off else 2)
        with counted_queries(app) as statements:
            assert shelf.client.delete(f"/documents/{box}", headers=shelf.headers).status_code == 204
            assert shelf.post(f"/documents/{box}/restore").status_code == 200
        numbers.append(len(statements))
        assert len(read_json(shelf.get(f"/documents/{box}/parts"))["parts"]) == many
        work_off(app)
    assert numbers[1] <= numbers[0] + 2


def test_a_browser_deletes_and_undoes_without_a_script(app: Flask, shelf: Program, people: People) -> None:
    gone, stays = _two(app, shelf)
    browser = people.browser("ops")
    assert "can be restored" in browser.get(f"/documents/{gone}/delete").text
    page = browser.post(f"/documents/{gone}/delete", follow_redirects=True).text
    assert "put into the bin" in page
    assert f'action="/documents/{gone}/restore"' in page
    assert "zephyrine.md" in browser.get("/bin").text
    assert "was restored" in browser.post(f"/documents/{gone}/restore", follow_redirects=True).text
    browser.post(f"/documents/{gone}/delete")
    assert "for good?" in browser.get(f"/documents/{gone}/purge").text
    assert "for good" in browser.post(f"/documents/{gone}/purge", follow_redirects=True).text
    browser.post(f"/documents/{stays}/delete")
    assert "1 document" in browser.get("/bin/empty").text
    assert "The bin is empty" in browser.post("/bin/empty", follow_redirects=True).text
    with app.app_context():
        assert chores.purge_bin(services_of(app)) == 1


def test_only_ops_delete_for_good(app: Flask, shelf: Program, program: Program) -> None:
    gone, _ = _two(app, shelf)
    answer = program.client.delete(f"/documents/{gone}?purge=1", headers=program.headers)
    assert answer.status_code == 403
    assert program.client.delete(f"/documents/{gone}", headers=program.headers).status_code == 204
    assert program.post(f"/documents/{gone}/restore").status_code == 200
    with app.app_context(), reading(program.org_id):
        assert session().scalar(select(func.count()).select_from(ProviderCall)) is not None


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_deleting_and_uploading_the_same_file_at_once(app: Flask, shelf: Program) -> None:
    """Whoever comes first: no error, no deadlock, and never two documents of one file in the library."""
    shelve(shelf, GONE)
    work_off(app)
    answers: list[int] = []

    def delete() -> None:
        own = app.test_client()
        for _ in range(6):
            there = read_json(own.get("/documents", headers=shelf.headers))["documents"]
            answers.extend(own.delete(f"/documents/{each['id']}", headers=shelf.headers).status_code for each in there)

    def upload() -> None:
        own = Program(app.test_client(), shelf.token, shelf.org_id)
        answers.extend(send(own, GONE).status_code for _ in range(6))

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(each) for each in (delete, upload, upload)]:
            done.result()
    assert set(answers) <= {200, 204, 404}
    shelve(shelf, GONE)
    assert len(read_json(shelf.get("/documents"))["documents"]) == 1
    with app.app_context(), reading(shelf.org_id):
        assert session().scalar(select(func.count()).select_from(Document)) == 1, "it was restored each time"
