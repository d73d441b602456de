"""What has to be done again and again: each is safe in every process at once, and may fail until the next time."""

import logging
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from itertools import groupby
from uuid import UUID

from webapp.accounts import orgs
from webapp.clock import utc_now
from webapp.db import reading, transaction
from webapp.documents import library, runs
from webapp.documents.runs import LiveRun
from webapp.documents.states import DocumentStatus
from webapp.pipeline import lifecycle, reprocess, stage_pause
from webapp.pipeline.missing import find_missing
from webapp.pipeline.services import Services
from webapp.providers.ports import BlobInfo
from webapp.worker import register

_log = logging.getLogger(__name__)

# An upload takes minutes, and the rows of a new blob are committed within seconds: a day is certain.
LITTER_AFTER_SECONDS = 24 * 3600.0
_BATCH = 100
_NAMED_MAX = 20


def reset_silent(services: Services) -> int:
    """Take jobs back from workers that have sent no heartbeat for too long."""
    total = 0
    while found := lifecycle.reset_silent(services.queue, services.settings.zombie_after_seconds):
        for reset in found:
            _log.warning("job %s was taken from silent worker %s: %s", reset.job_id, reset.locked_by, reset.status)
        total += len(found)
    return total


def end_overdue(services: Services, window_seconds: float) -> int:
    """End the runs whose window is over; for those in a paused stage it stands still."""
    ended = 0
    for page in _overdue(services, window_seconds):
        with reading(everywhere=True):
            passing = stage_pause.in_pause(services.queue, [run.id for run in page])
        for run in page:
            if run.id not in passing and lifecycle.time_out_run(services.queue, run):
                _log.warning("run %s of document %s exceeded its window", run.id, run.document_id)
                ended += 1
    return ended


def _overdue(services: Services, window_seconds: float) -> Iterator[list[LiveRun]]:
    page: list[LiveRun] = []
    while True:
        beyond = page[-1].id if page else None
        with reading(everywhere=True):
            page = runs.overdue(window_seconds, services.settings.audio_run_timeout_seconds, _BATCH, beyond=beyond)
        if page:
            yield page
        if len(page) < _BATCH:
            return


def end_orphans(services: Services) -> int:
    """At the start of the only process that works: whatever is said to be at work is not."""
    total = 0
    while orphans := _running():
        total += sum(lifecycle.terminate_run(services.queue, run) for run in orphans)
    # Jobs that follow a run's end, too, belonged to the process that is gone.
    with transaction(everywhere=True):
        while lifecycle.reset_silent(services.queue, silent_seconds=0):
            pass
    if total:
        _log.warning("%d runs had lost their process and have failed: PROCESS_TERMINATED", total)
    return total


def reset_others(services: Services, own_name: str) -> int:
    """In the only process that works: what another holds was left to it, by a claim or a lock that outlived it."""
    with reading(everywhere=True):
        names = register.others_with_jobs(own_name)
    found = sum(len(lifecycle.reset_worker(services.queue, name)) for name in names)
    if found:
        _log.warning("%d jobs of processes that are gone are back in line", found)
    return found


def sweep_incoming(services: Services) -> int:
    """Remove what broken uploads left behind."""
    return services.providers.blobs.sweep_incoming(LITTER_AFTER_SECONDS)


def sweep_orphans(services: Services, is_ending: Callable[[], bool] = bool) -> int:
    """Remove blobs that no row speaks of: of uploads that never were committed, of deleted documents.

    It can take long, and stops where it is when the process wants to end.
    """
    blobs = services.providers.blobs
    limit = utc_now() - timedelta(seconds=LITTER_AFTER_SECONDS)
    removed = 0
    for org, old in groupby((info for info in blobs.list() if info.modified_at < limit), key=_org_of):
        if org is None:
            continue
        for batch in _batches(old):
            if is_ending():
                return removed
            for info in _without_owner(org, batch):
                blobs.delete(info.path)
                removed += 1
    if removed:
        _log.info("%d orphan blobs were removed", removed)
    return removed


def report_missing(services: Services, is_ending: Callable[[], bool] = bool) -> int:
    """Say which blobs are gone that rows speak of: nothing can be done about it here, and nobody else would notice."""
    with reading(everywhere=True):
        ids = [org.id for org in orgs.everyone()]
    total = 0
    for org_id in ids:
        for found in find_missing(services, org_id, is_ending):
            total += 1
            if total <= _NAMED_MAX:
                _log.error("document %s has lost its blob %s", found.document_id, found.path)
    if total:
        _log.error("%d blobs that documents need are gone; restore them, or delete the documents", total)
    return total


def renew_vectors(services: Services, is_ending: Callable[[], bool] = bool) -> int:
    """Queue new vectors for what has those of an earlier model, unless ops want to be asked.

    Documents whose newest run failed are left to people: what failed once may fail every day.
    """
    if services.settings.reembed != "auto":
        return 0
    with reading(everywhere=True):
        ids = [org.id for org in orgs.everyone()]
    ready = DocumentStatus.READY
    total = sum(reprocess.renew_vectors(services, each, status=ready, is_ending=is_ending).count for each in ids)
    if total:
        _log.info("%d documents with vectors of an earlier model get new ones", total)
    return total


def _running() -> list[runs.LiveRun]:
    with reading(everywhere=True):
        return runs.running()


def _batches(infos: Iterable[BlobInfo]) -> Iterator[list[BlobInfo]]:
    batch: list[BlobInfo] = []
    for info in infos:
        batch.append(info)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _without_owner(org_id: UUID, infos: list[BlobInfo]) -> list[BlobInfo]:
    owners = [_owner_of(info) for info in infos]
    ids = {UUID(name) for kind, name in owners if kind == "documents" and _as_uuid(name)}
    hashes = {name for kind, name in owners if kind == "extractions"}
    with reading(org_id):
        known = library.known_blob_owners(org_id, ids, hashes)
    # What lies anywhere else was not put there by us, and is not ours to remove.
    ours = {"documents", "extractions"}
    return [
        info for info, (kind, name) in zip(infos, owners, strict=True) if kind in ours and name and name not in known
    ]


def _org_of(info: BlobInfo) -> UUID | None:
    return _as_uuid(info.path.split("/")[0])


def _owner_of(info: BlobInfo) -> tuple[str, str]:
    """`{org}/{kind}/{owner}/…`: the document's id, or the hash of its bytes."""
    _, kind, owner, *_rest = [*info.path.split("/"), "", ""]
    return kind, owner


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
