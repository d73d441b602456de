"""The description of the API is whole, true and readable. That answers are as described, each test of a page checks."""

from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import one_of
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from tests.web.people import JSON, Browser, People, Program
from tests.web.shelves import notes, read_json, shelve, use_hashed_words, work_off
from tests.web.work import failed
from webapp.web.access import Access, access_of
from webapp.web.api.query import ELSEWHERE, PAGES_ONLY, parameter
from webapp.web.api.routes import PAGES_ONLY as PAGES
from webapp.web.api.routes import SECTIONS
from webapp.web.parameters import KNOWN

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
# What programs can't call.
PEOPLE = (Access.PERSON, Access.OPS_PEOPLE)
_DESCRIBED = {endpoint for section in SECTIONS.values() for endpoint in section}


def test_each_route_is_described_or_for_browsers_alone(app: Flask) -> None:
    for_programs = {each for each in app.view_functions if each == "static" or access_of(app, each) not in PEOPLE}
    assert for_programs == _DESCRIBED | PAGES
    assert not _DESCRIBED & PAGES


def test_each_parameter_has_a_meaning() -> None:
    for endpoint in _DESCRIBED & KNOWN.keys():
        for name in KNOWN[endpoint]:
            assert name in PAGES_ONLY.get(endpoint, ()) or parameter(endpoint, name), (endpoint, name)
    for endpoint, name in ELSEWHERE:
        assert name in KNOWN[endpoint], (endpoint, name)


def test_programs_and_people_get_it(browser: Browser, people: People) -> None:
    found = read_json(people.visitor().client.get("/openapi.json", headers=JSON))
    assert found["openapi"] == "3.1.0"
    assert found["paths"]["/documents"]["post"]["summary"] == "Upload one or many files"
    page = browser.get("/api").text
    assert all(each["operationId"] in page for methods in found["paths"].values() for each in methods.values())
    assert "/api" in browser.get("/account").text


def test_a_program_waits_until_a_document_is_done(app: Flask, program: Program) -> None:
    use_hashed_words(app)
    [document_id] = shelve(program, notes(1))
    # It is not worked on, so the answer comes after the time that was asked for.
    assert read_json(program.get(f"/documents/{document_id}/status?wait=1"))["status"] == "PROCESSING"
    work_off(app)
    assert read_json(program.get(f"/documents/{document_id}/status?wait=30"))["status"] == "READY"
    for wrong in ("0", "31", "soon"):
        assert program.get(f"/documents/{document_id}/status?wait={wrong}").status_code == 422


@pytest.mark.slow
# The client of these requests leaves files open that it was sent.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_no_request_gets_a_fault_or_an_answer_that_is_not_described(own_app: Flask) -> None:
    """Requests made from the description: right ones, wrong ones, and ones that make no sense."""
    use_hashed_words(own_app)
    people = People(own_app)
    operator, worker = people.program("operator"), people.program("worker")
    [document_id, _] = shelve(operator, notes(1), notes(2))
    work_off(own_app)
    job = failed(own_app, operator.org_id)
    known = {"document_id": document_id, "job_id": str(job.job_id), "number": 1, "stage": "process_document"}
    schema = schemathesis.openapi.from_wsgi("/openapi.json", own_app)
    seen = set()
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        is_for_worker = operation.path.startswith("/worker")
        places = [{}] if operation.method == "delete" or is_for_worker else [{}, known]
        seen |= _ask(operation, places, worker if is_for_worker else operator)
    assert {200, 202, 400, 404, 422} <= seen


def _ask(operation: APIOperation[Any, Any, Any, Any], places: list[dict[str, Any]], program: Program) -> set[int]:
    """Send some requests, with these things in the path and with any; the statuses of the answers."""
    names = {each["name"] for each in operation.definition.raw.get("parameters", ())}
    given_places = [{name: value for name, value in place.items() if name in names} or None for place in places]
    strategies = [
        operation.as_strategy(mode, path_parameters=place) for mode in GenerationMode for place in given_places
    ]
    seen = set()

    @settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=one_of(strategies))
    def ask(case: Case[Any]) -> None:
        seen.add(case.call_and_validate(checks=CHECKS, headers=program.headers).status_code)

    ask()
    return seen
