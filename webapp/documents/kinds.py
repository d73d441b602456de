"""What sort of file a document is, by its content type; in Python and in SQL."""

from sqlalchemy import ColumnElement, or_

from webapp.documents.model import Document

_RECORDINGS = ("audio/", "video/")


def is_recording(content_type: str) -> bool:
    """Whether it is something to listen to."""
    return content_type.startswith(_RECORDINGS)


def are_recordings() -> ColumnElement[bool]:
    """The same as a condition on documents."""
    return or_(*(Document.content_type.startswith(prefix) for prefix in _RECORDINGS))
