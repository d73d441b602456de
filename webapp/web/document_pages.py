"""One document: what was read out of it, how far it is, and what can be done with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.db import reading
from webapp.documents import events, library, runs
from webapp.documents.model import Document, DocumentField, DocumentTable
from webapp.documents.states import RunTrigger
from webapp.pipeline import lifecycle
from webapp.pipeline.markdown import split_pages
from webapp.providers.errors import BlobMissing
from webapp.search import connections, passages
from webapp.search.model import Chunk
from webapp.web import blobs, fragments, markdown, recordings
from webapp.web.access import get_document, org_id, principal, services
from webapp.web.errors import Problem
from webapp.web.markdown import RenderedPiece
from webapp.web.standing import Standing, document_json, is_in_pause, run_json, run_seconds, standings
from webapp.web.timeline import run_views

pages = Blueprint("document", __name__, url_prefix="/documents/<uuid:document_id>")
pages.add_app_template_filter(markdown.render, "as_html")

PASSAGES_SHOWN = 50
_NUMBER_DIGITS_MAX = 9


@dataclass(frozen=True)
class Section:
    """One of the tabs."""

    name: str
    url: str
    count: int | None = None


@dataclass(frozen=True)
class Found:
    """A document with all that each of its sections shows around its own content."""

    standing: Standing
    result_at: datetime | None
    result_seconds: float | None
    counts: Mapping[str, int]

    @property
    def document(self) -> Document:
        return self.standing.document


@dataclass(frozen=True)
class Text:
    """A part of the text, with the way to the parts around it."""

    pieces: list[RenderedPiece]
    number: int
    total: int
    previous_url: str | None
    next_url: str | None

    @property
    def first_page(self) -> int | None:
        return next((piece.page for piece in self.pieces if piece.page), None)

    @property
    def last_page(self) -> int | None:
        return next((piece.page for piece in reversed(self.pieces) if piece.page), None)


@pages.get("")
def show(document_id: UUID) -> Response:
    """The document with its text."""
    found = find(document_id)
    if fragments.is_for_program():
        return jsonify({**document_json(found.standing), "counts": found.counts})
    recording = recordings.find(services(), found.document) if found.standing.has_result else None
    return show_section(found, "text", lambda: None, recording=recording, text=None if recording else _text(found))


@pages.get("/status")
def status(document_id: UUID) -> Response:
    """How far it is: JSON, or the fragment that asked, which polls again only while there is more to come."""
    if fragments.is_for_program() or not fragments.wants_fragment():
        return jsonify(_standing(document_id).as_json())
    if request.args.get("view") == "page":
        found = find(document_id)
        response = fragments.replacing("document/_status.html", **_context(found))
        standing = found.standing
    else:
        standing = _standing(document_id)
        response = fragments.replacing("library/_status.html", row=standing)
    return response if standing.is_processing else fragments.trigger(response, "document-changed")


@pages.get("/fields")
def fields(document_id: UUID) -> Response:
    """Named values, with their pages and how sure the reader was."""
    found, org = find(document_id), org_id()
    with reading(org):
        shown = library.fields(org, document_id)
    return show_section(found, "fields", lambda: {"fields": [_field_json(one) for one in shown]}, fields=shown)


@pages.get("/tables")
def tables(document_id: UUID) -> Response:
    """Tables as rows of cells."""
    found, org = find(document_id), org_id()
    with reading(org):
        shown = library.tables(org, document_id)
    return show_section(found, "tables", lambda: {"tables": [_table_json(one) for one in shown]}, tables=shown)


@pages.get("/chunks")
def chunks(document_id: UUID) -> Response:
    """The passages, some at a time; `start` is the number of the first, `passage` the id of one to begin with."""
    found, org = find(document_id), org_id()
    with reading(org):
        start = _start(org, document_id)
        listed = passages.page(org, document_id, start=start, limit=PASSAGES_SHOWN + 1)
    shown = listed[:PASSAGES_SHOWN]
    next_start = listed[PASSAGES_SHOWN].ordinal if len(listed) > PASSAGES_SHOWN else None
    next_url = url_for(".chunks", document_id=document_id, start=next_start) if next_start else None
    return show_section(
        found,
        "passages",
        lambda: {"chunks": [_chunk_json(one) for one in shown], "next_start": next_start},
        passages=shown,
        next_url=next_url,
    )


@pages.get("/runs", endpoint="runs")
def history(document_id: UUID) -> Response:
    """Each run, and what happened in it."""
    found, org = find(document_id), org_id()
    with reading(org):
        listed = library.runs(org, document_id)
        moments = events.timeline(org, document_id)
    views = run_views(listed, moments)
    return show_section(
        found,
        "runs",
        lambda: {
            "runs": [
                {
                    **run_json(run),
                    "events": [
                        {"at": event.created_at, "kind": event.kind, "step": event.step, "details": event.details}
                        for event in moments
                        if event.run_id == run.id
                    ],
                }
                for run in listed
            ]
        },
        runs=views,
    )


@pages.get("/markdown", endpoint="markdown")
def whole_text(document_id: UUID) -> Response:
    """The whole text as one Markdown file."""
    document = get_document(document_id)
    text = _markdown(document)
    if text is None:
        raise Problem(404, detail="This document has no text yet.")
    return blobs.download(text.encode(), f"{document.filename}.md", "text/markdown; charset=utf-8")


@pages.get("/original")
def original(document_id: UUID) -> Response:
    """The file as it was uploaded; never shown in place, always saved."""
    document = get_document(document_id)
    return blobs.download_blob(services().providers.blobs, document)


@pages.post("/reprocess")
def reprocess(document_id: UUID) -> Response:
    """A new run. What readers see stays until it has succeeded."""
    org, found = org_id(), services()
    try:
        lifecycle.queue_run(
            found.queue, org, document_id, RunTrigger.REPROCESS, max_attempts=found.settings.job_max_attempts
        )
    except runs.DocumentMissing as error:
        raise Problem(404) from error
    return _answer_changed(document_id, 202)


@pages.post("/runs/<uuid:run_id>/cancel")
def cancel_run(document_id: UUID, run_id: UUID) -> Response:
    """End a run that waits or is at work. What readers saw before stays."""
    who = principal()
    with reading(who.org_id):
        is_known = runs.is_of(run_id, who.org_id, document_id)
    if not is_known:
        raise Problem(404)
    if not lifecycle.cancel_run(services().queue, who.org_id, document_id, run_id, who.name):
        raise Problem(409, "ended", detail="This run has ended already.")
    return _answer_changed(document_id, 200)


def _answer_changed(document_id: UUID, status: int) -> Response:
    """How the document stands now, in the form that was asked for."""
    standing = _standing(document_id)
    if fragments.is_for_program():
        return make_response(jsonify(standing.as_json()), status)
    if not fragments.wants_fragment():
        return make_response(redirect(url_for(".show", document_id=document_id), 303))
    if request.form.get("from") == "library":
        response = fragments.replacing("library/_row.html", row=standing)
    else:
        response = fragments.replacing("document/_live.html", **_context(find(document_id)))
    return fragments.trigger(response, "document-changed")


@pages.get("/delete")
def confirm_delete(document_id: UUID) -> Response:
    """The question, for whoever cannot be asked in a dialog."""
    return make_response(render_template("document/delete.html", document=get_document(document_id)))


@pages.post("/delete")
def delete(document_id: UUID) -> Response:
    """Deleting for browsers, whose forms know no DELETE."""
    document = get_document(document_id)
    _delete(document_id)
    flash(render_template("document/_deleted.txt", document=document).strip(), "success")
    return make_response(redirect(url_for("library.index"), 303))


@pages.delete("")
def remove(document_id: UUID) -> Response:
    """Gone, blobs and all."""
    _delete(document_id)
    return Response(status=204)


def _delete(document_id: UUID) -> None:
    found = services()
    folders = lifecycle.delete_document(found.queue, org_id(), document_id)
    if folders is None:
        raise Problem(404)
    blobs.remove_folders(found.providers.blobs, folders)


def show_section(found: Found, name: str, data: Any, **content: Any) -> Response:
    """A tab: the whole page, or for HTMX the tab alone."""
    return fragments.answer(
        page="document/page.html",
        fragment="document/_section.html",
        data=data,
        section=name,
        section_url=request.full_path.removesuffix("?"),
        sections=_sections(found),
        **_context(found),
        **content,
    )


def _sections(found: Found) -> list[Section]:
    def url(endpoint: str) -> str:
        return url_for(f"document.{endpoint}", document_id=found.document.id)

    return [
        Section("text", url("show")),
        Section("fields", url("fields"), found.counts["fields"]),
        Section("tables", url("tables"), found.counts["tables"]),
        Section("passages", url("chunks"), found.counts["chunks"]),
        Section("connections", url_for("connections.show", document_id=found.document.id), found.counts["connections"]),
        Section("runs", url("runs"), found.counts["runs"]),
    ]


def _context(found: Found) -> dict[str, Any]:
    return {
        "document": found.document,
        "live": found.standing,
        "is_in_pause": is_in_pause(services().queue, found.standing),
        "result_at": found.result_at,
        "result_seconds": found.result_seconds,
    }


def find(document_id: UUID) -> Found:
    """A document of the asking org with what all of its sections show; 404 where there is none."""
    org = org_id()
    with reading(org):
        standing = _read_standing(org, document_id)
        published = library.published_run(org, document_id)
        counts = {
            **library.part_counts(org, document_id),
            "chunks": passages.count(org, document_id),
            "connections": connections.count(org, document_id),
        }
    return Found(
        standing, published.finished_at if published else None, run_seconds(published) if published else None, counts
    )


def _standing(document_id: UUID) -> Standing:
    org = org_id()
    with reading(org):
        return _read_standing(org, document_id)


def _read_standing(org: UUID, document_id: UUID) -> Standing:
    row = library.get_row(org, document_id)
    if row is None:
        raise Problem(404)
    [standing] = standings(services().queue, [row])
    return standing


def _text(found: Found) -> Text | None:
    """The part that was asked for, by its number or by a page that is in it."""
    source = _markdown(found.document) if found.standing.has_result else None
    parts = markdown.parts(split_pages(source, found.document.page_count)) if source and source.strip() else []
    if not parts:
        return None
    page = number_in_query("page")
    index = markdown.part_of_page(parts, page) if page else (number_in_query("part") or 1) - 1
    index = min(index, len(parts) - 1)

    def url(part: int) -> str:
        return url_for(".show", document_id=found.document.id, part=part)

    return Text(
        pieces=markdown.rendered(parts, index),
        number=index + 1,
        total=len(parts),
        previous_url=url(index) if index else None,
        next_url=url(index + 2) if index + 1 < len(parts) else None,
    )


def _markdown(document: Document) -> str | None:
    org = document.org_id
    with reading(org):
        artifact = library.artifact(org, document.id, "markdown")
    if artifact is None:
        return None
    try:
        return services().providers.blobs.read_bytes(artifact.path).decode("utf-8", "replace")
    except BlobMissing:
        # Deleted between the two looks.
        return None


def _start(org: UUID, document_id: UUID) -> int:
    passage = request.args.get("passage", type=UUID)
    place = passages.number_of(org, document_id, passage) if passage else number_in_query("start")
    return place or 0


def number_in_query(name: str) -> int | None:
    """A whole number of the query; anything else is as if it were not there."""
    value = request.args.get(name, "")[:_NUMBER_DIGITS_MAX]
    return int(value) if value.isascii() and value.isdigit() and int(value) > 0 else None


def _field_json(field: DocumentField) -> dict[str, Any]:
    return {
        "name": field.name,
        "value": field.value,
        "confidence": field.confidence,
        "page": field.page,
        "polygon": field.polygon,
    }


def _table_json(table: DocumentTable) -> dict[str, Any]:
    return {"page": table.page, "caption": table.caption, "rows": table.rows}


def _chunk_json(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "ordinal": chunk.ordinal,
        "text": chunk.text,
        "heading": chunk.heading,
        "page_from": chunk.page_from,
        "page_to": chunk.page_to,
        "time_from": chunk.time_from,
        "time_to": chunk.time_to,
        "embedding_model": chunk.embedding_model,
    }
