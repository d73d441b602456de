"""What is looked for in an old Word document before the library reads it: it takes memory for each paragraph, and time
that grows with the square of how deeply fields lie in each other.
"""

from itertools import accumulate

from webapp.provider_errors import BadInput, FailureCode

PARAGRAPHS_MAX = 300_000
FIELDS_DEEP_MAX = 5_000
_PARAGRAPH, _FIELD, _FIELD_END = b"\r", 0x13, 0x15
_NO_FIELDS = bytes(set(range(256)) - {_FIELD, _FIELD_END})


def refuse_flood(data: bytes) -> None:
    """Refuse a document with more paragraphs, or with fields deeper in each other, than anybody writes.

    `data` is the whole stream: where in it the text lies, only the library finds out, and other bytes are rarely alike.
    """
    if data.count(_PARAGRAPH) > PARAGRAPHS_MAX + len(data) // 100:
        raise BadInput(f"more than {PARAGRAPHS_MAX} paragraphs", code=FailureCode.TOO_LARGE)
    marks = data.translate(None, _NO_FIELDS)
    steps = (1 if mark == _FIELD else -1 for mark in marks)
    if max(accumulate(steps, lambda depth, step: max(0, depth + step)), default=0) > FIELDS_DEEP_MAX:
        raise BadInput(f"fields more than {FIELDS_DEEP_MAX} deep", code=FailureCode.TOO_LARGE)
