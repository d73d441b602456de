"""The sandboxed job that reads plain text and Markdown."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.cleaning import clean_text
from webapp.readers.encoding import decode
from webapp.readers.extraction import Extraction
from webapp.readers.page_markdown import without_marks
from webapp.readers.titles import guessed_title
from webapp.sandbox.child import Report

NAME = "local"


def parse_text(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Read the text file at `source`; the answer is an Extraction as plain data."""
    text, warnings = read_text(arguments)
    report.progress(0.9)
    title = guessed_title(text) if arguments["markdown"] else None
    extraction = Extraction(
        extractor=NAME,
        version="",
        markdown=text,
        title=title,
        # A note that begins with a heading of the first level gives itself a title.
        title_is_guess=title is not None and not text.lstrip().startswith("# "),
        warnings=warnings,
    )
    return asdict(extraction)


def ready(_: dict[str, object], __: Report) -> bool:
    """Answer: that is all it takes to see that children can be started."""
    return True


def read_text(arguments: dict[str, object]) -> tuple[str, tuple[str, ...]]:
    """The clean text of the file at `source`, and what its reader should know of it; BadInput where there is none."""
    source, bytes_max = Path(str(arguments["source"])), int(str(arguments["bytes_max"]))
    if source.stat().st_size > bytes_max:
        raise BadInput(f"more than {bytes_max} bytes of text", code=FailureCode.TOO_LARGE)
    decoded = decode(source.read_bytes())
    text = without_marks(clean_text(decoded.text))
    if not text.strip():
        raise BadInput("nothing but white space", code=FailureCode.EMPTY)
    return text, decoded.warnings
