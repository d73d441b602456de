"""Artifacts that a newer result has replaced: still there for whoever was told their paths, removed some time later."""

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
    """A blob that readers were served once."""

    org_id: UUID
    path: str


def remember(org_id: UUID, document_id: UUID, kept: Collection[str]) -> None:
    """Note what readers are served now and will not be any more, but for `kept`, in the transaction that replaces it.

    Answers that were paid for lie elsewhere. They stay for as long as their document does.
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
    """What of a document somebody may still be reading."""
    found = select(ReplacedArtifact.path)
    found = found.where(ReplacedArtifact.org_id == org_id, ReplacedArtifact.document_id == document_id)
    return set(session().scalars(found))


def older_than(seconds: float, limit: int) -> Sequence[ReplacedBlob]:
    """What was replaced so long ago, of all orgs, the oldest first."""
    found = select(ReplacedArtifact.org_id, ReplacedArtifact.path).where(ReplacedArtifact.replaced_at < after(-seconds))
    rows = session().execute(found.order_by(ReplacedArtifact.replaced_at, ReplacedArtifact.path).limit(limit))
    return [ReplacedBlob(*row) for row in rows]


def forget(paths: Collection[str]) -> None:
    """These blobs are gone."""
    gone = delete(ReplacedArtifact).where(ReplacedArtifact.path.in_(paths))
    session().execute(gone.execution_options(synchronize_session=False))
