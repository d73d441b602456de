"""The sandboxed jobs that find the pictures in the chapters of a book, and draw one of them as PNG."""

import posixpath
import sys
from collections.abc import Iterator
from pathlib import Path

from webapp.readers.epub.markdown import body_of_chapter
from webapp.readers.epub.read import chapters_of, opened_book
from webapp.readers.markup.parse import RECURSION
from webapp.readers.markup.writer import Element, local_name
from webapp.readers.pictures.draw import draw_frame
from webapp.readers.zip_members import ZipMembers, inside
from webapp.sandbox.child import Report

PICTURES_MAX = 2_000
# So many words before a picture tell its place in the text.
WORDS_BEFORE = 10
ALT_CHARACTERS_MAX = 300
# A decoration of a line is no picture for people to look at; of other formats none is shown.
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
_HREF = "{http://www.w3.org/1999/xlink}href"


def list_pictures(arguments: dict[str, object], report: Report) -> dict[str, object]:
    """The BookPictures of the book at `source`, as plain data."""
    sys.setrecursionlimit(RECURSION)
    archive, package = opened_book(arguments)
    chapters, _ = chapters_of(archive, package, report)
    found: list[dict[str, object]] = []
    for number, chapter in enumerate(chapters, 1):
        for each in _pictures(archive, chapter.path):
            if len(found) < PICTURES_MAX:
                found.append({"chapter": number, **each})
    return {"pictures": found}


def draw_picture(arguments: dict[str, object], report: Report) -> bool:
    """Draw the picture `member` of the book at `source` into `target`, within a box."""
    archive, _ = opened_book(arguments)
    target = Path(str(arguments["target"]))
    target.write_bytes(archive.read(str(arguments["member"])))
    return draw_frame({**arguments, "source": str(target), "number": 1}, report)


def _pictures(archive: ZipMembers, path: str) -> Iterator[dict[str, object]]:
    words: list[str] = []
    folder = posixpath.dirname(path)
    for element, text in _walk(body_of_chapter(archive.read(path))):
        words = [*words, *text.split()][-WORDS_BEFORE:]
        if element is None or local_name(element) not in {"img", "image"}:
            continue
        alt = " ".join((element.get("alt") or "").split())[:ALT_CHARACTERS_MAX]
        member = inside(folder, element.get("src") or element.get(_HREF) or "")
        if member.lower().endswith(_ENDINGS) and archive.has(member):
            yield {"member": member, "alt": alt, "before": " ".join(words)}


def _walk(root: Element) -> Iterator[tuple[Element | None, str]]:
    """Each element as it begins, with the text right behind that, and the text after each as it ends."""
    yield root, root.text or ""
    for child in root:
        if isinstance(child.tag, str):
            yield from _walk(child)
        yield None, child.tail or ""
