"""Reads documents, books, pages, mail and tables on this machine, in sandboxed children: no account, no network."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from webapp.provider_errors import BadInput, BlobMissing, FailureCode, ParserCrashed
from webapp.providers.local.ocr import LocalOcr, PagesOf
from webapp.providers.local.pdf import PdfText
from webapp.providers.local.versions import installed
from webapp.providers.ports import KeptParts
from webapp.readers.archives.members import UnpackLimits
from webapp.readers.archives.read import ARCHIVES, LIMITS
from webapp.readers.cleaning import clean_extraction
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import (
    CSV,
    EPUB,
    FILE_TYPES,
    MAIL,
    MAILBOX,
    MARKDOWN,
    OFFICE,
    OPEN,
    PDF,
    RTF,
    TSV,
    filetype,
)
from webapp.readers.pictures.merge import pages_to_read
from webapp.readers.sniff import HEAD_BYTES, sniff
from webapp.readers.versions import VERSIONS, mark_of
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.sandbox import Sandbox

COUNT_JOB, READY_JOB = "webapp.readers.pdf.pages:count_pages", "webapp.readers.text:ready"
PAGES_MAX = 10_000
TEXT_BYTES_MAX = 50_000_000
BOOK_BYTES_MAX = 256 << 20
MAIL_BYTES_MAX = 128 << 20
_BYTES_MAX = {EPUB: BOOK_BYTES_MAX, MAIL: MAIL_BYTES_MAX, MAILBOX: MAIL_BYTES_MAX}
CHECK_SECONDS = 20.0
TEXT_SHARE = 0.1
PARSERS = ("liteparse", "pypdfium2", "lxml", "python-calamine", "office-oxide", "olefile", "chardet")
READERS = sorted({each.reader for each in FILE_TYPES if each.reader})


class LocalExtractor:
    """An Extractor for all types of files that have a reader here."""

    name = "local"

    def __init__(
        self,
        *,
        memory_mb: int = 1024,
        pages_max: int = PAGES_MAX,
        text_bytes_max: int = TEXT_BYTES_MAX,
        requires_locks: bool = False,
        ocr: LocalOcr | None = None,
        unpacking: UnpackLimits = LIMITS,
    ) -> None:
        parsers = "+".join(f"{name}-{installed(name)}" for name in PARSERS)
        # A part of the key of kept answers: a version that is raised in webapp/readers/versions.py makes them unused.
        self.version = f"{sum(VERSIONS.values())}+{parsers}"
        self._ocr = ocr
        self._unpacking = unpacking
        self._pages_max = pages_max
        self._text_bytes_max = text_bytes_max
        modules = tuple(job.partition(":")[0] for job in (*READERS, COUNT_JOB))
        self._sandbox = Sandbox(modules, ChildLimits(memory_bytes=memory_mb << 20, requires_locks=requires_locks))

    def options_key(self) -> str:
        """Give the options that can change a result."""
        ocr = "off" if self._ocr is None else f"{self._ocr.version},{self._ocr.options_key()}"
        unpacking = ":".join(map(str, asdict(self._unpacking).values()))
        return f"pages={self._pages_max},text={self._text_bytes_max},ocr={ocr},unpacking={unpacking}"

    def accepts(self, content_type: str) -> bool:
        """Say whether this kind of file can be read."""
        kind = filetype(content_type)
        return bool(kind.reader) or (self._ocr is not None and kind.is_picture)

    def close(self) -> None:
        """End the parsers' processes."""
        self._sandbox.close()
        if self._ocr is not None:
            self._ocr.close()

    def check(self) -> None:
        """Run an empty job: ProviderUnavailable where children can't be started."""
        self._sandbox.run(READY_JOB, {}, timeout_seconds=CHECK_SECONDS)

    def extract(
        self,
        source: Path,
        content_type: str,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
        parts: KeptParts | None = None,
    ) -> Extraction:
        """Read a file in a child that may use so much memory and time and not more; its pictures in another one."""
        job = self._job(source, content_type)
        rising, kept = _Rising(progress), parts or _KeepsNothing()
        with _named(source, filetype(content_type).endings[0]) as file:
            if self._ocr is not None and filetype(content_type).is_picture:
                pages = PagesOf(source, is_pdf=False, timeout_seconds=timeout_seconds, progress=rising)
                found = self._ocr.picture(pages, self._pages_max)
            elif content_type == PDF:
                found = self._text_of_pdf(job, file, source, timeout_seconds, rising, kept)
            else:
                found = _extraction(self._run(job, file, source, timeout_seconds, rising))
            if self._ocr is not None and pages_to_read(found):
                pages = PagesOf(source, content_type == PDF, timeout_seconds, rising)
                found = self._ocr.complete(found, pages, kept)
        rising(1.0)
        return clean_extraction(replace(found, extractor=self.name, version=mark_of(content_type, found)))

    def _text_of_pdf(
        self, job: "_Job", file: Path, source: Path, timeout_seconds: float, progress: "_Rising", parts: KeptParts
    ) -> Extraction:
        # Where pictures follow, reading the text is the smaller part.
        share = progress if self._ocr is None else progress.first(TEXT_SHARE)

        def child(more: Mapping[str, object], seconds: float) -> object:
            return self._run(replace(job, arguments={**job.arguments, **more}), file, source, seconds, share)

        return PdfText(child, parts, timeout_seconds, has_ocr=self._ocr is not None).read()

    def count_pages(self, source: Path, timeout_seconds: float) -> int:
        """Count a PDF's pages in a child; BadInput where it can't be opened at all."""
        self._job(source, PDF)
        arguments = {"source": str(source)}
        count = self._sandbox.run(COUNT_JOB, arguments, timeout_seconds=timeout_seconds, readable=source)
        if not isinstance(count, int):
            raise ParserCrashed("the parser's answer has the wrong form")
        return count

    def _run(
        self, job: "_Job", file: Path, source: Path, timeout_seconds: float, progress: Callable[[float], None]
    ) -> object:
        arguments = {"source": str(file), **job.arguments}
        return self._sandbox.run(
            job.function, arguments, timeout_seconds=timeout_seconds, readable=source, progress=progress
        )

    def _job(self, source: Path, content_type: str) -> "_Job":
        if not self.accepts(content_type):
            raise BadInput(f"no parser for {content_type}", code=FailureCode.UNSUPPORTED)
        try:
            with source.open("rb") as file:
                head = file.read(HEAD_BYTES)
        except FileNotFoundError as error:
            raise BlobMissing("the file to read is gone") from error
        if not head:
            raise BadInput("the file has no bytes", code=FailureCode.EMPTY)
        # As at the upload; its name is not known here, and the weakest sign of a PDF is enough.
        if content_type == PDF and sniff(head, "document.pdf").content_type != PDF:
            raise BadInput("no PDF header")
        return _Job(filetype(content_type).reader, self._arguments(content_type))

    def _arguments(self, content_type: str) -> dict[str, object]:
        if content_type == PDF:
            return {"pages_max": self._pages_max}
        if content_type in ARCHIVES:
            return {"content_type": content_type, "limits": asdict(self._unpacking)}
        if content_type in _BYTES_MAX:
            return {"bytes_max": _BYTES_MAX[content_type]}
        if content_type in {CSV, TSV}:
            return {"bytes_max": self._text_bytes_max, "delimiter": "," if content_type == CSV else "\t"}
        # Documents have limits of their own, for what unfolds out of them.
        if content_type.startswith((OFFICE, OPEN)) or content_type == RTF or filetype(content_type).is_old:
            return {}
        return {"bytes_max": self._text_bytes_max, "markdown": content_type == MARKDOWN}


@dataclass(frozen=True, slots=True)
class _Job:
    function: str
    arguments: dict[str, object]


class _Rising:
    """Passes progress on, but never a step back: a second try begins at nought again."""

    def __init__(self, progress: Callable[[float], None]) -> None:
        self._progress = progress
        self._highest = 0.0

    def __call__(self, fraction: float) -> None:
        self._highest = max(fraction, self._highest)
        self._progress(self._highest)

    def first(self, share: float) -> Callable[[float], None]:
        """What hears the first part of the whole from 0 to 1."""
        return lambda fraction: self(share * fraction)


class _KeepsNothing:
    """KeptParts of a caller that reads a file in one go."""

    def get(self, name: str) -> bytes | None:
        return None

    def put(self, name: str, data: bytes, done: int, total: int) -> None:
        pass

    def seconds_left(self) -> float:
        return float("inf")


def _extraction(plain: object) -> Extraction:
    try:
        return Extraction.from_plain(plain)
    except ValueError as error:
        raise ParserCrashed("the parser's answer has the wrong form") from error


@contextmanager
def _named(source: Path, ending: str) -> Iterator[Path]:
    """Give the file a name with the right ending: liteparse relies on it."""
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        link = Path(folder, f"document{ending}")
        link.symlink_to(source.absolute())
        yield link
