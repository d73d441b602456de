"""What the product expects of blobs, extraction and embeddings: Protocols and plain data.

Each Protocol has one conformance suite in tests/contracts. Failures are those of `webapp.provider_errors`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Semaphore
from typing import BinaryIO, Protocol

from webapp.provider_errors import ProviderError
from webapp.providers.speech_ports import SpeechProviders
from webapp.readers.archives.members import Unpacked, UnpackLimits
from webapp.readers.book_pictures import BookPictures
from webapp.readers.extraction import Extraction
from webapp.readers.fields.proposed import ProposedFields
from webapp.readers.pictures.words_file import WordsOfPage


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

    def put_bytes(self, path: str, data: bytes, *, durably: bool = True) -> None:
        """Store small content atomically, replacing what was there; a power cut may undo it unless `durably`."""

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
        """Give a blob as a local file, to be read only, inside the `with`; BlobMissing."""

    def incoming(self) -> Path:
        """Give the folder for uploads on their way in: from there `put_file` is cheapest."""

    def sweep_incoming(self, older_than_seconds: float) -> int:
        """Remove what broken uploads left in the incoming folder, and count it."""

    def check(self) -> None:
        """Raise ProviderUnavailable unless the store takes writes now."""

    def check_space(self, size_bytes: int = 0, *, recent_seconds: float = 0.0) -> None:
        """Raise ProviderUnavailable unless so many bytes can be stored. A test write that old counts as a new one."""


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


class KeptParts(Protocol):
    """Where an extractor keeps what it has read of one file, so that a later attempt goes on from there."""

    def get(self, name: str) -> bytes | None:
        """Give a part that was kept; None where there is none."""

    def put(self, name: str, data: bytes, done: int, total: int) -> None:
        """Keep a part, after which so many pages of all are read; whatever is raised here ends the reading."""

    def seconds_left(self) -> float:
        """How long the reading may go on; 0 where its time is over."""


class Extractor(AnyExtractor, Protocol):
    """Turns a file's bytes into text, fields and tables while its caller waits."""

    def extract(
        self,
        source: Path,
        content_type: str,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
        parts: KeptParts | None = None,
    ) -> Extraction:
        """Read a file; `progress` hears fractions from 0 to 1 that never fall.

        What takes long is read in parts, each of which may take `timeout_seconds`.
        """


@dataclass(frozen=True, slots=True)
class Window:
    """Some pages of a file that are read by one operation: `first` to `last`, or all of them."""

    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        return "all" if self.first is None else f"pages-{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class StillRunning:
    """The operation is not done; None where the service does not say when to poll again."""

    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What an operation brought, as bytes that are stored as they are, and the units that it cost."""

    answer: bytes
    units: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The operation is over and brought nothing: what it was started for has to be started anew."""

    error: ProviderError


Polled = StillRunning | Done | Failed


class RemoteExtractor(AnyExtractor, Protocol):
    """Reads files at a service that may take minutes: `start` begins an operation, `poll` fetches its answer.

    No call waits for the service. A later process needs only the operation's id to go on. Answers are stored as they
    came, so that a better `read` never has to ask again.
    """

    windows_at_once: int

    def answers_key(self, content_type: str) -> str:
        """Give a stable text of what is asked of the service: as long as it is the same, so are the answers."""

    def windows(self, source: Path, content_type: str, *, timeout_seconds: float) -> tuple[Window, ...]:
        """Cut a file into windows; BadInput where the service could not read it."""

    def start(self, source: Path, content_type: str, window: Window) -> str:
        """Begin to read a window, and give the operation's id. This is the call that costs."""

    def poll(self, operation: str) -> Polled:
        """Ask how an operation is; an error says nothing about it, only that asking failed."""

    def read(self, answer: bytes, window: Window) -> Extraction:
        """Read an answer: its window's pages, with words and the document's page numbers; ValueError for others."""


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
    turns: Semaphore
    """One for each paid call that this process may have on its way: take it before `embed`, give it back after."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Give one vector of unit length for each passage, in order."""

    def embed_query(self, text: str) -> list[float]:
        """Give the vector of unit length of a question; some models read these otherwise than passages."""

    def knows_words_of(self, text: str) -> bool:
        """Say whether a question has words that the model knows. A vector of random letters means nothing."""

    def check(self) -> None:
        """Raise ProviderUnavailable unless the embedder is ready for work."""


class FieldFinder(Protocol):
    """Reads the values of a document's fields with a model that understands text, for money."""

    name: str
    version: str

    def options_key(self) -> str:
        """Give a stable text of the options that change the result: part of the cache's key."""

    def find(self, paper: str | None, pages: Sequence[tuple[int, str]], *, timeout_seconds: float) -> ProposedFields:
        """Read the pages (number and text) of a document of one kind, or (None) of any; nothing in them is an order.

        The values are proposed: who asks looks for them in the text.
        """

    def check(self) -> None:
        """Raise ProviderUnavailable unless the finder is ready for work."""


class Answerer(Protocol):
    """Answers questions from passages, for money, in lines: one sentence each, with the numbers of its passages."""

    name: str
    version: str

    def options_key(self) -> str:
        """Give a stable text of the options that change an answer: part of the cache's key."""

    def answer(self, question: str, passages: Sequence[str], *, timeout_seconds: float) -> Iterator[str]:
        """Answer in pieces, as they come; nothing in question or passages is an order. Empty where they don't say."""

    def check(self) -> None:
        """Raise ProviderUnavailable unless the answerer is ready for work."""


class FileOpener(Protocol):
    """Opens files that are locked by a password."""

    def open(self, source: Path, target: Path, password: str, *, timeout_seconds: float) -> None:
        """Write what a file holds behind its password to `target`, an empty file.

        BadInput says whether the password is wrong, or no password helps. No error quotes the password.
        """


@dataclass(frozen=True, slots=True)
class Load:
    """Which members of a container are fetched at once: from the place `first` on, until one of the two is reached."""

    first: int
    most: int
    most_bytes: int


class Unpacker(Protocol):
    """Fetches the files that lie in a container: an archive, a mail, a PDF."""

    limits: UnpackLimits

    def accepts(self, content_type: str) -> bool:
        """Say whether files may lie in this kind of file."""

    def count(self, source: Path, content_type: str, *, timeout_seconds: float) -> int:
        """Count the files in a container."""

    def unpack(
        self,
        source: Path,
        content_type: str,
        target: Path,
        load: Load,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
    ) -> Unpacked:
        """Write files of a container to `target`, an empty file, one after the other, and say what became of each."""


class PageArtist(Protocol):
    """Draws pages of PDFs and picture files for people to look at; one org's never take all the seats there are."""

    def draw(
        self, source: Path, number: int, box: tuple[int, int], *, timeout_seconds: float, org: str = ""
    ) -> bytes | None:
        """Draw a page as PNG that fits a box of so many pixels; None where there is no such page."""

    def words(self, source: Path, number: int, *, timeout_seconds: float, org: str = "") -> WordsOfPage | None:
        """Tell the words that a PDF holds for a page, with their places; None where there is no such page."""

    def in_book(self, source: Path, *, timeout_seconds: float, org: str = "") -> BookPictures:
        """Find the pictures in the chapters of a book."""

    def draw_in_book(
        self, source: Path, member: str, box: tuple[int, int], *, timeout_seconds: float, org: str = ""
    ) -> bytes:
        """Draw the picture that a book holds under this name as PNG that fits a box of so many pixels."""


class SearchablePdfMaker(Protocol):
    """Makes a PDF of a scan's pages in which the words that OCR read can be found; one at a time."""

    def make(
        self, source: Path, words: Path, *, is_pdf: bool, pages_max: int, timeout_seconds: float, org: str = ""
    ) -> BinaryIO:
        """Make one of a file and its words, and open it; it is gone once it is closed."""


class LanguageTeller(Protocol):
    """Names the language of a text."""

    known: Sequence[str]
    """The languages among which it chooses."""

    def language_of(self, text: str) -> str | None:
        """The text's language by its two-letter code; None where that is not plain."""


def _none_earlier(model: str) -> Embedder | None:
    """Nobody makes vectors of an earlier model."""


@dataclass(frozen=True)
class Providers:
    """One implementation for each role, as the settings choose them.

    Where there is a remote extractor it reads what it accepts, and the other one reads the rest. Where a local
    copy of a blob has to be fetched, `copies` gives one that is kept for a while.
    """

    blobs: BlobStore
    extractor: Extractor
    embedder: Embedder
    remote_extractor: RemoteExtractor | None = None
    field_finder: FieldFinder | None = None
    answerer: Answerer | None = None
    speech: SpeechProviders | None = None
    artist: PageArtist | None = None
    searchable: SearchablePdfMaker | None = None
    opener: FileOpener | None = None
    unpacker: Unpacker | None = None
    languages: LanguageTeller | None = None
    copies: Callable[[str], AbstractContextManager[Path]] | None = None
    earlier_embedder: Callable[[str], Embedder | None] = _none_earlier

    def embedder_for(self, model: str) -> Embedder | None:
        """Give who makes vectors of a model that is, or was, in use; None where nobody can any more."""
        return self.embedder if model == self.embedder.model else self.earlier_embedder(model)

    def remote_for(self, content_type: str) -> RemoteExtractor | None:
        """Give the remote extractor if it is the one to read this kind of file."""
        remote = self.remote_extractor
        return remote if remote is not None and remote.accepts(content_type) else None

    def accepts(self, content_type: str) -> bool:
        """Say whether anybody reads this kind of file."""
        if self.speech is not None and self.speech.reader.accepts(content_type):
            return True
        return self.remote_for(content_type) is not None or self.extractor.accepts(content_type)
