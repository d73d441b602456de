"""The step `chunk`: Markdown -> passages, with their pages and headings.

The ids follow from document and text: a retry writes the same rows, and a reprocess keeps the ids of unchanged
passages.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from semantic_text_splitter import MarkdownSplitter

from webapp.pipeline.artifacts import artifact_path, digest, parsed, read_artifact
from webapp.pipeline.extract import load_extraction
from webapp.pipeline.markdown import find_headings, unmark
from webapp.pipeline.steps import StageContext
from webapp.pipeline.transcript import NO_CUES, Cues, write
from webapp.pipeline.unsaved import Stored
from webapp.provider_errors import BadInput, FailureCode
from webapp.providers.speech_ports import Transcript
from webapp.readers.extraction import Extraction
from webapp.runs.stages import CHUNK
from webapp.search.passages import says_something

CHUNK_CHARACTERS = (600, 1000)
# The splitter gets no more text than this at once: its time grows with the square of a text without places to cut.
PIECE_CHARACTERS = 40_000


_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+]|\d{1,4}[.)])[ \t]")
LEADERS_MIN = 4
_DOTS, _BETWEEN = ".\u00b7\u2026", " \t\\"
_PAGE = re.compile(r"\d{1,5}|[ivxlc]{1,7}")


@dataclass(frozen=True, slots=True)
class StagedChunk:
    """A passage that is not published yet."""

    id: UUID
    ordinal: int
    text: str
    sha256: str
    heading: str | None
    page_from: int | None
    page_to: int | None
    time_from: float | None = None
    time_to: float | None = None
    has_vector: bool = True
    """Whether it is found by meaning, too, and not by its words alone."""


def chunk(context: StageContext) -> None:
    """The step: cut the extracted text, and stage the passages as a blob."""
    context.step(CHUNK, lambda: _compute(context), lambda count: Stored(details={"chunks": count}))


def load_chunks(context: StageContext) -> list[StagedChunk]:
    """Read the passages that the step staged."""
    return parsed(context, "chunks", _from_json)


def make_chunks(
    document_id: UUID, extraction: Extraction, cues: Cues = NO_CUES, check: Callable[[], None] = lambda: None
) -> list[StagedChunk]:
    """Cut a document's text into passages; `cues` are the times of a recording's text.

    `check` is called before each piece of the text, and raises to stop.
    """
    unmarked = unmark(extraction.markdown, extraction.page_count)
    headings = find_headings(unmarked.text)
    seen: Counter[str] = Counter()
    on_page: Counter[int | None] = Counter()
    chunks: list[StagedChunk] = []
    for offset, cut in _cut(unmarked.text, check):
        text, end = without_leaders(cut), offset + len(cut)
        if not says_something(text):
            continue
        sha256 = digest(text.encode())
        time_from, time_to = cues.span(offset, end)
        page = unmarked.page_at(offset)
        chunks.append(
            StagedChunk(
                id=uuid5(document_id, f"{sha256}:{seen[sha256]}"),
                ordinal=len(chunks),
                text=text,
                sha256=sha256,
                heading=headings.at(offset),
                page_from=page,
                page_to=unmarked.page_at(end - 1),
                time_from=time_from,
                time_to=time_to,
                has_vector=extraction.vectors_max is None or on_page[page] < extraction.vectors_max,
            )
        )
        on_page[page] += 1
        seen[sha256] += 1
    return chunks


def _compute(context: StageContext) -> int:
    chunks = make_chunks(context.document_id, load_extraction(context), _cues(context), context.check)
    if not chunks:
        raise BadInput("the document holds no text", code=FailureCode.NO_TEXT)
    data = _to_json(chunks)
    path = artifact_path(context, "chunks", data, "json")
    context.make("chunks", path, data)
    context.parsed[path] = chunks
    return len(chunks)


def _cues(context: StageContext) -> Cues:
    if "transcript" not in context.checkpoint["artifacts"]:
        return NO_CUES
    return write(Transcript.from_json(read_artifact(context, "transcript"))).cues


def _to_json(chunks: Sequence[StagedChunk]) -> bytes:
    # Not `asdict`, which copies each value deeply.
    rows = [{name: getattr(each, name) for name in StagedChunk.__slots__} | {"id": str(each.id)} for each in chunks]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


def _from_json(data: bytes) -> list[StagedChunk]:
    return [StagedChunk(**(row | {"id": UUID(row["id"])})) for row in json.loads(data)]


def _cut(text: str, check: Callable[[], None]) -> Iterator[tuple[int, str]]:
    # In this process: a child would cost 4 ms and a copy of the text, and no piece of this size that was tried, hostile
    # ones among them, blocks other threads for as long as 50 ms.
    splitter = MarkdownSplitter(CHUNK_CHARACTERS)
    for start, piece in _pieces(text):
        check()
        begin = end = 0
        for offset, found in splitter.chunk_indices(piece):
            if end and not _goes_on(piece, begin, end, offset, found):
                yield start + begin, piece[begin:end]
                begin = offset
            elif not end:
                begin = offset
            end = offset + len(found)
        if end:
            yield start + begin, piece[begin:end]


def _goes_on(piece: str, begin: int, end: int, offset: int, found: str) -> bool:
    """Whether a list goes on in the next passage that would fit into this one: the splitter ends it where it may."""
    fits = offset + len(found) - begin <= CHUNK_CHARACTERS[1]
    if not fits or not _ITEM.match(found) or "\n\n" in piece[end:offset]:
        return False
    return bool(_ITEM.match(piece, piece.rfind("\n", begin, end) + 1))


def without_leaders(text: str) -> str:
    """Without the dots that lead from an entry of a table of contents to its page; other texts are as they were."""
    return "\n".join(map(_without_leaders, text.split("\n"))) if any(dot in text for dot in _DOTS) else text


def _without_leaders(line: str) -> str:
    """By hand: a pattern would try each dot of a long run."""
    entry = line.rstrip(" \t|")
    before = entry.rstrip("0123456789ivxlc")
    name = before.rstrip(_DOTS + _BETWEEN)
    if sum(map(before[len(name) :].count, _DOTS)) < LEADERS_MIN or not _PAGE.fullmatch(entry, len(before)):
        return line
    return f"{name} {line[len(before) :]}"


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Cut a long text before a heading, else at a blank line, else at a line's end, else anywhere."""
    start = 0
    while start < len(text):
        end = _piece_end(text, start)
        yield start, text[start:end]
        start = end


def _piece_end(text: str, start: int) -> int:
    limit = start + PIECE_CHARACTERS
    if limit >= len(text):
        return len(text)
    for mark in ("\n# ", "\n## ", "\n### ", "\n\n", "\n", " "):
        # In the second half only, so that pieces don't become small.
        found = text.rfind(mark, start + PIECE_CHARACTERS // 2, limit)
        if found >= 0:
            return found + 1
    return limit
