"""Makes files that an earlier version or another umask left readable by others our own alone.

New files are private by the umask that gunicorn.conf.py, worker.py and wsgi.py set before anything else.
"""

import logging
import os
import stat
from pathlib import Path

_log = logging.getLogger(__name__)

_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def tighten_folder(folder: Path) -> None:
    """Make a folder private, unless others use it too: a shared one such as /tmp, a home, or one with others' files."""
    if not folder.is_dir() or folder.stat().st_mode & stat.S_ISVTX or folder in {Path("/"), Path.home()}:
        return
    if any(entry.lstat().st_uid != os.geteuid() for entry in folder.iterdir()):
        # A database server that keeps its files below, say, could not reach them any more.
        _log.warning("%s holds files of other users, so they can list it", folder)
        return
    _tighten(folder)


def tighten_sqlite(database: Path) -> None:
    """Leave an SQLite file to its owner, with its log and the index of that: they hold the newest rows."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        file = database.with_name(database.name + suffix)
        if file.is_file():
            _tighten(file)


def _tighten(path: Path) -> None:
    found = path.stat()
    if not found.st_mode & _OF_OTHERS or found.st_uid != os.geteuid():
        return
    try:
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OF_OTHERS)
    except OSError as error:
        _log.warning("%s can be read by other users of this machine: %s", path, error.strerror)
