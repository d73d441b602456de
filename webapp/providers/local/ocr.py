"""Reads pages by their looks in a sandboxed child: one for the whole process, by windows of pages that are kept."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from webapp.provider_errors import BadInput, FailureCode, ParserCrashed, ProviderUnavailable
from webapp.providers.local.versions import installed
from webapp.providers.models import ocr
from webapp.providers.ports import KeptParts
from webapp.readers.extraction import Extraction
from webapp.readers.pictures.merge import bare, merged, pages_to_read
from webapp.readers.pictures.scanned import ScannedPage, ScannedPages
from webapp.sandbox.call import ChildLimits, Progress
from webapp.sandbox.sandbox import Sandbox

# Part of the kept pages' names: count it up when the same page would give another text.
RULES = 2
MODULE = "webapp.readers.pictures.read"
WINDOW_PAGES = 8
MEMORY_BYTES = 1536 << 20
WAIT_SECONDS = 1.0
ENGINES = ("onnxruntime", "liteparse", "pillow", "pi-heif", "pypdfium2")


@dataclass(frozen=True, slots=True)
class OcrOptions:
    """Where the models are, which languages are wanted (none: all that are installed), and how many cores are used."""

    models: Path
    languages: tuple[str, ...] = ()
    threads: int = 2
    requires_locks: bool = False


@dataclass(frozen=True, slots=True)
class PagesOf:
    """A file whose pages are read by their looks, and how its caller follows that."""

    source: Path
    is_pdf: bool
    timeout_seconds: float
    progress: Progress


class LocalOcr:
    """PP-OCR and Tesseract, in one child at a time: together they take the memory of one."""

    def __init__(self, options: OcrOptions) -> None:
        self._options = options
        self._sandbox = Sandbox(
            (MODULE,),
            ChildLimits(memory_bytes=MEMORY_BYTES, threads=options.threads, requires_locks=options.requires_locks),
        )
        self._turn = threading.Lock()

    @property
    def models(self) -> Path:
        """The folder of the models."""
        return self._options.models

    @property
    def version(self) -> str:
        """What reads: rules, models and engines."""
        engines = "+".join(f"{name}-{installed(name)}" for name in ENGINES)
        return f"{RULES}+{ocr.MODEL}+{engines}"

    def options_key(self) -> str:
        """The languages that are read: others give another text."""
        return f"languages={'+'.join(self._languages())}"

    def close(self) -> None:
        """End the child."""
        self._sandbox.close()

    def picture(self, file: PagesOf, pages_max: int) -> Extraction:
        """Count a picture file's pages; none of them is read yet."""
        arguments = {"source": str(file.source), "pages_max": pages_max}
        count = self._sandbox.run(
            f"{MODULE}:count_pages", arguments, timeout_seconds=file.timeout_seconds, readable=file.source
        )
        if not isinstance(count, int) or count < 1:
            raise ParserCrashed("the parser's answer has the wrong form")
        return bare(count)

    def complete(self, extraction: Extraction, file: PagesOf, parts: KeptParts) -> Extraction:
        """Read the pages that have no text of use, a window at a time, and give them their text."""
        numbers = pages_to_read(extraction)
        windows = [numbers[first : first + WINDOW_PAGES] for first in range(0, len(numbers), WINDOW_PAGES)]
        total = len(extraction.pages)
        read: list[ScannedPage] = []
        for index, window in enumerate(windows):
            done = total - len(numbers) + len(read) + len(window)
            following = replace(file, progress=_share(index, len(windows), file.progress))
            read += self._window(window, following, parts, done, total)
            file.progress((index + 1) / len(windows))
        return merged(extraction, read)

    def _window(
        self, numbers: Sequence[int], file: PagesOf, parts: KeptParts, done: int, total: int
    ) -> Sequence[ScannedPage]:
        """Read a window, unless it is kept; after it so many pages of all are read."""
        name = f"ocr-{numbers[0]}-{numbers[-1]}-{len(numbers)}"
        try:
            return ScannedPages.from_json(parts.get(name) or b"").pages
        except ValueError:
            pages = self._read(numbers, file, parts.seconds_left)
        # A page that was lost gets its next try with the next run.
        if not any(page.is_lost for page in pages):
            parts.put(name, ScannedPages(tuple(pages)).to_json(), done, total)
        return pages

    def _read(self, numbers: Sequence[int], file: PagesOf, seconds_left: Callable[[], float]) -> Sequence[ScannedPage]:
        """Read pages in one child; where it dies, page by page, so that a bad one costs itself alone."""
        try:
            return self._run(numbers, file, seconds_left)
        except (ParserCrashed, BadInput) as error:
            if len(numbers) == 1:
                if error.code is FailureCode.ENCRYPTED or not file.is_pdf:
                    raise
                return (ScannedPage(numbers[0], "", "", 0.0, 0.0, is_lost=True),)
        return [page for number in numbers for page in self._read([number], file, seconds_left)]

    def _run(self, numbers: Sequence[int], file: PagesOf, seconds_left: Callable[[], float]) -> Sequence[ScannedPage]:
        folder, data = ocr.model_folder(self._options.models), ocr.data_folder(self._options.models)
        if not ocr.is_there(self._options.models):
            raise ProviderUnavailable("the models for OCR are missing: make setup", code=FailureCode.MODEL_MISSING)
        languages = self._languages()
        arguments = {
            "source": str(file.source),
            "is_pdf": file.is_pdf,
            "numbers": list(numbers),
            "models": str(folder),
            "data": str(data) if languages else None,
            "languages": languages,
            "threads": self._options.threads,
        }
        with _taken(self._turn, file.progress):
            answer = self._sandbox.run(
                f"{MODULE}:read_pages",
                arguments,
                timeout_seconds=min(file.timeout_seconds, seconds_left()),
                readable=(file.source, folder, data),
                progress=file.progress,
            )
        return _checked(answer, numbers)

    def _languages(self) -> list[str]:
        return ocr.languages(self._options.models, self._options.languages)


@contextmanager
def _taken(turn: threading.Lock, progress: Progress) -> Iterator[None]:
    """Wait until no other document's pages are being read; `progress` may end the wait, as it may end the reading."""
    while not turn.acquire(timeout=WAIT_SECONDS):
        progress(0.0)
    try:
        yield
    finally:
        turn.release()


def _checked(answer: object, numbers: Sequence[int]) -> Sequence[ScannedPage]:
    try:
        pages = ScannedPages.from_plain(answer).pages
    except ValueError as error:
        raise ParserCrashed("the parser's answer has the wrong form") from error
    if [page.number for page in pages] != list(numbers):
        raise ParserCrashed("the parser's answer is about other pages")
    return pages


def _share(index: int, count: int, progress: Progress) -> Callable[[float], None]:
    return lambda fraction: progress((index + fraction) / count)
