"""Connections: found for all of a document, stored as a set, and never an error when an end is gone."""

import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import delete, select, update

from tests import samples
from tests.pipeline.workplace import Fallible, Workplace, prose
from tests.search.passages import new_org
from webapp.clock import new_id
from webapp.db import reading, transaction
from webapp.documents.model import Document
from webapp.documents.states import DocumentStatus, RunState
from webapp.jobs.interruptions import OutOfTime
from webapp.jobs.model import Job
from webapp.jobs.queue import JobError
from webapp.jobs.states import JobStatus
from webapp.library import deletion
from webapp.pipeline import connect
from webapp.pipeline.connect import detect_connections
from webapp.runs import lifecycle, time_limit
from webapp.runs.lifecycle import JobRefusal
from webapp.search import connections, neighbours, passages, values
from webapp.search.connections import Connected, Kind, Link
from webapp.search.model import Chunk, Connection
from webapp.search.neighbours import Rules

SEA = b"The lighthouse keeper counted the ships that passed the harbour at night, and wrote their names down."
SEA_AGAIN = b"At night the lighthouse keeper wrote down the names of all ships that passed the harbour, and counted."
RYE = "Рожь темна и тяжела, её мелют медленно."
BREAD = b"Flour, water, salt and yeast: knead for ten minutes, let it rise, bake until the crust is golden."


def seen(workplace: Workplace, document: Document) -> list[Connected]:
    with reading(workplace.org_id):
        return connections.of_document(workplace.org_id, document.id, limit=1000)


def rows(workplace: Workplace) -> set[tuple[UUID, UUID, str]]:
    return {(row.source_chunk_id, row.target_chunk_id, row.kind) for row in workplace.all(Connection)}


def test_a_document_is_ready_before_its_connections_are_looked_for(workplace: Workplace) -> None:
    document = workplace.processed(SEA)

    assert document.status == "READY"
    assert workplace.run(document.id).state == "SUCCEEDED"
    (job,) = [each for each in workplace.all(Job) if each.stage == "detect_connections"]
    assert (job.status, job.run_id) == ("PENDING", document.published_run_id)

    workplace.connect()

    (job,) = [each for each in workplace.all(Job) if each.stage == "detect_connections"]
    assert job.status == "COMPLETED"
    assert workplace.document(document.id).status == "READY"
    assert ("STEP_SUCCEEDED", "connecting") in workplace.steps(workplace.run(document.id).id)


def test_passages_that_speak_of_the_same_are_connected_and_seen_from_both(workplace: Workplace) -> None:
    first, bread = workplace.connected(SEA), workplace.connected(BREAD)
    second = workplace.connected(SEA_AGAIN)

    (there,) = seen(workplace, second)
    (back,) = seen(workplace, first)
    assert (there.kind, back.kind) == (Kind.SIMILAR, Kind.SIMILAR)
    assert (there.passage.id, there.other.id, there.score) == (back.other.id, back.passage.id, back.score)
    assert (there.document.id, back.document.id) == (first.id, second.id)
    assert seen(workplace, bread) == []


def test_a_copy_is_a_near_duplicate(workplace: Workplace) -> None:
    workplace.connected(prose(5), "story.md")
    copy = workplace.connected(prose(5) + b"\n", "copy.md")

    found = seen(workplace, copy)
    assert {each.kind for each in found if each.passage.text == each.other.text} == {Kind.NEAR_DUPLICATE}
    worth = [each for each in workplace.chunks(copy.id) if not passages.is_scrap(each.text)]
    assert 0 < len(worth) == sum(each.passage.text == each.other.text for each in found)


def test_a_shared_number_connects_what_has_nothing_else_in_common(workplace: Workplace) -> None:
    invoice = workplace.connected(samples.invoice_pdf(), "invoice.pdf")
    letter = workplace.connected(b"Please pay 2026-0417 before we call you again about something else entirely.")

    (found,) = [each for each in seen(workplace, letter) if each.kind is Kind.SHARED_VALUE]
    assert found.document.id == invoice.id
    with reading(workplace.org_id):
        pair = (found.passage.id, found.other.id)
        assert values.in_common(workplace.org_id, [pair]) == {pair: ["2026-0417"]}


def test_equal_sums_and_dates_connect_nothing(workplace: Workplace) -> None:
    def invoice(number: str) -> Document:
        sums = ("Net amount: EUR 10,123.00", "VAT 19 %: EUR 1,923.37", "Total: EUR 12,046.37")
        lines = ["Invoice", f"Invoice number: {number}", "Date: 17 April 2026", *sums]
        return workplace.connected(samples.lines_pdf(lines), f"{number}.pdf")

    invoice("A-10017")
    other = invoice("B-20018")
    assert [each for each in seen(workplace, other) if each.kind is Kind.SHARED_VALUE] == []


@pytest.mark.slow
def test_a_passage_has_so_many_connections_and_no_more(workplace: Workplace) -> None:
    for number in range(6):
        workplace.connected(SEA + f" Ship {number}.".encode(), f"{number}.txt")
    last = workplace.processed(SEA + b" The last ship.", "last.txt")
    workplace.connect(linking=Rules(count=3, threshold=0.5))

    (chunk,) = workplace.chunks(last.id)
    assert sum(source == chunk.id for source, _, _ in rows(workplace)) == 3


def test_other_orgs_are_not_there(workplace: Workplace) -> None:
    other = new_org()
    workplace.upload(SEA, org_id=other)
    theirs = workplace.claim()
    workplace.process(theirs)
    detect_connections(workplace.context(workplace.claim()))
    mine = workplace.connected(SEA_AGAIN)

    assert seen(workplace, mine) == []
    with reading(other):
        assert connections.count(other, theirs.document_id) == 0


def test_a_reprocess_keeps_the_connections_of_what_did_not_change(workplace: Workplace) -> None:
    workplace.connected(prose(12), "story.md")
    copy = workplace.connected(prose(12) + b"\n", "copy.md")
    before = {(row.source_chunk_id, row.target_chunk_id, row.kind, row.created_at) for row in workplace.all(Connection)}
    assert before

    workplace.reprocess(copy.id)
    workplace.process()
    between = rows(workplace)
    workplace.connect()

    after = {(row.source_chunk_id, row.target_chunk_id, row.kind, row.created_at) for row in workplace.all(Connection)}
    assert after == before
    assert between == {key[:3] for key in before}


@pytest.mark.slow
def test_doing_it_again_changes_nothing(workplace: Workplace) -> None:
    first, second = workplace.connected(prose(12), "story.md"), workplace.connected(prose(15), "longer.md")
    before = rows(workplace)

    for document in (first, second, first):
        workplace.reprocess(document.id)
        workplace.process()
        workplace.connect()
    again = rows(workplace)

    workplace.reprocess(second.id)
    workplace.process()
    workplace.connect()
    assert before <= again == rows(workplace)


def test_what_is_no_longer_near_is_forgotten(workplace: Workplace) -> None:
    workplace.connected(SEA)
    second = workplace.connected(SEA_AGAIN)
    assert rows(workplace)

    workplace.reprocess(second.id)
    workplace.process()
    workplace.connect(linking=Rules(threshold=0.999))

    assert rows(workplace) == set()


def test_a_deleted_document_takes_its_connections_along(workplace: Workplace) -> None:
    first, second = workplace.connected(SEA), workplace.connected(SEA_AGAIN)

    deletion.delete_document(workplace.queue, workplace.org_id, first.id)

    assert rows(workplace) == set()
    assert seen(workplace, second) == []


def interrupted(workplace: Workplace, monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Look for connections, while `change` happens after they were found and before they are stored."""
    find = connect._find

    def find_late(context: Any) -> list[Link]:
        found = find(context)
        change()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(connect, "_find", find_late)
        workplace.connect()


def test_a_document_that_is_deleted_meanwhile_costs_its_rows_alone(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = workplace.connected(SEA), workplace.connected(SEA + b" It was cold.")
    workplace.processed(SEA_AGAIN)

    interrupted(workplace, monkeypatch, lambda: deletion.delete_document(workplace.queue, workplace.org_id, gone.id))

    assert [each.document.filename for each in seen(workplace, stays)] == ["a.txt"]
    assert {job.status for job in workplace.all(Job)} == {"COMPLETED"}


def test_passages_that_vanish_meanwhile_cost_their_rows_alone(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing = workplace.connected(prose(12), "story.md")
    copy = workplace.processed(prose(12) + b"\n", "copy.md")
    lost = {chunk.id for chunk in workplace.chunks(changing.id)[::2]}

    def lose() -> None:
        with transaction(workplace.org_id) as opened:
            opened.execute(delete(Chunk).where(Chunk.id.in_(lost)))

    interrupted(workplace, monkeypatch, lose)

    found = seen(workplace, copy)
    assert found
    assert not {each.other.id for each in found} & lost


def test_a_result_that_was_overtaken_leaves_it_to_the_newer_one(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.connected(SEA)
    second = workplace.processed(SEA_AGAIN)
    older = workplace.claim()
    workplace.reprocess(second.id)
    workplace.process()

    detect_connections(workplace.context(older))
    assert rows(workplace) == set()
    workplace.connect()
    assert len(rows(workplace)) == 1


def test_a_crash_costs_a_repeat(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    workplace.connected(prose(12), "story.md")
    workplace.processed(prose(12) + b"\n", "copy.md")
    lease = workplace.claim()

    def dies() -> None:
        raise KeyboardInterrupt

    context = workplace.context(lease)
    with monkeypatch.context() as patch:
        patch.setattr(context.queue, "complete", lambda lease: dies())
        with pytest.raises(KeyboardInterrupt):
            detect_connections(context)
    assert rows(workplace) == set()

    detect_connections(workplace.context(workplace.take_back(lease)))
    assert rows(workplace)


def test_its_failure_is_not_the_documents(workplace: Workplace) -> None:
    document = workplace.processed(SEA)
    lease = workplace.claim()
    for attempt in range(lease.max_attempts):
        lease = workplace.claim() if attempt else lease
        status = lifecycle.retry_or_fail(workplace.queue, lease, JobError("unexpected", "no"))
        assert (status is JobStatus.FAILED) == (attempt == lease.max_attempts - 1)
        with transaction(workplace.org_id) as opened:
            for job in opened.scalars(select(Job).where(Job.status == "PENDING")):
                job.available_at, job.wakes_at = job.created_at, None
    assert workplace.document(document.id).status == DocumentStatus.READY
    assert workplace.run(document.id).state == RunState.SUCCEEDED

    run_id = lifecycle.retry_job(workplace.queue, workplace.org_id, lease.job_id, 5, by="tests")
    assert run_id == document.published_run_id
    workplace.connect()
    assert workplace.document(document.id).status == DocumentStatus.READY
    again = lifecycle.retry_job(workplace.queue, workplace.org_id, lease.job_id, 5, by="tests")
    assert again is JobRefusal.NOT_NEWEST


def test_a_window_that_is_over_ends_the_job_alone(workplace: Workplace) -> None:
    document = workplace.processed(SEA)
    lease = workplace.claim()
    with pytest.raises(OutOfTime):
        detect_connections(workplace.context(lease, deadline=0.0))
    time_limit.time_out_own_run(workplace.queue, lease, 100)

    (job,) = [each for each in workplace.all(Job) if each.id == lease.job_id]
    assert job.status == "FAILED"
    assert workplace.document(document.id).status == DocumentStatus.READY


def test_only_vectors_of_one_model_are_compared(workplace: Workplace) -> None:
    workplace.connected(SEA)
    workplace.with_embedder(Fallible(model="another"))

    assert seen(workplace, workplace.connected(SEA_AGAIN)) == []


def test_while_the_model_changes_what_was_found_with_the_former_one_stays(workplace: Workplace) -> None:
    workplace.connected(SEA)
    second = workplace.connected(SEA_AGAIN)
    before = rows(workplace)
    workplace.with_embedder(Fallible(model="another"))
    workplace.reprocess(second.id)
    workplace.process()
    workplace.connect()
    assert workplace.document(second.id).embedding_model == "another"
    assert rows(workplace) == before != set()


def test_what_the_former_model_found_is_gone_once_both_ends_have_new_vectors(workplace: Workplace) -> None:
    first = workplace.connected(SEA)
    second = workplace.connected(SEA_AGAIN)
    # As if another model had found them, by a score that the vectors do not give.
    with transaction(workplace.org_id) as opened:
        opened.execute(update(Connection).values(score=0.123))

    workplace.reprocess(first.id)
    workplace.process()
    workplace.connect()
    assert [each.score > 0.5 for each in seen(workplace, second)] == [True]
    assert {source for source, _, _ in rows(workplace)} == {chunk.id for chunk in workplace.chunks(first.id)}


@pytest.mark.slow
def test_publishing_and_connecting_wait_for_each_other_and_end(workplace: Workplace, bare_app: Flask) -> None:
    """Two documents that are full of each other, published and connected at once, again and again."""
    first, second = workplace.connected(prose(30), "a.md"), workplace.connected(prose(30) + b"\n", "b.md")
    failures: list[BaseException] = []

    def work(document_id: UUID) -> None:
        try:
            with bare_app.app_context():
                for _ in range(5):
                    workplace.reprocess(document_id)
                    _work_off(workplace)
        except BaseException as error:  # noqa: BLE001 - the test's own thread says what it was
            failures.append(error)

    threads = [threading.Thread(target=work, args=(document.id,)) for document in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(50)
    assert failures == []
    _work_off(workplace)
    assert {job.status for job in workplace.all(Job)} == {"COMPLETED"}
    assert len(seen(workplace, first)) == len(seen(workplace, second)) >= len(workplace.chunks(first.id))


def _work_off(workplace: Workplace) -> None:
    while True:
        workplace.queue.wake_delayed()
        leases = workplace.queue.claim(f"worker {new_id()}")
        if not leases:
            return
        for lease in leases:
            if lease.stage == "detect_connections":
                detect_connections(workplace.context(lease))
            else:
                workplace.process(lease)


@pytest.mark.slow
def test_blocks_do_not_change_what_is_nearest(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    for start in (0, 40, 80):
        workplace.connected(prose(20, start), f"{start}.md")
    last = workplace.processed(prose(25, 10), "last.md")
    whole = connect._by_comparing(workplace.context(workplace.claim()), workplace.embedder.model)
    workplace.reprocess(last.id)
    workplace.process()
    monkeypatch.setattr(neighbours, "ROWS_PER_BLOCK", 7)
    monkeypatch.setattr(neighbours, "SOURCES_PER_PRODUCT", 3)
    cut = connect._by_comparing(workplace.context(workplace.claim()), workplace.embedder.model)

    assert whole
    assert sorted(cut, key=repr) == sorted(whole, key=repr)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [("* * *\n…", set()), ("3. Rye, 12 %", set()), (RYE, {"near_duplicate"})],
    ids=["dots", "few words", "another script"],
)
def test_scraps_are_not_connected(workplace: Workplace, text: str, kinds: set[str]) -> None:
    """Rulers, dots and rows of a few words are all alike. Other scripts are no dots."""
    first, second = workplace.processed(SEA), workplace.processed(BREAD)
    with transaction(workplace.org_id) as opened:
        vector = opened.scalars(select(Chunk.embedding).where(Chunk.document_id == first.id)).one()
        both = update(Chunk).where(Chunk.document_id.in_([first.id, second.id]))
        opened.execute(both.values(text=text, embedding=vector))
    workplace.connect()
    workplace.connect()
    assert {kind for _, _, kind in rows(workplace)} == kinds
