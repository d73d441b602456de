"""Suggestions while a query is typed: names of filters, and values of one's own documents alone."""

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import read_json, shelve


def _terms(program: Program, typed: str) -> list[str]:
    found = program.get("/search/suggestions", query_string={"q": typed})
    return [each["term"] for each in read_json(found)["suggestions"]]


@both_databases
def test_names_and_values_of_ones_own_are_suggested(app: Flask, people: People, program: Program) -> None:
    tax, _ = shelve(program, ("Tax return 2025.txt", b"Tax."), ("notes.txt", b"Notes."))
    program.client.patch(f"/documents/{tax}", json={"tags": ["To pay", "Tax"]}, headers=program.headers)

    assert _terms(program, "boiler ta") == ["tag:", "tag:Tax", "kind:tar"]
    assert _terms(program, "tag:") == ["tag:Tax", 'tag:"To pay"']
    assert _terms(program, 'boiler -tag:"to p') == ['tag:"To pay"']
    assert _terms(program, "in:ret") == ['in:"Tax return 2025.txt"']
    assert _terms(program, "kind:inv") == ["kind:invoice"]
    assert _terms(program, "status:fa") == ["status:failed"]
    assert _terms(program, "pages:>") == ["pages:>100"]
    assert len(_terms(program, "after:")) == 5
    for nothing in ("", "boiler ", '"ta', "odd:x", "tag:x y", "in:...", 'in:"', "http://ta", "\0", "x" * 2000):
        assert _terms(program, nothing) == []
    assert _terms(program, "lang:") == []
    theirs = people.program(org="Theirs")
    assert _terms(theirs, "tag:") == []
    assert _terms(theirs, "in:ret") == []


def test_a_suggestion_is_the_query_with_it(app: Flask, program: Program, browser: Browser) -> None:
    body = read_json(program.get("/search/suggestions?q=boiler+-kind:inv"))
    assert body["suggestions"] == [
        {"term": "kind:invoice", "q": "boiler -kind:invoice ", "filter": "kind", "value": "invoice"}
    ]
    fragment = browser.get("/search/suggestions?q=kind:inv", headers=HX).text
    assert 'data-query="kind:invoice "' in fragment
    assert "Invoice" in fragment
    assert program.get("/search/suggestions?limit=5").status_code == 400


@pytest.mark.parametrize("path", ["/", "/search"])
def test_the_boxes_say_where_suggestions_are(browser: Browser, path: str) -> None:
    assert 'data-suggest="/search/suggestions"' in browser.get(path).text
