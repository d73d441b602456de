"""Stores the answers of paid calls and their ledger lines: the only write of a worker that needs no lease.

During a call its run may end, its document may be deleted, or its job may go to another worker. The call is paid for
all the same, so its answer is stored by the hash of the content, as long as the org has these bytes or texts. No
document, run or job is changed.
"""

import base64
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from sqlalchemy import and_, exists, or_, select

from webapp.db import reading, session, transaction
from webapp.db.errors import DATABASE_ERRORS
from webapp.documents.blob_layout import content_of, late_vectors_folder
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import RunState
from webapp.library import lookup
from webapp.pipeline.paid_calls import reservations
from webapp.pipeline.paid_calls.until_stored import until_stored
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import BlobMissing, ProviderError
from webapp.providers.ports import BlobStore
from webapp.search import vector_cache
from webapp.search.model import Chunk
from webapp.search.vector_cache import Vector

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Vectors:
    """The vectors of a document's texts, by the hash of each text."""

    model: str
    document_id: UUID
    by_text: Mapping[str, Vector]


@dataclass(frozen=True)
class Blob:
    """An answer about a file, and its path in the document's folder of answers."""

    path: str
    data: bytes


@dataclass(frozen=True)
class Answer:
    """How a call ended: the outcome for the ledger (None where it was refused), and what it brought."""

    call_id: UUID
    seconds: float
    outcome: str | None = "ok"
    brought: Vectors | Blob | None = None


def outcome_of(error: Exception) -> str | None:
    """The ledger's outcome of a call that failed; None where the provider refused it, or it never left."""
    if isinstance(error, ProviderError):
        return "unknown" if error.is_outcome_unknown else None
    return "unknown"


def content_key(path: str) -> str:
    """The part of an answer's path that decides the answer: the file's hash and the question, not the document."""
    return f"{content_of(path)}/{path.split('/', 3)[3]}"


def kept_at(org_id: UUID, key: str) -> list[str]:
    """The paths at which the answer with this `content_key`, or its operation, may be; none without such a document."""
    return [each for path in _homes(org_id, key) for each in (path, operation_path(path))]


def operation_path(path: str) -> str:
    """The path of the operation that will bring the answer at this path."""
    return f"{path.removesuffix('.json')}.operation.json"


def keep(context: StageContext, answers: Sequence[Answer]) -> None:
    """Store answers and their ledger lines, whatever became of the job; retried until the lease may have ended."""
    try:
        until_stored(context, lambda: keep_now(context.providers.blobs, context.org_id, answers))
    except DATABASE_ERRORS:
        for answer in answers:
            _put_unbooked(context, answer)
        raise


def _put_unbooked(context: StageContext, answer: Answer) -> None:
    """Store an answer without its ledger line, since the database was away for too long.

    The run that finds it writes the line. Vectors are stored by the org's next job that embeds, or by the daily sweep,
    which also removes what belongs to no document or org.
    """
    brought = answer.brought
    if isinstance(brought, Vectors):
        brought = Blob(f"{late_vectors_folder(context.org_id)}{answer.call_id}.json", late_vectors(answer, brought))
    try:
        if brought is not None:
            context.providers.blobs.put_bytes(brought.path, brought.data)
    except ProviderError as error:
        _log.error("the answer of call %s is lost: %s", answer.call_id, error.code)


def keep_now(blobs: BlobStore, org_id: UUID, answers: Sequence[Answer]) -> None:
    """Store answers and their ledger lines, once, without retries."""
    put = [_put(blobs, org_id, answer.brought) for answer in answers if isinstance(answer.brought, Blob)]
    with transaction(org_id):
        for answer in answers:
            if isinstance(answer.brought, Vectors):
                _save(org_id, answer.brought)
            reservations.close(answer.call_id, answer.outcome, answer.seconds)
        gone = [path for path in put if path and path not in _homes(org_id, content_key(path))]
    for path in gone:
        # Its document was deleted meanwhile. What can't be removed now, the daily sweep removes.
        with suppress(ProviderError):
            blobs.delete(path)


def _put(blobs: BlobStore, org_id: UUID, blob: Blob) -> str | None:
    """Store a blob with its document, or where that was deleted with another one of the same bytes, if any."""
    with reading(org_id):
        homes = _homes(org_id, content_key(blob.path))
    path = blob.path if blob.path in homes else next(iter(homes), None)
    if path is not None:
        blobs.put_bytes(path, blob.data)
    return path


def _homes(org_id: UUID, key: str) -> list[str]:
    """The folders of answers of all documents with these bytes."""
    sha256, _, question = key.partition("/")
    return [folder + question for folder in lookup.answers_folders(org_id, sha256)]


def _save(org_id: UUID, vectors: Vectors) -> None:
    kept = _texts_in_documents(org_id, vectors)
    if kept:
        by_text = {sha256: vector for sha256, vector in vectors.by_text.items() if sha256 in kept}
        vector_cache.save(org_id, vectors.model, by_text)


def _texts_in_documents(org_id: UUID, vectors: Vectors) -> Collection[str]:
    """The texts that some document has; all of them while theirs exists or one of the org is processed."""
    own = and_(Document.org_id == org_id, Document.id == vectors.document_id)
    in_progress = and_(ProcessingRun.org_id == org_id, ProcessingRun.state == RunState.RUNNING)
    if session().scalar(select(or_(exists().where(own), exists().where(in_progress)))):
        return vectors.by_text.keys()
    texts = select(Chunk.text_sha256).where(Chunk.org_id == org_id, Chunk.text_sha256.in_(list(vectors.by_text)))
    return set(session().scalars(texts))


def store_late_vectors(blobs: BlobStore, org_id: UUID) -> bool:
    """Store vectors that were put among the blobs; returns whether there were any."""
    paths = [info.path for info in blobs.list(late_vectors_folder(org_id)) if info.path.endswith(".json")]
    for path in paths:
        # Another process may have stored them meanwhile.
        with suppress(BlobMissing):
            if (answer := _read_late_vectors(blobs.read_bytes(path))) is not None:
                keep_now(blobs, org_id, [answer])
        blobs.delete(path)
    return bool(paths)


def late_vectors(answer: Answer, vectors: Vectors) -> bytes:
    """The content of a blob of vectors that could not be stored in the database."""
    by_text = {
        sha256: base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()
        for sha256, vector in vectors.by_text.items()
    }
    found = {"model": vectors.model, "document": str(vectors.document_id), "by_text": by_text}
    return json.dumps({"call": str(answer.call_id), "seconds": answer.seconds, **found}).encode()


def _read_late_vectors(data: bytes) -> Answer | None:
    """None for anything that `late_vectors` did not write."""
    try:
        found = json.loads(data)
        by_text = {sha256: np.frombuffer(base64.b64decode(text), "<f4") for sha256, text in found["by_text"].items()}
        vectors = Vectors(str(found["model"]), UUID(found["document"]), by_text)
        return Answer(UUID(found["call"]), float(found["seconds"]), brought=vectors)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
