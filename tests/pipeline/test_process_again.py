"""Again: what a reprocess and a retry keep, and what they do where something kept is gone."""

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete, update

from tests.pipeline.workplace import Crash, Fallible, Workplace, prose, unavailable
from webapp.clock import after
from webapp.db import transaction
from webapp.documents.model import Artifact, ReplacedArtifact
from webapp.documents.states import FailureType, RunTrigger
from webapp.jobs.queue import JobError
from webapp.library import deletion
from webapp.pipeline import replaced
from webapp.provider_errors import ProviderError
from webapp.runs import lifecycle
from webapp.runs.stages import FIND_FIELDS, PROCESS_DOCUMENT, STAGES
from webapp.search.model import CachedEmbedding
from webapp.worker import chores

# Fields are looked for only where a chat model is set.
STEPS = [step for step in STAGES[PROCESS_DOCUMENT] if step is not FIND_FIELDS]
DOING = [step.doing for step in STEPS]


def ids(workplace: Workplace, document_id: UUID) -> list[UUID]:
    return [chunk.id for chunk in workplace.chunks(document_id)]


def test_a_reprocess_asks_for_nothing_and_keeps_everything(workplace: Workplace) -> None:
    document = workplace.processed(prose(30), "story.md")
    before = [(chunk.id, chunk.created_at) for chunk in workplace.chunks(document.id)]
    asked = len(workplace.embedder.asked)

    workplace.reprocess(document.id)
    workplace.process()

    assert [(chunk.id, chunk.created_at) for chunk in workplace.chunks(document.id)] == before
    assert workplace.extractor.calls == 1
    assert len(workplace.embedder.asked) == asked
    run = workplace.run(document.id)
    assert workplace.document(document.id).published_run_id == run.id
    assert {step for kind, step in workplace.steps(run.id) if kind == "STEP_REUSED"} == {"extracting", "embedding"}
    assert [call.reused for call in workplace.calls("extract")] == [False, True]
    assert [call.units for call in workplace.calls("embed") if call.reused] == [len(before)]
    texts = [path for path in workplace.blobs() if str(document.id) in path and path.endswith(".md")]
    assert len(texts) == 2, "the one that is served, and the one that somebody may still be reading"


def test_the_same_text_in_another_document_is_embedded_once(workplace: Workplace) -> None:
    workplace.processed(prose(10), "story.md")
    asked = len(workplace.embedder.asked)

    workplace.processed(prose(10) + b"\n", "copy.md")

    assert len(workplace.embedder.asked) == asked
    assert workplace.extractor.calls == 2


def test_readers_see_the_old_result_until_the_new_one_is_complete(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = workplace.processed(prose(20), "story.md")
    before, (artifact,) = ids(workplace, document.id), workplace.all(Artifact)
    workplace.with_embedder(Fallible(model="another"))
    seen = []

    class Reading(Fallible):
        def embed(self, texts: Any) -> list[list[float]]:
            seen.append((ids(workplace, document.id), workplace.providers.blobs.exists(artifact.path)))
            return super().embed(texts)

    workplace.with_embedder(Reading(model="another"))
    workplace.reprocess(document.id)
    workplace.process()

    assert seen
    assert all(state == (before, True) for state in seen)
    assert {chunk.embedding_model for chunk in workplace.chunks(document.id)} == {"another"}


def test_a_failed_reprocess_leaves_the_old_result(workplace: Workplace) -> None:
    document = workplace.processed(prose(20), "story.md")
    before, (artifact,) = ids(workplace, document.id), workplace.all(Artifact)
    workplace.with_embedder(Fallible(model="another"))
    workplace.embedder.failures = {1: unavailable(permanent=True)}
    workplace.reprocess(document.id)
    lease = workplace.claim()
    with pytest.raises(ProviderError):
        workplace.process(lease)
    lifecycle.fail_run(workplace.queue, lease, FailureType.STEP_FAILED, JobError("unavailable", "away"))

    after = workplace.document(document.id)
    assert after.status == "FAILED"
    assert after.published_run_id == document.published_run_id
    assert ids(workplace, document.id) == before
    assert workplace.providers.blobs.exists(artifact.path)


def grow_old(workplace: Workplace, hours: float) -> None:
    """Let what was replaced have been replaced earlier."""
    with transaction(workplace.org_id) as opened:
        opened.execute(update(ReplacedArtifact).values(replaced_at=after(-hours * 3600)))


def test_what_was_replaced_stays_readable_for_a_day(workplace: Workplace) -> None:
    document = workplace.processed(prose(20), "story.md")
    (old,) = workplace.all(Artifact)
    for _ in range(2):
        workplace.reprocess(document.id)
        workplace.process()

    (new,) = workplace.all(Artifact)
    blobs, earlier = workplace.providers.blobs, {row.path for row in workplace.all(ReplacedArtifact)}
    assert new.path != old.path
    assert len(earlier) == 2
    assert old.path in earlier
    assert all(blobs.exists(path) for path in (new.path, *earlier))
    assert not [path for path in workplace.blobs() if "/chunks-" in path], "nobody was ever served these"

    grow_old(workplace, 23)
    assert chores.sweep_replaced(workplace) == 0
    grow_old(workplace, 25)
    assert chores.sweep_replaced(workplace) == 2
    assert not any(map(blobs.exists, earlier))
    assert blobs.exists(new.path)
    assert workplace.all(ReplacedArtifact) == []
    assert chores.sweep_replaced(workplace) == 0


def test_a_sweep_that_was_cut_off_is_done_again(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    document = workplace.processed(prose(2), "story.md")
    workplace.reprocess(document.id)
    workplace.process()
    grow_old(workplace, 25)
    with monkeypatch.context() as patched:
        patched.setattr(replaced, "forget", _crash)
        with pytest.raises(Crash):
            chores.sweep_replaced(workplace)
    assert chores.sweep_replaced(workplace) == 1
    assert workplace.all(ReplacedArtifact) == []


def _crash(paths: object) -> None:
    raise Crash


def test_what_was_replaced_goes_with_its_document(workplace: Workplace) -> None:
    document = workplace.processed(prose(2), "story.md")
    workplace.reprocess(document.id)
    workplace.process()
    deletion.delete_document(workplace.queue, workplace.org_id, document.id)
    assert workplace.all(ReplacedArtifact) == []


def test_a_blob_that_cannot_be_removed_disturbs_nobody(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(path: str) -> None:
        raise unavailable()

    monkeypatch.setattr(workplace.providers.blobs, "delete", failing)

    assert workplace.processed(b"some words").status == "READY"


def test_a_retry_run_goes_on_where_the_failed_one_stopped(workplace: Workplace) -> None:
    document_id = workplace.upload(prose(20), "story.md").document.id
    workplace.embedder.failures = {1: unavailable(permanent=True)}
    lease = workplace.claim()
    with pytest.raises(ProviderError):
        workplace.process(lease)
    lifecycle.fail_run(workplace.queue, lease, FailureType.STEP_FAILED, JobError("unavailable", "away"))

    run_id = lifecycle.retry_job(workplace.queue, workplace.org_id, lease.job_id, 5, by="tests")
    assert isinstance(run_id, UUID)
    workplace.process()

    assert workplace.document(document_id).status == "READY"
    assert workplace.run(document_id).trigger == RunTrigger.RETRY
    assert [step for kind, step in workplace.steps(run_id) if kind == "STEP_REUSED"] == DOING[:3]
    assert workplace.extractor.calls == 1
    assert len([path for path in workplace.blobs() if str(document_id) in path]) == 2


@pytest.mark.parametrize("lost", ["markdown", "chunks", "extraction"])
def test_a_step_whose_blob_is_gone_is_done_again(workplace: Workplace, lost: str) -> None:
    document_id = workplace.upload(prose(20), "story.md").document.id
    workplace.embedder.failures = {1: Crash()}
    lease = workplace.claim()
    with pytest.raises(Crash):
        workplace.process(lease)
    workplace.providers.blobs.delete(workplace.checkpoint(lease)["artifacts"][lost])

    workplace.process(workplace.take_back(lease))

    assert workplace.document(document_id).status == "READY"


def test_an_artifact_that_vanishes_is_no_end(workplace: Workplace) -> None:
    document_id = workplace.upload(prose(20), "story.md").document.id
    workplace.embedder.failures = {1: Crash()}
    lease = workplace.claim()
    with pytest.raises(Crash):
        workplace.process(lease)
    lease = workplace.take_back(lease)

    class Sweeping(Fallible):
        def embed(self, texts: Any) -> list[list[float]]:
            workplace.providers.blobs.delete(workplace.checkpoint(lease)["artifacts"]["extraction"])
            return super().embed(texts)

    workplace.with_embedder(Sweeping())
    with pytest.raises(ProviderError) as failure:
        workplace.process(lease)
    assert not failure.value.permanent

    workplace.with_embedder(Fallible())
    workplace.process(workplace.take_back(lease))
    assert workplace.document(document_id).status == "READY"


def test_an_unreadable_cache_is_replaced(workplace: Workplace) -> None:
    document = workplace.processed(b"some words")
    (cached,) = [path for path in workplace.blobs() if "/extractions/" in path]
    workplace.providers.blobs.put_bytes(cached, b'{"half')
    workplace.reprocess(document.id)
    workplace.process()

    assert workplace.extractor.calls == 2
    assert workplace.document(document.id).status == "READY"


def test_an_emptied_cache_of_vectors_is_filled_again(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    document_id = workplace.upload(prose(20), "story.md").document.id
    lease = workplace.claim()
    workplace.die_before("publishing", lease, monkeypatch)
    with transaction(workplace.org_id) as opened:
        opened.execute(delete(CachedEmbedding))

    workplace.process(workplace.take_back(lease))

    assert workplace.document(document_id).status == "READY"
