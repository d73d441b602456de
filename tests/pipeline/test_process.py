"""A document's whole way, undisturbed and disturbed: nothing lost, nothing asked for twice, never a half shown."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete, update

from tests import samples
from tests.pipeline.workplace import Crash, Fallible, Workplace, prose, unavailable
from webapp.db import in_transaction, transaction
from webapp.documents.model import Artifact, Document, DocumentField, DocumentTable
from webapp.jobs.model import Job
from webapp.jobs.queue import Lease, LeaseLost
from webapp.pipeline import artifacts
from webapp.provider_errors import BadInput, FailureCode, ProviderError
from webapp.runs import lifecycle
from webapp.runs.stages import FIND_FIELDS, PROCESS_DOCUMENT, STAGES
from webapp.search.model import CachedEmbedding, Chunk

# Fields are looked for only where a chat model is set.
STEPS = [step for step in STAGES[PROCESS_DOCUMENT] if step is not FIND_FIELDS]
DOING = [step.doing for step in STEPS]


def test_a_pdf_becomes_ready(workplace: Workplace) -> None:
    document = workplace.processed(samples.report_pdf(pages=3), "report.pdf")

    run = workplace.run(document.id)
    assert (document.status, run.state) == ("READY", "SUCCEEDED")
    assert document.published_run_id == run.id
    assert document.page_count == 3
    assert document.title
    assert document.embedding_model == workplace.embedder.model
    assert document.embedding is not None
    assert abs(float(document.embedding @ document.embedding) - 1) < 1e-3
    chunks = workplace.chunks(document.id)
    assert chunks
    assert {chunk.page_from for chunk in chunks} == {1, 2, 3}
    assert all("<!-- page" not in chunk.text for chunk in chunks)
    assert all(chunk.embedding is not None for chunk in chunks)
    (job,) = [each for each in workplace.all(Job) if each.stage == PROCESS_DOCUMENT]
    assert (job.status, job.checkpoint["processing_stage"], job.checkpoint["progress"]) == ("COMPLETED", "complete", 1)
    assert job.checkpoint["completed_stages"] == [step.done for step in STEPS]


def test_the_timeline_names_each_step(workplace: Workplace) -> None:
    document = workplace.processed(b"some words")

    expected = [(kind, step) for step in DOING for kind in ("STEP_STARTED", "STEP_SUCCEEDED")]
    assert workplace.steps(workplace.run(document.id).id) == expected


def test_readers_are_served_the_markdown(workplace: Workplace) -> None:
    document = workplace.processed(b"# Hello\n\nSome *words*.", "a.md")

    (artifact,) = workplace.all(Artifact)
    assert artifact.kind == "markdown"
    assert b"Some *words*." in workplace.providers.blobs.read_bytes(artifact.path)
    left = [path for path in workplace.blobs() if str(document.id) in path]
    assert sorted(left) == sorted([document.blob_path, artifact.path])


def test_fields_and_tables_are_published(workplace: Workplace) -> None:
    workplace.processed(samples.invoice_pdf(), "invoice.pdf")
    workplace.processed(samples.table_pdf(), "table.pdf")

    fields = {field.name: field.value for field in workplace.all(DocumentField)}
    assert fields["Invoice number"] == "2026-0417"
    (date,) = [field for field in workplace.all(DocumentField) if field.kind == "invoice_date"]
    assert (date.value, date.normalized, date.doubt) == ("17 April 2026", "2026-04-17", None)
    (table,) = workplace.all(DocumentTable)
    assert table.rows[0] == ["Item", "Quantity", "Price"]


def test_what_was_asked_for_is_in_the_ledger(workplace: Workplace) -> None:
    document = workplace.processed(samples.report_pdf(pages=3), "report.pdf")

    (extracted,) = workplace.calls("extract")
    assert (extracted.provider, extracted.units, extracted.outcome, extracted.reused) == ("local", 3, "ok", False)
    assert extracted.run_id == workplace.run(document.id).id
    embedded = workplace.calls("embed")
    assert sum(call.units for call in embedded) == len(workplace.embedder.asked) > 0
    assert not any(call.reused for call in embedded)


def test_no_transaction_is_open_while_a_provider_works(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(work: Callable[..., Any]) -> Callable[..., Any]:
        def watch(*args: Any, **more: Any) -> Any:
            seen.append(in_transaction())
            return work(*args, **more)

        return watch

    for provider, work in (
        (workplace.extractor, "extract"),
        (workplace.embedder, "embed"),
        (workplace.providers.blobs, "put_bytes"),
        (workplace.providers.blobs, "read_bytes"),
        (workplace.providers.blobs, "delete"),
    ):
        monkeypatch.setattr(provider, work, watched(getattr(provider, work)))
    workplace.processed(b"some words")

    assert len(seen) > 5
    assert not any(seen)


@pytest.mark.parametrize("place", range(len(DOING)))
def test_a_crash_before_a_step_is_stored_costs_a_repeat_of_that_step_alone(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    document_id = workplace.upload(prose(30), "story.md").document.id
    lease = workplace.claim()
    workplace.die_before(STEPS[place].done, lease, monkeypatch)
    workplace.process(workplace.take_back(lease))

    _is_as_undisturbed(workplace, document_id)


@pytest.mark.parametrize("place", range(len(DOING) - 1))
def test_a_crash_after_a_step_was_stored_repeats_nothing(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    document_id = workplace.upload(prose(30), "story.md").document.id
    lease = workplace.claim()
    workplace.die_before(STEPS[place + 1].doing, lease, monkeypatch)
    workplace.process(workplace.take_back(lease))

    _is_as_undisturbed(workplace, document_id)
    reused = [step for kind, step in workplace.steps(workplace.run(document_id).id) if kind == "STEP_REUSED"]
    assert reused == DOING[: place + 1]


def _is_as_undisturbed(workplace: Workplace, document_id: UUID) -> None:
    """READY, each thing asked for once, and not a blob more than needed."""
    document = workplace.document(document_id)
    assert document.status == "READY"
    chunks = workplace.chunks(document_id)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert workplace.extractor.calls == 1
    assert sorted(workplace.embedder.asked) == sorted({chunk.text for chunk in chunks})
    assert len(workplace.calls("extract")) <= 2
    assert len([path for path in workplace.blobs() if str(document_id) in path]) == 2


def test_a_crash_while_embedding_loses_one_batch(workplace: Workplace) -> None:
    document_id = workplace.upload(prose(40), "story.md").document.id
    workplace.embedder.failures[4] = Crash()
    lease = workplace.claim()
    with pytest.raises(Crash):
        workplace.process(lease)
    assert len(workplace.embedder.asked) == len(workplace.all(CachedEmbedding)) == 3 * workplace.embedder.batch_size

    workplace.process(workplace.take_back(lease))

    assert len(workplace.embedder.asked) == len(set(workplace.embedder.asked)) == len(workplace.chunks(document_id))


def test_the_second_try_of_a_step_is_enough(workplace: Workplace) -> None:
    workplace.extractor.failures = [unavailable()]
    document = workplace.processed(b"some words")

    assert document.status == "READY"
    kinds = [kind for kind, step in workplace.steps(workplace.run(document.id).id) if step == "extracting"]
    assert kinds == ["STEP_STARTED", "STEP_RETRIED", "STEP_SUCCEEDED"]


def test_bad_input_is_not_tried_again(workplace: Workplace) -> None:
    document_id = workplace.upload(samples.encrypted_pdf(), "secret.pdf").document.id

    with pytest.raises(BadInput) as failure:
        workplace.process()

    assert failure.value.code is FailureCode.ENCRYPTED
    assert workplace.extractor.calls == 1
    kinds = [kind for kind, _ in workplace.steps(workplace.run(document_id).id)]
    assert kinds == ["STEP_STARTED", "STEP_FAILED"]


def test_a_document_without_text_says_so(workplace: Workplace) -> None:
    workplace.upload(b"   \n\n  ", "blank.txt")

    with pytest.raises(BadInput) as failure:
        workplace.process()

    assert failure.value.code in {FailureCode.NO_TEXT, FailureCode.EMPTY}


def test_a_worker_that_lost_its_job_keeps_the_answer_that_is_paid_for_and_writes_nothing_else(
    workplace: Workplace,
) -> None:
    document_id = workplace.upload(prose(20), "story.md").document.id
    zombie = workplace.claim()
    taken: list[Lease] = []

    class Slow(Fallible):
        def embed(self, texts: Any) -> list[list[float]]:
            if not taken:
                taken.append(workplace.take_back(zombie))
            return super().embed(texts)

    workplace.with_embedder(Slow())
    with pytest.raises(LeaseLost):
        workplace.process(zombie)
    kept = len(workplace.all(CachedEmbedding))
    assert kept == Fallible.batch_size
    assert workplace.all(Chunk) == []
    assert [(call.units, call.outcome) for call in workplace.calls("embed")] == [(kept, "ok")]

    workplace.process(taken[0])
    assert workplace.document(document_id).status == "READY"


def test_a_document_that_is_deleted_meanwhile_ends_quietly(workplace: Workplace) -> None:
    document_id = workplace.upload(prose(20), "story.md").document.id

    class Deleting(Fallible):
        def embed(self, texts: Any) -> list[list[float]]:
            with transaction(workplace.org_id) as opened:
                opened.execute(delete(Document).where(Document.id == document_id))
            return super().embed(texts)

    workplace.with_embedder(Deleting())
    with pytest.raises(LeaseLost):
        workplace.process()

    assert workplace.chunks(document_id) == []


def test_a_run_that_was_ended_meanwhile_publishes_nothing(workplace: Workplace) -> None:
    document_id = workplace.upload(prose(20), "story.md").document.id
    lease = workplace.claim()

    class Cancelling(Fallible):
        def embed(self, texts: Any) -> list[list[float]]:
            lifecycle.cancel_run(workplace.queue, workplace.org_id, document_id, lease.run_id)
            return super().embed(texts)

    workplace.with_embedder(Cancelling())
    with pytest.raises(LeaseLost):
        workplace.process(lease)

    assert workplace.chunks(document_id) == []
    assert workplace.run(document_id).state == "CANCELLED"


def test_a_missing_file_is_a_permanent_failure(workplace: Workplace) -> None:
    ingested = workplace.upload(b"some words")
    workplace.providers.blobs.delete(ingested.document.blob_path)

    with pytest.raises(ProviderError) as failure:
        workplace.process()

    assert failure.value.permanent
    assert failure.value.code is FailureCode.BLOB_MISSING


def test_a_wrong_answer_of_the_embedder_is_a_failure(workplace: Workplace) -> None:
    class Short(Fallible):
        def embed(self, texts: Any) -> list[list[float]]:
            return super().embed(texts)[:-1]

    workplace.with_embedder(Short())
    workplace.upload(b"some words")

    with pytest.raises(ProviderError):
        workplace.process()
    assert workplace.all(CachedEmbedding) == []


@pytest.mark.slow
def test_a_large_document_is_published(workplace: Workplace) -> None:
    workplace.embedder.batch_size = 200
    document = workplace.processed(prose(3000), "book.md")

    assert document.status == "READY"
    assert len(workplace.chunks(document.id)) >= 2000
    workplace.reprocess(document.id)
    workplace.process()
    assert workplace.document(document.id).status == "READY"


def test_ledger_and_artifacts_go_with_their_document(workplace: Workplace) -> None:
    document = workplace.processed(samples.invoice_pdf(), "invoice.pdf")
    with transaction(workplace.org_id) as opened:
        opened.execute(update(Document).where(Document.id == document.id).values(title="x"))
        opened.execute(delete(Document).where(Document.id == document.id))

    for table in (Artifact, DocumentField, Job):
        assert workplace.all(table) == []


def test_only_folders_of_runs_are_cleared(workplace: Workplace) -> None:
    document_id = workplace.upload(b"some words").document.id
    folder = f"{workplace.org_id}/documents/{document_id}"
    newer = f"{folder}/ffffffff-ffff-7fff-bfff-ffffffffffff/markdown-1.md"
    for path in (f"{folder}/pages/1.png", newer):
        workplace.providers.blobs.put_bytes(path, b"x")
    workplace.process()

    assert workplace.providers.blobs.exists(f"{folder}/pages/1.png")
    assert workplace.providers.blobs.exists(newer)
    assert artifacts.digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
