"""PATCH /documents/{id}: what people say of a document."""

from collections.abc import Mapping
from uuid import UUID

from flask import Blueprint, Response, jsonify, make_response, redirect, request, url_for

from webapp.db import reading, transaction
from webapp.library import tags
from webapp.runs import transitions
from webapp.search.filters import TAG_CHARACTERS_MAX, BadValue
from webapp.web import fragments
from webapp.web.access import get_document, org_id
from webapp.web.csrf import FIELD
from webapp.web.document import results
from webapp.web.errors import Problem

pages = Blueprint("change", __name__, url_prefix="/documents/<uuid:document_id>")

_BODY_BYTES_MAX = 64 << 10
_TAGS = "tags"
_WANTED = (
    f"tags must be a list of at most {tags.TAGS_MAX} names, each of 1 to {TAG_CHARACTERS_MAX} characters, "
    'as in {"tags": ["tax", "to pay"]}.'
)


@pages.patch("")
def change(document_id: UUID) -> Response:
    """Let the document have these tags and no others; an empty list takes all away."""
    org = org_id()
    with reading(org):
        get_document(document_id)
    names = _tags()
    try:
        with transaction(org):
            # Who deletes it waits, or was quicker.
            transitions.lock(document_id, org)
            tags.replace(org, document_id, names)
    except BadValue as error:
        raise Problem(422, detail=_WANTED) from error
    except transitions.DocumentMissing as error:
        raise Problem(404) from error
    if fragments.is_for_program():
        with reading(org):
            return jsonify(results.find(document_id).json())
    return make_response(redirect(url_for("document.show", document_id=document_id), 303))


@pages.post("/tags")
def change_tags(document_id: UUID) -> Response:
    """Add or remove one tag, from the document's page."""
    org = org_id()
    with reading(org):
        get_document(document_id)
    added, removed = request.form.get("add", "").strip(), request.form.get("remove", "")
    if not added and not removed:
        raise Problem(422, detail="Type the name of a tag.")
    if not _is_text(added + removed):
        raise Problem(422, detail=_WANTED)
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
    if not fragments.wants_fragment():
        return make_response(redirect(url_for("document.show", document_id=document_id, _anchor="tags"), 303))
    with reading(org):
        shown = {"tags": tags.of_document(org, document_id), "known_tags": tags.known(org)}
        return fragments.replacing("document/_tags.html", document=get_document(document_id), is_changed=True, **shown)


def _tags() -> list[str]:
    """The tags, out of a JSON object or a form; 400 for whatever else is to be changed."""
    if (request.content_length or 0) > _BODY_BYTES_MAX:
        raise Problem(413, detail=_WANTED)
    if request.is_json:
        body: object = request.get_json(silent=True)
        given = dict(body) if isinstance(body, Mapping) else {}
    else:
        given = {name: values for name, values in request.form.lists() if name != FIELD}
    if unknown := sorted(str(name) for name in given.keys() - {_TAGS}):
        raise Problem(400, "unknown_parameter", detail=f"“{unknown[0][:100]}” can't be changed here. Known: tags.")
    names = given.get(_TAGS)
    if not isinstance(names, list) or not all(isinstance(name, str) and _is_text(name) for name in names):
        raise Problem(422, detail=_WANTED)
    return names


def _is_text(name: str) -> bool:
    """Whether it has neither half of a character nor a zero, which no database stores."""
    return "\0" not in name and not any("\ud800" <= each <= "\udfff" for each in name)
