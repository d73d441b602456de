"""Another model's vectors: in the background, without reading anything again, and without paying twice."""

from typing import Any

import pytest
from sqlalchemy import delete, select

from tests.bare import changed
from tests.pipeline.workplace import Crash, Fallible, Workplace, prose
from webapp.db import reading, transaction
from webapp.documents.model import Artifact, Document
from webapp.jobs.model import Job
from webapp.jobs.states import Priority
from webapp.library import reprocess
from webapp.pipeline.handlers import HANDLERS, do_steps
from webapp.provider_errors import BadInput, FailureCode
from webapp.runs import lifecycle, time_limit
from webapp.runs.stages import EMBED_ANEW
from webapp.search.model import Connection
from webapp.worker import chores


@pytest.fixture
def renewing(workplace: Workplace) -> Workplace:
    """Two documents with the vectors of one model, where another one is wanted by now, and another extractor."""
    workplace.connected(prose(12), "story.md")
    workplace.connected(prose(12) + b"\n", "copy.md")
    workplace.with_embedder(Fallible(model="another"))
    workplace.extractor.version = "another"
    return workplace


def parts(workplace: Workplace) -> list[Any]:
    chunks = [each for document in documents(workplace) for each in workplace.chunks(document)]
    return [(each.id, each.ordinal, each.text, each.heading, each.page_from) for each in chunks]


def documents(workplace: Workplace) -> list[Any]:
    return sorted({job.document_id for job in workplace.all(Job)})


def work_off(workplace: Workplace) -> None:
    while any(job.status == "PENDING" for job in workplace.all(Job)):
        lease = workplace.claim()
        HANDLERS[lease.stage](workplace.context(lease))


def test_nothing_but_vectors_changes(renewing: Workplace) -> None:
    before, calls = parts(renewing), renewing.extractor.calls
    pairs = {(row.source_chunk_id, row.target_chunk_id, row.kind) for row in renewing.all(Connection)}
    served = {row.path for row in renewing.all(Artifact)}
    assert reprocess.renew_vectors(renewing, renewing.org_id).count == 2
    assert {job.priority for job in renewing.all(Job) if job.stage == EMBED_ANEW} == {Priority.BACKGROUND}
    work_off(renewing)

    assert (parts(renewing), renewing.extractor.calls) == (before, calls)
    for document_id in documents(renewing):
        assert {chunk.embedding_model for chunk in renewing.chunks(document_id)} == {"another"}
        document = renewing.document(document_id)
        assert (document.status, document.embedding_model) == ("READY", "another")
    # Each has looked for the other by now.
    assert {(row.source_chunk_id, row.target_chunk_id, row.kind) for row in renewing.all(Connection)} >= pairs
    assert {row.path for row in renewing.all(Artifact)} == served
    assert all(renewing.providers.blobs.exists(path) for path in served)
    assert reprocess.renew_vectors(renewing, renewing.org_id).count == 0


def test_a_crash_costs_one_call(renewing: Workplace) -> None:
    reprocess.renew_vectors(renewing, renewing.org_id)
    renewing.embedder.failures = {2: Crash()}
    lease = renewing.claim()
    with pytest.raises(Crash):
        do_steps(renewing.context(lease))
    assert {chunk.embedding_model for chunk in renewing.chunks(lease.document_id)} == {"hashed-words-64"}

    do_steps(renewing.context(renewing.take_back(lease)))
    assert len(renewing.embedder.asked) == len(set(renewing.embedder.asked))
    assert {chunk.embedding_model for chunk in renewing.chunks(lease.document_id)} == {"another"}


def test_it_begins_by_itself_unless_the_settings_say_ask(renewing: Workplace) -> None:
    renewing.settings = changed(renewing.settings, "queue", reembed="ask")
    assert chores.renew_vectors(renewing) == 0
    renewing.settings = changed(renewing.settings, "queue", reembed="auto")
    assert chores.renew_vectors(renewing, lambda: True) == 0
    assert chores.renew_vectors(renewing) == 2
    assert chores.renew_vectors(renewing) == 0


def test_a_later_reprocess_finds_all_in_its_place(renewing: Workplace) -> None:
    reprocess.renew_vectors(renewing, renewing.org_id)
    work_off(renewing)
    before, asked = parts(renewing), len(renewing.embedder.asked)
    first = documents(renewing)[0]
    renewing.reprocess(first)
    renewing.process()
    assert parts(renewing) == before
    assert len(renewing.embedder.asked) == asked
    with reading(renewing.org_id) as opened:
        paths = list(opened.scalars(select(Artifact.path).where(Artifact.document_id == first)))
    assert paths
    assert all(renewing.providers.blobs.exists(path) for path in paths)


def test_the_end_of_the_process_fails_no_document_and_is_tried_again_some_times(renewing: Workplace) -> None:
    assert chores.renew_vectors(renewing) == 2
    ended = renewing.claim().document_id
    with transaction(renewing.org_id) as opened:
        # The other one is not looked at here.
        opened.execute(delete(Document).where(Document.id != ended))
    for number in range(reprocess.TERMINATED_MAX):
        if number:
            assert chores.renew_vectors(renewing) == 1
            renewing.claim()
        chores.end_orphans(renewing)
        assert renewing.document(ended).status == "READY"
    assert chores.renew_vectors(renewing) == 0
    assert reprocess.renew_vectors(renewing, renewing.org_id).count == 1
    work_off(renewing)
    assert {chunk.embedding_model for chunk in renewing.chunks(ended)} == {"another"}


def test_what_has_failed_waits_until_it_is_asked_for(renewing: Workplace) -> None:
    assert chores.renew_vectors(renewing) == 2
    renewing.embedder.failures = {1: BadInput("refused", code=FailureCode.CORRUPT)}
    lease = renewing.claim()
    with pytest.raises(BadInput) as failure:
        do_steps(renewing.context(lease))
    lifecycle.end_after(renewing.queue, lease, failure.value, "embedding")
    assert renewing.document(lease.document_id).status == "READY"
    assert chores.renew_vectors(renewing) == 0
    assert reprocess.renew_vectors(renewing, renewing.org_id).count == 1


def test_what_took_too_long_waits_until_it_is_asked_for(renewing: Workplace) -> None:
    assert chores.renew_vectors(renewing) == 2
    lease = renewing.claim()
    assert lease.run is not None
    time_limit.time_out_run(renewing.queue, lease.run, continue_max=0)
    assert chores.renew_vectors(renewing) == 0
    assert reprocess.renew_vectors(renewing, renewing.org_id).count == 1
