"""Many documents again, and other vectors while search goes on."""

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import update

from tests.pipeline.workplace import Fallible, Workplace, prose, unavailable
from webapp.clock import new_id
from webapp.db import reading, transaction
from webapp.db.bounded import Count
from webapp.documents.model import Document
from webapp.documents.states import FailureType
from webapp.jobs.model import Job
from webapp.jobs.queue import JobError
from webapp.jobs.states import Priority
from webapp.library import lookup, reprocess, selection
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter
from webapp.pipeline.find import find
from webapp.provider_errors import ProviderError
from webapp.runs import lifecycle


def work_off(workplace: Workplace) -> None:
    """Everything that waits, the follow-ups as well."""
    while any(job.status == "PENDING" and job.stage == "process_document" for job in workplace.all(Job)):
        workplace.process()


@pytest.mark.slow
def test_all_get_a_run_behind_everybody_who_waits(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reprocess, "IDS_PER_PAGE", 2)
    documents = [workplace.processed(f"text number {number}".encode()) for number in range(5)]

    queued = reprocess.reprocess_matching(workplace, workplace.org_id, Matching())

    assert (queued.count, queued.more) == (5, False)
    waiting = [job for job in workplace.all(Job) if job.status == "PENDING" and job.stage == "process_document"]
    assert {job.priority for job in waiting} == {Priority.BULK}
    assert {workplace.document(document.id).status for document in documents} == {"PROCESSING"}
    work_off(workplace)
    assert workplace.extractor.calls == 5
    assert {workplace.document(document.id).status for document in documents} == {"READY"}


def test_queued_documents_are_left_out_and_other_orgs_are_unknown(workplace: Workplace) -> None:
    waiting = workplace.upload(b"some words").document

    assert reprocess.reprocess(workplace, workplace.org_id, [waiting.id, new_id()]) == 0
    assert reprocess.reprocess(workplace, new_id(), [waiting.id]) == 0


def test_only_what_matches_and_so_many_at_once(workplace: Workplace) -> None:
    for number in range(4):
        workplace.processed(f"text {number}".encode(), f"report-{number}.txt")
    workplace.processed(b"another", "letter.txt")

    queued = reprocess.reprocess_matching(workplace, workplace.org_id, Matching(q="report"), limit=3)

    assert (queued.count, queued.more) == (3, True)
    with reading(workplace.org_id):
        assert selection.count(workplace.org_id, Matching(StatusFilter.READY)) == Count(2)


def test_a_bulk_that_fails_leaves_what_readers_had(workplace: Workplace) -> None:
    document = workplace.processed(prose(5), "story.md")
    before = [(chunk.id, np.asarray(chunk.embedding).tolist()) for chunk in workplace.chunks(document.id)]
    workplace.with_embedder(Fallible(model="another"))
    workplace.embedder.failures = {1: unavailable(permanent=True)}
    reprocess.reprocess_matching(workplace, workplace.org_id, Matching())
    lease = workplace.claim()
    with pytest.raises(ProviderError):
        workplace.process(lease)
    lifecycle.fail_run(workplace.queue, lease, FailureType.STEP_FAILED, JobError("unavailable", "away"))

    assert [(chunk.id, np.asarray(chunk.embedding).tolist()) for chunk in workplace.chunks(document.id)] == before
    assert workplace.document(document.id).published_run_id == document.published_run_id


def test_search_goes_on_while_the_model_is_changed(workplace: Workplace) -> None:
    first = workplace.processed(b"a story of submarines under the sea")
    second = workplace.processed(b"a tale of balloons above the clouds")
    old, new = workplace.embedder, Fallible(model="another")
    workplace.with_embedder(new)
    workplace.providers = replace(
        workplace.providers, earlier_embedder=lambda model: old if model == old.model else None
    )

    assert found(workplace, "submarines under the sea") == first.id
    assert new.asked == []

    wanted = reprocess.with_other_vectors(workplace)
    queued = reprocess.reprocess_matching(workplace, workplace.org_id, wanted, priority=Priority.BACKGROUND)
    assert queued.count == 2
    # Half of them have new vectors, half of them old ones: both are found.
    lease = workplace.claim()
    while lease.stage != "process_document":
        lease = workplace.claim()
    workplace.process(lease)
    assert found(workplace, "submarines under the sea") == first.id
    assert found(workplace, "balloons above the clouds") == second.id
    work_off_all(workplace)

    with reading(workplace.org_id):
        assert lookup.embedding_models(workplace.org_id) == ["another"]
        assert selection.count(workplace.org_id, wanted) == Count()
    asked = len(old.asked)
    assert found(workplace, "balloons above the clouds") == second.id
    assert len(old.asked) == asked
    assert workplace.extractor.calls == 2


def test_without_the_old_model_words_serve(workplace: Workplace) -> None:
    document = workplace.processed(b"a story of submarines")
    with transaction(workplace.org_id) as opened:
        opened.execute(update(Document).values(embedding_model="gone"))

    assert find(workplace, workplace.org_id, "submarines").hits[0].document_id == document.id


def found(workplace: Workplace, text: str) -> object:
    result = find(workplace, workplace.org_id, text)
    assert not result.words_only
    return result.hits[0].document_id


def work_off_all(workplace: Workplace) -> None:
    while any(job.status == "PENDING" and job.stage == "process_document" for job in workplace.all(Job)):
        lease = workplace.claim()
        if lease.stage == "process_document":
            workplace.process(lease)
