"""The pictures in the chapters of a book: looked for when somebody first reads it, and kept beside the file."""

import logging
from collections.abc import Sequence

from webapp.documents import blob_layout
from webapp.documents.model import Document
from webapp.library.pictures import BOXES, RULES, Size, keep
from webapp.provider_errors import BadInput, BlobMissing, ParserCrashed, TimedOut
from webapp.providers.ports import Providers
from webapp.readers.book_pictures import BookPicture, BookPictures
from webapp.readers.filetypes import EPUB

_log = logging.getLogger(__name__)
_LIST_SECONDS, _DRAW_SECONDS = 20.0, 10.0
_TROUBLE = (BadInput, ParserCrashed, TimedOut)


def book_pictures(providers: Providers, document: Document) -> Sequence[BookPicture]:
    """The pictures of a book in the order of its text; none where the document is no book."""
    if document.content_type != EPUB or providers.artist is None:
        return ()
    path = blob_layout.book_pictures(document.org_id, document.id, f"{RULES}-pictures")
    try:
        return BookPictures.from_json(providers.blobs.read_bytes(path)).pictures
    except BlobMissing:
        pass
    try:
        with (providers.copies or providers.blobs.local_copy)(document.readable_path) as source:
            found = providers.artist.in_book(source, timeout_seconds=_LIST_SECONDS, org=str(document.org_id))
    except BlobMissing:
        # Deleted between the two looks.
        return ()
    except _TROUBLE as error:
        _log.info("the pictures of book %s are not known: %s", document.id, error)
        found = BookPictures(())
    keep(providers.blobs, path, found.to_json())
    return found.pictures


def book_picture(providers: Providers, document: Document, number: int) -> bytes | None:
    """Picture `number` of a book, from 0, as PNG; None where there is none or it cannot be drawn."""
    found = book_pictures(providers, document)
    if number >= len(found) or providers.artist is None:
        return None
    path = blob_layout.page_picture(document.org_id, document.id, f"{RULES}-picture-{number}")
    try:
        return providers.blobs.read_bytes(path) or None
    except BlobMissing:
        pass
    org, member = str(document.org_id), found[number].member
    try:
        with (providers.copies or providers.blobs.local_copy)(document.readable_path) as source:
            drawn = providers.artist.draw_in_book(
                source, member, BOXES[Size.LARGE], timeout_seconds=_DRAW_SECONDS, org=org
            )
    except BlobMissing:
        return None
    except _TROUBLE as error:
        _log.info("picture %s of book %s cannot be drawn: %s", number, document.id, error)
        drawn = b""
    keep(providers.blobs, path, drawn)
    return drawn or None
