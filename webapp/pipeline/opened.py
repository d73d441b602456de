"""Opens a file that is locked by a password, once: the copy is kept beside the original, and read in its place.

The password lies sealed in the job's row. It is removed in the transaction that stores where the copy lies, and where
that is never reached, with the end of the attempt; so a later attempt finds the copy, or has to ask for it once more.
"""

import logging
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

from sqlalchemy import Table, bindparam, update

from webapp.documents import blob_layout
from webapp.documents.model import Document
from webapp.jobs.queue import LeaseLost
from webapp.jobs.sealed_passwords import HAS_PASSWORD, CantUnseal
from webapp.pipeline.source import SourceFile, find_source
from webapp.pipeline.steps import StageContext
from webapp.pipeline.temporary_files import temporary_file
from webapp.provider_errors import BadInput, BlobExists, FailureCode, ProviderError
from webapp.readers.filetypes import filetype
from webapp.readers.sniff import HEAD_BYTES, sniff

_log = logging.getLogger(__name__)

OPEN_SECONDS_MAX = 60.0
_documents = cast(Table, Document.__table__)
_OPENED = (
    update(_documents)
    .where(_documents.c.org_id == bindparam("org"), _documents.c.id == bindparam("document"))
    .values(opened_path=bindparam("path"), content_type=bindparam("opened_type"))
)


def opened(context: StageContext, source: SourceFile) -> SourceFile:
    """The file to read: where the job was given a password, the copy that it opened, stored before it is read.

    BadInput where the password is wrong, or gone.
    """
    if not context.lease.payload.get(HAS_PASSWORD):
        return source
    # Read anew: an earlier try of this step may have opened it.
    source, sealed = find_source(context), context.queue.sealed_password(context.lease)
    # Files in an archive may have other passwords than those that were opened already.
    if source.is_opened and (sealed is None or not filetype(source.content_type).is_archive):
        return source
    found = _open(context, source, _unsealed(context, sealed))
    try:
        _store(context, found)
    except LeaseLost:
        _remove(context, found.blob_path)
        raise
    _remove_earlier(context, found.blob_path)
    return found


def _open(context: StageContext, source: SourceFile, password: str) -> SourceFile:
    opener, blobs = context.providers.opener, context.providers.blobs
    if opener is None:
        raise BadInput("nothing here opens locked files", code=FailureCode.LOCK_UNKNOWN)
    path = blob_layout.opened_copy(context.org_id, context.document_id, context.lease.lease_id)
    with blobs.local_copy(source.blob_path) as file, temporary_file(blobs.incoming(), "opened-") as target:
        most = context.extract_timeout_seconds
        # An archive may take long: each of its files has a lock of its own.
        most = most if filetype(source.content_type).is_archive else min(OPEN_SECONDS_MAX, most)
        seconds = min(most, context.remaining_seconds())
        opener.open(file, target, password, timeout_seconds=seconds)
        content_type = _kind_of(target, source.content_type)
        # It exists where an earlier try of this attempt stored it, and did not learn of it.
        with suppress(BlobExists):
            blobs.put_file(path, target)
    return replace(source, blob_path=path, content_type=content_type, is_opened=True)


def _unsealed(context: StageContext, sealed: bytes | None) -> str:
    if sealed is None or context.seal is None:
        raise BadInput("an earlier attempt ended before it had opened the file", code=FailureCode.PASSWORD_GONE)
    try:
        return context.seal.unseal(sealed, context.document_id)
    except CantUnseal as error:
        message = "the password was sealed with another SECRET_KEY: web and worker processes need the same one"
        raise BadInput(message, code=FailureCode.PASSWORD_GONE) from error


def _kind_of(copy: Path, content_type: str) -> str:
    """What the copy is by its content: a locked document looks the same whatever it is. Archives say what they are."""
    if filetype(content_type).is_archive:
        return content_type
    with copy.open("rb") as file:
        found = sniff(file.read(HEAD_BYTES), "".join(filetype(content_type).endings[:1]))
    return found.content_type if found.reader else content_type


def _store(context: StageContext, found: SourceFile) -> None:
    """Store where the copy lies, and forget the password, in one transaction."""
    with context.transaction() as session:
        own = {"org": context.org_id, "document": context.document_id}
        session.execute(_OPENED, {**own, "path": found.blob_path, "opened_type": found.content_type})
        context.queue.forget_password(context.lease)


def _remove_earlier(context: StageContext, path: str) -> None:
    """Remove copies of attempts that ended before they could store where theirs lay: best effort, after the commit."""
    try:
        folder = blob_layout.document_folder(context.org_id, context.document_id)
        for blob in context.providers.blobs.list(folder):
            if blob_layout.is_opened_copy(blob.path) and blob.path != path:
                _remove(context, blob.path)
    except ProviderError as error:
        _log.warning("opened copies of document %s stay behind: %s", context.document_id, error.code)


def _remove(context: StageContext, path: str) -> None:
    try:
        context.providers.blobs.delete(path)
    except ProviderError as error:
        _log.warning("an opened copy of document %s stays behind: %s", context.document_id, error.code)
