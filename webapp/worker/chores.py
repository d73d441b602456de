"""The chores that timers call. Each may run in several processes at once, and is repeated if it fails."""

import logging
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import groupby
from uuid import UUID

from webapp.accounts import orgs
from webapp.batches import batches
from webapp.clock import utc_now
from webapp.db import reading, session_url, transaction
from webapp.documents import blob_layout
from webapp.documents.states import DeliveryState, LiveRun
from webapp.jobs.interruptions import WaitReason
from webapp.jobs.queue import HTTP_WORKERS, Reset
from webapp.library import bin as library_bin
from webapp.library import blob_marks, deletion, lookup, reprocess, reread, webhooks
from webapp.library.exports import operation as exports
from webapp.library.missing import find_missing
from webapp.pipeline import replaced, waiting
from webapp.pipeline.earlier_readers import note_readers
from webapp.pipeline.paid_calls import gates, kept_answers, reservations
from webapp.pipeline.paid_calls.call_times import CallTimes
from webapp.providers.ports import BlobInfo
from webapp.runs import lifecycle, stage_pause, time_limit, transitions
from webapp.runs.abandoned_calls import abandon_calls
from webapp.search import word_rows
from webapp.services import Services
from webapp.statistics import incidents
from webapp.statistics.disk import disk_of
from webapp.statistics.incidents import IncidentName
from webapp.worker import worker_table
from webapp.worker.locks import alone

_log = logging.getLogger(__name__)

# A blob without rows is an orphan after this time. An upload takes minutes, and its rows are committed seconds later.
LITTER_AFTER_SECONDS = 24 * 3600.0
# Readers open an artifact within seconds of learning its path, and finish a slow download within hours.
REPLACED_AFTER_SECONDS = 24 * 3600.0
_BATCH = 100
_NAMED_MAX = 20


def reset_silent(services: Services) -> int:
    """Take jobs back from workers that have sent no heartbeat for too long."""
    return _reset(lambda: lifecycle.reset_silent(services.queue, services.settings.queue.zombie_after_seconds))


def reset_silent_http(services: Services) -> int:
    """Take jobs back from programs that work over HTTP, and have sent no heartbeat for too long."""
    seconds = services.settings.queue.http_worker_silent_seconds
    return _reset(lambda: lifecycle.reset_silent_http(services.queue, seconds))


def _reset(reset: Callable[[], list[Reset]]) -> int:
    total = 0
    while found := reset():
        for one in found:
            _log.warning("job %s was taken from silent worker %s: %s", one.job_id, one.locked_by, one.status)
        total += len(found)
    return total


def end_overdue(services: Services, timeout_seconds: float) -> int:
    """End the runs that exceeded their time limit, except those that have to wait now (a pause, others' answers)."""
    ended, continue_max = 0, services.settings.queue.continue_max
    for page in _overdue(services, timeout_seconds):
        with reading(everywhere=True):
            ids = [run.id for run in page]
            passing = stage_pause.in_pause(services.queue, ids) | waiting.that_wait(services.queue, ids)
        for run in page:
            if run.id not in passing and time_limit.time_out_run(services.queue, run, continue_max):
                _log.warning("run %s of document %s exceeded its time limit", run.id, run.document_id)
                ended += 1
    return ended


def _overdue(services: Services, timeout_seconds: float) -> Iterator[list[LiveRun]]:
    page: list[LiveRun] = []
    while True:
        beyond = page[-1].id if page else None
        with reading(everywhere=True):
            page = transitions.overdue(
                timeout_seconds, services.settings.queue.audio_run_timeout_seconds, _BATCH, beyond=beyond
            )
        if page:
            yield page
        if len(page) < _BATCH:
            return


def end_orphans(services: Services) -> int:
    """Embedded, at the start: end all RUNNING runs, since the process that worked on them is gone."""
    total = 0
    while orphans := _running():
        for run in orphans:
            reread.allow_again(run)
            total += lifecycle.terminate_run(services.queue, run)
    # Jobs of runs that have succeeded, and all calls, belonged to that process as well.
    with transaction(everywhere=True):
        abandon_calls(None)
        while lifecycle.reset_silent(services.queue, silent_seconds=0):
            pass
    if total:
        _log.warning("%d runs failed since their process is gone: PROCESS_TERMINATED", total)
    return total


def reset_gone(services: Services, only_worker: str | None = None) -> int:
    """Take jobs back that a worker got after it was found dead: its claim was committed late, or its row was locked.

    Where only one worker is allowed (`only_worker`), every other one is gone; programs that work over HTTP are not.
    """
    with reading(everywhere=True):
        holders = worker_table.job_holders()
    holders = {name: is_ended for name, is_ended in holders.items() if not name.startswith(HTTP_WORKERS)}
    gone = [name for name, is_ended in holders.items() if is_ended or (only_worker and name != only_worker)]
    found = sum(len(lifecycle.reset_worker(services.queue, name)) for name in gone)
    if found:
        _log.warning("%d jobs of processes that are gone were taken back", found)
    return found


def book_lost_calls(services: Services) -> int:
    """Write the ledger lines of calls whose answers will not come any more."""
    times = CallTimes.of(services.settings)
    with reading(everywhere=True):
        found = reservations.lost(times.silent_seconds)
    for call in found:
        with reading(call.org_id):
            paths = kept_answers.kept_at(call.org_id, call.key)
        outcome = "ok" if any(services.providers.blobs.exists(path) for path in paths) else "unknown"
        with transaction(call.org_id):
            reservations.close(call.call_id, outcome)
    return len(found)


def resume_with_space(services: Services) -> int:
    """Resume the stages that were paused because nothing could be stored, once something can be."""

    def why_not() -> WaitReason | None:
        with reading(everywhere=True):
            org = next(iter(orgs.everyone()), None)
        return gates.lacks_space(services.providers.blobs, org.id) if org else None

    resumed = stage_pause.resume_with_space(services.queue, why_not)
    if resumed:
        _log.warning("there is space again; resumed: %s", ", ".join(resumed))
    return len(resumed)


def wake_spenders(services: Services) -> int:
    """Make jobs due that wait for money, where their org may spend again: a new day, or a higher SPEND_PER_DAY."""
    waiting = services.queue.waiting_orgs(WaitReason.SPEND_LIMIT)
    free = [org for org in waiting if not gates.is_spent(org, services.settings.limits.spend_per_day)]
    return sum(services.queue.wake(org, WaitReason.SPEND_LIMIT) for org in free)


def watch_disk(services: Services) -> bool:
    """Note each minute in which this machine's disk for files is nearly full; returns whether it is."""
    settings = services.settings
    disk = disk_of(settings.data_dir)
    is_full = disk is not None and disk.is_nearly_full(settings.limits.disk_free_min_bytes)
    if is_full:
        with transaction(everywhere=True):
            incidents.record(IncidentName.DISK_NEARLY_FULL, socket.gethostname())
    return is_full


def sweep_incoming(services: Services) -> int:
    """Remove the files of uploads that broke off."""
    return services.providers.blobs.sweep_incoming(LITTER_AFTER_SECONDS)


def report_workers_elsewhere(services: Services) -> int:
    """Log which workers have their files elsewhere than this process."""
    silent_seconds = services.settings.queue.worker_silent_seconds
    found = blob_marks.workers_elsewhere(services.providers.blobs, silent_seconds)
    for each in found:
        _log.warning(each.warning)
    return len(found)


def sweep_marks(services: Services) -> int:
    """Remove the marks of workers that are long gone."""
    return blob_marks.sweep(services.providers.blobs)


def sweep_orphans(services: Services, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Remove blobs that no row names: of uploads that were never committed, of deleted documents and orgs.

    Vectors that were put among the blobs while the database was away are stored first. It can take long, and stops
    when the process ends.
    """
    blobs = services.providers.blobs
    limit = utc_now() - timedelta(seconds=LITTER_AFTER_SECONDS)
    removed = 0
    old_blobs = (info for info in blobs.list() if info.modified_at < limit)
    for org, old in groupby(old_blobs, key=lambda info: blob_layout.org_of(info.path)):
        if org is None:
            continue
        with reading(everywhere=True):
            is_there = orgs.get(org) is not None
        if is_there:
            # Before the org's blobs are listed below: this removes the blobs that it stores.
            kept_answers.store_late_vectors(blobs, org)
        for batch in batches(old, _BATCH):
            if should_stop():
                return removed
            for info in _without_owner(org, batch, {str(org)} if is_there else set()):
                blobs.delete(info.path)
                removed += 1
    if removed:
        _log.info("%d orphan blobs were removed", removed)
    return removed


def sweep_replaced(services: Services, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Remove artifacts that were replaced so long ago that nobody can be reading them."""
    removed = 0
    while not should_stop():
        with reading(everywhere=True):
            old = replaced.older_than(REPLACED_AFTER_SECONDS, _BATCH)
        for each in old:
            services.providers.blobs.delete(each.path)
        # Blobs first: a row without its blob is looked at again, a blob without a row would stay for ever.
        with transaction(everywhere=True):
            replaced.forget([each.path for each in old])
        removed += len(old)
        if len(old) < _BATCH:
            break
    return removed


def report_missing(services: Services, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Log the blobs that rows name and that are gone: nobody else would notice."""
    with reading(everywhere=True):
        ids = [org.id for org in orgs.everyone()]
    total = 0
    for org_id in ids:
        for found in find_missing(services, org_id, should_stop):
            total += 1
            if total <= _NAMED_MAX:
                _log.error("document %s has lost its blob %s", found.document_id, found.path)
    if total:
        _log.error("%d blobs that documents need are gone; restore them, or delete the documents", total)
    return total


def renew_vectors(services: Services, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Queue new vectors for documents that have those of an earlier model, unless the settings leave it to ops."""
    if services.settings.queue.reembed != "auto":
        return 0
    with reading(everywhere=True):
        ids = [org.id for org in orgs.everyone()]
    total = sum(reprocess.renew_vectors(services, each, is_asked=False, should_stop=should_stop).count for each in ids)
    if total:
        _log.info("%d documents with vectors of an earlier model get new ones", total)
    return total


def index_words(should_stop: Callable[[], bool] = lambda: False) -> int:
    """Index the passages that a process of an earlier version has published: it does not know this index of words."""
    total = 0
    while not should_stop():
        with reading(everywhere=True) as opened:
            due = word_rows.without_words(opened.connection())
        written = sum(_index(*each) for each in due)
        if not written:
            break
        total += written
    if total:
        _log.info("%d documents that an earlier version published are found by their words now", total)
    return total


def _index(org_id: UUID, document_id: UUID) -> bool:
    with transaction(org_id) as opened:
        is_written = word_rows.write_all(opened.connection(), org_id, document_id)
        library_bin.hide_again(org_id, document_id)
        return is_written


def purge_bin(services: Services, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Delete for good what has lain in the bin long enough; one process of all does so at a time."""
    days = services.settings.limits.bin_days
    with reading(everywhere=True):
        due = library_bin.orgs_with_due(days)
    if not due:
        return 0
    with alone(session_url(), "purge") as is_alone:
        return sum(library_bin.purge_due(services, each, should_stop) for each in due) if is_alone else 0


def send_held(services: Services, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Queue what is still held for webhooks that are on: resuming one may have broken off, or have missed an event."""
    with reading(everywhere=True):
        due = webhooks.with_held()
    total = 0
    for org_id, webhook_id in due:
        if should_stop():
            break
        total += webhooks.replay(services.queue, org_id, webhook_id, DeliveryState.HELD)
    if total:
        _log.info("%d deliveries that were still held are sent", total)
    return total


def sweep_exports(services: Services, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Remove the files of exports that are kept no longer."""
    removed = 0
    while not should_stop():
        with reading(everywhere=True):
            due = exports.expired(services.settings.limits.export_days, _BATCH)
        for org_id, operation_id in due:
            with transaction(org_id):
                folder = exports.forget_file(org_id, operation_id)
            deletion.remove_folders(services.providers.blobs, [folder])
        removed += len(due)
        if len(due) < _BATCH:
            break
    return removed


def read_anew(services: Services, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Queue some documents that an earlier reader read, as many as there is room for; first find out who read them."""
    for _ in range(_BATCH):
        if should_stop() or not note_readers(services.providers.extractor.name):
            break
    return reread.queue_due(services, should_stop)


def _running() -> list[LiveRun]:
    with reading(everywhere=True):
        return transitions.running()


def _without_owner(org_id: UUID, infos: list[BlobInfo], orgs_known: set[str]) -> list[BlobInfo]:
    owners = [blob_layout.owner_of(info.path) for info in infos]
    ids = {document_id for owner in owners if (document_id := blob_layout.as_uuid(owner))}
    folders = {owner for owner in owners if owner.endswith("/")}
    with reading(org_id):
        known = lookup.known_blob_owners(org_id, ids, folders) | orgs_known
    return [info for info, owner in zip(infos, owners, strict=True) if owner and owner not in known]
