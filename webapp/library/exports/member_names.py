"""Names of files in a ZIP: fit for every system's disk, each once, made of the names that people gave."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain, count

from webapp.library.filenames import clean_filename

_BYTES_MAX = 120
_ENDING_BYTES_MAX = 16
_DEPTH_MAX = 12
_NUMBERED_MAX = 99
_FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f\x7f]')
# Names that Windows gives to devices, whatever their ending is.
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?", re.IGNORECASE)


def safe_path(folder: str | None, filename: str) -> str:
    """A path that stays inside of where it is unpacked, on every system: folders and the name of a file."""
    folders = [each for each in re.split(r"[/\\]", folder or "") if each.strip(". ")]
    return "/".join(_safe(each) for each in (*folders[-_DEPTH_MAX:], filename))


def _safe(name: str) -> str:
    shown = _FORBIDDEN.sub("_", clean_filename(name)).rstrip(". ")
    shown = f"_{shown}" if _DEVICES.fullmatch(shown) else shown
    return _shortened(shown) or "_"


def _shortened(name: str) -> str:
    """Cut in front of the ending, to so many bytes."""
    if len(name.encode()) <= _BYTES_MAX:
        return name
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > _ENDING_BYTES_MAX:
        stem, dot, ending = name, "", ""
    return stem.encode()[: _BYTES_MAX - len(ending.encode()) - 1].decode(errors="ignore").rstrip(". ") + dot + ending


class MemberNames:
    """The names that a ZIP has already. They differ in more than case, and none is both a file and a folder."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._files: set[int] = set()
        self._folders: set[int] = set()
        for each in taken:
            self.note(each)

    def take(self, path: str, mark: str) -> str:
        """This path, or one with a number where it is taken; with `mark` where many have its name."""
        *folders, name = path.split("/")
        path = "/".join([*self._free_folders(folders), name])
        stem, dot, ending = name.rpartition(".")
        if not stem:
            stem, dot, ending = name, "", ""
        head = path[: len(path) - len(name)]
        numbered = (f"{head}{stem} ({tail}){dot}{ending}" for tail in _tails(mark))
        chosen = next(each for each in chain([path], numbered) if not self._is_taken(each))
        self.note(chosen)
        return chosen

    def has(self, path: str) -> bool:
        """Whether there is a file of this name."""
        return _key(path) in self._files

    def _free_folders(self, folders: list[str]) -> list[str]:
        """These folders; one that is a file's name already gets another name."""
        free: list[str] = []
        for each in folders:
            name = each
            while _key("/".join([*free, name])) in self._files:
                name += "_"
            free.append(name)
        return free

    def _is_taken(self, path: str) -> bool:
        key = _key(path)
        return key in self._files or key in self._folders

    def note(self, path: str) -> None:
        """Take this name, whatever has it."""
        self._files.add(_key(path))
        parts = path.split("/")
        self._folders.update(_key("/".join(parts[:depth])) for depth in range(1, len(parts)))


def _tails(mark: str) -> Iterator[str]:
    yield from map(str, range(2, _NUMBERED_MAX + 1))
    yield mark
    yield from (f"{mark}-{number}" for number in count(2))


def _key(path: str) -> int:
    """What two names of one file have in common, on systems that tell neither case nor accents' forms apart.

    A number, since there may be many: that two names have the same one by chance costs a needless number in a name.
    """
    return hash(unicodedata.normalize("NFC", path.casefold()))
