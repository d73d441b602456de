"""Stored files on their way out: saved, whatever they hold; shown in place where a browser runs nothing of them."""

import os
from io import BytesIO
from typing import BinaryIO, cast

from flask import Response, request, send_file
from werkzeug.exceptions import RequestedRangeNotSatisfiable

from webapp.documents.model import Document
from webapp.provider_errors import BlobMissing
from webapp.providers.ports import BlobStore
from webapp.readers.filetypes import PDF
from webapp.web.errors import Problem
from webapp.web.library.upload_seats import admit_download

# Even a browser that opens the file all the same gives it no script, no form and no origin.
_POLICY = "default-src 'none'; sandbox"
# A browser that opens a recording by itself plays it in a page of its own, which could load nothing in a sandbox.
_SOUND_POLICY = "default-src 'none'; media-src 'self'; img-src 'self'"
# Chromium's viewer of PDFs refuses a sandbox; it runs apart from the pages of this site all the same.
_PDF_POLICY = "default-src 'none'; frame-ancestors 'self'"
# The page that a browser makes around a picture has a style of its own.
_SEEN_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
# The page that a browser makes around a sound or a film loads it once more, from its own origin.
_PLAYED_POLICY = "default-src 'none'; media-src 'self'; sandbox allow-same-origin"
# No type here can hold a script that a browser would run: neither HTML nor SVG, and nothing made of XML.
_INLINE = {
    PDF: _PDF_POLICY,
    **dict.fromkeys(("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"), _SEEN_POLICY),
    **dict.fromkeys(("audio/wav", "audio/mpeg", "audio/mp4", "audio/ogg", "audio/flac", "audio/aac"), _PLAYED_POLICY),
    "video/mp4": _PLAYED_POLICY,
}


def download(content: bytes, filename: str, content_type: str) -> Response:
    """Bytes that a page made."""
    stream = admit_download(cast(BinaryIO, BytesIO(content)), len(content))
    return _send(stream, len(content), filename, content_type)


def download_made(made: BinaryIO, filename: str, content_type: str) -> Response:
    """A file that was made just now, and is gone once it is sent."""
    size_bytes = os.fstat(made.fileno()).st_size
    return _send(admit_download(made, size_bytes), size_bytes, filename, content_type)


def download_blob(store: BlobStore, document: Document) -> Response:
    """The file of a document."""
    try:
        stream = store.open(document.blob_path)
    except BlobMissing as error:
        raise Problem(404, detail="The stored file is gone.") from error
    stream = admit_download(stream, document.size_bytes)
    response = _send(stream, document.size_bytes, document.filename, document.content_type)
    response.set_etag(document.sha256)
    return _as_asked(response, stream, document.size_bytes)


def download_stream(stream: BinaryIO, size_bytes: int, filename: str, content_type: str, tag: str) -> Response:
    """A stored file that is no document's; `tag` names its content."""
    stream = admit_download(stream, size_bytes)
    response = _send(stream, size_bytes, filename, content_type)
    response.set_etag(tag)
    return _as_asked(response, stream, size_bytes)


def opens_inline(content_type: str) -> bool:
    """Whether browsers show such a file, and can do it without harm."""
    return content_type in _INLINE


def show_blob(store: BlobStore, document: Document) -> Response:
    """The file of a document, shown in place; only for a type that `opens_inline`."""
    policy = _INLINE[document.content_type]
    response = download_blob(store, document)
    response.headers["Content-Security-Policy"] = policy
    response.headers["Content-Disposition"] = response.headers["Content-Disposition"].replace("attachment", "inline", 1)
    return response


def play(store: BlobStore, path: str) -> Response:
    """Sound that we made ourselves, to be played in a page: whole, or the range that a player asks for."""
    try:
        size_bytes = store.size(path)
        stream = store.open(path)
    except BlobMissing as error:
        raise Problem(404, detail="The stored sound is gone.") from error
    stream = admit_download(stream, size_bytes)
    response = send_file(stream, mimetype="audio/ogg", conditional=False)
    response.content_length = size_bytes
    response.headers["Content-Security-Policy"] = _SOUND_POLICY
    response.headers["Cache-Control"] = "private, no-cache"
    # Its name follows from what is in it.
    response.set_etag(path.rpartition("/")[2].removesuffix(".ogg"))
    return _as_asked(response, stream, size_bytes)


def download_artifact(store: BlobStore, path: str, content_type: str) -> Response:
    """What a stage made, for a program."""
    try:
        size_bytes = store.size(path)
        stream = store.open(path)
    except BlobMissing as error:
        raise Problem(404, detail="The stored artifact is gone.") from error
    stream = admit_download(stream, size_bytes)
    return _as_asked(_send(stream, size_bytes, path.rpartition("/")[2], content_type), stream, size_bytes)


def picture(content: bytes | None, tag: str) -> Response:
    """A PNG of our own making, shown in place; None says that the browser has it already."""
    response = Response(content, 304 if content is None else 200, mimetype="image/png")
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["Cache-Control"] = "private, no-cache"
    response.set_etag(tag)
    return response


def _as_asked(response: Response, stream: BinaryIO, size_bytes: int) -> Response:
    """The whole, the range that was asked for, or nothing where it is known already.

    A range that nobody can read, of another unit or of several parts, is as if it had not been asked for.
    """
    asked = request.range
    is_range = asked is not None and asked.units == "bytes" and len(asked.ranges) == 1
    try:
        response.make_conditional(request, accept_ranges=is_range, complete_length=size_bytes)
    except RequestedRangeNotSatisfiable:
        stream.close()
        raise
    response.accept_ranges = "bytes"
    if request.method == "HEAD" or response.status_code in {304, 412}:
        # An answer without a body is sent without ever being closed.
        stream.close()
    return response


def _send(stream: BinaryIO, size_bytes: int, filename: str, content_type: str) -> Response:
    response = send_file(stream, mimetype=content_type, as_attachment=True, download_name=filename, conditional=False)
    response.content_length = size_bytes
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = _POLICY
    # A copy in the cache of a shared browser would outlive the sign-out.
    response.headers["Cache-Control"] = "private, no-store"
    return response
