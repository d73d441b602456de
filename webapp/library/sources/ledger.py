"""The ledger of a source: what became of each file or message. Its row comes before anything is done with it."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, case, delete, insert, select, update

from webapp.batches import batches
from webapp.clock import after, new_id, now, utc_now
from webapp.db import reading, session
from webapp.db.bounded import Count, up_to_most
from webapp.documents.source_model import SourceItem
from webapp.library.sources.lease import SourceLease, held
from webapp.library.sources.trouble import ItemReason

NAME_CHARACTERS_MAX = 1_000
STATES = ("waiting", "taken", "skipped", "failed")
FOLDER_VERSION = "folder"
"""The version in the row of a folder that is skipped. It can't be taken."""
_BATCH = 500
_FIRST_RETRY_SECONDS, _RETRY_SECONDS_MAX = 15.0, 900.0
_items = cast(Table, SourceItem.__table__)


@dataclass(frozen=True)
class Sighting:
    """A file or a message as a poll saw it; `skip` says why it is not taken."""

    key: str
    version: str
    name: str
    size_bytes: int | None
    skip: ItemReason | None = None


@dataclass
class _Changes:
    """What the ledger lacks of what was seen: new rows, those of what is there again, and those of earlier versions."""

    fresh: list[tuple[Sighting, ItemReason]] = field(default_factory=list)
    again: list[tuple[Any, Sighting]] = field(default_factory=list)
    outdated: list[UUID] = field(default_factory=list)


def record(lease: SourceLease, seen: Iterable[Sighting], still_seconds: float) -> None:
    """Write down what a poll has seen: rows for what is new, and the new version of what waits and has changed."""
    for batch in batches(seen, _BATCH):
        lease.keep()
        with reading(lease.org_id):
            changes = _compare(lease, batch)
        if not (changes.fresh or changes.again or changes.outdated):
            continue
        with held(lease):
            session().execute(delete(_items).where(_items.c.id.in_(changes.outdated)))
            for row, each in changes.again:
                _see_again(row, each, still_seconds)
            _add(lease, changes.fresh, still_seconds)


def _compare(lease: SourceLease, seen: Sequence[Sighting]) -> _Changes:
    rows = _rows(lease, {each.key for each in seen})
    known = {(row.key, row.version): row for row in rows}
    waiting = {row.key: row for row in rows if row.state == "waiting"}
    changes = _Changes()
    for each in seen:
        row, older = known.get((each.key, each.version)), waiting.get(each.key)
        is_changed = older is not None and older.version != each.version
        if older is not None and is_changed:
            # It has changed before it was taken; the rows of versions that were taken stay.
            changes.outdated.append(older.id)
        if row is None:
            changes.fresh.append((each, ItemReason.CHANGED if is_changed else ItemReason.NEW))
        elif row.unneeded_at is not None:
            changes.again.append((row, each))
    return changes


def _see_again(row: Any, seen: Sighting, still_seconds: float) -> None:
    """What was gone is there again, as it was: it is not taken twice, and what was not taken is tried again."""
    values: dict[str, Any] = {"unneeded_at": None}
    if row.state != "taken" and seen.skip is None:
        values |= {"state": "waiting", "reason": ItemReason.NEW, "ended_at": None, "tries": 0}
        values |= {"seen_at": now(), "next_try_at": after(still_seconds)}
    session().execute(update(_items).where(_items.c.id == row.id).values(**values))


def _add(lease: SourceLease, fresh: Sequence[tuple[Sighting, ItemReason]], still_seconds: float) -> None:
    own = {"org_id": lease.org_id, "source_id": lease.source.id}
    rows: dict[str, list[dict[str, Any]]] = {"waiting": [], "skipped": []}
    for each, reason in fresh:
        state = "waiting" if each.skip is None else "skipped"
        row = {"id": new_id(), **own, "key": each.key, "version": each.version, "size_bytes": each.size_bytes}
        rows[state].append({**row, "name": each.name[:NAME_CHARACTERS_MAX], "reason": each.skip or reason})
    if rows["waiting"]:
        session().execute(insert(_items).values(state="waiting", next_try_at=after(still_seconds)), rows["waiting"])
    if rows["skipped"]:
        session().execute(insert(_items).values(state="skipped", ended_at=now()), rows["skipped"])


def _rows(lease: SourceLease, keys: Collection[str]) -> list[Any]:
    i = _items.c
    asked = select(i.id, i.key, i.version, i.state, i.unneeded_at)
    return list(session().execute(asked.where(i.source_id == lease.source.id, i.key.in_(keys))))


def forget_gone(lease: SourceLease, is_there: Callable[[str], bool]) -> None:
    """Say of the rows whose files are gone that nothing is compared with them any more."""
    i = _items.c
    with reading(lease.org_id) as opened:
        asked = select(i.id, i.key).where(i.source_id == lease.source.id, i.unneeded_at.is_(None))
        rows = opened.execute(asked.execution_options(yield_per=_BATCH))
        gone = [row.id for row in rows if not is_there(row.key)]
    for ids in batches(gone, _BATCH):
        with held(lease):
            _forget(ids)


def _forget(ids: Sequence[UUID]) -> None:
    i = _items.c
    gone = {"state": "skipped", "reason": ItemReason.GONE, "ended_at": now(), "unneeded_at": now()}
    session().execute(update(_items).where(i.id.in_(ids), i.state == "waiting").values(**gone))
    session().execute(update(_items).where(i.id.in_(ids)).values(unneeded_at=now(), is_settled=True))


def due(lease: SourceLease, limit: int) -> list[Any]:
    """Rows of what is to be taken now, in the order in which they were seen."""
    i = _items.c
    wanted = i.state == "waiting", i.unneeded_at.is_(None), i.next_try_at <= now()
    return _of_source(lease, *wanted, limit=limit)


def unsettled(lease: SourceLease, limit: int) -> list[Any]:
    """Rows of what was taken and is to be moved, marked or deleted."""
    i = _items.c
    return _of_source(lease, i.state == "taken", ~i.is_settled, i.next_try_at <= now(), limit=limit)


def _of_source(lease: SourceLease, *conditions: Any, limit: int) -> list[Any]:
    i = _items.c
    with reading(lease.org_id) as opened:
        asked = select(_items).where(i.org_id == lease.org_id, i.source_id == lease.source.id, *conditions)
        return list(opened.execute(asked.order_by(i.next_try_at, i.id).limit(limit)))


def take(lease: SourceLease, item_id: UUID, document_id: UUID, reason: ItemReason | None = None) -> None:
    """In the open transaction, under the lease: an item is in the library, as this document."""
    lease.extend()
    values: dict[str, Any] = {"state": "taken", "document_id": document_id, "reason": reason, "ended_at": now()}
    values |= {"is_settled": _is_left(lease), "tries": 0, "next_try_at": now()}
    session().execute(update(_items).where(_items.c.id == item_id).values(**values))


def _is_left(lease: SourceLease) -> bool:
    """Whether nothing is done with what was taken. The row of a message that is left is forgotten by being settled."""
    return lease.source.kind != "imap" and lease.source.after_taking == "leave"


def settle(lease: SourceLease, item_id: UUID, *, is_unneeded: bool) -> None:
    """What was taken was moved, marked or deleted, too."""
    with held(lease) as opened:
        i = _items.c
        # What kept it from being settled has passed; what is known of its bytes has not.
        known = case((i.reason.in_((ItemReason.KNOWN, ItemReason.RESTORED)), i.reason), else_=None)
        values = {"is_settled": True, "reason": known, **({"unneeded_at": now()} if is_unneeded else {})}
        opened.execute(update(_items).where(_items.c.id == item_id).values(**values))


def skip(lease: SourceLease, item_id: UUID, reason: ItemReason) -> None:
    """An item is not taken, and trying again would change nothing."""
    with held(lease) as opened:
        values: dict[str, Any] = {"state": "skipped", "reason": reason, "ended_at": now()}
        if reason is ItemReason.GONE or lease.source.kind == "imap":
            # If a file is there again, it is tried again. A message lies behind the mark now.
            values["unneeded_at"] = now()
        opened.execute(update(_items).where(_items.c.id == item_id).values(**values))


def wait(lease: SourceLease, row: Any, reason: ItemReason, tries_max: int | None = None) -> None:
    """An item is tried again later, later each time; with `tries_max`, it fails at last."""
    tries = row.tries + 1
    seconds = min(_RETRY_SECONDS_MAX, _FIRST_RETRY_SECONDS * 2 ** min(row.tries, 10))
    values: dict[str, Any] = {"reason": reason, "tries": tries, "next_try_at": after(seconds)}
    if tries_max is not None and tries >= tries_max:
        values |= {"state": "failed", "ended_at": now()}
    with held(lease) as opened:
        opened.execute(update(_items).where(_items.c.id == row.id).values(**values))


def retry(org_id: UUID, source_id: UUID, item_id: UUID) -> bool:
    """In the open transaction: try what failed or was skipped again, with the next poll; whether that can be done.

    Not a folder, and not an earlier version of a file that waits to be taken.
    """
    i, other = _items.c, _items.alias()
    waiting = select(other.c.id).where(
        other.c.source_id == source_id, other.c.key == i.key, other.c.state == "waiting", other.c.id != i.id
    )
    mine = (
        i.org_id == org_id,
        i.source_id == source_id,
        i.id == item_id,
        i.state.in_(("failed", "skipped")),
        i.version != FOLDER_VERSION,
        ~waiting.exists(),
    )
    values = {"state": "waiting", "ended_at": None, "tries": 0, "next_try_at": now(), "unneeded_at": None}
    changed: Any = session().execute(update(_items).where(*mine).values(**values))
    return bool(changed.rowcount)


def find(org_id: UUID, source_id: UUID, item_id: UUID) -> SourceItem | None:
    """An item of a source; None where there is none."""
    found = session().get(SourceItem, item_id)
    return found if found is not None and (found.org_id, found.source_id) == (org_id, source_id) else None


def page(org_id: UUID, source_id: UUID, state: str | None, before: UUID | None, limit: int) -> Sequence[SourceItem]:
    """Items of a source, the last that was seen first."""
    i = SourceItem
    asked = select(i).where(i.org_id == org_id, i.source_id == source_id)
    if state is not None:
        asked = asked.where(i.state == state)
    if before is not None:
        asked = asked.where(i.id < before)
    return session().scalars(asked.order_by(i.id.desc()).limit(limit)).all()


def counts(org_id: UUID, source_ids: Sequence[UUID]) -> dict[UUID, dict[str, Count]]:
    """How many items of each source are in each state, and how many it has taken since midnight, UTC ("today")."""
    i, midnight = _items.c, utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    asked = []
    for source_id in source_ids:
        own = select(i.id).where(i.org_id == org_id, i.source_id == source_id)
        asked += [own.where(i.state == state) for state in STATES]
        asked.append(own.where(i.ended_at >= midnight, i.state == "taken"))
    if not asked:
        return {}
    numbers = iter(session().execute(select(*(up_to_most(rows) for rows in asked))).one())
    names = (*STATES, "today")
    return {source_id: {name: Count.of(next(numbers)) for name in names} for source_id in source_ids}
