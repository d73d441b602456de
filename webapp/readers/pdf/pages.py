"""The sandboxed job that opens a PDF and counts its pages: all that has to be known before others read it."""

from typing import Any

import pypdfium2
from pypdfium2 import raw

from webapp.provider_errors import BadInput, FailureCode
from webapp.sandbox.child import Report


def count_pages(arguments: dict[str, object], _: Report) -> int:
    """Count the pages of the PDF at `source`; BadInput where nobody could read it."""
    with opened(str(arguments["source"])) as document:
        count = len(document)
    if count == 0:
        raise BadInput("the PDF has no pages")
    return count


def opened(source: str | bytes) -> Any:
    """Open a PDF; BadInput says whether a password is missing or it is damaged."""
    try:
        return pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        locked = error.err_code in {raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY}
        code = FailureCode.ENCRYPTED if locked else FailureCode.CORRUPT
        raise BadInput(str(error), code=code) from error
