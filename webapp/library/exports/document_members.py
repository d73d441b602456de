"""Writes one document into a ZIP: its file, its text, what is known of it, and the rows that another Docmill reads.

files/FOLDER/NAME              the file, as it was uploaded
text/FOLDER/NAME.md            its text as Markdown
searchable/FOLDER/NAME.pdf     a scan's pages with words that can be found
documents/FOLDER/NAME.json     what people know of it
library/ID.jsonl               all rows about it, after a line that says which member each of its blobs is
library/blobs/...              blobs that are no file for people: kept answers, sound, words of scans
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from tempfile import TemporaryFile
from typing import BinaryIO, cast
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import undefer

from webapp.db import reading, session
from webapp.documents import blob_layout
from webapp.documents.model import Document
from webapp.library import lookup
from webapp.library.exports import rows
from webapp.library.exports.description import containers_of, describe
from webapp.library.exports.member_names import MemberNames, safe_path
from webapp.library.exports.zip_writer import SizeChanged, ZipWriter
from webapp.library.searchable import WORDS, searchable_pdf
from webapp.provider_errors import BadInput, BlobMissing, ParserCrashed, TimedOut
from webapp.providers.ports import Providers

LIBRARY, BLOBS = "library/", "library/blobs/"
MARKDOWN = "markdown"
CONTENTS = " (contents)"
# Formats whose bytes are packed already: deflating them costs time, and saves nothing.
_PACKED = ("image/jpeg", "image/png", "audio/", "video/", "application/zip", "application/pdf", "application/epub")
_IN_MEMORY_BYTES = 4 << 20


@dataclass
class Export:
    """What is written to, with the names that are taken."""

    providers: Providers
    org_id: UUID
    writer: ZipWriter
    names: MemberNames
    shared: dict[str, str] = field(default_factory=dict)
    """The members of blobs that several documents have."""


@dataclass
class _Known:
    """What one snapshot says of a document, and its rows as lines in a file that is gone when it is closed."""

    document: Document
    place: str
    described: dict[str, object]
    artifacts: dict[str, str]
    lines: BinaryIO
    blobs: dict[str, str] = field(default_factory=dict)

    @property
    def at(self) -> datetime:
        """The time of its files."""
        return self.document.created_at


def write_document(export: Export, document_id: UUID) -> bool | None:
    """Write a document; False where its file is gone, None where the document is."""
    with TemporaryFile() as lines:
        known = _read(export, document_id, cast(BinaryIO, lines))
        if known is None:
            return None
        has_file = _write_file(export, known)
        _write_artifacts(export, known)
        _write_searchable(export, known)
        _write_answers(export, known)
        described = json.dumps(known.described, ensure_ascii=False, indent=1)
        mark = document_id.hex[-8:]
        export.writer.add_bytes(
            export.names.take(f"documents/{known.place}.json", mark), described.encode() + b"\n", known.at
        )
        _write_rows(export, known)
    return has_file


def _read(export: Export, document_id: UUID, lines: BinaryIO) -> _Known | None:
    org_id = export.org_id
    with reading(org_id):
        asked = select(Document).options(undefer(Document.embedding))
        document = session().scalars(asked.where(Document.org_id == org_id, Document.id == document_id)).one_or_none()
        if document is None:
            return None
        containers = containers_of(document)
        described = describe(document, containers[-1].filename if containers else None)
        artifacts = dict(lookup.artifact_paths(org_id, document_id))
        lines.writelines(rows.line_of(line) for line in rows.of_document(org_id, document_id))
    return _Known(document, _place(document, containers), described, artifacts, lines)


def _place(document: Document, containers: list[Document]) -> str:
    """Where its files lie in each of the ZIP's folders: parts of containers beside what they lie in."""
    if not containers:
        return safe_path(document.folder, document.filename)
    outermost = containers[0]
    within = [f"{each.filename}{CONTENTS}" for each in containers]
    inner = (document.path_in_parent or "").rpartition("/")[0]
    return safe_path("/".join(each for each in (outermost.folder, *within, inner) if each), document.filename)


def _write_file(export: Export, known: _Known) -> bool:
    document = known.document
    known.place = export.names.take(f"files/{known.place}", document.id.hex[-8:]).removeprefix("files/")
    known.described["file"] = name = f"files/{known.place}"
    is_packed = not document.content_type.startswith(_PACKED)
    has_file = _add_blob(export, known, document.blob_path, name, is_packed=is_packed)
    if not has_file:
        known.described["file"] = None
    if document.opened_path:
        _add_blob(export, known, document.opened_path, None, is_packed=is_packed)
    return has_file


def _write_artifacts(export: Export, known: _Known) -> None:
    for kind, path in known.artifacts.items():
        name = None
        if kind == MARKDOWN:
            known.described["text"] = name = export.names.take(f"text/{known.place}.md", known.document.id.hex[-8:])
        _add_blob(export, known, path, name, is_packed=kind not in {"sound", "audio"})


def _write_searchable(export: Export, known: _Known) -> None:
    """A scan's searchable PDF, where one can be made: the export has the scan and its words in any case."""
    words = known.artifacts.get(WORDS)
    if words is None or known.document.deleted_at is not None:
        return
    with suppress(BlobMissing, BadInput, ParserCrashed, TimedOut):
        made = searchable_pdf(export.providers, known.document, words)
        if made is not None:
            with made:
                size_bytes = made.seek(0, 2)
                made.seek(0)
                name = export.names.take(f"searchable/{known.place}.pdf", known.document.id.hex[-8:])
                export.writer.add_file(name, made, size_bytes, known.at, is_packed=False)
                known.described["searchable"] = name


def _write_answers(export: Export, known: _Known) -> None:
    """The answers that were kept about its bytes: nothing is paid twice."""
    document = known.document
    folder = blob_layout.answers_folder(export.org_id, document.sha256, document.answers_folder)
    for info in list(export.providers.blobs.list(folder)):
        if info.path != document.blob_path:
            _add_blob(export, known, info.path, None, is_packed=True)


def _add_blob(export: Export, known: _Known, path: str, name: str | None, *, is_packed: bool) -> bool:
    """Add a blob under this name, or under its own path; False where it is gone."""
    inside = path.partition("/")[2]
    if path not in export.shared:
        member = name or f"{BLOBS}{inside}"
        try:
            with export.providers.blobs.local_copy(path) as copy, copy.open("rb") as file:
                export.writer.add_file(member, file, copy.stat().st_size, known.at, is_packed=is_packed)
        except (BlobMissing, SizeChanged):
            return False
        if inside.startswith("extractions/"):
            export.shared[path] = member
    elif name is not None and known.described.get("file") == name:
        known.described["file"] = export.shared[path]
    known.blobs[inside] = export.shared.get(path) or name or f"{BLOBS}{inside}"
    return True


def _write_rows(export: Export, known: _Known) -> None:
    head = {"document": str(known.document.id), "blobs": known.blobs}
    with TemporaryFile() as whole:
        whole.write(json.dumps(head, ensure_ascii=False).encode() + b"\n")
        known.lines.seek(0)
        while block := known.lines.read(_IN_MEMORY_BYTES):
            whole.write(block)
        size_bytes = whole.tell()
        whole.seek(0)
        name = f"{LIBRARY}{known.document.id}.jsonl"
        export.writer.add_file(name, cast(BinaryIO, whole), size_bytes, known.at, is_packed=True)


def write_lines(export: Export, name: str, lines: Callable[[], Iterator[rows.Line]], at: datetime) -> None:
    """Write rows as a member, unless there are none; of a part's documents, or of the whole org."""
    with TemporaryFile() as file, reading(export.org_id):
        for line in lines():
            file.write(rows.line_of(line))
        size_bytes = file.tell()
        if size_bytes:
            file.seek(0)
            export.writer.add_file(name, cast(BinaryIO, file), size_bytes, at, is_packed=True)
