"""Long documents: how many pages are read is shown; a time limit after which a run went on is no failure."""

from flask import Flask

from tests.web.people import HX, JSON, People
from tests.web.shelves import read_json, services_of
from tests.web.test_waiting import context_of, start
from tests.web.work import queued
from webapp.jobs.queue import Lease
from webapp.runs import time_limit
from webapp.runs.stages import EXTRACT

READ = "1,240 of 2,415 pages read"


def read_pages(app: Flask, lease: Lease) -> None:
    context = context_of(app, lease)
    context.current = EXTRACT
    context.save_pages(1240, 2415)


def test_people_and_programs_see_how_many_pages_are_read(app: Flask, people: People) -> None:
    work = queued(app, people.org())
    member = people.browser()
    status = f"/documents/{work.document_id}/status"
    assert read_json(member.get(status, headers=JSON))["pages"] is None
    with app.app_context():
        read_pages(app, start(app))
    found = read_json(member.get(status, headers=JSON))
    assert found["pages"] == {"done": 1240, "total": 2415}
    for path in ("/", f"/documents/{work.document_id}"):
        assert READ in member.get(path, follow_redirects=True).text
    assert READ in member.get(status, headers=HX).text
    assert READ in member.get(f"{status}?view=page", headers=HX).text


def test_a_run_that_goes_on_is_shown_with_one_progress_and_no_failure(app: Flask, people: People) -> None:
    work = queued(app, people.org())
    member = people.browser()
    address = f"/documents/{work.document_id}"
    with app.app_context():
        lease = start(app)
        read_pages(app, lease)
        assert lease.run
        assert time_limit.time_out_run(services_of(app).queue, lease.run, 100)
    shown = member.get(address, follow_redirects=True).text
    assert READ in shown
    assert "Long, so it is done in parts" in shown
    found = read_json(member.get(f"{address}/status", headers=JSON))
    assert (found["status"], found["run"]["trigger"], found["error"]) == ("PROCESSING", "CONTINUED", None)
    history = member.get(f"{address}/runs", follow_redirects=True).text
    assert "went on after the time limit" in history
    assert "It took too long" not in history
    with app.app_context():
        lease = start(app)
        assert lease.run
        assert time_limit.time_out_run(services_of(app).queue, lease.run, 100)
    assert "It took too long" in member.get(f"{address}/runs", follow_redirects=True).text
