"""Where the blobs of a document lie, and what may be cleared away once a result is published."""

import hashlib
import logging
from collections.abc import Callable, Collection
from typing import TypeVar, cast
from uuid import UUID

from webapp.pipeline.steps import StageContext
from webapp.providers.errors import BlobMissing, ProviderError

_log = logging.getLogger(__name__)

Parsed = TypeVar("Parsed")


def digest(data: bytes) -> str:
    """SHA-256 in hex: the name of a content."""
    return hashlib.sha256(data).hexdigest()


def artifact_path(context: StageContext, kind: str, data: bytes, ending: str) -> str:
    """A path that follows from run and content.

    A retry writes the same bytes to the same place. Another run writes elsewhere, so what readers
    are served is never written over, and clearing up after one run can't hit another.
    """
    return f"{_folder(context)}{context.run_id}/{kind}-{digest(data)[:16]}.{ending}"


def read_artifact(context: StageContext, name: str) -> bytes:
    """Read what an earlier step saved. Where it is gone the next attempt makes it again, so that is no end."""
    path = context.artifact(name)
    try:
        return context.providers.blobs.read_bytes(path)
    except BlobMissing as error:
        raise ProviderError(f"the artifact {name} is gone", code=error.code) from error


def parsed(context: StageContext, name: str, parse: Callable[[bytes], Parsed]) -> Parsed:
    """What an artifact says: read and parsed once in an attempt, however many of its steps ask."""
    path = context.artifact(name)
    if path not in context.parsed:
        context.parsed[path] = parse(read_artifact(context, name))
    return cast(Parsed, context.parsed[path])


def clear_away(context: StageContext, kept: Collection[str]) -> None:
    """Remove what this run and earlier ones left, but for what is kept: best effort, after the commit.

    Runs of a document follow one another in the order of their ids, so an older run has ended.
    """
    blobs = context.providers.blobs
    try:
        for blob in list(blobs.list(_folder(context))):
            run_id = _run_of(blob.path.removeprefix(_folder(context)))
            if run_id is not None and run_id <= context.run_id and blob.path not in kept:
                blobs.delete(blob.path)
    except ProviderError as error:
        _log.warning("old artifacts of document %s stay behind: %s", context.document_id, error.code)


def _folder(context: StageContext) -> str:
    return f"{context.org_id}/documents/{context.document_id}/"


def _run_of(path: str) -> UUID | None:
    name, slash, _ = path.partition("/")
    try:
        return UUID(name) if slash else None
    except ValueError:
        return None
