"""GET and POST /doubts: fields that a person should look at, one after the other, beside the pages that they are on.

The forms name the last decisions, so that each of them can be taken back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from flask import Blueprint, Response, jsonify, make_response, redirect, render_template, request, url_for

from webapp.db import reading, transaction
from webapp.documents.model import Document
from webapp.library import correcting, corrections, doubts, fields, lookup
from webapp.library.doubts import NoPlace, Progress, QueuePlace
from webapp.library.fields import ShownField
from webapp.library.page_words import PageMarks, marks_of_value, page_words
from webapp.library.pictures import has_pictures
from webapp.library.searchable import WORDS
from webapp.library.typed_values import WrongValue
from webapp.runs import transitions
from webapp.web import fragments, shapes
from webapp.web.access import get_document, org_id, principal, services
from webapp.web.document import field_list, said
from webapp.web.document.field_correction_pages import say_of_field
from webapp.web.errors import Problem

pages = Blueprint("doubts", __name__)
DECISIONS_KEPT = 20


@dataclass(frozen=True)
class ShownDoubt:
    """The field that is to be checked, its document, and its page."""

    document: Document
    field: ShownField
    place: QueuePlace | None
    page: int | None
    """The page whose picture can be shown."""
    words_path: str | None
    start: int | None
    """From which place on the document's list of fields shows it."""

    def marks(self) -> PageMarks | None:
        """Where the value is on the page."""
        if self.page is None or self.field.found is None:
            return None
        known = page_words(services().providers, self.document, self.page, self.words_path)
        return marks_of_value(known, self.field.polygon, self.field.found) if known else None


@pages.get("/doubts")
def show() -> Response:
    """The field that comes next: contradictions first, then the least sure. `behind` leaves out what was skipped."""
    behind = _behind(request.args.get("behind", ""))
    with reading(org_id()):
        shown, progress = _next(behind), doubts.progress(org_id())
    if fragments.is_for_program():
        return jsonify(_as_json(shown, progress))
    return _page(shown, progress, behind, _decided(request.args.get("decided", "")))


@pages.post("/doubts")
def say() -> Response:
    """What a person says of the field; the next one follows."""
    form = request.form
    document_id, nth, behind = (
        form.get("document", type=UUID),
        form.get("nth", type=int),
        _behind(form.get("behind", "")),
    )
    saying, name = said.in_form(), form.get("name", "")
    if document_id is None or nth is None or saying is None:
        raise Problem(422, detail="Name the document and the field.")
    get_document(document_id)
    decided = _decided(form.get("decided", ""))
    try:
        now = say_of_field(document_id, lambda all_: correcting.find_nth(all_, name, nth), saying)
    except WrongValue as wrong:
        return _answer_wrong(document_id, name, nth, said.sentence(wrong), behind)
    if now is not None and now.correction is not None:
        decided = [*decided, now.correction.id][-DECISIONS_KEPT:]
    return _go_on(behind, decided)


@pages.post("/doubts/undo")
def undo() -> Response:
    """Take back the last decision of those that the form names; its field is shown again."""
    decided = _decided(request.form.get("decided", ""))
    with reading(org_id()):
        known = corrections.find(org_id(), decided[-1]) if decided else None
    if known is None:
        raise Problem(409, detail="There is nothing to undo.")
    place = _take_back(known.document_id, known.id)
    return _go_on(place.before() if place else _behind(request.form.get("behind", "")), decided[:-1])


def _take_back(document_id: UUID, correction_id: UUID) -> QueuePlace | None:
    """Undo a correction of one's own; the place in the queue that its field has then."""
    org = org_id()
    try:
        with transaction(org):
            transitions.lock(document_id, org)
            known = corrections.get(org, document_id, correction_id)
            if known is None or known.by != principal().ref:
                raise Problem(409, detail="Somebody else changed this meanwhile, so it can't be undone here.")
            name, nth = known.name, known.nth
            correcting.undo(org, document_id, known)
            return doubts.place_of(org, document_id, name, nth)
    except transitions.DocumentMissing as error:
        raise Problem(404) from error


def _go_on(behind: QueuePlace | None, decided: Sequence[UUID]) -> Response:
    """The field that comes next."""
    if not fragments.wants_fragment():
        ids = ",".join(map(str, decided)) or None
        return make_response(redirect(url_for(".show", behind=behind, decided=ids), 303))
    with reading(org_id()):
        shown, progress = _next(behind), doubts.progress(org_id())
    return _page(shown, progress, behind, decided)


def _answer_wrong(document_id: UUID, name: str, nth: int, sentence: str, behind: QueuePlace | None) -> Response:
    """The same field again, with what was typed and why it can't be."""
    org = org_id()
    with reading(org):
        document, place = get_document(document_id), _behind(request.form.get("place", ""))
        all_ = fields.of_document(org, document_id)
        shown, progress = _shown(document, all_, correcting.find_nth(all_, name, nth), place), doubts.progress(org)
    decided = _decided(request.form.get("decided", ""))
    response = _page(shown, progress, behind, decided, wrong=sentence, typed=request.form.get("value", ""))
    if fragments.wants_fragment():
        return fragments.invalid(response, "#doubt")
    response.status_code = 422
    return response


def _next(behind: QueuePlace | None) -> ShownDoubt | None:
    org = org_id()
    doubt = doubts.first(org, behind)
    document = lookup.get(org, doubt.document_id) if doubt else None
    if doubt is None or document is None:
        return None
    shown = fields.of_document(org, document.id)
    return _shown(document, shown, next(each for each in shown if each.ordinal == doubt.ordinal), doubt.place)


def _shown(document: Document, all_: Sequence[ShownField], field: ShownField, place: QueuePlace | None) -> ShownDoubt:
    page = field.page or (1 if document.page_count == 1 else None)
    words_path = lookup.artifact_paths(document.org_id, document.id).get(WORDS)
    start = field_list.start_of(all_, field.key)
    return ShownDoubt(document, field, place, page if has_pictures(document) else None, words_path, start)


def _page(
    shown: ShownDoubt | None, progress: Progress, behind: QueuePlace | None, decided: Sequence[UUID], **more: str
) -> Response:
    template = "doubts/_doubt.html" if fragments.wants_fragment() else "doubts/page.html"
    marks = shown.marks() if shown else None
    return make_response(
        render_template(
            template,
            doubt=shown,
            progress=progress,
            marks=marks,
            behind=behind,
            decided=",".join(map(str, decided)),
            **more,
        ),
    )


def _as_json(shown: ShownDoubt | None, progress: Progress) -> dict[str, object]:
    found = shown and {
        "document": shapes.brief_json(shown.document),
        "field": shapes.field_json(shown.field, {}),
        "behind": str(shown.place),
    }
    return {
        "left": progress.left,
        "more": progress.is_more,
        "checked": progress.checked,
        "untouched_share": progress.untouched_share,
        "next": found,
    }


def _behind(text: str) -> QueuePlace | None:
    try:
        return QueuePlace.parse(text) if text else None
    except NoPlace as error:
        raise Problem(422, detail="behind must be what an earlier answer gave.") from error


def _decided(text: str) -> list[UUID]:
    """The corrections that were made here last, the newest at the end."""
    try:
        return [UUID(each) for each in text.split(",")[-DECISIONS_KEPT:] if each]
    except ValueError as error:
        raise Problem(422, detail="decided must be what an earlier page gave.") from error
