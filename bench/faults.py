"""How soon another worker begins a document anew when its worker is killed, and what a worker writes that was frozen.

Run as `python -m bench.faults [--rounds N] [--queue bullmq]`, on PostgreSQL. There are two worker processes; one works
on a long text. In the first part it is killed with SIGKILL, and the clock runs until the other one begins the same
document. In the second it is stopped with SIGSTOP, its lease ends, the other one makes the document READY, and then it
is let go on with SIGCONT: each row that changes after that is a late write.
"""

import argparse
import os
import select
import signal
import threading
import time
from uuid import UUID

import psycopg

from bench._documents_loop import page
from bench._place import PATIENCE_SECONDS, Place, Worker, place, wait_until
from bench._redis import add_queue_option, queue_settings
from bench._table import row, title
from tests.search.passages import new_org
from webapp.db import reading
from webapp.documents.model import Document
from webapp.documents.states import DocumentStatus

WANTED_SECONDS = 1.5
PAGES = 60
# Leases end soon, so that a round takes seconds.
SHORT_LEASES = {"HEARTBEAT_SECONDS": "0.2", "ZOMBIE_AFTER_SECONDS": "2", "WATCHDOG_SECONDS": "0.2"}
TABLES = ("documents", "processing_runs", "document_processing_jobs", "run_events", "chunks", "artifacts")
# Workers that have worked for a while know of each other.
_SETTLE_SECONDS = 2.5
_AT_WORK_SECONDS = 0.5
_pause = threading.Event()


def kill(at: Place, settings: dict[str, str], org_id: UUID, seed: int) -> float:
    """Kill the worker of a document; the seconds until the other one begins it."""
    with Worker(at, **settings) as one, Worker(at, **settings) as other:
        document_id, victim, survivor = _begun(at, org_id, seed, one, other)
        killed_at = time.monotonic()
        victim.process.kill()
        moment, again = survivor.begun()
        assert again == document_id
        wait_until(lambda: _is_finished(at, org_id, document_id))
    return moment - killed_at


def freeze(at: Place, settings: dict[str, str], org_id: UUID, seed: int) -> int:
    """Freeze the worker of a document until the other one has finished it; the rows that it changes afterwards."""
    settings = {**settings, **SHORT_LEASES}
    with Worker(at, **settings) as one, Worker(at, **settings) as other:
        document_id, sleeper, _ = _begun(at, org_id, seed, one, other)
        os.kill(sleeper.process.pid, signal.SIGSTOP)
        wait_until(lambda: _is_finished(at, org_id, document_id))
        before = _rows(at)
        os.kill(sleeper.process.pid, signal.SIGCONT)
        wait_until(lambda: sleeper.has_logged(": LEASE_LOST"))
        return len(before ^ _rows(at))


def _begun(at: Place, org_id: UUID, seed: int, one: Worker, other: Worker) -> tuple[UUID, Worker, Worker]:
    """Upload a text, and wait until it is being worked on: its id, its worker, and the other worker."""
    _pause.wait(_SETTLE_SECONDS)
    text = b"\n\n".join(page("texts", 1_000 * seed + number) for number in range(PAGES))
    document_id = at.upload(org_id, text, f"book-{seed}.txt")
    said, _, _ = select.select([one, other], [], [], PATIENCE_SECONDS)
    holder, idle = (one, other) if one in said else (other, one)
    holder.begun()
    _pause.wait(_AT_WORK_SECONDS)
    return document_id, holder, idle


def _is_finished(at: Place, org_id: UUID, document_id: UUID) -> bool:
    """Whether it is READY, and nothing that follows is queued."""
    with reading(org_id) as session:
        document = session.get(Document, document_id)
        is_ready = document is not None and document.status == DocumentStatus.READY
    return is_ready and at.is_idle()


def _rows(at: Place) -> set[str]:
    """All rows that an attempt can write."""
    assert at.owner_url is not None
    with psycopg.connect(at.owner_url, autocommit=True) as connection:
        return {
            f"{table} {found}"
            for table in TABLES
            for (found,) in connection.execute(f"SELECT t::text FROM {table} AS t").fetchall()
        }


def main() -> None:
    """Print a line for each fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    add_queue_option(parser)
    given = parser.parse_args()
    rounds = given.rounds
    title(f"Workers that are killed or frozen at a text of {PAGES} pages, QUEUE={given.queue}, {rounds} rounds each")
    with queue_settings(given.queue) as (settings, _), place("postgresql") as at:
        org_id = new_org()
        seconds = sorted(kill(at, settings, org_id, seed) for seed in range(rounds))
        row(
            "kill -9 to the first line of the rerun",
            f"{seconds[rounds // 2]:.2f} s ({seconds[0]:.2f} to {seconds[-1]:.2f})",
            wanted=f"≤ {WANTED_SECONDS} s",
            holds=seconds[-1] <= WANTED_SECONDS,
        )
        late = sum(freeze(at, settings, org_id, rounds + seed) for seed in range(rounds))
        row("late writes after a freeze past the lease", str(late), wanted="0", holds=late == 0)


if __name__ == "__main__":
    main()
