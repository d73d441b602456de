"""POST /bulk: many documents are tagged, deleted, restored, reprocessed or exported: question, progress, undo."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, jsonify, make_response, redirect, render_template, request, url_for

from webapp.accounts.audit import Action
from webapp.db import reading, transaction
from webapp.db.bounded import Count
from webapp.documents.states import OperationState
from webapp.library import bulk, large_containers, tags
from webapp.library.bulk import BulkAction, BulkRequest, Failure
from webapp.library.large_containers import MovingContainer
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter
from webapp.runs import operations
from webapp.search.filters import TAG_CHARACTERS_MAX, BadValue
from webapp.web import fragments
from webapp.web.access import org_id, principal, services
from webapp.web.csrf import FIELD
from webapp.web.errors import Problem
from webapp.web.library.export_pages import ExportedFile, exported_file
from webapp.web.library.library_pages import asked_folder, choice
from webapp.web.rates import count_reprocess, reprocess_left
from webapp.web.security_log import note

pages = Blueprint("bulk", __name__, url_prefix="/bulk")

FAILURES_SHOWN = 100
SHOWN_MAX = 50
_KNOWN = {"action", "query", "folder", "status", "ids", "tags", "dry_run"}
_OF_FORMS = {FIELD, "action", "q", "folder", "status", "id", "tags", "all", "confirmed"}
# What a rule gives is asked for at the rule, and undone at the operation.
_BY_RULES = {BulkAction.RULE, BulkAction.UNRULE}
_WHICH = "Name the documents: their ids in “ids”, or a “query” that they match (an empty one is all)."
_TAGS = (
    f"Name 1 to {tags.TAGS_MAX} tags, each of 1 to {TAG_CHARACTERS_MAX} characters, "
    'as in {"tags": ["tax", "to pay"]}.'
)


@dataclass(frozen=True)
class OperationView:
    """An operation as pages show it."""

    row: Any
    may_undo: bool
    may_resume: bool
    failures: Sequence[Failure] = ()
    export_days: float = 0.0
    moving: MovingContainer | None = None
    """The large container whose parts follow it into the bin or out of it."""

    @property
    def state(self) -> OperationState:
        """How far it is."""
        return OperationState(self.row.state)

    @property
    def file(self) -> ExportedFile | None:
        """The file of an export, while it is kept."""
        return exported_file(self.row, self.export_days)

    @property
    def is_running(self) -> bool:
        """Whether there is more to come, so that its page asks again."""
        return self.state in {OperationState.QUEUED, OperationState.RUNNING}

    def json(self) -> dict[str, Any]:
        """The same for programs."""
        row = self.row
        failed = [{"id": each.id, "filename": each.filename, "reason": each.reason} for each in self.failures]
        return {
            "id": row.id,
            "action": row.action,
            "state": self.state,
            "matched": row.matched,
            "done": row.done,
            "failed": row.failed,
            "result": {"failures": failed, "tags": row.wanted.get("tags", [])},
            "file": self.file.json() if self.file else None,
            "undo_of": row.undo_of,
            "may_undo": self.may_undo,
            "may_resume": self.may_resume,
            "requested_by": row.requested_by,
            "created_at": row.created_at,
            "finished_at": row.finished_at,
        }


@pages.get("")
def index() -> Response:
    """The org's last operations."""
    org = org_id()
    with reading(org):
        rows = bulk.newest(org, SHOWN_MAX)
    if fragments.is_for_program():
        return jsonify(operations=[{"id": row.id, "action": row.action, "created_at": row.created_at} for row in rows])
    return make_response(render_template("bulk/list.html", rows=rows))


@pages.post("")
def begin() -> Response:
    """Begin an operation: 202 with its address; or say how many documents are meant (`dry_run`, a form's question)."""
    is_json = request.is_json
    asked = _of_json() if is_json else _of_form()
    org = org_id()
    with reading(org):
        count = bulk.count(org, asked)
    if is_json and request.json.get("dry_run") is True:
        return jsonify(matched=count.number, more=count.more)
    if not is_json and "confirmed" not in request.form:
        days = services().settings.limits.bin_days
        return make_response(render_template("bulk/question.html", asked=asked, count=count, bin_days=days))
    operation_id = _begin(asked, count)
    address = url_for("bulk.show", operation_id=operation_id)
    if fragments.is_for_program():
        answer = jsonify(id=operation_id, matched=count.number)
        return make_response(answer, 202, {"Location": address})
    return make_response(redirect(address, 303))


def _begin(asked: BulkRequest, count: Count) -> UUID:
    who, found = principal(), services()
    is_reprocess = asked.action is BulkAction.REPROCESS
    left = reprocess_left(who.org_id) if is_reprocess else None
    if left is not None and (count.number > left or count.more):
        raise Problem(429, "rate_reprocess", detail=f"Your organisation may reprocess {left} documents now.")
    with transaction(who.org_id):
        operation_id = bulk.begin(found.queue, who.org_id, asked, who.name, count)
        note(Action.BULK_BEGUN, f"bulk:{operation_id}", what=asked.action, matched=count.number)
    if is_reprocess:
        count_reprocess(who.org_id, count.number)
    return operation_id


@pages.get("/<uuid:operation_id>")
def show(operation_id: UUID) -> Response:
    """How far it is, what failed and why, and what can be done with it."""
    view = _view(operation_id)
    return fragments.answer(page="bulk/page.html", fragment="bulk/_live.html", data=view.json, view=view)


@pages.post("/<uuid:operation_id>/stop")
def stop(operation_id: UUID) -> Response:
    """End it after the documents that are being changed now."""
    _view(operation_id)
    if not bulk.stop(org_id(), operation_id):
        raise Problem(409, "ended", detail="It has ended already.")
    return _changed(operation_id, 200)


@pages.post("/<uuid:operation_id>/resume")
def resume(operation_id: UUID) -> Response:
    """Go on with one that was stopped or has failed, behind the documents that are done."""
    _view(operation_id)
    who = principal()
    with transaction(who.org_id):
        if operations.resume(services().queue, who.org_id, operation_id, who.ref) is None:
            raise Problem(409, "no_resume", detail="It can't go on: it runs, is done, or was undone.")
        note(Action.BULK_BEGUN, f"bulk:{operation_id}", resumed=True)
    return _changed(operation_id, 202)


@pages.post("/<uuid:operation_id>/undo")
def undo(operation_id: UUID) -> Response:
    """Begin the operation that undoes it."""
    _view(operation_id)
    who = principal()
    with transaction(who.org_id):
        undoing = bulk.undo(services().queue, who.org_id, operation_id, who.name)
        if undoing is None:
            raise Problem(409, "no_undo", detail="It can't be undone: it has not ended, or it was undone already.")
        note(Action.BULK_BEGUN, f"bulk:{undoing}", undo_of=str(operation_id))
    return _changed(undoing, 202)


def _changed(operation_id: UUID, status: int) -> Response:
    address = url_for("bulk.show", operation_id=operation_id)
    if fragments.is_for_program():
        return make_response(jsonify(_view(operation_id).json()), status, {"Location": address})
    return make_response(redirect(address, 303))


def _view(operation_id: UUID) -> OperationView:
    org = org_id()
    with reading(org):
        found = bulk.find(services().queue, org, operation_id)
        if found is None:
            raise Problem(404)
        row, may_resume = found
        failures = bulk.failures(org, operation_id, FAILURES_SHOWN) if row.failed else []
        days = services().settings.limits.export_days
        container_id = bulk.open_container(row)
        moving = large_containers.moving(org, container_id) if container_id else None
        return OperationView(row, bulk.may_be_undone(org, row), may_resume, failures, days, moving)


def _of_json() -> BulkRequest:
    body = request.get_json(silent=True)
    if not isinstance(body, Mapping):
        raise Problem(422, detail="Send a JSON object.")
    _check_texts(body)
    if unknown := sorted(str(name) for name in body.keys() - _KNOWN):
        known = ", ".join(sorted(_KNOWN))
        raise Problem(400, "unknown_parameter", detail=f"There is no parameter “{unknown[0][:100]}”. Known: {known}.")
    texts = {name: _text(body, name) for name in ("action", "query", "folder", "status")}
    ids = body.get("ids")
    if (ids is None) == (body.get("query") is None):
        raise Problem(422, detail=_WHICH)
    if ids is not None and not isinstance(ids, list):
        raise Problem(422, detail=_WHICH)
    if ids is not None and (texts["folder"] or texts["status"]):
        raise Problem(422, detail="“folder” and “status” narrow a “query”: name them without “ids”.")
    if not isinstance(body.get("dry_run", False), bool):
        raise Problem(422, detail="“dry_run” must be true or false.")
    names = body.get("tags", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Problem(422, detail=_TAGS)
    matching = _matching(texts["query"], texts["folder"], texts["status"])
    return _checked(texts["action"], None if ids is None else _ids(ids), matching, names)


def _check_texts(body: Mapping[str, Any]) -> None:
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Problem(422, detail="A text in the body has half of a character (a lone surrogate).") from error
    except RecursionError as error:
        raise Problem(422, detail="The JSON is nested too deeply.") from error


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise Problem(422, detail=f"{name} must be a text.")
    return value or ""


def _of_form() -> BulkRequest:
    form = request.form
    if unknown := sorted(form.keys() - _OF_FORMS):
        raise Problem(400, "unknown_parameter", detail=f"There is no field “{unknown[0][:100]}”.")
    ids = None if form.get("all") else _ids(form.getlist("id"))
    if ids is not None and not ids:
        raise Problem(422, detail="Select documents first.")
    names = [name.strip() for name in form.get("tags", "").split(",") if name.strip()]
    matching = _matching(form.get("q", ""), form.get("folder", ""), form.get("status", ""))
    return _checked(form.get("action", ""), ids, matching, names)


def _ids(given: Sequence[Any]) -> list[UUID]:
    if len(given) > bulk.IDS_MAX:
        raise Problem(422, detail=f"Name {bulk.IDS_MAX} ids at most, or a query.")
    try:
        return [UUID(str(each)) for each in given]
    except ValueError as error:
        raise Problem(422, detail="ids must be ids of documents.") from error


def _matching(q: str, folder: str, status: str) -> Matching:
    return Matching(choice(StatusFilter, "status", status), q.replace("\0", "").strip(), asked_folder(folder))


def _checked(action: str, ids: list[UUID] | None, matching: Matching, names: Sequence[str]) -> BulkRequest:
    chosen = choice(BulkAction, "action", action)
    if chosen is None or chosen in _BY_RULES:
        known = [each for each in BulkAction if each not in _BY_RULES]
        raise Problem(422, detail=f"action must be one of: {', '.join(known)}.")
    if chosen in {BulkAction.TAG, BulkAction.UNTAG}:
        try:
            if any("\0" in name for name in names) or not tags.named(names):
                raise BadValue
        except BadValue as error:
            raise Problem(422, detail=_TAGS) from error
    elif chosen is BulkAction.RESTORE and ids is None:
        raise Problem(422, detail="What lies in the bin is restored by its ids, or by undoing its deletion.")
    return BulkRequest(chosen, ids, matching, tuple(names))
