"""Which types of files are accepted here: it depends on who reads them, and the pages say it as it is."""

from webapp.providers.ports import Providers
from webapp.readers.filetypes import FILE_TYPES, FileType


def words(providers: Providers) -> str:
    """The groups of types that somebody reads here, as a list in a sentence."""
    *most, last = dict.fromkeys(each.group for each in _accepted(providers))
    return f"{', '.join(most)}, and {last}" if most else last


def choices(providers: Providers) -> str:
    """What a file dialog offers first; what a file really is decides its content."""
    found = (choice for each in _accepted(providers) for choice in (*each.endings, _dialog_type(each)))
    return ",".join(dict.fromkeys(found))


def _dialog_type(kind: FileType) -> str:
    # A telephone knows recordings under many names, and offers its recorder and its camera for these two.
    major = kind.content_type.partition("/")[0]
    return f"{major}/*" if major in {"audio", "video"} else kind.content_type


def _accepted(providers: Providers) -> list[FileType]:
    return [each for each in FILE_TYPES if each.group and providers.accepts(each.content_type)]
