"""A request that is sent again under its key gets the first answer, and is done once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update
from sqlalchemy.exc import OperationalError
from werkzeug.test import TestResponse

from tests.web.databases import both_databases
from tests.web.people import People, Program
from tests.web.shelves import notes, read_json, services_of, shelve, use_hashed_words
from webapp.accounts import idempotency
from webapp.accounts.model import IdempotencyKey
from webapp.clock import utc_now
from webapp.db import transaction
from webapp.runs import retention

BODY = {"action": "tag", "query": "", "tags": ["tax"]}


@pytest.fixture
def ops(app: Flask, people: People) -> Program:
    use_hashed_words(app)
    program = people.program("ops")
    shelve(program, notes(1))
    return program


def begin(program: Program, key: str = "k1", **more: Any) -> TestResponse:
    return program.post("/bulk", json={**BODY, **more}, headers={"Idempotency-Key": key})


def operations(program: Program) -> int:
    return len(read_json(program.get("/bulk"))["operations"])


@both_databases
def test_the_first_answer_is_repeated_and_nothing_is_done_again(ops: Program) -> None:
    first, again = begin(ops), begin(ops)
    assert first.status_code == again.status_code == 202
    assert first.json == again.json
    assert first.headers["Location"] == again.headers["Location"]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert operations(ops) == 1
    assert begin(ops, "k2").json != first.json
    assert operations(ops) == 2


@both_databases
def test_requests_at_the_same_time_are_done_once(app: Flask, ops: Program) -> None:
    def send(_: int) -> int:
        return begin(Program(app.test_client(), ops.token, ops.org_id)).status_code

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(send, range(8)))
    assert 202 in answers
    assert set(answers) <= {202, 409}
    assert operations(ops) == 1


@both_databases
def test_a_key_is_for_one_request_of_one_token(ops: Program, people: People) -> None:
    assert begin(ops).status_code == 202
    refused = begin(ops, tags=["other"])
    assert (refused.status_code, read_json(refused)["reason"]) == (422, "other_request")
    assert operations(ops) == 1
    other = people.program("ops", org="Ours")
    assert other.org_id == ops.org_id
    assert "Idempotent-Replayed" not in begin(other).headers


@both_databases
def test_what_was_refused_may_be_sent_again(ops: Program) -> None:
    assert begin(ops, action="unknown").status_code == 422
    assert begin(ops).status_code == 202


@both_databases
def test_an_answer_that_could_not_be_kept_is_unknown(app: Flask, ops: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("UPDATE", {}, Exception("the database is away"))

    with monkeypatch.context() as patched:
        patched.setattr(idempotency, "keep", fail)
        assert begin(ops).status_code == 202
    under_way = begin(ops)
    assert (under_way.status_code, read_json(under_way)["reason"]) == (409, "under_way")
    assert under_way.headers["Retry-After"] == "1"
    _make_older(app, ops, timedelta(minutes=6))
    assert read_json(begin(ops))["reason"] == "cut_off"
    assert operations(ops) == 1


@both_databases
def test_a_key_is_forgotten_after_a_day(app: Flask, ops: Program) -> None:
    first = begin(ops)
    _make_older(app, ops, timedelta(hours=25))
    with app.app_context():
        assert retention.prune(services_of(app))["keys"] == 1
    assert begin(ops).json != first.json


@pytest.mark.parametrize("key", ["", "x" * 201, "\t", "clé"])
def test_a_key_that_is_none_is_refused(ops: Program, key: str) -> None:
    answer = begin(ops, key)
    assert answer.status_code == 400
    assert "Idempotency-Key must be" in read_json(answer)["detail"]


def _make_older(app: Flask, program: Program, age: timedelta) -> None:
    with app.app_context(), transaction(program.org_id) as session:
        session.execute(update(IdempotencyKey).values(created_at=utc_now() - age))
