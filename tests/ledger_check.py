"""Compares what the emulators of the providers were paid for with what the ledger says.

    with reading(everywhere=True) as session:
        found = deviations(paid_at(openai, analyzer), bookings(session))

Each call that left has one line. Without crashes of processes the two agree exactly; a process that died between
a reservation and its call leaves a line "unknown" for a call that never left (`exact=False`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.server import Emulator, Paid

# Any client that reads rows can ask these. What this machine does itself is no emulator's business.
LINES = "SELECT operation, units, outcome, reused FROM provider_calls WHERE provider <> 'local'"
OPEN = "SELECT operation, sum(units), count(DISTINCT call_id) FROM call_reservations GROUP BY operation"
# An emulator's word -> the ledger's, and whether both count the same units; where not, calls are compared.
_OPERATIONS: Mapping[str, tuple[str, bool]] = {
    "embed": ("embed", True),
    "analyze": ("extract", True),
    "start": ("transcribe", False),
    "transcription": ("transcribe", False),
    "chat": ("analyze", False),
}
_BY_UNITS = {operation for operation, is_by_units in _OPERATIONS.values() if is_by_units}


@dataclass(frozen=True)
class Bookings:
    """The ledger by operation: what was paid, what may have been, and what is still open."""

    ok: Counter[str]
    unknown: Counter[str]
    open: Counter[str]


def paid_at(*emulators: Emulator) -> list[Paid]:
    """All that these were paid for; an operation that failed at the service costs nothing."""
    return [paid for emulator in emulators for paid in _charged(emulator)]


def bookings(session: Session) -> Bookings:
    """What the database says, of the org of this transaction or of all."""
    return booked(session.execute(text(LINES)), session.execute(text(OPEN)))


def booked(lines: Iterable[Any], open_calls: Iterable[Any]) -> Bookings:
    """The same out of the rows of LINES and OPEN, read by any client."""
    found = {"ok": Counter[str](), "unknown": Counter[str](), "error": Counter[str]()}
    for operation, units, outcome, reused in lines:
        if not reused:
            found[outcome][operation] += units if operation in _BY_UNITS else 1
    waiting = Counter({operation: units if operation in _BY_UNITS else calls for operation, units, calls in open_calls})
    return Bookings(found["ok"], found["unknown"], waiting)


def deviations(paid: Iterable[Paid], bookings: Bookings, *, exact: bool = True) -> list[str]:
    """Where the two disagree, in words; nothing where all is well and no call is open."""
    counted = Counter[str]()
    for each in paid:
        operation, is_by_units = _OPERATIONS[each.operation]
        counted[operation] += each.units if is_by_units else 1
    found = [f"{operation}: {number} still open" for operation, number in bookings.open.items()]
    for operation in sorted({*counted, *bookings.ok, *bookings.unknown}):
        seen, ok, unknown = counted[operation], bookings.ok[operation], bookings.unknown[operation]
        if not ok <= seen <= ok + unknown or (exact and seen != ok + unknown):
            found.append(f"{operation}: {seen} counted, {ok} paid and {unknown} unknown in the ledger")
    return found


def paid_again(paid: Iterable[Paid], bookings: Bookings) -> list[str]:
    """Operations with more answers booked as paid than there were different questions: some were paid for twice."""
    questions = Counter[str]()
    for each in {(each.operation, each.key): each for each in paid}.values():
        operation, is_by_units = _OPERATIONS[each.operation]
        questions[operation] += each.units if is_by_units else 1
    return [
        f"{operation}: {ok} paid and answered for {questions[operation]} different ones"
        for operation, ok in bookings.ok.items()
        if ok > questions[operation]
    ]


def _charged(emulator: Emulator) -> list[Paid]:
    if not isinstance(emulator, DocumentIntelligence):
        return list(emulator.ledger)
    # Each operation is one line, in the same order.
    operations = emulator.operations.values()
    return [paid for paid, operation in zip(emulator.ledger, operations, strict=True) if not operation.failure]
