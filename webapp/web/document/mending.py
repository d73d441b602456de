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


def offered(providers: Providers, document: Document, reasons: Collection[str]) -> Mend | None:
    """How a document is to be read again by these providers; None where nothing would be better."""
    remote = providers.remote_for(document.content_type)
    has_ocr = providers.extractor.accepts(PICTURES_TYPE)
    return mend_of(document.read_by, reasons, service=remote.name if remote else None, has_ocr=has_ocr)


def mend_of(read_by: str | None, reasons: Collection[str], *, service: str | None, has_ocr: bool) -> Mend | None:
    """The same by the mark of the last reader, by the service that would read it now, and by whether OCR is on."""
    if service is not None and read_by != f"{OTHERS}{service}":
        return Mend.SERVICE
    if service is None and has_ocr and ReadingReason.OCR_OFF in reasons:
        return Mend.OCR
    return Mend.AGAIN if _MAY_PASS & set(reasons) else None
