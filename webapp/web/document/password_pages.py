"""POST /documents/{id}/password: opens a file that is locked by a password."""

from collections.abc import Mapping
from uuid import UUID

from flask import Blueprint, Response, request

from webapp.accounts.audit import Action
from webapp.db import reading, transaction
from webapp.jobs.sealed_passwords import CHARACTERS_MAX
from webapp.library.unlocking import queue_with_password
from webapp.runs.transitions import DocumentMissing
from webapp.web.access import get_document, org_id, services
from webapp.web.document.document_pages import answer_changed
from webapp.web.errors import Problem
from webapp.web.rates import count_reprocess, reprocess_left
from webapp.web.security_log import note

pages = Blueprint("password", __name__, url_prefix="/documents/<uuid:document_id>/password")

_BODY_BYTES_MAX = 16 << 10
_WANTED = f"Give the password of the file as “password”: a text of 1 to {CHARACTERS_MAX} characters."


@pages.post("")
def give(document_id: UUID) -> Response:
    """A new run, which opens the file with this password. The password is kept no longer than its attempt."""
    org = org_id()
    with reading(org):
        get_document(document_id)
    password = _password()
    reprocess_left(org)
    try:
        with transaction(org):
            if queue_with_password(services(), org, document_id, password) is None:
                raise Problem(409, detail="This document does not need a password.")
            note(Action.DOCUMENT_UNLOCKED, f"document:{document_id}")
    except DocumentMissing as error:
        raise Problem(404) from error
    count_reprocess(org, 1)
    return answer_changed(document_id, 202)


def _password() -> str:
    """The password, out of a form or a JSON object. What is wrong with it is said without quoting it."""
    if (request.content_length or 0) > _BODY_BYTES_MAX:
        raise Problem(413, detail=_WANTED)
    plain: object = request.get_json(silent=True) if request.is_json else request.form
    found = plain.get("password") if isinstance(plain, Mapping) else None
    if not isinstance(found, str) or not 0 < len(found) <= CHARACTERS_MAX or not _is_text(found):
        raise Problem(422, detail=_WANTED)
    return found


def _is_text(found: str) -> bool:
    """Whether it has neither half of a character nor a zero."""
    return "\0" not in found and not any("\ud800" <= each <= "\udfff" for each in found)
