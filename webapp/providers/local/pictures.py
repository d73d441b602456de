"""Draws pages of PDFs and of picture files on this machine, in sandboxed children; never many at once."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from webapp.provider_errors import BlobMissing, ParserCrashed
from webapp.providers.local.drawing_seats import DrawingSeats, SeatLimits
from webapp.providers.local.extract import BOOK_BYTES_MAX
from webapp.readers.book_pictures import BookPictures
from webapp.readers.extraction import Word
from webapp.readers.pictures.words_file import WordsOfPage
from webapp.readers.sniff import HEAD_BYTES, sniff
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.sandbox import Sandbox
from webapp.typed_json import TypedJson

PDF_JOB, PICTURE_JOB = "webapp.readers.pdf.picture:draw_page", "webapp.readers.pictures.draw:draw_frame"
WORDS_JOB = "webapp.readers.pdf.page_words:read_page_words"
BOOK_JOB, BOOK_PICTURE_JOB = "webapp.readers.epub.pictures:list_pictures", "webapp.readers.epub.pictures:draw_picture"
MEMORY_BYTES = 768 << 20
# More than a picture of the largest size has if nothing about it can be packed.
FILE_BYTES_MAX = 16 << 20
# One org's slow pages leave others a seat to draw on, and places to wait.
EVERYBODY, ONE_ORG = SeatLimits(at_once=3, places=11), SeatLimits(at_once=2, places=6)
WAIT_SECONDS = 10.0


class LocalPictures:
    """A PageArtist on pdfium and Pillow."""

    def __init__(
        self, *, everybody: SeatLimits = EVERYBODY, one_org: SeatLimits = ONE_ORG, requires_locks: bool = False
    ) -> None:
        limits = ChildLimits(memory_bytes=MEMORY_BYTES, file_bytes=FILE_BYTES_MAX, requires_locks=requires_locks)
        self._sandbox = Sandbox(
            tuple(job.partition(":")[0] for job in (PDF_JOB, PICTURE_JOB, WORDS_JOB, BOOK_JOB)), limits
        )
        self._seats = DrawingSeats(everybody, one_org)

    def close(self) -> None:
        """End the parsers' process."""
        self._sandbox.close()

    def draw(
        self, source: Path, number: int, box: tuple[int, int], *, timeout_seconds: float, org: str = ""
    ) -> bytes | None:
        """Draw a page so that it fits a box of so many pixels; None where there is no such page."""
        job = PICTURE_JOB if _is_picture(source) else PDF_JOB
        return self._drawn(job, source, {"number": number}, box, timeout_seconds, org)

    def _drawn(
        self, job: str, source: Path, what: dict[str, object], box: tuple[int, int], timeout_seconds: float, org: str
    ) -> bytes | None:
        # Waiting is not drawing: a page that waited may take as long as any other.
        wait_seconds = min(timeout_seconds, WAIT_SECONDS)
        with self._seats.seat(org, wait_seconds), tempfile.TemporaryDirectory(prefix="docmill-") as folder:
            target = Path(folder, "page.png")
            target.touch()
            arguments = {"source": str(source.absolute()), "target": str(target), **what}
            is_drawn = self._sandbox.run(
                job,
                {**arguments, "width_max": box[0], "height_max": box[1]},
                timeout_seconds=timeout_seconds,
                readable=source,
                writable=target,
            )
            return target.read_bytes() if is_drawn is True else None

    def words(self, source: Path, number: int, *, timeout_seconds: float, org: str = "") -> WordsOfPage | None:
        """Tell the words that a PDF holds for a page, with their places; None where there is no such page."""
        if _is_picture(source):
            return None
        wait_seconds = min(timeout_seconds, WAIT_SECONDS)
        with self._seats.seat(org, wait_seconds):
            arguments = {"source": str(source.absolute()), "number": number}
            answer = self._sandbox.run(WORDS_JOB, arguments, timeout_seconds=timeout_seconds, readable=source)
        return None if answer is None else _words_of(number, answer)

    def in_book(self, source: Path, *, timeout_seconds: float, org: str = "") -> BookPictures:
        """Find the pictures in the chapters of a book."""
        with self._seats.seat(org, min(timeout_seconds, WAIT_SECONDS)):
            arguments = {"source": str(source.absolute()), "bytes_max": BOOK_BYTES_MAX}
            answer = self._sandbox.run(BOOK_JOB, arguments, timeout_seconds=timeout_seconds, readable=source)
        try:
            return BookPictures.from_plain(answer)
        except ValueError as error:
            raise ParserCrashed("the parser's answer has the wrong form") from error

    def draw_in_book(
        self, source: Path, member: str, box: tuple[int, int], *, timeout_seconds: float, org: str = ""
    ) -> bytes:
        """Draw the picture that a book holds under this name, so that it fits a box of so many pixels."""
        arguments = {"member": member, "bytes_max": BOOK_BYTES_MAX}
        return self._drawn(BOOK_PICTURE_JOB, source, arguments, box, timeout_seconds, org) or b""


@dataclass(frozen=True, slots=True)
class _PdfWords(TypedJson):
    """What the job answers, checked."""

    width: float
    height: float
    words: tuple[tuple[str, float, float, float, float], ...]


def _words_of(number: int, answer: object) -> WordsOfPage:
    try:
        found = _PdfWords.from_plain(answer)
    except ValueError as error:
        raise ParserCrashed("the parser's answer has the wrong form") from error
    words = (Word(text, None, (x0, y0, x1, y0, x1, y1, x0, y1)) for text, x0, y0, x1, y1 in found.words)
    return WordsOfPage(number, found.width, found.height, 0, tuple(words))


def _is_picture(source: Path) -> bool:
    try:
        with source.open("rb") as file:
            return sniff(file.read(HEAD_BYTES), "").is_picture
    except FileNotFoundError as error:
        raise BlobMissing("the file to draw is gone") from error
