"""Office files that are locked by a password: of today (agile and standard encryption) and of old versions."""

import io
import tempfile
from pathlib import Path
from typing import Any

from msoffcrypto import OfficeFile
from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError, ParseError
from msoffcrypto.format.ooxml import OOXMLFile

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.ole.container import refuse_odd_sectors


def open_office(source: Path, target: Path, password: str) -> None:
    """Write the document without its lock."""
    refuse_odd_sectors(source)
    # The library writes old documents by way of a temporary file, which a child may not make.
    tempfile.TemporaryFile = io.BytesIO  # type: ignore[assignment]  # a function there, a class here: both are called
    try:
        with source.open("rb") as file:
            written = _decrypted(OfficeFile(file), password)
    except InvalidKeyError:
        raise BadInput("the password is not that of the document", code=FailureCode.WRONG_PASSWORD) from None
    except (DecryptionError, FileFormatError):
        message = "the document is locked in a way that is not known here"
        raise BadInput(message, code=FailureCode.LOCK_UNKNOWN) from None
    except (ParseError, OSError):
        raise BadInput("the locked document is damaged") from None
    target.write_bytes(written)


def _decrypted(office: Any, password: str) -> bytes:
    if not office.is_encrypted():
        raise BadInput("the document is not locked", code=FailureCode.UNSUPPORTED)
    if isinstance(office, OOXMLFile):
        office.load_key(password=password, verify_password=True)
    else:
        # Old ones are always compared with their verifier.
        office.load_key(password=password)
    out = io.BytesIO()
    office.decrypt(out)
    return out.getvalue()
