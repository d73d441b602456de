"""What the bin does to runs: work that was cancelled goes on where it was, and nothing is paid for twice."""

import threading
from dataclasses import replace
from uuid import UUID

import pytest

from tests import samples, sounds
from tests.emulators.clients import azure_extractor
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.speechkit import SpeechKitServer
from tests.locked import PASSWORD, locked_docx
from tests.pipeline import studio
from tests.pipeline.remote_place import RemotePlace
from tests.pipeline.workplace import Workplace, prose
from webapp.documents.model import ProcessingRun
from webapp.documents.states import RunTrigger
from webapp.jobs.model import Job
from webapp.library import bin as library_bin
from webapp.library.bin import Restored
from webapp.library.unlocking import queue_with_password
from webapp.pipeline.handlers import HANDLERS
from webapp.provider_errors import FailureCode
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.opener import LocalOpener
from webapp.providers.local.sound import AudioDecoder
from webapp.runs import lifecycle
from webapp.runs.checkpoint import SPOKEN_LANGUAGE
from webapp.runs.stages import TRANSCRIBE_START
from webapp.worker.attempt import Attempts, Claimed
from webapp.worker.policy import ExecutionPolicy

PAGES = 8


def _delete(place: Workplace, document_id: UUID) -> None:
    assert library_bin.delete(place.queue, place.org_id, document_id, "somebody")


def _restore(place: Workplace, document_id: UUID) -> None:
    done = library_bin.restore(place.queue, place.org_id, document_id, 5)
    assert done is Restored.DONE


def _states(place: Workplace) -> list[tuple[str, str]]:
    return [(run.trigger, run.state) for run in place.all(ProcessingRun)]


def test_pages_that_were_paid_for_are_not_paid_for_again(
    workplace: Workplace, local_extractor: LocalExtractor, documentintelligence: DocumentIntelligence
) -> None:
    remote = azure_extractor(documentintelligence, local_extractor, window_pages=2, windows_at_once=1)
    azure = RemotePlace(workplace, remote, documentintelligence)
    azure.use(remote)
    document_id = azure.upload(samples.report_pdf(pages=PAGES))
    while documentintelligence.calls["analyze"] < 2:
        assert azure.look(azure.claim()) is None, "it waits for the service"
    assert documentintelligence.calls["analyze"] < PAGES // 2
    saved = next(job.checkpoint for job in workplace.all(Job))
    _delete(workplace, document_id)
    _restore(workplace, document_id)
    job = workplace.all(Job)[-1]
    assert {name: value for name, value in job.checkpoint.items() if name in saved} == job.checkpoint
    assert job.checkpoint.get("processing_stage") == saved.get("processing_stage")
    azure.finish()
    assert azure.document(document_id).status == "READY"
    assert documentintelligence.calls["analyze"] == PAGES // 2
    assert documentintelligence.paid_twice() == {}
    assert _states(workplace) == [("UPLOAD", "CANCELLED"), ("RETRY", "SUCCEEDED")]


def test_the_language_that_a_person_chose_is_asked_for(
    workplace: Workplace, reader: AudioDecoder, speechkit: SpeechKitServer
) -> None:
    studio.equip(workplace, reader, studio.speechkit_at(speechkit, reader))
    document_id = workplace.upload(sounds.wav(sounds.babble(4)), "call.wav").document.id
    studio.finish(workplace, document_id)
    workplace.reprocess(document_id, checkpoint={SPOKEN_LANGUAGE: "ru"})
    studio.work(workplace, studio.reach(workplace, TRANSCRIBE_START))
    asked = list(speechkit.asked_languages)
    _delete(workplace, document_id)
    _restore(workplace, document_id)
    assert studio.finish(workplace, document_id) == "READY"
    assert (asked, speechkit.asked_languages) == (["auto", "ru-RU"], ["auto", "ru-RU"])
    assert _states(workplace)[-1] == ("RETRY", "SUCCEEDED")


def test_what_a_person_had_cancelled_stays_cancelled(workplace: Workplace) -> None:
    document_id = workplace.upload(prose(2)).document.id
    run = workplace.run(document_id)
    assert lifecycle.cancel_run(workplace.queue, workplace.org_id, document_id, run.id, "somebody")
    for _ in range(2):
        _delete(workplace, document_id)
        _restore(workplace, document_id)
    assert _states(workplace) == [("UPLOAD", "CANCELLED")]
    assert workplace.document(document_id).status == "FAILED"


def test_each_run_goes_on_once_however_often_the_document_comes_and_goes(workplace: Workplace) -> None:
    document_id = workplace.upload(prose(2)).document.id
    workplace.reprocess(document_id)
    for _ in range(3):
        _delete(workplace, document_id)
        assert workplace.document(document_id).status == "FAILED"
        _restore(workplace, document_id)
        assert workplace.document(document_id).status == "PROCESSING"
    assert [state for _, state in _states(workplace)] == ["CANCELLED"] * 6 + ["QUEUED"] * 2
    for _ in range(2):
        workplace.process()
    assert workplace.document(document_id).status == "READY"


@pytest.mark.parametrize("trigger", [RunTrigger.REEMBED, RunTrigger.REPROCESS])
def test_work_on_a_published_result_goes_on_too(workplace: Workplace, trigger: RunTrigger) -> None:
    document = workplace.processed(prose(2))
    lifecycle.queue_run(workplace.queue, workplace.org_id, document.id, trigger, max_attempts=5)
    _delete(workplace, document.id)
    assert workplace.document(document.id).status == "READY"
    _restore(workplace, document.id)
    quiet = trigger is RunTrigger.REEMBED
    assert _states(workplace)[-1] == ("REEMBED" if quiet else "RETRY", "QUEUED")
    assert workplace.document(document.id).status == ("READY" if quiet else "PROCESSING")


def test_a_password_is_not_kept_in_the_bin_and_is_asked_for_once_more(
    workplace: Workplace, local_opener: LocalOpener
) -> None:
    workplace.providers = replace(workplace.providers, opener=local_opener)
    document_id = workplace.upload(locked_docx(), "ledger.docx").document.id
    assert _attempt(workplace) == FailureCode.ENCRYPTED
    assert queue_with_password(workplace, workplace.org_id, document_id, PASSWORD)
    _delete(workplace, document_id)
    _restore(workplace, document_id)
    assert _attempt(workplace) == FailureCode.PASSWORD_GONE


def _attempt(place: Workplace) -> str | None:
    """The code with which the next job's attempt ends its run."""
    lease = place.claim()
    Attempts(place, ExecutionPolicy.of(place.settings), HANDLERS).run(Claimed(lease, float("inf")), threading.Event())
    return place.run(lease.document_id).failure_code
