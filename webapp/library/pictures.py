"""Pictures of the pages of PDFs and picture files: drawn when somebody first looks, and kept beside the file."""

import logging
from enum import StrEnum

from webapp.documents import blob_layout
from webapp.documents.model import Document
from webapp.provider_errors import BadInput, BlobMissing, ParserCrashed, ProviderError, TimedOut
from webapp.providers.ports import BlobStore, Providers
from webapp.readers.filetypes import PDF, filetype

_log = logging.getLogger(__name__)

# A part of their names: count it up when the same page would be drawn in another way.
RULES = 1
# What is kept for a page that cannot be drawn, so that one which costs all the time there is costs it once.
_CANNOT_BE_DRAWN = b""


class Size(StrEnum):
    """How large a picture is: to find a page by its looks, or to read it."""

    SMALL = "small"
    LARGE = "large"


BOXES = {Size.SMALL: (220, 440), Size.LARGE: (1100, 2200)}
# Small ones come by the dozen, beside a text that says what is on the page.
_DRAW_SECONDS = {Size.SMALL: 5.0, Size.LARGE: 20.0}


def has_pictures(document: Document) -> bool:
    """Whether the pages of this kind of file can be drawn."""
    return document.content_type == PDF or filetype(document.content_type).is_picture


def picture_name(document: Document, number: int, size: Size) -> str:
    """What tells a picture from all others of the document: those of a locked file are not those of its copy."""
    return f"{RULES}-{'opened-' if document.opened_path else ''}{size}-{number}"


def page_picture(providers: Providers, document: Document, number: int, size: Size) -> bytes | None:
    """A page as PNG; None where there is no such page or it cannot be drawn."""
    path = _path(document, number, size)
    try:
        return providers.blobs.read_bytes(path) or None
    except BlobMissing:
        pass
    try:
        picture = _draw(providers, document, number, size)
    except BlobMissing:
        # Deleted between the two looks.
        return None
    except (BadInput, ParserCrashed, TimedOut) as error:
        _log.info("page %s of document %s cannot be drawn: %s", number, document.id, error)
        picture = _CANNOT_BE_DRAWN
    if picture is not None:
        keep(providers.blobs, path, picture)
    return picture or None


def _draw(providers: Providers, document: Document, number: int, size: Size) -> bytes | None:
    if providers.artist is None or not has_pictures(document):
        return None
    local_copy = providers.copies or providers.blobs.local_copy
    with local_copy(document.readable_path) as source:
        return providers.artist.draw(
            source, number, BOXES[size], timeout_seconds=_DRAW_SECONDS[size], org=str(document.org_id)
        )


def keep(blobs: BlobStore, path: str, picture: bytes) -> None:
    """Keep what was drawn, so that it is drawn once."""
    # Where the document was deleted meanwhile the daily sweep removes this blob.
    try:
        blobs.put_bytes(path, picture)
    except ProviderError as error:
        _log.warning("a picture is not kept: %s", error.code)


def _path(document: Document, number: int, size: Size) -> str:
    return blob_layout.page_picture(document.org_id, document.id, picture_name(document, number, size))
