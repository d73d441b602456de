"""One document: what was read out of it, how far it is, and what can be done with it."""

from typing import Any
from uuid import UUID

from flask import Blueprint, Response, jsonify, make_response, redirect, request, url_for

from webapp.accounts import actors
from webapp.clock import monotonic
from webapp.db import reading
from webapp.documents import events
from webapp.documents.kinds import is_recording
from webapp.documents.model import Document
from webapp.documents.states import RunTrigger
from webapp.library import fields as shown_fields
from webapp.library import lookup
from webapp.library import tables as shown_tables
from webapp.library.pages import page_readings
from webapp.library.searchable import WORDS
from webapp.providers.spoken import SPOKEN
from webapp.readers.filetypes import filetype
from webapp.runs import lifecycle, transitions
from webapp.search import passages
from webapp.search.filters import KINDS
from webapp.web import blobs, fragments, kinds, markdown, sentences, shapes
from webapp.web.access import get_document, org_id, principal, services
from webapp.web.document import (
    details_form,
    field_list,
    hit_steps,
    part_list,
    reader,
    recordings,
    results,
    sections,
    text_view,
)
from webapp.web.document.mending import offered
from webapp.web.document.results import Place, ShownResult, find, number_in_query, view_of
from webapp.web.document.timeline import run_views
from webapp.web.document_view import DocumentView
from webapp.web.errors import Problem
from webapp.web.long_polls import long_polls
from webapp.web.numbers import whole_number
from webapp.web.rates import count_reprocess, reprocess_left
from webapp.web.security_log import note_download
from webapp.web.sentences import Sentence
from webapp.web.shapes import run_json, status_json
from webapp.web.spoken_language import as_checkpoint, asked_language

pages = Blueprint("document", __name__, url_prefix="/documents/<uuid:document_id>")
pages.add_app_template_filter(markdown.render, "as_html")

PASSAGES_SHOWN = 50
WAIT_SECONDS_MAX = 30
_DETAILS = frozenset(("details", "pages", "passages", "runs"))
_NEVER_READ = "Docmill can't read this kind of file, so it has no text. The file is kept as it is."


@pages.get("")
def show(document_id: UUID) -> Response:
    """The document with its text."""
    org = org_id()
    with reading(org):
        found = find(document_id)
        paths = lookup.artifact_paths(org, document_id)
        is_partly_read = found.document.is_partly_read and not fragments.is_for_program()
        readings = page_readings(org, document_id, not_well=True) if is_partly_read else ()
        wanted = text_view.asked_passage(org, document_id)
    if fragments.is_for_program():
        return jsonify(found.json())
    results.expect_run(found.document, results.asked_run())
    words = paths.get(WORDS)
    if found.document.is_kept:
        beside = reader.beside(found, "file", words=words)
        return show_section(found, "file", dict, kept=_why_kept(found.document), reader=beside)
    if found.counts["parts"] and filetype(found.document.content_type).is_archive and not _asks_for_text():
        # What people look for in an archive is what lies in it; its own text is the list of the names.
        return _show_parts(found, 0)
    recording = recordings.find(services(), found.document, paths)
    text = None if recording else text_view.read(found, paths.get("markdown"), readings, wanted)
    steps = hit_steps.around(document_id, wanted) if wanted else None
    if not wanted and (steps := hit_steps.first(document_id)) and steps.next_url:
        return make_response(redirect(steps.next_url))
    beside = reader.beside(found, "text", text=text, wanted=wanted, words=words)
    return show_section(found, "text", dict, recording=recording, text=text, steps=steps, reader=beside)


@pages.get("/status")
def status(document_id: UUID) -> Response:
    """How far it is: JSON, or the fragment that asked, which polls again only while there is more to come."""
    if fragments.is_for_program() or not fragments.wants_fragment():
        return jsonify(status_json(_wait_until_done(document_id)))
    asked = request.args.get("view")
    if asked == "page":
        found = find(document_id)
        response = fragments.replacing("document/_status.html", **context_of(found))
        view = found.view
    else:
        view = view_of(document_id)
        response = fragments.replacing("library/_status.html", row=view, is_part_shown=asked == "part")
    return response if view.is_processing else fragments.trigger(response, "document-changed")


def _wait_until_done(document_id: UUID) -> DocumentView:
    """The document when it is no longer PROCESSING, or after `wait` seconds; as it is where too many wait already."""
    given = request.args.get("wait", "")
    until = monotonic() + (whole_number(given, "wait", WAIT_SECONDS_MAX) if given else 0)
    view, polls, poll_seconds = view_of(document_id), long_polls(), services().settings.queue.poll_seconds
    if not given or not view.is_processing or not polls.take():
        return view
    try:
        while (left := until - monotonic()) > 0 and polls.pause(min(left, poll_seconds)):
            view = view_of(document_id)
            if not view.is_processing:
                break
        return view
    finally:
        polls.give_back()


@pages.get("/fields")
def fields(document_id: UUID) -> Response:
    """Named values, with their pages and how sure the reader was."""
    org = org_id()
    with reading(org):
        found, shown = find(document_id), shown_fields.of_document(org, document_id)
        who = actors.names(org, [one.correction.by for one in shown if one.correction])
    part = field_list.part(document_id, shown, number_in_query("start") or 0)
    return show_section(
        found,
        "fields",
        lambda: {"fields": [shapes.field_json(one, who) for one in shown]},
        who=who,
        reader=reader.beside(found, "fields"),
        **part,
    )


@pages.get("/tables")
def tables(document_id: UUID) -> Response:
    """Tables as rows of cells."""
    org = org_id()
    with reading(org):
        found, shown = find(document_id), shown_tables.of_document(org, document_id)
        who = actors.names(org, [one.by for one in (*shown.lost, *(x for t in shown.tables for x in t.said.values()))])
    return show_section(
        found,
        "tables",
        lambda: {"tables": [shapes.table_json(one, who) for one in shown.tables]},
        tables=shown.tables,
        lost=shown.lost,
        who=who,
        edited=number_in_query("edit"),
        reader=reader.beside(found, "tables"),
    )


@pages.get("/chunks")
def chunks(document_id: UUID) -> Response:
    """The passages, some at a time: from a cursor on, from a number on (`start`), or from a passage by its id."""
    org, place = org_id(), results.asked_place()
    with reading(org):
        found = find(document_id)
        results.expect_run(found.document, place.run_id)
        listed = passages.page(org, document_id, start=_start(org, document_id, place), limit=PASSAGES_SHOWN + 1)
    shown = listed[:PASSAGES_SHOWN]
    next_start = listed[PASSAGES_SHOWN].ordinal if len(listed) > PASSAGES_SHOWN else None
    cursor = found.cursor(next_start) if next_start else None
    return show_section(
        found,
        "passages",
        lambda: {"chunks": [shapes.chunk_json(one) for one in shown], "next_start": next_start, "next_cursor": cursor},
        passages=shown,
        next_url=url_for(".chunks", document_id=document_id, cursor=cursor) if cursor else None,
        reader=reader.beside(found, "passages"),
    )


@pages.get("/parts")
def parts(document_id: UUID) -> Response:
    """The files that lie in the document, some at a time, from a cursor on."""
    with reading(org_id()):
        found = find(document_id)
    return _show_parts(found, number_in_query("cursor") or 0)


def _show_parts(found: ShownResult, start: int) -> Response:
    shown = part_list.read(found.document.id, start)
    return show_section(found, "parts", shown.json, parts=shown.parts, next_url=shown.next_url(found.document.id))


@pages.get("/details")
def details(document_id: UUID) -> Response:
    """What is known of the file, and how it was read."""
    with reading(org_id()):
        found = find(document_id)
    return show_section(found, "details", found.json)


@pages.get("/runs", endpoint="runs")
def history(document_id: UUID) -> Response:
    """Each run, and what happened in it."""
    org = org_id()
    with reading(org):
        found = find(document_id)
        listed = lookup.runs(org, document_id)
        moments = events.timeline(org, document_id)
        names = actors.names(org, [(event.details or {}).get("by") for event in moments])
    views = run_views(listed, moments, names)
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
    with reading(org_id()):
        document = get_document(document_id)
        paths = lookup.artifact_paths(document.org_id, document_id)
    text = text_view.markdown_of(paths.get("markdown"))
    if text is None:
        raise Problem(404, detail=_NEVER_READ if document.is_kept else "This document has no text yet.")
    note_download(document_id, "text", document.filename)
    return blobs.download(text.encode(), f"{document.filename}.md", "text/markdown; charset=utf-8")


@pages.get("/original")
def original(document_id: UUID) -> Response:
    """The file as it was uploaded; never shown in place, always saved."""
    document = get_document(document_id)
    response = blobs.download_blob(services().providers.blobs, document)
    if response.status_code < 300:
        note_download(document_id, "original", document.filename)
    return response


@pages.post("/reprocess")
def reprocess(document_id: UUID) -> Response:
    """A new run. What readers see stays until it has succeeded. `language` is what is spoken in a recording."""
    org, found, language = org_id(), services(), asked_language()
    if language is not None and not is_recording(get_document(document_id).content_type):
        raise Problem(422, detail="This document is no recording, so no language is spoken in it.")
    reprocess_left(org)
    attempts, checkpoint = found.settings.queue.job_max_attempts, as_checkpoint(language)
    try:
        lifecycle.queue_run(
            found.queue, org, document_id, RunTrigger.REPROCESS, max_attempts=attempts, checkpoint=checkpoint
        )
    except transitions.DocumentMissing as error:
        raise Problem(404) from error
    count_reprocess(org, 1)
    return answer_changed(document_id, 202)


@pages.post("/runs/<uuid:run_id>/cancel")
def cancel_run(document_id: UUID, run_id: UUID) -> Response:
    """Cancel a queued or running run. The published result stays."""
    who = principal()
    with reading(who.org_id):
        is_known = transitions.is_of(run_id, who.org_id, document_id)
    if not is_known:
        raise Problem(404)
    if not lifecycle.cancel_run(services().queue, who.org_id, document_id, run_id, who.ref):
        raise Problem(409, "ended", detail="This run has ended already.")
    return answer_changed(document_id, 200)


def answer_changed(document_id: UUID, status: int) -> Response:
    """Answer with the document's state, in the form that was asked for."""
    view = view_of(document_id)
    if fragments.is_for_program():
        # Who was told 202 finds the outcome there.
        where = {"Location": url_for("document.status", document_id=document_id)} if status == 202 else {}
        return make_response(jsonify(status_json(view)), status, where)
    if not fragments.wants_fragment():
        return make_response(redirect(url_for("document.show", document_id=document_id), 303))
    if (asked_from := request.form.get("from")) in {"library", "part"}:
        response = fragments.replacing("library/_row.html", row=view, is_part_shown=asked_from == "part")
    else:
        response = fragments.replacing("document/_live.html", **context_of(find(document_id)))
    return fragments.trigger(response, "document-changed")


def show_section(found: ShownResult, name: str, data: Any, **content: Any) -> Response:
    """Answer a tab: the whole page, or for HTMX the tab with its surroundings, so that all is of one result."""
    return fragments.answer(
        page="document/page.html",
        fragment="document/_section_swap.html",
        data=lambda: {"run_id": found.run_id, **data()},
        section=name,
        section_url=results.own_address(),
        sections=sections.to_read(found, name),
        detail_sections=sections.details(found) if name in _DETAILS else (),
        **context_of(found),
        **content,
    )


def _why_kept(document: Document) -> Sentence:
    because = kinds.kept_because(services().providers, document.content_type)
    return sentences.kept(because, filetype(document.content_type).label)


def context_of(found: ShownResult) -> dict[str, Any]:
    """What the fragments around a section show."""
    return {
        "document": found.document,
        "has_words": found.has_words,
        "live": found.view,
        "part_count": found.counts["parts"],
        "own_facts": found.own_facts,
        "form_shows": details_form.shown(found.document),
        "kinds": sorted(KINDS),
        "bin_days": services().settings.limits.bin_days,
        "tags": found.view.tags,
        "known_tags": found.known_tags,
        "further_names": found.further_names,
        "page_counts": found.pages,
        "mend": offered(services().providers, found.document, found.reasons) if found.reasons else None,
        "opens_inline": blobs.opens_inline(found.document.content_type),
        "result_at": found.result_at,
        "result_seconds": found.result_seconds,
        "spoken_languages": SPOKEN if services().providers.speech and is_recording(found.document.content_type) else (),
    }


def _asks_for_text() -> bool:
    return not request.args.keys().isdisjoint({"part", "passage", "q"})


def _start(org: UUID, document_id: UUID, place: Place) -> int:
    passage = request.args.get("passage", type=UUID)
    return (passages.number_of(org, document_id, passage) or 0) if passage else place.start
