"""Programs that work off a stage and send what they should not: each mistake is refused with a sentence."""

from typing import Any

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.http_worker import EXTRACTION, Place, place_of
from tests.web.shelves import read_json, work_off

pytestmark = both_databases


@pytest.fixture
def place(app: Flask) -> Place:
    return place_of(app)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "stages"),
        ({"stages": ["index"], "worker": "w"}, "no stage for programs"),
        ({"stages": [], "worker": "w"}, "length"),
        ({"stages": ["analyze"], "worker": "a b"}, "regex"),
        ({"stages": ["analyze"], "worker": "w", "limit": 17}, "<= 16"),
        ({"stages": ["analyze"], "worker": "w", "wait_seconds": 31}, "<= 30"),
        ({"stages": ["analyze"], "worker": "w", "claim_id": "x"}, "uuid"),
        ({"stages": ["analyze"], "worker": "w", "speed": 1}, "no member “speed”"),
        ([], "JSON object"),
    ],
)
def test_a_mistaken_claim_is_refused_with_a_sentence(place: Place, body: Any, words: str) -> None:
    answer = place.send("POST", "/worker/claim", body)
    assert (answer.status_code, answer.mimetype) == (422, "application/problem+json")
    assert words.lower() in read_json(answer)["detail"].lower()


def test_a_broken_body_is_refused(place: Place) -> None:
    assert place.send("POST", "/worker/claim", b"{").status_code == 400
    assert place.send("POST", "/worker/claim", b"[" * 100_000).status_code == 400
    half = {"worker": "w", "stages": ["\ud800"]}
    assert "surrogate" in read_json(place.send("POST", "/worker/claim", half))["detail"]
    job = place.job()
    assert place.call(job, "checkpoint", {"a": "\ud800"}).status_code == 422
    assert place.call(job, "fail", {"message": "a\x00b"}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[" * 50_000,
        b"\xff\xfe",
        b'{"extractor": "x", "version": "1"}',
        b'{"extractor": "x", "version": "1", "markdown": 7}',
        b'{"extractor": "x", "version": "1", "markdown": "a", "pages": [{"number": "one", "text": ""}]}',
        b'{"extractor": "x", "version": "1", "markdown": "a", "page_count": 99999999999}',
        b'{"extractor": "x", "version": "1", "markdown": "a", "fields": [{"name": "a", "value": "b", "page": -1}]}',
    ],
)
def test_a_result_that_is_none_is_refused_and_nothing_is_stored(place: Place, body: bytes) -> None:
    job = place.job()
    answer = place.put(job, body)
    assert answer.status_code == 422, answer.text
    assert place.call(job, "complete").status_code == 422
    assert place.put(job).status_code == 200
    assert place.call(job, "complete").status_code == 200


def test_a_hostile_text_is_cleaned_before_anybody_trusts_it(place: Place) -> None:
    job = place.job()
    hostile = {
        **EXTRACTION,
        "markdown": "a\x00b \u202egnp.exe <script>alert(1)</script> wheat",
        "title": "t\x00\nitle",
        "language": "e\x00n" + "x" * 100,
        "fields": [{"name": "n\x00", "value": "v\x00\ud800"}],
    }
    answer = place.put(job, hostile)
    # msgspec refuses a lone surrogate; without it the rest is cleaned.
    assert answer.status_code == 422
    hostile["fields"] = [{"name": "n\x00", "value": "v\x00"}]
    assert place.put(job, hostile).status_code == 200
    place.call(job, "complete")
    work_off(place.app)
    found = read_json(place.member.get(f"/documents/{job['document']['id']}"))
    assert (found["status"], found["title"]) == ("READY", "t itle")
    assert found["language"].startswith("enx")
    assert len(found["language"]) <= 16
    text = place.member.get(f"/documents/{job['document']['id']}/markdown").text
    assert "\x00" not in text
    assert "\u202e" not in text


def test_a_result_of_another_kind_and_a_checkpoint_that_is_too_large_are_refused(place: Place) -> None:
    job = place.job()
    answer = place.send("PUT", job["result"]["url"].replace("extraction", "analysis"), EXTRACTION)
    assert answer.status_code == 422
    assert "extraction" in read_json(answer)["detail"]
    assert place.call(job, "checkpoint", {"a": "x" * 70_000}).status_code == 413
    assert place.call(job, "checkpoint", b'{"a": NaN}').status_code == 422
    assert place.call(job, "checkpoint", [1]).status_code == 422
    assert place.call(job, "fail", {"message": "x", "code": "quota_exhausted"}).status_code == 422
    assert place.send("GET", job["inputs"]["original"].replace("original", "transcript")).status_code == 404
