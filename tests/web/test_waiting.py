"""A document that may not go on says why, on its row, on its page and to programs; ops see it on theirs."""

import threading

import pytest
from flask import Flask

from tests.web.people import HX, Browser, People
from tests.web.shelves import read_json, services_of
from tests.web.work import Work, queued
from webapp.clock import monotonic
from webapp.jobs.interruptions import WaitReason, Waits
from webapp.jobs.queue import Lease
from webapp.pipeline.steps import StageContext
from webapp.pipeline.waiting import wait_for
from webapp.runs.stages import PROCESS_DOCUMENT

WORDS = {
    WaitReason.STORAGE_FULL: "Waiting: the file store is full.",
    WaitReason.STORAGE_UNAVAILABLE: "Waiting: the file store does not answer.",
    WaitReason.DATABASE_FULL: "Waiting: the database is full.",
    WaitReason.SPEND_LIMIT: "Waiting: your organisation has spent what it may spend today.",
}


def wait(app: Flask, reason: WaitReason) -> None:
    """The next job reaches a paid call that may not be made."""
    with app.app_context():
        lease = start(app)
        seconds = 3600.0 if reason is WaitReason.SPEND_LIMIT else None
        wait_for(context_of(app, lease), Waits(reason, seconds))


def context_of(app: Flask, lease: Lease) -> StageContext:
    found = services_of(app)
    return StageContext(lease, found.queue, found.providers, 1, monotonic() + 60, threading.Event())


def start(app: Flask) -> Lease:
    (lease,) = services_of(app).queue.claim("tests")
    return lease


def shown(browser: Browser, work: Work) -> list[str]:
    """The library, the row's poll, the document's page, its poll, and its history."""
    status = f"/documents/{work.document_id}/status"
    pages = ["/", f"/documents/{work.document_id}", f"/documents/{work.document_id}/runs"]
    return [
        *(browser.get(path, follow_redirects=True).text for path in pages),
        *(browser.get(path, headers=HX).text for path in (status, f"{status}?view=page")),
    ]


@pytest.mark.parametrize("reason", list(WaitReason))
def test_everybody_reads_why_it_waits(app: Flask, people: People, reason: WaitReason) -> None:
    browser = people.browser()
    assert browser.org_id is not None
    work = queued(app, browser.org_id)
    wait(app, reason)
    assert [WORDS[reason] in page for page in shown(browser, work)] == [True] * 5
    answer = read_json(browser.get(f"/documents/{work.document_id}/status", headers={"Accept": "application/json"}))
    assert (answer["status"], answer["waits_for"], answer["error"]) == ("PROCESSING", reason, None)


def test_later_documents_of_the_paused_stage_say_it_too(app: Flask, people: People) -> None:
    browser = people.browser()
    assert browser.org_id is not None
    queued(app, browser.org_id)
    behind = queued(app, browser.org_id, "b.pdf")
    wait(app, WaitReason.STORAGE_FULL)
    assert WORDS[WaitReason.STORAGE_FULL] in browser.get(f"/documents/{behind.document_id}/status", headers=HX).text


def test_what_a_person_paused_says_so(app: Flask, people: People) -> None:
    browser = people.browser()
    assert browser.org_id is not None
    work = queued(app, browser.org_id)
    with app.app_context():
        services_of(app).queue.pause(PROCESS_DOCUMENT, by="ana")
    assert "Processing is paused for now" in browser.get(f"/documents/{work.document_id}/status", headers=HX).text
    assert "Waiting:" not in browser.get("/").text


def test_ops_read_which_stage_waits_and_that_it_resumes_by_itself(app: Flask, people: People) -> None:
    operator = people.browser("ops", email="op@example.org")
    assert operator.org_id is not None
    queued(app, operator.org_id)
    wait(app, WaitReason.STORAGE_FULL)
    page = operator.get("/ops").text
    assert "The file store is full, so no paid call is made." in page
    assert "it resumes by itself" in page
    program = people.program("ops")
    assert 'docmill_stage_held{stage="process_document"} 1.0' in program.get("/metrics").text
