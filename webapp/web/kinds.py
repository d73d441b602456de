"""Which kinds of files are taken here: it depends on who reads them, and the pages say it as it is."""

from dataclasses import dataclass

from webapp.providers.ports import Providers


@dataclass(frozen=True)
class _Kind:
    """Files of a kind that people have a word for, one of its content types, and what a file dialog is told."""

    word: str
    example: str
    choices: str


_OFFICE = "application/vnd.openxmlformats-officedocument"
_KINDS = (
    _Kind("PDF", "application/pdf", ".pdf,application/pdf"),
    _Kind("EPUB", "application/epub+zip", ".epub,application/epub+zip"),
    _Kind("Word", f"{_OFFICE}.wordprocessingml.document", ".docx"),
    _Kind("Excel", f"{_OFFICE}.spreadsheetml.sheet", ".xlsx"),
    _Kind("PowerPoint", f"{_OFFICE}.presentationml.presentation", ".pptx"),
    _Kind("pictures of pages", "image/png", ".png,.jpg,.jpeg,.tif,.tiff,.bmp,.heic"),
    _Kind("plain text", "text/plain", ".txt,.text,.log,text/plain"),
    _Kind("Markdown", "text/markdown", ".md,.markdown,text/markdown"),
    _Kind("recordings", "audio/mpeg", ".mkv,.amr,audio/*,video/*"),
)


def words(providers: Providers) -> str:
    """The kinds that somebody reads here, as a list in a sentence."""
    *most, last = [kind.word for kind in _taken(providers)]
    return f"{', '.join(most)}, and {last}" if most else last


def choices(providers: Providers) -> str:
    """What a file dialog offers first; what a file really is decides its content."""
    return ",".join(kind.choices for kind in _taken(providers))


def _taken(providers: Providers) -> list[_Kind]:
    return [kind for kind in _KINDS if providers.accepts(kind.example)]
