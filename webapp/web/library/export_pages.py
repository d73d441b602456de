"""GET /bulk/{id}/export.zip: the file that an export has made, whole or in ranges, while it is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, url_for

from webapp.db import reading
from webapp.documents.states import OperationState
from webapp.library import bulk
from webapp.library.bulk import BulkAction
from webapp.library.exports.operation import ExportPart, ExportProgress
from webapp.library.exports.stored_zip import open_parts
from webapp.provider_errors import BlobMissing
from webapp.web import blobs
from webapp.web.access import org_id, services
from webapp.web.errors import Problem
from webapp.web.security_log import note_export

pages = Blueprint("export", __name__, url_prefix="/bulk")

_ZIP = "application/zip"


@dataclass(frozen=True)
class ExportedFile:
    """The file of an export that is ready."""

    id: UUID
    filename: str
    parts: Sequence[ExportPart]
    size_bytes: int
    expires_at: datetime | None
    """When it is removed; None where it is kept."""

    def json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "url": url_for("export.download", operation_id=self.id),
            "filename": self.filename,
            "size_bytes": self.size_bytes,
            "expires_at": self.expires_at,
        }


def exported_file(row: Any, days: float) -> ExportedFile | None:
    """What an operation's row says of its file; None for what is no export, is not ready, or was removed."""
    if row.action != BulkAction.EXPORT or row.state != OperationState.SUCCEEDED or row.result is None:
        return None
    progress = ExportProgress.of(row)
    expires_at = row.finished_at + timedelta(days=days) if days else None
    filename = f"docmill-{row.created_at:%Y-%m-%d}.zip"
    return ExportedFile(row.id, filename, progress.parts, progress.size_bytes, expires_at)


@pages.get("/<uuid:operation_id>/export.zip")
def download(operation_id: UUID) -> Response:
    """Send it."""
    org, found = org_id(), services()
    with reading(org):
        operation = bulk.find(found.queue, org, operation_id)
    file = exported_file(operation[0], found.settings.limits.export_days) if operation else None
    if operation is None or file is None:
        raise Problem(404, detail="There is no such file: the export is not ready, or its file was removed.")
    try:
        stream = open_parts(found.providers.blobs, file.parts)
    except BlobMissing as error:
        raise Problem(404, detail="The stored file is gone.") from error
    note_export(operation_id, operation[0].done)
    return blobs.download_stream(stream, file.size_bytes, file.filename, _ZIP, operation_id.hex)
