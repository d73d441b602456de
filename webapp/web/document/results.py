"""A document with its result, read in one snapshot; and lists of a result that are read in parts.

Whatever one answer says of a document is read inside of one `reading()`, so it comes from one result. A list that is
read in several answers names the run that made the result, in each answer and in the cursor for the next part. Where
another run's result has taken its place, that part is refused: the two would not fit together.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from flask import request, url_for

from webapp.accounts import actors
from webapp.db import reading
from webapp.documents.model import Document
from webapp.jobs.states import JobStatus
from webapp.library import corrections, further_names, lookup, tags
from webapp.library.corrections import Target
from webapp.library.further_names import OtherName
from webapp.library.pages import reasons
from webapp.library.searchable import WORDS
from webapp.runs.stages import DETECT_CONNECTIONS
from webapp.search import connections, passages
from webapp.web.access import org_id, services
from webapp.web.document_view import DocumentView, document_views, run_seconds
from webapp.web.errors import Problem
from webapp.web.numbers import DIGITS_MAX
from webapp.web.shapes import document_json

_ID_BYTES = 16


@dataclass(frozen=True)
class PageCounts:
    """How many pages of a document were read well, in part, and not."""

    well: int
    in_part: int
    not_read: int


@dataclass(frozen=True)
class OwnFact:
    """What was found where a person says otherwise; who said it, and when."""

    found: str | None
    by: str
    at: datetime


@dataclass(frozen=True)
class ShownResult:
    """A document with all that each of its sections shows around its own content."""

    view: DocumentView
    result_at: datetime | None
    result_seconds: float | None
    counts: Mapping[str, int]
    has_words: bool = False
    """Whether OCR read pages of it, of which a searchable PDF can be made."""
    pages_in_part: int = 0
    """How many pages were read in part."""
    known_tags: Sequence[str] = ()
    """Tags of the org, to be suggested."""
    reasons: Collection[str] = ()
    """What was in the way of pages that were not read well."""
    is_looking: bool = False
    """Whether its connections are still being looked for."""
    further_names: Sequence[OtherName] = ()
    """What else its file was called where it was uploaded again."""
    own_facts: Mapping[str, OwnFact] = field(default_factory=dict)
    """What a person says of it, beside what was found, by the names of the facts."""

    @property
    def document(self) -> Document:
        return self.view.document

    @property
    def pages(self) -> PageCounts | None:
        """How many pages were read how; None where nothing says so."""
        count, read = self.document.page_count, self.document.pages_read
        if not count or not read or self.document.reading is None:
            return None
        return PageCounts(well=read - self.pages_in_part, in_part=self.pages_in_part, not_read=count - read)

    @property
    def run_id(self) -> UUID | None:
        """The run whose result this is."""
        return self.document.published_run_id

    def json(self) -> dict[str, Any]:
        """All about the document, for programs."""
        whole = {"counts": self.counts, "searchable_pdf": self.has_words, "tags": [tag.name for tag in self.view.tags]}
        also = [{"filename": each.filename, "folder": each.folder or None} for each in self.further_names]
        own = {name: {"found": fact.found, "by": fact.by, "at": fact.at} for name, fact in self.own_facts.items()}
        return {**document_json(self.view), **whole, "further_names": also, "corrected": own}

    def cursor(self, start: int) -> str | None:
        """What asks for the part from number `start` on, of this result and no other."""
        return str(Place(start, self.run_id)) if self.run_id else None


@dataclass(frozen=True)
class Place:
    """A place in a list, and the run whose list is meant; None where whatever is there now will do."""

    start: int
    run_id: UUID | None = None

    def __str__(self) -> str:
        """As it travels in addresses."""
        run = self.run_id.bytes if self.run_id else b""
        return urlsafe_b64encode(run + str(self.start).encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Read what `str` wrote; ValueError for anything else."""
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        number = data[_ID_BYTES:]
        if not number.isdigit() or len(number) > DIGITS_MAX:
            raise ValueError("no place in a list")
        return cls(int(number), UUID(bytes=data[:_ID_BYTES]))


def find(document_id: UUID) -> ShownResult:
    """A document of the asking org with what all of its sections show; 404 where there is none.

    Call it inside of the `reading()` that reads the section's own content.
    """
    org = org_id()
    with reading(org):
        view = _read_view(org, document_id)
        published = lookup.published_run(org, document_id)
        parts = lookup.part_counts(org, document_id)
        has_words, in_part = parts.pop(WORDS) > 0, parts.pop(lookup.PAGES_IN_PART)
        counts = {
            **parts,
            "chunks": passages.count(org, document_id),
            "connections": connections.count(org, document_id),
        }
        known_tags = tags.known(org)
        in_the_way = reasons(org, document_id) if view.document.is_partly_read else ()
        is_looking = published is not None and _is_looking(published.id)
        own = _own_facts(view.document)
        others = further_names.of_document(org, document_id)
    return ShownResult(
        view,
        published.finished_at if published else None,
        run_seconds(published) if published else None,
        counts,
        has_words,
        in_part,
        known_tags,
        in_the_way,
        is_looking,
        others,
        own,
    )


def _is_looking(run_id: UUID) -> bool:
    job = services().queue.live_of_runs([run_id]).get(run_id)
    return (
        job is not None and job.stage == DETECT_CONNECTIONS and job.status in {JobStatus.PENDING, JobStatus.PROCESSING}
    )


def _own_facts(document: Document) -> dict[str, OwnFact]:
    if not document.found:
        return {}
    said = corrections.of_document(document.org_id, document.id, Target.FACT)
    known = actors.names(document.org_id, [each.by for each in said])
    found = document.found
    return {each.name: OwnFact(found[each.name][each.name], known.get(each.by, ""), each.at) for each in said}


def view_of(document_id: UUID) -> DocumentView:
    """A document's view; 404 where there is none."""
    org = org_id()
    with reading(org):
        return _read_view(org, document_id)


def asked_place() -> Place:
    """Where the list is to begin: by `cursor`, which names a run, or by `start` alone."""
    cursor = request.args.get("cursor", "")
    if not cursor:
        return Place(number_in_query("start") or 0)
    try:
        return Place.parse(cursor)
    except ValueError as error:
        raise Problem(422, detail="cursor must be the next_cursor of an earlier answer.") from error


def asked_run() -> UUID | None:
    """The run whose result the earlier part was of."""
    value = request.args.get("run", "")
    try:
        return UUID(value) if value else None
    except ValueError as error:
        raise Problem(422, detail="run must be the id of a run.") from error


def expect_run(document: Document, run_id: UUID | None) -> None:
    """409 where a part of one run's result is asked for and another run's is published by now."""
    if run_id is None or run_id == document.published_run_id:
        return
    raise Problem(
        409,
        "replaced",
        link=url_for("document.show", document_id=document.id),
        members={"run_id": document.published_run_id},
    )


def number_in_query(name: str) -> int | None:
    """A whole number of the query; anything else is as if it were not there."""
    value = request.args.get(name, "")
    if len(value) > DIGITS_MAX:
        raise Problem(400, detail=f"{name} has too many digits.")
    return int(value) if value.isascii() and value.isdigit() and int(value) > 0 else None


def own_address() -> str:
    """The address of this section, which asks for whatever result is there when it is opened."""
    kept: dict[str, Any] = {name: value for name, value in request.args.items() if name not in {"cursor", "run"}}
    return url_for(str(request.endpoint), **{**(request.view_args or {}), **kept})


def _read_view(org: UUID, document_id: UUID) -> DocumentView:
    row = lookup.get_row(org, document_id)
    if row is None:
        raise Problem(404)
    [view] = document_views(services().queue, [row])
    return view
