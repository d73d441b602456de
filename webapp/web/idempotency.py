"""The header `Idempotency-Key`: a program's POST that is sent again gets the first answer and does nothing twice."""

import hashlib
import logging

from flask import Flask, Response, current_app, g, json, jsonify, request

from webapp.accounts import idempotency
from webapp.accounts.idempotency import KEY_CHARACTERS_MAX, Earlier
from webapp.db import transaction
from webapp.db.errors import DATABASE_ERRORS
from webapp.web.access import Access, access_of, principal
from webapp.web.errors import Problem

HEADER, REPLAYED = "Idempotency-Key", "Idempotent-Replayed"
# An upload needs no key, since the same bytes are the same document; the others change nothing by themselves.
# The answer to a new share link has its secret, which is stored nowhere.
_WITHOUT_KEYS = frozenset({"upload.create", "mcp.serve", "answers.show", "shares.share_document", "shares.share_view"})
# Workers' calls are fenced by leases.
_WITHOUT_KEYS_FOR = frozenset({Access.PUBLIC, Access.PERSON, Access.WORKER})
_BODY_BYTES_MAX = 1_000_000
PARAMETER = {
    "name": HEADER,
    "in": "header",
    "description": (
        "A value of your choice, new for each request. Sent again within a day, the request is not done again: "
        f"the first answer is repeated, with the header {REPLAYED}."
    ),
    "schema": {"type": "string", "minLength": 1, "maxLength": KEY_CHARACTERS_MAX, "pattern": "^[ -~]+$"},
}
"""As the API's description has it."""

_log = logging.getLogger(__name__)


def init_idempotency(app: Flask) -> None:
    """Look at each request that brings a key, and keep its answer."""
    app.before_request(_begin)
    app.after_request(_end)


def answer_once(*names: str) -> None:
    """Keep these members of the present answer nowhere: where it is repeated they are null, as secrets are."""
    g.answered_once = names


def takes_keys(app: Flask, endpoint: str, method: str) -> bool:
    """Whether a request to this route may bring a key."""
    return method == "POST" and endpoint not in _WITHOUT_KEYS and access_of(app, endpoint) not in _WITHOUT_KEYS_FOR


def _begin() -> Response | None:
    key, endpoint = request.headers.get(HEADER), request.endpoint
    if key is None or endpoint is None or not takes_keys(current_app, endpoint, request.method):
        return None
    if not (1 <= len(key) <= KEY_CHARACTERS_MAX and key.isascii() and key.isprintable()):
        raise Problem(400, detail=f"{HEADER} must be 1 to {KEY_CHARACTERS_MAX} printable ASCII characters.")
    if (request.content_length or 0) > _BODY_BYTES_MAX:
        raise Problem(413)
    who = principal()
    with transaction(who.org_id):
        found = idempotency.begin(who.org_id, who.ref, key, _fingerprint())
    if isinstance(found, Earlier):
        return _again(found)
    g.idempotent_request = found
    return None


def _fingerprint() -> str:
    """What the request asks for: its method, its address and its body."""
    asked = hashlib.sha256(f"{request.method} {request.full_path}\n{request.mimetype}\n".encode())
    asked.update(request.get_data())
    return asked.hexdigest()


def _again(earlier: Earlier) -> Response:
    """The answer to a request under a key that was used before."""
    if not earlier.is_same:
        raise Problem(422, "other_request")
    if earlier.was_cut_off:
        raise Problem(409, "cut_off")
    if earlier.status is None:
        raise Problem(409, "under_way", headers={"Retry-After": "1"})
    answer = jsonify(earlier.body) if earlier.body is not None else Response()
    answer.status_code = earlier.status
    answer.headers[REPLAYED] = "true"
    if earlier.location is not None:
        answer.headers["Location"] = earlier.location
    return answer


def _end(answer: Response) -> Response:
    row_id = g.pop("idempotent_request", None)
    if row_id is None:
        return answer
    try:
        with transaction(principal().org_id):
            if answer.status_code < 300:
                body = json.loads(answer.get_data()) if answer.is_json else None
                if names := g.pop("answered_once", ()):
                    body = {**(body or {}), **dict.fromkeys(names)}
                idempotency.keep(row_id, answer.status_code, answer.headers.get("Location"), body)
            else:
                idempotency.forget(row_id)
    except DATABASE_ERRORS:
        # The request was done. Sent again it is told that nobody knows, which is safe.
        _log.warning("the answer to a request with an idempotency key could not be kept", exc_info=True)
    return answer
