"""Paid answers about files (windows of pages, parts of a recording, notes): asked for once, on the bill once."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from tests import samples, sounds
from tests.emulators.clients import azure_extractor
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.openai import OpenAI
from tests.emulators.server import Emulator
from tests.emulators.speechkit import SpeechKitServer
from tests.pipeline import studio
from tests.pipeline.paid import Faulty, database_away, deviations
from tests.pipeline.remote_place import RemotePlace
from tests.pipeline.workplace import Crash, Workplace
from webapp.db import transaction
from webapp.documents.ledger_model import CallReservation, ProviderCall
from webapp.jobs.interruptions import Snoozed
from webapp.jobs.queue import Lease, LeaseLost
from webapp.library import deletion
from webapp.pipeline.handlers import HANDLERS
from webapp.pipeline.paid_calls.call_times import CallTimes
from webapp.providers.local.analysis import LocalAnalyst
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.ports import Done, StillRunning
from webapp.runs import lifecycle
from webapp.runs.stages import ANALYZE, TRANSCRIBE_START
from webapp.worker import chores

PAGES = 4
BOOK = samples.report_pdf(pages=PAGES)


@pytest.fixture
def yandex(workplace: Workplace, reader: AudioDecoder, speechkit: SpeechKitServer, openai: OpenAI) -> Workplace:
    """Recordings are heard by one service, and another takes notes."""
    return studio.equip(workplace, reader, studio.speechkit_at(speechkit, reader), studio.chat_at(openai))


@pytest.fixture
def whisper(workplace: Workplace, reader: AudioDecoder, openai: OpenAI) -> Workplace:
    """The service answers with the text at once."""
    return studio.equip(workplace, reader, studio.openai_at(openai, reader), studio.chat_at(openai))


@pytest.fixture
def azure(
    workplace: Workplace, local_extractor: LocalExtractor, documentintelligence: DocumentIntelligence
) -> RemotePlace:
    remote = azure_extractor(documentintelligence, local_extractor, window_pages=2)
    place = RemotePlace(workplace, remote, documentintelligence)
    place.use(remote)
    return place


def call(seconds: float = 4.0) -> bytes:
    return sounds.wav(sounds.babble(seconds))


def with_blobs(workplace: Workplace, fragment: str, **how: Any) -> None:
    blobs: Any = Faulty(workplace.providers.blobs, fragment, **how)
    workplace.providers = replace(workplace.providers, blobs=blobs)


def mended(workplace: Workplace) -> None:
    blobs: Any = workplace.providers.blobs
    workplace.providers = replace(workplace.providers, blobs=blobs.real)


def lines(workplace: Workplace, operation: str) -> list[tuple[str, bool]]:
    found: list[ProviderCall] = workplace.calls(operation)
    return sorted((line.outcome, line.reused) for line in found)


def agrees(workplace: Workplace, *emulators: Emulator) -> None:
    """The ledger with these services' own bills; what is not theirs is left out."""
    assert [each for each in deviations(workplace, *emulators) if not each.startswith("embed")] == []
    assert workplace.all(CallReservation) == []


# A crash between a kept answer and its line in the ledger.


@pytest.mark.parametrize(("fragment", "operation"), [(".operation.json", "transcribe"), ("notes-", "analyze")])
def test_a_recordings_answer_that_nobody_booked_was_paid_for_and_not_saved(
    yandex: Workplace, speechkit: SpeechKitServer, openai: OpenAI, fragment: str, operation: str
) -> None:
    document_id = yandex.upload(call(), "call.wav").document.id
    lease = studio.reach(yandex, TRANSCRIBE_START if operation == "transcribe" else ANALYZE)
    with_blobs(yandex, fragment, dies=True)
    with pytest.raises(Crash):
        studio.work(yandex, lease)
    mended(yandex)
    studio.work(yandex, yandex.take_back(lease))
    if operation == "transcribe":
        assert studio.finish(yandex, document_id) == "READY"
    assert lines(yandex, operation) == [("ok", False)]
    agrees(yandex, speechkit, openai)
    assert (speechkit.paid_twice(), openai.paid_twice()) == ({}, {})


def test_what_this_machine_did_before_it_died_is_booked_as_done_and_not_as_saved(
    workplace: Workplace, reader: AudioDecoder, speechkit: SpeechKitServer
) -> None:
    studio.equip(workplace, reader, studio.speechkit_at(speechkit, reader))
    document_id = workplace.upload(call(), "call.wav").document.id
    lease = studio.reach(workplace, ANALYZE)
    with_blobs(workplace, "notes-", dies=True)
    with pytest.raises(Crash):
        studio.work(workplace, lease)
    mended(workplace)
    studio.work(workplace, workplace.take_back(lease))
    assert studio.finish(workplace, document_id) == "READY"
    assert lines(workplace, "analyze") == [("ok", False)]
    assert workplace.all(CallReservation) == []


def test_what_this_machine_did_in_vain_is_on_no_bill(
    workplace: Workplace, reader: AudioDecoder, speechkit: SpeechKitServer
) -> None:
    studio.equip(workplace, reader, studio.speechkit_at(speechkit, reader))
    document_id = workplace.upload(call(), "call.wav").document.id
    lease = studio.reach(workplace, ANALYZE)

    class Dies(LocalAnalyst):
        def analyze(self, *_: Any, **__: Any) -> Any:
            raise Crash

    studio.equip(workplace, reader, studio.speechkit_at(speechkit, reader), Dies())
    with pytest.raises(Crash):
        studio.work(workplace, lease)
    assert len(workplace.all(CallReservation)) == 1
    studio.equip(workplace, reader, studio.speechkit_at(speechkit, reader))
    studio.work(workplace, workplace.take_back(lease))
    assert studio.finish(workplace, document_id) == "READY"
    assert lines(workplace, "analyze") == [("ok", False)]


def test_an_operations_id_that_nobody_booked_was_paid_for(azure: RemotePlace) -> None:
    document_id = azure.upload(BOOK)
    with_blobs(azure.workplace, ".operation", dies=True)
    lease = azure.claim()
    with pytest.raises(Crash):
        azure.look(lease)
    mended(azure.workplace)
    azure.finish(azure.workplace.take_back(lease))
    assert azure.document(document_id).status == "READY"
    assert azure.bill() == [(2, "ok", False), (2, "ok", False)]
    agrees(azure.workplace, azure.server)


def test_a_kept_answer_of_a_call_that_was_given_up_is_booked_as_paid(azure: RemotePlace) -> None:
    document_id = azure.upload(BOOK)
    with_blobs(azure.workplace, ".operation", dies=True)
    lease = azure.claim()
    with pytest.raises(Crash):
        azure.look(lease)
    mended(azure.workplace)
    workplace = azure.workplace
    lifecycle.cancel_run(workplace.queue, workplace.org_id, document_id, lease.run_id)
    with transaction(workplace.org_id) as session:
        session.query(CallReservation).update({CallReservation.ends_at: CallReservation.made_at})
    assert chores.book_lost_calls(workplace) == 1
    assert azure.bill() == [(2, "ok", False)]


def test_a_run_books_as_saved_what_it_did_not_pay_for_itself(azure: RemotePlace) -> None:
    document_id = azure.upload(BOOK)
    azure.finish()
    blobs = azure.workplace.providers.blobs
    for path in azure.workplace.blobs():
        if path.endswith("pages-1-2.answer") or ("/azure-" in path and path.endswith(".json")):
            blobs.delete(path)
    azure.workplace.reprocess(document_id)
    azure.finish()
    assert azure.server.calls["analyze"] == 3
    assert azure.bill() == [(2, "ok", False), (2, "ok", False), (2, "ok", False), (2, "ok", True)]


# Answers that were cut off on their way.


@pytest.mark.parametrize("fault", ["lost", "cut", "malformed"])
def test_a_part_whose_answer_was_cut_off_may_have_been_paid_for(
    yandex: Workplace, speechkit: SpeechKitServer, openai: OpenAI, fault: str
) -> None:
    speechkit.misbehave(fault, "start")
    document_id = yandex.upload(call(), "call.wav").document.id
    assert studio.finish(yandex, document_id) == "READY"
    assert lines(yandex, "transcribe") == [("ok", False), ("unknown", False)]
    agrees(yandex, speechkit, openai)


@pytest.mark.parametrize("fault", ["lost", "cut", "malformed"])
def test_a_text_that_was_cut_off_may_have_been_paid_for(whisper: Workplace, openai: OpenAI, fault: str) -> None:
    openai.misbehave(fault, "audio")
    document_id = whisper.upload(call(), "call.wav").document.id
    assert studio.finish(whisper, document_id) == "READY"
    assert lines(whisper, "transcribe") == [("ok", False), ("unknown", False)]
    agrees(whisper, openai)


@pytest.mark.parametrize("fault", ["lost", "cut", "malformed", "unfit"])
def test_notes_that_were_cut_off_may_have_been_paid_for(whisper: Workplace, openai: OpenAI, fault: str) -> None:
    openai.misbehave(fault, "chat")
    document_id = whisper.upload(call(), "call.wav").document.id
    assert studio.finish(whisper, document_id) == "READY"
    assert lines(whisper, "analyze") == [("ok", False), ("unknown", False)]
    agrees(whisper, openai)


@pytest.mark.parametrize("fault", ["lost", "cut"])
def test_a_window_whose_answer_was_cut_off_may_have_been_paid_for(azure: RemotePlace, fault: str) -> None:
    azure.server.misbehave(fault, "analyze")
    document_id = azure.upload(BOOK)
    azure.finish()
    assert azure.document(document_id).status == "READY"
    agrees(azure.workplace, azure.server)


# The blob store has no room.


def test_answers_are_kept_until_there_is_space(yandex: Workplace, speechkit: SpeechKitServer, openai: OpenAI) -> None:
    document_id = yandex.upload(call(), "call.wav").document.id
    lease = studio.reach(yandex, TRANSCRIBE_START)
    with_blobs(yandex, ".operation.json", full=3)
    studio.work(yandex, lease)
    mended(yandex)
    lease = studio.reach(yandex, ANALYZE)
    with_blobs(yandex, "notes-", full=3)
    studio.work(yandex, lease)
    mended(yandex)
    assert studio.finish(yandex, document_id) == "READY"
    assert (speechkit.calls["start"], openai.calls["chat"]) == (1, 1)
    agrees(yandex, speechkit, openai)


@pytest.mark.parametrize("fragment", [".operation", ".answer"])
def test_windows_are_kept_until_there_is_space(azure: RemotePlace, fragment: str) -> None:
    document_id = azure.upload(BOOK)
    with_blobs(azure.workplace, fragment, full=3)
    azure.finish()
    assert azure.document(document_id).status == "READY"
    assert (azure.server.calls["analyze"], azure.server.paid_twice()) == (PAGES // 2, {})
    agrees(azure.workplace, azure.server)


# The database is away for longer than anybody may wait for it.


def test_a_windows_operation_is_kept_where_the_database_stays_away(azure: RemotePlace) -> None:
    document_id = azure.upload(BOOK)
    lease = azure.claim()
    times = CallTimes(keep_seconds=0.5)
    with database_away(lambda: azure.server.calls["analyze"] > 0), pytest.raises(OperationalError):
        HANDLERS[lease.stage](azure.workplace.context(lease, times=times))
    azure.finish(azure.workplace.take_back(lease))
    assert azure.document(document_id).status == "READY"
    assert azure.server.paid_twice() == {}
    assert azure.bill() == [(2, "ok", False), (2, "ok", False)]
    agrees(azure.workplace, azure.server)


def test_notes_are_kept_where_the_database_stays_away(whisper: Workplace, openai: OpenAI) -> None:
    document_id = whisper.upload(call(), "call.wav").document.id
    lease = studio.reach(whisper, ANALYZE)
    times = CallTimes(keep_seconds=0.5)
    with database_away(lambda: openai.calls["chat"] > 0), pytest.raises(OperationalError):
        HANDLERS[lease.stage](whisper.context(lease, times=times))
    studio.work(whisper, whisper.take_back(lease))
    assert studio.finish(whisper, document_id) == "READY"
    assert openai.calls["chat"] == 1
    assert lines(whisper, "analyze") == [("ok", False)]
    agrees(whisper, openai)


# The run ends while a call is out, and another run of the same bytes begins.


def test_two_runs_of_the_same_bytes_ask_once(azure: RemotePlace) -> None:
    document_id = azure.upload(BOOK)
    meanwhile: list[str] = []

    def begin_again() -> None:
        workplace = azure.workplace
        lifecycle.cancel_run(workplace.queue, workplace.org_id, document_id, first.run_id)
        workplace.reprocess(document_id)
        second = workplace.claim()
        with pytest.raises(Snoozed):
            HANDLERS[second.stage](workplace.context(second))
        with transaction(workplace.org_id):
            workplace.queue.snooze(second, 0)
        meanwhile.append("waited")

    _during(azure, begin_again)
    first = azure.claim()
    _look(azure, first)
    azure.finish()
    assert meanwhile == ["waited"]
    assert azure.document(document_id).status == "READY"
    assert azure.server.paid_twice() == {}
    agrees(azure.workplace, azure.server)


def test_a_file_that_is_deleted_and_uploaded_anew_while_it_is_read_is_paid_for_once(azure: RemotePlace) -> None:
    document_id = azure.upload(BOOK)
    anew = []

    def replace_it() -> None:
        workplace = azure.workplace
        deletion.delete_document(workplace.queue, workplace.org_id, document_id)
        anew.append(azure.upload(BOOK))
        second = workplace.claim()
        with pytest.raises(Snoozed):
            HANDLERS[second.stage](workplace.context(second))
        with transaction(workplace.org_id):
            workplace.queue.snooze(second, 0)

    _during(azure, replace_it)
    _look(azure, azure.claim())
    azure.finish()
    assert azure.document(anew[0]).status == "READY"
    assert azure.server.paid_twice() == {}
    agrees(azure.workplace, azure.server)


def test_what_an_operation_brings_for_a_deleted_document_leaves_nothing_but_its_line(azure: RemotePlace) -> None:
    document_id, workplace = azure.upload(BOOK), azure.workplace
    _look(azure, lease := azure.claim())
    remote = azure.extractor

    class Deleting:
        def __getattr__(self, name: str) -> Any:
            return getattr(remote, name)

        def poll(self, operation: str) -> Any:
            while not isinstance(found := remote.poll(operation), Done):
                assert isinstance(found, StillRunning)
            for folder in deletion.delete_document(workplace.queue, workplace.org_id, document_id) or ():
                workplace.providers.blobs.delete_prefix(folder)
            return found

    azure.use(Deleting())
    _look(azure, lease)
    assert workplace.blobs() == []
    agrees(workplace, azure.server)


def _during(azure: RemotePlace, act: Callable[[], None]) -> None:
    """Let this happen once the service has taken the first window on, before it answers."""
    remote, done = azure.extractor, list[bool]()

    class Interrupted:
        def __getattr__(self, name: str) -> Any:
            return getattr(remote, name)

        def start(self, source: Path, content_type: str, window: Any) -> str:
            operation: str = remote.start(source, content_type, window)
            if not done:
                done.append(True)
                act()
            return operation

    azure.use(Interrupted())


def _look(azure: RemotePlace, lease: Lease) -> None:
    """An attempt that may find out that it is over."""
    try:
        HANDLERS[lease.stage](azure.workplace.context(lease))
    except (Snoozed, LeaseLost):
        return
