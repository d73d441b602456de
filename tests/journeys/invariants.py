"""What must hold once everything has come to rest, whatever happened before: in SQL, and in the blob store."""

import os
import time
from typing import Any

from flask import Flask
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from webapp.db import reading
from webapp.documents import blob_layout
from webapp.documents.model import Document
from webapp.services import Services
from webapp.worker import chores

# Each finds what must not be; an empty answer is a pass.
FORBIDDEN = {
    "a document without a run": """
        SELECT d.id FROM documents d
        WHERE NOT EXISTS (SELECT 1 FROM processing_runs r WHERE r.document_id = d.id)""",
    "a run without a job": """
        SELECT r.id FROM processing_runs r
        WHERE NOT EXISTS (SELECT 1 FROM document_processing_jobs j WHERE j.run_id = r.id)""",
    "a run that has not ended": "SELECT id FROM processing_runs WHERE state IN ('QUEUED', 'RUNNING')",
    "a job that has not ended": "SELECT id FROM document_processing_jobs WHERE status IN ('PENDING', 'PROCESSING')",
    # A job that handed on to the next stage's is completed, whatever becomes of its run; the last one ends the run.
    "a job and a run that disagree": """
        SELECT j.id FROM document_processing_jobs j JOIN processing_runs r ON r.id = j.run_id
        WHERE j.stage <> 'detect_connections' AND (j.status = 'COMPLETED') <> (r.state = 'SUCCEEDED' OR EXISTS
        (SELECT 1 FROM document_processing_jobs n
         WHERE n.run_id = j.run_id AND n.stage <> 'detect_connections' AND n.id > j.id))""",
    "a result that nothing follows": """
        SELECT r.id FROM processing_runs r WHERE r.state = 'SUCCEEDED' AND NOT EXISTS
        (SELECT 1 FROM document_processing_jobs j WHERE j.run_id = r.id AND j.stage = 'detect_connections')
        AND NOT EXISTS (SELECT 1 FROM run_events e WHERE e.run_id = r.id AND e.step = 'keeping')""",
    "a connection inside of one document": """
        SELECT c.source_chunk_id FROM connections c JOIN chunks a ON a.id = c.source_chunk_id
        JOIN chunks b ON b.id = c.target_chunk_id WHERE a.document_id = b.document_id""",
    "a ready document whose newest run is not its result": """
        SELECT d.id FROM documents d WHERE d.status = 'READY' AND d.published_run_id <>
        (SELECT r.id FROM processing_runs r WHERE r.document_id = d.id ORDER BY r.created_at DESC, r.id DESC LIMIT 1)
        """,
    "two chunks at one place": "SELECT document_id FROM chunks GROUP BY document_id, ordinal HAVING count(*) > 1",
    "a chunk twice": "SELECT document_id FROM chunks GROUP BY document_id, text HAVING count(*) > 1",
    "a gap between chunks": """
        SELECT document_id FROM chunks GROUP BY document_id HAVING min(ordinal) <> 0 OR max(ordinal) <> count(*) - 1""",
    "a ready document without chunks": """
        SELECT d.id FROM documents d
        WHERE d.status = 'READY' AND (d.pages_read IS NULL OR d.pages_read <> 0)
        AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document_id = d.id)""",
    "a chunk without its vector": "SELECT id FROM chunks WHERE embedding IS NULL",
    "a chunk of a document that never was ready": """
        SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id WHERE d.published_run_id IS NULL""",
    "a run with two starts or two ends": """
        SELECT run_id FROM run_events
        WHERE kind IN ('RUN_STARTED', 'RUN_SUCCEEDED', 'RUN_FAILED', 'RUN_TIMED_OUT', 'RUN_CANCELLED')
        GROUP BY run_id, CASE WHEN kind = 'RUN_STARTED' THEN 1 ELSE 2 END HAVING count(*) > 1""",
    "more attempts than allowed": "SELECT id FROM document_processing_jobs WHERE attempts > max_attempts",
}


def broken(app: Flask) -> dict[str, list[Any]]:
    """The invariants that do not hold, with what breaks them."""
    services: Services = app.extensions["docmill"]
    with app.app_context(), reading(everywhere=True) as session:
        found = {name: list(session.execute(text(query)).scalars()) for name, query in FORBIDDEN.items()}
        documents = session.execute(text("SELECT blob_path FROM documents")).scalars().all()
        artifacts = session.execute(text("SELECT path FROM artifacts")).scalars().all()
        folders = _folders(session)
    blobs = {info.path for info in services.providers.blobs.list()}
    found["a document or artifact without its blob"] = [path for path in [*documents, *artifacts] if path not in blobs]
    strays = [path for path in blobs if _folder(path) not in folders]
    found["a blob without its document"] = [path for path in strays if "/documents/" in path]
    found["an answer or a shared file without a document"] = [path for path in strays if "/extractions/" in path]
    found["an upload left behind"] = list(services.providers.blobs.incoming().iterdir())
    return {name: rows for name, rows in found.items() if rows}


def let_a_day_pass(app: Flask) -> None:
    """What killed processes leave on the disk is swept when it is a day old: then nothing of it may be left."""
    services: Services = app.extensions["docmill"]
    for path in (services.settings.data_dir / "blobs").rglob("*"):
        os.utime(path, (0, time.time() - 2 * chores.LITTER_AFTER_SECONDS))
    with app.app_context():
        chores.sweep_incoming(services)
        chores.sweep_orphans(services)


def _folders(session: Session) -> set[str]:
    """The folders that documents have: each its own, and one of answers, which those with the same bytes share."""
    rows = session.execute(select(Document.id, Document.org_id, Document.sha256, Document.answers_folder)).all()
    own = {blob_layout.document_folder(row.org_id, row.id) for row in rows}
    return own | {blob_layout.answers_folder(row.org_id, row.sha256, row.answers_folder) for row in rows}


def _folder(path: str) -> str:
    """The folder of a document, or of answers, that a blob lies in."""
    return "".join(f"{part}/" for part in path.split("/")[:3])
