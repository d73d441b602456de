"""The tools that an assistant can call. Each is one or two requests to the HTTP API, which checks who may do what."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

Arguments = Mapping[str, Any]
PIECE_CHARACTERS = 20_000
HITS, HITS_MAX = 10, 50
DOCUMENTS_MAX = 50

_PAGE_MARK = re.compile(r"^<!-- page (\d{1,6}) -->[ \t]*$", re.MULTILINE)
_DOCUMENT_ID = {"type": "string", "format": "uuid", "description": "The id of a document."}
_QUERY_CHARACTERS_MAX = 1_000


class ToolFailed(Exception):
    """The tool could not do it; the message is a sentence."""


class Api(Protocol):
    """The HTTP API, with the token of the person or program that the assistant works for. ToolFailed when refused."""

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON under an address."""

    def get_text(self, path: str) -> str:
        """The text under an address."""

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change something, and get JSON."""


@dataclass(frozen=True)
class LibraryTool:
    """A tool: what it is called, what an assistant is told of it, the arguments that it takes, and what it does."""

    name: str
    description: str
    arguments: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]
    call: Callable[[Api, Arguments], Any]
    writes: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The arguments as JSON Schema."""
        properties = {name: dict(schema) for name, schema in self.arguments.items()}
        return {
            "type": "object",
            "properties": properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


def _search(api: Api, asked: Arguments) -> Any:
    wanted = {"q": asked["query"], "limit": min(int(asked.get("limit", HITS)), HITS_MAX)}
    if "document_id" in asked:
        wanted["document"] = str(_document_id(asked))
    found = api.get("/search", **wanted)
    kept = ("document_id", "chunk_id", "filename", "title", "text", "heading", "page_from", "page_to", "time_from")
    return {
        "passages": [{name: hit[name] for name in kept if hit[name] is not None} for hit in found["hits"]],
        "documents": [_brief(each) for each in found.get("documents", ())],
        "did_you_mean": found["did_you_mean"],
    }


def _list_documents(api: Api, asked: Arguments) -> Any:
    wanted = {name: asked[name] for name in ("folder", "cursor") if name in asked}
    found = api.get("/documents", q=asked.get("query", ""), limit=DOCUMENTS_MAX, **wanted)
    return {"documents": [_brief(each) for each in found["documents"]], "next_cursor": found["next_cursor"]}


def _list_failures(api: Api, asked: Arguments) -> Any:
    wanted = {"cursor": asked["cursor"]} if "cursor" in asked else {}
    found = api.get("/documents", status="failed", limit=DOCUMENTS_MAX, **wanted)
    documents = [{**_brief(each), "why": (each["error"] or {}).get("message")} for each in found["documents"]]
    return {"documents": documents, "next_cursor": found["next_cursor"]}


def _brief(document: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("id", "filename", "title", "kind", "document_date", "folder", "status", "page_count", "pages_read")
    return {name: document[name] for name in kept if document[name] is not None}


def _read(api: Api, asked: Arguments) -> Any:
    text = api.get_text(f"/documents/{_document_id(asked)}/markdown")
    first, last = asked.get("first_page"), asked.get("last_page")
    if first is not None or last is not None:
        text = _pages(text, int(first or 1), int(last or first or 1))
    start = max(0, int(asked.get("start", 0)))
    end = start + PIECE_CHARACTERS
    return {"text": text[start:end], "next_start": end if end < len(text) else None, "characters": len(text)}


def _pages(text: str, first: int, last: int) -> str:
    """The text from one page to another, with the marks that begin them. What is before the first mark is page 1."""
    marks = list(_PAGE_MARK.finditer(text))
    if not marks:
        raise ToolFailed("The text of this document has no pages: leave first_page and last_page out.")
    begins = 0 if first <= 1 else next((mark.start() for mark in marks if int(mark[1]) >= first), len(text))
    ends = next((mark.start() for mark in marks if int(mark[1]) > last), len(text))
    return text[begins:ends]


def _part(name: str) -> Callable[[Api, Arguments], Any]:
    return lambda api, asked: api.get(f"/documents/{_document_id(asked)}{name}")


def _tag(api: Api, asked: Arguments) -> Any:
    return {"tags": api.patch(f"/documents/{_document_id(asked)}", {"tags": asked["tags"]})["tags"]}


def _document_id(asked: Arguments) -> UUID:
    """The id, and nothing that leads to another address."""
    try:
        return UUID(asked["document_id"])
    except ValueError as error:
        raise ToolFailed("document_id must be the id of a document, as search gives it.") from error


_CURSOR = {"type": "string", "maxLength": 500, "description": "The next_cursor of the last answer."}
TOOLS = (
    LibraryTool(
        "search",
        "Search all documents, or one. Finds passages by words and by meaning, in any language. "
        'Also understood: "exact phrases", -not, OR, prefix*, kind:invoice, tag:tax, in:"file name", before:2025, '
        "after:2024-03.",
        {
            "query": {"type": "string", "maxLength": _QUERY_CHARACTERS_MAX, "description": "What to look for."},
            "document_id": _DOCUMENT_ID,
            "limit": {"type": "integer", "minimum": 1, "maximum": HITS_MAX},
        },
        ("query",),
        _search,
    ),
    LibraryTool(
        "list_documents",
        "List documents, the newest first; `query` takes the filters of search, as in kind:invoice after:2024.",
        {
            "query": {"type": "string", "maxLength": _QUERY_CHARACTERS_MAX},
            "folder": {"type": "string", "maxLength": _QUERY_CHARACTERS_MAX},
            "cursor": _CURSOR,
        },
        (),
        _list_documents,
    ),
    LibraryTool(
        "get_document",
        "Get all that is known about a document: names, kind, date, tags, pages, status, warnings.",
        {"document_id": _DOCUMENT_ID},
        ("document_id",),
        _part(""),
    ),
    LibraryTool(
        "read_document",
        f"Read the text of a document as Markdown, {PIECE_CHARACTERS:,} characters at a time. "
        "“<!-- page 3 -->” begins page 3. Choose pages, or go on with `start`.",
        {
            "document_id": _DOCUMENT_ID,
            "first_page": {"type": "integer", "minimum": 1},
            "last_page": {"type": "integer", "minimum": 1},
            "start": {"type": "integer", "minimum": 0, "description": "The next_start of the last answer."},
        },
        ("document_id",),
        _read,
    ),
    LibraryTool(
        "get_fields",
        "Get the values that were found in a document, such as an invoice's number, date and total.",
        {"document_id": _DOCUMENT_ID},
        ("document_id",),
        _part("/fields"),
    ),
    LibraryTool(
        "get_tables",
        "Get the tables of a document, as rows of cells.",
        {"document_id": _DOCUMENT_ID},
        ("document_id",),
        _part("/tables"),
    ),
    LibraryTool(
        "list_failures", "List documents that could not be processed, and why.", {"cursor": _CURSOR}, (), _list_failures
    ),
    LibraryTool(
        "set_tags",
        "Let a document have these tags and no others.",
        {"document_id": _DOCUMENT_ID, "tags": {"type": "array", "items": {"type": "string"}}},
        ("document_id", "tags"),
        _tag,
        writes=True,
    ),
)
