"""Questions that a chat model answers: with sources, paid once, and gone with their documents."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from tests.emulators.openai import OpenAI
from tests.pipeline import studio
from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import NOTES, read_json, shelve, use_hashed_words, work_off
from tests.worker.bench import wait_for
from webapp.db import reading
from webapp.documents.ledger_model import ProviderCall
from webapp.search.answer_model import AnsweredQuestion

QUESTION = "when is wheat ground?"


@pytest.fixture
def shelf(app: Flask, program: Program, openai: OpenAI) -> Iterator[list[str]]:
    use_hashed_words(app)
    services = app.extensions["docmill"]
    before = services.providers
    services.providers = replace(before, answerer=studio.answers_at(openai))
    ids = shelve(program, ("notes.md", NOTES))
    work_off(app)
    yield ids
    services.providers = before
    studio.close_clients()


def ask(program: Program, question: str = QUESTION) -> dict[str, Any]:
    """The answer, once it is there."""
    found = read_json(program.post("/search/answers", data={"q": question}))
    if found["id"]:
        wait_for(lambda: read_json(program.get(f"/search/answers/{found['id']}"))["state"] != "asking")
        found = read_json(program.get(f"/search/answers/{found['id']}"))
    return found


def lines(app: Flask) -> list[tuple[object, ...]]:
    with app.app_context(), reading(everywhere=True) as opened:
        rows = select(ProviderCall.outcome, ProviderCall.reused).where(ProviderCall.operation == "answer")
        return [tuple(row) for row in opened.execute(rows.order_by(ProviderCall.id))]


@both_databases
def test_an_answer_has_sources_is_paid_once_and_goes_with_its_document(
    app: Flask, people: People, browser: Browser, program: Program, openai: OpenAI, shelf: list[str]
) -> None:
    found = ask(program)
    assert found["state"] == "done"
    assert found["sentences"][0]["text"].endswith("Wheat is ground between stones.")
    [number] = found["sentences"][0]["sources"]
    source = found["sources"][number - 1]
    assert (source["document_id"], source["filename"]) == (shelf[0], "notes.md")
    # "It happened in 1789. [1]" and "Nobody says so.": no passage holds the number, and no source is named.
    assert found["left_out"] == 2
    assert ask(program)["sentences"] == found["sentences"]
    assert [paid.operation for paid in openai.ledger] == ["answer"]
    assert lines(app) == [("ok", False), ("ok", True)]

    assert program.client.delete(f"/documents/{shelf[0]}", headers=program.headers).status_code == 204
    assert program.get(f"/search/answers/{found['id']}").status_code == 404
    # The page that polls it stops.
    gone = browser.get(f"/search/answers/{found['id']}", headers=HX)
    assert "This answer is gone" in gone.text
    assert "hx-trigger" not in gone.text
    assert program.post(f"/documents/{shelf[0]}/restore").status_code == 200
    assert read_json(program.get(f"/search/answers/{found['id']}"))["sentences"] == found["sentences"]
    ops = people.program("ops")
    assert ops.client.delete(f"/documents/{shelf[0]}?purge=1", headers=ops.headers).status_code == 204
    with app.app_context(), reading(everywhere=True) as opened:
        assert opened.scalar(select(func.count()).select_from(AnsweredQuestion)) == 0


def test_people_see_it_grow(people: People, browser: Browser, openai: OpenAI, shelf: list[str]) -> None:
    address = "/search?q=when+is+wheat+ground%3F"
    assert 'hx-trigger="load, submit"' in browser.get(address, headers=HX).text
    # A link from elsewhere makes no paid call by itself, and who only reads makes none at all.
    page = browser.get(address).text
    assert "Answer from these passages" in page
    assert 'hx-trigger="load' not in page
    reader = people.browser("viewer", email="v@example.org")
    assert "Answer from these passages" not in reader.get(address).text
    assert reader.post("/search/answers", data={"q": QUESTION}).status_code == 403
    first = browser.post("/search/answers", data={"q": QUESTION}, headers=HX).text
    if 'hx-trigger="every 700ms"' in first:
        address = first.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
        wait_for(lambda: "hx-trigger" not in browser.get(address, headers=HX).text)
        first = browser.get(address, headers=HX).text
    assert "Wheat is ground between stones." in first
    assert "Written by a language model (gpt-test)" in first
    assert "2 sentences were left out" in first
    plain = browser.post("/search/answers", data={"q": QUESTION})
    assert plain.status_code == 303
    assert "Wheat is ground between stones." in browser.get(plain.headers["Location"]).text


def test_what_the_passages_do_not_say_is_refused(program: Program, openai: OpenAI, shelf: list[str]) -> None:
    found = ask(program, "zzyzx")
    assert (found["state"], found["sentences"], found["left_out"]) == ("done", [], 0)
    assert len(openai.ledger) == 1
    # No passage is found at all: nobody is asked.
    assert ask(program, "wheat kind:pdf")["id"] is None
    assert len(openai.ledger) == 1
    assert program.post("/search/answers", data={"q": ""}).status_code == 422


def test_an_answer_that_fails_can_be_asked_for_again(
    app: Flask, program: Program, openai: OpenAI, shelf: list[str]
) -> None:
    openai.misbehave("cut", "chat")
    assert ask(program)["state"] == "failed"
    assert ask(program)["state"] == "done"
    assert lines(app) == [("unknown", False), ("ok", False)]


def test_another_org_sees_nothing_of_it(people: People, program: Program, shelf: list[str]) -> None:
    found = ask(program)
    other = people.program(org="Other")
    assert other.get(f"/search/answers/{found['id']}").status_code == 404


def test_without_a_chat_model_there_is_no_button(app: Flask, browser: Browser, shelf: list[str]) -> None:
    services = app.extensions["docmill"]
    services.providers = replace(services.providers, answerer=None)
    assert "Answer from these passages" not in browser.get("/search?q=wheat").text
    assert browser.post("/search/answers", data={"q": QUESTION}).status_code == 404
