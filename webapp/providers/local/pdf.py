"""Reads a PDF's own text in sandboxed children; a long one by windows of pages that are kept."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webapp.provider_errors import ParserCrashed
from webapp.providers.ports import KeptParts
from webapp.readers.extraction import Extraction, PageState
from webapp.readers.pdf.windows import PdfWindow, joined, window_from

Child = Callable[[Mapping[str, object], float], object]


@dataclass(frozen=True, slots=True)
class PdfText:
    """One PDF: what reads a window of it, and where windows are kept."""

    child: Child
    """Runs the reader with these arguments, for so many seconds at most."""
    parts: KeptParts
    timeout_seconds: float
    has_ocr: bool

    def read(self) -> Extraction:
        """Read all pages; a file of one window is read in one go."""
        found = self._window(1, 0)
        if isinstance(found, Extraction):
            return found
        windows, count = [found], found.count
        while (read := sum(len(window.pages) for window in windows)) < count:
            window = self._window(read + 1, sum(map(self._pages_done, windows)))
            if not isinstance(window, PdfWindow) or window.count != count:
                raise ParserCrashed("the parser's answer is about another file")
            windows.append(window)
        return joined(windows, has_ocr=self.has_ocr)

    def _window(self, first: int, done: int) -> PdfWindow | Extraction:
        """Read the window that begins at this page, unless it is kept; or the whole file, where it has no more."""
        name = f"text-{first}"
        try:
            return _whole_window(PdfWindow.from_json(self.parts.get(name) or b""), first)
        except ValueError:
            found = self._read(first)
        if isinstance(found, PdfWindow):
            self.parts.put(name, found.to_json(), done + self._pages_done(found), found.count)
        return found

    def _pages_done(self, window: PdfWindow) -> int:
        """How many of its pages are read now, and need no OCR."""
        return sum(not self.has_ocr or page.state is not PageState.NEEDS_OCR for page in window.pages)

    def _read(self, first: int) -> PdfWindow | Extraction:
        seconds = min(self.timeout_seconds, self.parts.seconds_left())
        deadline = time.monotonic() + seconds
        arguments = {"first": first, "ocr": self.has_ocr, "layout": True}
        try:
            answer = self.child(arguments, seconds)
        except ParserCrashed:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise
            # One bad page should not cost the text of all: pdfium alone needs far less.
            answer = self.child(arguments | {"layout": False}, remaining)
        return _checked(answer, first)


def _checked(answer: object, first: int) -> PdfWindow | Extraction:
    try:
        match answer:
            case {"whole": whole}:
                return Extraction.from_plain(whole)
            case {"window": plain}:
                return _whole_window(PdfWindow.from_plain(plain), first)
            case _:
                raise ValueError("neither a window nor an extraction")
    except ValueError as error:
        raise ParserCrashed("the parser's answer has the wrong form") from error


def _whole_window(window: PdfWindow, first: int) -> PdfWindow:
    """The window, if it has each of its pages; ValueError."""
    numbers = list(window_from(first, window.count))
    if [page.number for page in window.pages] != numbers or len(window.markdown) != len(numbers) or not numbers:
        raise ValueError("pages are missing")
    return window
