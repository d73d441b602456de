"""A run's artifacts: their paths, reading them, and removing old ones after publishing."""

import hashlib
import logging
from collections.abc import Callable, Collection
from typing import TypeVar, cast

from webapp.db import reading
from webapp.db.errors import DATABASE_ERRORS
from webapp.documents import blob_layout
from webapp.library import lookup
from webapp.pipeline import replaced
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import BlobMissing, ProviderError

_log = logging.getLogger(__name__)

Parsed = TypeVar("Parsed")


def digest(data: bytes) -> str:
    """The SHA-256 of these bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def artifact_path(context: StageContext, kind: str, data: bytes, ending: str) -> str:
    """The path of an artifact, which follows from run and content.

    A retry writes the same bytes to the same path. Another run has other paths, so nothing that readers are served is
    overwritten, and removing one run's artifacts can't hit another's.
    """
    name = f"{kind}-{digest(data)[:16]}.{ending}"
    return blob_layout.artifact(context.org_id, context.document_id, context.run_id, name)


def read_artifact(context: StageContext, name: str) -> bytes:
    """Read an artifact of an earlier step. A missing one is a temporary error: the next attempt makes it again."""
    path = context.artifact(name)
    if unsaved := context.unsaved_blobs.get(path):
        return unsaved.data
    try:
        return context.providers.blobs.read_bytes(path)
    except BlobMissing as error:
        raise ProviderError(f"the artifact {name} is gone", code=error.code) from error


def parsed(context: StageContext, name: str, parse: Callable[[bytes], Parsed]) -> Parsed:
    """A parsed artifact; it is read once in an attempt, however many steps need it."""
    path = context.artifact(name)
    if path not in context.parsed:
        context.parsed[path] = parse(read_artifact(context, name))
    return cast(Parsed, context.parsed[path])


def clear_away(context: StageContext, served: Collection[str]) -> None:
    """Remove artifacts of this run and earlier ones that readers don't need: best effort, after the commit.

    What readers are served stays (`served` is what this run has published), and so does what they were served before:
    somebody may be about to open it. Runs of a document follow one another in the order of their ids, so an older run
    has ended.
    """
    blobs, folder = context.providers.blobs, blob_layout.document_folder(context.org_id, context.document_id)
    try:
        runs = {blob.path: blob_layout.run_of(blob.path) for blob in blobs.list(folder)}
        found = {path: run_id for path, run_id in runs.items() if run_id is not None and path not in served}
        if not found:
            return
        # Both in one snapshot, since what is served may be replaced meanwhile.
        with reading(context.org_id):
            kept = replaced.paths_of(context.org_id, context.document_id)
            kept.update(lookup.artifact_paths(context.org_id, context.document_id).values())
        for path, run_id in found.items():
            if run_id <= context.run_id and path not in kept:
                blobs.delete(path)
    except (ProviderError, *DATABASE_ERRORS) as error:
        _log.warning("old artifacts of document %s stay behind: %s", context.document_id, type(error).__name__)
