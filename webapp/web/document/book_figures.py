"""The pictures of a book beside its text: which of them a part shows, and the address of each."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from flask import Blueprint, Response, url_for

from webapp.documents.model import Document
from webapp.library.book_pictures import book_picture, book_pictures
from webapp.pipeline.markdown import MarkdownPage
from webapp.search.places import find_run, words_of
from webapp.web import blobs
from webapp.web.access import get_document, services
from webapp.web.errors import Problem
from webapp.web.markdown import Figure

pages = Blueprint("book", __name__, url_prefix="/documents/<uuid:document_id>/pictures")


@pages.get("/<int:number>.png")
def show(document_id: UUID, number: int) -> Response:
    """Picture `number` of a book, from 0, as PNG that was drawn here."""
    drawn = book_picture(services().providers, get_document(document_id), number)
    if drawn is None:
        raise Problem(404, "no_picture", detail="The book has no such picture, or it cannot be drawn.")
    return blobs.picture(drawn, f"{document_id}-{number}")


def figures_of(document: Document, parts: Sequence[Sequence[MarkdownPage]], index: int) -> dict[int, list[Figure]]:
    """The figures of one part of a book's text, by chapter."""
    shown = {piece.number for piece in parts[index]}
    result: dict[int, list[Figure]] = {}
    for number, picture in enumerate(book_pictures(services().providers, document)):
        if picture.chapter in shown and _part_with(parts, picture.chapter, f"{picture.before} {picture.alt}") == index:
            url = url_for("book.show", document_id=document.id, number=number)
            result.setdefault(picture.chapter, []).append(Figure(url, picture.alt, picture.before))
    return result


def _part_with(parts: Sequence[Sequence[MarkdownPage]], chapter: int, words: str) -> int:
    """The part in which a chapter has these words: it may be cut into several."""
    of_chapter = list(_pieces(parts, chapter))
    if len(of_chapter) == 1:
        return of_chapter[0][0]
    wanted = words_of(words)
    runs = {index: find_run(words_of(text), wanted) for index, text in of_chapter}
    return max(runs, key=lambda index: (run.share if (run := runs[index]) else 0.0, -index))


def _pieces(parts: Sequence[Sequence[MarkdownPage]], chapter: int) -> Iterator[tuple[int, str]]:
    for index, part in enumerate(parts):
        for piece in part:
            if piece.number == chapter:
                yield index, piece.text
