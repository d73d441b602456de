"""Documents learn how their pages were read; none is lost, and none is said to be read in any way."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import connections, do, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of

_NEW = "reading, title_is_guess, kind, document_date, document_date_from"
_PAGE = "UPDATE document_pages SET by_ocr = false, "
_IMPOSSIBLE = (
    "UPDATE documents SET reading = 'not_read'",
    "UPDATE documents SET document_date = NULL",
    "UPDATE documents SET document_date_from = NULL",
    _PAGE + "reading = 'well', reason = 'no_text'",
    _PAGE + "reading = 'in_part', reason = NULL",
    _PAGE + "reading = 'in_part', reason = 'not_answered'",
    _PAGE + "reading = 'not_read', reason = NULL",
    _PAGE + "reading = 'not_read', reason = 'low_confidence'",
    _PAGE + "reading = 'hardly'",
    _PAGE + "number = 0",
    _PAGE + "sure_share = 1.5",
    "UPDATE document_pages SET by_ocr = true, reading = 'not_read', reason = 'no_text'",
)


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0021")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        assert all(before.values())
        flask_migrate.upgrade(revision="0022")
        assert found(engine, f"SELECT {_NEW} FROM documents") == [(None,) * 5]
        assert found(engine, "SELECT * FROM document_pages") == []
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        flask_migrate.downgrade(revision="0021")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables


@on_both
def test_the_database_refuses_what_cannot_be(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        with engine.begin() as connection:
            Filled(connection).fill(connection)
        for statement in _IMPOSSIBLE:
            with pytest.raises(sa.exc.IntegrityError):
                do(engine, statement)
        for possible in ("'well', reason = 'blank'", "'not_read', reason = 'ocr_off'", "'in_part', reason = 'ocr_off'"):
            do(engine, f"{_PAGE}reading = {possible}")
        do(engine, "DELETE FROM documents")
        assert found(engine, "SELECT * FROM document_pages") == []
