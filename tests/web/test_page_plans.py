"""What pages and polls ask stays cheap beside many rows: each statement finds its rows by an index, and reads few.

The library is that of `make bench BENCH=pages`, smaller: one big org, and many small ones.
"""

import pytest
from flask import Flask
from sqlalchemy import Engine, select, text

from bench import _crowd
from tests.conftest import DatabaseUnderTest
from tests.plans import DOCUMENTS, fill, judged
from tests.web.databases import both_databases
from tests.web.people import HX, People
from webapp.clock import new_id
from webapp.db import db, reading, transaction
from webapp.db.bounded import COUNTED_MAX
from webapp.documents.model import Document
from webapp.jobs.model import Job
from webapp.library import grid, lookup, selection, status_counts, views
from webapp.library.doubts import LEFT_MAX
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter
from webapp.web.ops import job_actions
from webapp.web.ops.failure_groups import retryable

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(300)]

SORTS = ("newest", "name", "largest", "oldest")
NAMES = (
    ("", "invoice"),
    ("", "legacy"),
    ("", "10000123"),
    ("ready", "zebra"),
    ("kept", "zebra"),
    ("kept", "invoice"),
    ("failed", "invoice 2019"),
    ("failed", "scan"),
    ("timed_out", "contract"),
    ("", "nothing"),
)
LIBRARY = [
    f"/documents?sort={sort}&status={status}"
    for sort in SORTS
    for status in ("", "ready", "partly_read", "kept", "failed")
]
FOLDERS = [
    f"/documents?sort={sort}&folder={folder}&q={q}&status={status}"
    for sort in SORTS[:2]
    for folder, q, status in (
        ("Archive", "", ""), ("Tax", "", ""), ("Tax/2025", "invoice", ""), ("Archive", "invoice", "ready"),
        ("Archive", "10000123", ""), ("Archive", "", "failed"), ("Nothing", "", ""),
    )
]  # fmt: skip
NAMED = [f"/documents?sort={sort}&status={status}&q={q}" for sort in SORTS[:2] for status, q in NAMES]
OPS = [
    "/ops",
    "/ops/jobs",
    "/ops/jobs?status=completed",
    "/ops/jobs?status=pending",
    "/ops/jobs?status=processing",
    "/ops/jobs?status=failed&stage=process_document",
    "/ops/jobs?status=completed&stage=embed_anew",
    "/ops/jobs?status=failed&stage=process_document&code=corrupt",
    "/ops/jobs?status=failed&resolution=discarded",
    "/ops/jobs?status=failed&resolution=superseded",
    "/ops/jobs?q=invoice",
    "/ops/jobs?q=10000123",
    "/ops/throughput",
    "/ops/throughput?window=30d",
    "/metrics",
]


@pytest.fixture
def crowded(app: Flask, database: DatabaseUnderTest) -> Flask:
    """Many rows, and statistics that know of them."""
    fill(database)
    return app


def _engine(app: Flask) -> Engine:
    with app.app_context():
        return db.engine


def _some_document(app: Flask, status: str) -> str:
    wanted = select(Document.id).where(Document.org_id == _crowd.ORG, Document.status == status).limit(1)
    with app.app_context(), reading(_crowd.ORG) as session:
        return str(session.scalars(wanted).one())


def _some_job(app: Flask) -> str:
    wanted = select(Job.id).where(Job.org_id == _crowd.ORG, Job.status == "FAILED").limit(1)
    with app.app_context(), reading(_crowd.ORG) as session:
        return str(session.scalars(wanted).one())


@both_databases
def test_the_library_reads_few_rows_in_every_order_and_under_every_filter(crowded: Flask, people: People) -> None:
    reader = people.program(org="big")
    with judged(_engine(crowded)) as faults:
        for path in (*LIBRARY, *NAMED, *FOLDERS):
            answer = reader.get(path)
            assert answer.status_code == 200
            if "next_cursor" in answer.text and (cursor := answer.get_json()["next_cursor"]):
                assert reader.get(f"{path}&cursor={cursor}").status_code == 200
    assert faults == []


@both_databases
def test_the_counts_of_the_tabs_read_few_rows_under_every_filter(
    crowded: Flask, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tag_many(crowded, _engine(crowded).dialect.name == "postgresql")
    # Each status, and what an index finds, is looked at as far as that.
    monkeypatch.setattr(status_counts, "LOOKED_AT_MAX", 2_000)
    reader = people.program(org="big")
    queries = ("", "invoice", "legacy", "10000123", "invoice 2019", "kind:pdf", "tag:common", "tag:rare", "-tag:rare")
    with judged(_engine(crowded), 6 * 2_000 * 3, has_tags=True) as faults:
        for query in queries:
            for folder in ("", "Tax", "Archive"):
                answer = reader.get(f"/documents/counts?q={query}&folder={folder}")
                assert answer.status_code == 200
    assert faults == [], "\n\n".join(faults)


# A field of each document that is to be checked, and for half of them a correction of another.
_FIELDS = """
    INSERT INTO document_fields (id, org_id, document_id, ordinal, name, value, confidence, check_order)
    SELECT id, org_id, id, 9, 'Total', '1', 0.5, 0.5 FROM documents
"""
_SAID = """
    INSERT INTO corrections (id, org_id, document_id, target, name, nth, verdict, value, by, at)
    SELECT id, org_id, id, 'field', 'Date', 0, 'confirmed', '1', 'user:a', created_at
    FROM documents WHERE size_bytes % 2 = 0
"""


@both_databases
def test_the_queue_of_doubts_reads_few_rows(crowded: Flask, people: People) -> None:
    with crowded.app_context(), transaction(everywhere=True) as session:
        for statement in (_FIELDS, _SAID):
            session.execute(text(statement))
    reader = people.program(org="big")
    with judged(_engine(crowded)) as faults:
        first = reader.get("/doubts").get_json()
        assert (first["left"], first["more"]) == (LEFT_MAX, True)
        second = reader.get(f"/doubts?behind={first['next']['behind']}").get_json()
        assert second["next"]["behind"] != first["next"]["behind"]
        assert reader.get("/documents?q=is:corrected").get_json()["documents"]
    assert faults == []


# Fifty tags: one that all documents have, one that few have, and 48 in another one that some have.
_TAGS = """
    INSERT INTO tags (id, org_id, name, word, created_at)
    SELECT {id}, '{org}', '{name}', '{name}', created_at FROM orgs WHERE id = '{org}'
"""
_TAGGED = """
    INSERT INTO document_tags (org_id, document_id, tag_id)
    SELECT org_id, id, '{id}' FROM documents WHERE org_id = '{org}' AND size_bytes % {every} = 0
"""


def _tag_many(app: Flask, on_postgresql: bool) -> None:
    tagged = [("common", 1), ("rare", 1_000), *((f"some/{number}", 20) for number in range(48))]
    with app.app_context(), transaction(everywhere=True) as session:
        for name, every in tagged:
            tag_id = new_id()
            ids = (
                {"id": str(tag_id), "org": str(_crowd.ORG)}
                if on_postgresql
                else {"id": tag_id.hex, "org": _crowd.ORG.hex}
            )
            session.execute(text(_TAGS.format(name=name, **{**ids, "id": f"'{ids['id']}'"})))
            session.execute(text(_TAGGED.format(every=every, **ids)))
        session.execute(text("ANALYZE document_tags" if on_postgresql else "ANALYZE"))


@both_databases
def test_the_library_reads_few_rows_with_fifty_tags_a_document(
    crowded: Flask, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = _engine(crowded)
    _tag_many(crowded, engine.dialect.name == "postgresql")
    reader, browser = people.program(org="big"), people.browser(org="big")
    # Where no index answers a count, it stops at so many documents.
    monkeypatch.setattr(views, "LOOKED_AT_MAX", 2_000)
    for query in ("tag:common", "tag:rare", "tag:some", "tag:some/7 kind:pdf", "kind:invoice", "invoice tag:rare"):
        assert reader.post("/views", json={"name": query, "query": query}).status_code == 201
    # A page walks through WALKED_MAX documents at most, and asks each for itself and for its tag.
    with judged(engine, 3 * grid.WALKED_MAX + 1_000, has_tags=True) as faults:
        for query in (
            "tag:common",
            "tag:rare",
            "tag:some",
            "tag:some/7 invoice",
            "-tag:common",
            "tag:rare OR tag:some/1",
        ):
            for more in ("", "&sort=name", "&status=ready"):
                assert reader.get(f"/documents?q={query}{more}").status_code == 200
        assert reader.get("/documents?q=tag:rare").get_json()["documents"][0]["id"]
        assert browser.get("/").status_code == 200
        bar = browser.get("/views/bar", headers=HX).text
        with crowded.app_context(), reading(_crowd.ORG):
            assert selection.ids(_crowd.ORG, Matching(q="tag:rare"))
            assert selection.ids(_crowd.ORG, Matching(q="tag:common"))
            assert selection.ids(_crowd.ORG, Matching(q="tag:some"))
    assert faults == [], "\n\n".join(faults)
    assert "2,000+" in bar


@both_databases
def test_pages_of_documents_read_few_rows(crowded: Flask, people: People) -> None:
    browser = people.browser(org="big")
    working, ready = _some_document(crowded, "PROCESSING"), _some_document(crowded, "READY")
    with judged(_engine(crowded)) as faults:
        for path in ("", "?view=page"):
            assert browser.get(f"/documents/{working}/status{path}", headers=HX).status_code == 200
        for section in ("", "/fields", "/tables", "/chunks", "/runs", "/connections"):
            assert browser.get(f"/documents/{ready}{section}").status_code == 200
        with crowded.app_context(), reading(_crowd.ORG):
            assert selection.ids(_crowd.ORG, Matching(status=StatusFilter.TIMED_OUT))
            assert selection.ids(_crowd.ORG, Matching(status=StatusFilter.FAILED, q="invoice 2019"))
            assert selection.ids(_crowd.ORG, Matching(status=StatusFilter.KEPT))
            assert selection.ids(_crowd.ORG, Matching(status=StatusFilter.READY))
            assert selection.ids(_crowd.ORG, Matching(folder="Tax"))
            assert selection.ids(_crowd.ORG, Matching(folder="Archive", status=StatusFilter.FAILED))
            assert retryable(_crowd.ORG, 500, "process_document", "corrupt").ids
            assert retryable(_crowd.ORG, 500).ids
        for query in (
            "",
            "?status=failed",
            "?status=kept",
            "?status=ready",
            "?q=invoice",
            "?q=10000123&status=ready",
            "?folder=Tax",
            "?folder=Archive",
        ):
            assert browser.get(f"/documents/reprocess{query}").status_code == 200
    assert faults == []


@both_databases
def test_pages_of_operations_and_searches_read_few_rows(
    crowded: Flask, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_actions, "RETRIED_AT_ONCE_MAX", 3)
    operator = people.browser("operator", org="big")
    # What was spent on days that are over is added up once in each process.
    operator.get("/ops")
    job_id = _some_job(crowded)
    with judged(_engine(crowded)) as faults:
        for path in (*OPS, f"/ops/jobs/{job_id}"):
            assert operator.get(path).status_code == 200
        retried = {"stage": "process_document", "code": "no_text"}
        for action in ("retry", "discard"):
            assert operator.post(f"/ops/jobs/{action}", data=retried).status_code == 303
        # What a search asks first: which models there are.
        with crowded.app_context(), reading(_crowd.ORG):
            assert lookup.embedding_models(_crowd.ORG) == [_crowd.MODEL]
    assert faults == [], "\n\n".join(faults)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_pages_read_few_rows_before_the_statistics_know_of_them(
    app: Flask, people: People, database: DatabaseUnderTest
) -> None:
    fill(database, analyze=False)
    operator = people.browser("operator", org="big")
    working = _some_document(app, "PROCESSING")
    operator.get("/ops")
    with judged(_engine(app)) as faults:
        for path in (*LIBRARY[:3], *NAMED[:8], *OPS, f"/documents/{working}/status"):
            # More often than the driver needs before it prepares a statement.
            for _ in range(7 if path in {*OPS, LIBRARY[0]} else 1):
                assert operator.get(path).status_code == 200
    assert faults == []


@both_databases
@pytest.mark.usefixtures("crowded")
def test_many_are_counted_up_to_a_number_and_all_are_reached_page_by_page(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = people.program(org="big").get("/documents").get_json()
    assert body["counts"]["READY"] == COUNTED_MAX
    assert body["counts_more"] == ["READY"]
    assert 0 < body["counts"]["FAILED"] < COUNTED_MAX
    assert 0 < body["counts"]["kept"] < COUNTED_MAX
    page = people.browser(org="big").get("/").text
    assert "10,000+" in page

    # "legacy" is in the oldest documents alone: a walk from the newest finds none on its first pages.
    monkeypatch.setattr(grid, "FEW", 100)
    reader = people.program(org="big")
    found, pages = 0, 0
    cursor: str | None = ""
    while cursor is not None:
        body = reader.get(f"/documents?q=legacy&limit=200&cursor={cursor}").get_json()
        found, cursor, pages = found + len(body["documents"]), body["next_cursor"], pages + 1
    assert found == sum(1 for n in range(1, DOCUMENTS // 20) if n % 10 != 4)
    assert pages < 40
