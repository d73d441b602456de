"""Refuses uploads by their size, the free disk space, and what their org may store.

Asked before the first byte of a file is read, as far as the request says how long it is, and while files arrive.
"""

from flask import g

from webapp.db import reading
from webapp.library.intake import RefusalCode
from webapp.library.usage import stored_bytes
from webapp.provider_errors import FailureCode, ProviderUnavailable
from webapp.web import sentences
from webapp.web.access import org_id, services
from webapp.web.errors import Problem
from webapp.web.formatting import filesize

# What a form has around its files: boundaries, names, a field or two.
_AROUND_FILES_BYTES = 64 * 1024
# A test write takes a tenth of an upload's time. Where it says too much, storing the upload itself fails as clearly.
_PROBED_SECONDS = 1.0
# The disk is looked at again whenever so much has come: others write to it, too, and not every request says how much
# it brings.
_LOOK_AGAIN_BYTES = 16 * 1024**2


def check_space(declared_bytes: int | None) -> None:
    """413 for a request that is too large or an org that is full, 507 where the disk is. The size may be unknown."""
    limits = services().settings.limits
    if declared_bytes is not None and declared_bytes > limits.request_bytes_max:
        raise _too_large(limits.request_bytes_max)
    _check_disk(declared_bytes or 0)
    g.upload_bytes_left = None
    if limits.org_bytes_max:
        org = org_id()
        with reading(org):
            left = limits.org_bytes_max - stored_bytes(org)
        if left <= 0 or (declared_bytes or 0) - _AROUND_FILES_BYTES > left:
            raise _org_full(limits.org_bytes_max)
        g.upload_bytes_left = left


def count_file() -> None:
    """One more file of this request; 413 where it has too many."""
    g.upload_files = g.get("upload_files", 0) + 1
    if g.upload_files > services().settings.limits.request_files_max:
        raise Problem(413, "too_many_files", members={"files_max": services().settings.limits.request_files_max})


def count_bytes(size_bytes: int) -> None:
    """So much of a file has arrived; 413 where its org may not store that much, 507 where the disk is full by now."""
    g.upload_bytes_unlooked = g.get("upload_bytes_unlooked", 0) + size_bytes
    if g.upload_bytes_unlooked >= _LOOK_AGAIN_BYTES:
        g.upload_bytes_unlooked = 0
        _check_disk(0)
    left = g.get("upload_bytes_left")
    if left is None:
        return
    g.upload_bytes_left = left - size_bytes
    if g.upload_bytes_left < 0:
        raise _org_full(services().settings.limits.org_bytes_max)


def _check_disk(size_bytes: int) -> None:
    try:
        services().providers.blobs.check_space(size_bytes, recent_seconds=_PROBED_SECONDS)
    except ProviderUnavailable as error:
        if error.code is FailureCode.STORAGE_FULL:
            raise _problem(sentences.STORAGE_FULL, "storage_full") from error
        raise


def _org_full(bytes_max: int) -> Problem:
    return _problem(sentences.refusal(RefusalCode.ORG_FULL, {"bytes_max": bytes_max}), RefusalCode.ORG_FULL)


def _too_large(bytes_max: int) -> Problem:
    detail = sentences.REQUEST_TOO_LARGE.detail.format(limit=filesize(bytes_max))
    return Problem(413, "request_too_large", title=sentences.REQUEST_TOO_LARGE.title, detail=detail)


def _problem(refusal: sentences.UploadRefusal, reason: str) -> Problem:
    return Problem(refusal.status, reason, title=refusal.title, detail=refusal.detail)
