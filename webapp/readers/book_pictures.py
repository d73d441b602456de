"""The pictures in the chapters of a book, as plain data that travels as JSON."""

from dataclasses import dataclass

from webapp.typed_json import TypedJson


@dataclass(frozen=True, slots=True)
class BookPicture:
    """A picture: the number of its chapter, its file in the book, what stands for it, and the words before it."""

    chapter: int
    member: str
    alt: str
    before: str


@dataclass(frozen=True, slots=True)
class BookPictures(TypedJson):
    """All pictures of a book, in the order of its text."""

    pictures: tuple[BookPicture, ...]
