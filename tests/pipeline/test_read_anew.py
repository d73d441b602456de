"""Documents that an earlier reader read: read again behind all other work, on this machine alone, with nothing lost."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete, update

from tests.bare import changed
from tests.pipeline.workplace import Workplace, prose
from webapp.db import reading, transaction
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import LiveRun
from webapp.jobs.model import Job
from webapp.jobs.queue import Lease
from webapp.jobs.states import Priority
from webapp.library import reread
from webapp.library.lookup import newest_runs
from webapp.pipeline.handlers import HANDLERS
from webapp.provider_errors import BadInput, FailureCode
from webapp.readers import versions
from webapp.runs import lifecycle, time_limit
from webapp.runs.stages import READ_ANEW
from webapp.worker import chores

STORY = prose(3)


@pytest.fixture
def library(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """Two documents as an earlier version left them, which said nothing of their readers; and today's reader."""
    workplace.connected(STORY, "story.md")
    workplace.connected(b"A note of two lines.\nThis is the second.", "note.txt")
    set_all(workplace, read_by=None, pages_read=None)
    raise_version(workplace, monkeypatch)
    return workplace


def raise_version(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(versions.VERSIONS, "text", versions.VERSIONS["text"] + 1)
    # As the process that starts with the new version would have it.
    workplace.extractor.version = f"of {versions.VERSIONS['text']}"


def set_all(workplace: Workplace, **values: Any) -> None:
    with transaction(workplace.org_id) as opened:
        opened.execute(update(Document).where(Document.org_id == workplace.org_id).values(**values))


def documents(workplace: Workplace) -> list[Document]:
    return [workplace.document(each.id) for each in workplace.all(Document)]


def runs(workplace: Workplace, document_id: UUID) -> list[tuple[str, str]]:
    return [(run.trigger, run.state) for run in workplace.all(ProcessingRun) if run.document_id == document_id]


def claim_reread(workplace: Workplace) -> Lease:
    lease = workplace.claim()
    assert lease.stage == READ_ANEW
    return lease


def work_off(workplace: Workplace) -> None:
    while any(job.status == "PENDING" for job in workplace.all(Job)):
        lease = workplace.claim()
        HANDLERS[lease.stage](workplace.context(lease))


def test_what_an_earlier_version_left_is_read_again(library: Workplace) -> None:
    before = {each.id: [chunk.id for chunk in library.chunks(each.id)] for each in documents(library)}
    assert chores.read_anew(library) == 2
    queued = [job for job in library.all(Job) if job.stage == READ_ANEW]
    assert [job.priority for job in queued] == [Priority.BACKGROUND] * 2
    # While it is queued, nothing shows.
    assert {each.status for each in documents(library)} == {"READY"}
    assert reread.progress(library, library.org_id).left.number == 2
    calls = library.extractor.calls
    work_off(library)
    assert library.extractor.calls == calls + 2
    for document in documents(library):
        assert (document.status, document.read_by) == ("READY", f"text-{versions.VERSIONS['text']}")
        assert [chunk.id for chunk in library.chunks(document.id)] == before[document.id]
        assert runs(library, document.id) == [("UPLOAD", "SUCCEEDED"), ("REREAD", "SUCCEEDED")]
    assert chores.read_anew(library) == 0
    found = reread.progress(library, library.org_id)
    assert (found.left.number, found.done.number, found.in_flight) == (0, 2, 0)


def test_a_version_that_is_raised_makes_its_own_documents_due(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = workplace.connected(STORY, "story.md")
    workplace.connected(b"a;b\n1;2\n3;4\n", "data.csv")
    assert sorted(str(each.read_by) for each in documents(workplace)) == ["data-1", "text-1"]
    assert chores.read_anew(workplace) == 0
    raise_version(workplace, monkeypatch)
    assert chores.read_anew(workplace) == 1
    assert claim_reread(workplace).document_id == text.id


def test_what_a_service_or_a_program_read_is_left_alone(library: Workplace) -> None:
    with transaction(library.org_id) as opened:
        lines = ProviderCall.operation == "extract"
        story, note = documents(library)
        of_note = ProviderCall.run_id == note.published_run_id
        opened.execute(update(ProviderCall).where(lines, ~of_note).values(provider="azure"))
        opened.execute(delete(ProviderCall).where(lines, of_note))
    assert chores.read_anew(library) == 0
    assert [library.document(each.id).read_by for each in (story, note)] == ["other:azure", "other:unknown"]


def test_a_reread_that_fails_leaves_the_result_and_is_not_repeated(library: Workplace) -> None:
    chores.read_anew(library)
    library.extractor.failures = [BadInput("damaged", code=FailureCode.CORRUPT)]
    lease = claim_reread(library)
    before = library.document(lease.document_id)
    with pytest.raises(BadInput) as failure:
        library.process(lease)
    lifecycle.end_after(library.queue, lease, failure.value, "extracting")
    after = library.document(lease.document_id)
    assert (after.status, after.published_run_id) == ("READY", before.published_run_id)
    assert runs(library, after.id) == [("UPLOAD", "SUCCEEDED"), ("REREAD", "FAILED")]
    # Pages show the run that its status follows from; the other one is in the history.
    with reading(library.org_id):
        assert newest_runs([after.id]) == {after.id: before.published_run_id}
    work_off(library)
    assert chores.read_anew(library) == 0
    # A retry by ops does not show either.
    again = lifecycle.retry_job(library.queue, library.org_id, lease.job_id, 5, by="ops")
    assert runs(library, after.id)[-1] == ("REREAD", "QUEUED")
    assert isinstance(again, UUID)
    assert library.document(after.id).status == "READY"


def test_only_so_many_are_in_flight(library: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reread, "IN_FLIGHT_MAX", 1)
    assert [chores.read_anew(library) for _ in range(3)] == [1, 0, 0]
    work_off(library)
    assert chores.read_anew(library) == 1


def test_a_paused_stage_gets_no_more(library: Workplace) -> None:
    library.queue.pause(READ_ANEW, by="ops")
    assert chores.read_anew(library) == 0
    library.queue.resume(READ_ANEW)
    assert chores.read_anew(library) == 2


def test_with_ask_it_waits_for_ops(library: Workplace) -> None:
    library.settings = changed(library.settings, "queue", reread="ask")
    assert chores.read_anew(library) == 0
    found = reread.progress(library, library.org_id)
    assert (found.left.number, found.is_asked) == (2, False)
    reread.ask(library, library.org_id)
    assert chores.read_anew(library) == 2
    assert reread.progress(library, library.org_id).is_asked


def test_the_end_of_the_process_costs_a_repeat_and_never_the_result(library: Workplace) -> None:
    """Embedded: the next start ends the run, and queues the document again, but not for ever."""
    document_id = None
    for _ in range(reread.TERMINATED_MAX):
        assert chores.read_anew(library) > 0
        lease = claim_reread(library)
        chores.end_orphans(library)
        document_id = lease.document_id
        assert document_id is not None
        assert library.document(document_id).status == "READY"
        with transaction(library.org_id) as opened:
            # The other one is not looked at here.
            opened.execute(delete(Document).where(Document.id != document_id))
    assert chores.read_anew(library) == 0
    ended = [("REREAD", "FAILED")] * reread.TERMINATED_MAX
    assert document_id is not None
    assert runs(library, document_id) == [("UPLOAD", "SUCCEEDED"), *ended]


def test_a_worker_that_dies_hands_the_job_on(library: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    chores.read_anew(library)
    lease = claim_reread(library)
    library.die_before("embedded", lease, monkeypatch)
    calls = library.extractor.calls
    library.process(library.take_back(lease))
    assert library.extractor.calls == calls
    assert runs(library, lease.document_id)[-1] == ("REREAD", "SUCCEEDED")


def test_a_long_one_goes_on_after_its_time_limit(library: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    chores.read_anew(library)
    lease = claim_reread(library)
    library.die_before("embedded", lease, monkeypatch)
    assert time_limit.time_out_run(library.queue, LiveRun(lease.run_id, lease.org_id, lease.document_id), 1)
    assert library.document(lease.document_id).status == "READY"
    assert runs(library, lease.document_id)[1:] == [("REREAD", "TIMED_OUT"), ("REREAD", "QUEUED")]


def test_a_kept_file_is_read_once_something_reads_it(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(workplace.extractor, "accepts", lambda _: False)
        kept = workplace.processed(STORY, "story.md")
        assert (kept.pages_read, kept.read_by) == (0, "kept:text/markdown")
        assert chores.read_anew(workplace) == 0
    # An earlier version said nothing of it.
    set_all(workplace, read_by=None)
    assert chores.read_anew(workplace) == 1
    workplace.process(claim_reread(workplace))
    read = workplace.document(kept.id)
    assert (read.status, read.is_kept, read.read_by) == ("READY", False, "text-1")


def test_no_service_is_asked(library: Workplace) -> None:
    class Refusing:
        name = "a service"

        def accepts(self, _: str) -> bool:
            return True

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name}: what is read again is read here")

    library.providers = replace(library.providers, remote_extractor=Refusing())
    assert chores.read_anew(library) == 2
    work_off(library)
    assert {each.read_by for each in documents(library)} == {f"text-{versions.VERSIONS['text']}"}
