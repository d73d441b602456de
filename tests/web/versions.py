"""A document whose whole text changes with each result: a reader must never see two results in one answer."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path

from flask import Flask
from werkzeug.test import TestResponse

from tests import samples
from tests.hashed_words import HashedWords
from tests.web.people import HX, Browser, Program
from tests.web.shelves import read_json, services_of, shelve, work_off
from webapp.providers.ports import KeptParts
from webapp.readers.extraction import Extraction, Field, Page, Table

CODE = "KX-471199"
_VERSION = re.compile(r"version(\d{3})")
_TAB = r'id="tab-{}".*?tab-count">(\d+)<'
_NEXT_PART = re.compile(r'href="([^"]*part=2[^"]*)"')
_MORE = re.compile(r'hx-get="([^"]*cursor=[^"]*)"')


class Versions:
    """An extractor that reads another text each time its version changes."""

    name = "versions"

    def __init__(self) -> None:
        self.number = 0
        self.version = "0"

    def turn(self) -> None:
        """Read another text from now on."""
        self.number += 1
        self.version = str(self.number)

    def options_key(self) -> str:
        return ""

    def accepts(self, content_type: str) -> bool:
        return True

    def check(self) -> None:
        """Always there."""

    def extract(
        self,
        source: Path,
        content_type: str,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
        parts: KeptParts | None = None,
    ) -> Extraction:
        number = self.number
        texts = [page_text(number, page) for page in range(1, pages_of(number) + 1)]
        return Extraction(
            extractor=self.name,
            version=self.version,
            markdown="\n\n".join(f"<!-- page {page} -->\n\n{text}" for page, text in enumerate(texts, 1)),
            pages=tuple(Page(page, text) for page, text in enumerate(texts, 1)),
            page_count=len(texts),
            title=f"The book of version{number:03}",
            fields=tuple(Field(f"Field {place}", f"version{number:03}") for place in range(fields_of(number))),
            tables=(Table(1, ((f"version{number:03}", "a"), ("1", "2"))),),
        )


def pages_of(number: int) -> int:
    return 70 + number % 5


def fields_of(number: int) -> int:
    return 2 + number % 3


def page_text(number: int, page: int) -> str:
    """Some 800 characters, each sentence with the version in it; page 1 has what connects it with another document."""
    line = f"Sentence {page} of version{number:03} tells of harbours and lights."
    return " ".join([f"Regarding {CODE}:" if page == 1 else "", *[line] * 14])


@dataclass
class Shelved:
    """The document, and the way to its next result."""

    app: Flask
    program: Program
    browser: Browser
    extractor: Versions
    id: str
    texts: dict[str, str] = field(default_factory=dict)
    """The version that each run has published."""

    def publish(self) -> None:
        """Another result takes the place of the one that is there."""
        self.extractor.turn()
        self.program.post(f"/documents/{self.id}/reprocess")
        work_off(self.app)

    def again(self) -> "Shelved":
        """The same document for another thread, whose clients are its own."""
        client = self.app.test_client()
        cookie = self.browser.client.get_cookie("docmill_session")
        assert cookie is not None
        client.set_cookie("docmill_session", cookie.value)
        program = Program(self.app.test_client(), self.program.token, self.program.org_id)
        return replace(self, program=program, browser=replace(self.browser, client=client))


def shelved(app: Flask, program: Program, browser: Browser) -> Shelved:
    """A document of seventy pages with its first result, and another one that it is connected with."""
    found, extractor = services_of(app), Versions()
    providers = replace(found.providers, extractor=extractor, embedder=HashedWords())
    app.extensions["docmill"] = replace(found, providers=providers)
    ids = shelve(program, ("book.pdf", samples.report_pdf(2)), ("other.md", b"# Other\n\nNothing.\n"))
    work_off(app)
    return Shelved(app, program, browser, extractor, ids[0])


class Mixed(AssertionError):
    """An answer that is neither the old result nor the new one."""


def one_version(*texts: str) -> int:
    found = {int(number) for text in texts for number in _VERSION.findall(text)}
    if len(found) != 1:
        raise Mixed(f"{sorted(found)} in one answer")
    return found.pop()


def expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Mixed(f"{what}: {found} and not {wanted}")


def is_refused(answer: TestResponse, document: Shelved) -> bool:
    """Whether a part was refused because its result is gone, in the words that this deserves."""
    if answer.status_code != 409:
        return False
    if answer.mimetype == "application/problem+json":
        expect("reason", read_json(answer)["reason"], "replaced")
    else:
        expect("a way on", f'href="/documents/{document.id}"' in answer.text, True)
    return True


def markdown(document: Shelved) -> None:
    answer = document.program.get(f"/documents/{document.id}/markdown")
    expect("status", answer.status_code, 200)
    number = one_version(answer.text)
    expect("pages", answer.text.count("<!-- page"), pages_of(number))


def chunks(document: Shelved) -> None:
    """All passages, part by part."""
    listed: list[dict[str, object]] = []
    seen: set[str] = set()
    cursor: str | None = ""
    while cursor is not None:
        query = f"?cursor={cursor}" if cursor else ""
        answer = document.program.get(f"/documents/{document.id}/chunks{query}")
        if is_refused(answer, document):
            return
        part = read_json(answer)
        listed += part["chunks"]
        seen.add(part["run_id"])
        cursor = part["next_cursor"]
    number = one_version(*(str(chunk["text"]) for chunk in listed))
    expect("passages", [chunk["ordinal"] for chunk in listed], list(range(len(listed))))
    expect("the last page", listed[-1]["page_to"], pages_of(number))
    expect("runs", len(seen), 1)


def fields(document: Shelved) -> None:
    found = read_json(document.program.get(f"/documents/{document.id}/fields"))
    number = one_version(json.dumps(found["fields"]))
    expect("fields", len(found["fields"]), fields_of(number))


def tables(document: Shelved) -> None:
    one_version(json.dumps(read_json(document.program.get(f"/documents/{document.id}/tables"))["tables"]))


def facts(document: Shelved) -> None:
    found = read_json(document.program.get(f"/documents/{document.id}"))
    number = one_version(found["title"])
    expect("pages", found["page_count"], pages_of(number))
    expect("fields", found["counts"]["fields"], fields_of(number))


def status(document: Shelved) -> None:
    found = read_json(document.program.get(f"/documents/{document.id}/status"))
    states = {"PROCESSING": {"QUEUED", "RUNNING"}, "READY": {"SUCCEEDED"}}
    expect("state", found["run"]["state"] in states[found["status"]], True)


def search(document: Shelved) -> None:
    found = read_json(document.program.get("/search?q=harbours and lights&limit=100"))["hits"]
    # The other document has the text of version 0.
    hits = [hit for hit in found if hit["document_id"] == document.id]
    expect("hits", len(hits) > 0, True)
    one_version(*(f"{hit['text']} {hit['title']}" for hit in hits))


def connections(document: Shelved) -> None:
    """They come a moment after a result: none, or those of one result."""
    found = read_json(document.program.get(f"/documents/{document.id}/connections"))["connections"]
    if found:
        one_version(*(each["chunk"]["text"] for each in found))


def page(document: Shelved) -> None:
    """The page for people, and the next part of its text."""
    first = document.browser.get(f"/documents/{document.id}").text
    number = one_version(first)
    expect("tab", re.search(_TAB.format("fields"), first, re.DOTALL)[1], str(fields_of(number)))  # type: ignore[index]
    expect("pages", f'<dd class="number">{pages_of(number)}</dd>' in first, True)
    [url] = _NEXT_PART.findall(first)
    answer = document.browser.get(unescape(url))
    if not is_refused(answer, document):
        one_version(first, answer.text)


def passages(document: Shelved) -> None:
    """The passages for people, and what HTMX adds to them."""
    first = document.browser.get(f"/documents/{document.id}/chunks").text
    number = one_version(first)
    expect("pages", f'<dd class="number">{pages_of(number)}</dd>' in first, True)
    [url] = set(_MORE.findall(first))
    answer = document.browser.get(unescape(url), headers=HX)
    if not is_refused(answer, document):
        one_version(first, answer.text)


def picture(document: Shelved) -> None:
    answer = document.browser.get(f"/documents/{document.id}/pages/1.png?size=small")
    expect("picture", (answer.status_code, answer.mimetype), (200, "image/png"))


Reader = Callable[[Shelved], None]
READERS: Sequence[Reader] = (
    markdown, chunks, fields, tables, facts, status, search, connections, page, passages, picture,
)  # fmt: skip
