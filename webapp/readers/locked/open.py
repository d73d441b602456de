"""The sandboxed job that opens a file with its password: it writes a copy that needs none."""

from pathlib import Path
from typing import NoReturn

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.seven_zip.directory import SIGNATURE
from webapp.readers.locked.office import open_office
from webapp.readers.locked.pdf import open_pdf
from webapp.readers.locked.seven_zip import open_seven_zip
from webapp.readers.locked.zip import open_zip
from webapp.sandbox.child import Report

HEAD_BYTES = 1024
_OLE, _ZIP = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04"


def open_file(arguments: dict[str, object], report: Report) -> bool:
    """Write what `source` holds behind its `password` to `target`, an empty file; BadInput where that can't be done."""
    source, target = Path(str(arguments["source"])), Path(str(arguments["target"]))
    password = str(arguments["password"])
    with source.open("rb") as file:
        head = file.read(HEAD_BYTES)
    report.progress(0.1)
    try:
        if head.startswith(_OLE):
            open_office(source, target, password)
        elif head.startswith(_ZIP):
            open_zip(source, target, password)
        elif head.startswith(SIGNATURE):
            open_seven_zip(source, target, password)
        elif b"%PDF-" in head:
            open_pdf(source, target, password)
        else:
            raise BadInput("no opener for this kind of file", code=FailureCode.LOCK_UNKNOWN)
    except (BadInput, MemoryError):
        raise
    # Whatever a library raises on a hostile file. Its words are dropped, since they might quote the password.
    except BaseException as error:  # noqa: BLE001 - see above
        _refuse(type(error).__name__)
    return True


def _refuse(name: str) -> NoReturn:
    raise BadInput(f"the file can't be opened: {name}")
