"""The version of each family of readers: a number to raise when what the family reads comes out better.

Documents that an earlier version read are then read again (webapp/library/reread.py). Each says who read it by a mark
such as `pdf-1`, or `pdf-1 pictures-1` where OCR read some of its pages.
"""

from collections.abc import Callable

from webapp.readers.extraction import Extraction, PageState
from webapp.readers.filetypes import filetype

# A family is a folder or module in webapp/readers; `pictures` is OCR. `text` reads plain text and Markdown.
VERSIONS = {
    "archives": 1,
    "data": 1,
    "epub": 2,
    "mail": 2,
    "office": 2,
    "ole": 1,
    "pdf": 2,
    "pictures": 1,
    "text": 1,
    "web": 2,
}
PICTURES = "pictures"
# Read here, by a version from before the marks.
EARLIER = "earlier"
# Read by a service or by a program over HTTP: never read again by itself.
OTHERS = "other:"
# Read by nobody: its content type follows.
KEPT = "kept:"
# Read by OCR alone, where it is on.
PICTURES_TYPE = "image/png"
_BY_OCR = frozenset({PageState.OCR, PageState.UNKNOWN_SCRIPT})


def family_of(content_type: str) -> str | None:
    """The family that reads this type of file here; None where none does."""
    kind = filetype(content_type)
    if kind.is_picture:
        return PICTURES
    return kind.reader.partition(":")[0].split(".")[2] if kind.reader else None


def mark_of(content_type: str, extraction: Extraction) -> str:
    """The mark of what was read here just now."""
    family = family_of(content_type)
    marks = {family: VERSIONS[family]} if family else {}
    states = {page.state for page in extraction.pages}
    if states & _BY_OCR:
        marks[PICTURES] = VERSIONS[PICTURES]
    elif PageState.NEEDS_OCR in states:
        # There are pages for OCR, and it is off.
        marks[PICTURES] = 0
    return " ".join(f"{name}-{number}" for name, number in marks.items())


def is_mark(text: str) -> bool:
    """Whether a reader of a family left this mark."""
    return bool(text) and all(each.rpartition("-")[0] in VERSIONS for each in text.split(" "))


def mark_of_kept(content_type: str, *, was_tried: bool) -> str:
    """The mark of a file that is kept: its type, or the family that tried and found nothing."""
    family = family_of(content_type)
    return f"{family}-{VERSIONS[family]}" if was_tried and family else f"{KEPT}{content_type}"


def is_outdated(mark: str, accepts: Callable[[str], bool]) -> bool:
    """Whether the readers of today read better what has this mark; `accepts` says which types they read."""
    if mark == EARLIER:
        return True
    if mark.startswith(KEPT):
        content_type = mark.removeprefix(KEPT)
        # To read an archive is to unpack it, and who reads again adds no documents: Reprocess does.
        return accepts(content_type) and not filetype(content_type).is_archive
    return any(_is_older(each, accepts) for each in mark.split(" "))


def all_versions() -> str:
    """A short text that changes with each version."""
    return " ".join(f"{name}-{number}" for name, number in sorted(VERSIONS.items()))


def _is_older(mark: str, accepts: Callable[[str], bool]) -> bool:
    family, _, number = mark.rpartition("-")
    if family not in VERSIONS or (family == PICTURES and not accepts(PICTURES_TYPE)):
        return False
    return number != str(VERSIONS[family])
