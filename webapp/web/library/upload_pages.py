"""POST /documents: files come in, documents that wait for a worker go out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for
from werkzeug.datastructures import FileStorage

from webapp.jobs.states import Priority
from webapp.library.folders import clean_folder, folder_of, tag_of_folder
from webapp.library.intake import Ingested, Refused, ingest
from webapp.web import fragments, sentences
from webapp.web.access import org_id, services, uploaders_only
from webapp.web.errors import Problem
from webapp.web.library.uploads import Part, refusal_problem
from webapp.web.shapes import uploaded_json
from webapp.web.spoken_language import as_checkpoint, asked_language

pages = Blueprint("upload", __name__)


@dataclass(frozen=True)
class Rejected:
    """A file that was refused, and why."""

    filename: str
    code: str
    refusal: sentences.UploadRefusal

    def as_json(self) -> dict[str, Any]:
        """One entry of `rejected`."""
        why = self.refusal
        return {
            "filename": self.filename,
            "status": why.status,
            "reason": self.code,
            "title": why.title,
            "detail": why.detail,
        }


@pages.post("/documents")
@uploaders_only
def create() -> Response:
    """Take in one or many files. What is wrong with one of them is no reason to lose the others.

    `language` is spoken in the recordings among them; `folder` is where they lay, and with
    `folder_tags` a tag of each new document.
    """
    org = org_id()
    parts = [part for part in request.files.getlist("file") if part.filename]
    priority, checkpoint = _priority(len(parts)), as_checkpoint(asked_language())
    outcomes = [_take(org, part, priority, checkpoint, _folder(part)) for part in parts]
    taken = [outcome for outcome in outcomes if isinstance(outcome, Ingested)]
    rejected = [outcome for outcome in outcomes if isinstance(outcome, Rejected)]
    if fragments.is_for_program() or fragments.wants_fragment():
        return _for_program(taken, rejected)
    return _for_person(taken, rejected)


def _priority(files: int) -> int:
    """Many files are a bulk import, and so is a part of one. A person who waits for one file goes first."""
    is_bulk = request.args.get("bulk") == "1" or files > services().settings.queue.bulk_upload_files
    return Priority.BULK if is_bulk else Priority.PERSON


def _folder(part: FileStorage) -> str | None:
    """The folder that a file lay in: as the form says, or as browsers name a file of a folder that was chosen."""
    return clean_folder(request.form.get("folder")) or folder_of(part.filename)


def _take(
    org: UUID, part: FileStorage, priority: int, checkpoint: Mapping[str, Any], folder: str | None
) -> Ingested | Rejected:
    stream = cast("Part", part.stream)
    try:
        if stream.refused:
            raise stream.refused
        tag = tag_of_folder(folder) if folder and request.form.get("folder_tags") == "1" else None
        return ingest(services(), org, stream, part.filename, priority, checkpoint, folder=folder, tag=tag)
    except Refused as refused:
        return Rejected(part.filename or "", refused.code, sentences.refusal(refused.code, refused.data))


def _for_program(taken: list[Ingested], rejected: list[Rejected]) -> Response:
    if not taken:
        raise _all_rejected(rejected)
    return jsonify(documents=[uploaded_json(one) for one in taken], rejected=[one.as_json() for one in rejected])


def _all_rejected(rejected: list[Rejected]) -> Problem:
    if not rejected:
        return refusal_problem(sentences.NO_FILE, "no_file")
    # Different faults have no status in common but the one for content that cannot be used.
    same = len({one.code for one in rejected}) == 1
    first = rejected[0]
    problem = refusal_problem(first.refusal, first.code, rejected=[one.as_json() for one in rejected])
    return problem if same else Problem(422, members=problem.members)


def _for_person(taken: list[Ingested], rejected: list[Rejected]) -> Response:
    """Back to the grid, which says what became of the files."""
    new = [one for one in taken if one.duplicate_of is None]
    known = [one for one in taken if one.duplicate_of is not None and not one.is_restored]
    restored = [one for one in taken if one.is_restored]
    for category, template, files in (
        ("success", "upload/_taken.txt", new),
        ("info", "upload/_known.txt", known),
        ("success", "upload/_restored.txt", restored),
        ("error", "upload/_rejected.txt", rejected),
    ):
        if files:
            flash(render_template(template, files=files).strip(), category)
    if not taken and not rejected:
        flash(sentences.NO_FILE.detail, "error")
    return make_response(redirect(url_for("library.index"), 303))
