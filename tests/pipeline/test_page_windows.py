"""Files that are read elsewhere: no worker waits, no call is paid twice, whatever dies in between."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from tests import samples
from tests.emulators.clients import azure_extractor
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.pipeline.remote_place import Countdown, Dying, RemotePlace
from tests.pipeline.workplace import Crash, Workplace
from webapp.documents.model import DocumentField
from webapp.documents.states import RunTrigger
from webapp.jobs.interruptions import Snoozed
from webapp.jobs.queue import LeaseLost
from webapp.provider_errors import BadInput, FailureCode, ProviderError, RateLimited
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.ports import Window
from webapp.runs import lifecycle

PAGES, WINDOW = 7, 3
BOOK = samples.report_pdf(pages=PAGES)


def two_pages(number: int) -> bytes:
    """A document that no other one is equal to."""
    lines = [f"Letter {number}, line {line}: the lamp was lit at dusk and went out at dawn." for line in range(4)]
    return samples.lines_pdf(lines, lines_per_page=2)


@pytest.fixture
def place(
    workplace: Workplace, local_extractor: LocalExtractor, documentintelligence: DocumentIntelligence
) -> RemotePlace:
    remote = azure_extractor(documentintelligence, local_extractor, window_pages=WINDOW)
    place = RemotePlace(workplace, remote, documentintelligence)
    place.use(remote)
    return place


def test_a_file_is_read_in_windows_and_becomes_ready(place: RemotePlace) -> None:
    document_id = place.upload(BOOK)
    place.finish()

    document = place.document(document_id)
    assert (document.status, document.page_count) == ("READY", PAGES)
    chunks = place.workplace.chunks(document_id)
    assert {chunk.page_from for chunk in chunks} == set(range(1, PAGES + 1))
    assert [query["pages"] for query in place.server.queries] == ["1-3", "4-6", "7-7"]
    assert place.server.units() == PAGES
    assert place.bill() == [(1, "ok", False), (3, "ok", False), (3, "ok", False)]


def test_a_worker_is_free_between_two_looks(place: RemotePlace) -> None:
    place.server.keeps_running = True
    place.upload(BOOK)
    lease = place.claim()
    assert place.look(lease) is None
    with pytest.raises(LeaseLost):
        place.look(lease)

    place.server.keeps_running = False
    lease = place.claim()
    assert lease.attempts == 0
    place.finish(lease)
    assert place.server.calls["analyze"] == 3


@pytest.mark.slow
def test_waiting_writes_one_line_into_the_timeline(place: RemotePlace) -> None:
    place.server.polls_needed = 6
    document_id = place.upload(BOOK)
    place.finish()
    steps = place.workplace.steps(place.workplace.run(document_id).id)
    assert [step for step in steps if step[1] == "extracting"] == [
        ("STEP_STARTED", "extracting"),
        ("STEP_SUCCEEDED", "extracting"),
    ]


def test_progress_rises_with_each_window(place: RemotePlace) -> None:
    place.use(azure_extractor(place.server, _local(place), window_pages=1, windows_at_once=1))
    place.upload(BOOK)
    seen = []
    lease = place.claim()
    while place.look(lease) is None:
        seen.append(place.workplace.checkpoint(lease)["progress"])
        lease = place.claim()
    assert seen == sorted(seen)
    assert len(set(seen)) == PAGES
    assert place.server.most_in_flight["analyze"] == 1


def test_the_operation_is_saved_before_it_is_looked_after(place: RemotePlace) -> None:
    place.server.misbehave("status", "poll", code=503, times=2)
    place.upload(BOOK)
    lease = place.claim()
    with pytest.raises(ProviderError):
        place.look(lease)
    (operation,) = place.operations().values()
    assert operation.removeprefix("prebuilt-layout/") in place.server.operations
    assert place.bill() == [(3, "ok", False)]

    place.finish(place.workplace.take_back(lease))
    assert place.server.paid_twice() == {}


def test_a_later_run_goes_on_with_what_an_earlier_one_asked_for(place: RemotePlace) -> None:
    document_id = place.upload(BOOK)
    place.server.keeps_running = True
    assert place.look(place.claim()) is None
    workplace = place.workplace
    lifecycle.cancel_run(workplace.queue, workplace.org_id, document_id, workplace.run(document_id).id)

    place.server.keeps_running = False
    lifecycle.queue_run(workplace.queue, workplace.org_id, document_id, RunTrigger.REPROCESS, max_attempts=5)
    place.finish()
    assert place.document(document_id).status == "READY"
    assert place.server.paid_twice() == {}
    assert place.server.units() == PAGES


def test_a_reprocess_asks_for_nothing(place: RemotePlace) -> None:
    document_id = place.upload(BOOK)
    place.finish()
    place.workplace.reprocess(document_id)
    place.finish()
    assert place.server.calls["analyze"] == 3
    assert (PAGES, "ok", True) in place.bill()


def test_answers_outlive_the_way_they_are_read(place: RemotePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    document_id = place.upload(BOOK)
    place.finish()
    monkeypatch.setattr(place.extractor, "version", "2+a better way", raising=False)
    place.workplace.reprocess(document_id)
    place.finish()
    assert place.server.calls["analyze"] == 3
    assert (PAGES, "ok", True) in place.bill()


def test_words_keep_their_places_in_the_stored_answer(place: RemotePlace) -> None:
    place.upload(BOOK)
    blobs = place.finish().providers.blobs
    (path,) = [path for path in place.workplace.blobs() if path.endswith("pages-4-6.answer")]
    words = place.extractor.read(blobs.read_bytes(path), Window(4, 6)).pages[1].words
    assert "Chapter 5: what the keepers saw" in " ".join(word.text for word in words)
    assert all(word.confidence and word.polygon and len(word.polygon) == 8 for word in words)
    (joined,) = [path for path in place.workplace.blobs() if "/azure-" in path and path.endswith(".json")]
    assert not any(page["words"] for page in json.loads(blobs.read_bytes(joined))["pages"])


def test_fields_keep_confidence_and_place(place: RemotePlace) -> None:
    place.upload(samples.invoice_pdf())
    place.finish()
    fields = {field.name: field for field in place.workplace.all(DocumentField)}
    assert {name: field.value for name, field in fields.items()} == samples.INVOICE_VALUES
    total = fields["Total"]
    assert (total.confidence, total.page, len(total.polygon)) == (0.81, 1, 8)


def test_plain_text_is_read_here(place: RemotePlace) -> None:
    document_id = place.upload(b"Some words of a letter.", "a.txt")
    place.finish()
    assert place.document(document_id).status == "READY"
    assert sum(place.server.calls.values()) == 0


def test_a_picture_is_sent_whole(place: RemotePlace) -> None:
    place.upload(b"\xff\xd8\xff\xe0 a photograph", "a.jpg")
    with pytest.raises(BadInput) as caught:
        place.finish()
    assert caught.value.code is FailureCode.NO_TEXT
    assert "pages" not in place.server.queries[0]
    assert place.bill() == [(1, "ok", False)]


@pytest.mark.parametrize(
    ("data", "code"),
    [(samples.encrypted_pdf(), FailureCode.ENCRYPTED), (samples.truncated_pdf(), FailureCode.CORRUPT)],
    ids=["encrypted", "truncated"],
)
def test_what_nobody_can_read_is_never_sent(place: RemotePlace, data: bytes, code: FailureCode) -> None:
    place.upload(data)
    with pytest.raises(BadInput) as caught:
        place.finish()
    assert caught.value.code is code
    assert place.server.calls["analyze"] == 0


def test_a_file_with_too_many_pages_is_never_sent(place: RemotePlace) -> None:
    place.upload(BOOK)
    lease = place.claim()
    with pytest.raises(BadInput) as caught:
        place.workplace.process(lease, pages_max=PAGES - 1)
    assert (caught.value.code, caught.value.permanent) == (FailureCode.TOO_MANY_PAGES, True)
    assert place.server.calls["analyze"] == 0
    assert place.bill() == []
    with pytest.raises(Snoozed):
        place.workplace.process(place.workplace.take_back(lease), pages_max=PAGES)


def test_what_this_machine_reads_may_have_any_number_of_pages(place: RemotePlace) -> None:
    place.workplace.providers = replace(place.workplace.providers, remote_extractor=None)
    document_id = place.upload(BOOK)
    place.workplace.process(pages_max=1)
    assert place.document(document_id).status == "READY"


def test_an_answer_that_stops_early_is_partial(place: RemotePlace) -> None:
    place.server.pages_max = 2
    document_id = place.upload(BOOK)
    place.finish()
    document = place.document(document_id)
    assert document.page_count == PAGES
    assert document.warnings is not None
    assert "1 of the 3 pages from page 1 on were not read by the service." in document.warnings
    assert place.bill() == [(1, "ok", False), (2, "ok", False), (2, "ok", False)]


def test_a_failed_operation_is_asked_for_again_once(place: RemotePlace) -> None:
    place.server.misbehave("failed", "analyze")
    document_id = place.upload(samples.report_pdf(pages=2))
    place.finish()
    assert place.document(document_id).status == "READY"
    assert place.bill() == [(0, "error", False), (2, "ok", False)]


def test_a_file_that_the_service_cannot_read_fails_at_once(place: RemotePlace) -> None:
    place.server.misbehave("bad_input", "analyze")
    place.upload(samples.report_pdf(pages=2))
    with pytest.raises(BadInput) as caught:
        place.finish()
    assert caught.value.code is FailureCode.CORRUPT
    assert place.server.calls["analyze"] == 1


def test_an_expired_operation_is_asked_for_anew(place: RemotePlace) -> None:
    place.server.keeps_running = True
    document_id = place.upload(samples.report_pdf(pages=2))
    assert place.look(place.claim()) is None
    place.server.expire()
    place.server.keeps_running = False
    place.finish()
    assert place.document(document_id).status == "READY"
    assert place.server.calls["analyze"] == 2
    assert place.bill() == [(0, "error", False), (2, "ok", False)]


def test_an_unknown_outcome_is_on_the_bill_as_such(place: RemotePlace) -> None:
    place.server.misbehave("lost", "analyze")
    document_id = place.upload(samples.report_pdf(pages=2))
    place.finish()
    assert place.document(document_id).status == "READY"
    assert place.bill() == [(2, "ok", False), (2, "unknown", False)]
    assert place.server.units() == 4


def test_too_many_requests_are_left_to_the_queue(place: RemotePlace) -> None:
    place.server.misbehave("status", "analyze", code=429, headers={"Retry-After": "70"})
    place.upload(BOOK)
    lease = place.claim()
    with pytest.raises(RateLimited) as caught:
        place.look(lease)
    assert caught.value.retry_after_seconds == 70
    assert place.operations() == {}


def test_a_job_that_makes_progress_needs_no_attempt_for_patience(place: RemotePlace) -> None:
    place.server.keeps_running = True
    place.use(azure_extractor(place.server, _local(place), window_pages=WINDOW, windows_at_once=1))
    place.upload(BOOK)
    assert place.look(place.claim()) is None

    place.use(place.extractor)
    place.server.misbehave("status", "analyze", code=429, headers={"Retry-After": "0.05"})
    lease = place.claim()
    assert place.look(lease) is None
    assert set(place.operations()) == {"pages-1-3.operation", "pages-7-7.operation"}


def test_too_many_looks_are_answered_with_patience(place: RemotePlace) -> None:
    place.server.misbehave("status", "poll", code=429, headers={"Retry-After": "0"}, times=5)
    document_id = place.upload(BOOK)
    place.finish()
    assert place.document(document_id).status == "READY"


@pytest.mark.parametrize("fault", ["cut", "malformed"])
def test_a_broken_answer_is_looked_at_again_and_not_paid_again(place: RemotePlace, fault: str) -> None:
    place.server.polls_needed = 0
    place.server.misbehave(fault, "poll")
    document_id = place.upload(samples.report_pdf(pages=2))
    place.finish()
    assert place.document(document_id).status == "READY"
    assert place.server.calls["analyze"] == 1


@pytest.mark.slow
def test_a_kept_answer_that_was_damaged_is_asked_for_anew(place: RemotePlace) -> None:
    document_id = place.upload(BOOK)
    place.finish()
    blobs = place.workplace.providers.blobs
    for path in place.workplace.blobs():
        if path.endswith(".json") and "/extractions/" in path:
            blobs.delete(path)
        if path.endswith("pages-4-6.answer"):
            blobs.put_bytes(path, b"not what it was")
    place.workplace.reprocess(document_id)
    place.finish()
    assert place.server.calls["analyze"] == 4


def test_a_worker_that_lost_its_job_pays_for_nothing(place: RemotePlace) -> None:
    place.upload(BOOK)
    lease = place.claim()
    place.workplace.take_back(lease)
    with pytest.raises(LeaseLost):
        place.look(lease)
    assert place.server.calls["analyze"] == 0


@pytest.mark.slow
def test_a_crash_at_any_moment_pays_for_the_call_in_flight_at_most(place: RemotePlace) -> None:
    """Die at each moment in turn: before and after each commit, call, look and blob of an extraction."""
    moments = _count_moments(place)
    assert moments > 30
    paid_twice = []
    for at in range(1, moments + 1):
        place.server.reset()
        before = place.bill()
        _die_once(place, Countdown(at), two_pages(at))
        bill = Counter(place.bill()) - Counter(before)
        paid_twice.append(sum(place.server.paid_twice().values()) - len(place.server.paid_twice()))
        # What arrived is on the bill once; what may have been paid for in vain is marked as such.
        assert bill[1, "ok", False] == 2, f"moment {at}"
        assert place.server.units() <= 2 + bill[1, "unknown", False], f"moment {at}"
    assert max(paid_twice) == 1
    # Only between the service's answer and its id on the disk, once for each of the two windows.
    assert sum(paid_twice) <= 4


def _count_moments(place: RemotePlace) -> int:
    countdown = Countdown()
    _die_once(place, countdown, two_pages(0))
    return countdown.passed


def _die_once(place: RemotePlace, countdown: Countdown, data: bytes) -> None:
    """Process a document; where that dies, let another worker finish it."""
    document_id = place.upload(data)
    healthy = place.workplace.providers.blobs
    remote = azure_extractor(place.server, _local(place), window_pages=1, windows_at_once=2)
    blobs = Dying(healthy, countdown, frozenset({"put_bytes", "delete"}))
    place.use(Dying(remote, countdown, frozenset({"start", "poll"})), blobs)
    place.countdown = countdown
    try:
        place.finish()
    except Crash:
        place.countdown = None
        place.use(remote, healthy)
        place.recover()
    place.use(remote, healthy)
    assert place.document(document_id).status == "READY"
    assert max(chunk.page_to or 0 for chunk in place.workplace.chunks(document_id)) == 2


def _local(place: RemotePlace) -> LocalExtractor:
    local = place.workplace.extractor.real
    assert isinstance(local, LocalExtractor)
    return local
