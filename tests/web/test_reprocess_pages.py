"""Many documents again: from the library, from ops' page, from a terminal."""

from dataclasses import replace

import pytest
from click.testing import Result
from flask import Flask

from tests.bare import changed
from tests.hashed_words import HashedWords
from tests.web.databases import both_databases
from tests.web.people import People
from tests.web.shelves import notes, read_json, services_of, shelve, use_hashed_words, work_off
from webapp.readers import versions
from webapp.worker.chores import read_anew, report_missing


@pytest.fixture
def people(app: Flask) -> People:
    use_hashed_words(app)
    return People(app)


def _run(app: Flask, *arguments: str) -> Result:
    return app.test_cli_runner().invoke(args=list(arguments))


@pytest.mark.slow
@both_databases
def test_all_that_match_from_the_library(app: Flask, people: People) -> None:
    program, browser = people.program(), people.browser()
    shelve(program, *map(notes, range(3)))
    work_off(app)

    assert 'href="/documents/reprocess?q=note-001"' in browser.get("/?q=note-001").text
    assert "Reprocess 1 document?" in browser.get("/documents/reprocess?q=note-001").text
    begun = browser.post("/bulk", {"action": "reprocess", "all": "1", "q": "note-001", "confirmed": "1"})
    work_off(app)
    assert "1 of 1 document" in browser.get(begun.location).text
    assert read_json(program.post("/documents/reprocess")) == {"queued": 3, "more": False}
    work_off(app)
    assert read_json(program.get("/documents"))["counts"]["READY"] == 3


def test_a_status_that_does_not_exist_is_refused(people: People) -> None:
    assert people.program().post("/documents/reprocess?status=odd").status_code == 422


@both_databases
def test_new_vectors_are_offered_to_ops(app: Flask, people: People) -> None:
    program, ops = people.program("ops"), people.browser("ops", email="ops@example.org")
    shelve(program, *map(notes, range(2)))
    work_off(app)
    assert "vectors of an earlier model" not in ops.get("/ops").text

    found = services_of(app)
    app.extensions["docmill"] = replace(found, providers=replace(found.providers, embedder=HashedWords(model="new")))
    assert "2 documents have vectors of an earlier model" in ops.get("/ops").text
    assert "2 documents are queued" in ops.post("/ops/reembed", follow_redirects=True).text
    work_off(app)
    assert "vectors of an earlier model" not in ops.get("/ops").text
    assert people.browser().post("/ops/reembed").status_code == 403


def test_what_an_earlier_reader_read_is_offered_to_ops(
    app: Flask, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = services_of(app)
    app.extensions["docmill"] = replace(found, settings=changed(found.settings, "queue", reread="ask"))
    program, ops = people.program("ops"), people.browser("ops", email="ops@example.org")
    shelve(program, notes(0))
    work_off(app)
    assert "read by an earlier reader" not in ops.get("/ops").text

    monkeypatch.setitem(versions.VERSIONS, "text", versions.VERSIONS["text"] + 1)
    assert "1 document was read by an earlier reader" in ops.get("/ops").text
    assert people.browser().post("/ops/reread").status_code == 403
    assert "1 document is read again" in ops.post("/ops/reread", follow_redirects=True).text
    with app.app_context():
        assert read_anew(services_of(app)) == 1
    assert "0 of 1 are done" in ops.get("/ops").text
    assert read_json(program.get("/documents"))["counts"]["READY"] == 1
    assert read_json(program.get("/ops"))["rereading"]["left"] == 1


def test_what_has_lost_its_blobs_is_named(app: Flask, people: People) -> None:
    program = people.program()
    first, _ = shelve(program, *map(notes, range(2)))
    work_off(app)
    assert _run(app, "documents", "missing").exit_code == 0

    blobs = services_of(app).providers.blobs
    (original,) = (info.path for info in blobs.list() if info.path.endswith(f"{first}/original"))
    blobs.delete(original)
    found = _run(app, "documents", "missing", "--org", "Ours")
    assert (found.exit_code, found.stdout) == (1, f"Ours\t{first}\t{original}\n")
    with app.app_context():
        assert report_missing(services_of(app)) == 1


def test_from_a_terminal(app: Flask, people: People) -> None:
    program = people.program()
    first, *_ = shelve(program, *map(notes, range(3)))
    work_off(app)

    assert _run(app, "documents", "reprocess", "--org", "Ours").exit_code == 2
    assert _run(app, "documents", "reprocess", "--org", "Ours", "--failed").stdout == "0 documents are queued.\n"
    one = _run(app, "documents", "reprocess", "--org", "Ours", first, "00000000-0000-0000-0000-000000000000")
    assert (one.stdout, one.stderr) == ("1 document is queued.\n", "1 are unknown, or queued already.\n")
    assert _run(app, "documents", "reprocess", "--org", "Ours", "--all").stdout == "2 documents are queued.\n"
    work_off(app)
    assert _run(app, "documents", "reembed").stdout == "0 documents are queued.\n"
