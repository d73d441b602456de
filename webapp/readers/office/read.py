"""The sandboxed job that reads Office documents. The parts of the file, not its name, decide which reader takes it."""

import sys
from pathlib import Path

import msgspec

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.fields.markdown import with_fields
from webapp.readers.filetypes import OPEN
from webapp.readers.office.archive import Archive
from webapp.readers.office.content import Content, extraction
from webapp.readers.office.docx import read_docx
from webapp.readers.office.odp import read_odp
from webapp.readers.office.ods import read_ods
from webapp.readers.office.odt import read_odt
from webapp.readers.office.pptx import read_pptx
from webapp.readers.office.properties import read_properties
from webapp.readers.office.relations import main_part
from webapp.readers.office.xlsx import read_xlsx
from webapp.readers.ole.container import is_old_container
from webapp.readers.ole.read import parse_ole
from webapp.sandbox.child import Report

# Elements may be nested 256 deep, each a few calls of ours.
RECURSION = 6_000


def parse_office(arguments: dict[str, object], report: Report) -> object:
    """Read the document at `source`; the answer is an Extraction as plain data."""
    source = Path(str(arguments["source"]))
    if is_old_container(source):
        # Of an old version under a new name, or locked by a password.
        return parse_ole(arguments, report)
    sys.setrecursionlimit(RECURSION)
    archive = Archive(source)
    report.progress(0.05)
    content = _content(archive, report)
    report.progress(0.9)
    return msgspec.to_builtins(with_fields(extraction(content, read_properties(archive))))


def _content(archive: Archive, report: Report) -> Content:
    kind = (archive.read_if_there("mimetype") or b"").decode("ascii", "replace").strip()
    if kind.startswith(OPEN) or archive.has("content.xml"):
        return _open_document(archive, kind, report)
    # The part that the file calls its main one; where it names none, the folders tell.
    part = main_part(archive, "")
    for name in (part, *archive.names):
        if name.startswith("word/"):
            return read_docx(archive)
        if name.startswith("xl/"):
            return read_xlsx(archive, report)
        if name.startswith("ppt/"):
            return read_pptx(archive, report)
    raise BadInput("no document that is read", code=FailureCode.CORRUPT)


def _open_document(archive: Archive, kind: str, report: Report) -> Content:
    if "spreadsheet" in kind:
        return read_ods(archive, report)
    return read_odp(archive) if "presentation" in kind else read_odt(archive)
