"""Artifacts that a newer result has replaced: kept for a day, for readers who were given their paths before."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, insert, select

from webapp.clock import after
from webapp.db import session
from webapp.documents.blob_layout import document_folder
from webapp.documents.model import Artifact, ReplacedArtifact


@dataclass(frozen=True)
class ReplacedBlob:
    """A replaced artifact, to be removed."""

    org_id: UUID
    path: str


def remember(org_id: UUID, document_id: UUID, kept: Collection[str]) -> None:
    """Record the artifacts that are being replaced, except for `kept`, in the transaction that replaces them.

    Paid answers are stored elsewhere, for as long as their document exists.
    """
    of_document = (Artifact.org_id == org_id, Artifact.document_id == document_id)
    served = session().scalars(select(Artifact.path).where(*of_document))
    own = document_folder(org_id, document_id)
    rows = [
        {"path": path, "org_id": org_id, "document_id": document_id}
        for path in served
        if path.startswith(own) and path not in kept
    ]
    if rows:
        session().execute(insert(ReplacedArtifact), rows)


def paths_of(org_id: UUID, document_id: UUID) -> set[str]:
    """The replaced artifacts of a document that somebody may still be reading."""
    found = select(ReplacedArtifact.path)
    found = found.where(ReplacedArtifact.org_id == org_id, ReplacedArtifact.document_id == document_id)
    return set(session().scalars(found))


def older_than(seconds: float, limit: int) -> Sequence[ReplacedBlob]:
    """The artifacts that were replaced so long ago, of all orgs, oldest first."""
    found = select(ReplacedArtifact.org_id, ReplacedArtifact.path).where(ReplacedArtifact.replaced_at < after(-seconds))
    rows = session().execute(found.order_by(ReplacedArtifact.replaced_at, ReplacedArtifact.path).limit(limit))
    return [ReplacedBlob(*row) for row in rows]


def forget(paths: Collection[str]) -> None:
    """Delete the rows of these blobs, which were removed."""
    gone = delete(ReplacedArtifact).where(ReplacedArtifact.path.in_(paths))
    session().execute(gone.execution_options(synchronize_session=False))
