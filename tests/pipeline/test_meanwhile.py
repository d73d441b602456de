"""What else happens while passages are connected, and what never happens: one org knowing another's caches."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.pipeline.workplace import Fallible, Workplace, prose
from tests.search.conftest import only_postgresql
from tests.search.passages import new_org
from webapp.db import reading
from webapp.documents.ledger_model import ProviderCall
from webapp.jobs.model import Job
from webapp.jobs.queue import LeaseLost
from webapp.library import deletion
from webapp.pipeline import connect
from webapp.search import connections, vectors
from webapp.search.connections import Link
from webapp.search.model import CachedEmbedding, Connection
from webapp.search.vectors import INDEXED_MODELS

STORY, COPY = prose(12), prose(12) + b"\n"


def rows(workplace: Workplace) -> set[tuple[Any, ...]]:
    return {(row.source_chunk_id, row.target_chunk_id, row.kind) for row in workplace.all(Connection)}


def after_finding(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Let `change` happen once, after connections were found and before they are stored."""
    find = connect._find

    def find_late(context: Any) -> list[Link]:
        found = find(context)
        monkeypatch.setattr(connect, "_find", find)
        change()
        return found

    monkeypatch.setattr(connect, "_find", find_late)


@pytest.mark.slow
def test_a_document_that_is_processed_again_meanwhile_is_connected_once(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.connected(STORY, "story.md")
    copy = workplace.connected(COPY, "copy.md")
    expected = rows(workplace)
    workplace.reprocess(copy.id)
    workplace.process()

    def again() -> None:
        workplace.reprocess(copy.id)
        workplace.process()

    after_finding(monkeypatch, again)
    workplace.connect()
    workplace.connect()
    assert rows(workplace) == expected
    assert {job.status for job in workplace.all(Job)} == {"COMPLETED"}


@pytest.mark.slow
def test_the_other_document_may_be_processed_again_meanwhile(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = workplace.connected(STORY, "story.md")
    copy = workplace.connected(COPY, "copy.md")
    expected = rows(workplace)
    workplace.reprocess(copy.id)
    workplace.process()

    def again() -> None:
        workplace.reprocess(story.id)
        workplace.process()

    after_finding(monkeypatch, again)
    workplace.connect()
    assert rows(workplace) >= expected
    workplace.connect()
    with reading(workplace.org_id):
        assert connections.count(workplace.org_id, story.id) == connections.count(workplace.org_id, copy.id)


def test_a_document_that_is_deleted_while_it_is_connected_leaves_nothing(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.connected(STORY, "story.md")
    copy = workplace.processed(COPY, "copy.md")

    after_finding(monkeypatch, lambda: deletion.delete_document(workplace.queue, workplace.org_id, copy.id))
    with pytest.raises(LeaseLost):
        workplace.connect()
    assert rows(workplace) == set()


def test_no_cache_is_shared_between_orgs(workplace: Workplace) -> None:
    workplace.processed(STORY, "story.md")
    asked = len(workplace.embedder.asked)
    other = new_org()
    theirs = workplace.upload(STORY, "story.md", org_id=other).document.id
    lease = workplace.claim()
    while lease.document_id != theirs:
        lease = workplace.claim()
    workplace.process(lease)

    assert workplace.extractor.calls == 2
    assert len(workplace.embedder.asked) == 2 * asked
    assert {path.split("/")[0] for path in workplace.blobs() if "/extractions/" in path} == {
        str(workplace.org_id),
        str(other),
    }
    for org_id in (workplace.org_id, other):
        with reading(org_id) as opened:
            assert opened.query(CachedEmbedding).filter_by(org_id=org_id).count() == asked
            assert not any(call.reused for call in opened.query(ProviderCall).filter_by(org_id=org_id))


@only_postgresql
def test_a_large_org_is_connected_through_the_index(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    (model, dimensions) = next(iter(INDEXED_MODELS.items()))
    embedder = Fallible(model=model)
    embedder.dimensions = dimensions
    workplace.with_embedder(embedder)
    workplace.connected(STORY, "story.md")
    copy = workplace.connected(COPY, "copy.md")
    expected = rows(workplace)

    monkeypatch.setattr(vectors, "EXACT_CHUNKS_MAX", 0)
    monkeypatch.setattr(connect, "SOURCES_PER_QUERY", 5)
    workplace.reprocess(copy.id)
    workplace.process()
    workplace.connect()
    assert {row for row in rows(workplace) if row[2] == "near_duplicate"} == {
        row for row in expected if row[2] == "near_duplicate"
    }
    assert len(rows(workplace)) == len(expected)
