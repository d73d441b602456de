"""Reading a file at a remote service, by windows of pages: each window is a call of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from webapp.pipeline.paid_calls.kept_answers import content_key
from webapp.pipeline.remote_work import Progress, RemotePiece, RemoteWork
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import BadInput, FailureCode
from webapp.providers.ports import Polled, RemoteExtractor, Window
from webapp.readers.cleaning import clean_extraction
from webapp.readers.extraction import Extraction

OPERATION = "extract"
# The checkpoint's entries for the windows of the file, and for the options by which it was cut.
WINDOWS, WINDOWS_FOR = "windows", "windows_for"


@dataclass(frozen=True)
class WindowOfPages(RemotePiece[Extraction]):
    """One window of a file."""

    extractor: RemoteExtractor
    content_type: str
    window: Window
    file: Callable[[], Path]

    @property
    def key(self) -> str:
        """The key under which it is reserved; the same as in earlier versions."""
        return content_key(self.operation_path)

    @property
    def is_of_pages(self) -> bool:
        """Unless the whole file is one window, whose pages nobody has counted."""
        return self.window.last is not None

    def start(self, progress: Progress) -> str:
        """Send the file, asking for this window."""
        return self.extractor.start(self.file(), self.content_type, self.window)

    def poll(self, operation: str) -> Polled:
        """Poll for the result."""
        return self.extractor.poll(operation)

    def read(self, answer: bytes) -> Extraction:
        """Read a stored answer."""
        return self.extractor.read(answer, self.window)

    def units_of(self, result: Extraction) -> int:
        """The pages that were read."""
        return len(result.pages)


def read_windows(
    context: StageContext,
    extractor: RemoteExtractor,
    content_type: str,
    folder: str,
    file: Callable[[], Path],
) -> Extraction:
    """Read a file; Snoozed until all windows are there."""
    windows = _windows(context, extractor, content_type, file)
    pieces = [
        WindowOfPages(
            f"{folder}{window}.answer",
            f"{folder}{window}.operation",
            _pages(window),
            extractor,
            content_type,
            window,
            file,
        )
        for window in windows
    ]
    work = RemoteWork(context, extractor.name, OPERATION, pieces, extractor.windows_at_once)
    return joined([_without_words(part) for part in work.finish()], windows)


def _windows(
    context: StageContext, extractor: RemoteExtractor, content_type: str, file: Callable[[], Path]
) -> tuple[Window, ...]:
    found, options = context.checkpoint.get(WINDOWS), extractor.options_key()
    # An attempt with other settings may have chosen other windows.
    if found and context.checkpoint.get(WINDOWS_FOR, options) == options:
        return tuple(Window(*pair) for pair in found)
    seconds = min(context.extract_timeout_seconds, context.remaining_seconds())
    windows = extractor.windows(file(), content_type, timeout_seconds=seconds)
    if 0 < context.pages_max < (windows[-1].last or 0):
        message = f"{windows[-1].last} pages, and PAGES_MAX is {context.pages_max}"
        raise BadInput(message, code=FailureCode.TOO_MANY_PAGES)
    with context.transaction():
        context.checkpoint[WINDOWS_FOR] = options
        context.remember(WINDOWS, [[window.first, window.last] for window in windows])
    return windows


def _pages(window: Window) -> int:
    return 1 if window.first is None or window.last is None else window.last - window.first + 1


def _without_words(part: Extraction) -> Extraction:
    """Remove the words with their positions: most of the data, used by no page; the stored answer keeps them."""
    return replace(part, pages=tuple(replace(page, words=()) for page in part.pages))


def joined(parts: Sequence[Extraction], windows: Sequence[Window]) -> Extraction:
    """Join the extractions of all windows, in order; their pages have their own numbers."""
    first = parts[0]
    markdown = "\n\n".join(part.markdown for part in parts)
    last = windows[-1].last
    whole = replace(
        first,
        markdown=markdown,
        pages=tuple(chain.from_iterable(part.pages for part in parts)),
        page_count=sum(part.page_count or 0 for part in parts) if last is None else last,
        title=next((part.title for part in parts if part.title), None),
        language=_most_common([part.language for part in parts]),
        fields=tuple(chain.from_iterable(part.fields for part in parts)),
        tables=tuple(chain.from_iterable(part.tables for part in parts)),
        partial=any(part.partial for part in parts),
        warnings=tuple(chain.from_iterable(part.warnings for part in parts)),
    )
    # Each part is clean; together they may exceed a limit.
    return clean_extraction(whole)


def _most_common(languages: Sequence[str | None]) -> str | None:
    known = [language for language in languages if language]
    return max(known, key=known.count) if known else None
