"""The sandboxed job that reads an archive: what lies in it, as a list. `unpack.py` fetches the files themselves."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.members import EndsEarly, Member, Obstacle, UnpackLimits
from webapp.readers.archives.seven_zip.read import seven_zip_members
from webapp.readers.archives.tar import tar_members
from webapp.readers.archives.tnef import tnef_members
from webapp.readers.archives.zip import zip_members
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import BZIP2, GZIP, SEVEN_ZIP, TAR, TNEF, XZ, ZIP
from webapp.readers.markup.writer import paragraph
from webapp.sandbox.child import Report

NAME = "local"
HEADING = "# Files in this archive"
# They are found by their names, which is a matter of words; no passage of a list is like another one by its meaning.
VECTORS_MAX = 5
LIMITS = UnpackLimits(members=10_000, member_bytes=4 << 30, total_bytes=4 << 30, ratio=200)
_NOTES = {
    Obstacle.ENCRYPTED: "locked by a password",
    Obstacle.EMPTY: "empty",
    Obstacle.LINK: "a link or a device, no file",
    Obstacle.UNKNOWN_METHOD: "packed in a way that is not known here",
    Obstacle.SYSTEM: "left there by an operating system",
}
_THE_FILE = "the file that is packed in it"

Members = Callable[[Path, UnpackLimits], Iterator[Member]]
ARCHIVES: dict[str, Members] = {
    ZIP: zip_members,
    SEVEN_ZIP: seven_zip_members,
    TNEF: tnef_members,
    **dict.fromkeys((TAR, GZIP, BZIP2, XZ), tar_members),
}


def parse_archive(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """List the archive at `source`, of this `content_type`; the answer is an Extraction as plain data."""
    source, members = Path(str(arguments["source"])), ARCHIVES[str(arguments["content_type"])]
    limits = UnpackLimits(**arguments["limits"])  # type: ignore[arg-type]  # as the caller wrote them
    lines: list[str] = []
    is_cut = False
    try:
        for each in members(source, limits):
            if len(lines) >= limits.members:
                raise EndsEarly(Obstacle.TOO_LARGE)
            lines.append(_line(each))
    except EndsEarly:
        is_cut = True
    if not lines:
        raise BadInput("no file lies in the archive", code=FailureCode.EMPTY)
    report.progress(0.9)
    return asdict(
        Extraction(
            extractor=NAME,
            version="",
            markdown="\n".join([HEADING, "", *lines]),
            title="",
            partial=is_cut,
            vectors_max=VECTORS_MAX,
            parts=len(lines),
        )
    )


def _line(each: Member) -> str:
    note = _NOTES.get(each.obstacle) if each.obstacle else None
    return f"- {paragraph(each.path or _THE_FILE)}" + (f" ({note})" if note else "")
