"""Whatever happens to a document: what a person said is never lost, and never said of another field or cell."""

from typing import ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import delete, select

from tests.documents.rows import new_document
from webapp.clock import new_id
from webapp.db import reading, transaction
from webapp.documents.correction_model import Correction
from webapp.documents.model import DocumentField, DocumentTable
from webapp.library import correcting, fields, found_fields, tables
from webapp.library.corrections import Verdict
from webapp.readers.extraction import Field

NAMES = st.sampled_from(["Total", "Date", "Party"])
FOUND = st.lists(
    st.builds(
        Field,
        NAMES,
        st.sampled_from(["1", "2", "3"]),
        confidence=st.sampled_from([None, 0.5, 0.99]),
        doubt=st.sampled_from([None, "sum"]),
    ),
    max_size=6,
)
Key = tuple[str, int]


class Histories(RuleBasedStateMachine):
    """A document that is read anew and corrected; beside it, what each of its fields must say."""

    org_id: ClassVar[UUID]
    document_id: UUID

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Field] = []
        self.said: dict[Key, str | None] = {}

    @initialize()
    def begin(self) -> None:
        self.document_id = new_document(self.org_id)

    @rule(found=FOUND)
    def read_anew(self, found: list[Field]) -> None:
        with transaction(self.org_id) as session:
            session.execute(delete(DocumentField).where(DocumentField.document_id == self.document_id))
            found_fields.add(self.org_id, self.document_id, found)
        self.found = found

    @rule(at=st.integers(0, 5), verdict=st.sampled_from(Verdict), typed=st.sampled_from(["1", "9"]))
    def say(self, at: int, verdict: Verdict, typed: str) -> None:
        with transaction(self.org_id):
            shown = fields.of_document(self.org_id, self.document_id)
            if at >= len(shown) or (verdict is Verdict.CONFIRMED and not shown[at].is_found):
                return
            what = correcting.said_of_field(shown[at], verdict, typed)
            correcting.correct_field(self.org_id, self.document_id, "user:tests", shown[at], what)
        right = {Verdict.VALUE: typed, Verdict.ABSENT: None, Verdict.CONFIRMED: shown[at].found}
        self.said[shown[at].name, shown[at].nth] = right[verdict]

    @rule(at=st.integers(0, 5))
    def undo(self, at: int) -> None:
        with transaction(self.org_id):
            shown = [each for each in fields.of_document(self.org_id, self.document_id) if each.correction]
            if at >= len(shown) or (correction := shown[at].correction) is None:
                return
            correcting.undo(self.org_id, self.document_id, correction)
        del self.said[shown[at].name, shown[at].nth]

    @invariant()
    def everybody_sees_what_people_said(self) -> None:
        if not hasattr(self, "document_id"):
            return
        expected = {(each.name, nth): each.value for each, nth in fields.numbered(self.found)}
        doubtful = {
            key for (each, nth) in fields.numbered(self.found) if _is_doubtful(each) for key in [(each.name, nth)]
        }
        with reading(self.org_id) as session:
            shown = fields.of_document(self.org_id, self.document_id)
            waiting = select(DocumentField.ordinal).where(DocumentField.document_id == self.document_id)
            queued = set(session.scalars(waiting.where(DocumentField.check_order.is_not(None))))
        assert {(each.name, each.nth): each.value for each in shown} == {**expected, **self.said}
        assert {(each.name, each.nth) for each in shown if not each.is_found} == self.said.keys() - expected.keys()
        assert {(each.name, each.nth) for each in shown if each.ordinal in queued} == doubtful - self.said.keys()
        assert len(shown) == len({(each.name, each.nth) for each in shown})


def _is_doubtful(found: Field) -> bool:
    return found.doubt is not None or (found.confidence is not None and found.confidence < 0.85)


@pytest.mark.slow
def test_a_field_keeps_what_people_said(org_id: UUID) -> None:
    Histories.org_id = org_id
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=20, stateful_step_count=12, suppress_health_check=list(HealthCheck), derandomize=True
        ),
    )


CELLS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("123")), max_size=6)


@given(before=CELLS, after=CELLS, at=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2)), max_size=4, unique=True))
def test_a_cell_keeps_what_people_said_and_no_other_gets_it(
    before: list[tuple[str, ...]], after: list[tuple[str, ...]], at: list[tuple[int, int]]
) -> None:
    heading = ("One", "Two", "Three")
    old, new = [list(each) for each in (heading, *before)], [list(each) for each in (heading, *after)]
    said = [_correction(old, cell) for cell in at if cell[0] < len(old)]

    shown = tables.merged([_table(new)], said)

    kept = dict(shown.tables[0].said)
    assert sorted([each.id for each in kept.values()] + [each.id for each in shown.lost]) == sorted(x.id for x in said)
    for (row, column), each in kept.items():
        was = old[each.row_number or 0]
        assert [x for n, x in enumerate(new[row]) if n != column] == [x for n, x in enumerate(was) if n != column]
        assert column == each.column_number
        assert shown.tables[0].rows[row][column] == "right"
    for number, cells in enumerate(new):
        for column, text in enumerate(cells):
            assert (number, column) in kept or shown.tables[0].rows[number][column] == text
    same = tables.merged([_table(old)], said)
    assert {cell: each.id for cell, each in same.tables[0].said.items()} == {
        (each.row_number, each.column_number): each.id for each in said
    }


def _table(rows: list[list[str]]) -> DocumentTable:
    return DocumentTable(ordinal=0, rows=rows)


def _correction(rows: list[list[str]], cell: tuple[int, int]) -> Correction:
    place = tables.place_of({"org_id": new_id(), "document_id": new_id()}, rows, 1, cell)
    return Correction(**place, id=new_id(), verdict="value", value="right", found=rows[cell[0]][cell[1]], by="tests")
