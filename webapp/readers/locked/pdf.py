"""PDF files that are locked by a password, opened by pdfium."""

from pathlib import Path

import pypdfium2
from pypdfium2 import raw

from webapp.provider_errors import BadInput, FailureCode

_CODES = {
    raw.FPDF_ERR_PASSWORD: (FailureCode.WRONG_PASSWORD, "the password is not that of the PDF"),
    raw.FPDF_ERR_SECURITY: (FailureCode.LOCK_UNKNOWN, "the PDF is locked in a way that pdfium does not know"),
}


def open_pdf(source: Path, target: Path, password: str) -> None:
    """Write the PDF without its lock; the user's password opens it, and so does the owner's."""
    with _opened(source, password) as document:
        pages = len(document)
        document.save(target, flags=raw.FPDF_REMOVE_SECURITY)
    # A copy that lost pages, or that still is locked, must not take the file's place.
    with _opened(target, None) as copy:
        if len(copy) != pages or pages == 0:
            raise BadInput(f"the opened PDF has {len(copy)} of {pages} pages")


def _opened(path: Path, password: str | None) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(path, password=password)
    except pypdfium2.PdfiumError as error:
        code, message = _CODES.get(error.err_code, (FailureCode.CORRUPT, "the PDF is damaged"))
        # Not the library's words, nor its error as the cause: neither is needed.
        raise BadInput(message, code=code) from None
