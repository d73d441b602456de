"""The library: what an org has, and all that is known of one document. `grid` reads it page by page."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, bindparam, func, literal_column, select, union_all
from sqlalchemy.orm import InstrumentedAttribute, aliased

from webapp.db import session
from webapp.db.bounded import Count, distinct_values, up_to_most
from webapp.documents.binned import in_library
from webapp.documents.blob_layout import answers_folder, content_of
from webapp.documents.model import Artifact, Document, DocumentField, DocumentTable, ProcessingRun
from webapp.documents.operation_model import BulkOperation
from webapp.documents.states import QUIET_TRIGGERS
from webapp.library import contents
from webapp.library.pages import pages_in_part
from webapp.library.searchable import WORDS
from webapp.library.status_filter import StatusFilter, listed_as

PAGES_IN_PART = "pages_in_part"


@dataclass(frozen=True)
class DocumentRow:
    """A document and its newest run, from which its status follows."""

    document: Document
    run: ProcessingRun | None


def get(org_id: UUID, document_id: UUID) -> Document | None:
    """One document of this org, as it is in this transaction; None where it lies in the bin."""
    found = select(Document).where(Document.org_id == org_id, Document.id == document_id, in_library)
    return session().scalar(found.execution_options(populate_existing=True))


def get_row(org_id: UUID, document_id: UUID) -> DocumentRow | None:
    """One document of this org with its newest run."""
    found = rows(org_id, [document_id])
    return found[0] if found else None


def rows(org_id: UUID, ids: Sequence[UUID]) -> list[DocumentRow]:
    """These documents of this org, in this order, each with its newest run; without those that are gone or in the bin.

    Two queries, however many. Ids alone say which rows: named beside the org, a planner may read all rows of the org
    and pick these; and where the runs are joined, all runs are read.
    """
    if not ids:
        return []
    found = {row[0].id: row for row in session().execute(_ROWS, {"ids": ids}) if row[0].org_id == org_id}
    runs_by_id = _runs_by_id([run_id for _, run_id in found.values()])
    ordered = (found[id_] for id_ in ids if id_ in found)
    return [DocumentRow(document, runs_by_id.get(run_id)) for document, run_id in ordered]


def _runs_by_id(ids: Sequence[UUID]) -> dict[UUID, ProcessingRun]:
    return {run.id: run for run in session().scalars(_RUNS, {"ids": ids})} if ids else {}


def _newest_run_id() -> ScalarSelect[UUID]:
    run = aliased(ProcessingRun)
    # The one that its status follows from.
    shown = select(run.id).where(run.document_id == Document.id, run.trigger.not_in(QUIET_TRIGGERS))
    newest = shown.order_by(run.created_at.desc(), run.id.desc())
    return newest.limit(literal_column("1")).scalar_subquery()


# Made once: polls and pages ask them all the time. `populate_existing` reads rows anew in each transaction.
_FRESH: dict[str, Any] = {"populate_existing": True}
_ROWS = select(Document, _newest_run_id()).where(Document.id.in_(bindparam("ids", expanding=True)), in_library)
_ROWS = _ROWS.execution_options(**_FRESH)
_RUNS = select(ProcessingRun).where(ProcessingRun.id.in_(bindparam("ids", expanding=True)))
_RUNS = _RUNS.execution_options(**_FRESH)


def newest_runs(ids: Collection[UUID]) -> dict[UUID, UUID | None]:
    """The newest run of each of these documents, of an org or of all, as the open transaction may see them."""
    found = session().execute(_NEWEST_RUNS, {"ids": list(ids)}) if ids else ()
    return {row[0]: row[1] for row in found}


_NEWEST_RUNS = select(Document.id, _newest_run_id()).where(Document.id.in_(bindparam("ids", expanding=True)))


def embedding_models(org_id: UUID) -> list[str]:
    """The models whose vectors an org's documents have: one, but while they are being changed."""
    models = distinct_values(Document.__table__.c.embedding_model, Document.org_id == org_id, in_library).c.value
    return list(session().scalars(select(models).where(models.is_not(None))))


def counts(org_id: UUID) -> dict[StatusFilter, Count]:
    """How many documents of an org are listed as each; those that are read in part are among the ready ones, too."""
    counted = [
        up_to_most(select(Document.id).where(Document.org_id == org_id, listed_as(status))) for status in StatusFilter
    ]
    found = session().execute(select(*counted)).one()
    return {status: Count.of(number) for status, number in zip(StatusFilter, found, strict=True)}


def part_counts(org_id: UUID, document_id: UUID) -> dict[str, int]:
    """How many of each there are in one query: fields, tables, runs, files of words, pages read in part, and parts."""
    kinds: dict[str, tuple[type[Any], tuple[ColumnElement[bool], ...]]] = {
        "fields": (DocumentField, ()),
        "tables": (DocumentTable, ()),
        "runs": (ProcessingRun, ()),
        WORDS: (Artifact, (Artifact.kind == WORDS,)),
    }
    counted = [
        select(func.count()).where(kind.org_id == org_id, kind.document_id == document_id, *those).scalar_subquery()
        for kind, those in kinds.values()
    ]
    counted.append(pages_in_part(org_id, document_id))
    parts = select(func.count()).where(Document.org_id == org_id, Document.parent_id == document_id, in_library)
    numbers = session().execute(select(*counted, parts.scalar_subquery())).one()
    return dict(zip((*kinds, PAGES_IN_PART, "parts"), numbers, strict=True))


def published_run(org_id: UUID, document_id: UUID) -> ProcessingRun | None:
    """The run whose result readers see."""
    published = select(Document.published_run_id).where(Document.org_id == org_id, Document.id == document_id)
    found = select(ProcessingRun).where(ProcessingRun.org_id == org_id, ProcessingRun.id == published.scalar_subquery())
    return session().scalar(found.execution_options(populate_existing=True))


def artifacts(org_id: UUID, document_id: UUID) -> Sequence[Artifact]:
    """The blobs that processing a document has made."""
    return _parts(Artifact, org_id, document_id, Artifact.kind)


def artifact_paths(org_id: UUID, document_id: UUID) -> dict[str, str]:
    """Where the blobs of the published result lie, by what they are."""
    found = select(Artifact.kind, Artifact.path).where(Artifact.org_id == org_id, Artifact.document_id == document_id)
    return {row.kind: row.path for row in session().execute(found)}


def runs(org_id: UUID, document_id: UUID) -> Sequence[ProcessingRun]:
    """The history of a document, newest first."""
    history = select(ProcessingRun).where(ProcessingRun.org_id == org_id, ProcessingRun.document_id == document_id)
    history = history.order_by(ProcessingRun.created_at.desc(), ProcessingRun.id.desc())
    return session().scalars(history.execution_options(populate_existing=True)).all()


def run(org_id: UUID, run_id: UUID) -> ProcessingRun | None:
    """One run of this org."""
    found = session().scalar(select(ProcessingRun).where(ProcessingRun.id == run_id).execution_options(**_FRESH))
    return found if found is not None and found.org_id == org_id else None


def answers_folders(org_id: UUID, sha256: str) -> list[str]:
    """Where the answers about these bytes are kept: in one folder, or in several that earlier versions made."""
    found = select(Document.answers_folder).where(contents.having(org_id, [sha256])).distinct()
    return [answers_folder(org_id, sha256, stored) for stored in session().scalars(found)]


def known_blob_owners(org_id: UUID, owner_ids: set[UUID], folders: set[str]) -> set[str]:
    """Of these documents, operations (as text) and folders of answers those that exist: other blobs are orphans."""
    ids = union_all(
        select(Document.id).where(Document.org_id == org_id, Document.id.in_(owner_ids)),
        select(BulkOperation.id).where(BulkOperation.org_id == org_id, BulkOperation.id.in_(owner_ids)),
    )
    # The index finds contents; the name of a folder begins with that of its content.
    hashes = set(map(content_of, folders))
    having = select(Document.sha256, Document.answers_folder)
    having = having.where(contents.having(org_id, hashes))
    known = {answers_folder(org_id, *row) for row in session().execute(having)}
    return {str(found) for found in session().scalars(ids)} | (known & folders)


def blob_paths(org_id: UUID, ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    """The blobs that documents need: the uploaded file, its opened copy, and what readers of the result are served."""
    of_org = (Document.org_id == org_id, Document.id.in_(ids))
    files = select(Document.id, Document.blob_path, Document.opened_path).where(*of_org)
    served = select(Artifact.document_id, Artifact.path).where(Artifact.org_id == org_id, Artifact.document_id.in_(ids))
    paths = {row.id: [path for path in row[1:] if path is not None] for row in session().execute(files)}
    for document_id, path in session().execute(served):
        paths.setdefault(document_id, []).append(path)
    return paths


def _parts(kind: type[Any], org_id: UUID, document_id: UUID, order: InstrumentedAttribute[Any]) -> Sequence[Any]:
    parts = select(kind).where(kind.org_id == org_id, kind.document_id == document_id).order_by(order)
    return session().scalars(parts).all()
