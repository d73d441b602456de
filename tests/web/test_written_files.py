"""Files of twenty programs, uploaded together: each is ready, and found by the sentence in it."""

import pytest
from flask import Flask

from tests.readers.written.test_written import FILES, said
from tests.web.people import Program
from tests.web.shelves import read_json, shelve, use_hashed_words, work_off


@pytest.mark.slow
def test_each_is_ready_and_found_by_its_sentence(app: Flask, program: Program) -> None:
    use_hashed_words(app)
    shelve(program, *((path.name, path.read_bytes()) for path in FILES))
    work_off(app)
    documents = read_json(program.get("/documents?limit=200"))["documents"]
    assert {each["filename"]: (each["status"], each["kept"], each["reading"]) for each in documents} == {
        path.name: ("READY", False, "well") for path in FILES
    }
    for path in FILES:
        # One word of the sentence is in no other file.
        hits = read_json(program.get("/search", query_string={"q": path.name.replace(".", "")}))["hits"]
        assert hits[0]["filename"] == path.name
        assert said(path) in hits[0]["text"]
