"""The library: pages of an org's documents, in any order, and never another org's."""

import json
from base64 import urlsafe_b64encode
from uuid import UUID

import pytest
from sqlalchemy import event, update

from tests.documents.rows import new_document, new_org, queue
from webapp.clock import new_id
from webapp.db import db, reading, transaction
from webapp.documents import events
from webapp.documents.model import Artifact, Document, DocumentField, DocumentTable
from webapp.documents.states import DocumentStatus, EventKind, RunTrigger
from webapp.library import deletion, fields, grid, lookup, tables
from webapp.library.grid import Cursor, NoCursor, Sort
from webapp.library.status_filter import StatusFilter
from webapp.runs import transitions


def _names(org_id: UUID, limit: int = 2, **wish: object) -> list[str]:
    """Everything, read page by page."""
    names, cursor = [], None
    with reading(org_id):
        while True:
            page = grid.page(org_id, cursor=cursor, limit=limit, **wish)  # type: ignore[arg-type] # any wish
            names += [row.document.filename for row in page.rows]
            cursor = page.next_cursor
            if cursor is None:
                return names


@pytest.fixture
def shelf(org_id: UUID) -> list[UUID]:
    sizes = {"b.pdf": 30, "a.txt": 10, "d.md": 20, "c.pdf": 20, "e.txt": 5}
    return [new_document(org_id, name, size_bytes=size) for name, size in sizes.items()]


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        (Sort.NEWEST, ["e.txt", "c.pdf", "d.md", "a.txt", "b.pdf"]),
        (Sort.OLDEST, ["b.pdf", "a.txt", "d.md", "c.pdf", "e.txt"]),
        (Sort.NAME, ["a.txt", "b.pdf", "c.pdf", "d.md", "e.txt"]),
        (Sort.LARGEST, ["b.pdf", "c.pdf", "d.md", "a.txt", "e.txt"]),
    ],
)
@pytest.mark.usefixtures("shelf")
def test_every_order_can_be_read_page_by_page(org_id: UUID, sort: Sort, names: list[str]) -> None:
    assert _names(org_id, sort=sort) == names


@pytest.mark.usefixtures("shelf")
def test_documents_of_one_moment_are_neither_lost_nor_repeated(org_id: UUID) -> None:
    with transaction(org_id) as session:
        session.execute(update(Document).values(created_at=session.get_one(Document, _any(org_id)).created_at))
    assert sorted(_names(org_id, limit=1)) == ["a.txt", "b.pdf", "c.pdf", "d.md", "e.txt"]


def _any(org_id: UUID) -> UUID:
    return grid.page(org_id, limit=1).rows[0].document.id


def test_a_page_of_exactly_all_is_the_last(org_id: UUID, shelf: list[UUID]) -> None:
    with reading(org_id):
        assert grid.page(org_id, limit=len(shelf)).next_cursor is None
        cursor = grid.page(org_id, limit=len(shelf) - 1).next_cursor
    assert cursor is not None
    assert cursor.id == shelf[1]


@pytest.mark.parametrize("sort", Sort)
@pytest.mark.usefixtures("shelf")
def test_deleting_the_last_row_of_a_page_hides_nothing_behind_it(org_id: UUID, sort: Sort) -> None:
    names = _names(org_id, sort=sort)
    with reading(org_id):
        page = grid.page(org_id, sort=sort, limit=2)
    with transaction(org_id):
        deletion.delete_rows(org_id, page.rows[-1].document.id)
    with reading(org_id):
        rest = grid.page(org_id, sort=sort, limit=50, cursor=Cursor.parse(str(page.next_cursor)))
    assert [row.document.filename for row in rest.rows] == names[2:]


@pytest.mark.parametrize(
    "plain",
    [
        ["newest", "yesterday", "0" * 32],
        ["newest", "9999-12-31T23:59:59-23:59", "0" * 32],
        ["largest", "9" * 40, "0" * 32],
        ["largest", "-1", "0" * 32],
        ["name", "a\0b", "0" * 32],
        ["name", "\ud800", "0" * 32],
        ["sideways", "1", "0" * 32],
        ["name", "a", "no id"],
        ["name", 7, 7],
        ["name"],
        {},
        7,
    ],
)
def test_an_invented_cursor_is_refused(plain: object) -> None:
    with pytest.raises(NoCursor):
        Cursor.parse(urlsafe_b64encode(json.dumps(plain).encode()).decode())


@pytest.mark.parametrize("text", ["7", "ü", "====", "W1tb" * 2000, "a" * 5000])
def test_nonsense_is_no_cursor(text: str) -> None:
    with pytest.raises(NoCursor):
        Cursor.parse(text)


@pytest.mark.usefixtures("shelf")
def test_what_is_searched_for_is_no_pattern(org_id: UUID) -> None:
    new_document(org_id, "100% sure_thing.txt")
    assert _names(org_id, q="PDF") == ["c.pdf", "b.pdf"]
    assert _names(org_id, q="100%") == ["100% sure_thing.txt"]
    assert _names(org_id, q=" % ") == []
    assert _names(org_id, q="%ure") == []


def test_titles_are_searched_too(org_id: UUID) -> None:
    new_document(org_id, "scan0001.pdf", title="Lighthouse Keeping")
    assert _names(org_id, q="lighthouse") == ["scan0001.pdf"]


def test_a_status_is_a_filter_and_a_count(org_id: UUID, shelf: list[UUID]) -> None:
    with transaction(org_id) as session:
        failed = update(Document).where(Document.id == shelf[0])
        session.execute(failed.values(status="FAILED"))
    assert _names(org_id, status=StatusFilter.FAILED) == ["b.pdf"]
    with reading(org_id):
        counts = lookup.counts(org_id)
    assert {status: count.number for status, count in counts.items()} == {
        DocumentStatus.PROCESSING: 4,
        "READY": 0,
        "partly_read": 0,
        "kept": 0,
        "FAILED": 1,
        "TIMED_OUT": 0,
    }


def test_each_row_has_its_newest_run(org_id: UUID, document_id: UUID) -> None:
    bare = new_document(org_id)
    queue(org_id, document_id)
    newest = queue(org_id, document_id)
    with reading(org_id):
        rows = {row.document.id: row.run and row.run.id for row in grid.page(org_id).rows}
        one = lookup.get_row(org_id, document_id)
        assert lookup.runs(org_id, document_id)[0].id == newest
    assert rows == {bare: None, document_id: newest}
    assert one is not None
    assert one.run is not None
    assert one.run.id == newest


def test_the_number_of_queries_does_not_grow_with_the_rows(org_id: UUID) -> None:
    def queries() -> int:
        seen: list[str] = []

        def note(*arguments: object) -> None:
            seen.append(str(arguments[2]))

        event.listen(db.engine, "before_cursor_execute", note)
        with reading(org_id):
            grid.page(org_id, limit=100)
        event.remove(db.engine, "before_cursor_execute", note)
        return len(seen)

    queue(org_id, new_document(org_id))
    few = queries()
    for _ in range(20):
        queue(org_id, new_document(org_id))
    assert queries() == few


def test_another_orgs_document_does_not_exist(org_id: UUID, document_id: UUID) -> None:
    other_org = new_org()
    with transaction(other_org):
        assert lookup.get(other_org, document_id) is None
        assert lookup.get_row(other_org, document_id) is None
        cursor = Cursor(Sort.OLDEST, "2001-01-01T00:00:00+00:00", document_id)
        assert grid.page(other_org, sort=Sort.OLDEST, cursor=cursor).rows == []
        assert deletion.delete_rows(other_org, document_id) is None
        assert lookup.runs(other_org, document_id) == []
        assert events.timeline(other_org, document_id) == []
    with reading(org_id):
        assert lookup.get(org_id, document_id) is not None


def test_a_read_after_a_change_sees_it(org_id: UUID, document_id: UUID) -> None:
    with transaction(org_id) as session:
        session.execute(update(Document).where(Document.id == document_id).values(status="FAILED"))
        before = lookup.get(org_id, document_id)
        transitions.create(org_id, document_id, RunTrigger.REPROCESS)
        after = lookup.get(org_id, document_id)
    assert before is after
    assert after is not None
    assert after.status == DocumentStatus.PROCESSING


def test_parts_come_in_the_documents_order(org_id: UUID, document_id: UUID) -> None:
    own = {"org_id": org_id, "document_id": document_id}
    with transaction(org_id) as session:
        session.add_all([DocumentField(ordinal=n, name=f"n{n}", value="v", **own) for n in (1, 0)])
        session.add_all([DocumentTable(ordinal=n, rows=[[str(n)]], **own) for n in (1, 0)])
        session.add(Artifact(kind="markdown", path=f"{org_id}/m", **own))
    with reading(org_id):
        assert [found.name for found in fields.of_document(org_id, document_id)] == ["n0", "n1"]
        assert [found.rows for found in tables.of_document(org_id, document_id).tables] == [[["0"]], [["1"]]]
        assert [found.kind for found in lookup.artifacts(org_id, document_id)] == ["markdown"]
        assert lookup.artifact_paths(org_id, document_id) == {"markdown": f"{org_id}/m"}


def test_deleting_takes_everything_and_names_the_blobs(org_id: UUID, document_id: UUID) -> None:
    run_id = queue(org_id, document_id)
    with transaction(org_id):
        folders = deletion.delete_rows(org_id, document_id)
    assert folders == [f"{org_id}/documents/{document_id}/", f"{org_id}/extractions/{document_id.hex * 2}/"]
    with reading(org_id):
        assert transitions.state_of(run_id) is None
        assert grid.page(org_id).rows == []


def test_blobs_without_a_document_have_no_owner(org_id: UUID, document_id: UUID) -> None:
    gone, known = new_id(), document_id.hex * 2
    with reading(org_id):
        folder = f"{org_id}/extractions/{known}/"
        others = {f"{org_id}/extractions/{'0' * 64}/", f"{org_id}/extractions/{known}-{gone.hex}/"}
        found = lookup.known_blob_owners(org_id, {document_id, gone}, {folder, *others})
        assert found == {str(document_id), folder}
        assert lookup.known_blob_owners(org_id, set(), set()) == set()


def test_the_timeline_ends_with_the_newest_line(org_id: UUID, document_id: UUID) -> None:
    first, second = queue(org_id, document_id), queue(org_id, document_id)
    with transaction(org_id):
        for number in range(5):
            events.record(org_id, document_id, first, EventKind.STEP_STARTED, step=f"s{number}", details={"n": number})
    with reading(org_id):
        lines = events.timeline(org_id, document_id)
        assert [line.step for line in lines] == [None, None, "s0", "s1", "s2", "s3", "s4"]
        assert [line.step for line in events.timeline(org_id, document_id, limit=2)] == ["s3", "s4"]
        assert [line.kind for line in events.timeline(org_id, document_id, second)] == ["RUN_QUEUED"]
        assert lines[-1].details == {"n": 4}
