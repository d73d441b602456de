"""Uploads that are still on their way have places, so that they never hold all threads."""

import io
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.web.people import Browser, People, Program
from tests.web.shelves import read_json
from webapp.serving.capacity import large_at_once, upload_seats
from webapp.serving.inflow import ENVIRON_KEY, ClientLimits, Inflow
from webapp.web.library.upload_seats import Holder, UploadSeats


@pytest.fixture
def inflow() -> Iterator[Inflow]:
    """A connection on which the rest of a request is still to come."""
    with ExitStack() as stack:
        ours, theirs = (stack.enter_context(one) for one in socket.socketpair())
        found = Inflow(ours, ClientLimits())
        found.begin(b"", 60.0, is_whole=False)
        theirs.sendall(b"x")
        yield found


@pytest.fixture
def seats(app: Flask) -> Iterator[UploadSeats]:
    found: UploadSeats = app.extensions["docmill_upload_seats"]
    yield found
    assert not found.taken
    assert not found.taken_by_links


def send(who: Program | Browser, inflow: Inflow) -> TestResponse:
    data = {"file": (io.BytesIO(b"About wheat."), "a.txt")}
    if isinstance(who, Browser):
        return who.post("/documents", data, environ_overrides={ENVIRON_KEY: inflow})
    return who.post("/documents", data=data, environ_overrides={ENVIRON_KEY: inflow})


def test_one_upload_too_many_of_an_org_is_told_when_to_come_again(
    people: People, seats: UploadSeats, inflow: Inflow
) -> None:
    ours, theirs = people.program(), people.program(org="Theirs")
    for _ in range(seats.seats_per_org):
        assert seats.take(Holder(ours.org_id)) is None
    answer = send(ours, inflow)
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "5"
    assert "Try again in a few seconds" in read_json(answer)["detail"]
    assert inflow._deadline is not None
    assert send(theirs, inflow).status_code == 200
    for _ in range(seats.seats_per_org):
        seats.give_back(Holder(ours.org_id))
    assert send(ours, inflow).status_code == 200


def test_one_upload_too_many_of_all_is_told_so(people: People, seats: UploadSeats, inflow: Inflow) -> None:
    others = [uuid4() for _ in range(seats.seats)]
    for org in others:
        assert seats.take(Holder(org)) is None
    answer = send(people.program(), inflow)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    for org in others:
        seats.give_back(Holder(org))


def test_an_upload_that_is_here_already_needs_no_seat(people: People, seats: UploadSeats, inflow: Inflow) -> None:
    program = people.program()
    for _ in range(seats.seats_per_org):
        seats.take(Holder(program.org_id))
    inflow.begin(b"", 60.0, is_whole=True)
    assert send(program, inflow).status_code == 200
    for _ in range(seats.seats_per_org):
        seats.give_back(Holder(program.org_id))


def test_a_deadline_is_lifted_for_those_alone_who_were_let_in(people: People, inflow: Inflow) -> None:
    visitor = people.visitor()
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        data = {"file": (io.BytesIO(b"About wheat."), "a.txt")}
        environ = {ENVIRON_KEY: inflow}
        answer = visitor.client.post("/documents", data=data, headers=headers, environ_overrides=environ)
        assert answer.status_code in {303, 401}
        assert inflow._deadline is not None
    assert send(people.browser(), inflow).status_code == 303
    assert inflow._deadline is None


@pytest.mark.parametrize("how", ["GET", "HEAD", "range", "wrong range"])
def test_a_large_download_has_a_seat_until_its_end(people: People, seats: UploadSeats, how: str) -> None:
    program = people.program()
    text = ("Wheat and rye. " * 20_000).encode()
    made = program.post("/documents", data={"file": (io.BytesIO(text), "wheat.txt")})
    path = f"/documents/{read_json(made)['documents'][0]['id']}/original"
    headers = {"range": {"Range": "bytes=10-"}, "wrong range": {"Range": "bytes=900000-"}}.get(how, {})
    answer = program.client.open(
        path, method="HEAD" if how == "HEAD" else "GET", headers={**program.headers, **headers}, buffered=False
    )
    assert seats.taken[program.org_id] == (1 if how in {"GET", "range"} else 0)
    answer.close()
    assert not seats.taken


def test_one_large_download_too_many_is_told_when_to_come_again(people: People, seats: UploadSeats) -> None:
    program = people.program()
    sizes = {"small": 10, "large": 20_000}
    paths = {}
    for name, times in sizes.items():
        text = (f"About {name} wheat. " * times).encode()
        made = program.post("/documents", data={"file": (io.BytesIO(text), f"{name}.txt")})
        paths[name] = f"/documents/{read_json(made)['documents'][0]['id']}/original"
    for _ in range(seats.seats_per_org):
        seats.take(Holder(program.org_id))
    answer = program.get(paths["large"])
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "5")
    assert "large files" in read_json(answer)["detail"]
    small = program.get(paths["small"])
    assert small.status_code == 200
    small.close()
    for _ in range(seats.seats_per_org):
        seats.give_back(Holder(program.org_id))


def test_who_has_a_link_takes_no_seats_of_the_org(people: People, seats: UploadSeats) -> None:
    program, visitor = people.program(), people.visitor()
    made = program.post("/documents", data={"file": (io.BytesIO(b"About wheat. " * 25_000), "wheat.txt")})
    document = f"/documents/{read_json(made)['documents'][0]['id']}"
    link = read_json(program.post(f"{document}/shares", json={"original": True}))["url"].removeprefix(
        "http://localhost"
    )
    answers = [visitor.get(f"{link}{document}/original", buffered=False) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert "fetched by links" in answers[2].text
    assert 'href="/account"' not in answers[2].text
    assert not seats.taken
    program.get(f"{document}/original").close()
    for answer in answers:
        answer.close()


def test_all_links_together_take_a_quarter_of_the_seats() -> None:
    seats = UploadSeats(16, 16)
    taken = [Holder(uuid4(), is_link=True) for _ in range(5)]
    assert [seats.take(link) for link in taken] == [None] * 4 + ["of_links"]
    seats.give_back(taken[0])
    assert seats.take(taken[4]) is None
    org = Holder(uuid4())
    assert [seats.take(org) for _ in range(13)] == [None] * 12 + ["of_all"]


def test_a_large_answer_that_is_no_download_has_a_seat_until_it_is_sent(own_app: Flask) -> None:
    own_app.add_url_rule("/large", "large", lambda: "x" * 600_000)
    own_app.add_url_rule("/usual", "usual", lambda: "x" * 60_000)
    found: UploadSeats = own_app.extensions["docmill_upload_seats"]
    program = People(own_app).program()
    answer = program.get("/large", buffered=False)
    assert found.taken[program.org_id] == 1
    answer.close()
    assert not found.taken
    for _ in range(found.seats_per_org):
        found.take(Holder(program.org_id))
    refused = program.get("/large")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
    assert program.get("/usual").status_code == 200
    for _ in range(found.seats_per_org):
        found.give_back(Holder(program.org_id))


@pytest.mark.parametrize("threads", [1, 2, 4, 8, 32, 100])
def test_some_threads_are_kept_free(threads: int) -> None:
    assert 1 <= upload_seats(threads) <= large_at_once(threads) <= threads
    if threads > 1:
        assert large_at_once(threads) < threads
    if threads >= 8:
        assert upload_seats(threads) < large_at_once(threads)
