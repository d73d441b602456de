"""The stage `export`: writes documents into a ZIP, part by part, each part a blob and a commit.

A part that is stored is never written again. What a process leaves that is killed while it writes is swept, or removed
when the export ends.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from webapp.clock import monotonic, new_id
from webapp.db import reading
from webapp.documents import blob_layout
from webapp.jobs.interruptions import Drained, Snoozed
from webapp.library import deletion
from webapp.library.exports import operation
from webapp.library.exports.document_members import Export
from webapp.library.exports.member_names import MemberNames
from webapp.library.exports.operation import ExportPart, ExportProgress
from webapp.library.exports.parts import WrittenPart, lines_of_members, read_shared, shared_line, write_end, write_some
from webapp.library.exports.zip_writer import ZipMember, ZipWriter
from webapp.pipeline.steps import StageContext

# After so long others get the seat, and the run's time limit is never reached.
TURN_SECONDS = 30.0
PART_SECONDS = 20.0
PART_BYTES = 64 << 20


@dataclass
class _Names:
    """What earlier parts have: names, and blobs that several documents share."""

    members: MemberNames
    shared: dict[str, str]


def export(context: StageContext) -> None:
    """Write what is left of the export, and end the job; for a long one, over several turns."""
    operation_id = context.lease.operation_id
    if operation_id is None:
        raise ValueError("the job is of no operation")
    ends_at = monotonic() + TURN_SECONDS
    names: _Names | None = None
    while True:
        with reading(context.org_id):
            row = operation.running(context.org_id, operation_id)
        if row is None:
            _end_without_file(context, operation_id)
            return
        progress = ExportProgress.of(row)
        names = names or _names_of(context, progress)
        if _write_part(context, row, progress, names):
            return
        # Not `check`, which ends an attempt for good whose time is over: a part more does no harm.
        if context.stopping.is_set():
            raise Drained
        if monotonic() > ends_at:
            raise Snoozed(0)


def _write_part(context: StageContext, row: Any, progress: ExportProgress, names: _Names) -> bool:
    """Write the next part and note it; whether that was the last one."""
    number = len(progress.parts) + 1
    path = blob_layout.export_part(context.org_id, row.id, number, new_id())
    known = dict(names.shared)
    context.providers.blobs.check_space(PART_BYTES)
    with _files(context) as (part, members):
        with part.open("xb+") as file, members.open("xb+") as listed:
            writer = ZipWriter(file, listed, offset=progress.size_bytes)
            target = Export(context.providers, context.org_id, writer, names.members, names.shared)
            written = None if progress.has_all else _write_documents(context, target, row, progress)
            if written is None:
                _write_end(context, target, row, progress)
            listed.seek(0, 2)
            for blob, member in names.shared.items():
                if blob not in known:
                    listed.write(shared_line(blob, member))
        size_bytes = part.stat().st_size
        # The list first: a part that is noted has one.
        context.providers.blobs.put_file(blob_layout.members_of(path), members)
        context.providers.blobs.put_file(path, part)
    parts = [*progress.parts, ExportPart(path, size_bytes)] if size_bytes else progress.parts
    last = progress.after if written is None else written.last
    _note(context, row, replace(progress, parts=parts, after=last, has_all=last is None), written)
    return written is None


def _write_documents(context: StageContext, target: Export, row: Any, progress: ExportProgress) -> WrittenPart:
    ends_at = monotonic() + PART_SECONDS

    def is_full() -> bool:
        is_enough = target.writer.size_bytes >= PART_BYTES or monotonic() > ends_at
        # Where the process ends, what is written is stored first.
        return is_enough or context.stopping.is_set()

    return write_some(target, operation.wanted(row), progress.after, len(progress.parts) + 1, is_full)


def _write_end(context: StageContext, target: Export, row: Any, progress: ExportProgress) -> None:
    def members() -> Iterator[ZipMember]:
        for part in progress.parts:
            with context.providers.blobs.open(blob_layout.members_of(part.path)) as listed:
                yield from lines_of_members(listed)
        yield from lines_of_members(target.writer.members)

    with reading(context.org_id):
        whole = operation.whole(row)
    write_end(target, whole, members, progress.size_bytes)


def _note(context: StageContext, row: Any, progress: ExportProgress, written: WrittenPart | None) -> None:
    with context.transaction():
        is_noted = operation.note_part(row, progress, written)
        if is_noted and written is None:
            context.queue.complete(context.lease)
    if is_noted and written is None:
        _remove_others(context, row.id, progress)


def _remove_others(context: StageContext, operation_id: UUID, progress: ExportProgress) -> None:
    """Remove what attempts left that were killed, and the lists of members, which nobody needs any more."""
    kept = {part.path for part in progress.parts}
    blobs = context.providers.blobs
    for info in list(blobs.list(blob_layout.export_folder(context.org_id, operation_id))):
        if info.path not in kept:
            blobs.delete(info.path)


def _end_without_file(context: StageContext, operation_id: UUID) -> None:
    """End the job of an export that was stopped, or deleted."""
    with context.transaction():
        folder = operation.forget_file(context.org_id, operation_id)
        context.queue.complete(context.lease)
    deletion.remove_folders(context.providers.blobs, [folder])


def _names_of(context: StageContext, progress: ExportProgress) -> _Names:
    names = _Names(MemberNames(), {})
    for part in progress.parts:
        with context.providers.blobs.open(blob_layout.members_of(part.path)) as listed:
            for member in lines_of_members(listed):
                names.members.note(member.name)
            names.shared.update(read_shared(listed))
    return names


@contextmanager
def _files(context: StageContext) -> Iterator[tuple[Path, Path]]:
    """Two files on their way into the store; what is left of them is removed."""
    folder, name = context.providers.blobs.incoming(), f"export-{new_id().hex}"
    with ExitStack() as left:
        found = folder / name, folder / f"{name}.members"
        for each in found:
            left.callback(each.unlink, missing_ok=True)
        yield found
