"""What is offered where pages were not read: only what can change something."""

import pytest

from webapp.readers.page_reading import ReadingReason
from webapp.web.document.mending import Mend, mend_of


@pytest.mark.parametrize(
    ("service", "has_ocr", "read_by", "reason", "offered"),
    [
        (None, False, "1", ReadingReason.OCR_OFF, None),
        (None, True, "1", ReadingReason.OCR_OFF, Mend.OCR),
        (None, True, "1", ReadingReason.NO_TEXT, None),
        (None, True, "1", ReadingReason.LOW_CONFIDENCE, None),
        (None, True, "1", ReadingReason.TIME_LIMIT, Mend.AGAIN),
        ("azure", True, "1", ReadingReason.LOW_CONFIDENCE, Mend.SERVICE),
        ("azure", True, None, ReadingReason.OCR_OFF, Mend.SERVICE),
        ("azure", True, "other:azure", ReadingReason.NO_TEXT, None),
        ("azure", True, "other:azure", ReadingReason.NOT_ANSWERED, Mend.AGAIN),
    ],
)
def test_only_what_helps_is_offered(
    service: str | None, has_ocr: bool, read_by: str | None, reason: ReadingReason, offered: Mend | None
) -> None:
    assert mend_of(read_by, {reason.value}, service=service, has_ocr=has_ocr) is offered
