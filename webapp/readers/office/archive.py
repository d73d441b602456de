"""The zip file that an Office document is: its members, checked and counted while they unfold."""

from pathlib import Path

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.zip_members import MemberLimits, ZipMembers

FILE_BYTES_MAX = 256 << 20
MEMBERS_MAX = 10_000
DIRECTORY_BYTES_MAX = 4 << 20
PART_BYTES_MAX = 64 << 20
TOTAL_BYTES_MAX = 512 << 20

_DIRECTORY_END, _DIRECTORY_END_BYTES, _COMMENT_BYTES_MAX = b"PK\x05\x06", 22, 1 << 16


class Archive(ZipMembers):
    """The parts of an Office document, by their names in whatever case."""

    def __init__(self, source: Path) -> None:
        _refuse_flood(source)
        self.source = source
        super().__init__(source, MemberLimits(MEMBERS_MAX, PART_BYTES_MAX, TOTAL_BYTES_MAX), "document")

    @staticmethod
    def key(name: str) -> str:
        """The name in lower case, with slashes."""
        return name.replace("\\", "/").lstrip("/").lower()

    def read_if_there(self, name: str) -> bytes | None:
        """A member's content, or None where the document has no such part."""
        return self.read(name) if self.has(name) else None


def _refuse_flood(source: Path) -> None:
    """Refuse a file that is too large, and a directory that is itself a flood."""
    size = source.stat().st_size
    if size > FILE_BYTES_MAX:
        raise BadInput(f"more than {FILE_BYTES_MAX} bytes", code=FailureCode.TOO_LARGE)
    with source.open("rb") as file:
        file.seek(max(0, size - _DIRECTORY_END_BYTES - _COMMENT_BYTES_MAX))
        end = file.read()
    found = end.rfind(_DIRECTORY_END)
    directory_bytes = int.from_bytes(end[found + 12 : found + 16], "little") if found >= 0 else 0
    # All ones mean that the size is elsewhere, in a record for files beyond 4 GB.
    if DIRECTORY_BYTES_MAX < directory_bytes < 0xFFFFFFFF:
        raise BadInput("the list of the document's files is too long", code=FailureCode.TOO_LARGE)
