"""Many documents again: all that the library shows, or all whose vectors are of an earlier model."""

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.db import reading
from webapp.library import reread, selection
from webapp.library.reprocess import Queued, renew_vectors, reprocess_matching
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter
from webapp.web import fragments
from webapp.web.access import ops_only, org_id, services, writers_only
from webapp.web.library.library_pages import asked_folder, choice
from webapp.web.rates import count_reprocess, reprocess_left

pages = Blueprint("reprocess", __name__)

# Some seconds of work; for more, ask again or use the command.
AT_ONCE_MAX = 1000


@pages.get("/documents/reprocess")
@writers_only
def confirm() -> Response:
    """The question, with how many there are; the answer begins an operation (webapp/web/library/bulk_pages.py)."""
    wanted = _wanted()
    with reading(org_id()):
        count = selection.count(org_id(), wanted)
    status = wanted.status.lower() if wanted.status else None
    return make_response(
        render_template(
            "library/reprocess.html",
            count=count,
            q=wanted.q,
            folder=wanted.folder,
            status=status,
        )
    )


@pages.post("/documents/reprocess")
def matching() -> Response:
    """A new run for each document that matches `status`, `q` and `folder`."""
    org = org_id()
    left = reprocess_left(org)
    limit = AT_ONCE_MAX if left is None else min(left, AT_ONCE_MAX)
    queued = reprocess_matching(services(), org, _wanted(), limit=limit)
    count_reprocess(org, queued.count)
    return _answer(queued, url_for("library.index"))


@pages.post("/ops/reembed")
@ops_only
def reembed() -> Response:
    """New vectors for documents that have those of an earlier model, when there is nothing else to do."""
    queued = renew_vectors(services(), org_id(), limit=AT_ONCE_MAX)
    return _answer(queued, url_for("ops.overview"))


@pages.post("/ops/reread")
@ops_only
def read_again() -> Response:
    """Documents that an earlier reader read are read again, when there is nothing else to do."""
    org = org_id()
    reread.ask(services(), org)
    left = reread.progress(services(), org).left
    if fragments.is_for_program():
        return make_response(jsonify({"left": left.number, "more": left.more}), 202)
    flash(render_template("library/_reread.txt", left=left).strip(), "success")
    return make_response(redirect(url_for("ops.overview"), 303))


def _answer(queued: Queued, back: str) -> Response:
    if fragments.is_for_program():
        return make_response(jsonify({"queued": queued.count, "more": queued.more}), 202)
    flash(render_template("library/_reprocessed.txt", queued=queued).strip(), "success")
    return make_response(redirect(back, 303))


def _wanted() -> Matching:
    values = request.values
    return Matching(
        status=choice(StatusFilter, "status", values.get("status", "")),
        q=values.get("q", "").replace("\0", "").strip(),
        folder=asked_folder(values.get("folder", "")),
    )
