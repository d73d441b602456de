"""Files that nothing reads: kept as they are, and read once something can."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tests import samples, sounds
from tests.pipeline.workplace import Crash, Workplace
from webapp.db import transaction
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import Artifact, Document
from webapp.documents.states import EventKind, RunState
from webapp.jobs.model import Job
from webapp.jobs.queue import LeaseLost
from webapp.library import grid, lookup
from webapp.library.status_filter import StatusFilter
from webapp.provider_errors import BadInput, FailureCode
from webapp.providers.ports import KeptParts
from webapp.readers.extraction import Extraction, Page

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100


class ReadsPictures:
    """An Extractor that knows one more kind of file than the one before it."""

    def __init__(self, before: Any) -> None:
        self.before, self.name, self.version = before, "pictures", "1"

    def options_key(self) -> str:
        return ""

    def accepts(self, content_type: str) -> bool:
        return content_type == "image/png" or self.before.accepts(content_type)

    def check(self) -> None:
        self.before.check()

    def extract(
        self,
        source: Path,
        content_type: str,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
        parts: KeptParts | None = None,
    ) -> Extraction:
        pages = (Page(1, "A picture of a windmill."), Page(2, " \n"))
        return Extraction("pictures", "1", "A picture of a windmill.", pages=pages, page_count=2)


def _listed(workplace: Workplace, **wanted: Any) -> list[str]:
    with transaction(workplace.org_id):
        return [row.document.filename for row in grid.page(workplace.org_id, **wanted).rows]


def _counts(workplace: Workplace) -> dict[str, int]:
    with transaction(workplace.org_id):
        return {status: count.number for status, count in lookup.counts(workplace.org_id).items() if count}


def test_it_is_ready_and_nothing_was_read_paid_or_queued(workplace: Workplace) -> None:
    document = workplace.processed(PNG, "mill.png")

    run = workplace.run(document.id)
    assert (document.status, document.pages_read, document.is_kept) == ("READY", 0, True)
    assert (run.state, document.published_run_id) == (RunState.SUCCEEDED, run.id)
    assert (document.page_count, document.title, document.embedding, document.embedding_model) == (None,) * 4
    (job,) = workplace.all(Job)
    assert (job.status, job.checkpoint["progress"]) == ("COMPLETED", 1)
    assert workplace.steps(run.id) == [(EventKind.STEP_STARTED, "keeping"), (EventKind.STEP_SUCCEEDED, "keeping")]
    assert workplace.all(ProviderCall) == workplace.all(Artifact) == workplace.chunks(document.id) == []
    assert (workplace.extractor.calls, workplace.embedder.batches) == (0, 0)
    assert workplace.blobs() == [document.blob_path]


def test_it_is_listed_and_counted_apart_from_what_was_read(workplace: Workplace) -> None:
    workplace.processed(PNG, "mill.png")
    workplace.processed(b"Some words.", "words.txt")

    assert _counts(workplace) == {"READY": 1, "kept": 1}
    assert _listed(workplace) == ["words.txt", "mill.png"]
    assert _listed(workplace, status=StatusFilter.KEPT) == ["mill.png"]
    assert _listed(workplace, status=StatusFilter.READY) == ["words.txt"]
    assert _listed(workplace, q="mill") == _listed(workplace, q="mill", status=StatusFilter.KEPT) == ["mill.png"]
    assert _listed(workplace, q="mill", status=StatusFilter.READY) == []


@pytest.mark.parametrize("sort", grid.Sort)
def test_the_whole_library_is_in_order(workplace: Workplace, sort: grid.Sort) -> None:
    for number in range(3):
        workplace.processed(PNG + b"1" * number * 40, f"{number}-a.png")
        workplace.processed(b"Some words." * (number + 1) * 9, f"{number}-b.txt")
    everything = _listed(workplace, sort=sort)
    assert len(everything) == 6

    found, cursor = list[str](), None
    while len(found) < 6:
        with transaction(workplace.org_id):
            page = grid.page(workplace.org_id, sort=sort, limit=2, cursor=cursor)
        found, cursor = found + [row.document.filename for row in page.rows], page.next_cursor
    assert found == everything
    if sort is grid.Sort.NAME:
        assert everything == sorted(everything)


def test_processing_it_again_reads_it_once_something_can(workplace: Workplace) -> None:
    document_id = workplace.processed(PNG, "mill.png").id
    workplace.reprocess(document_id)
    assert workplace.document(document_id).status == "PROCESSING"
    workplace.process()
    assert workplace.document(document_id).is_kept
    assert workplace.run(document_id).state == RunState.SUCCEEDED

    workplace.with_extractor(ReadsPictures(workplace.extractor.real))
    workplace.reprocess(document_id)
    workplace.process()
    document = workplace.document(document_id)
    assert (document.status, document.page_count, document.pages_read) == ("READY", 2, 1)
    assert [chunk.text for chunk in workplace.chunks(document_id)] == ["A picture of a windmill."]
    assert _counts(workplace) == {"READY": 1, "partly_read": 1}


def test_what_was_read_is_not_given_up_where_its_reader_is_gone(workplace: Workplace) -> None:
    local = workplace.extractor.real
    workplace.with_extractor(ReadsPictures(local))
    document_id = workplace.processed(PNG, "mill.png").id
    workplace.connect()
    workplace.with_extractor(local)

    workplace.reprocess(document_id)
    with pytest.raises(BadInput) as refused:
        workplace.process()
    assert refused.value.code is FailureCode.UNSUPPORTED
    document = workplace.document(document_id)
    assert (document.pages_read, document.has_text, document.is_kept) == (1, True, False)
    assert len(workplace.chunks(document_id)) == 1


def test_a_document_from_before_the_column_is_not_mistaken_for_a_kept_one(workplace: Workplace) -> None:
    document = workplace.processed(b"Some words.", "words.txt")
    with transaction(workplace.org_id) as session:
        session.execute(update(Document).where(Document.id == document.id).values(pages_read=None))

    assert _counts(workplace) == {"READY": 1}
    assert _listed(workplace, status=StatusFilter.READY) == ["words.txt"]


def test_pages_that_gave_text_are_counted_where_there_are_pages(workplace: Workplace) -> None:
    assert workplace.processed(samples.report_pdf(pages=3), "report.pdf").pages_read == 3
    assert workplace.processed(b"Some words.", "words.txt").pages_read is None


def test_a_recording_is_kept_where_nobody_writes_it_down(workplace: Workplace) -> None:
    workplace.providers = replace(workplace.providers, speech=None)
    document = workplace.processed(sounds.wav(sounds.babble(1.0)), "call.wav")

    assert (document.status, document.is_kept) == ("READY", True)
    assert [job.stage for job in workplace.all(Job)] == ["extract_audio"]


def test_a_worker_that_lost_its_lease_ends_nothing(workplace: Workplace) -> None:
    document_id = workplace.upload(PNG, "mill.png").document.id
    frozen = workplace.claim()
    taken = workplace.take_back(frozen)

    with pytest.raises(LeaseLost):
        workplace.process(frozen)
    assert workplace.document(document_id).status == "PROCESSING"
    assert workplace.document(document_id).pages_read is None

    workplace.process(taken)
    assert workplace.document(document_id).is_kept


def test_a_crash_before_the_commit_costs_a_repeat(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    document_id = workplace.upload(PNG, "mill.png").document.id
    lease = workplace.claim()

    def die(*_: Any) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr("webapp.runs.lifecycle.succeed_run", die)
        with pytest.raises(Crash):
            workplace.process(lease)
    assert workplace.document(document_id).pages_read is None

    workplace.process(workplace.take_back(lease))
    assert workplace.document(document_id).is_kept
