"""Deleting a document, which puts it into the bin; restoring it; deleting it for good, which ops may."""

from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.accounts.audit import Action
from webapp.accounts.roles import Permission
from webapp.db import reading, transaction
from webapp.library import bin as library_bin
from webapp.library import lookup, moves
from webapp.library.bin import Restored
from webapp.web import fragments
from webapp.web.access import get_document, ops_only, org_id, principal, services, writers_only
from webapp.web.document import results
from webapp.web.errors import Problem
from webapp.web.security_log import note

pages = Blueprint("deletion", __name__, url_prefix="/documents/<uuid:document_id>")

_WHY_NOT = {
    Restored.IN_CONTAINER: "It lies in a container that was deleted, too: restore that one.",
    Restored.SAME_FILE: "The same file was uploaded since, and is in the library.",
}


@pages.get("/delete")
@writers_only
def confirm_delete(document_id: UUID) -> Response:
    """The page that asks before deleting, for browsers without scripts."""
    with reading(org_id()):
        found = results.find(document_id)
    days = services().settings.limits.bin_days
    shown = {"document": found.document, "part_count": found.counts["parts"], "bin_days": days}
    return make_response(render_template("document/delete.html", **shown))


@pages.post("/delete")
def delete(document_id: UUID) -> Response:
    """Deleting for browsers, whose forms know no DELETE."""
    document = get_document(document_id)
    if (operation_id := _delete(document_id)) is not None:
        return make_response(redirect(url_for("bulk.show", operation_id=operation_id), 303))
    days = services().settings.limits.bin_days
    flash(render_template("document/_deleted.txt", document=document, bin_days=days).strip(), "success")
    if days:
        flash(url_for("deletion.restore", document_id=document_id), "undo")
    return make_response(redirect(url_for("library.index"), 303))


@pages.delete("")
def remove(document_id: UUID) -> Response:
    """Put the document into the bin, with all that lies in it; `purge=1` deletes it for good, from there, too.

    202 with an operation where so much lies in it that this goes on for some seconds.
    """
    if request.args.get("purge") == "1":
        if not principal().may(Permission.OPS):
            raise Problem(403, "ops_only")
        _purge(document_id)
    else:
        get_document(document_id)
        if (operation_id := _delete(document_id)) is not None:
            answer = jsonify(id=operation_id, matched=1)
            return make_response(answer, 202, {"Location": url_for("bulk.show", operation_id=operation_id)})
    return Response(status=204)


@pages.post("/restore")
def restore(document_id: UUID) -> Response:
    """Take it out of the bin: everything is as it was. Nothing happens to one that is in the library."""
    org, found = org_id(), services()
    with transaction(org):
        attempts = found.settings.queue.job_max_attempts
        moved = moves.restore(found.queue, org, document_id, attempts, principal().name)
        outcome = moved.outcome
        if moved.is_done:
            note(Action.DOCUMENT_RESTORED, f"document:{document_id}", filename=get_document(document_id).filename)
    document = get_document(document_id) if outcome in {Restored.DONE, Restored.NOT_THERE} else None
    if document is None:
        raise Problem(409, outcome, detail=_WHY_NOT[outcome])
    address = url_for("bulk.show", operation_id=moved.operation_id) if moved.operation_id else None
    if fragments.is_for_program():
        with reading(org):
            answer = jsonify(results.find(document_id).json())
        return make_response(answer, 202, {"Location": address}) if address else answer
    if address:
        return make_response(redirect(address, 303))
    flash(render_template("document/_restored.txt", document=document).strip(), "success")
    return make_response(redirect(url_for("document.show", document_id=document_id), 303))


@pages.get("/purge")
@ops_only
def confirm_purge(document_id: UUID) -> Response:
    """The question before something in the bin is deleted for good."""
    return make_response(render_template("bin/purge.html", document_id=document_id, filename=_name_in_bin(document_id)))


@pages.post("/purge")
@ops_only
def purge(document_id: UUID) -> Response:
    """Delete for good, for browsers."""
    name = _purge_from_bin(document_id)
    flash(render_template("bin/_purged.txt", filename=name).strip(), "success")
    return make_response(redirect(url_for("bin.show"), 303))


def _delete(document_id: UUID) -> UUID | None:
    """The operation that moves what lies in a large container; None where all is done."""
    found, who = services(), principal()
    if not found.settings.limits.bin_days:
        _purge(document_id)
        return None
    with transaction(who.org_id):
        known = lookup.get(who.org_id, document_id)
        moved = moves.delete(found.queue, who.org_id, document_id, who.name) if known else None
        if known is None or moved is None or not moved.is_done:
            raise Problem(404)
        note(Action.DOCUMENT_DELETED, f"document:{document_id}", filename=known.filename)
        return moved.operation_id


def _purge(document_id: UUID) -> None:
    """Delete for good what is in the library or in the bin."""
    found, who = services(), principal()
    with transaction(who.org_id):
        # First the line, which must not be missing, whatever becomes of this process.
        note(Action.DOCUMENT_PURGED, f"document:{document_id}", filename=_name(document_id))
        if not moves.begin_purge(found.queue, who.org_id, document_id, who.name):
            raise Problem(404)
    _remove(document_id)


def _purge_from_bin(document_id: UUID) -> str:
    """Delete for good what lies in the bin, unless somebody has restored it in this moment; its name."""
    org = org_id()
    with transaction(org):
        name = _name_in_bin(document_id)
        if not library_bin.mark_going(org, [document_id]):
            raise Problem(404)
        note(Action.DOCUMENT_PURGED, f"document:{document_id}", filename=name)
    _remove(document_id)
    return name


def _remove(document_id: UUID) -> None:
    """Remove what is marked; of a large container a chore does it within minutes."""
    with reading(org_id()):
        is_large = library_bin.is_large(org_id(), document_id)
    if not is_large:
        library_bin.purge(services(), org_id(), document_id)


def _name(document_id: UUID) -> str:
    """The name of a document in the library, or of one that was put into the bin by itself; else 404."""
    org = org_id()
    with reading(org):
        document = lookup.get(org, document_id)
        return document.filename if document else _name_in_bin(document_id)


def _name_in_bin(document_id: UUID) -> str:
    with reading(org_id()):
        name = library_bin.filename(org_id(), document_id)
    if name is None:
        raise Problem(404)
    return name
