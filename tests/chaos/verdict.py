"""What must hold in the end, whatever was done: the invariants, and that nothing acknowledged is missing."""

from typing import Any

from sqlalchemy import text

from tests.chaos import audit
from tests.chaos.world import World
from tests.conftest import dispose, make_bare_app, settings_for
from tests.journeys.invariants import broken, let_a_day_pass
from tests.ledger_check import Bookings, bookings, deviations, paid_again, paid_at
from webapp.app import create_app
from webapp.config import Settings
from webapp.db import reading

SHOWN = 5
# Deaths are counted as attempts: so many of them are a reason to fail that is nobody's fault.
EXCUSES = {"worker_died", "worker_silent", "process_terminated"}


def judge(world: World) -> dict[str, list[Any]]:
    """The promises that were broken, with what breaks them."""
    app = create_app(_settings(world))
    let_a_day_pass(app)
    found = broken(app)
    with app.app_context(), reading(everywhere=True) as session:
        rows = session.execute(text(_DOCUMENTS)).all()
        found |= _of_bill(world, bookings(session))
    dispose(app)
    found |= _of_uploads(world, {str(row.id).replace("-", ""): row for row in rows})
    if world.server:
        found |= audit.late_writes(world.server.superuser_url)
    return {name: evidence[:SHOWN] for name, evidence in found.items() if evidence}


def unfinished(world: World) -> int:
    """How many jobs have not ended (those that follow a document's run are the last), and how many calls are open."""
    app = make_bare_app(_settings(world))
    try:
        with app.app_context(), reading(everywhere=True) as session:
            return sum(bookings(session).open.values()) + int(session.execute(text(_LIVE_JOBS)).scalar_one())
    finally:
        dispose(app)


_LIVE_JOBS = "SELECT count(*) FROM document_processing_jobs WHERE status IN ('PENDING', 'PROCESSING')"


def _settings(world: World) -> Settings:
    variables = {name: value for name, value in world.base.items() if name not in {"DATA_DIR", "SECRET_KEY"}}
    return settings_for(world.folder, **variables)


def _of_bill(world: World, booked: Bookings) -> dict[str, list[Any]]:
    """A process that was killed between a reservation and its call leaves an unknown call that never left."""
    paid = paid_at(*world.emulators)
    return {
        "the bill and the ledger disagree": deviations(paid, booked, exact=False),
        "paid again although the answer had arrived": paid_again(paid, booked),
    }


_DOCUMENTS = """
    SELECT d.id, d.filename, d.status,
           (SELECT r.failure_code FROM processing_runs r WHERE r.document_id = d.id
            ORDER BY r.created_at DESC, r.id DESC LIMIT 1) AS code
    FROM documents d
"""


def _of_uploads(world: World, rows: dict[str, Any]) -> dict[str, list[Any]]:
    known = {document_id.replace("-", ""): is_good for document_id, is_good in world.uploaded.items()}
    missing = [document_id for document_id in known if document_id not in rows]
    good = [rows[document_id] for document_id, is_good in known.items() if is_good and document_id in rows]
    bad = [rows[document_id] for document_id, is_good in known.items() if not is_good and document_id in rows]
    return {
        "an upload that was answered and is gone": missing,
        "a good file that did not become a document": [
            tuple(row) for row in good if row.status != "READY" and row.code not in EXCUSES
        ],
        "a bad file without a reason": [tuple(row) for row in bad if row.status == "FAILED" and not row.code],
        "a bad file that has not ended": [tuple(row) for row in bad if row.status not in {"READY", "FAILED"}],
        "the same file twice": [name for name in {row.filename for row in rows.values()} if _count(rows, name) > 1],
    }


def _count(rows: dict[str, Any], name: str) -> int:
    return sum(row.filename == name for row in rows.values())
