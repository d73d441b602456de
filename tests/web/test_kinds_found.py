"""Each kind of file goes the whole way: uploaded, ready, and a sentence of it found by search."""

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import Browser, Program
from tests.web.shelves import File, read_json, send, shelve, use_hashed_words, work_off

MAIL = b"From: anna@keepers.example\nTo: ben@keepers.example\nSubject: The wick\n\nThe wick wants trimming at dusk.\n"
FILES: dict[str, File] = {
    "HTML": ("page.html", b"<!doctype html><html><body><h1>Wick</h1><p>The wick wants trimming at dusk.</body></html>"),
    "a page of many lines": ("saved.htm", b"<div><p>The wick wants\ntrimming at dusk.</p></div>"),
    "XML": ("note.xml", b"<?xml version='1.0'?><note><wick>The wick wants trimming at dusk.</wick></note>"),
    "a feed": (
        "news.rss",
        b"<rss><channel><item><title>The wick wants trimming at dusk</title></item></channel></rss>",
    ),
    "a message": ("wick.eml", MAIL),
    "a mailbox": ("all.mbox", b"From anna Thu Nov 19 12:00:00 2026\n" + MAIL),
    "CSV": ("jobs.csv", b"what,when\nThe wick wants trimming,at dusk\nOil is poured,at dawn\n"),
    "TSV": ("jobs.tsv", b"what\twhen\nThe wick wants trimming\tat dusk\nOil is poured\tat dawn\n"),
    "JSON": ("wick.json", b'{"wick": "wants trimming at dusk"}'),
    "text of Windows": ("wick.txt", "The wick wants trimming at dusk, sagt der Wärter.".encode("cp1252")),
    "text in UTF-16": ("wick.log", "The wick wants trimming at dusk.".encode("utf-16-le")),
}


@pytest.mark.parametrize("kind", FILES)
def test_it_is_ready_and_found(app: Flask, browser: Browser, program: Program, kind: str) -> None:
    use_hashed_words(app)
    (document_id,) = shelve(program, FILES[kind])
    work_off(app)

    assert read_json(program.get(f"/documents/{document_id}"))["status"] == "READY"
    [hit, *_] = read_json(program.get("/search?q=wick+trimming+dusk"))["hits"]
    assert (hit["document_id"], hit["filename"]) == (document_id, FILES[kind][0])
    assert "wick" in browser.get(f"/documents/{document_id}").text
    assert "wick" in browser.get(f"/documents/{document_id}/chunks").text


@both_databases
def test_the_last_row_of_a_long_table_is_found_by_its_words(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    rows = b"".join(b"%d,keeper %d,oil\n" % (n, n) for n in range(3_000))
    (document_id,) = shelve(program, ("oil.csv", b"n,who,what\n" + rows + b"9999,the gannet,seawater\n"))
    work_off(app)

    [hit, *_] = read_json(program.get("/search?q=gannet"))["hits"]
    assert (hit["document_id"], hit["title"]) == (document_id, None)
    (table,) = read_json(program.get(f"/documents/{document_id}/tables"))["tables"]
    assert (len(table["rows"]), table["rows"][-1]) == (3_002, ["9999", "the gannet", "seawater"])
    assert "keeper 17" in browser.get(f"/documents/{document_id}/tables").text


def test_a_page_under_the_name_of_a_table_is_read_as_the_page_that_it_is(program: Program) -> None:
    answer = send(program, ("table.csv", b"<!doctype html><html><body>Not found</body></html>"))
    assert read_json(answer)["documents"][0]["content_type"] == "text/html"
