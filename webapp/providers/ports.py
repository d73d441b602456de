"""What the product expects of blobs, extraction and embeddings: Protocols and plain data.

Each Protocol has one conformance suite in tests/contracts, and every implementation passes it.
Failures are those of `webapp.providers.errors` and nothing else.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from webapp.providers.errors import ProviderError
from webapp.providers.speech_ports import SpeechProviders

PAGE_MARK = "<!-- page {number} -->"


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """One stored blob, as a listing shows it."""

    path: str
    size_bytes: int
    modified_at: datetime


class BlobStore(Protocol):
    """Durable bytes under relative paths that the product makes itself."""

    name: str

    def put_file(self, path: str, source: Path) -> None:
        """Take a file in: durable on return, the source gone; BlobExists if something is there.

        After a failure the source lies where it was.
        """

    def put_bytes(self, path: str, data: bytes) -> None:
        """Store small content durably and atomically, replacing what was there."""

    def open(self, path: str) -> BinaryIO:
        """Open a blob for reading, seekable; BlobMissing."""

    def read_bytes(self, path: str) -> bytes:
        """Read a whole blob; BlobMissing."""

    def exists(self, path: str) -> bool:
        """Say whether there is a blob at this path."""

    def size(self, path: str) -> int:
        """Give a blob's length in bytes; BlobMissing."""

    def delete(self, path: str) -> None:
        """Remove a blob; one that is missing is no error."""

    def delete_prefix(self, prefix: str) -> int:
        """Remove all blobs below a folder and count them; never everything (ValueError)."""

    def list(self, prefix: str = "") -> Iterator[BlobInfo]:
        """Walk the blobs below a folder, sorted by path; "" walks the whole store."""

    def local_copy(self, path: str) -> AbstractContextManager[Path]:
        """Lend a blob as a local file, to be read only and only inside the `with`; BlobMissing."""

    def incoming(self) -> Path:
        """Give the folder for uploads on their way in: from there `put_file` is cheapest."""

    def sweep_incoming(self, older_than_seconds: float) -> int:
        """Remove what broken uploads left in the incoming folder, and count it."""

    def check(self) -> None:
        """Raise ProviderUnavailable unless the store takes writes now."""


@dataclass(frozen=True, slots=True)
class Field:
    """A named value found in a document.

    `polygon` is x, y of the four corners, clockwise from the top left, in the unit of the page's
    width and height with the origin at its top left.
    """

    name: str
    value: str
    confidence: float | None = None
    page: int | None = None
    polygon: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table as rows of cell texts; the first row is the heading where there is one."""

    page: int | None
    rows: tuple[tuple[str, ...], ...]
    caption: str | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """One word where it stands on its page; `polygon` as that of a field."""

    text: str
    confidence: float | None = None
    polygon: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page's plain text and size, and its words where the extractor says where they stand."""

    number: int
    text: str
    width: float | None = None
    height: float | None = None
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """All that was read out of a file.

    `markdown` holds a line `<!-- page N -->` where page N begins, so that passages know their
    pages; formats without pages have no such line. `partial` means that something is known to
    be missing; `warnings` say what a reader should know either way.
    """

    extractor: str
    version: str
    markdown: str
    pages: tuple[Page, ...] = ()
    page_count: int | None = None
    title: str | None = None
    language: str | None = None
    fields: tuple[Field, ...] = ()
    tables: tuple[Table, ...] = ()
    partial: bool = False
    warnings: tuple[str, ...] = ()

    def to_json(self) -> bytes:
        """Write the extraction as UTF-8 JSON that `from_json` reads back equal."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "Extraction":
        """Read `to_json`'s output; ValueError for anything else."""
        try:
            return cls.from_plain(json.loads(data))
        except RecursionError as error:
            raise ValueError("not an extraction: nested too deeply") from error

    @classmethod
    def from_plain(cls, plain: object) -> "Extraction":
        """Check every type on the way: the writer may have been a process gone astray."""
        if not isinstance(plain, dict):
            raise ValueError("not an extraction: an object was expected")
        try:
            return _extraction(plain)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not an extraction: {type(error).__name__} {error}") from error


class AnyExtractor(Protocol):
    """What both kinds of extractors say of themselves."""

    name: str
    version: str

    def options_key(self) -> str:
        """Give a stable text of the options that change the result: part of the cache's key."""

    def accepts(self, content_type: str) -> bool:
        """Say whether this kind of file can be read."""

    def check(self) -> None:
        """Raise ProviderUnavailable unless the extractor is ready for work."""


class Extractor(AnyExtractor, Protocol):
    """Turns a file's bytes into text, fields and tables while its caller waits."""

    def extract(
        self,
        source: Path,
        content_type: str,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
    ) -> Extraction:
        """Read a file; `progress` hears fractions from 0 to 1 that never fall."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a file that is asked for by itself: pages `first` to `last`, or all of it."""

    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        return "all" if self.first is None else f"pages-{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class NotYet:
    """The operation is still at work; None where the service does not say when to ask again."""

    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operation brought, as bytes that only `SlowExtractor.read` understands, and what it cost."""

    data: bytes
    pages: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The operation is over and brought nothing: to ask for its window again means to begin anew."""

    error: ProviderError


Polled = NotYet | Answer | Ended


class SlowExtractor(AnyExtractor, Protocol):
    """An extractor that works elsewhere, for as long as it takes: asked for, looked after, and read at last.

    Nobody waits inside a call. An operation's id is all that a later process needs to go on. What
    an operation brought is kept as it came, so that a better `read` never has to ask again.
    """

    windows_at_once: int

    def answers_key(self, content_type: str) -> str:
        """Give a stable text of what is asked for: as long as it is the same, so are the answers."""

    def windows(self, source: Path, content_type: str, *, timeout_seconds: float) -> tuple[Window, ...]:
        """Say in which parts a file is asked for; BadInput where that would be for nothing."""

    def start(self, source: Path, content_type: str, window: Window) -> str:
        """Ask for a window, and give the operation's id. This is the call that costs."""

    def poll(self, operation: str) -> Polled:
        """Look after an operation; an error says nothing about it, only that the look failed."""

    def read(self, answer: bytes, window: Window) -> Extraction:
        """Read an answer: its window's pages, with words and the document's page numbers. ValueError: it is none."""


class PageArtist(Protocol):
    """Draws pages of PDFs for people to look at."""

    def draw(self, source: Path, number: int, box: tuple[int, int], *, timeout_seconds: float) -> bytes | None:
        """Draw a page as PNG that fits a box of so many pixels; None where there is no such page."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how near their meanings are.

    A call takes `batch_size` texts at most, and `batch_bytes` of UTF-8 where there is more than one;
    `concurrency` calls at the same time are worth while. Vectors of one `model` can be compared.
    """

    name: str
    model: str
    dimensions: int
    batch_size: int
    batch_bytes: int
    concurrency: int

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Give one vector of unit length for each text, in order."""

    def check(self) -> None:
        """Raise ProviderUnavailable unless the embedder is ready for work."""


def _extraction(plain: dict[str, Any]) -> Extraction:
    return Extraction(
        extractor=_text(plain["extractor"]),
        version=_text(plain["version"]),
        markdown=_text(plain["markdown"]),
        pages=tuple(_page(page) for page in plain["pages"]),
        page_count=_integer(plain["page_count"]),
        title=_optional_text(plain["title"]),
        language=_optional_text(plain["language"]),
        fields=tuple(_field(field) for field in plain["fields"]),
        tables=tuple(_table(table) for table in plain["tables"]),
        partial=_flag(plain["partial"]),
        warnings=tuple(_text(warning) for warning in plain["warnings"]),
    )


def _page(plain: dict[str, Any]) -> Page:
    number = _integer(plain["number"])
    if number is None:
        raise TypeError("a page has a number")
    width, height = _number(plain["width"]), _number(plain["height"])
    # Results that were stored before there were words have none.
    words = tuple(_word(word) for word in plain.get("words", ()))
    return Page(number=number, text=_text(plain["text"]), width=width, height=height, words=words)


def _word(plain: dict[str, Any]) -> Word:
    return Word(_text(plain["text"]), _number(plain["confidence"]), _polygon(plain["polygon"]))


def _polygon(plain: Any) -> tuple[float, ...] | None:
    return None if plain is None else tuple(_coordinate(part) for part in plain)


def _field(plain: dict[str, Any]) -> Field:
    return Field(
        name=_text(plain["name"]),
        value=_text(plain["value"]),
        confidence=_number(plain["confidence"]),
        page=_integer(plain["page"]),
        polygon=_polygon(plain["polygon"]),
    )


def _table(plain: dict[str, Any]) -> Table:
    rows = tuple(tuple(_text(cell) for cell in row) for row in plain["rows"])
    return Table(page=_integer(plain["page"]), rows=rows, caption=_optional_text(plain["caption"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false was expected")
    return value


def _integer(value: object) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise TypeError("a whole number was expected")
    return value


def _number(value: object) -> float | None:
    return None if value is None else _coordinate(value)


def _coordinate(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a number was expected")
    return float(value)


def _none_earlier(model: str) -> Embedder | None:
    """Nobody makes vectors of an earlier model."""


@dataclass(frozen=True)
class Providers:
    """One implementation for each role, as the settings choose them.

    Where there is a slow extractor it reads what it accepts, and the other one reads the rest.
    """

    blobs: BlobStore
    extractor: Extractor
    embedder: Embedder
    slow_extractor: SlowExtractor | None = None
    speech: SpeechProviders | None = None
    artist: PageArtist | None = None
    earlier_embedder: Callable[[str], Embedder | None] = _none_earlier

    def embedder_for(self, model: str) -> Embedder | None:
        """Give who makes vectors of a model that is, or was, in use; None where nobody can any more."""
        return self.embedder if model == self.embedder.model else self.earlier_embedder(model)

    def slow_for(self, content_type: str) -> SlowExtractor | None:
        """Give the slow extractor if it is the one to read this kind of file."""
        slow = self.slow_extractor
        return slow if slow is not None and slow.accepts(content_type) else None

    def accepts(self, content_type: str) -> bool:
        """Say whether anybody reads this kind of file."""
        if self.speech is not None and self.speech.reader.accepts(content_type):
            return True
        return self.slow_for(content_type) is not None or self.extractor.accepts(content_type)
