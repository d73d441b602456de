"""What could read the pages that were not read well: another reader than the last one, or the same one once more."""

from collections.abc import Collection
from enum import StrEnum

from webapp.documents.model import Document
from webapp.providers.ports import Providers
from webapp.readers.page_reading import ReadingReason
from webapp.readers.versions import OTHERS, PICTURES_TYPE

# These may be gone by the next time.
_MAY_PASS = frozenset(
    {
        ReadingReason.PAGE_FAILED,
        ReadingReason.OCR_ENDED,
        ReadingReason.TIME_LIMIT,
        ReadingReason.UNKNOWN_SCRIPT,
        ReadingReason.NOT_ANSWERED,
    }
)


class Mend(StrEnum):
    """How a document is worth being read again."""

    SERVICE = "service"
    """By a service, which did not read it before."""
    OCR = "ocr"
    """By OCR, which was off."""
    AGAIN = "again"
    """As before: what was in the way may be gone."""


def mend_of(providers: Providers, document: Document, reasons: Collection[str]) -> Mend | None:
    """How it is to be read again; None where nothing would be better."""
    remote = providers.remote_for(document.content_type)
    if remote is not None and document.read_by != f"{OTHERS}{remote.name}":
        return Mend.SERVICE
    if remote is None and ReadingReason.OCR_OFF in reasons and providers.extractor.accepts(PICTURES_TYPE):
        return Mend.OCR
    return Mend.AGAIN if _MAY_PASS & set(reasons) else None
