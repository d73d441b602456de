"""Extractions travel as JSON, also from processes that can't be trusted."""

import json
from typing import Any

import pytest

from webapp.readers.extraction import Extraction, Field, Page, Table

FULL = Extraction(
    extractor="local",
    version="1",
    markdown="<!-- page 1 -->\n\n# Ünï 🙂",
    pages=(Page(1, "text", 595.0, 842.0), Page(2, "", None, None)),
    page_count=2,
    title="T",
    language="en",
    fields=(Field("a", "b", 0.5, 1, (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)), Field("c", "d")),
    tables=(Table(1, (("x", "y"), ("1", "2")), "caption"), Table(None, ())),
    partial=True,
    warnings=("w",),
)


@pytest.mark.parametrize("extraction", [FULL, Extraction("local", "1", "")])
def test_json_and_back(extraction: Extraction) -> None:
    assert Extraction.from_json(extraction.to_json()) == extraction


@pytest.mark.parametrize(
    "change",
    [
        {"markdown": 1},
        {"markdown": None},
        {"title": []},
        {"page_count": "2"},
        {"page_count": True},
        {"partial": "yes"},
        {"pages": None},
        {"pages": [1]},
        {"pages": [{"number": None, "text": "", "width": None, "height": None}]},
        {"fields": [{"name": "a"}]},
        {"fields": [{"name": "a", "value": "b", "confidence": "high", "page": 1, "polygon": None}]},
        {"fields": [{"name": "a", "value": "b", "confidence": 1, "page": 1, "polygon": ["x"]}]},
        {"tables": [{"page": 1, "rows": [[1]], "caption": None}]},
        {"warnings": [None]},
    ],
)
def test_wrong_types_are_refused(change: dict[str, Any]) -> None:
    plain = json.loads(FULL.to_json()) | change
    with pytest.raises(ValueError, match="not a valid Extraction"):
        Extraction.from_plain(plain)


@pytest.mark.parametrize("data", [b"", b"[]", b"1", b"\xff", b"{}", b"[" * 100_000])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        Extraction.from_json(data)
