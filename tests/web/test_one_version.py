"""Readers of a document that gets new results: each answer is the old result or the new one, never some of both."""

import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from itertools import count, cycle

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.looks import elsewhere, watched
from tests.web.people import HX, Browser, Program
from tests.web.shelves import read_json
from tests.web.versions import READERS, Mixed, Reader, Shelved, shelved

RESULTS, READING = 8, 3


@pytest.fixture
def document(app: Flask, program: Program, browser: Browser) -> Shelved:
    return shelved(app, program, browser)


@pytest.mark.slow
@pytest.mark.timeout(300)
@both_databases
def test_readers_without_pause_see_one_result_in_each_answer(document: Shelved) -> None:
    """Many readers, many results, by chance."""
    done = threading.Event()
    with ThreadPoolExecutor(READING) as threads:
        readers = [threads.submit(_read, document.again(), number, done) for number in range(READING)]
        try:
            for _ in range(RESULTS):
                document.publish()
        finally:
            done.set()
        seen = sum((reader.result() for reader in readers), Counter[str]())
    assert {name: number for name, number in seen.items() if ":" in name} == {}
    assert set(seen) == {reader.__name__ for reader in READERS}


def _read(document: Shelved, first: int, done: threading.Event) -> Counter[str]:
    """How often each reader was content, and what else was seen."""
    seen: Counter[str] = Counter()
    for turn, reader in enumerate(cycle((*READERS[first:], *READERS[:first]))):
        if done.is_set() and turn >= len(READERS):
            return seen
        try:
            reader(document)
            seen[reader.__name__] += 1
        except Mixed as mixed:
            seen[f"{reader.__name__}: {mixed}"] += 1
    return seen


@pytest.mark.slow
@pytest.mark.timeout(300)
@both_databases
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: str(reader.__name__))
def test_a_result_that_is_published_between_two_looks(
    document: Shelved, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each transaction of an answer and at each blob that it opens, a new result comes in between."""
    other = document.again()
    with watched(document.app, monkeypatch) as looks:
        for number in count(1):
            looks.before(number, lambda: elsewhere(other.publish))
            reader(document)
            if looks.seen < number:
                break
    assert number > 2


@both_databases
def test_a_part_of_a_result_that_is_gone_is_refused(document: Shelved) -> None:
    url = f"/documents/{document.id}"
    first = read_json(document.program.get(f"{url}/chunks"))
    page = document.browser.get(url).text
    cursor, run_id = first["next_cursor"], first["run_id"]
    assert read_json(document.program.get(url))["published_run_id"] == run_id
    assert read_json(document.program.get(f"{url}/chunks?cursor={cursor}"))["run_id"] == run_id
    document.publish()

    for path in (f"{url}/chunks?cursor={cursor}", f"{url}/connections?cursor={cursor}"):
        refused = document.program.get(path)
        problem = read_json(refused)
        assert (refused.status_code, refused.mimetype) == (409, "application/problem+json")
        assert problem["reason"] == "replaced"
        assert problem["detail"].endswith("Begin again with the new one.")
        assert problem["run_id"] == read_json(document.program.get(url))["published_run_id"] != run_id
        message = document.browser.get(path, headers=HX)
        assert (message.status_code, message.headers["HX-Retarget"]) == (409, "#flashes")
        assert f'<a href="{url}">Show the document as it is now</a>' in message.text
    [later] = re.findall(r'href="([^"]*part=2[^"]*)"', page)
    refused = document.browser.get(unescape(later))
    assert refused.status_code == 409
    assert f'href="{url}">Show the document as it is now</a>' in refused.text


def test_a_section_asks_for_whatever_result_is_there_when_it_is_shown_anew(document: Shelved) -> None:
    url = f"/documents/{document.id}"
    cursor = read_json(document.program.get(f"{url}/chunks"))["next_cursor"]
    run_id = read_json(document.program.get(url))["published_run_id"]
    for path, again in ((f"/chunks?cursor={cursor}", "/chunks"), (f"?part=2&run={run_id}", "?part=2")):
        assert f'id="section" hx-get="{url}{again}"' in document.browser.get(url + path).text


def test_a_cursor_that_nobody_handed_out_is_refused(document: Shelved) -> None:
    url = f"/documents/{document.id}"
    for cursor in ("x", "%00", "AAAA", "a" * 5000, "MDE5"):
        assert document.program.get(f"{url}/chunks?cursor={cursor}").status_code == 422, cursor
        assert document.program.get(f"{url}/connections?cursor={cursor}").status_code == 422, cursor
    assert document.browser.get(f"{url}?run=x").status_code == 422
