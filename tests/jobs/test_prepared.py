"""Statements that go past the driver's cursor: what goes wrong there has its right name, too."""

from uuid import UUID

import psycopg
import pytest
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from tests.conftest import DatabaseUnderTest
from tests.jobs.letterbox import SqlLetterbox, claim_one, enqueue, new_run
from webapp.database_errors import Trouble, trouble_of
from webapp.db import transaction
from webapp.jobs.connections import hot
from webapp.jobs.prepared import Prepared
from webapp.jobs.queue import AlreadyQueued, LeaseLost
from webapp.jobs.states import JobStatus

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


def end_session(database: DatabaseUnderTest, pid: int) -> None:
    with psycopg.connect(database.superuser_url or database.owner_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def test_a_session_that_ended_meanwhile_is_trouble_that_passes(
    database: DatabaseUnderTest, letterbox: SqlLetterbox
) -> None:
    enqueue(letterbox)
    lease = claim_one(letterbox)

    def complete_too_late() -> None:
        with hot() as here:
            end_session(database, here.cursor.connection.info.backend_pid)
            here.statements.complete(here, lease)

    with pytest.raises(DBAPIError) as caught:
        complete_too_late()
    assert trouble_of(caught.value) is Trouble.AWAY
    letterbox.queue.complete(lease)


def test_a_session_that_ended_before_is_not_used_again(database: DatabaseUnderTest, letterbox: SqlLetterbox) -> None:
    enqueue(letterbox)
    lease = claim_one(letterbox)
    with hot() as here:
        pid = here.cursor.connection.info.backend_pid
    end_session(database, pid)
    letterbox.queue.complete(lease)


def test_a_lost_lease_is_told_with_and_without_a_transaction(letterbox: SqlLetterbox) -> None:
    enqueue(letterbox)
    lease = claim_one(letterbox)
    letterbox.queue.cancel_run(lease.run_id)
    with pytest.raises(LeaseLost):
        letterbox.queue.complete(lease)
    with pytest.raises(LeaseLost), transaction(lease.org_id):
        letterbox.queue.complete(lease)


def test_what_the_database_refuses_is_refused(letterbox: SqlLetterbox) -> None:
    job = enqueue(letterbox)
    with pytest.raises(AlreadyQueued):
        letterbox.queue.enqueue([job])
    other = new_run(letterbox)
    with pytest.raises(IntegrityError):
        letterbox.queue.enqueue([other.job(max_attempts=0)])
    assert letterbox.queue.counts()[JobStatus.PENDING] == 1


@pytest.mark.parametrize("number", [1, 2])
def test_a_zero_byte_is_refused_and_cuts_nothing_off(letterbox: SqlLetterbox, number: int) -> None:
    jobs = [run.job("a\0b") for run in letterbox.new_runs(number)]
    with pytest.raises(DataError):
        letterbox.queue.enqueue(jobs)
    assert letterbox.queue.counts()[JobStatus.PENDING] == 0


def test_one_statement_serves_many_connections_and_transactions(letterbox: SqlLetterbox) -> None:
    statement = Prepared("SELECT 1 WHERE %s = 'a' AND %s = 'b'")
    for _ in range(2):
        with hot() as first, hot() as second:
            assert [statement.rows(here, ["a", "b"]) for here in (first, second)] == [1, 1]
        with transaction(everywhere=True), hot() as joined:
            assert statement.rows(joined, ["a", "b"]) == 1
            assert statement.rows(joined, ["b", "a"]) == 0


def test_rows_come_as_a_cursor_would_bring_them(letterbox: SqlLetterbox) -> None:
    statement = Prepared("SELECT %(n)s::int + %(n)s::int, %(id)s::uuid, %(json)s::jsonb, NULL WHERE %(is_on)s::bool")
    values = {"n": "2", "json": '{"a": 1}', "id": "0" * 31 + "7", "is_on": "True"}
    for _ in range(2):
        with hot() as own:
            assert statement.fetch(own, values) == [(4, UUID(int=7), {"a": 1}, None)]
            assert statement.fetch(own, {**values, "is_on": "False"}) == []
        with transaction(everywhere=True), hot() as joined:
            assert statement.fetch(joined, values) == [(4, UUID(int=7), {"a": 1}, None)]
