"""Which types of files are read here, and what would read another one: it depends on the providers."""

from webapp.documents.kinds import is_recording
from webapp.providers.ports import Providers
from webapp.readers.filetypes import FILE_TYPES, FileType, filetype
from webapp.web.sentences import KeptBecause


def words(providers: Providers) -> str:
    """The groups of types that somebody reads here, as a list in a sentence."""
    *most, last = dict.fromkeys(each.group for each in _read(providers))
    return f"{', '.join(most)}, and {last}" if most else last


def kept_because(providers: Providers, content_type: str) -> KeptBecause:
    """Why a file of this type is kept, as things are now."""
    kind = filetype(content_type)
    if providers.accepts(content_type):
        if kind.is_old:
            return KeptBecause.OLD_FILE
        return KeptBecause.PICTURE if kind.is_picture else KeptBecause.NOT_TRIED_YET
    if kind.group:
        # Others do read it: a type without a group is read nowhere.
        return KeptBecause.NO_SPEECH_SERVICE if is_recording(content_type) else KeptBecause.OCR_OFF
    return KeptBecause.ARCHIVE if kind.is_archive else KeptBecause.NO_READER


def _read(providers: Providers) -> list[FileType]:
    return [each for each in FILE_TYPES if each.group and providers.accepts(each.content_type)]
