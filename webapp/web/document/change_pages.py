"""PATCH /documents/{id}: what people say of a document; and the forms of its page that do the same."""

from uuid import UUID

from flask import Blueprint, Response, jsonify, make_response, redirect, request, url_for

from webapp.db import reading, transaction
from webapp.library import facts, tags
from webapp.runs import transitions
from webapp.search.filters import TAG_CHARACTERS_MAX, BadValue
from webapp.web import fragments
from webapp.web.access import get_document, org_id, principal
from webapp.web.document import changes, details_form, results
from webapp.web.document.changes import WRONG_TAGS, Changes, is_text
from webapp.web.document.details_form import DetailsForm, Mistakes
from webapp.web.document.document_pages import context_of, show_section
from webapp.web.errors import Problem

pages = Blueprint("change", __name__, url_prefix="/documents/<uuid:document_id>")


@pages.patch("")
def change(document_id: UUID) -> Response:
    """Change what is named, and nothing else: tags, title, file name, date, kind, note, favourite."""
    org = org_id()
    with reading(org):
        get_document(document_id)
    _apply(document_id, changes.asked())
    if fragments.is_for_program():
        with reading(org):
            return jsonify(results.find(document_id).json())
    return make_response(redirect(url_for("document.show", document_id=document_id), 303))


@pages.post("/details")
def change_details(document_id: UUID) -> Response:
    """The same from the forms on the document's page: what is as it was shown there is not changed."""
    get_document(document_id)
    try:
        _apply(document_id, changes.of_button() or details_form.read())
    except Mistakes as mistakes:
        return _answer_mistakes(document_id, mistakes)
    if not fragments.wants_fragment():
        return make_response(redirect(url_for("document.details", document_id=document_id, _anchor="details"), 303))
    with reading(org_id()):
        return fragments.replacing("document/_details_swap.html", **context_of(results.find(document_id)))


def _answer_mistakes(document_id: UUID, mistakes: Mistakes) -> Response:
    """The form again, with what was typed and why it was not saved."""
    if fragments.is_for_program():
        raise Problem(mistakes.status, detail=" ".join(mistakes.sentences.values())) from mistakes
    with reading(org_id()):
        found = results.find(document_id)
    shown = {"form_values": mistakes.values, "mistakes": mistakes.sentences}
    if fragments.wants_fragment():
        response = fragments.replacing("document/_facts.html", **{**context_of(found), **shown})
        return fragments.invalid(response, "#details", mistakes.status)
    response = show_section(found, "details", found.json, **shown)
    response.status_code = mistakes.status
    return response


def _apply(document_id: UUID, asked: Changes | DetailsForm) -> None:
    """Change what is asked for; Mistakes of a form."""
    org, by = org_id(), principal().ref
    try:
        with transaction(org):
            # Who deletes it waits, or was quicker.
            transitions.lock(document_id, org)
            wanted = asked.changes(get_document(document_id)) if isinstance(asked, DetailsForm) else asked
            if wanted.tags is not None:
                tags.replace(org, document_id, wanted.tags)
            if wanted.facts:
                facts.change(org, document_id, by, wanted.facts)
            if wanted.note is not None:
                facts.write_note(org, document_id, wanted.note)
            if wanted.favourite is not None:
                facts.set_favourite(org, document_id, wanted.favourite)
    except transitions.DocumentMissing as error:
        raise Problem(404) from error


@pages.post("/tags")
def change_tags(document_id: UUID) -> Response:
    """Add or remove one tag, from the document's page."""
    org = org_id()
    with reading(org):
        get_document(document_id)
    added, removed = request.form.get("add", "").strip(), request.form.get("remove", "")
    if not added and not removed:
        raise Problem(422, detail="Type the name of a tag.")
    if not is_text(added + removed):
        raise Problem(422, detail=WRONG_TAGS)
    try:
        with transaction(org):
            transitions.lock(document_id, org)
            if added:
                tags.add(org, document_id, added)
            if removed:
                tags.remove(org, document_id, removed)
    except BadValue as error:
        detail = f"A tag has 1 to {TAG_CHARACTERS_MAX} characters, and a document {tags.TAGS_MAX} tags at most."
        raise Problem(422, detail=detail) from error
    except transitions.DocumentMissing as error:
        raise Problem(404) from error
    is_of_row = request.form.get("from") == "library"
    if not fragments.wants_fragment():
        page = url_for("document.show", document_id=document_id, _anchor="tags")
        return make_response(redirect(url_for("library.index") if is_of_row else page, 303))
    with reading(org):
        mine = tags.of_documents(org, [document_id]).get(document_id, [])
        if is_of_row:
            return fragments.replacing("library/_row_tags.html", document_id=document_id, tags=mine, is_changed=True)
        shown = {"tags": mine, "known_tags": tags.known(org)}
        return fragments.replacing("document/_tags.html", document=get_document(document_id), is_changed=True, **shown)
