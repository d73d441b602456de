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
class Page:
    """One page's plain text and size."""

    number: int
    text: str
    width: float | None = None
    height: float | None = None


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


class Extractor(Protocol):
    """Turns a file's bytes into text, fields and tables."""

    name: str
    version: str

    def options_key(self) -> str:
        """Give a stable text of the options that change the result: part of the cache's key."""

    def accepts(self, content_type: str) -> bool:
        """Say whether this kind of file can be read."""

    def extract(
        self,
        source: Path,
        content_type: str,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
    ) -> Extraction:
        """Read a file; `progress` hears fractions from 0 to 1 that never fall."""

    def check(self) -> None:
        """Raise ProviderUnavailable unless the extractor is ready for work."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how near their meanings are."""

    name: str
    model: str
    dimensions: int
    batch_size: int

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
    return Page(number=number, text=_text(plain["text"]), width=width, height=height)


def _field(plain: dict[str, Any]) -> Field:
    polygon = plain["polygon"]
    return Field(
        name=_text(plain["name"]),
        value=_text(plain["value"]),
        confidence=_number(plain["confidence"]),
        page=_integer(plain["page"]),
        polygon=None if polygon is None else tuple(_coordinate(part) for part in polygon),
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


@dataclass(frozen=True)
class Providers:
    """One implementation for each role, as the settings choose them."""

    blobs: BlobStore
    extractor: Extractor
    embedder: Embedder
