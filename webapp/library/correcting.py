"""What happens when a person says something of a field or a cell, or takes it back.

All of it in the caller's transaction, which holds the lock of the document's row.
"""

from collections.abc import Sequence
from uuid import UUID

from webapp.documents.correction_model import Correction
from webapp.library import corrections, doubts, facts, field_dates, fields, tables
from webapp.library.corrections import ABSENT, Said, Target, Verdict
from webapp.library.facts import Fact
from webapp.library.fields import ShownField
from webapp.library.tables import Cell, ShownTable
from webapp.library.typed_values import read_cell, read_typed


class NotThere(LookupError):
    """The document has no such field, table or cell."""


class NameOccursTwice(LookupError):
    """Several fields have this name; each has its number."""

    def __init__(self, name: str, ordinals: Sequence[int]) -> None:
        super().__init__(name)
        self.ordinals = ordinals


class FoundAnew(Exception):
    """Another value was found since the person looked."""


def find_field(shown: Sequence[ShownField], address: str) -> ShownField:
    """The field with this number or this name; NotThere, NameOccursTwice."""
    if address.isascii() and address.isdigit():
        found = [each for each in shown if each.is_found and str(each.ordinal) == address]
    else:
        found = [each for each in shown if each.name == address]
    if not found:
        raise NotThere
    if len(found) > 1:
        raise NameOccursTwice(address, [each.ordinal for each in found if each.ordinal is not None])
    return found[0]


def find_nth(shown: Sequence[ShownField], name: str, nth: int) -> ShownField:
    """The field with this name that has so many of this name before it; NotThere."""
    field = next((each for each in shown if (each.name, each.nth) == (name, nth)), None)
    if field is None:
        raise NotThere
    return field


def said_of_field(field: ShownField, verdict: Verdict, typed: str = "") -> Said:
    """What a person says of a field; WrongValue, NotThere."""
    if verdict is Verdict.ABSENT:
        return ABSENT
    if verdict is Verdict.VALUE:
        value, normalized = read_typed(field.kind, typed)
        return corrections.said(value, field.found, normalized)
    if field.found is None:
        raise NotThere
    return Said(Verdict.CONFIRMED, field.found, field.found_normalized)


def correct_field(org_id: UUID, document_id: UUID, by: str, field: ShownField, what: Said) -> None:
    """Store what a person says of a field: it is out of the queue."""
    place = {"org_id": org_id, "document_id": document_id, "target": Target.FIELD, "name": field.name}
    found = field.found if field.is_found or field.correction is None else field.correction.found
    corrections.put(field.correction, {**place, "nth": field.nth}, what, found, by)
    if field.is_found:
        doubts.note(org_id, document_id, field, None)
        field_dates.follow(org_id, document_id)


def said_of_cell(table: ShownTable, cell: Cell, verdict: Verdict, typed: str = "") -> Said:
    """What a person says of a cell; NotThere, WrongValue."""
    if not table.has(cell):
        raise NotThere
    row, column = cell
    found = tables.found_rows(table)[row][column]
    if verdict is Verdict.ABSENT:
        return ABSENT
    if verdict is Verdict.CONFIRMED:
        return Said(Verdict.CONFIRMED, found)
    return corrections.said(read_cell(table.column_type(column) if row else None, typed), found)


def correct_cell(org_id: UUID, document_id: UUID, by: str, table: ShownTable, cell: Cell, what: Said) -> None:
    """Store what a person says of a cell of the table."""
    rows = tables.found_rows(table)
    place = tables.place_of({"org_id": org_id, "document_id": document_id}, rows, table.number, cell)
    corrections.put(table.said.get(cell), place, what, rows[cell[0]][cell[1]], by)


def undo(org_id: UUID, document_id: UUID, correction: Correction) -> None:
    """Let what was found hold again."""
    if correction.target == Target.FACT:
        facts.change(org_id, document_id, "", {Fact(correction.name): None})
        return
    corrections.remove(org_id, correction.id)
    if correction.target == Target.FIELD:
        shown = fields.of_document(org_id, document_id)
        field = next((each for each in shown if (each.name, each.nth) == (correction.name, correction.nth)), None)
        if field is not None and field.is_found:
            doubts.note(org_id, document_id, field, doubts.order_of(field.doubt, field.confidence))
            field_dates.follow(org_id, document_id)
