"""Reads documents, books, pages, mail and tables on this machine, in sandboxed children: no account, no network."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from webapp.provider_errors import BadInput, BlobMissing, FailureCode, ParserCrashed
from webapp.providers.local.versions import installed
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
from webapp.readers.sniff import HEAD_BYTES, sniff
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.sandbox import Sandbox

# Part of the cache's key: count it up when the same file would give another result.
RULES = 2
COUNT_JOB, READY_JOB = "webapp.readers.pdf.pages:count_pages", "webapp.readers.text:ready"
PAGES_MAX = 10_000
TEXT_BYTES_MAX = 50_000_000
BOOK_BYTES_MAX = 256 << 20
MAIL_BYTES_MAX = 128 << 20
CHECK_SECONDS = 20.0
PARSERS = ("liteparse", "pypdfium2", "lxml", "python-calamine", "chardet")
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
    ) -> None:
        parsers = "+".join(f"{name}-{installed(name)}" for name in PARSERS)
        self.version = f"{RULES}+{parsers}"
        self._pages_max = pages_max
        self._text_bytes_max = text_bytes_max
        modules = tuple(job.partition(":")[0] for job in (*READERS, COUNT_JOB))
        self._sandbox = Sandbox(modules, ChildLimits(memory_bytes=memory_mb << 20, requires_locks=requires_locks))

    def options_key(self) -> str:
        """Give the options that can change a result."""
        return f"pages={self._pages_max},text={self._text_bytes_max}"

    def accepts(self, content_type: str) -> bool:
        """Say whether this kind of file can be read."""
        return bool(filetype(content_type).reader)

    def close(self) -> None:
        """End the parsers' process."""
        self._sandbox.close()

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
    ) -> Extraction:
        """Read a file in a child that may use so much memory and time and not more."""
        job = self._job(source, content_type)
        rising = _Rising(progress)
        deadline = time.monotonic() + timeout_seconds
        with _named(source, filetype(content_type).endings[0]) as file:
            try:
                plain = self._run(job, file, source, timeout_seconds, rising)
            except ParserCrashed:
                remaining = deadline - time.monotonic()
                if not job.arguments.get("layout") or remaining <= 0:
                    raise
                # One bad page should not cost the text of all: pdfium alone needs far less.
                plain = self._run(job.without_layout(), file, source, remaining, rising)
        rising(1.0)
        return self._checked(plain)

    def count_pages(self, source: Path, timeout_seconds: float) -> int:
        """Count a PDF's pages in a child; BadInput where it can't be opened at all."""
        self._job(source, PDF)
        arguments = {"source": str(source)}
        count = self._sandbox.run(COUNT_JOB, arguments, timeout_seconds=timeout_seconds, readable=source)
        if not isinstance(count, int):
            raise ParserCrashed("the parser's answer has the wrong form")
        return count

    def _run(self, job: "_Job", file: Path, source: Path, timeout_seconds: float, progress: "_Rising") -> object:
        arguments = {"source": str(file), **job.arguments}
        return self._sandbox.run(
            job.function, arguments, timeout_seconds=timeout_seconds, readable=source, progress=progress
        )

    def _checked(self, plain: object) -> Extraction:
        try:
            extraction = Extraction.from_plain(plain)
        except ValueError as error:
            raise ParserCrashed("the parser's answer has the wrong form") from error
        return clean_extraction(replace(extraction, extractor=self.name, version=self.version))

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
            return {"pages_max": self._pages_max, "layout": True}
        if content_type == EPUB:
            return {"bytes_max": BOOK_BYTES_MAX}
        if content_type in {MAIL, MAILBOX}:
            return {"bytes_max": MAIL_BYTES_MAX}
        if content_type in {CSV, TSV}:
            return {"bytes_max": self._text_bytes_max, "delimiter": "," if content_type == CSV else "\t"}
        # Documents have limits of their own, for what unfolds out of them.
        if content_type.startswith((OFFICE, OPEN)) or content_type == RTF:
            return {}
        return {"bytes_max": self._text_bytes_max, "markdown": content_type == MARKDOWN}


@dataclass(frozen=True, slots=True)
class _Job:
    function: str
    arguments: dict[str, object]

    def without_layout(self) -> "_Job":
        return replace(self, arguments=self.arguments | {"layout": False})


class _Rising:
    """Passes progress on, but never a step back: a second try begins at nought again."""

    def __init__(self, progress: Callable[[float], None]) -> None:
        self._progress = progress
        self._highest = 0.0

    def __call__(self, fraction: float) -> None:
        self._highest = max(fraction, self._highest)
        self._progress(self._highest)


@contextmanager
def _named(source: Path, ending: str) -> Iterator[Path]:
    """Give the file a name with the right ending: liteparse relies on it."""
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        link = Path(folder, f"document{ending}")
        link.symlink_to(source.absolute())
        yield link
