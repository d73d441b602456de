"""The sandboxed job that fetches the files out of a container: an archive, a mail, a PDF."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from webapp.readers.archives.members import Member, UnpackLimits, unpacked
from webapp.readers.archives.read import ARCHIVES
from webapp.readers.archives.within import mail_members, mailbox_members, outlook_members, pdf_members
from webapp.readers.filetypes import MAIL, MAILBOX, MSG, PDF
from webapp.sandbox.child import Report

CONTAINERS: dict[str, Callable[[Path, UnpackLimits], Iterator[Member]]] = {
    **ARCHIVES,
    MAIL: mail_members,
    MAILBOX: mailbox_members,
    MSG: outlook_members,
    PDF: pdf_members,
}


def unpack(arguments: dict[str, Any], report: Report) -> dict[str, Any]:
    """Write members of the container at `source` to `target`, one after the other, from the place `first` on.

    The answer is `Unpacked` as plain data; `most` and `most_bytes` say when to stop.
    """
    limits = UnpackLimits(**arguments["limits"])
    members = CONTAINERS[arguments["content_type"]](Path(arguments["source"]), limits)
    with Path(arguments["target"]).open("r+b") as target:
        found = unpacked(
            members,
            target.write,
            limits,
            first=arguments["first"],
            most=arguments["most"],
            most_bytes=arguments["most_bytes"],
        )
    report.progress(1.0)
    return asdict(found)


def count(arguments: dict[str, Any], report: Report) -> int:
    """How many members the container at `source` has, without reading them."""
    limits = UnpackLimits(**arguments["limits"])
    return sum(1 for _ in CONTAINERS[arguments["content_type"]](Path(arguments["source"]), limits))
