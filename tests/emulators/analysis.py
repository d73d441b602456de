"""Builds an AnalyzeResult as the service would: content, pages, words, paragraphs, tables, key-value pairs.

Spans count code points. Words are in the content where their spans say.
"""

import html
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from tests.emulators import layout
from tests.emulators.layout import Block, LayoutPage, Line, Word

API_VERSION = "2024-11-30"
PAGE_BREAK = "\n\n<!-- PageBreak -->\n\n"


@dataclass
class _Content:
    """The text as it grows, and the place of each word."""

    text: str = ""
    spans: dict[int, dict[str, int]] = field(default_factory=dict)

    def add(self, text: str) -> None:
        self.text += text

    def add_words(self, words: Sequence[Word], *, escape: bool) -> dict[str, int]:
        start = len(self.text)
        for place, word in enumerate(words):
            self.add(" " if place else "")
            shown = html.escape(word.text, quote=False) if escape else word.text
            self.spans[id(word)] = {"offset": len(self.text), "length": len(shown)}
            self.add(shown)
        return {"offset": start, "length": len(self.text) - start}


@dataclass
class _Result:
    content: _Content
    pages: list[dict[str, Any]] = field(default_factory=list)
    paragraphs: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)


def analyze(data: bytes, model: str, query: dict[str, str]) -> dict[str, Any]:
    """The whole result for a PDF, an Office file or a picture."""
    markdown = query.get("outputContentFormat") == "markdown"
    if data.startswith(b"PK"):
        result, pages = _office(data), []
    elif b"%PDF-" in data[:1024]:
        pages = layout.pages(data, wanted(query.get("pages"), layout.page_count(data)))
        result = _pdf(pages, markdown=markdown)
    else:
        result, pages = _picture(), []
    features = query.get("features", "").split(",")
    return {
        "apiVersion": API_VERSION,
        "modelId": model,
        "stringIndexType": query.get("stringIndexType", "textElements"),
        "contentFormat": "markdown" if markdown else "text",
        "content": result.content.text,
        "pages": result.pages,
        "paragraphs": result.paragraphs,
        "tables": result.tables,
        "figures": [],
        "sections": [],
        "styles": [],
        "languages": _languages(result) if "languages" in features else [],
        "keyValuePairs": list(_pairs(pages, result.content)) if "keyValuePairs" in features else [],
        "documents": _documents(pages, result.content, model),
        "warnings": [],
    }


def wanted(pages: str | None, count: int) -> list[int]:
    """The numbers that "1-3,7" names, as far as the document has them."""
    if not pages:
        return list(range(1, count + 1))
    found: list[int] = []
    for part in pages.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), min(int(last or first), count) + 1)
    return [number for number in found if number <= count]


def _pdf(pages: Sequence[LayoutPage], *, markdown: bool) -> _Result:
    result = _Result(_Content())
    for place, page in enumerate(pages):
        if place:
            result.content.add(PAGE_BREAK if markdown else "\n")
        start = len(result.content.text)
        for number, block in enumerate(page.blocks):
            result.content.add("\n\n" if number and markdown else "\n" if number else "")
            _add_block(result, page, block, markdown=markdown)
        result.pages.append(_page(page, result.content, start))
    return result


def _add_block(result: _Result, page: LayoutPage, block: Block, *, markdown: bool) -> None:
    if block.kind == "table":
        _add_table(result, page, block, markdown=markdown)
        return
    role = None
    if block.kind == "heading":
        role = "title" if page.number == 1 and not result.paragraphs else "sectionHeading"
        result.content.add(("# " if role == "title" else "## ") if markdown else "")
    start = len(result.content.text)
    for place, line in enumerate(block.lines):
        result.content.add("\n" if place else "")
        result.content.add_words(line.words, escape=False)
    span = {"offset": start, "length": len(result.content.text) - start}
    words = [word for line in block.lines for word in line.words]
    paragraph = {"content": result.content.text[start:], **_place(page.number, words), "spans": [span]}
    result.paragraphs.append(paragraph | ({"role": role} if role else {}))


def _add_table(result: _Result, page: LayoutPage, block: Block, *, markdown: bool) -> None:
    start, cells = len(result.content.text), []
    result.content.add("<table>\n" if markdown else "")
    for row_index, row in enumerate(block.rows):
        result.content.add("<tr>\n" if markdown else "\n" if row_index else "")
        tag = "td" if row_index else "th"
        for column, words in enumerate(row):
            result.content.add(f"<{tag}>" if markdown else "\n" if column else "")
            span = result.content.add_words(words, escape=markdown)
            result.content.add(f"</{tag}>\n" if markdown else "")
            kind = {} if row_index else {"kind": "columnHeader"}
            text = " ".join(word.text for word in words)
            cell = {"rowIndex": row_index, "columnIndex": column, "content": text, "spans": [span]}
            cells.append(kind | cell | _place(page.number, words))
        result.content.add("</tr>\n" if markdown else "")
    result.content.add("</table>" if markdown else "")
    words = [word for line in block.lines for word in line.words]
    result.tables.append(
        {
            "rowCount": len(block.rows),
            "columnCount": max(map(len, block.rows)),
            "cells": cells,
            **_place(page.number, words),
            "spans": [{"offset": start, "length": len(result.content.text) - start}],
        }
    )


def _page(page: LayoutPage, content: _Content, start: int) -> dict[str, Any]:
    return {
        "pageNumber": page.number,
        "angle": 0,
        "width": round(page.width, 4),
        "height": round(page.height, 4),
        "unit": "inch",
        "spans": [{"offset": start, "length": len(content.text) - start}],
        "words": [_word(word, content) for line in page.lines for word in line.words],
        "lines": [_line(line, content) for line in page.lines],
    }


def _word(word: Word, content: _Content) -> dict[str, Any]:
    return {
        "content": word.text,
        "polygon": layout.polygon(word.box),
        "confidence": layout.CONFIDENCE,
        "span": content.spans[id(word)],
    }


def _line(line: Line, content: _Content) -> dict[str, Any]:
    spans = [content.spans[id(word)] for word in line.words]
    return {"content": line.text, "polygon": layout.polygon(line.box), "spans": spans}


def _place(page: int, words: Iterable[Word]) -> dict[str, Any]:
    box = layout.around([word.box for word in words])
    return {"boundingRegions": [{"pageNumber": page, "polygon": layout.polygon(box)}]}


def _element(page: int, words: Sequence[Word], content: _Content) -> dict[str, Any]:
    spans = [content.spans[id(word)] for word in words]
    return {"content": " ".join(word.text for word in words), **_place(page, words), "spans": spans}


def _pairs(pages: Sequence[LayoutPage], content: _Content) -> Iterable[dict[str, Any]]:
    for page in pages:
        lines = [line for block in page.blocks if block.kind == "text" for line in block.lines]
        for key, value, confidence in layout.key_values(lines):
            yield {
                "key": _element(page.number, key, content),
                "value": _element(page.number, value, content),
                "confidence": confidence,
            }


def _documents(pages: Sequence[LayoutPage], content: _Content, model: str) -> list[dict[str, Any]]:
    """Typed fields, for the models that have some."""
    if model in {"prebuilt-layout", "prebuilt-read"} or not pages:
        return []
    fields: dict[str, Any] = {}
    for pair in _pairs(pages, content):
        name = re.sub(r"\W", "", pair["key"]["content"].title())
        value = pair["value"]
        fields[name] = {"type": "string", "valueString": value["content"], **value, "confidence": pair["confidence"]}
    items = [
        {"type": "object", "valueObject": {"Quantity": {"type": "number", "valueNumber": count, "confidence": 0.7}}}
        for count in (40, 80)
    ]
    fields["Items"] = {"type": "array", "valueArray": items}
    return [{"docType": model.removeprefix("prebuilt-"), "fields": fields, "confidence": 0.95, "spans": []}]


def _languages(result: _Result) -> list[dict[str, Any]]:
    whole = {"offset": 0, "length": len(result.content.text)}
    return [{"locale": "en", "confidence": 0.95, "spans": [whole]}] if result.content.text else []


def _office(data: bytes) -> _Result:
    """A Word file: paragraphs without places, as the service gives them."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        source = archive.read("word/document.xml").decode()
    texts = ["".join(re.findall(r"<w:t[^>]*>([^<]*)", part)) for part in source.split("</w:p>")]
    result = _Result(_Content())
    for text in filter(None, map(html.unescape, texts)):
        result.content.add("\n\n" if result.content.text else "")
        span = {"offset": len(result.content.text), "length": len(text)}
        result.content.add(text)
        result.paragraphs.append({"content": text, "spans": [span]})
    whole = {"offset": 0, "length": len(result.content.text)}
    result.pages.append({"pageNumber": 1, "spans": [whole], "words": [], "lines": []})
    return result


def _picture() -> _Result:
    """A picture in which nothing is written: the emulator cannot see."""
    page = {"pageNumber": 1, "angle": 0, "width": 800, "height": 600, "unit": "pixel", "spans": [], "words": []}
    return _Result(_Content(), [page | {"lines": []}])
