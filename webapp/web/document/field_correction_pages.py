"""PUT and DELETE /documents/{id}/fields/{name or number}: what people say of a field; and forms that do the same."""

from collections.abc import Callable
from uuid import UUID

from flask import Blueprint, Response, jsonify, make_response, redirect, request, url_for

from webapp.accounts import actors
from webapp.db import reading, transaction
from webapp.library import correcting, corrections, fields
from webapp.library.correcting import NameOccursTwice, NotThere
from webapp.library.fields import ShownField
from webapp.library.typed_values import WrongValue
from webapp.runs import transitions
from webapp.web import fragments, shapes
from webapp.web.access import get_document, org_id, principal
from webapp.web.document import field_list, results, said
from webapp.web.document.document_pages import show_section
from webapp.web.document.said import Saying
from webapp.web.errors import Problem

pages = Blueprint("field_correction", __name__, url_prefix="/documents/<uuid:document_id>")
_GONE = "This document has no such field."
Find = Callable[[list[ShownField]], ShownField]


@pages.put("/fields/<path:field>")
def put(document_id: UUID, field: str) -> Response:
    """Correct a field, confirm it, or say that there is none."""
    get_document(document_id)
    say = said.in_json()
    try:
        shown = say_of_field(document_id, lambda all_: correcting.find_field(all_, field), say)
    except WrongValue as wrong:
        raise Problem(422, "value", detail=said.sentence(wrong), members={"code": wrong.code}) from wrong
    if shown is None:
        raise Problem(404, detail=_GONE)
    with reading(org_id()):
        return jsonify(shapes.field_json(shown, _who(shown)))


@pages.delete("/fields/<path:field>")
def delete(document_id: UUID, field: str) -> Response:
    """Let what was found hold again."""
    say_of_field(document_id, lambda all_: correcting.find_field(all_, field), None)
    return Response(status=204)


@pages.post("/fields")
def say(document_id: UUID) -> Response:
    """The forms of the page. They name the field as a correction does: its number may be another's by now."""
    get_document(document_id)
    form = request.form
    name, nth = form.get("name", ""), form.get("nth", type=int)
    if nth is None:
        raise Problem(422, detail="Name the field.")
    saying = said.in_form()
    try:
        shown = say_of_field(document_id, lambda all_: correcting.find_nth(all_, name, nth), saying)
    except WrongValue as wrong:
        return _answer_wrong(document_id, name, nth, wrong)
    if not fragments.wants_fragment():
        return make_response(redirect(_place_of(document_id, shown), 303))
    if shown is None:
        return Response(status=200)
    return fragments.replacing("document/_field.html", is_changed=True, **_context(document_id, shown))


@pages.post("/corrections/<uuid:correction_id>/undo")
def undo(document_id: UUID, correction_id: UUID) -> Response:
    """Take back a correction, also one whose field or cell is no longer found."""
    _undo(document_id, correction_id)
    section = request.form.get("section", "")
    endpoint = "document.tables" if section == "tables" else "document.fields"
    return make_response(redirect(url_for(endpoint, document_id=document_id), 303))


@pages.delete("/corrections/<uuid:correction_id>")
def remove(document_id: UUID, correction_id: UUID) -> Response:
    """The same for programs."""
    _undo(document_id, correction_id)
    return Response(status=204)


def _undo(document_id: UUID, correction_id: UUID) -> None:
    org = org_id()
    try:
        with transaction(org):
            transitions.lock(document_id, org)
            known = corrections.get(org, document_id, correction_id)
            if known is None:
                raise Problem(404)
            correcting.undo(org, document_id, known)
    except transitions.DocumentMissing as error:
        raise Problem(404) from error


def say_of_field(document_id: UUID, find: Find, saying: Saying | None) -> ShownField | None:
    """Store what is said of a field, or take it back, and return the field as it is then; None where it is gone."""
    org, by = org_id(), principal().ref
    try:
        with transaction(org):
            transitions.lock(document_id, org)
            field = find(fields.of_document(org, document_id))
            if saying is not None:
                said.expect_seen(saying, field.found)
                what = correcting.said_of_field(field, saying.verdict, saying.typed)
                correcting.correct_field(org, document_id, by, field, what)
            elif field.correction is not None:
                correcting.undo(org, document_id, field.correction)
            return _after(fields.of_document(org, document_id), field)
    except (transitions.DocumentMissing, NotThere) as error:
        raise Problem(404, detail=_GONE if isinstance(error, NotThere) else None) from error
    except NameOccursTwice as error:
        numbers = ", ".join(map(str, error.ordinals))
        detail = f"Several fields have this name. Name the one by its number: {numbers}."
        raise Problem(409, "name_occurs_twice", detail=detail, members={"ordinals": list(error.ordinals)}) from error


def _after(shown: list[ShownField], field: ShownField) -> ShownField | None:
    return next((each for each in shown if (each.name, each.nth) == (field.name, field.nth)), None)


def _place_of(document_id: UUID, field: ShownField | None) -> str:
    """The address of the part that has this field; a browser gives the focus to its first button."""
    if field is None:
        return url_for("document.fields", document_id=document_id)
    with reading(org_id()):
        start = field_list.start_of(fields.of_document(org_id(), document_id), field.key)
    return url_for("document.fields", document_id=document_id, start=start, _anchor=f"field-{field.key}-first")


def _who(*shown: ShownField) -> dict[str, str]:
    return actors.names(org_id(), [each.correction.by for each in shown if each.correction])


def _context(document_id: UUID, shown: ShownField) -> dict[str, object]:
    with reading(org_id()):
        return {"document": get_document(document_id), "field": shown, "who": _who(shown)}


def _answer_wrong(document_id: UUID, name: str, nth: int, wrong: WrongValue) -> Response:
    """The form again, with what was typed and why it can't be."""
    org, sentence = org_id(), said.sentence(wrong)
    with reading(org):
        found, shown = results.find(document_id), fields.of_document(org, document_id)
        field = correcting.find_nth(shown, name, nth)
        who = _who(*shown)
    mistake = {"wrong": sentence, "wrong_key": field.key, "typed": request.form.get("value", "")}
    if fragments.wants_fragment():
        response = fragments.replacing("document/_field.html", document=found.document, field=field, who=who, **mistake)
        return fragments.invalid(response, f"#field-{field.key}")
    part = field_list.part(document_id, shown, field_list.start_of(shown, field.key) or 0)
    response = show_section(found, "fields", dict, who=who, **part, **mistake)
    response.status_code = 422
    return response
